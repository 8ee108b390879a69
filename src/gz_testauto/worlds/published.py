"""Published numbers of a benchmark's worlds, which are read from files of the benchmark."""

import csv
import io
import math
import re
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Union

import numpy as np

from gz_testauto.base.disk import read_file
from gz_testauto.base.errors import SpecError
from gz_testauto.base.pose import Pose2D
from gz_testauto.grid.search import path_length_m
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.worlds import PublishedSpec
from gz_testauto.worlds.source import Missions

Number = Union[float, str]  # a published number, or its text if this is not a finite number


class PublishedNumbers:
    """The published numbers of the worlds of a campaign. Raises ``SpecError`` with the name of the
    file if a number is missing."""

    def __init__(self, spec: CampaignSpec, missions: Missions) -> None:
        self._spec, self._missions = spec, missions
        self._tables: Dict[Path, List[Mapping[str, str]]] = {}

    def of(self, world: str, path: Path) -> Dict[str, Number]:
        """Return the published numbers of the world file ``path``, whose name in results is
        ``world``, by their names."""
        return {
            name: self._find_number(f"worlds.published.{name}", source, world, path)
            for name, source in self._spec.worlds.published.items()
        }

    def _find_number(self, location: str, source: PublishedSpec, world: str, path: Path) -> Number:
        if source.points is not None:
            mission = self._missions.of(world)
            goals = mission.goals
            if len(goals) > 1:
                raise SpecError(
                    f"{location}: 'points' describes a path to one goal, but world {world} has "
                    f"{len(goals)} goals; remove {location}, or the key 'via'"
                )
            return _path_length_m(
                _points_file(source.points, path, location), location, source, mission.start, *goals
            )
        if source.match is not None:
            match = re.search(source.match, _read_with(path, location, _read_text))
            if match is None:
                raise SpecError(
                    f"{location}: {source.match!r} has no match in {path}; correct the key 'match'"
                )
            return _number_or_text(match.group(1) or "")
        assert source.table is not None, "the specification has one of the three"
        return self._from_table(location, source.table, source.column, path)

    def _from_table(self, location: str, table: Path, column: str, path: Path) -> Number:
        if table not in self._tables:
            text = _read_with(table, location, _read_text)
            self._tables[table] = list(csv.DictReader(text.splitlines()))
        rows = self._tables[table]
        for row in rows:
            if row.get("world") in (path.name, path.stem) and row.get(column) is not None:
                return _number_or_text(row[column])
        columns = ", ".join(rows[0]) if rows else "none"
        raise SpecError(
            f"{location}: {table} has no row with world = {path.stem} and a value in the column "
            f"{column!r}; add such a row, or correct the key 'column'. Columns of the file: "
            f"{columns}"
        )


def _path_length_m(
    file: Path, location: str, source: PublishedSpec, start: Pose2D, goal: Pose2D
) -> float:
    """Return the length (m) of the path from the start over the points in ``file`` to the goal."""
    cells = np.asarray(_read_with(file, location, _read_points), dtype=float)
    if cells.ndim != 2 or cells.shape[1] != 2 or not np.isfinite(cells).all():
        raise SpecError(
            f"{location}: {file} must have two columns of finite coordinates, x and y; correct the "
            "file, or the key 'points'"
        )
    points = cells * source.cell_m + np.array(source.origin_m)
    ends = (start.x_m, start.y_m), (goal.x_m, goal.y_m)
    return path_length_m(np.vstack([ends[:1], points, ends[1:]]))


def _points_file(name: str, world: Path, location: str) -> Path:
    number = re.search(r"(\d+)$", world.stem)
    if number is None and "{number}" in name:
        raise SpecError(
            f"{location}: {name!r} contains {{number}}, but the name {world.name} does not end "
            "with a number; rename the world"
        )
    return world.parent / name.replace("{number}", number.group(1) if number else "")


def _read_with(path: Path, location: str, reader: Callable[[Path], Any]) -> Any:
    try:
        return reader(path)
    except (OSError, ValueError, EOFError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SpecError(f"{location}: {path} cannot be read: {reason}") from error


def _read_points(path: Path) -> Any:
    content = io.BytesIO(read_file(path))
    return np.load(content) if path.suffix == ".npy" else np.loadtxt(content)


def _read_text(path: Path) -> str:
    return read_file(path).decode("utf-8", errors="replace")


def _number_or_text(text: str) -> Number:
    try:
        number = float(text)
    except ValueError:
        return text.strip()
    return number if math.isfinite(number) else text.strip()
