"""Drive, sensors and outline are read from a robot's SDF."""

import math

import pytest
from sdf_text import include, link, model

from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.robot import read_outline, read_robot

WHEEL = "<cylinder><radius>0.15</radius><length>0.05</length></cylinder>"
LYING = "0 0 0 1.5707963267948966 0 0"
LIDAR = """<sensor name="lidar" type="{type}"><pose>0.1 0 0.2 0 0 0</pose>
<update_rate>10</update_rate><ray><scan><horizontal><samples>181</samples>
<resolution>2</resolution><min_angle>-1.5</min_angle><max_angle>1.5</max_angle></horizontal>
<vertical><samples>{rows}</samples></vertical></scan>
<range><min>0.1</min><max>{range}</max></range></ray></sensor>"""
IMU = (
    '<sensor name="imu" type="imu"><pose>0 0 0.3 0 0 0</pose>'
    "<update_rate>100</update_rate></sensor>"
)
DIFF = """<plugin name="d" filename="libDiffDrivePlugin.so"><left_joint>{left}</left_joint>
<right_joint>right</right_joint></plugin>"""


def joint(name, child, pose=""):
    placed = f"<pose>{pose}</pose>" if pose else ""
    return (
        f'<joint name="{name}" type="revolute">{placed}<parent>base</parent><child>{child}</child>'
        "<axis><xyz>0 1 0</xyz></axis></joint>"
    )


def base(*sensors):
    body = link("base", "0 0 0.3 0 0 0", "<box><size>1.0 0.6 0.4</size></box>")
    return body.replace("</link>", "".join(sensors) + "</link>")


def robot(*parts, sensors=(), name="bot"):
    return model(
        name,
        base(*sensors),
        link("wheel_l", "0.2 0.25 0.15 0 0 0", WHEEL, LYING),
        link("wheel_r", "0.2 -0.25 0.15 0 0 0", WHEEL, LYING),
        joint("left", "wheel_l"),
        joint("right", "wheel_r", "0 -0.02 0 0 0 0"),
        *parts,
        pose="9 9 9 0 0 0",
        static=False,
    )


def two_axles(wheel=WHEEL, half_m=0.27):
    """Return a robot with a second axle at the rear, which is first in its SDF."""
    left, right = f"-0.2 {half_m} 0.15 0 0 0", f"-0.2 {-half_m} 0.15 0 0 0"
    rear = DIFF.replace("right<", "rear_right<").replace('"d"', '"rear"').format(left="rear_left")
    text = robot(
        rear,
        DIFF.format(left="left"),
        link("rear_l", left, wheel, LYING),
        link("rear_r", right, wheel, LYING),
        joint("rear_left", "rear_l"),
        joint("rear_right", "rear_r"),
    )
    return text.replace("0.2 0.25 0.15", "0.2 0.27 0.15")  # the right joint is at -0.27


@pytest.fixture
def read(model_directory):
    def read_text(text, name="robot"):
        return read_robot(model_directory("bot", text), name, [model_directory.root])

    return read_text


def test_a_lidar_with_too_many_samples_is_rejected(read):
    sensor = LIDAR.format(type="ray", rows=1, range=5).replace("181", "10000000")
    with pytest.raises(SdfError, match=r"20000000 samples; it must have from 1 to 200000"):
        read(robot(DIFF.format(left="left"), sensors=[sensor]))


def test_sizes_of_gazebos_diff_drive_are_measured_from_the_model(read):
    drive = read(robot(DIFF.format(left="left"))).drive
    assert (drive.left_joints, drive.right_joints) == (("left",), ("right",))
    assert drive.plugin == "libDiffDrivePlugin.so"
    assert drive.wheel_separation_m == pytest.approx(0.52)  # between the joints' anchors
    assert drive.wheel_diameter_m == pytest.approx(0.3)


def test_gazebos_skid_steer_drive_has_two_joints_per_side(read):
    plugin = """<plugin name="s" filename="/opt/x/libSkidSteerDrivePlugin.so">
    <left_front>left</left_front><right_front>right</right_front>
    <left_rear>rear_l</left_rear><right_rear>rear_r</right_rear></plugin>"""
    rear = (
        link("wheel_rl", "-0.2 0.25 0.15 0 0 0", WHEEL, LYING)
        + link("wheel_rr", "-0.2 -0.25 0.15 0 0 0", WHEEL, LYING)
        + joint("rear_l", "wheel_rl")
        + joint("rear_r", "wheel_rr")
    )
    drive = read(robot(rear, plugin)).drive
    assert (drive.left_joints, drive.right_joints) == (("left", "rear_l"), ("right", "rear_r"))
    assert drive.wheel_separation_m == pytest.approx(0.52)
    assert drive.wheel_diameter_m == pytest.approx(0.3)


def test_diff_drives_of_several_axles_form_one_drive_with_the_front_axle_first(read):
    drive = read(two_axles()).drive
    assert drive.plugin == "libDiffDrivePlugin.so"
    assert drive.left_joints == ("left", "rear_left")
    assert drive.right_joints == ("right", "rear_right")
    assert drive.wheel_separation_m == pytest.approx(0.54)
    assert drive.wheel_diameter_m == pytest.approx(0.3)


def test_drives_of_gazebo_ros_specify_their_sizes(read):
    diff = """<plugin name="d" filename="libgazebo_ros_diff_drive.so"><leftJoint>left</leftJoint>
    <rightJoint>right</rightJoint><wheelSeparation>0.5</wheelSeparation></plugin>"""
    drive = read(robot(diff)).drive
    assert (drive.wheel_separation_m, drive.wheel_diameter_m) == (0.5, 0.15)
    skid = """<plugin name="s" filename="libgazebo_ros_skid_steer_drive.so">
    <leftFrontJoint>left</leftFrontJoint><leftRearJoint>left</leftRearJoint>
    <rightFrontJoint>right</rightFrontJoint><rightRearJoint>right</rightRearJoint>
    <wheelDiameter>0.31</wheelDiameter></plugin>"""
    drive = read(robot(skid)).drive
    assert drive.left_joints == ("left", "left")
    assert (drive.wheel_separation_m, drive.wheel_diameter_m) == (0.4, 0.31)


@pytest.mark.parametrize("kind", ["ray", "gpu_ray"])
def test_planar_lidar_and_imu_are_found_with_their_mounts(read, kind):
    lidar = LIDAR.format(type=kind, rows=1, range=10)
    found = read(robot(sensors=(lidar, IMU)))
    assert (found.lidar.link, found.lidar.sensor) == ("base", "lidar")
    assert found.lidar.mount.position == pytest.approx((0.1, 0, 0.5))
    assert (found.lidar.samples, found.lidar.update_rate_hz) == (362, 10)
    assert (found.lidar.angle_min_rad, found.lidar.angle_max_rad) == (-1.5, 1.5)
    assert (found.lidar.range_min_m, found.lidar.range_max_m) == (0.1, 10)
    assert found.imu.mount == Pose((0.0, 0.0, 0.6))
    assert found.imu.update_rate_hz == 100


def test_lidar_with_several_rows_is_not_planar(read):
    assert read(robot(sensors=(LIDAR.format(type="ray", rows=16, range=10),))).lidar is None


CLIFF = LIDAR.format(type="ray", rows=1, range=0.2).replace('"lidar"', '"cliff"')
FRONT = LIDAR.format(type="ray", rows=1, range=10)


def test_several_ray_sensors_without_a_name_are_rejected_with_their_list(read):
    with pytest.raises(SdfError) as caught:
        read(robot(sensors=(CLIFF, FRONT)))
    text = caught.value.full
    assert all(
        part in text
        for part in ("model.sdf", "robot.lidar", "--lidar of the command (A,B)", "~robot_lidar")
    )
    lines = text.splitlines()[1:]
    assert ["'cliff'" in lines[0], "'lidar'" in lines[1]] == [True, True]
    assert all(part in lines[1] for part in ("'base'", "362 rays", "-85.94°", "0.1 to 10 m"))


@pytest.mark.parametrize("name", ["lidar", "base::lidar"])
def test_lidar_is_selected_by_its_name_or_scoped_name(model_directory, name):
    path = model_directory("bot", robot(sensors=(CLIFF, FRONT)))
    found = read_robot(path, lidar=name)
    assert found.lidar.sensor == "lidar"
    assert [one.sensor for one in found.lidars] == ["cliff", "lidar"]


def test_unknown_or_ambiguous_lidar_name_is_rejected(model_directory):
    two = robot(sensors=(FRONT,)).replace("</link>", FRONT + "</link>", 2)
    path = model_directory("bot", two)
    with pytest.raises(SdfError, match="no planar ray sensor 'lidra'"):
        read_robot(path, lidar="lidra")
    with pytest.raises(SdfError, match=r"'base::lidar' or .*wheel_l::lidar"):
        read_robot(path, lidar="lidar")
    assert read_robot(path, lidar="wheel_l::lidar").lidar.link == "wheel_l"


def test_outline_is_read_from_a_robot_with_several_ray_sensors(model_directory):
    body = read_outline(model_directory("bot", robot(sensors=(CLIFF, FRONT))), "other")
    assert (body.name, body.height_m) == ("other", pytest.approx((0, 0.5)))


def exchanged(text):
    return (
        text.replace("left_joint>", "X>")
        .replace("right_joint", "left_joint")
        .replace("X>", "right_joint>")
    )


REVERSED = ("<child>wheel_r</child><axis><xyz>0 1 0", "<child>wheel_r</child><axis><xyz>0 -1 0")


@pytest.mark.parametrize(
    ("text", "joints"),
    [
        (exchanged(robot(DIFF.format(left="left"))), ["'right' is to the right of", "'left'"]),
        (robot(DIFF.format(left="left")).replace(*REVERSED), ["'right'", "0 -1 0", "backward"]),
        (
            exchanged(robot(DIFF.format(left="left"))).replace(*REVERSED),
            ["left joint 'right' is to the right", "axis of joint 'right'"],
        ),
        (
            robot(DIFF.format(left="left")).replace("<xyz>0 1 0", "<xyz>1 0 0"),
            ["'left'", "'right'", "along y"],
        ),
        (
            robot(DIFF.format(left="left")).replace("<axis><xyz>0 1 0</xyz></axis>", "<axis/>"),
            ["0 0 1", "along y"],
        ),
    ],
)
def test_miswired_wheels_are_rejected_by_joint_name(read, text, joints):
    with pytest.raises(SdfError, match=r"model\.sdf:\d+: the robot would not move") as caught:
        read(text)
    assert all(part in caught.value.full for part in joints)


def test_legacy_mode_does_not_exchange_the_wheels_as_in_noetic(read):
    """Only gazebo_ros of Kinetic and before reads <legacyMode>."""
    drive = """<plugin name="d" filename="libgazebo_ros_diff_drive.so"><legacyMode>true</legacyMode>
<leftJoint>left</leftJoint><rightJoint>right</rightJoint></plugin>"""
    assert read(robot(drive)).drive.left_joints == ("left",)
    exchanged_joints = drive.replace(">left<", ">X<").replace(">right<", ">left<")
    with pytest.raises(SdfError, match=r"exchange the two joints.*<legacyMode> has no effect"):
        read(robot(exchanged_joints.replace(">X<", ">right<")))


def test_axis_of_a_rolled_wheel_is_read_in_the_frame_of_its_joint(read):
    """The wheel is rotated by 90° about x, so its own z axis points to -y, and its y axis up."""
    rolled = robot(DIFF.format(left="left"))
    for y in ("0.25", "-0.25"):
        rolled = rolled.replace(f"{y} 0.15 0 0 0", f"{y} 0.15 1.5707963 0 0")
    right = rolled.replace("<xyz>0 1 0</xyz>", "<xyz>0 0 -1</xyz>")
    assert read(right).drive is not None
    with pytest.raises(SdfError, match="backward"):
        read(right.replace("0 0 -1", "0 0 1"))
    in_model = "<xyz>0 1 0</xyz><use_parent_model_frame>true</use_parent_model_frame>"
    assert read(rolled.replace("<xyz>0 1 0</xyz>", in_model)).drive is not None


def test_footprint_and_height_are_the_convex_outline_and_z_range_in_the_model_frame(read):
    found = read(robot())
    xs, ys = zip(*found.footprint_m)
    assert (min(xs), max(xs)) == pytest.approx((-0.5, 0.5))
    assert (min(ys), max(ys)) == pytest.approx((-0.3, 0.3))
    doubled_area = sum(
        x0 * y1 - x1 * y0
        for (x0, y0), (x1, y1) in zip(
            found.footprint_m, found.footprint_m[1:] + found.footprint_m[:1]
        )
    )
    assert doubled_area == pytest.approx(1.2)  # positive: counter-clockwise
    assert found.height_m == pytest.approx((0, 0.5))


def test_robot_has_the_requested_name(read):
    found = read(robot(), "other")
    assert found.name == "other"
    assert SdfDocument.parse(found.sdf).model.get("name") == "other"


def test_sdf_of_a_robot_has_absolute_uris_and_expanded_includes(model_directory):
    sensor = model_directory(
        "eye", model("eye", link("lens", shape="<mesh><uri>e.stl</uri></mesh>"))
    )
    import trimesh

    trimesh.creation.box((0.1, 0.1, 0.1)).export(sensor / "e.stl")
    mount = '<joint name="mount" type="fixed"><parent>base</parent><child>eye::lens</child></joint>'
    text = robot(include("model://eye", "eye", "0.4 0 0.5 0 0 0"), mount)
    found = read_robot(model_directory("bot", text), "robot", [model_directory.root])
    document = SdfDocument.parse(found.sdf)
    assert document.root.find(".//include") is None
    uris = {uri.text for uri in document.root.iter("uri")}
    assert uris == {f"file://{sensor}/e.stl"}
    assert found.height_m[1] == pytest.approx(0.55)


def test_wheels_in_a_nested_model_are_found(read):
    axle = model(
        "axle",
        link("wheel_l", "0 0.25 0.15 0 0 0", WHEEL, LYING),
        link("wheel_r", "0 -0.25 0.15 0 0 0", WHEEL, LYING),
        '<joint name="j" type="revolute"><parent>wheel_l</parent><child>wheel_r</child></joint>',
    )
    body = base() + axle
    body += joint("left", "axle::wheel_l") + joint("right", "axle::wheel_r")
    drive = read(model("bot", body, DIFF.format(left="left"))).drive
    assert drive.wheel_separation_m == pytest.approx(0.5)
    assert drive.wheel_diameter_m == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (robot(DIFF.format(left="lefty")), r"model\.sdf:\d+: <left_joint> names 'lefty', which is"),
        (robot(DIFF.format(left="left").replace("right_joint", "r")), "<plugin> has no <right_jo"),
        (robot(DIFF.format(left="right")), "wheel separation of 0.0 m"),
        (robot(DIFF.format(left="left") * 2), "joint 'left' is driven twice"),
        (two_axles(wheel=WHEEL.replace("0.15", "0.16")), "a wheel diameter of 0.3 m and 0.32 m; t"),
        (
            two_axles(half_m=-0.27),
            "left joint 'rear_left' is to the right of the right joint 'rear",
        ),
        (two_axles(half_m=0.3), "axles have a wheel separation of 0.54 m and 0.6 m; they must be"),
        (
            two_axles().replace("libDiffDrivePlugin", "libSkidSteerDrivePlugin", 1),
            r"libDiffDrivePlugin\.so is a second drive plugin in addition to libSkidSteerDrive",
        ),
        (
            two_axles().replace("libDiffDrivePlugin", "libgazebo_ros_diff_drive"),
            "libgazebo_ros_diff_drive.so is a second drive plugin in addition to libgazebo",
        ),
        (robot(joint("x", "nowhere")), "joint 'x' has the child 'nowhere', which is not a link"),
        (
            robot(sensors=(LIDAR.format(type="ray", rows=1, range=0.01),)),
            "lidar 'lidar' has a range from 0.1 to 0.01",
        ),
        (model("bot", "<link name='base'/>"), "no collision shape"),
        ('<sdf version="1.6"><world name="w"/></sdf>', "must have a <model> directly under <sdf>"),
    ],
)
def test_inconsistent_robot_is_rejected_with_the_reason(read, text, problem):
    with pytest.raises(SdfError, match=problem):
        read(text)


def test_robot_without_drive_or_sensors_is_read(read):
    found = read(robot())
    assert (found.drive, found.lidar, found.imu) == (None, None, None)


def test_directory_without_a_model_is_rejected(tmp_path):
    with pytest.raises(SdfError, match=r"is not a model directory: model\.config is missing"):
        read_robot(tmp_path)


def test_diameter_does_not_depend_on_the_rotation_of_the_wheel(read):
    turned = robot(DIFF.format(left="left")).replace(LYING, f"0 0 0 {math.pi / 2} 0.7 0")
    assert read(turned).drive.wheel_diameter_m == pytest.approx(0.3, abs=0.01)


def test_missing_mesh_of_a_robot_is_rejected_without_the_hint_to_allow_it(read):
    body = link("base", shape="<mesh><uri>body.stl</uri></mesh>")
    with pytest.raises(SdfError, match=r"body\.stl does not exist|body\.stl names") as caught:
        read(model("bot", body))
    assert "--allow-missing" not in caught.value.full
