"""Campaigns that differ in one number of the campaign file, on a grid of values."""

import re
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Sequence, Tuple, Union

import numpy as np
from pydantic import ValidationError

from gz_testauto.base.errors import SpecError
from gz_testauto.base.parameters import check_parameters
from gz_testauto.base.registry import unknown_name
from gz_testauto.planners import PLANNERS
from gz_testauto.results.comparability import flatten
from gz_testauto.sampling import seeds
from gz_testauto.spec.campaign import BuiltinPlannerSpec, CampaignSpec
from gz_testauto.spec.loader import fault_text

LEVELS = 9
"""Largest number of values of a varied key."""

EACH = "[*]"
"""Index that selects each entry of a list."""

Number = Union[int, float]
Path = Tuple[Union[str, int], ...]


@dataclass(frozen=True)
class VariedRange:
    """The key to vary, such as ``robot.max_linear_mps``, and its lowest and highest value."""

    key: str
    low: Number
    high: Number

    @classmethod
    def parse(cls, text: str) -> "VariedRange":
        """Return the range in ``KEY=LOW:HIGH``. Raises ``ValueError`` for other text."""
        key, _, ends = text.partition("=")
        low, high = (_number(one) for one in ends.split(":"))
        if not (key and low < high):
            raise ValueError(text)
        return cls(key, low, high)


@dataclass(frozen=True)
class Level:
    """A campaign in which the key has one ``value``, and the name of its results directory."""

    value: Number
    name: str
    spec: CampaignSpec


def levels_of(spec: CampaignSpec, varied: VariedRange, worlds: int) -> List[Level]:
    """Return the campaigns on the grid, in increasing order of the value.

    Each has ``worlds`` worlds and one trial in each of them. Their random numbers differ, so that
    trials at different values are independent. Raises ``SpecError`` if the key is unknown, if it is
    not a number, or if a value is not allowed.
    """
    if spec.worlds.directory is not None:
        raise SpecError(
            f"campaign {spec.name}: worlds.directory has no further worlds for each value; specify "
            "worlds.base and worlds.obstacles, or a world source"
        )
    data = spec.model_dump(mode="json")
    data.update(stop=None, repetitions=1, worlds={**data["worlds"], "count": worlds})
    if varied.key in ("seed", "repetitions", "worlds.count"):
        raise SpecError(f"--vary: {varied.key} is set by this command; vary another key")
    paths = _paths(data, varied.key)
    present = _value(data, paths[0])
    whole = all(isinstance(one, int) for one in (varied.low, varied.high, *_numbers(present)))
    grid = np.linspace(varied.low, varied.high, LEVELS)
    values: Sequence[Number] = [float(f"{one:.6g}") for one in grid]
    if whole and present is not None:
        values = sorted({round(one) for one in grid.tolist()})
    return [_level(spec, data, varied.key, paths, value) for value in values]


def _number(text: str) -> Number:
    try:
        return int(text)
    except ValueError:
        number = float(text)
    if not np.isfinite(number):
        raise ValueError(text)
    return number


def _paths(data: Mapping[str, Any], key: str) -> List[Path]:
    """Return the paths of a key in ``data``; they are several if it contains ``[*]``."""
    known = [name for name, one in flatten(data) if one is None or _is_number(one)]
    paths: List[Path] = [()]
    for match in re.finditer(r"[^.\[\]]+|\[(\d+|\*)\]", key):
        part = match[0]
        found: List[Path] = []
        for path in paths:
            inside = _value(data, path)
            if isinstance(inside, list) and part == EACH:
                found += [(*path, index) for index in range(len(inside))]
            elif isinstance(inside, list) and part[1:-1].isdigit():
                found += [(*path, int(part[1:-1]))] if int(part[1:-1]) < len(inside) else []
            elif isinstance(inside, Mapping) and part in inside:
                found.append((*path, part))
        if not found:
            start = key[: match.start()].rstrip(".").replace(EACH, "[0]")
            near = [name for name in known if name.startswith(start)]
            raise SpecError(f"--vary: {unknown_name('key', key, near or known)}")
        paths = found
    present = _value(data, paths[0])
    if present is not None and not _numbers(present):
        raise SpecError(f"--vary: {key} is {present!r}; it must be a key whose value is a number")
    return paths


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _numbers(value: Any) -> List[Number]:
    """Return the numbers of a value: of a number, or of a mapping such as ``{min: 3, max: 5}``."""
    parts = list(value.values()) if isinstance(value, Mapping) else [value]
    return parts if all(map(_is_number, parts)) else []


def _value(data: Any, path: Path) -> Any:
    for part in path:
        data = data[part]
    return data


def _replaced(data: Any, path: Path, value: Any) -> Any:
    """Return ``data`` with another value at ``path``."""
    if not path:
        return value
    copy: Union[Dict[Any, Any], List[Any]] = data.copy()
    copy[path[0]] = _replaced(data[path[0]], path[1:], value)  # type: ignore[index]
    return copy


def _level(spec: CampaignSpec, data: Any, key: str, paths: Sequence[Path], value: Number) -> Level:
    text = f"{value:.6g}"
    data = {**data, "seed": seeds.child_seed(spec.seed, seeds.BOUNDARY, text)}
    for path in paths:
        data = _replaced(data, path, value)
    try:
        varied = type(spec).model_validate(data)
        for planner in varied.planners:
            if isinstance(planner, BuiltinPlannerSpec):
                check_parameters(PLANNERS, planner.plugin, planner.parameters)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise SpecError(f"--vary {key}: {fault_text(where, first)}") from None
    return Level(value, f"{key.rpartition('.')[2]}_{text}", varied)
