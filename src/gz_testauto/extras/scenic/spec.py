"""The section ``scenic`` of ``worlds`` in a campaign: a Scenic program and its mission."""

from typing import Dict, Iterator, List, Optional, Tuple, Union

from pydantic import Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError
from typing_extensions import Annotated

from gz_testauto.base.registry import unknown_name
from gz_testauto.extras.scenic.descriptor import load_descriptor
from gz_testauto.spec.loader import SUBPATH
from gz_testauto.spec.model import Spec, SpecPath
from gz_testauto.spec.worlds import WorldSourceSpec


class ProgramSpec(Spec):
    """A Scenic program and the models that it can place."""

    file: SpecPath
    """Scenic program file, as for ``gz_testauto scenic``."""
    models: SpecPath
    """Model descriptor file of the program."""
    parameters: Dict[str, Union[bool, int, float, str]] = Field(default_factory=dict)
    """Values of global parameters of the program."""
    keep_placed: bool = False
    """True if valid objects are kept and only the others are drawn again (``--keep-placed``)."""


class MissionSpec(Spec):
    """The mission items that are start and goal, by their names in the model descriptor."""

    start: Optional[str] = None
    """Name of the mission item at which the robot starts; the first item of this name is used.
    Default: ``robot.start`` in all worlds."""
    goal: Union[str, Annotated[List[str], Field(min_length=1)], None] = None
    """Name or list of names of the mission items that the robot must reach, in the order of the
    program for each name. Default: ``goal`` in all worlds."""

    @property
    def goals(self) -> Tuple[str, ...]:
        return (self.goal,) if isinstance(self.goal, str) else tuple(self.goal or ())

    @property
    def named(self) -> Iterator[Tuple[Tuple[Union[str, int], ...], str]]:
        """Item names, each with its path in YAML: the key, and the index in a list."""
        if self.start is not None:
            yield ("start",), self.start
        for index, goal in enumerate(self.goals):
            yield ("goal",) if isinstance(self.goal, str) else ("goal", index), goal


class ScenicSpec(ProgramSpec, WorldSourceSpec):
    """Worlds from a Scenic program, the section ``scenic`` of ``worlds``."""

    mission: MissionSpec = MissionSpec()
    """Mission items that are start and goal of the robot."""
    dynamic: bool = False
    """True if behaviors, monitors and requirements of the program are active during trials. Objects
    with a behavior then move, and the robot is the ego of the program."""

    @field_validator("mission")
    @classmethod
    def _require_mission_items(cls, mission: MissionSpec, info: ValidationInfo) -> MissionSpec:
        models = info.data.get("models")
        if models is None or not any(mission.named):
            return mission
        known = [model.name for model in load_descriptor(models).models if model.mission_only]
        for place, name in mission.named:
            if name not in known:
                message = unknown_name("mission item (MISSION_ONLY)", name, known)
                raise PydanticCustomError("value_error", "", {"error": message, SUBPATH: place})
        return mission

    @model_validator(mode="after")
    def _require_ego(self) -> "ScenicSpec":
        if self.dynamic and self.mission.start is None:
            raise ValueError(
                "dynamic needs the key mission.start; set it to the name of the mission item that "
                "is the ego of the program"
            )
        return self

    @property
    def sets_start(self) -> bool:
        return self.mission.start is not None

    @property
    def sets_goal(self) -> bool:
        return self.mission.goal is not None

    @property
    def has_agents(self) -> bool:
        return self.dynamic
