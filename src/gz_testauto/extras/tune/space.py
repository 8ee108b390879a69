"""The space of parameters: its YAML file, and the candidates that are drawn from it.

The constructor of a plug-in declares types and limits of its parameters. The parameters of a
navigation stack are arguments of its launch files, which declare no types.
"""

import math
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

import numpy as np
from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator
from typing_extensions import Annotated

from gz_testauto.base.errors import ParameterError, SpecError
from gz_testauto.base.parameters import check_parameters, construct, parameters_of, schema_of
from gz_testauto.planners import PLANNERS
from gz_testauto.sampling import seeds
from gz_testauto.spec.campaign import (
    BuiltinPlannerSpec,
    CampaignSpec,
    PlannerSpec,
    StackCampaignSpec,
    StackPlannerSpec,
)
from gz_testauto.spec.model import LocatedSpec, Spec, fault
from gz_testauto.spec.stack import with_files
from gz_testauto.trial.launch_files import check_launch

FACTOR = 4.0  # ratio of a limit and the default of a parameter whose limits are infinite

DIGITS = 4  # significant digits of the drawn numbers

DRAWS = 100

Number = Union[int, float]
Values = Dict[str, Any]


class ParameterSpec(Spec):
    """The values of one parameter: a range, written ``[min, max]`` or as a mapping with these keys,
    or a list of values, ``choice``. If it is empty (``null``), the range has the declared limits of
    the parameter. If these are infinite, it extends from a quarter of the default to four times the
    default, on a logarithmic scale."""

    min: Optional[Number] = None
    """The smallest value, in the unit of the parameter."""
    max: Optional[Number] = None
    """The largest value, in the unit of the parameter."""
    log: bool = False
    """True if the logarithm of the value is uniform, for ranges over several orders of
    magnitude."""
    choice: Optional[List[Any]] = Field(None, min_length=2)
    """The possible values, which are equally probable. A value that starts with ``./``, ``../``,
    ``package://`` or ``file://`` is the path of a file."""

    @field_validator("choice", mode="before")
    @classmethod
    def _resolve_files(cls, values: Any, info: ValidationInfo) -> Any:
        if not isinstance(values, list):
            return values
        return list(with_files(dict(enumerate(values)), info).values())

    @model_validator(mode="after")
    def _require_range_or_choice(self) -> "ParameterSpec":
        if (self.min is None) != (self.max is None):
            raise ValueError("'min' and 'max' must both be set")
        if self.choice is not None and (self.min is not None or self.log):
            raise ValueError("'choice' is not allowed with 'min', 'max' and 'log'; remove them")
        if self.min is not None and self.max is not None:
            if not self.min < self.max:
                raise ValueError(f"min {self.min} must be less than max {self.max}")
            if self.log and self.min <= 0:
                raise ValueError(f"min {self.min} must be greater than 0, since 'log' is true")
        return self


def _expand_range(value: Any) -> Any:
    if value is None:
        return {}
    if isinstance(value, list):
        if len(value) != 2:
            raise fault("must be [lowest, highest], or {choice: [...]} for single values")
        return {"min": value[0], "max": value[1]}
    return value


class SpaceSpec(LocatedSpec):
    """The parameters of a planner to tune, as in the file of ``--parameters``."""

    parameters: Dict[str, Annotated[ParameterSpec, BeforeValidator(_expand_range)]] = Field(
        min_length=1
    )
    """The parameters to tune, by name: those of a plug-in's constructor, or arguments of the launch
    files of a stack."""


@dataclass(frozen=True)
class Parameter:
    """A parameter to tune: a range, or ``choices``."""

    name: str
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    whole: bool = False
    choices: Tuple[Any, ...] = ()

    def value(self, quantile: float) -> Any:
        """Return the value of the parameter at a quantile, from 0 to less than 1, of its range."""
        if self.choices:
            return self.choices[int(quantile * len(self.choices))]
        low, high = self.low, self.high
        if self.whole:  # each whole number has a part of the range
            low, high = low - 0.5, high + 0.5
        if self.log:
            low = max(low, 0.5) if self.whole else low
            value = math.exp(math.log(low) + quantile * (math.log(high) - math.log(low)))
        else:
            value = low + quantile * (high - low)
        if self.whole:
            return int(min(max(round(value), self.low), self.high))
        return min(max(float(f"{value:.{DIGITS}g}"), self.low), self.high)

    @property
    def text(self) -> str:
        """Return a text such as ``0.1 to 1.5 (log)``."""
        if self.choices:
            return ", ".join(map(str, self.choices))
        return f"{self.low:g} to {self.high:g}" + (" (log)" if self.log else "")


def parameters_to_tune(
    space: SpaceSpec, entry: PlannerSpec, spec: CampaignSpec
) -> Tuple[Parameter, ...]:
    """Return the parameters of the planner ``entry`` that ``space`` contains.

    Raises ``SpecError`` with the file and line for an unknown name, or for invalid or unknown
    limits.
    """
    parameters = []
    for name, parameter_spec in space.parameters.items():
        with space.locating("parameters", "parameters"):
            if isinstance(entry, BuiltinPlannerSpec):
                parameters.append(_plugin_parameter(name, parameter_spec, entry))
            else:
                assert isinstance(entry, StackPlannerSpec)
                assert isinstance(spec, StackCampaignSpec)
                parameters.append(_launch_parameter(name, parameter_spec, entry, spec))
    return tuple(parameters)


def _plugin_parameter(
    name: str, parameter_spec: ParameterSpec, entry: BuiltinPlannerSpec
) -> Parameter:
    def check(value: Any) -> None:
        check_parameters(PLANNERS, entry.plugin, {**entry.parameters, name: value})

    schema = schema_of(PLANNERS.get(entry.plugin), name)
    if parameter_spec.choice is None and parameter_spec.min is None:
        parameter = _parameter_with_declared_limits(name, parameter_spec, entry, schema, check)
    elif parameter_spec.choice is not None:
        parameter = Parameter(name, choices=tuple(parameter_spec.choice))
    else:
        parameter = _range_parameter(name, parameter_spec, schema.get("type"))
    for value in parameter.choices or (parameter.value(0.0), parameter.value(1.0 - 1e-9)):
        check(value)
    if parameter_spec.min is not None:  # also limits that value() would round to a whole number
        check(parameter_spec.min)
        check(parameter_spec.max)
    return parameter


def _launch_parameter(
    name: str, parameter_spec: ParameterSpec, entry: StackPlannerSpec, spec: StackCampaignSpec
) -> Parameter:
    try:
        check_launch(
            spec.navigation(entry.with_settings(entry.name, {name: ""})), f"planner {entry.name}"
        )
    except SpecError as error:
        raise ParameterError(str(error), name) from error
    if parameter_spec.choice is not None:
        return Parameter(name, choices=tuple(parameter_spec.choice))
    if parameter_spec.min is None:
        raise ParameterError(
            "a launch file declares no limits; write [lowest, highest] or {choice: [...]}", name
        )
    return _range_parameter(name, parameter_spec, None)


def _range_parameter(name: str, parameter_spec: ParameterSpec, kind: Optional[str]) -> Parameter:
    assert parameter_spec.min is not None and parameter_spec.max is not None, (
        "checked by the caller"
    )
    if kind is None:
        kind = (
            "integer"
            if isinstance(parameter_spec.min, int) and isinstance(parameter_spec.max, int)
            else "number"
        )
    return Parameter(
        name,
        float(parameter_spec.min),
        float(parameter_spec.max),
        parameter_spec.log,
        kind == "integer",
    )


def _parameter_with_declared_limits(
    name: str,
    parameter_spec: ParameterSpec,
    entry: BuiltinPlannerSpec,
    schema: Mapping[str, Any],
    check: Any,
) -> Parameter:
    known = parameters_of(PLANNERS.get(entry.plugin))
    default: Any = entry.parameters.get(name, known[name].default if name in known else None)
    check(default)  # reports an unknown name
    if schema.get("type") == "boolean":
        return Parameter(name, choices=(False, True))
    if "enum" in schema:
        return Parameter(name, choices=tuple(schema["enum"]))
    low = schema.get("minimum", schema.get("exclusiveMinimum", -math.inf))
    high = schema.get("maximum", schema.get("exclusiveMaximum", math.inf))
    whole, log = schema.get("type") == "integer", parameter_spec.log
    is_number = isinstance(default, (int, float)) and not isinstance(default, bool)
    if math.isinf(low) or math.isinf(high):
        if not is_number or default <= 0:
            raise ParameterError(
                f"it has no declared limits, and its default is {default!r}, from which no range "
                "follows; write [lowest, highest] or {choice: [...]}",
                name,
            )
        low, high, log = max(low, default / FACTOR), min(high, default * FACTOR), True
        if whole:
            low, high = math.ceil(low), math.floor(high)
    elif "exclusiveMinimum" in schema or "exclusiveMaximum" in schema or (log and low <= 0):
        # The limits themselves are not allowed, or there is no logarithm of the lower one.
        margin = 0.01 * (high - low)
        low, high = low + margin, high - margin
    return Parameter(name, float(low), float(high), log, whole)


def draw_candidates(
    parameters: Tuple[Parameter, ...], entry: PlannerSpec, seed: int, count: int
) -> List[Values]:
    """Return ``count`` different candidates, or raise ``SpecError`` if there are too few.

    A candidate depends only on the seed, its number and those before it.
    """
    candidates: List[Values] = []
    rejected = ""
    for number in range(1, count + 1):
        generator = seeds.child_generator(seed, seeds.TUNING, number)
        for _ in range(DRAWS):
            quantiles = generator.uniform(size=len(parameters))
            values = {
                parameter.name: parameter.value(float(q))
                for parameter, q in zip(parameters, quantiles)
            }
            if values in candidates:
                continue
            rejected = _rejection(entry, values)
            if not rejected:
                candidates.append(values)
                break
        else:
            reason = (
                f"the last combination was rejected: {rejected}"
                if rejected
                else (f"they have only {len(candidates)} different combinations")
            )
            raise SpecError(
                f"the parameters to tune allow {len(candidates)} of {count} candidates; {reason}; "
                "reduce --budget, or enlarge the ranges"
            )
    return candidates


def _rejection(entry: PlannerSpec, values: Values) -> str:
    """Return why the plug-in rejects a combination of values, or ""."""
    if not isinstance(entry, BuiltinPlannerSpec):
        return ""
    try:
        construct(PLANNERS, entry.plugin, {**entry.parameters, **values})
    except SpecError as error:
        return str(error)
    return ""


def describe(values: Mapping[str, Any], places: int = DIGITS) -> str:
    """Return a text such as ``reach_m 2.5, margin_m 0.1``."""
    return ", ".join(
        f"{name} {np.format_float_positional(value, places, fractional=False, trim='-')}"
        if isinstance(value, float)
        else f"{name} {value}"
        for name, value in values.items()
    )
