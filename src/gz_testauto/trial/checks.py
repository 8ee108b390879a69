"""Reject trials in which no planner can succeed, before they run.

The checks compute the global plans, which :class:`~gz_testauto.trial.static_maps.StaticMaps` keeps
for the trials in the same process.
"""

import itertools
import logging
import math
from typing import Dict, Iterable, Iterator, List, Sequence, Tuple

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from gz_testauto.actors.world_actors import notice_of
from gz_testauto.base.errors import PlacementError, SdfError, SpecError
from gz_testauto.base.pose import Pose
from gz_testauto.base.xml_file import parse_xml
from gz_testauto.planners import planner_origin
from gz_testauto.sdf.drives import ackermann_parts, nested_drive
from gz_testauto.sdf.dynamics import read_physics
from gz_testauto.sdf.meshes.surfaces import Heightmap
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.sdf.scene import SceneModel, WorldScene, placed_model
from gz_testauto.sdf.values import number
from gz_testauto.simulators.embedded.own_body import scan_own_body
from gz_testauto.trial.actors import check_actors
from gz_testauto.trial.clearance import footprint_at
from gz_testauto.trial.executor import StopRequest
from gz_testauto.trial.localization import make_estimator
from gz_testauto.trial.testbed import BuiltinTestBed, TestBed
from gz_testauto.trial.trial import Trial
from gz_testauto.worlds.record import GPU_LIDAR, Progress

LEAST_STEP_S = 1e-6  # of physics, far below every usual value

# Largest height of terrain at the robot's start. Higher terrain throws up the robot, which is
# spawned at height 0.
MAX_TERRAIN_M = 0.05

ACKERMANN_REMEDY = (
    "remove its steering joints, drive its rear wheels as a differential drive, let its front roll "
    "without friction, and set robot.steering, as for models/car; or test your own stack, which "
    "steers it"
)

MAX_OWN_RAYS = 0.5  # largest share of the rays of a lidar that can end on the robot itself

LOGGER = logging.getLogger(__name__)


def check_trials(
    bed: TestBed,
    trials: Sequence[Trial],
    progress: Progress = lambda done, total: None,
    should_stop: StopRequest = lambda: False,
) -> Tuple[str, ...]:
    """Return notices of one line each about ``trials``.

    ``progress`` is called after each world. If ``should_stop`` returns True, the checks end and the
    result is empty. Raises ``SpecError`` for an input with which no planner can succeed, such as a
    goal inside an obstacle, or a static map without a path.
    """
    check_actors(bed.spec)
    notices: Dict[int, str] = {}
    joint_lines: List[str] = []
    checked_trials = _one_trial_per_world(trials)
    for count, trial in enumerate(checked_trials, 1):
        if should_stop():
            return ()
        for robot_bed in bed.robots:
            notices[trial.world.world_index] = _check_mission(robot_bed, trial)
        joint_lines += _joint_notices(bed.world_scene(trial.world).models.values())
        progress(count, len(checked_trials))
    lidar_lines: List[str] = []
    if isinstance(bed, BuiltinTestBed):
        for robot_bed in bed.robots:
            robot, sees_visuals = robot_bed.robot, robot_bed.spec.lidar_sees_visuals
            joint_lines += _joint_notices([placed_model(robot.sdf, robot.name, Pose())])
            lidar_lines += lidar_notices(robot, sees_visuals)
            steering_parts = ackermann_parts(robot.sdf)
            if steering_parts:
                joint_lines.append(
                    f"robot {robot.name!r} has Ackermann steering ({steering_parts}), which its "
                    f"drive does not turn; {ACKERMANN_REMEDY}"
                )
            # For the first robot, this notice is in the records of the worlds.
            if robot.name != bed.robot.name and robot.has_gpu_lidar and not sees_visuals:
                lidar_lines.append(f"robot {robot.name!r}: {GPU_LIDAR}")
            for trial in trials[:1]:  # raises if the robot lacks a part for its localization
                spec = robot_bed.spec
                make_estimator(spec.localization, spec.randomize, robot_bed.robot, trial.numbers)
        _check_start_overlaps(bed, checked_trials)
        _check_training(bed, trials)
    changing = [
        trial for trial in trials if bed.spec.changes_worlds or notices[trial.world.world_index]
    ]
    _check_all_actors(bed, changing)
    lines = dict.fromkeys((*joint_lines, *lidar_lines))
    return (*tuple(filter(None, notices.values()))[:1], *lines)


def _one_trial_per_world(trials: Sequence[Trial]) -> List[Trial]:
    return list({trial.world.world_index: trial for trial in trials}.values())


def _check_mission(bed: TestBed, trial: Trial) -> str:
    """Return a notice about ``<actor>`` elements of the world, or "" if it has none. Raises
    ``SpecError`` if the world, the start or a goal is invalid, or if no path exists."""
    spec, outline = bed.spec, np.asarray(bed.limits.footprint_m)
    name = f"robot {spec.robot.name!r}"
    world, mission = trial.world, bed.mission(trial)
    scene, field = bed.world_scene(world), bed.obstacles(world)
    location = f"world {world.name} ({world.path})"
    _check_scene(bed, scene, location)
    start, goals = mission.start, mission.goals
    footprint = footprint_at(outline, start)
    if isinstance(bed, BuiltinTestBed):  # a stack spawns its robot
        _check_start_above_terrain(scene, footprint, location)
    hits = field.touching(footprint, field.initial_states)
    if hits:
        raise SpecError(
            f"{location}: {name} would start inside {hits[0]} at ({start.x_m:g}, "
            f"{start.y_m:g}); move the start, or keep the obstacle away from the start"
        )
    tolerance_m = spec.goal.tolerance_m
    if all(start.distance_to(goal.x_m, goal.y_m) <= tolerance_m for goal in goals):
        raise SpecError(
            f"{location}: the start of {name} at ({start.x_m:g}, {start.y_m:g}) is within "
            f"goal.tolerance_m, {tolerance_m:g}, of its goal; move the start or the goal, or "
            "use a smaller tolerance"
        )
    for goal_number, goal in enumerate(goals, 1):
        hits = field.touching(shapely.Point(goal.x_m, goal.y_m), field.initial_states)
        goal_text = "the goal" if len(goals) == 1 else f"goal {goal_number} of {len(goals)}"
        if hits:
            raise SpecError(
                f"{location}: {goal_text} of {name} ({goal.x_m:g}, {goal.y_m:g}) is inside "
                f"{hits[0]}; move the goal, or keep the obstacle away from the goal"
            )
    try:
        bed.static_map.waypoints(world, mission)
    except SpecError as error:
        raise SpecError(f"{name}: {error}") from error
    return notice_of(scene)


def _check_start_overlaps(bed: BuiltinTestBed, trials: Sequence[Trial]) -> None:
    for trial in trials if bed.companions else ():
        places = [
            (robot.robot.name, footprint_at(np.asarray(robot.limits.footprint_m), start))
            for robot in bed.robots
            for start in [robot.mission(trial).start]
        ]
        for (first, first_outline), (second, second_outline) in itertools.combinations(places, 2):
            if first_outline.intersects(second_outline):
                raise SpecError(
                    f"world {trial.world.name}: the robots {first!r} and {second!r} overlap at "
                    "their start poses; move the start of one robot"
                )


def _check_training(bed: BuiltinTestBed, trials: Sequence[Trial]) -> None:
    """Raise ``SpecError`` for a planner that was trained in a tested world, or that needs tracked
    objects in a campaign without ``tracking``."""
    for planner in {trial.planner.name: bed.planner(trial) for trial in trials}.values():
        with planner.locating("plugin", "parameters"):
            origin = planner_origin(planner.plugin, **planner.parameters)
        trained_in = origin.trained_in
        if origin.needs_objects and bed.spec.tracking is None:
            raise SpecError(
                f"the planner {planner.name!r} was trained with tracked objects, but the campaign "
                "has no key 'tracking'; add 'tracking: {}'"
            )
        for trial in trials if trained_in else ():
            world = trial.world
            if trial.planner.name == planner.name and world.sha256 in trained_in:
                raise SpecError(
                    f"world {world.name} ({world.path}): the planner {planner.name!r} was trained "
                    "in this world; use other worlds, or set allow_training_worlds: true"
                )


def _check_all_actors(bed: TestBed, trials: Sequence[Trial]) -> None:
    spec = bed.spec
    for trial in {(trial.world.world_index, trial.repetition): trial for trial in trials}.values():
        world = trial.world
        location = f"world {world.name} ({world.path})"
        try:
            names = [model.name for model in bed.actors(trial).all_models]
        except (PlacementError, SpecError) as error:
            raise SpecError(f"{location}: {error}") from error
        robots = [bed.robot.name, *(robot.name for robot in spec.robots)]
        existing = [*bed.world_scene(world).models, *robots]
        repeated_names = {name for name in names if name in existing or names.count(name) > 1}
        if repeated_names:
            raise SpecError(
                f"{location}: the model {min(repeated_names)!r} exists already; rename the actor"
            )


def _check_scene(bed: TestBed, scene: WorldScene, location: str) -> None:
    name = bed.robot.name
    if name in scene.models:
        raise SpecError(
            f"{location}: a model is already named {name!r}; change robot.name, or remove the "
            "model from the world"
        )
    _reject_moving_static_models(scene, location)
    world = scene.document.world
    step_s = None if world is None else read_physics(scene.document, world, "max_step_size")
    period_s = bed.spec.control_period_s
    if step_s is not None and step_s > 0.0:
        steps = period_s / step_s
        if math.isinf(steps) or round(steps) < 1 or abs(steps - round(steps)) > 1e-6 * steps:
            raise SpecError(
                f"{location}: control_period_s is {period_s:g}; it must be a whole multiple of the "
                f"world's max_step_size, {step_s:g} s"
            )
        if step_s < LEAST_STEP_S:
            raise SpecError(
                f"{location}: the world's max_step_size is {step_s:g} s; it must be at least "
                f"{LEAST_STEP_S:g} s"
            )


def _reject_moving_static_models(scene: WorldScene, location: str) -> None:
    # The file contains only the start position of such a model, and the simulator does not report
    # the motion of static models.
    by_pose: Dict[Pose, List[str]] = {}
    plugins = set()
    for name, model in scene.models.items():
        moving_plugins = [  # plug-ins of sensors move nothing
            plugin.get("filename", "")
            for plugin in model.element.iter("plugin")
            if plugin.getparent().tag == "model"
        ]
        if model.static and moving_plugins:
            by_pose.setdefault(model.pose, []).append(name)
            plugins.update(moving_plugins)
    names = max(by_pose.values(), key=len, default=[])
    if len(names) > 1:
        raise SpecError(
            f"{location}: plugins ({min(plugins)}{', ...' if len(plugins) > 1 else ''}) move "
            f"{len(names)} static models, which are at one position in the file ({names[0]}, "
            f"{names[1]}{', ...' if len(names) > 2 else ''}); this is not supported, so remove "
            "this world. The simulator does not report the poses of static models that move"
        )


def _joint_notices(models: Iterable[SceneModel]) -> List[str]:
    # Gazebo and MuJoCo push such a joint into its range, or over it to the other limit.
    return [
        f"the joint {name!r} starts at 0, outside of its limits {lower:g} to {upper:g}, and "
        "simulators move it differently; correct its limits"
        for name, lower, upper in _joint_limits(models)
        if not lower <= 0.0 <= upper
    ]


def _joint_limits(models: Iterable[SceneModel]) -> Iterator[Tuple[str, float, float]]:
    nested_models = (
        (f"{model.name}::{scope}", nested)
        for model in models
        if not model.static
        for scope, nested, _ in model.node.walk()
    )
    for scope, model in nested_models:
        element = model.element
        for limit in (
            *element.iterfind("joint/axis/limit"),
            *element.iterfind("joint/axis2/limit"),
        ):
            yield (
                scope + limit.getparent().getparent().get("name", ""),
                number(model.document, limit, "lower", -math.inf),
                number(model.document, limit, "upper", math.inf),
            )


def _check_start_above_terrain(scene: WorldScene, footprint: BaseGeometry, location: str) -> None:
    for model in scene.models.values():
        for shape in model.collisions:
            if isinstance(shape.geometry, Heightmap) and footprint.intersects(
                shape.footprint(MAX_TERRAIN_M, math.inf)
            ):
                raise SpecError(
                    f"{location}: the robot would start below the terrain of {model.name}, since "
                    "its spawn height is 0; move robot.start to a position with lower terrain"
                )


def lidar_notices(robot: RobotModel, sees_visuals: bool = False) -> List[str]:
    """Return notices of one line each about unused ray sensors, and rays that end on the robot.

    Raises ``SpecError`` if more than :data:`MAX_OWN_RAYS` of the rays end on the robot.
    """
    lidar = robot.lidar
    notices: List[str] = []
    if lidar is None:
        return notices
    used_names = lidar.scoped_name.split(",")
    unused_sensors = [
        repr(other.sensor) for other in robot.lidars if other.scoped_name not in used_names
    ]
    if unused_sensors:
        notices.append(
            f"robot {robot.name!r} uses the lidar {lidar}; its other ray sensors are not used: "
            f"{', '.join(unused_sensors)}"
        )
    try:
        scan = scan_own_body(robot, sees_visuals)
    except SdfError as error:
        LOGGER.warning("the lidar of robot %r is not checked: %s", robot.name, error)
        return notices
    if scan is None or not scan.count:
        return notices
    shapes = ", ".join(f"{name} ({ray_count})" for name, ray_count in scan.rays.items())
    finding = (
        f"{scan.count} of {lidar.ray_count} rays of the lidar {lidar.scoped_name} of robot "
        f"{robot.name!r} end on the robot itself"
    )
    if scan.count > MAX_OWN_RAYS * lidar.ray_count:
        raise SpecError(
            f"{robot.path}: {finding}, so planners see an obstacle around the robot; move the "
            "<pose> of the sensor out of the collision shape, increase <range><min>, or remove the "
            f"collision shape. Rays by shape: {shapes}"
        )
    notices.append(f"{finding}, and planners see them as obstacles. Rays by shape: {shapes}")
    return notices


def _names_text(robot: RobotModel, tag: str) -> str:
    elements = parse_xml(robot.sdf.encode("utf-8")).iter(tag)
    key = "filename" if tag == "plugin" else "name"
    names = [element.get(key, "?") for element in elements if element.get("type") != "fixed"]
    return f"its {tag}s: {', '.join(dict.fromkeys(names)) or 'none'}"


def require_drivable(robot: RobotModel) -> None:
    """Raise ``SpecError`` unless the robot has a drive controller and a lidar."""
    drive = None if robot.drive is not None else nested_drive(robot.sdf)
    if drive is not None:
        raise SpecError(
            f"{robot.path}: the drive plugin {drive[1]} is in the nested model {drive[0]!r}, and "
            "only a plugin of the outer model is supported; use the file of the nested model as "
            "robot.model and add your links to it, or copy its elements into the outer model"
        )
    steering_parts = ackermann_parts(robot.sdf)
    if robot.drive is None and steering_parts:
        raise SpecError(
            f"{robot.path}: the robot has Ackermann steering ({steering_parts}), which no drive "
            f"controller of this package turns; {ACKERMANN_REMEDY}"
        )
    if robot.drive is None:
        raise SpecError(
            f"{robot.path}: no supported drive controller was found "
            f"({_names_text(robot, 'plugin')}); name the joints of its left and right "
            "wheels with the key robot.drive, or add a plugin for a differential or skid-steer "
            f"drive ({_names_text(robot, 'joint')})"
        )
    if robot.lidar is None:
        raise SpecError(
            f"{robot.path}: the robot has no lidar; add a planar ray sensor to a link of the model"
        )
