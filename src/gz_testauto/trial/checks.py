"""Checks before any simulator starts, for trials that no planner could pass.

Owns the checks of a campaign against its worlds: a start or a goal inside an obstacle, a goal that
the static map does not connect, a robot without drive controller or lidar, planners with unknown
parameters.
"""

import itertools
import math
from typing import Dict, List, Sequence, Tuple

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from gz_testauto.actors.world_actors import notice_of
from gz_testauto.base.errors import PlacementError, SpecError
from gz_testauto.base.pose import Pose
from gz_testauto.planners import planner_origin
from gz_testauto.sdf.dynamics import read_physics
from gz_testauto.sdf.meshes.surfaces import Heightmap
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.sdf.scene import WorldScene
from gz_testauto.trial.actors import check_actors
from gz_testauto.trial.clearance import footprint_at
from gz_testauto.trial.plan import Trial
from gz_testauto.trial.setup import PreparedBuiltin, PreparedCampaign

UNDER_GROUND_M = 0.05
"""Largest height of terrain under the robot's start; higher terrain throws it up."""


def check_trials(campaign: PreparedCampaign, trials: Sequence[Trial]) -> Tuple[str, ...]:
    """Check the worlds of these trials without a simulator. Return notices about them, a line each.

    Raises ``SpecError`` with world and obstacle for a start or goal inside an obstacle, and with
    the map if the static map has no path.
    """
    check_actors(campaign.spec)
    notices: Dict[int, str] = {}
    for one in campaign.robots if isinstance(campaign, PreparedBuiltin) else (campaign,):
        notices = _check_drives(one, trials)
    if isinstance(campaign, PreparedBuiltin):
        _check_starts(campaign, trials)
        _check_training(campaign, trials)
    changing = [
        trial for trial in trials if campaign.spec.changes_worlds or notices[trial.world_index]
    ]
    _check_all_actors(campaign, changing)
    return tuple(filter(None, notices.values()))[:1]


def _check_drives(campaign: PreparedCampaign, trials: Sequence[Trial]) -> Dict[int, str]:
    """Raise ``SpecError`` for invalid starts and goals of a robot. Return the notice about each
    world's actors, by the world's index; empty for none."""
    notices: Dict[int, str] = {}
    spec, outline = campaign.spec, np.asarray(campaign.limits.footprint_m)
    who = f"robot {spec.robot.name!r}"
    for world in {trial.world_index: campaign.world(trial) for trial in trials}.values():
        scene, field = campaign.world_scene(world), campaign.obstacles(world)
        where = f"world {world.name} ({world.path})"
        _check_scene(campaign, scene, where)
        notices[world.world_index] = notice_of(scene)
        missions = campaign.missions
        start, goals = missions.start_in(world.name), missions.goals_in(world.name)
        footprint = footprint_at(outline, start)
        if isinstance(campaign, PreparedBuiltin):  # a stack spawns its robot
            _check_terrain(scene, footprint, where)
        hits = field.touching(footprint, field.initial_states)
        if hits:
            raise SpecError(
                f"{where}: {who} would start inside {hits[0]} at ({start.x_m:g}, "
                f"{start.y_m:g}); move its start or keep the obstacle away from it"
            )
        for number, goal in enumerate(goals, 1):
            hits = field.touching(shapely.Point(goal.x_m, goal.y_m), field.initial_states)
            which = "the goal" if len(goals) == 1 else f"goal {number} of {len(goals)}"
            if hits:
                raise SpecError(
                    f"{where}: {which} of {who} ({goal.x_m:g}, {goal.y_m:g}) is inside "
                    f"{hits[0]}; move goal or keep the obstacle away from it"
                )
        try:
            campaign.static_map.waypoints(world)
        except SpecError as error:
            raise SpecError(f"{who}: {error}") from error
    return notices


def _check_starts(campaign: PreparedBuiltin, trials: Sequence[Trial]) -> None:
    """Raise ``SpecError`` for robots that overlap at their starts."""
    for name in {trial.world for trial in trials} if campaign.companions else ():
        places = [
            (one.robot.name, footprint_at(np.asarray(one.limits.footprint_m), start))
            for one in campaign.robots
            for start in [one.missions.start_in(name)]
        ]
        for (first, here), (second, there) in itertools.combinations(places, 2):
            if here.intersects(there):
                raise SpecError(
                    f"world {name}: robots {first!r} and {second!r} overlap at their starts; "
                    "move the start of one"
                )


def _check_training(campaign: PreparedBuiltin, trials: Sequence[Trial]) -> None:
    """Raise ``SpecError`` for a planner in a world in which it was trained."""
    for planner in campaign.spec.planners:
        with planner.locating("plugin", "parameters"):
            trained_in = planner_origin(planner.plugin, **planner.parameters).trained_in
        for trial in trials if trained_in else ():
            world = campaign.world(trial)
            if trial.planner == planner.name and world.sha256 in trained_in:
                raise SpecError(
                    f"world {world.name} ({world.path}): planner {planner.name!r} was trained in "
                    "it; judge it in others, or give it allow_training_worlds: true"
                )


def _check_all_actors(campaign: PreparedCampaign, trials: Sequence[Trial]) -> None:
    """Raise ``SpecError`` for actors without a free start, or terms that match nothing, in any
    world."""
    spec = campaign.spec
    for trial in {(trial.world_index, trial.repetition): trial for trial in trials}.values():
        world = campaign.world(trial)
        where = f"world {world.name} ({world.path})"
        try:
            coming = [model.name for model in campaign.actors(trial).all_models]
        except (PlacementError, SpecError) as error:
            raise SpecError(f"{where}: {error}") from error
        robots = [campaign.robot.name, *(one.name for one in spec.robots)]
        there = [*campaign.world_scene(world).models, *robots]
        taken = {name for name in coming if name in there or coming.count(name) > 1}
        if taken:
            raise SpecError(f"{where}: has a model {min(taken)!r} already; rename the actor")


def _check_scene(campaign: PreparedCampaign, scene: WorldScene, where: str) -> None:
    """Raise ``SpecError`` for a world that has a model with the robot's name, or an unsuitable
    physics step."""
    name = campaign.robot.name
    if name in scene.models:
        raise SpecError(
            f"{where}: has a model named {name!r} already; give the robot another robot.name, "
            "or save the world without it"
        )
    _require_own_places(scene, where)
    world = scene.document.world
    step_s = None if world is None else read_physics(scene.document, world, "max_step_size")
    period_s = campaign.spec.control_period_s
    if step_s is not None and step_s > 0.0:
        steps = period_s / step_s
        if round(steps) < 1 or abs(steps - round(steps)) > 1e-6 * steps:
            raise SpecError(
                f"{where}: control_period_s is {period_s:g}, which is not a whole multiple of the "
                f"world's max_step_size of {step_s:g} s; choose a multiple of it"
            )


def _require_own_places(scene: WorldScene, where: str) -> None:
    """Raise ``SpecError`` for a world whose static obstacles are moved by a plug-in. In the file
    they are at one position, and motions of static models are not simulated."""
    by_place: Dict[Pose, List[str]] = {}
    plugins = set()
    for name, model in scene.models.items():
        found = [  # plug-ins of sensors move nothing
            plugin.get("filename", "")
            for plugin in model.element.iter("plugin")
            if plugin.getparent().tag == "model"
        ]
        if model.static and found:
            by_place.setdefault(model.pose, []).append(name)
            plugins.update(found)
    crowd = max(by_place.values(), key=len, default=[])
    if len(crowd) > 1:
        raise SpecError(
            f"{where}: {len(crowd)} static models have one position ({crowd[0]}, {crowd[1]}"
            f"{', ...' if len(crowd) > 2 else ''}), and plugins ({min(plugins)}"
            f"{', ...' if len(plugins) > 1 else ''}) move them from there; where a plugin moves a "
            "static model is not known here, so neither collisions nor clearance would be true. "
            "Leave this world out"
        )


def _check_terrain(scene: WorldScene, footprint: BaseGeometry, where: str) -> None:
    """Raise ``SpecError`` for a start at which the robot, which is spawned at height 0, is below
    terrain."""
    for model in scene.models.values():
        for shape in model.collisions:
            if isinstance(shape.geometry, Heightmap) and footprint.intersects(
                shape.footprint(UNDER_GROUND_M, math.inf)
            ):
                raise SpecError(
                    f"{where}: the robot would start under the terrain of {model.name}: it is set "
                    "down at height 0; move robot.start to where the terrain is no higher"
                )


def require_drivable(robot: RobotModel) -> None:
    """Raise ``SpecError`` unless the robot has a drive controller and a lidar."""
    if robot.drive is None:
        raise SpecError(
            f"{robot.path}: the robot has no drive; give its model a differential or skid-steer "
            "drive plugin"
        )
    if robot.lidar is None:
        raise SpecError(
            f"{robot.path}: the robot has no lidar; give one of its links a planar ray sensor"
        )
