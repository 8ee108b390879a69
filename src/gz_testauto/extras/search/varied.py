"""Campaigns that differ in one number of the campaign file."""

import re
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

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

EACH = "[*]"  # index that selects each entry of a list

Number = Union[int, float]
Path = Tuple[Union[str, int], ...]


@dataclass(frozen=True)
class VariedRange:
    """The key to vary, with its lowest and highest value."""

    key: str
    low: Number
    high: Number

    @classmethod
    def parse(cls, text: str) -> "VariedRange":
        """Parse ``KEY=LOW:HIGH``. Raise ``ValueError`` for other text."""
        key, _, ends = text.partition("=")
        low, high = (_parse_number(end) for end in ends.split(":"))
        if not (key and low < high):
            raise ValueError(text)
        return cls(key, low, high)


@dataclass(frozen=True)
class Level:
    """A campaign in which the key has one ``value``; ``name`` is that of its results directory."""

    value: Number
    name: str
    spec: CampaignSpec


class VariedCampaign:
    """Campaigns that differ in the value of one key, with independent random numbers.

    Each has ``worlds`` worlds with one trial each. ``levels`` are those on a grid of the range.
    Raises ``SpecError`` if the key is unknown or not a number, or if a value is not allowed.
    """

    def __init__(self, spec: CampaignSpec, varied: VariedRange, worlds: int) -> None:
        if spec.worlds.directory is not None:
            raise SpecError(
                f"campaign {spec.name}: worlds.directory has no further worlds for each value; "
                "specify worlds.base and worlds.obstacles, or a world source"
            )
        data = spec.model_dump(mode="json")
        data.update(stop=None, repetitions=1, worlds={**data["worlds"], "count": worlds})
        if varied.key in ("seed", "repetitions", "worlds.count"):
            raise SpecError(f"--vary: {varied.key} is set by this command; vary another key")
        self._spec, self._data, self._key = spec, data, varied.key
        self._paths = _paths(data, varied.key)
        current = _value_at(data, self._paths[0])
        ends = (varied.low, varied.high, *_numbers(current))
        self._is_whole = current is not None and all(isinstance(number, int) for number in ends)
        grid = np.linspace(varied.low, varied.high, LEVELS).tolist()
        self.levels = [
            self.level(value) for value in sorted({self._rounded(number) for number in grid})
        ]

    def midpoint(self, low: Number, high: Number) -> Optional[Number]:
        """Return the value in the middle of two values, or None if no value is between them."""
        middle = self._rounded((low + high) / 2.0)
        return middle if low < middle < high else None

    def level(self, value: Number) -> Level:
        """Return the campaign with this value, or raise ``SpecError`` if it is not allowed."""
        text = f"{value:.6g}"
        seed = seeds.child_seed(self._spec.seed, seeds.BOUNDARY, text)
        data = {**self._data, "seed": seed}
        for path in self._paths:
            data = _with_value_at(data, path, value)
        try:
            varied = type(self._spec).model_validate(data)
            for planner in varied.planners:
                if isinstance(planner, BuiltinPlannerSpec):
                    check_parameters(PLANNERS, planner.plugin, planner.parameters)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise SpecError(f"--vary {self._key}: {fault_text(where, first)}") from None
        return Level(value, f"{self._key.rpartition('.')[2]}_{text}", varied)

    def _rounded(self, value: float) -> Number:
        return round(value) if self._is_whole else float(f"{value:.6g}")


def _parse_number(text: str) -> Number:
    try:
        return int(text)
    except ValueError:
        number = float(text)
    if not np.isfinite(number):
        raise ValueError(text)
    return number


def _paths(data: Mapping[str, Any], key: str) -> List[Path]:
    """Return the paths in ``data`` of the values that a key selects.

    A key with ``[*]`` selects all entries of a list. Raises ``SpecError`` for an unknown key, or if
    its value is not a number.
    """
    known = [name for name, value in flatten(data) if value is None or _is_number(value)]
    paths: List[Path] = [()]
    for match in re.finditer(r"[^.\[\]]+|\[(\d+|\*)\]", key):
        part = match[0]
        matches: List[Path] = []
        for path in paths:
            inside = _value_at(data, path)
            if isinstance(inside, list) and part == EACH:
                matches += [(*path, index) for index in range(len(inside))]
            elif isinstance(inside, list) and part[1:-1].isdigit():
                matches += [(*path, int(part[1:-1]))] if int(part[1:-1]) < len(inside) else []
            elif isinstance(inside, Mapping) and part in inside:
                matches.append((*path, part))
        if not matches:
            start = key[: match.start()].rstrip(".").replace(EACH, "[0]")
            near = [name for name in known if name.startswith(start)]
            raise SpecError(f"--vary: {unknown_name('key', key, near or known)}")
        paths = matches
    present = _value_at(data, paths[0])
    if present is not None and not _numbers(present):
        raise SpecError(f"--vary: {key} is {present!r}; it must be a key whose value is a number")
    return paths


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _numbers(value: Any) -> List[Number]:
    """Return the numbers in a value, a number or a mapping such as ``{min: 3, max: 5}``.

    Returns no number if the value contains anything else.
    """
    parts = list(value.values()) if isinstance(value, Mapping) else [value]
    return parts if all(map(_is_number, parts)) else []


def _value_at(data: Any, path: Path) -> Any:
    for part in path:
        data = data[part]
    return data


def _with_value_at(data: Any, path: Path, value: Any) -> Any:
    if not path:
        return value
    copy: Union[Dict[Any, Any], List[Any]] = data.copy()
    copy[path[0]] = _with_value_at(data[path[0]], path[1:], value)  # type: ignore[index]
    return copy
