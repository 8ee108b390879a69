"""Distributions of a number in a specification.

There are four distributions, with these YAML forms::

    radius_m: 0.5                                          # fixed
    radius_m: [0.3, 1.1]                                   # uniform, short
    radius_m: {min: 0.3, max: 1.1}                         # uniform
    radius_m: {mean: 0.6, stddev: 0.2, min: 0.3, max: 1.1} # normal, truncated
    radius_m: {choice: [0.3, 0.6, 1.1], weights: [1, 2, 1]}

Each distribution maps a number in [0, 1) to a value by its quantile function, so that stratified
numbers result in stratified values.
"""

from functools import lru_cache
from typing import Any, List, Optional, Tuple, Union

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError
from typing_extensions import Annotated, Self

from gz_testauto.spec.model import LARGEST, Bounded, Spec, fault


class Fixed(Spec):
    """A constant value."""

    value: Bounded
    """The value, in the unit of the key."""

    @property
    def support(self) -> Tuple[float, float]:
        """Return the smallest and the largest possible value."""
        return (self.value, self.value)

    def quantile(self, probability: float) -> float:
        """Return the quantile of ``probability``, a number in [0, 1)."""
        return self.value


class _Range(Spec):
    min: Bounded
    """The smallest value, in the unit of the key."""
    max: Bounded
    """The largest value, in the unit of the key."""

    @model_validator(mode="after")
    def _require_ordered(self) -> Self:
        if self.min > self.max:
            raise ValueError(f"min {self.min} is greater than max {self.max}")
        return self

    @property
    def support(self) -> Tuple[float, float]:
        """Return the smallest and the largest possible value."""
        return (self.min, self.max)


class Uniform(_Range):
    """The uniform distribution between ``min`` and ``max``."""

    def quantile(self, probability: float) -> float:
        """Return the quantile of ``probability``."""
        return self.min + probability * (self.max - self.min)


class TruncatedNormal(_Range):
    """A normal distribution that is truncated to the range from ``min`` to ``max``."""

    mean: Bounded
    """The mean before the truncation, in the unit of the key."""
    stddev: float = Field(gt=0, le=LARGEST)
    """The standard deviation before the truncation, in the unit of the key."""

    @model_validator(mode="after")
    def _require_probable_range(self) -> Self:
        low, high = _limit_probabilities(self.mean, self.stddev, self.min, self.max)
        if high - low < 1e-9:
            raise ValueError(
                f"a normal distribution of mean {self.mean} and stddev {self.stddev} has "
                f"practically no values between min {self.min} and max {self.max}"
            )
        return self

    def quantile(self, probability: float) -> float:
        """Return the quantile of ``probability``."""
        from scipy.special import ndtri  # imported late: it takes as long as all specifications

        low, high = _limit_probabilities(self.mean, self.stddev, self.min, self.max)
        value = self.mean + self.stddev * float(ndtri(low + probability * (high - low)))
        return min(max(value, self.min), self.max)


class Choice(Spec):
    """A value from a list."""

    choice: List[Bounded] = Field(min_length=1)
    """The possible values, in the unit of the key."""
    weights: Optional[List[Annotated[float, Field(ge=0, le=LARGEST)]]] = None
    """The relative probability of each value; default: equal."""

    @model_validator(mode="after")
    def _require_matching_weights(self) -> "Choice":
        if self.weights is not None:
            if len(self.weights) != len(self.choice):
                raise ValueError(
                    f"'choice' has {len(self.choice)} values, but 'weights' has {len(self.weights)}"
                )
            if not sum(self.weights) > 0:
                raise ValueError("at least one weight must be > 0")
        return self

    @property
    def support(self) -> Tuple[float, float]:
        """Return the smallest and the largest possible value."""
        return (min(self.choice), max(self.choice))

    def quantile(self, probability: float) -> float:
        """Return the value at ``probability``, a number in [0, 1), in the order of the list."""
        weights = self.weights or [1.0] * len(self.choice)
        remaining = probability * sum(weights)
        for value, weight in zip(self.choice, weights):
            if remaining < weight:
                return value
            remaining -= weight
        return next(v for v, w in reversed(list(zip(self.choice, weights))) if w > 0)


@lru_cache(maxsize=1024)
def _limit_probabilities(
    mean: float, stddev: float, low: float, high: float
) -> Tuple[float, float]:
    """Return the probabilities of a normal value below ``low`` and below ``high``."""
    from scipy.special import ndtr

    return (float(ndtr((low - mean) / stddev)), float(ndtr((high - mean) / stddev)))


def _expand_short_form(value: Any) -> Any:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return {"value": value}
    if isinstance(value, list) and len(value) == 2:
        return {"min": value[0], "max": value[1]}
    return value


def _as_range(value: Any) -> Any:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return {"min": value, "max": value}
    value = _expand_short_form(value)
    if not isinstance(value, (dict, Uniform)):
        raise PydanticCustomError("must", "must be a number, [min, max] or {min, max}")
    return value


def _distribution_tag(value: Any) -> Optional[str]:
    if isinstance(value, Spec):
        return type(value).__name__
    if not isinstance(value, dict):
        return None
    if "choice" in value:
        return "Choice"
    if "mean" in value or "stddev" in value:
        return "TruncatedNormal"
    if "value" in value:
        return "Fixed"
    return "Uniform"


Distribution = Annotated[
    Union[
        Annotated[Fixed, Tag("Fixed")],
        Annotated[Uniform, Tag("Uniform")],
        Annotated[TruncatedNormal, Tag("TruncatedNormal")],
        Annotated[Choice, Tag("Choice")],
    ],
    Discriminator(
        _distribution_tag,
        custom_error_type="distribution",
        custom_error_message=(
            "must be a number, [min, max], {min, max}, {mean, stddev, min, max} "
            "or {choice, weights}"
        ),
    ),
    BeforeValidator(_expand_short_form),
]
"""A number, a range or a distribution, in the forms that the module lists."""


def is_constant(distribution: Any) -> bool:
    """Return whether a distribution has only one value."""
    low, high = distribution.support
    return bool(low == high)


def _require_positive(distribution: Any) -> Any:
    return _require_support(distribution, distribution.support[0] > 0, "it must be > 0")


def _require_not_negative(distribution: Any) -> Any:
    return _require_support(distribution, distribution.support[0] >= 0, "it must be >= 0")


def _require_support(distribution: Any, is_valid: bool, rule: str) -> Any:
    if not is_valid:
        verb = "is" if is_constant(distribution) else "can be"
        raise fault(f"{verb} {distribution.support[0]:g}; {rule}")
    return distribution


def _require_share(distribution: Any) -> Any:
    for bound in distribution.support:
        if not 0 <= bound <= 1:
            raise fault(f"can be {bound:g}; it must be between 0 and 1")
    return distribution


NotNegativeDistribution = Annotated[Distribution, AfterValidator(_require_not_negative)]

ShareDistribution = Annotated[Distribution, AfterValidator(_require_share)]
"""A :data:`Distribution` of values between 0 and 1."""

NotNegativeUniform = Annotated[
    Uniform, BeforeValidator(_as_range), AfterValidator(_require_not_negative)
]
"""A number, or a range of numbers that are not negative."""

PositiveDistribution = Annotated[Distribution, AfterValidator(_require_positive)]
