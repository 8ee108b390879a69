"""A robot at rest with its front axle on a step: its pitch."""

import math

from gz_testauto.base.observation import ModelState
from gz_testauto.base.pose import Pose
from gz_testauto.extras.simulator_comparison.physics.check import PhysicsCheck, PhysicsResult
from gz_testauto.extras.simulator_comparison.physics.robots import WHEELBASE_M, husky
from gz_testauto.extras.simulator_comparison.physics.scenes import PhysicsSceneLoader, surface

STEP_M = 0.076
ABOVE_M = 0.002
"""Height above its resting pose at which the robot starts."""
SETTLING_S = 1.5


def pitch(loader: PhysicsSceneLoader) -> PhysicsResult:
    """Return the upward pitch (rad) of the robot at rest."""
    robot = husky()
    exact = math.asin(STEP_M / WHEELBASE_M)
    step = f"""<model name="step"><static>1</static><pose>1.0 0 {STEP_M / 2} 0 0 0</pose>
    <link name="link"><collision name="block"><geometry><box><size>1.8 4 {STEP_M}</size></box>
    </geometry>{surface(1.0)}</collision></link></model>"""
    simulation = loader.load(step, robot=robot)
    simulation.set_states({robot.name: ModelState(_over(exact))})
    end = simulation.step(SETTLING_S).models[robot.name].pose
    return PhysicsResult(-end.rpy[1], exact)


def _over(pitch_rad: float) -> Pose:
    """Return a pose slightly above that with the rear axle over the floor and the front axle over
    the step.

    The axles are one wheel radius above the ground; the model's origin is below the middle between
    them. So the middle between the axles is half a step higher than on level ground.
    """
    radius_m = 0.1651
    down = Pose.from_rpy(0.0, 0.0, 0.0, 0.0, -pitch_rad, 0.0).apply((0.0, 0.0, -radius_m))
    x, _, z = (float(part) for part in down)
    height_m = radius_m + STEP_M / 2 + ABOVE_M
    return Pose.from_rpy(x, 0.0, height_m + z, 0.0, -pitch_rad, 0.0)


PITCH = PhysicsCheck(
    "pitch_on_step", "a Husky with its front axle on a step of 76 mm", "rad", "asin(h/L)", pitch
)
