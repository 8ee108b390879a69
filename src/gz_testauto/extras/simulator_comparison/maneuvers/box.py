"""The box of the maneuver ``push``: a cube in front of the robot, the same in all simulators."""

from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.sdf.robot import RobotBody
from gz_testauto.simulators.interface import NamedModel

BOX = "box"
"""Name of its model."""

MASS_KG = 5.0
SIDE_M = 0.4
AHEAD_M = 0.5
"""Initial distance from the robot's footprint."""

_INERTIA_KGM2 = MASS_KG * SIDE_M**2 / 6
_SDF = f"""<sdf version="1.6"><model name="{BOX}"><link name="link">
<inertial><mass>{MASS_KG}</mass><inertia><ixx>{_INERTIA_KGM2}</ixx><iyy>{_INERTIA_KGM2}</iyy>
<izz>{_INERTIA_KGM2}</izz></inertia></inertial>
<collision name="collision"><geometry><box><size>{SIDE_M} {SIDE_M} {SIDE_M}</size></box>
</geometry><surface><friction><ode><mu>0.5</mu><mu2>0.5</mu2></ode></friction></surface></collision>
</link></model></sdf>"""


def create_box(robot: RobotBody, start: Pose2D) -> NamedModel:
    """Return the box at its initial pose for a robot that starts at ``start`` on level ground."""
    front_m = max(x for x, _ in robot.footprint_m)
    middle = Pose((front_m + AHEAD_M + SIDE_M / 2, 0.0, SIDE_M / 2))
    return NamedModel(BOX, _SDF, start.to_pose() * middle)
