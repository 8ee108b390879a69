"""Provide the worlds of a campaign: existing files, or worlds generated in the results directory.

The files of users are never changed: a world that needs ``worlds.repair`` or
``worlds.allow_missing`` is copied to the results directory.
"""

import contextlib
import math
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Callable, List, Optional, Sequence, Tuple, TypeVar

import shapely

from gz_testauto.base.disk import PARTIAL_SUFFIX, make_directory
from gz_testauto.base.errors import ResultsError, SpecError
from gz_testauto.base.truncation import join_truncated
from gz_testauto.campaign.missions import draw_missions, named_worlds
from gz_testauto.grid.search import path_length_m
from gz_testauto.results.comparability import file_sha256
from gz_testauto.results.directory import reporting_disk, write_atomically
from gz_testauto.sampling.missions import MissionRobot
from gz_testauto.sampling.naming import is_obstacle
from gz_testauto.sampling.site import RequiredMission, Site, walls_of
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.floor import Heights, obstructing_heights
from gz_testauto.sdf.includes import ModelLibrary, read_world
from gz_testauto.sdf.missing import is_allowed, remove_missing
from gz_testauto.sdf.plugins import plugin_files
from gz_testauto.sdf.robot import RobotBody, RobotModel
from gz_testauto.sdf.scene import WorldScene, read_scene
from gz_testauto.sdf.visuals import models_with_other_visuals
from gz_testauto.spec.campaign import BuiltinCampaignSpec, CampaignSpec
from gz_testauto.spec.regions import KeepOut, Region
from gz_testauto.spec.worlds import WorldsSpec
from gz_testauto.trial.static_maps import scan_height_m
from gz_testauto.trial.testbed import robot_limits
from gz_testauto.worlds.manifest import MANIFEST, WorldSet, file_record, read_worlds, sha256_of
from gz_testauto.worlds.multiply import (
    WorldRecipe,
    differing_inputs,
    mission_record,
)
from gz_testauto.worlds.published import PublishedNumbers
from gz_testauto.worlds.record import Progress, WorldRecord, generated_name
from gz_testauto.worlds.source import (
    Mission,
    Missions,
    generated_worlds,
    missions_of,
    world_source,
    xacro_input,
)

ROBOT_ROOM_M = 0.3  # free distance around the start and the goal of a companion robot

MODELS_NAMED = 6

BASE_FILE = "base.world"  # the expanded base world, next to the generated worlds

AnyCampaign = TypeVar("AnyCampaign", bound=CampaignSpec)


def gather_worlds(
    spec: CampaignSpec,
    robot: RobotBody,
    folder: Path,
    world_workers: int = 1,
    *,
    count: Optional[int] = None,
    stored_worlds: Sequence[WorldRecord] = (),
    progress: Optional[Progress] = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Tuple[WorldRecord, ...]:
    """Return the worlds of the campaign in order; generate those that ``folder`` does not contain.

    Of the worlds with random obstacles in a base world, only the first ``count`` are generated. The
    files of ``stored_worlds``, the records of an earlier run with the same inputs, are not measured
    again. If ``should_stop`` returns True, the worlds that are complete are returned. A world
    source uses up to ``world_workers`` processes. Raises ``SpecError`` for invalid settings in
    ``worlds``, ``SdfError`` for an invalid world file, and ``PlacementError`` if obstacles do not
    fit.
    """
    spec = expand_base(spec, folder)
    source = world_source(spec)
    if source is not None:
        if os.path.isfile(folder / MANIFEST):
            worlds = gathered_worlds = generated_worlds(folder)
        else:
            worlds = gathered_worlds = source.generate(folder, world_workers)
    elif spec.worlds.base is None:
        worlds = gathered_worlds = _read_directory(spec.worlds)
        if any(_is_copied(entry, spec.worlds) for entry in worlds):
            worlds = copy_worlds(gathered_worlds, spec.worlds, folder)
    else:
        mission = None
        if spec.worlds.missions is None:
            mission = mission_of_robot(spec, robot, Missions(spec).of(""))
        needed_files = None if count is None else math.ceil(count / spec.worlds.missions_per_world)
        worlds = gathered_worlds = _multiply_base(
            spec, robot, mission, folder, needed_files, progress, should_stop
        )
    entries, originals = list(worlds)[: spec.worlds.count], list(gathered_worlds)
    has_one_base = spec.worlds.base is not None  # all worlds have the models of the base
    if spec.worlds.count is not None and not has_one_base and len(entries) < spec.worlds.count:
        raise SpecError(
            f"{worlds.directory}: the directory has {len(entries)} worlds, but worlds.count is "
            f"{spec.worlds.count}; generate more worlds, or reduce worlds.count"
        )
    if spec.worlds.missions is not None:
        mission_robot = MissionRobot(
            *_circle_and_heights(spec, robot), tolerance_m=spec.goal.tolerance_m
        )
        areas = _areas_of_others(spec, mission_robot.radius_m)
        entries = list(
            draw_missions(spec, mission_robot, areas, entries, folder, count, progress, should_stop)
        )
        originals = named_worlds(originals, spec.worlds.missions_per_world)
    missions = missions_of(spec, folder)
    published_numbers = PublishedNumbers(spec, missions)
    missing_in_base = tuple(worlds.inputs.get("missing", ())) if has_one_base else ()
    begun_s = time.monotonic()
    records: List[WorldRecord] = []
    models: List[Tuple[str, ...]] = []
    # A stack and gazebo_ros use the sensor of the user's Gazebo.
    is_replaced = (
        isinstance(spec, BuiltinCampaignSpec)
        and spec.simulator != "gazebo_ros"
        and not spec.lidar_sees_visuals
    )
    is_visual = is_replaced and isinstance(robot, RobotModel) and robot.has_gpu_lidar
    have_lengths = all(entry.shortest_path_m is not None for entry in entries)
    measured_worlds = {(world.name, world.sha256): world for world in stored_worlds}
    measured: Optional[WorldRecord] = None  # the record whose scene the next world can share
    for index, (entry, original) in enumerate(zip(entries, originals)):
        if should_stop() and not has_one_base:
            return tuple(records)
        mission = mission_of_robot(spec, robot, missions.of(entry.name))
        has_path = have_lengths and (
            bool(entry.mission) or worlds.inputs.get("mission") == mission_record(mission)
        )
        stored_world = measured_worlds.get((entry.name, entry.sha256))
        if stored_world is not None:
            measured = stored_world
            entry = replace(entry, shortest_path_m=measured.shortest_path_m)
        elif not (has_path and has_one_base and measured is not None):
            scene = read_scene(entry.path)
            models.append(tuple(scene.models))
            other_visuals: Tuple[str, ...] = ()
            if is_visual:
                other_visuals = models_with_other_visuals(scene, scan_height_m(spec, robot))
            if not has_path:
                entry = replace(entry, shortest_path_m=shortest_path_m(scene, mission))
            measured = replace(entry, unmeasured=scene.unmeasured, other_visuals=other_visuals)
        removed_names = entry.missing + missing_in_base
        if spec.worlds.allow_missing:
            removed_names += _missing_plugins(entry.path, spec.worlds)
        records.append(
            replace(
                entry,
                world_index=index,
                published=published_numbers.of(entry.name, original.path),
                missing=removed_names,
                unmeasured=measured.unmeasured,
                other_visuals=measured.other_visuals,
            )
        )
        # existing worlds are often read in less than a second
        if progress is not None and not has_one_base and time.monotonic() - begun_s > 1.0:
            progress(len(records), len(entries))
    if not stored_worlds:  # otherwise, the earlier run has checked this
        _require_obstacle(spec.worlds, models)
    return tuple(records)


def mission_of_robot(spec: CampaignSpec, robot: RobotBody, mission: Mission) -> RequiredMission:
    start, *via, goal = ((pose.x_m, pose.y_m) for pose in (mission.start, *mission.goals))
    radius_m, heights = _circle_and_heights(spec, robot)
    return RequiredMission(start, goal, radius_m, heights, tuple(via))


def _circle_and_heights(spec: CampaignSpec, robot: RobotBody) -> Tuple[float, Heights]:
    radius_m = float(robot_limits(spec, robot).circumscribed_radius_m)
    return radius_m, obstructing_heights(robot.height_m)


def shortest_path_m(scene: WorldScene, mission: RequiredMission) -> Optional[float]:
    """Return the length of the shortest path from the start to all goals, in order.

    The path is that of the robot's circumscribed circle around the collision shapes at
    ``mission.heights``. Returns None without such a path; the robot's footprint can still fit.
    """
    site = Site(walls_of(scene, mission.heights), mission)
    path = site.shortest_path(site.blocked(margin_m=0.0))
    return None if path is None else path_length_m(path)


def with_expanded_base(spec: AnyCampaign, folder: Path) -> AnyCampaign:
    """Return the campaign with the base world that :func:`expand_base` wrote to ``folder``, or
    ``spec`` itself if xacro is not run for the base world."""
    worlds = spec.worlds
    if worlds.base is None or xacro_input(worlds, worlds.base) is None:
        return spec
    # Only the expanded file is read later, since xacro runs the expressions of the original.
    worlds = worlds.model_copy(update={"base": folder / BASE_FILE, "xacro": None})
    return spec.model_copy(update={"worlds": worlds})


def expand_base(spec: AnyCampaign, folder: Path) -> AnyCampaign:
    """Return the campaign with a base world in which xacro is expanded. This world is written to
    ``folder`` if necessary. Raises ``SdfError``, and ``ResultsError`` if worlds were generated from
    another base world."""
    expanded_spec, worlds = with_expanded_base(spec, folder), spec.worlds
    if expanded_spec is spec:
        return spec
    assert worlds.base is not None
    document = read_world(worlds.base, worlds.repair, xacro_input(worlds, worlds.base))
    ModelLibrary(repair=worlds.repair).make_paths_absolute(document)
    content, path = document.to_bytes(), folder / BASE_FILE
    if not os.path.isfile(folder / MANIFEST):
        with reporting_disk(folder):
            make_directory(folder)
        write_atomically(path, content)
    elif file_sha256(path) != sha256_of(content):
        raise ResultsError(
            f"{worlds.base}: xacro generates another world than that from which the worlds in "
            f"{folder} were generated; restore the files that it includes, or use a new directory "
            "for --out"
        )
    return expanded_spec


def _is_copied(entry: WorldRecord, worlds: WorldsSpec) -> bool:
    is_expanded = xacro_input(worlds, entry.path) is not None
    return worlds.repair or bool(worlds.allow_missing) or is_expanded


def copy_worlds(worlds: WorldSet, spec: WorldsSpec, folder: Path) -> WorldSet:
    """Copy worlds to ``folder`` with ``worlds.repair``, ``worlds.allow_missing`` and
    ``worlds.xacro`` applied, and return all worlds. Worlds that need none of these keys are not
    copied.

    References to missing resources are removed and listed as ``missing``; other paths are absolute.
    Raises ``SdfError`` or ``ResultsError``.
    """
    copies: List[WorldRecord] = []
    with reporting_disk(folder):
        make_directory(folder)
    for entry in worlds:
        if not _is_copied(entry, spec):
            copies.append(entry)
            continue
        library, xacro = ModelLibrary(repair=spec.repair), xacro_input(spec, entry.path)
        document = read_world(entry.path, spec.repair, xacro)
        missing_names = remove_missing(document, library, spec.allow_missing)
        library.expand_changed(document)
        library.make_paths_absolute(document)
        content = document.to_bytes()
        path, digest = folder / f"{entry.name}.world", sha256_of(content)
        if not path.is_file() or file_sha256(path) != digest:
            write_atomically(path, content)
        copy = replace(entry, path=path, sha256=digest, missing=missing_names)
        if xacro is not None:
            content_sha256 = file_record(0, path, content).content_sha256
            copy = replace(copy, content_sha256=content_sha256)
        copies.append(copy)
    return replace(worlds, worlds=tuple(copies))


def _missing_plugins(path: Path, spec: WorldsSpec) -> Tuple[str, ...]:
    document = SdfDocument.read(path, spec.repair)
    plugin_names = plugin_files(document, ModelLibrary(repair=spec.repair))
    return tuple(
        name for name in plugin_names if spec.plugins and is_allowed(name, spec.allow_missing)
    )


def _require_obstacle(worlds: WorldsSpec, models: Sequence[Sequence[str]]) -> None:
    pattern = worlds.obstacle_pattern
    if pattern is None or worlds.directory is None:
        return
    if not any(is_obstacle(name, pattern) for names in models for name in names):
        names = sorted(models[0])
        shown_names = ", ".join(names[:MODELS_NAMED]) + (", …" if len(names) > MODELS_NAMED else "")
        raise SpecError(
            f"worlds.obstacle_names is {pattern.pattern!r}, but it is the complete name of no "
            f"model in {worlds.directory}; correct or remove it. The first world has the models "
            f"{shown_names}"
        )


def _read_directory(worlds: WorldsSpec) -> WorldSet:
    directory = Path(worlds.directory)  # type: ignore[arg-type]
    if worlds.files is None:
        return read_worlds(directory)
    described_worlds = read_worlds(directory, [entry.file for entry in worlds.files])
    by_file = {entry.path.name: entry for entry in described_worlds}
    entries = [replace(by_file[entry.file], name=entry.world) for entry in worlds.files]
    return replace(described_worlds, worlds=tuple(entries))


class _PreparationStopped(Exception):
    """A stop was requested before the base world was prepared."""


def _areas_of_others(spec: CampaignSpec, radius_m: float) -> List[shapely.Polygon]:
    """Return the areas (m, world frame) of actors on fixed paths, which do not avoid obstacles, and
    those around the starts and goals of further robots."""
    areas = [actor.swept_area for actor in spec.actors if actor.swept_area is not None]
    return areas + [
        shapely.Point(pose.x_m, pose.y_m).buffer(radius_m + ROBOT_ROOM_M)
        for robot in spec.robots
        for pose in (robot.start, robot.goal)
    ]


def _multiply_base(
    spec: CampaignSpec,
    robot: RobotBody,
    mission: Optional[RequiredMission],
    folder: Path,
    count: Optional[int],
    progress: Optional[Progress],
    should_stop: Callable[[], bool],
) -> WorldSet:
    worlds = spec.worlds
    assert worlds.base is not None and worlds.obstacles is not None and worlds.count is not None
    obstacles = worlds.obstacles
    areas = _areas_of_others(spec, _circle_and_heights(spec, robot)[0])
    if areas:
        zones = [KeepOut(shape=Region(polygon=list(area.exterior.coords)[:-1])) for area in areas]
        obstacles = obstacles.model_copy(update={"keep_out": [*obstacles.keep_out, *zones]})
    pattern, allow_missing = worlds.obstacle_pattern, tuple(worlds.allow_missing)
    recipe = WorldRecipe(
        Path(worlds.base),
        obstacles,
        spec.seed,
        mission,
        pattern,
        worlds.repair,
        worlds.plugins,
        allow_missing,
    )
    inputs = recipe.inputs()
    stored_worlds = WorldSet(folder, (), inputs)
    if os.path.isfile(folder / MANIFEST):
        stored_worlds = generated_worlds(folder)
    else:
        _require_no_other_files(folder)
    needed_count = min(count or worlds.count, worlds.count)
    if len(stored_worlds) >= needed_count or should_stop():
        return stored_worlds
    differing_names = differing_inputs(stored_worlds.inputs, inputs)
    if differing_names:
        raise ResultsError(
            f"{folder}: the first {len(stored_worlds)} worlds were generated from other inputs "
            f"({', '.join(differing_names)}); use a new directory for --out"
        )
    if progress is not None:
        progress(len(stored_worlds), needed_count)

    def stop_before_step() -> None:
        if should_stop():
            raise _PreparationStopped

    with reporting_disk(folder), contextlib.suppress(_PreparationStopped):
        make_directory(folder)
        generator = recipe.generator(stop_before_step)
        return generator.extend(stored_worlds, needed_count, progress, should_stop)
    return stored_worlds


def _require_no_other_files(folder: Path) -> None:
    files = f"{generated_name(0)}.world", MANIFEST, BASE_FILE
    unfinished_files = {*files, *(f"{file}{PARTIAL_SUFFIX}" for file in files)}
    foreign_names = sorted(p.name for p in folder.glob("*") if p.name not in unfinished_files)
    if foreign_names:
        raise ResultsError(
            f"{folder}: has files, but no {MANIFEST} ({join_truncated(foreign_names)}); remove "
            "them, or use another directory"
        )
