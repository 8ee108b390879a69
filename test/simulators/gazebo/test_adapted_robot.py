"""Robots of gazebo_ros, ros_control and Gazebo Sim are driven by a Gazebo without ROS."""

import math

import pytest
from lxml import etree

from gz_testauto.base.observation import Twist2D
from gz_testauto.base.pose import Pose2D
from gz_testauto.base.resources import share_directory
from gz_testauto.sdf.drives import WheelJoints
from gz_testauto.sdf.robot import read_robot
from gz_testauto.simulators.gazebo.adapted_robot import DIFF_DRIVE, adapt_robot
from gz_testauto.simulators.gazebo.robot import DriveCommand
from gz_testauto.simulators.gazebo.split_world import split_world
from gz_testauto.simulators.gazebo.world import pose_from
from gz_testauto.simulators.interface import Scene

RADIUS_M, HALF_TRACK_M, INERTIA = 0.1, 0.25, 0.001


def inertial(mass, moment):
    moments = "".join(f"<i{axis}{axis}>{moment}</i{axis}{axis}>" for axis in "xyz")
    return f"<inertial><mass>{mass}</mass><inertia>{moments}</inertia></inertial>"


def wheel(name, x_m, y_m, surface=""):
    return f"""<link name="{name}_wheel"><pose>{x_m} {y_m} {RADIUS_M} 0 0 0</pose>
{inertial(0.5, INERTIA)}<collision name="c"><pose>0 0 0 1.5707963 0 0</pose><geometry><cylinder>
<radius>{RADIUS_M}</radius><length>0.04</length></cylinder></geometry>{surface}</collision></link>
<joint name="{name}" type="revolute"><parent>base</parent><child>{name}_wheel</child>
<axis><xyz>0 1 0</xyz></axis></joint>"""


ROS_DRIVE = """<plugin name="d" filename="libgazebo_ros_diff_drive.so"><leftJoint>left</leftJoint>
<rightJoint>right</rightJoint><wheelSeparation>0.6</wheelSeparation>
<wheelDiameter>0.25</wheelDiameter></plugin>
<plugin name="c" filename="libgazebo_ros_control.so"/><plugin name="o" filename="libOther.so"/>"""


@pytest.fixture
def read(tmp_path):
    def read(*parts, axles=1, surface="", **options):
        places = [("left", HALF_TRACK_M), ("right", -HALF_TRACK_M)]
        wheels = [wheel(name, 0.15 * (axles - 1), y_m, surface) for name, y_m in places]
        if axles == 2:
            wheels += [wheel("rear_" + name, -0.15, y_m, surface) for name, y_m in places]
        base = f"""<link name="base">{inertial(8.0, 0.3)}<collision name="c">
<pose>0 0 0.15 0 0 0</pose><geometry><box><size>0.4 0.3 0.1</size></box></geometry></collision>
</link>"""
        path = tmp_path / "bot.sdf"
        path.write_text(
            f'<sdf version="1.6"><model name="bot">{base}{"".join(wheels)}{"".join(parts)}'
            "</model></sdf>"
        )
        return read_robot(path, **options)

    return read


def plugins(sdf):
    return [one.get("filename") for one in etree.fromstring(sdf).iter("plugin")]


def test_a_robot_with_plugins_of_gazebo_is_not_changed():
    robot = read_robot(share_directory() / "models" / "wheelchair")
    adapted = adapt_robot(robot)
    assert adapted.sdf == robot.sdf
    assert (adapted.linear, adapted.angular) == (1.0, 1.0)


def test_plugins_of_ros_are_replaced_and_other_plugins_remain(read, caplog):
    adapted = adapt_robot(read(ROS_DRIVE))
    assert plugins(adapted.sdf) == ["libOther.so", DIFF_DRIVE]
    assert "libgazebo_ros_diff_drive.so, libgazebo_ros_control.so" in caplog.text


def test_plugins_of_gazebo_sim_are_replaced(read):
    drive = """<plugin name="d" filename="gz-sim-diff-drive-system"><left_joint>left</left_joint>
<right_joint>right</right_joint><wheel_separation>0.5</wheel_separation>
<wheel_radius>0.1</wheel_radius></plugin><plugin name="j" filename="gz-sim-sensors-system"/>"""
    assert plugins(adapt_robot(read(drive)).sdf) == [DIFF_DRIVE]


def test_velocities_are_scaled_by_the_sizes_of_the_own_drive(read):
    # Gazebo's plugin uses 0.5 m and 0.2 m of the model instead of 0.6 m and 0.25 m
    (message,) = [DriveCommand(read(ROS_DRIVE)).message(Twist2D(0.5, 0.4))]
    assert message.position.x == pytest.approx(0.5 * 0.2 / 0.25)
    assert pose_from(message).yaw_rad == pytest.approx(-0.4 * 0.2 / 0.25 * 0.6 / 0.5)


TWO_AXLES = WheelJoints(("left", "rear_left"), ("right", "rear_right"))


def test_wheels_of_two_axles_keep_their_speed_under_friction(read):
    adapted = adapt_robot(read(axles=2, wheels=TWO_AXLES))
    assert plugins(adapted.sdf) == [DIFF_DRIVE, DIFF_DRIVE]
    heavy = etree.fromstring(adapted.sdf).find(".//link[@name='rear_left_wheel']/inertial")
    # a quarter of 10 kg, 9.8 m/s² and 0.1 m, in 1 ms, change the speed by 0.1 rad/s
    expected = pytest.approx(10 * 9.8 / 4 * 0.1 * 1e-3 / 0.1)
    # equal about all axes, so that the wheel has no gyroscopic torque
    assert [float(heavy.findtext(f"inertia/i{axis}")) for axis in ("xx", "yy", "zz")] == [
        expected,
        expected,
        expected,
    ]
    assert float(heavy.findtext("mass")) == 0.5


def surface(mu2):
    return (
        f"<surface><friction><ode><mu>0.5</mu><mu2>{mu2}</mu2><fdir1>1 0 0</fdir1></ode>"
        "</friction></surface>"
    )


@pytest.mark.parametrize(("axles", "mu2", "kept"), [(2, 0.5, 0), (2, 0.1, 4), (1, 0.5, 2)])
def test_fdir1_that_rotates_with_sliding_wheels_is_removed(read, axles, mu2, kept):
    options = {"wheels": TWO_AXLES} if axles == 2 else {}
    robot = read(*([] if axles == 2 else [ROS_DRIVE]), axles=axles, surface=surface(mu2), **options)
    assert adapt_robot(robot).sdf.count("<fdir1>") == kept


def test_world_of_a_robot_with_two_axles_has_a_cone_of_friction(read):
    assert adapt_robot(read(axles=2, wheels=TWO_AXLES)).needs_cone
    assert not adapt_robot(read(ROS_DRIVE)).needs_cone
    world = share_directory() / "worlds" / "arena.world"
    cone = "<friction_model>cone_model</friction_model>"
    with_cone = split_world(world, 1000.0, cone=True)
    without = split_world(world, 1000.0)
    assert (cone in with_cone.base, cone in without.base) == (True, False)
    assert with_cone.fingerprint != without.fingerprint  # no server is shared
    assert cone not in split_world(world, 1000.0, cone=True, engine="bullet").base


def test_key_drive_replaces_a_drive_plugin_of_gazebo(read):
    own = f"""<plugin name="d" filename="{DIFF_DRIVE}"><left_joint>left</left_joint>
<right_joint>right</right_joint></plugin>"""
    adapted = adapt_robot(read(own, wheels=WheelJoints(("left",), ("right",), 0.6)))
    assert plugins(adapted.sdf) == [DIFF_DRIVE]
    assert adapted.angular == pytest.approx(0.6 / 0.5)


def test_wheels_of_one_axle_are_not_changed(read):
    link = etree.fromstring(adapt_robot(read(ROS_DRIVE)).sdf).find(".//link[@name='left_wheel']")
    assert float(link.findtext("inertial/inertia/iyy")) == INERTIA


@pytest.mark.gazebo
@pytest.mark.slow
def test_a_skid_steer_robot_follows_small_yaw_rates_in_gazebo(read, tmp_path):
    from gz_testauto.simulators import SIMULATORS

    robot = read(axles=2, wheels=TWO_AXLES)
    world = share_directory() / "worlds" / "arena.world"
    simulator = SIMULATORS.get("gazebo")()
    try:
        simulation = simulator.load(Scene(world, robot, Pose2D(0.0, 0.0, 0.0), 1))
        simulation.drive(Twist2D(0.3, 0.2))
        for _ in range(20):
            snapshot = simulation.step(0.1)
    finally:
        simulator.close()
    pose = snapshot.models["robot"].pose
    assert math.hypot(*pose.position[:2]) > 0.4
    assert pose.yaw_rad > 0.15  # without sliding, 0.4 rad
