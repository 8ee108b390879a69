"""Robots are read from URDF, from models of Gazebo Sim, and with driven joints of a campaign."""

import pytest

from gz_testauto.base.errors import SdfError
from gz_testauto.sdf.drives import WheelJoints
from gz_testauto.sdf.robot import read_robot
from gz_testauto.sdf.urdf.xacro import XacroInput

INERTIAL = (
    '<inertial><mass value="1"/>'
    '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
)
RADIUS_M = 0.1


def wheel(name, y_m, x_m=0.0):
    return f"""<link name="{name}_wheel">{INERTIAL}<collision>
<origin rpy="1.5707963267948966 0 0"/>
<geometry><cylinder radius="{RADIUS_M}" length="0.04"/></geometry></collision></link>
<joint name="{name}" type="continuous"><parent link="base"/><child link="{name}_wheel"/>
<origin xyz="{x_m} {y_m} 0"/><axis xyz="0 1 0"/></joint>"""


LASER = """<link name="laser"/><joint name="laser_mount" type="fixed"><parent link="base"/>
<child link="laser"/><origin xyz="0.1 0 0.3"/></joint>
<gazebo reference="laser"><sensor name="scan" type="ray"><ray><scan><horizontal>
<samples>90</samples><min_angle>-1</min_angle><max_angle>1</max_angle></horizontal></scan>
<range><min>0.1</min><max>9</max></range></ray></sensor></gazebo>"""
ROS_1 = """<gazebo><plugin name="d" filename="libgazebo_ros_diff_drive.so">
<leftJoint>left</leftJoint><rightJoint>right</rightJoint><wheelSeparation>0.5</wheelSeparation>
<wheelDiameter>0.2</wheelDiameter><wheelTorque>7</wheelTorque></plugin></gazebo>"""


def drive(filename, *elements):
    return f'<gazebo><plugin name="d" filename="{filename}">{"".join(elements)}</plugin></gazebo>'


@pytest.fixture
def read(tmp_path):
    def read(*parts, file="bot.urdf", **options):
        body = wheel("left", 0.2) + wheel("right", -0.2) + "".join(parts)
        base = f"""<link name="base">{INERTIAL}<collision><origin xyz="0 0 0.1"/>
<geometry><box size="0.6 0.3 0.1"/></geometry></collision></link>"""
        path = tmp_path / file
        path.write_text(f'<robot name="bot">{base}{body}</robot>')
        return read_robot(path, **options)

    return read


def test_a_urdf_has_its_drive_lidar_and_outline(read):
    robot = read(LASER, ROS_1)
    assert robot.drive.left_joints == ("left",)
    assert robot.drive.wheel_separation_m == 0.5
    assert robot.drive.torque_nm == 7.0
    assert robot.lidar.samples == 90
    assert robot.lidar.mount.position == pytest.approx((0.1, 0.0, 0.3 + RADIUS_M))


def test_the_wheels_of_a_urdf_are_on_the_ground(read):
    robot = read()
    assert robot.height_m == pytest.approx((0.0, 0.15 + RADIUS_M))


def test_the_root_link_of_a_urdf_can_be_the_origin(read):
    assert read(on_ground=False).height_m == pytest.approx((-RADIUS_M, 0.15))


def test_an_upright_urdf_with_its_base_on_the_ground_is_not_moved(read, tmp_path):
    raised = wheel("left", 0.2).replace('0.2 0"', f'0.2 {RADIUS_M + 0.004}"')
    path = tmp_path / "bot.urdf"
    path.write_text(f'<robot name="bot"><link name="base">{INERTIAL}</link>{raised}</robot>')
    assert read_robot(path).height_m[0] == pytest.approx(0.004)


def test_visuals_without_a_mesh_file_are_removed(read, tmp_path):
    (tmp_path / "here.stl").write_text("solid\nendsolid\n")
    visuals = "".join(
        f'<visual><geometry><mesh filename="{name}"/></geometry></visual>'
        for name in ("here.stl", "missing.stl", "package://no_such_package/x.dae")
    )
    robot = read(
        f'<link name="body">{visuals}</link><joint name="j" type="fixed"><parent link="base"/>'
        '<child link="body"/></joint>'
    )
    assert robot.sdf.count("<mesh>") == 1
    assert f"file://{tmp_path}/here.stl" in robot.sdf


def test_a_collision_without_its_mesh_file_is_rejected(read):
    shape = '<collision><geometry><mesh filename="package://no_such_package/x.stl"/></geometry>'
    with pytest.raises(SdfError, match="'no_such_package' was not found"):
        read(
            f'<link name="body">{shape}</collision></link>'
            '<joint name="j" type="fixed"><parent link="base"/><child link="body"/></joint>'
        )


def test_the_joints_of_a_campaign_replace_the_drive_plugin(read):
    robot = read(ROS_1, wheels=WheelJoints(("left",), ("right",), torque_nm=3.0))
    assert robot.drive.plugin == ""
    assert robot.drive.wheel_separation_m == pytest.approx(0.4)
    assert robot.drive.wheel_diameter_m == pytest.approx(2 * RADIUS_M)
    assert robot.drive.torque_nm == 3.0


def test_the_sizes_of_a_campaign_replace_those_of_the_model(read):
    rear = wheel("rear_left", 0.2, -0.3) + wheel("rear_right", -0.2, -0.3)
    joints = (("rear_left", "left"), ("rear_right", "right"))
    drive = read(rear, wheels=WheelJoints(*joints, 0.6, 0.3)).drive
    assert drive.left_joints == ("left", "rear_left")  # the front axle first
    assert (drive.wheel_separation_m, drive.wheel_diameter_m) == (0.6, 0.3)


def test_an_unknown_joint_of_a_campaign_is_rejected_with_the_known_ones(read):
    with pytest.raises(SdfError, match=r"'middle' was not found\. Known: left, right"):
        read(wheels=WheelJoints(("middle",), ("right",)))


def test_the_input_of_xacro_is_rejected_for_an_sdf_file(tmp_path):
    (tmp_path / "bot.sdf").write_text('<sdf version="1.6"/>')
    with pytest.raises(SdfError, match="not a xacro file"):
        read_robot(tmp_path / "bot.sdf", xacro=XacroInput({"a": "1"}))


@pytest.mark.slow  # xacro runs in a process
def test_sdf_that_xacro_generates_is_read_as_sdf(tmp_path):
    wheel_macro = """<xacro:macro name="wheel" params="n y"><link name="${n}"><pose>0 ${y} 0.08
-1.5708 0 0</pose><collision name="c"><geometry><cylinder><radius>0.08</radius><length>0.04</length>
</cylinder></geometry></collision></link><joint name="${n}_joint" type="revolute">
<parent>base</parent><child>${n}</child><axis><xyz>0 0 1</xyz></axis></joint></xacro:macro>"""
    path = tmp_path / "bot.sdf.xacro"
    path.write_text(f"""<sdf version="1.6" xmlns:xacro="http://www.ros.org/wiki/xacro">{wheel_macro}
<xacro:arg name="half_m" default="0.16"/><model name="bot"><link name="base">
<pose>0 0 0.5 0 0 0</pose><collision name="c"><geometry><box><size>0.4 0.2 0.1</size></box>
</geometry></collision></link>
<xacro:wheel n="left" y="$(arg half_m)"/><xacro:wheel n="right" y="-$(arg half_m)"/>
<plugin name="d" filename="libDiffDrivePlugin.so"><left_joint>left_joint</left_joint>
<right_joint>right_joint</right_joint></plugin></model></sdf>""")
    robot = read_robot(path, xacro=XacroInput({"half_m": "0.2"}))
    assert robot.drive.wheel_separation_m == pytest.approx(0.4)
    # not moved to the ground, unlike URDF
    assert robot.height_m == pytest.approx((0.0, 0.55), abs=1e-6)


@pytest.mark.parametrize(
    ("filename", "separation_tag", "size"),
    [
        ("gz-sim-diff-drive-system", "wheel_separation", "<wheel_radius>0.1</wheel_radius>"),
        (
            "libignition-gazebo-diff-drive-system.so",
            "wheel_separation",
            "<wheel_radius>0.1</wheel_radius>",
        ),
        ("libgazebo_ros_diff_drive.so", "wheel_separation", "<wheel_diameter>0.2</wheel_diameter>"),
    ],
)
def test_drives_of_gazebo_sim_and_ros_2_have_several_axles(read, filename, separation_tag, size):
    rear = wheel("rear_left", 0.2, -0.3) + wheel("rear_right", -0.2, -0.3)
    names = [("left_joint", "left"), ("right_joint", "right")]
    names += [("left_joint", "rear_left"), ("right_joint", "rear_right")]
    joints = "".join(f"<{tag}>{name}</{tag}>" for tag, name in names)
    separation = f"<{separation_tag}>0.45</{separation_tag}>"
    found = read(rear, drive(filename, joints, separation, size)).drive
    assert found.left_joints == ("left", "rear_left")
    assert found.right_joints == ("right", "rear_right")
    assert (found.wheel_separation_m, found.wheel_diameter_m) == (0.45, 0.2)


def test_a_drive_with_more_left_than_right_joints_is_rejected(read):
    with pytest.raises(SdfError, match="1 left and 0 right joints"):
        read(drive("gz-sim-diff-drive-system", "<left_joint>left</left_joint>"))


@pytest.mark.parametrize("kind", ["gpu_lidar", "lidar"])
def test_a_lidar_of_gazebo_sim_is_a_ray_sensor(tmp_path, kind):
    sdf = f"""<sdf version="1.9"><model name="bot"><link name="base"><collision name="c"><geometry>
<box><size>1 1 1</size></box></geometry></collision><sensor name="scan" type="{kind}"><lidar><scan>
<horizontal><samples>360</samples><min_angle>0</min_angle><max_angle>6.28</max_angle></horizontal>
</scan><range><min>0.1</min><max>3.5</max></range></lidar></sensor></link></model></sdf>"""
    (tmp_path / "bot.sdf").write_text(sdf)
    robot = read_robot(tmp_path / "bot.sdf")
    assert robot.lidar.samples == 360
    assert '<sensor name="scan" type="ray"><ray>' in robot.sdf
    assert robot.has_gpu_lidar == (kind == "gpu_lidar")
