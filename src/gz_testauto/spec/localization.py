"""The localization of a robot: the pose that its planner receives in place of the true pose.

Examples of ``localization:`` in a campaign::

    localization: drift
    localization: {estimate: corrected, scale: 2.0, corrections: {rate_hz: 1, position_m: 0.05}}

Extras define the estimates with errors, each with its own keys.
"""

from typing import Any, Mapping, Optional, Type, cast

from pydantic import BeforeValidator, Field, SerializeAsAny, ValidationInfo, model_validator
from typing_extensions import Annotated, Self

from gz_testauto.base.errors import GzTestautoError
from gz_testauto.base.registry import Registry
from gz_testauto.spec.model import NotNegative, Spec, fault

ESTIMATES = Registry("estimate", {"truth": "gz_testauto.spec.localization:LocalizationSpec"})
"""Estimates of the pose: subclasses of :class:`LocalizationSpec`."""


class LocalizationSpec(Spec):
    """The keys that all estimates have in common. With ``estimate: truth``, the planner receives
    the true pose."""

    estimate: str = "truth"
    """The pose that the planner receives: ``truth``, or ``drift`` and ``corrected`` of the extra
    ``localization``."""
    scale: NotNegative = 1.0
    """Factor of all errors. With 0, the planner receives the true pose."""
    arrival_tolerance_m: Optional[float] = Field(None, gt=0)
    """Distance (m) between the estimated position and the goal at which the navigation reports its
    arrival: the goal tolerance that planners receive; default: ``goal.tolerance_m``."""

    @property
    def is_true(self) -> bool:
        """Return whether the planner receives the true pose, regardless of random draws."""
        return True

    def estimator(self, inputs: Any) -> Any:
        """Return a new estimator (:class:`~gz_testauto.actors.localization.PoseEstimator`) for one
        robot in one trial, from ``inputs``
        (:class:`~gz_testauto.actors.localization.EstimatorInputs`). Called only if :attr:`is_true`
        is False. Raises ``SpecError`` if the robot lacks a part that the estimator needs."""
        raise NotImplementedError

    @classmethod
    def kind_of(cls, data: Mapping[str, Any]) -> Type[Self]:
        """Return the registered class for ``estimate``. Raises an error of pydantic for an unknown
        name."""
        if cls is not LocalizationSpec:
            return cls
        try:
            return cast(Type[Self], ESTIMATES.get(str(data.get("estimate", "truth"))))
        except GzTestautoError as error:
            raise fault(f".estimate: {error}") from error

    @model_validator(mode="wrap")
    @classmethod
    def _validate_as_kind(cls, data: Any, handler: Any, info: ValidationInfo) -> Any:
        if cls is not LocalizationSpec or not isinstance(data, Mapping):
            return handler(data)
        kind = cls.kind_of(data)
        return handler(data) if kind is cls else kind.model_validate(data, context=info.context)


def _expand_name(value: Any) -> Any:
    return {"estimate": value} if isinstance(value, str) else value


Localization = Annotated[Optional[SerializeAsAny[LocalizationSpec]], BeforeValidator(_expand_name)]
"""The localization of a robot, or only the name of an estimate."""
