"""Specification of a comparison of simulators in YAML; docs/simulator_comparison.md has
examples."""

from typing import AbstractSet, Any, Dict, List, Optional, Tuple, Union

import numpy as np
from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError
from typing_extensions import Annotated, Literal, Self

from gz_testauto.base.errors import SpecError
from gz_testauto.base.registry import unknown_name
from gz_testauto.extras.simulator_comparison.maneuvers import (
    FLAT,
    ORDINARY,
    STEP,
    BenchRobotSpec,
    ManeuverSpec,
)
from gz_testauto.extras.simulator_comparison.measures.inertial import summary_error
from gz_testauto.extras.simulator_comparison.measures.interface import MEASURES
from gz_testauto.extras.simulator_comparison.measures.load import LOAD
from gz_testauto.extras.simulator_comparison.recordings.spec import RecordingSpec
from gz_testauto.extras.simulator_comparison.score import PAPER_WEIGHTS, RULES, FeaturesSpec
from gz_testauto.extras.simulator_comparison.steps import (
    physics_step_s,
    simulator_fault,
    step_fault,
    takes_step,
)
from gz_testauto.extras.simulator_comparison.terrain import TerrainSpec
from gz_testauto.simulators import check_options
from gz_testauto.spec.loader import SUBPATH
from gz_testauto.spec.model import Spec, SpecPath, as_tuple, repeated
from gz_testauto.spec.stack import NAME

Weight = Annotated[float, Field(ge=0, le=1e6)]


class EntrySpec(Spec):
    """An entry of a comparison: a simulator or a real robot. Its measures are computed from a
    ``recording``, computed from runs of a ``simulator`` of this package, or ``published``.
    ``published_scores`` are ranked separately from computed scores."""

    name: str = Field(pattern=NAME)
    """Name of the entry in reports."""
    recording: Optional[RecordingSpec] = None
    """Recordings of the simulator or robot."""
    campaign: Optional[SpecPath] = None
    """Results directory of a campaign in this simulator, for measures of planners."""
    simulator: Optional[str] = None
    """Name of a simulator of this package, in which the maneuvers run."""
    options: Dict[str, Any] = Field(default_factory=dict)
    """Options of the simulator, as in ``simulator_options`` of a campaign."""
    published: Dict[str, float] = Field(default_factory=dict)
    """Published values by name of the measure."""
    published_scores: Dict[str, float] = Field(default_factory=dict)
    """Published scores by criterion, from 0 to 1."""
    source: str = ""
    """Source of the published values."""
    features: FeaturesSpec = FeaturesSpec()
    """Features of the simulator, such as its license and file formats."""

    @model_validator(mode="after")
    def _require_one_source(self) -> Self:
        if self.simulator is not None and self.recording is not None:
            raise ValueError(
                "the entry has both keys 'recording' and 'simulator'; specify two entries"
            )
        if self.simulator is None and self.options:
            raise ValueError("the entry has 'options' but no 'simulator'; specify 'simulator'")
        if self.simulator is not None:
            try:
                check_options(self.simulator, self.options)
            except SpecError as error:
                raise ValueError(str(error)) from None
            fault = simulator_fault(self.simulator)
            if fault is not None:
                raise _error_at(f"is {self.simulator}, which {fault}", "simulator")
        return self

    @model_validator(mode="after")
    def _require_valid_values(self) -> Self:
        for name in self.published:
            _require_known("published", name, MEASURES.names())
        for name, score in self.published_scores.items():
            if not 0.0 <= score <= 1.0:
                raise ValueError(f"published_scores.{name} is {score:g}; it must be from 0 to 1")
        return self


AxisValues = Annotated[Tuple[float, float, float], BeforeValidator(as_tuple)]


class ExampleSpec(Spec):
    """Published means and ranges of a simulator and of its reference for one maneuver, in the unit
    of ``measure``."""

    description: str
    """Text with maneuver, simulator and source of the example."""
    measure: Literal["imu_angular_error", "imu_linear_error"]
    """Measure whose unit the values have: ``imu_angular_error`` or ``imu_linear_error``."""
    mean: AxisValues
    """Published means of the simulator along x, y and z."""
    range: AxisValues
    """Published ranges (mean of the largest hundredth minus mean of the smallest hundredth of the
    values) of the simulator along x, y and z."""
    reference_mean: AxisValues
    """Published means of the reference along x, y and z."""
    reference_range: AxisValues
    """Published ranges of the reference along x, y and z."""
    published_error: Optional[float] = None
    """Error that the publication states, which the report compares with the computed error."""

    @property
    def error(self) -> float:
        """Error by equation (7) of Farley et al. 2022, added over the axes."""
        simulated, reference = (self.mean, self.range), (self.reference_mean, self.reference_range)
        return float(summary_error(*map(np.array, (*simulated, *reference))).sum())


class BenchSpec(Spec):
    """Specification of a comparison: simulators, maneuvers and references."""

    name: str = Field(pattern=NAME)
    """Name of the comparison in reports."""
    description: str = ""
    """Introductory text of the report."""
    seed: int = Field(0, ge=0)
    """Seed of terrains, starting poses and sensor noise."""
    robot: Optional[BenchRobotSpec] = None
    """Robot that drives the maneuvers; required if an entry has ``simulator``."""
    terrains: Annotated[Tuple[TerrainSpec, ...], BeforeValidator(as_tuple)] = ()
    """Terrains on which the maneuvers run; required if an entry has ``simulator``."""
    maneuvers: Annotated[Tuple[ManeuverSpec, ...], BeforeValidator(as_tuple)] = ()
    """Maneuvers that run on every terrain; the default is all ordinary kinds. ``step`` runs only on
    terrains of the same kind."""
    repetitions: int = Field(5, ge=1, le=1000)
    """Number of runs of each maneuver on each terrain."""
    step_s: float = Field(0.001, gt=0, le=0.02)
    """Physics step (s) of the worlds. The option ``step_s`` of a simulator takes precedence."""
    measure_load: bool = True
    """True to measure the cost of the simulators."""
    half_step: bool = False
    """True to run maneuvers on flat terrain also at half the physics step."""
    entries: Annotated[Tuple[EntrySpec, ...], BeforeValidator(as_tuple)]
    """Simulators and robots to compare."""
    reference: Optional[str] = None
    """Name of the entry with which all others are compared. It is not ranked."""
    reference_is_robot: bool = False
    """True if the reference is a real robot. If not, the report states agreement instead of
    accuracy."""
    baseline: Optional[str] = None
    """Name of an entry that all others should surpass, such as an ideal robot. It is not ranked."""
    weights: Dict[str, Weight] = Field(default_factory=lambda: dict(PAPER_WEIGHTS))
    """Weights of features and measures by name; the default is those of Farley et al. 2022.
    Measures without a weight are reported and not scored."""
    examples: Annotated[Tuple[ExampleSpec, ...], BeforeValidator(as_tuple)] = ()
    """Published means and ranges, for which the report computes the error."""

    @model_validator(mode="after")
    def _require_known_names(self) -> Self:
        names = [entry.name for entry in self.entries]
        if not names:
            raise ValueError("entries: the list is empty; specify the entries to compare")
        _require_unique("entries", names)
        if self.reference is not None:
            _require_known("reference", self.reference, names)
            reference = self.entry(self.reference)
            if not (reference.recording or reference.campaign or reference.simulator):
                raise ValueError(
                    f"reference: {self.reference} has no recording, campaign or simulator to "
                    "compare with"
                )
            if self.reference_is_robot and reference.simulator is not None:
                raise ValueError(
                    f"reference_is_robot: {self.reference} is simulated; specify recordings of a "
                    "robot"
                )
        if self.reference_is_robot and self.reference is None:
            raise ValueError(
                "reference_is_robot: the key 'reference' is missing; specify the entry of the robot"
            )
        if self.baseline is not None:
            _require_known("baseline", self.baseline, names)
            if self.baseline == self.reference:
                raise ValueError(
                    f"baseline: {self.baseline} is the reference; specify another entry"
                )
        additional = [name for entry in self.entries for name in entry.features.additional]
        for name in self.weights:
            _require_known("weights", name, [*RULES, *additional, *MEASURES.names()])
        for entry in self.entries:
            for name in entry.published_scores:
                _require_known(f"{entry.name}.published_scores", name, list(self.weights))
        if not any(weight > 0 for weight in self.weights.values()):
            raise ValueError("weights: all are 0; specify at least one weight above 0")
        self._require_cases_of_reference()
        return self

    def require_ranked_entry(self) -> None:
        if all(entry.name in (self.reference, self.baseline) for entry in self.entries):
            raise SpecError(
                "entries: no entry can be ranked; add an entry that is neither the reference nor "
                "the baseline"
            )

    def _require_cases_of_reference(self) -> None:
        if self.reference is None:
            return
        recording = self.entry(self.reference).recording
        cases = self.cases if recording is None else list(recording.cases)
        for entry in self.ranked:
            # a name that the reference does not have is probably misspelled
            for case in entry.recording.cases if entry.recording and cases else ():
                _require_known(f"{entry.name}.recording.cases", case, cases)

    @model_validator(mode="before")
    @classmethod
    def _add_default_maneuvers(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("terrains") and "maneuvers" not in data:
            terrain_kinds = [
                terrain.get("kind") for terrain in data["terrains"] if isinstance(terrain, dict)
            ]
            return {
                **data,
                "maneuvers": [kind for kind in ORDINARY if kind != STEP or STEP in terrain_kinds],
            }
        return data

    @model_validator(mode="after")
    def _require_runnable_maneuvers(self) -> Self:
        if self.simulated:
            missing = [name for name in ("robot", "terrains") if not getattr(self, name)]
            if missing:
                raise ValueError(
                    f"{missing[0]} is missing; specify it for simulator {self.simulated[0].name}"
                )
        for key in ("terrains", "maneuvers"):
            _require_unique(key, [named.name for named in getattr(self, key)])
        for terrain in self.terrains:
            if terrain.name == LOAD:
                raise ValueError(
                    f"terrains: {LOAD} is reserved for the measurement of cost; use another name"
                )
        for maneuver in self.maneuvers:
            if not any(maneuver.is_for(terrain.kind) for terrain in self.terrains):
                needed = STEP if maneuver.kind == STEP else FLAT
                raise ValueError(
                    f"maneuvers: {maneuver.name} needs a terrain of kind {needed}; add one to "
                    "terrains"
                )
            self._require_recorded(maneuver)
        return self

    @model_validator(mode="after")
    def _require_steps_that_divide_samples(self) -> Self:
        for number, entry in enumerate(self.entries):
            if entry.simulator is None:
                continue
            fault = step_fault(physics_step_s(entry.simulator, entry.options, self.step_s))
            if fault is not None:
                has_option = takes_step(entry.simulator)
                place = ("entries", number, "options", "step_s") if has_option else ("step_s",)
                raise _error_at(fault, *place)
        return self

    def _require_recorded(self, maneuver: ManeuverSpec) -> None:
        command, where = maneuver.command, f"maneuvers: {maneuver.name}.command"
        if command is None:
            return
        recorded = {e.name: e.recording for e in self.entries if e.recording is not None}
        _require_known(f"{where}.entry", command.entry, list(recorded))
        recording = recorded[command.entry]
        assert recording is not None, "those that have one"
        if recording.command is None:
            raise ValueError(
                f"{where}: the recording of {command.entry} has no velocity commands; add "
                "recording.command"
            )
        _require_known(f"{where}.case", command.case, list(recording.cases))
        count = len(recording.cases[command.case])
        if command.repetition >= count:
            raise ValueError(
                f"{where}.repetition is {command.repetition}, but the case has {count} "
                "repetitions, counted from 0"
            )

    @property
    def simulated(self) -> List[EntrySpec]:
        return [entry for entry in self.entries if entry.simulator is not None]

    @property
    def cases(self) -> List[str]:
        """Cases of simulated entries, ``TERRAIN/MANEUVER``."""
        return [
            f"{terrain.name}/{maneuver.name}"
            for terrain in self.terrains
            for maneuver in self.maneuvers
            if maneuver.is_for(terrain.kind)
        ]

    def entry(self, name: str) -> EntrySpec:
        return next(entry for entry in self.entries if entry.name == name)

    @property
    def ranked(self) -> List[EntrySpec]:
        """All entries except the reference."""
        return [entry for entry in self.entries if entry.name != self.reference]

    @property
    def features(self) -> AbstractSet[str]:
        """Weighted criteria that are features instead of measures."""
        return self.weights.keys() - set(MEASURES.names())


def _error_at(reason: str, *place: Union[str, int]) -> PydanticCustomError:
    return PydanticCustomError("predicate", "{reason}", {"reason": reason, SUBPATH: place})


def _require_unique(where: str, names: List[str]) -> None:
    duplicates = repeated(names)
    if duplicates:
        raise ValueError(
            f"{where}: {', '.join(duplicates)} appears more than once; use unique names"
        )


def _require_known(where: str, name: str, known: List[str]) -> None:
    if name not in known:
        reason = unknown_name("name", name, known)
        raise _error_at(f"{where}: {reason}")
