"""People around the wheelchair at the origin, in the embedded simulator."""

from pathlib import Path
from typing import List

import numpy as np

from gz_testauto.actors.creation import ActorPlacementArea, ObstacleOutlines, create_actors
from gz_testauto.actors.hook import StepContext
from gz_testauto.actors.simulation import ActorSimulation
from gz_testauto.base.observation import ModelState, Snapshot, Twist2D
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.base.resources import share_directory
from gz_testauto.sdf.robot import read_robot
from gz_testauto.simulators.embedded import EmbeddedSimulator
from gz_testauto.simulators.interface import Scene
from gz_testauto.spec.actors import ActorSpec
from gz_testauto.spec.loader import parse
from gz_testauto.spec.model import Spec
from gz_testauto.testing.simulator_suite import WORLD

PERIOD_S = 0.1
ROBOT_RADIUS_M = 0.6


class Actors(Spec):
    actors: List[ActorSpec]


def actors_of(*lines):
    text = "actors:\n" + "\n".join(f"  - {line}" for line in lines)
    return parse(text, Actors, Path("people.yaml")).actors


def spot(x_m, y_m):
    return f"region: {{circle: {{x_m: {x_m}, y_m: {y_m}, radius_m: 0.01}}}}"


def created(lines, start=Pose2D(0.0, 0.0), seed=1, obstacles=None):
    area = ActorPlacementArea(ObstacleOutlines(obstacles or {}), start, ROBOT_RADIUS_M)
    return create_actors(actors_of(*lines), seed, 0, 0, area)


def loaded(tmp_path, actors, start=Pose2D(0.0, 0.0), simulator=None):
    world = tmp_path / "people.world"
    world.write_text(WORLD.replace("{models}", ""))
    robot = read_robot(share_directory() / "models" / "wheelchair", "robot")
    models = tuple(model for actor in actors for model in actor.models)
    scene = Scene(world, robot, start, models=models)
    return ActorSimulation((simulator or EmbeddedSimulator()).load(scene), actors)


def poses(simulation, names, duration_s, robot_mps=0.0):
    """Return x, y (m) and yaw (rad) of models after each period, shape (periods, names, 3)."""
    simulation.drive(Twist2D(robot_mps, 0.0))
    rows = []
    for _ in range(round(duration_s / PERIOD_S)):
        models = simulation.step(PERIOD_S).models
        rows.append([models[name].pose.planar for name in names])
    return np.array(rows)


def walked(actors, duration_s):
    """Return the positions (m) of actors that move exactly as they request, without a robot, after
    each period, shape (periods, actors, 2)."""
    by_name = {actor.name: actor for actor in actors}
    places = {actor.name: actor.models[0].pose for actor in actors}
    before, rows = None, []
    for period in range(round(duration_s / PERIOD_S)):
        models = {name: ModelState(pose) for name, pose in places.items()}
        snapshot = Snapshot(period * PERIOD_S, models, {})
        context = StepContext(snapshot, PERIOD_S, dict, before, actors=by_name)
        for actor in actors:
            actor.before_step(context)
        for change in context.changes:
            x_m, y_m, yaw_rad = places[change.name].planar
            x_mps, y_mps, _ = change.linear_mps
            moved = (x_m + PERIOD_S * x_mps, y_m + PERIOD_S * y_mps)
            yaw_rad += PERIOD_S * change.angular_radps[2]
            places[change.name] = Pose.from_rpy(*moved, 0.02, 0.0, 0.0, yaw_rad)
        before = snapshot
        rows.append([places[actor.name].position[:2] for actor in actors])
    return np.array(rows)
