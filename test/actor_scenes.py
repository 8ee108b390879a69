"""A world with a wall, a robot and actors, in the embedded simulator."""

import numpy as np

from gz_testauto.actors.bodies import body_sdf
from gz_testauto.actors.hook import Hook
from gz_testauto.actors.simulation import ActorSimulation
from gz_testauto.base.pose import Pose
from gz_testauto.base.resources import share_directory
from gz_testauto.sdf.robot import read_robot
from gz_testauto.sdf.shapes import Cylinder
from gz_testauto.simulators.embedded import EmbeddedSimulator
from gz_testauto.simulators.interface import NamedModel, Scene
from gz_testauto.testing.simulator_suite import WALL, WORLD

PERIOD_S = 0.1


def person(name, x_m, y_m):
    sdf = body_sdf(Cylinder(0.25, 1.7), 70.0, (0.0, 0.0, 0.85))
    return NamedModel(name, sdf, Pose((x_m, y_m, 0.02)))


class SpareModels(Hook):
    name = "spares"

    def __init__(self, models):
        self.spare_models = models

    def before_step(self, context):
        """Request nothing."""


def simulated(
    tmp_path, models, actors=(), filters=(), hooks=(), seed=1, spare_models=(), world=WORLD
):
    """Actors and hooks in a world with a wall at x = 5 m and the wheelchair at the origin."""
    text, world = world, tmp_path / "actors.world"
    world.write_text(text.replace("{models}", WALL))
    robot = read_robot(share_directory() / "models" / "wheelchair", "robot")
    simulation = EmbeddedSimulator().load(Scene(world, robot, models=tuple(models)))
    for number, actor in enumerate(actors):
        actor.start(np.random.default_rng([seed, number]))
    return ActorSimulation(simulation, (*actors, *hooks, SpareModels(spare_models)), filters)


def run(simulation, duration_s):
    return [simulation.step(PERIOD_S) for _ in range(round(duration_s / PERIOD_S))]


def place(snapshot, name):
    return np.array(snapshot.models[name].pose.position)
