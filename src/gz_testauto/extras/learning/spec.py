"""A campaign with a learning environment, the key ``environment``."""

from typing import Any, Dict, Optional, Tuple

from pydantic import (
    BeforeValidator,
    Field,
    PositiveInt,
    ValidationInfo,
    field_validator,
    model_validator,
)
from typing_extensions import Annotated, Literal

from gz_testauto.base.errors import GzTestautoError
from gz_testauto.extras.learning.policies.observations import Named, ObservationEncoder
from gz_testauto.extras.learning.policies.safety import SafetyFilterSpec
from gz_testauto.extras.learning.terms import EpisodeRules
from gz_testauto.spec.campaign import BuiltinCampaignSpec, BuiltinPlannerSpec
from gz_testauto.spec.model import Spec, as_tuple

POLICY = "policy"
"""Placeholder for the policy in ``planners``."""


class TermSpec(Spec):
    """A term of an environment. YAML has its name alone, or a mapping of ``term`` and the
    parameters."""

    term: str = Field(min_length=1)
    """Name of the term."""
    parameters: Dict[str, Any] = Field(default_factory=dict)
    """Parameters of the term. YAML has them in the same mapping as ``term``."""

    @model_validator(mode="before")
    @classmethod
    def _separate_parameters(cls, data: Any) -> Any:
        if isinstance(data, str):
            return {"term": data}
        if not isinstance(data, dict) or set(data) == {"term", "parameters"}:
            return data
        parameters = {name: value for name, value in data.items() if name != "term"}
        return {**({"term": data["term"]} if "term" in data else {}), "parameters": parameters}

    @property
    def named(self) -> Named:
        return self.term, dict(self.parameters)


Terms = Annotated[Tuple[TermSpec, ...], BeforeValidator(as_tuple)]


class CurriculumSpec(Spec):
    """A curriculum from easy worlds to all worlds: the share of the easiest worlds increases
    linearly."""

    criterion: Literal["density", "mean_clearance_m", "narrowest_gap_m", "shortest_path_m"]
    """Measure of the difficulty of a world. A world with a lower density, a larger clearance, a
    wider gap or a shorter path is easier."""
    share: float = Field(0.25, gt=0, le=1)
    """Share of the worlds at the start of the training."""
    steps: int = Field(50_000, ge=1)
    """Number of control periods after which all worlds are used."""


class PpoSpec(Spec):
    """Parameters of the training by PPO (J. Schulman et al., "Proximal Policy Optimization
    Algorithms", 2017, arXiv:1707.06347).

    All except ``steps``, ``hidden`` and ``log_std`` are arguments of ``PPO`` of Stable-Baselines3,
    and have its defaults.
    """

    steps: int = Field(100_000, ge=1)
    """Number of control periods of the training, rounded up to complete iterations."""
    hidden: Annotated[Tuple[PositiveInt, ...], BeforeValidator(as_tuple)] = (64, 64)
    """Number of neurons of each hidden layer of the network."""
    log_std: Optional[float] = None
    """Logarithm of the standard deviation of the actions at the start of the training; default: 0,
    or with ``train --start`` its last value."""
    learning_rate: float = Field(3e-4, gt=0)
    """Learning rate of the optimizer Adam."""
    n_steps: int = Field(2048, ge=2)
    """Number of control periods of an iteration, for each robot that learns."""
    batch_size: int = Field(64, ge=2)
    """Number of control periods of a minibatch."""
    n_epochs: int = Field(10, ge=1)
    """Number of passes over the control periods of an iteration."""
    gamma: float = Field(0.99, ge=0, le=1)
    """Discount of rewards for each control period."""
    gae_lambda: float = Field(0.95, ge=0, le=1)
    """Factor between bias and variance of the generalized advantage estimation."""
    clip_range: float = Field(0.2, gt=0)
    """Largest relative change of the probability of an action that still counts."""
    ent_coef: float = Field(0.0, ge=0)
    """Weight of the entropy in the loss."""
    vf_coef: float = Field(0.5, ge=0)
    """Weight of the value function in the loss."""
    max_grad_norm: float = Field(0.5, gt=0)
    """Largest norm of the gradient."""


class EnvironmentSpec(Spec):
    """The observations and rewards of a policy, the safety filter of its commands, additional
    terminations of episodes, and the parameters of the training."""

    observations: Terms = Field((TermSpec(term="lidar"), TermSpec(term="plan")), min_length=1)
    """Terms of the observation vector, in this order."""
    safety_filter: Optional[SafetyFilterSpec] = None
    """A filter of commands from which the robot could not stop in time; default: no filter."""
    rewards: Terms = Field(
        (
            TermSpec(term="progress", parameters={"weight": 1.0}),
            TermSpec(term="reached", parameters={"weight": 10.0}),
            TermSpec(term="collided", parameters={"weight": -10.0}),
            TermSpec(term="time", parameters={"weight": -0.1}),
        ),
        min_length=1,
    )
    """Terms whose weighted sum is the reward of a control period."""
    terminations: Terms = ()
    """Terms that end an episode in addition to the rules of the campaign."""
    curriculum: Optional[CurriculumSpec] = None
    """Default: all worlds from the start."""
    ppo: PpoSpec = PpoSpec()
    """Parameters of the training by PPO."""

    @field_validator("observations", "rewards", "terminations")
    @classmethod
    def _require_valid_terms(
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
    def _require_tracking(self) -> "EnvironmentCampaignSpec":
        named = [term.named for term in self.environment.observations]
        if self.tracking is None and ObservationEncoder(named).wants_objects:
            raise ValueError(
                "environment.observations: the term objects needs the key 'tracking'; add "
                "'tracking: {}', or remove the term"
            )
        return self
