"""Worlds and robots for the tests of the embedded simulator."""

import numpy as np

from gz_testauto.base.pose import Pose2D
from gz_testauto.base.resources import share_directory
from gz_testauto.sdf.robot import read_robot
from gz_testauto.simulators import Scene

FLOOR = """<model name="floor"><static>true</static><link name="link"><collision name="collision">
<geometry><plane><normal>0 0 1</normal></plane></geometry></collision></link></model>"""


def model(name, geometry, pose="0 0 0 0 0 0", static=True, surface="", mass=5.0, more=""):
    """Return the SDF of a model with one link and one collision."""
    return f"""<model name="{name}"><static>{str(static).lower()}</static><pose>{pose}</pose>
    <link name="link"><inertial><mass>{mass}</mass><inertia><ixx>0.2</ixx><iyy>0.2</iyy>
    <izz>0.2</izz></inertia></inertial><collision name="collision"><geometry>{geometry}</geometry>
    <surface>{surface}</surface></collision></link>{more}</model>"""


def box(name, x, y, z, size="1 1 1", **rest):
    return model(name, f"<box><size>{size}</size></box>", f"{x} {y} {z} 0 0 0", **rest)


def friction(mu):
    return f"<friction><ode><mu>{mu}</mu><mu2>{mu}</mu2></ode></friction>"


def write_world(folder, *models, floor=FLOOR, version="1.6", more=""):
    """Write a world file with a floor and ``models``; return its path."""
    path = folder / "test.world"
    path.write_text(
        f'<sdf version="{version}"><world name="w">{more}{floor}{"".join(models)}</world></sdf>'
    )
    return path


def wheelchair():
    return read_robot(share_directory() / "models" / "wheelchair")


def load(simulator, world, robot=None, start=(0.0, 0.0, 0.0), seed=0):
    return simulator.load(Scene(world, robot, Pose2D(*start), seed))


def drive(simulation, twist, duration_s, period_s=0.05):
    """Drive for ``duration_s`` and return the snapshot of each period."""
    simulation.drive(twist)
    return [simulation.step(period_s) for _ in range(round(duration_s / period_s))]


def _wheel(side, end, x, y):
    return f"""<link name="{side}_{end}_wheel"><pose>{x} {y} 0.12 0 0 0</pose>
    <inertial><mass>1</mass><inertia><ixx>0.0041</ixx><iyy>0.0072</iyy><izz>0.0041</izz></inertia>
    </inertial><collision name="tire"><pose>0 0 0 -1.5707963267948966 0 0</pose><geometry>
    <cylinder><radius>0.12</radius><length>0.08</length></cylinder></geometry></collision></link>
    <joint name="{side}_{end}" type="revolute"><parent>base</parent>
    <child>{side}_{end}_wheel</child><axis><xyz>0 1 0</xyz></axis></joint>"""


def rover(folder, plugin, extra="", lidar_noise=""):
    """Return a robot with four wheels and a lidar, driven by ``plugin``."""
    wheels = "".join(
        _wheel(side, end, x, y)
        for end, x in (("front", 0.2), ("rear", -0.2))
        for side, y in (("left", 0.25), ("right", -0.25))
    )
    path = folder / "rover.sdf"
    path.write_text(f"""<sdf version="1.6"><model name="rover"><link name="base"><inertial>
    <pose>0 0 0.15 0 0 0</pose><mass>20</mass><inertia><ixx>0.4</ixx><iyy>0.6</iyy><izz>0.8</izz>
    </inertia></inertial><collision name="hull"><pose>0 0 0.18 0 0 0</pose><geometry><box>
    <size>0.6 0.4 0.16</size></box></geometry></collision><sensor name="lidar" type="ray">
    <pose>0.2 0 0.3 0 0 0</pose><update_rate>10</update_rate><ray><scan><horizontal>
    <samples>91</samples><min_angle>-2</min_angle><max_angle>2</max_angle></horizontal></scan>
    <range><min>0.1</min><max>10</max></range>{lidar_noise}</ray></sensor>{extra}</link>
    {wheels}{plugin}</model></sdf>""")
    return read_robot(path)


SKID_STEER = """<plugin name="drive" filename="libSkidSteerDrivePlugin.so">
<left_front>left_front</left_front><right_front>right_front</right_front>
<left_rear>left_rear</left_rear><right_rear>right_rear</right_rear><max_force>20</max_force>
</plugin>"""

SKID_STEER_OF_GAZEBO_ROS = """<plugin name="drive" filename="libgazebo_ros_skid_steer_drive.so">
<leftFrontJoint>left_front</leftFrontJoint><rightFrontJoint>right_front</rightFrontJoint>
<leftRearJoint>left_rear</leftRearJoint><rightRearJoint>right_rear</rightRearJoint>
<wheelSeparation>0.5</wheelSeparation><wheelDiameter>0.24</wheelDiameter><torque>20</torque>
</plugin>"""

ROVER_WHEEL_M = (0.2, 0.25, 0.08)
"""Forward and lateral distance (m) of the rover's wheels from its center, and the width of the
wheels (m)."""


def rims_turn_share() -> float:
    """Return the yaw rate of a rover that turns in place, as a fraction of the commanded rate.

    The load is on the two rims of each wheel. At this rate the moments of the longitudinal and of
    the lateral friction about the center are equal.
    """
    from scipy.optimize import brentq

    x, y, width = ROVER_WHEEL_M
    rims = y + np.array([-0.5, 0.5]) * width

    def moment(share):
        along, across = y - share * rims, share * x
        return float(np.sum((rims * along - x * across) / np.hypot(along, across)))

    return brentq(moment, 0.0, 1.0)
