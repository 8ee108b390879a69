"""A campaign with a learning environment.

This module defines ``environment:``, in addition to the keys of other campaigns::

    environment:
      observations: [{term: lidar, beams: 24}, plan]
      safety_filter: {margin_m: 0.05}
      rewards: [{term: progress, weight: 1.0}, {term: collided, weight: -10.0}]
      terminations: [{term: off_plan, max_distance_m: 4.0}]
      curriculum: {criterion: density, share: 0.25, steps: 50000}
      held_out: held_out_campaign.yaml

The default of ``planners`` is one placeholder for a policy, that of ``simulator`` is ``embedded``.
"""

from typing import Any, Dict, Optional, Tuple

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator
from typing_extensions import Annotated, Literal

from gz_testauto.base.errors import GzTestautoError
from gz_testauto.extras.learning.policies.observations import Named, ObservationEncoder
from gz_testauto.extras.learning.policies.safety import SafetyFilterSpec
from gz_testauto.extras.learning.terms import EpisodeRules
from gz_testauto.spec.campaign import BuiltinCampaignSpec, BuiltinPlannerSpec
from gz_testauto.spec.model import Spec, SpecPath, as_tuple

POLICY = "policy"
"""Name of the placeholder for the policy in ``planners``."""


class TermSpec(Spec):
    """A term of an environment. YAML has its name alone, or a mapping of ``term`` and the
    parameters."""

    term: str = Field(min_length=1)
    """Name of the term."""
    parameters: Dict[str, Any] = Field(default_factory=dict)
    """Parameters of the term. YAML has them in the same mapping as ``term``."""

    @model_validator(mode="before")
    @classmethod
    def _parameters_are_beside_it(cls, data: Any) -> Any:
        if isinstance(data, str):
            return {"term": data}
        if not isinstance(data, dict) or set(data) == {"term", "parameters"}:
            return data
        rest = {name: value for name, value in data.items() if name != "term"}
        return {**({"term": data["term"]} if "term" in data else {}), "parameters": rest}

    @property
    def named(self) -> Named:
        """Return the name and the parameters of the term."""
        return self.term, dict(self.parameters)


Terms = Annotated[Tuple[TermSpec, ...], BeforeValidator(as_tuple)]


def _terms(*entries: Tuple[str, Dict[str, Any]]) -> Tuple[TermSpec, ...]:
    return tuple(TermSpec(term=name, parameters=parameters) for name, parameters in entries)


class CurriculumSpec(Spec):
    """A curriculum from easy worlds to all worlds.

    Training starts with the easiest ``share`` of the worlds. The share increases linearly, and all
    worlds are used after ``steps`` control periods.
    """

    criterion: Literal["density", "mean_clearance_m", "narrowest_gap_m", "shortest_path_m"]
    """Measure of the difficulty of a world. A world with a lower density, a larger clearance, a
    wider gap or a shorter path is easier."""
    share: float = Field(0.25, gt=0, le=1)
    """Share of the worlds at the start of the training."""
    steps: int = Field(50_000, ge=1)
    """Number of control periods after which all worlds are used."""


class EnvironmentSpec(Spec):
    """The observations and rewards of a policy, the safety filter of its commands, and additional
    terminations of episodes."""

    observations: Terms = Field(_terms(("lidar", {}), ("plan", {})), min_length=1)
    """Terms of the observation vector, in this order."""
    safety_filter: Optional[SafetyFilterSpec] = None
    """A filter of commands from which the robot could not stop in time; default: no filter."""
    rewards: Terms = Field(
        _terms(
            ("progress", {"weight": 1.0}),
            ("reached", {"weight": 10.0}),
            ("collided", {"weight": -10.0}),
            ("time", {"weight": -0.1}),
        ),
        min_length=1,
    )
    """Terms whose weighted sum is the reward of a control period."""
    terminations: Terms = ()
    """Terms that end an episode in addition to the rules of the campaign."""
    curriculum: Optional[CurriculumSpec] = None
    """Default: all worlds from the start."""
    held_out: Optional[SpecPath] = None
    """Campaign file whose worlds are used to evaluate the policy; none of them can be a training
    world."""

    @field_validator("observations", "rewards", "terminations")
    @classmethod
    def _can_be_created(
        cls, terms: Tuple[TermSpec, ...], info: ValidationInfo
    ) -> Tuple[TermSpec, ...]:
        named = [term.named for term in terms]
        try:
            if info.field_name == "observations":
                ObservationEncoder(named)
            elif info.field_name == "rewards":
                EpisodeRules(named, ())
            else:
                EpisodeRules((), named)
        except GzTestautoError as error:
            raise ValueError(str(error)) from error
        return terms


class EnvironmentCampaignSpec(BuiltinCampaignSpec):
    """A campaign with the additional key ``environment``."""

    planners: Annotated[Tuple[BuiltinPlannerSpec, ...], BeforeValidator(as_tuple)] = (
        BuiltinPlannerSpec(name=POLICY, plugin="straight"),
    )
    simulator: str = "embedded"
    environment: EnvironmentSpec
    """Observations, rewards and terminations of the learning environment."""

    @model_validator(mode="after")
    def _has_tracked_objects(self) -> "EnvironmentCampaignSpec":
        named = [term.named for term in self.environment.observations]
        if self.tracking is None and ObservationEncoder(named).wants_objects:
            raise ValueError(
                "environment.observations: the term objects needs the key 'tracking'; add "
                "'tracking: {}', or remove the term"
            )
        return self
