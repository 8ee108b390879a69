"""Draw worlds with the trajectories of all planners, one image per world.

A trajectory ends with a dot if the goal was reached, and otherwise with a cross, inside the robot's
outline. Trajectories of actors are dashed and have the color of the trial. The outlines of robot
and actor are filled at their smallest distance.
"""

import functools
import math
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry
from shapely.geometry.polygon import orient

from gz_testauto.base.disk import replaced_file
from gz_testauto.base.errors import MissingDependencyError
from gz_testauto.base.escaping import escape_text
from gz_testauto.base.installation import install_command
from gz_testauto.base.pose import Pose2D
from gz_testauto.campaign.resume import find_world, open_for_reading
from gz_testauto.metrics.encounters import encounters
from gz_testauto.metrics.recording import (
    ACTOR_SERIES,
    FOOTPRINT_SERIES,
    OUTLINE_SERIES,
    Recording,
)
from gz_testauto.metrics.traffic import lanes_of, surface_of
from gz_testauto.processes import map_in_processes
from gz_testauto.report.sources import Source, recordings
from gz_testauto.results.directory import reporting_disk
from gz_testauto.results.records import CampaignResults, TrialRecord
from gz_testauto.results.store import ResultStore
from gz_testauto.trial.clearance import footprint_at
from gz_testauto.trial.plan import PreparedCampaign
from gz_testauto.worlds.record import Progress, WorldRecord

SIZE_INCHES = 6.0
LABELS_INCHES, LEAST_INCHES = 1.3, 1.8
DOTS_PER_INCH = 150
OBSTACLE_COLOR, LANE_COLOR = "0.45", "0.9"
# the palette of Okabe and Ito, for color-blind readers
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
WORLDS_OF_A_WORKER = 8  # worlds that can be drawn in about the time in which a process starts

WorldTrials = Tuple[WorldRecord, List[TrialRecord]]


def plot_worlds(
    sources: Sequence[Source],
    results: CampaignResults,
    out: Path,
    file_format: str = "png",
    workers: int = 1,
    progress: Optional[Progress] = None,
) -> List[Path]:
    """Draw every world with a valid trial; return the files in ``out``, one per world.

    The first of the ``sources`` contains the worlds. Raises ``MissingDependencyError`` without
    matplotlib, and ``ResourceError`` if a process died.
    """
    figure_class()
    campaign = read_prepared(sources[0])
    with reporting_disk(out):
        out.mkdir(parents=True, exist_ok=True)
    draw = functools.partial(_write_plot, sources, campaign, results.planners, out, file_format)
    worlds = list(_trials_by_world(results.worlds, results.trials))
    workers = min(workers, math.ceil(len(worlds) / WORLDS_OF_A_WORKER))
    figures = (
        map(draw, worlds)
        if workers < 2
        else map_in_processes(draw, worlds, workers, "drawing worlds")
    )
    paths: List[Path] = []
    for path in figures:
        paths.append(path)
        if progress is not None:
            progress(len(paths), len(worlds))
    return paths


def _write_plot(
    sources: Sequence[Source],
    campaign: PreparedCampaign,
    planners: Sequence[str],
    out: Path,
    file_format: str,
    world_trials: WorldTrials,
) -> Path:
    world, records = world_trials
    figure = _draw_figure(sources, campaign, planners, world, records)
    path = out / f"{world.name}.{file_format}"
    with reporting_disk(path):
        save_figure(figure, path, DOTS_PER_INCH)
    return path


def figure_of(source: Source, trials: Sequence[TrialRecord], planners: Sequence[str]) -> Any:
    """Return a figure of one world with at least one valid trial.

    ``planners`` are all planners of the campaign, in the order of their colors. Raises
    ``ResultsError`` if the world has changed.
    """
    figure_class()
    campaign = read_prepared(source)
    return _draw_figure([source], campaign, planners, world_of(campaign, trials), trials)


def read_prepared(source: Source) -> PreparedCampaign:
    with ResultStore.read(source.directory) as store:
        worlds = tuple(find_world(world, source.directory) for world in store.worlds())
    return open_for_reading(source.directory, worlds)


def world_of(campaign: PreparedCampaign, trials: Sequence[TrialRecord]) -> WorldRecord:
    return next(world for world in campaign.worlds if world.name == trials[0].world)


def _draw_figure(
    sources: Sequence[Source],
    campaign: PreparedCampaign,
    planners: Sequence[str],
    world: WorldRecord,
    records: Sequence[TrialRecord],
) -> Any:
    figure = figure_class()(figsize=(SIZE_INCHES, SIZE_INCHES), layout="constrained")
    with recordings(sources) as read_recording:
        drawn_trials = [(record, read_recording(record)) for record in records]
    axes = figure.add_subplot()
    _draw_trials(axes, campaign, planners, world, drawn_trials)
    figure.set_figheight(_height_inches(axes))
    return figure


def _height_inches(axes: Any) -> float:
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    needed_inches = SIZE_INCHES * (top - bottom) / (right - left) + LABELS_INCHES
    return float(min(SIZE_INCHES, max(LEAST_INCHES, needed_inches)))


def figure_class() -> type:
    """Return matplotlib's class ``Figure``. Raises ``MissingDependencyError`` without
    matplotlib."""
    try:
        from matplotlib.figure import Figure  # not pyplot: no display, no global state
    except ImportError as error:
        raise MissingDependencyError(
            f"plots need matplotlib: {install_command('plot')}, or apt install python3-matplotlib"
        ) from error
    return Figure


def save_figure(
    figure: Any, path: Path, dots_per_inch: int, metadata: Optional[Dict[str, Any]] = None
) -> None:
    with replaced_file(path) as stream:
        kind = path.suffix[1:] or None
        figure.savefig(stream, format=kind, dpi=dots_per_inch, metadata=metadata)


def chart_text(text: str) -> str:
    """Escape text for matplotlib, which interprets text between dollar signs as a formula."""
    # fonts do not contain characters that are not printable, and SVG must not contain them
    return escape_text(text).replace("\n", " ").replace("$", r"\$")


def _trials_by_world(
    worlds: Tuple[WorldRecord, ...], trials: Tuple[TrialRecord, ...]
) -> Iterator[WorldTrials]:
    records_by_world: Dict[str, List[TrialRecord]] = {}
    for record in trials:
        if record.trajectory:
            records_by_world.setdefault(record.world, []).append(record)
    for world in worlds:
        if world.name in records_by_world:
            yield world, records_by_world[world.name]


def _draw_trials(
    axes: Any,
    campaign: PreparedCampaign,
    planners: Sequence[str],
    world: WorldRecord,
    drawn_trials: List[Tuple[TrialRecord, Recording]],
) -> None:
    draw_scene(axes, campaign, world, drawn_trials[0][1] if drawn_trials else None)
    labeled_planners = set()
    outline_m = np.asarray(campaign.bed.limits.footprint_m)
    for record, recording in drawn_trials:
        path = recording.pose
        color = COLORS[planners.index(record.planner) % len(COLORS)]
        label = "_nolegend_"
        if record.planner not in labeled_planners:
            labeled_planners.add(record.planner)
            label = chart_text(f"{record.planner}: {record.outcome.label}")
        axes.plot(path[:, 0], path[:, 1], color=color, linewidth=1.5, label=label)
        marker = "o" if record.completed else "X"
        end = np.asarray(footprint_at(outline_m, Pose2D(*path[-1])).exterior.coords)
        axes.plot(end[:, 0], end[:, 1], color=color, linewidth=1)
        axes.plot(*path[-1, :2], marker=marker, color=color, markersize=7, markeredgecolor="white")
        _draw_moving_objects(axes, recording, color)
    draw_mission(axes, campaign, world)


def draw_scene(
    axes: Any, campaign: PreparedCampaign, world: WorldRecord, recording: Optional[Recording]
) -> None:
    for lane in lanes_of(recording) if recording is not None else ():
        for patch in _patches(surface_of(lane), LANE_COLOR):
            axes.add_artist(patch)  # does not change the limits of the axes
    for outline in campaign.bed.obstacles(world).outlines().values():
        for patch in _patches(outline, OBSTACLE_COLOR):
            axes.add_patch(patch)
    mission, static_map = campaign.missions.of(world.name), campaign.bed.static_map
    path_text = "path on the static map" if mission.road is None else "route"
    waypoints = np.concatenate(static_map.waypoints(world, mission))
    axes.plot(waypoints[:, 0], waypoints[:, 1], ":", color="0.6", linewidth=1, label=path_text)


def draw_mission(axes: Any, campaign: PreparedCampaign, world: WorldRecord) -> None:
    from matplotlib.patches import Circle

    mission = campaign.missions.of(world.name)
    start, goals = mission.start, mission.goals
    axes.plot(start.x_m, start.y_m, "ks", markersize=5)
    radius_m = campaign.spec.goal.tolerance_m
    for number, goal in enumerate(goals, 1):
        axes.add_patch(Circle((goal.x_m, goal.y_m), radius_m, fill=False, color="black"))
        if len(goals) > 1:
            axes.annotate(str(number), goal[:2], ha="center", va="center", fontsize="small")
    axes.set_aspect("equal")
    axes.set_xlabel("x (m)")
    axes.set_ylabel("y (m)")
    is_above = _height_inches(axes) < SIZE_INCHES / 2  # the axes have no room for the legend
    axes.set_title(chart_text(world.name), loc="right" if is_above else "center")
    place = (
        {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0)} if is_above else {"loc": "upper left"}
    )
    axes.legend(fontsize="small", framealpha=0.9, ncols=3 if is_above else 1, **place)


def _draw_moving_objects(axes: Any, recording: Recording, color: str) -> None:
    series = recording.series
    for encounter in encounters(recording):
        trajectory = series[ACTOR_SERIES + encounter.name]
        axes.plot(trajectory[:, 0], trajectory[:, 1], "--", color=color, linewidth=0.6, alpha=0.7)
        nearest_s = encounter.time_s[int(np.argmin(encounter.distance_m))]
        row = int(np.searchsorted(recording.time_s, nearest_s))
        for outline, pose in (
            (series[OUTLINE_SERIES + encounter.name], trajectory[row]),
            (series[FOOTPRINT_SERIES], recording.pose[row]),
        ):
            placed = Pose2D(*pose.tolist()).apply(outline)
            axes.fill(placed[:, 0], placed[:, 1], facecolor=color, alpha=0.35, linewidth=0)


def _patches(outline: BaseGeometry, color: str) -> Iterator[Any]:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Curve

    for part in shapely.get_parts(outline):
        if part.geom_type != "Polygon" or part.is_empty:
            continue
        # A hole stays unpainted only if its vertices have the opposite orientation.
        oriented_part = orient(part)
        rings = [
            Curve(np.asarray(ring.coords))
            for ring in (oriented_part.exterior, *oriented_part.interiors)
        ]
        curve = Curve.make_compound_path(*rings)
        yield PathPatch(curve, facecolor=color, linewidth=0)
