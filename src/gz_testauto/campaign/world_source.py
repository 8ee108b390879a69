"""Provide the worlds of a campaign: generated into its directory, or existing in another one.

A :class:`~gz_testauto.worlds.source.WorldSource` provides those of a program that generates worlds.
Selects one of these sources and the files of a directory, and computes the length of the shortest
path in each world. The manifest of a multiplied set has the length for the mission of its
generation (start, goal, radius and heights); otherwise it is computed from the world's geometry.
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import List, Optional, Tuple

import shapely

from gz_testauto.base.errors import SpecError
from gz_testauto.campaign.world_copies import copy_worlds, missing_plugins
from gz_testauto.grid.search import path_length_m
from gz_testauto.results.directory import reporting_disk
from gz_testauto.sampling.site import RequiredMission, Site, walls_of
from gz_testauto.sdf.floor import obstructing_heights
from gz_testauto.sdf.robot import RobotBody
from gz_testauto.sdf.scene import WorldScene, read_scene
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.missions import Missions
from gz_testauto.spec.regions import KeepOut, Region
from gz_testauto.spec.worlds import WorldsSpec
from gz_testauto.trial.setup import robot_limits
from gz_testauto.worlds.manifest import MANIFEST, WorldSet, read_worlds
from gz_testauto.worlds.multiply import mission_record, multiply
from gz_testauto.worlds.published import PublishedFigures
from gz_testauto.worlds.record import WorldRecord
from gz_testauto.worlds.source import made_worlds, missions_of, world_source

ROBOT_ROOM_M = 0.3
"""Free distance around the start and the goal of a further robot."""


def gather_worlds(
    spec: CampaignSpec, robot: RobotBody, folder: Path, world_workers: int = 1
) -> Tuple[WorldRecord, ...]:
    """Return all worlds of the campaign, in order; those of a base world or a scenario are
    generated in ``folder``, those of a scenario by up to ``world_workers`` processes.

    Existing worlds are not generated again. Raises ``SpecError``, ``SdfError`` or
    ``PlacementError``.
    """
    source = world_source(spec)
    if source is not None:
        made = os.path.isfile(folder / MANIFEST)
        worlds = chosen = made_worlds(folder) if made else source.make(folder, world_workers)
    elif spec.worlds.base is None:
        worlds = chosen = _chosen(spec.worlds)
        if spec.worlds.repair or spec.worlds.allow_missing:
            worlds = copy_worlds(chosen, spec.worlds, folder)
    else:
        mission = mission_in(spec, robot, Missions(spec), "")
        worlds = chosen = _generated(spec, mission, folder)
    entries = list(worlds)[: spec.worlds.count]
    if spec.worlds.count is not None and len(entries) < spec.worlds.count:
        raise SpecError(
            f"{worlds.directory}: has {len(entries)} worlds, the campaign requires "
            f"{spec.worlds.count}; generate more, or reduce worlds.count"
        )
    missions = missions_of(spec, folder)
    published = PublishedFigures(spec, missions)
    of_one_base = spec.worlds.base is not None  # what nothing measures is the base's
    of_base = tuple(worlds.inputs.get("missing", ())) if of_one_base else ()
    records: List[WorldRecord] = []
    for index, (entry, original) in enumerate(zip(entries, chosen)):
        mission = mission_in(spec, robot, missions, entry.name)
        made_for = _made_for(worlds, mission)
        if not (made_for and records and of_one_base):
            scene = read_scene(entry.path)
        if not made_for:
            entry = replace(entry, shortest_path_m=shortest_path_m(scene, mission))
        figures = published.of(entry.name, original.path)
        without = entry.missing + of_base
        if spec.worlds.allow_missing:
            without += missing_plugins(entry.path, spec.worlds)
        records.append(
            replace(
                entry,
                world_index=index,
                published=figures,
                missing=without,
                unmeasured=scene.unmeasured,
            )
        )
    return tuple(records)


def mission_in(
    spec: CampaignSpec, robot: RobotBody, missions: Missions, world: str
) -> RequiredMission:
    """Return the mission that a world must allow."""
    start, goals = missions.start_in(world), missions.goals_in(world)
    *via, goal = ((goal.x_m, goal.y_m) for goal in goals)
    radius_m = float(robot_limits(spec, robot).circumscribed_radius_m)
    heights = obstructing_heights(robot.height_m)
    return RequiredMission((start.x_m, start.y_m), goal, radius_m, heights, tuple(via))


def shortest_path_m(scene: WorldScene, mission: RequiredMission) -> Optional[float]:
    """Return the exact length (m) of the shortest path of the robot's circumscribed circle through
    a world, to all goals in order; None if there is none, although the robot itself can fit. The
    obstructing shapes are those of clearance."""
    site = Site(walls_of(scene, mission.heights), mission)
    path = site.shortest_path(site.blocked(margin_m=0.0))
    return None if path is None else path_length_m(path)


def _chosen(worlds: WorldsSpec) -> WorldSet:
    """Return the worlds of the user's directory, or those that ``files`` names."""
    directory = Path(worlds.directory)  # type: ignore[arg-type]
    if worlds.files is None:
        return read_worlds(directory)
    known = read_worlds(directory, [entry.file for entry in worlds.files])
    by_file = {entry.path.name: entry for entry in known}
    entries = [replace(by_file[entry.file], name=entry.world) for entry in worlds.files]
    return replace(known, worlds=tuple(entries))


def _generated(spec: CampaignSpec, mission: RequiredMission, folder: Path) -> WorldSet:
    if os.path.isfile(folder / MANIFEST):
        return made_worlds(folder)
    worlds = spec.worlds
    assert worlds.base is not None and worlds.obstacles is not None and worlds.count is not None
    obstacles = worlds.obstacles
    ways = [actor.swept_area for actor in spec.actors if actor.swept_area is not None]
    ways += [  # actors on fixed paths do not avoid obstacles; further robots need a free start
        shapely.Point(pose.x_m, pose.y_m).buffer(mission.radius_m + ROBOT_ROOM_M)
        for robot in spec.robots
        for pose in (robot.start, robot.goal)
    ]
    if ways:
        zones = [KeepOut(shape=Region(polygon=list(way.exterior.coords)[:-1])) for way in ways]
        update = {"keep_out": [*obstacles.keep_out, *zones]}
        obstacles = obstacles.model_copy(update=update)
    with reporting_disk(folder):
        return multiply(
            worlds.base,
            obstacles,
            worlds.count,
            spec.seed,
            folder,
            mission=mission,
            pattern=worlds.obstacle_pattern,
            repair=worlds.repair,
            plugins=worlds.plugins,
            allow_missing=worlds.allow_missing,
        )


def _made_for(worlds: WorldSet, mission: RequiredMission) -> bool:
    """Return whether the manifest's shortest paths are those of this mission, with the same
    obstructing heights."""
    made = worlds.inputs.get("mission")
    known = all(entry.shortest_path_m is not None for entry in worlds)
    return known and made == mission_record(mission)
