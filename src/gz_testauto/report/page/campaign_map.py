"""Create the map of a campaign: all trajectories on the page, and the places of the failures.

It reads only the data of worlds that the page draws. Coordinates of its SVG are in cm, with y down.
"""

import math
from collections import Counter
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np
import shapely

from gz_testauto.report.page.encoding import POSITION_M
from gz_testauto.report.page.rooms import find_rooms
from gz_testauto.results.records import CampaignResults
from gz_testauto.trial.outcome import Outcome

MOST_POINTS = 60  # largest mean number of points of a line

_MARGIN, _LEAST_MARGIN_M = 0.08, 1.5
_WALLS_SHOWN = 2.0  # walls larger than the trajectories by this factor are cut off
_TOLERANCE = 0.001  # of the lines, relative to the size of the map; doubled for many points
_STEP_M = 0.1  # largest distance between the points that are assigned to squares
_SYMBOL = 0.02  # font size, relative to the size of the map

Block = Mapping[str, Any]
DrawnTrial = Tuple[int, Block, np.ndarray]  # index of the world, trial, and positions (n, 2) in m


def campaign_map(
    results: CampaignResults, worlds: Sequence[Block], shapes: Sequence[Block]
) -> Optional[Dict[str, Any]]:
    """Return the content of the map for the template of the page, or None without trajectories.

    ``worlds`` are the blocks of a ``WorldsDrawer``, with the data of their trials. ``shapes`` are
    those of a ``ShapeTable``.
    """
    drawn: List[DrawnTrial] = [
        (world_index, trial, np.cumsum(trial["path"][1:3], axis=1).T / 1000)
        for world_index, world in enumerate(worlds)
        for trial in world["trials"]
        if trial.get("path", [[]])[0]
    ]
    if not drawn:
        return None
    rings_m = [
        ring_m
        for shape, x, y in _shared(worlds)
        for ring_m in _rings(shapes[shape], np.array([x, y]))
    ]
    low, high = _bounds([points_m for _, _, points_m in drawn], rings_m)
    size_m = float((high - low).max())
    lines_m, tolerance_m = _thinned([line for _, _, line in drawn], _TOLERANCE * size_m)
    groups = _groups(results, drawn, lines_m)
    dense_lines_m = [_dense(points_m) for _, _, points_m in drawn]
    planner_counts = Counter(trial["planner"] for _, trial, _ in drawn)
    outcome_counts = Counter(trial["outcome"] for _, trial, _ in drawn)
    left, bottom, right, top = *_centimeters(low), *_centimeters(high)
    return {
        "box": (left, top, right - left, bottom - top),
        "symbol_cm": max(round(100 * _SYMBOL * size_m), 1),
        "scale_m": _scale_length(float(high[0] - low[0]) / 4),
        "walls": "".join(f"{_path(ring_m)}z" for ring_m in rings_m),
        "groups": groups,
        "planners": [
            (index, results.planners[index], count)
            for index, count in sorted(planner_counts.items())
        ],
        "outcomes": [
            (list(Outcome)[index], count) for index, count in sorted(outcome_counts.items())
        ],
        "places": _places_of_failures(results, drawn, dense_lines_m),
        "rooms": find_rooms(rings_m, (*low.tolist(), *high.tolist()), dense_lines_m),
        "shown": len(drawn),
        "trials": len(results.trials),
        # the lines are thinned twice, first in x and in y, and then rounded to cm
        "tolerance_cm": math.ceil(100 * (tolerance_m + math.sqrt(2) * POSITION_M) + math.sqrt(0.5)),
    }


def filter_style(content: Optional[Mapping[str, Any]]) -> str:
    """Return the CSS rules by which checkboxes of the map hide trials, also without JavaScript. The
    text is empty without a map."""
    if content is None:
        return ""
    choices = [("planner", index) for index, _, _ in content["planners"]]
    choices += [("outcome", outcome.value) for outcome, _ in content["outcomes"]]
    return "\n".join(
        f"#campaign-map:has(#map-{key}-{value}:not(:checked)) [data-{key}='{value}'] "
        "{ display: none; }"
        for key, value in choices
    )


def _groups(
    results: CampaignResults, drawn: Sequence[DrawnTrial], lines_m: Sequence[np.ndarray]
) -> List[Dict[str, Any]]:
    """Return a group for each planner and outcome, with the lines and places of failures of its
    trials."""
    groups: Dict[Tuple[int, int], Dict[str, Any]] = {}
    for (world_index, trial, points_m), line_m in zip(drawn, lines_m):
        outcome_index, planner = trial["outcome"], trial["planner"]
        outcome = list(Outcome)[outcome_index]
        group = groups.setdefault(
            (outcome_index, planner),
            {"planner": planner, "outcome": outcome, "lines": [], "failures": []},
        )
        link = f"#w{world_index}p{planner}"
        group["lines"].append((link, _path(line_m)))
        if not outcome.success:
            world = results.worlds[world_index].name
            repetition = f" #{trial['repetition']}" if trial["repetition"] else ""
            title = f"{world}, {results.planners[planner]}{repetition}: {outcome.label}"
            group["failures"].append((link, title, *_centimeters(points_m[-1])))
    return [groups[key] for key in sorted(groups)]


def _places_of_failures(
    results: CampaignResults, drawn: Sequence[DrawnTrial], dense_lines_m: Sequence[np.ndarray]
) -> List[Tuple[int, int, int, List[int]]]:
    """Return the squares of 1 m in which trials failed, those with the most failures first. Each
    entry contains x and y (m) of the lower left corner, the number of trials that entered the
    square, and the number of failures of each planner."""
    failures: Dict[Tuple[int, int], Counter[int]] = {}
    entered: Counter[Tuple[int, int]] = Counter()
    for (_, trial, _), line_m in zip(drawn, dense_lines_m):
        squares = [(x, y) for x, y in np.floor(line_m).astype(int).tolist()]
        entered.update(set(squares))
        if not list(Outcome)[trial["outcome"]].success:
            failures.setdefault(squares[-1], Counter())[trial["planner"]] += 1
    places = [
        (x, y, entered[x, y], [counts[index] for index in range(len(results.planners))])
        for (x, y), counts in failures.items()
    ]
    return sorted(places, key=lambda place: (-sum(place[3]), place))


def _dense(points_m: np.ndarray) -> np.ndarray:
    steps_m = np.hypot(*np.diff(points_m, axis=0).T)
    along_m = np.concatenate([[0.0], np.cumsum(steps_m)])
    at_m = np.linspace(0.0, along_m[-1], math.ceil(along_m[-1] / _STEP_M) + 2)
    return np.column_stack([np.interp(at_m, along_m, points_m[:, axis]) for axis in (0, 1)])


def _bounds(
    lines_m: Sequence[np.ndarray], walls_m: Sequence[np.ndarray]
) -> Tuple[np.ndarray, np.ndarray]:
    """Return the lower left and upper right corner (m) of the map. It contains all trajectories
    with a margin, and the walls unless these are much larger."""
    points_m = np.concatenate(lines_m)
    low, high = points_m.min(axis=0), points_m.max(axis=0)
    margin_m = max(_LEAST_MARGIN_M, _MARGIN * float((high - low).max()))
    low, high = low - margin_m, high + margin_m
    if walls_m:
        points_m = np.concatenate([*walls_m, [low, high]])
        outer_low, outer_high = points_m.min(axis=0), points_m.max(axis=0)
        if (outer_high - outer_low).max() <= _WALLS_SHOWN * (high - low).max():
            return outer_low, outer_high
    return low, high


def _thinned(lines_m: Sequence[np.ndarray], tolerance_m: float) -> Tuple[List[np.ndarray], float]:
    """Return simplified lines with at most :data:`MOST_POINTS` points on average, and their
    tolerance (m): ``tolerance_m``, doubled as often as necessary."""
    lines = [shapely.LineString(line if len(line) > 1 else [line[0]] * 2) for line in lines_m]
    while True:
        thinned = shapely.simplify(lines, tolerance_m, preserve_topology=False)
        if shapely.get_num_coordinates(thinned).mean() <= MOST_POINTS:
            return [shapely.get_coordinates(line) for line in thinned], tolerance_m
        tolerance_m *= 2


def _centimeters(point_m: np.ndarray) -> Tuple[int, int]:
    x, y = np.rint(point_m * (100, -100)).astype(int).tolist()
    return x, y


def _path(points_m: np.ndarray) -> str:
    points = np.rint(points_m * (100, -100)).astype(int)
    steps = " ".join(map(str, np.diff(points, axis=0).ravel().tolist()))
    return f"M{points[0][0]} {points[0][1]}l{steps}"


def _shared(worlds: Sequence[Block]) -> List[Tuple[int, int, int]]:
    """Return the index of the shape, x and y (mm) of the outlines that are in all worlds with known
    obstacles."""
    outlines = [
        set(zip(world["placed"][::3], world["placed"][1::3], world["placed"][2::3]))
        for world in worlds
        if world["placed"]
    ]
    return sorted(set.intersection(*outlines)) if outlines else []


def _rings(shape: Block, position_mm: np.ndarray) -> List[np.ndarray]:
    """Return the vertices (n, 2) in m of each ring of a shape at ``position_mm``."""
    if "r" in shape:
        circle = shapely.Point(position_mm).buffer(shape["r"], quad_segs=8)
        return [shapely.get_coordinates(circle)[:-1] / 1000]
    return [(np.reshape(ring, (-1, 2)) + position_mm) / 1000 for ring in shape["p"]]


def _scale_length(most_m: float) -> float:
    """Return the largest length of 1, 2 or 5 times a power of ten that is at most ``most_m``."""
    power = 10.0 ** np.floor(np.log10(most_m))
    return float(max(factor * power for factor in (1, 2, 5) if factor * power <= most_m))
