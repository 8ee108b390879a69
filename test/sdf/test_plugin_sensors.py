"""Sensors of a robot's model with the topics, frames, rates and noise of their plug-ins."""

import logging
import math

import numpy as np
import pytest

from gz_testauto.base.errors import SdfError
from gz_testauto.base.resources import share_directory
from gz_testauto.sdf.plugin_sensors import select_sensors
from gz_testauto.sdf.robot import read_robot

SERVICE_ROBOT = share_directory() / "models" / "service_robot" / "model.sdf"
RAYS = """<sensor name="{name}" type="{type}"><update_rate>{rate}</update_rate><ray><scan>
<horizontal><samples>3</samples><min_angle>-0.5</min_angle><max_angle>0.5</max_angle></horizontal>
<vertical><samples>{rows}</samples><min_angle>-0.1</min_angle><max_angle>0.2</max_angle></vertical>
</scan><range><min>{min}</min><max>8</max></range>{noise}</ray>{plugin}</sensor>"""
DEPTH = """<sensor name="{name}" type="{type}"><camera><horizontal_fov>{fov}</horizontal_fov><image>
<width>{width}</width><height>{height}</height></image><clip><near>0.05</near><far>9</far></clip>
</camera>{plugin}</sensor>"""


def plugin(library, **values):
    children = "".join(f"<{tag}>{value}</{tag}>" for tag, value in values.items())
    return f'<plugin name="p" filename="lib{library}.so">{children}</plugin>'


def rays(name="one", type="ray", rate=10, rows=2, min=0.1, noise="", plugin=""):
    return RAYS.format(
        name=name, type=type, rate=rate, rows=rows, min=min, noise=noise, plugin=plugin
    )


def depth(name="one", type="depth", fov=1.2, width=640, height=480, plugin=""):
    return DEPTH.format(name=name, type=type, fov=fov, width=width, height=height, plugin=plugin)


@pytest.fixture
def read(tmp_path):
    """Return a function that reads the sensors of a robot with further sensors."""

    def sensors(*texts, lidar="front_lidar"):
        file = tmp_path / "model.sdf"
        text = SERVICE_ROBOT.read_text(encoding="utf-8")
        file.write_text(text.replace('<link name="base">', '<link name="base">' + "".join(texts)))
        robot = read_robot(file, lidar=lidar)
        return {one.name: one for one in robot.sensors}

    return sensors


def test_sensors_of_the_service_robot_have_their_kinds_topics_and_frames():
    found = read_robot(SERVICE_ROBOT, lidar="front_lidar").sensors
    assert [(one.name, one.kind, one.topic, one.frame) for one in found] == [
        ("rear_lidar", "scan", "scan_rear", "rear_lidar_link"),
        ("camera", "cloud", "camera/depth/points", "camera_depth_optical_frame"),
        ("lidar_3d", "cloud", "velodyne_points", "velodyne"),
        ("sonar_left", "range", "sonar/sonar_left", "sonar_left_link"),
        ("sonar_right", "range", "sonar/sonar_right", "sonar_right_link"),
        ("bumper", "contact", "bumper_states", "base"),
    ]
    assert found[2].range_min_m == 0.5 and found[2].noise_m == (0.0, 0.008)
    assert found[-1].collisions == ("base::bumper",)


def test_names_of_a_plugin_are_in_its_namespace(read):
    texts = [
        rays(f"s{i}", plugin=plugin("gazebo_ros_laser", robotNamespace=space, topicName=topic))
        for i, (space, topic) in enumerate((("/", "a"), ("rob", "b"), ("rob", "/c"), ("", "d")))
    ]
    found = read(*texts)
    assert [found[f"s{i}"].topic for i in range(4)] == ["/a", "rob/b", "/c", "d"]


def test_kind_depends_on_the_plugin_and_the_rows(read):
    found = read(
        rays("planar", rows=1),
        rays("layers", rows=4, type="gpu_ray"),
        rays("block", rows=1, plugin=plugin("gazebo_ros_block_laser")),
        rays("sonar", rows=1, plugin=plugin("gazebo_ros_range", radiation="infrared", fov=0.3)),
        depth("kinect", type="camera", plugin=plugin("gazebo_ros_openni_kinect")),
        depth("picture", type="camera"),
    )
    kinds = {name: found[name].kind for name in ("planar", "layers", "block", "sonar", "kinect")}
    assert kinds == {
        "planar": "scan",
        "layers": "cloud",
        "block": "cloud",
        "sonar": "range",
        "kinect": "cloud",
    }
    assert "picture" not in found, "a camera without depth has no ranges"
    assert (found["sonar"].radiation, found["sonar"].field_of_view_rad) == ("infrared", 0.3)


def test_rate_is_the_lower_one_of_sensor_and_plugin_and_noise_adds_up(read):
    noise = "<noise><type>gaussian</type><mean>0.1</mean><stddev>0.03</stddev></noise>"
    own = plugin("gazebo_ros_range", updateRate=4, gaussianNoise=0.04)
    one = read(rays(rate=10, noise=noise, plugin=own))["one"]
    assert one.update_rate_hz == 4.0
    assert one.noise_m == pytest.approx((0.1, 0.05))
    assert read(rays(rate=0, plugin=own))["one"].update_rate_hz == 4.0


def test_directions_are_those_of_a_ray_sensor(read):
    one = read(rays())["one"]
    assert one.directions.shape == (6, 3)
    yaw, pitch = -0.5, 0.2
    expected = [
        math.cos(pitch) * math.cos(yaw), math.cos(pitch) * math.sin(yaw), math.sin(pitch)
    ]  # fmt: skip
    assert one.directions[3] == pytest.approx(expected)
    assert np.linalg.norm(one.directions, axis=1) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("width", "height", "columns", "rows"),
    [(640, 480, 80, 60), (80, 60, 80, 60), (1280, 720, 80, 45), (161, 20, 53, 6), (4, 1, 4, 1)],
)
def test_pixels_of_a_depth_camera_are_reduced_with_one_step(read, width, height, columns, rows):
    one = read(depth(width=width, height=height))["one"]
    assert (one.columns.samples, one.rows.samples) == (columns, rows)
    focal = width / 2 / math.tan(0.6)
    assert one.columns.last == pytest.approx(math.atan((width - 1) / 2 / focal))
    assert one.rows.last == pytest.approx(math.atan((height - 1) / 2 / focal), abs=1e-9)


def test_range_of_a_depth_camera_is_limited_by_its_plugin(read):
    own = plugin("gazebo_ros_openni_kinect", pointCloudCutoff=0.4, pointCloudCutoffMax=3)
    one = read(depth(plugin=own))["one"]
    assert (one.range_min_m, one.range_max_m) == (0.4, 3.0)


def test_sensors_with_the_same_name_are_named_with_their_links(tmp_path):
    file = tmp_path / "model.sdf"
    text = SERVICE_ROBOT.read_text(encoding="utf-8")
    for link in ("base", "left_wheel"):
        text = text.replace(f'<link name="{link}">', f'<link name="{link}">' + rays("twin"))
    file.write_text(text)
    robot = read_robot(file, lidar="front_lidar")
    names = [one.name for one in robot.sensors if one.sensor == "twin"]
    assert names == ["base::twin", "left_wheel::twin"]


def test_sensor_with_an_invalid_value_is_omitted_and_logged(read, caplog):
    with caplog.at_level(logging.INFO):
        found = read(rays("broken", min=9), depth("flat", fov=4))
    assert not {"broken", "flat"} & set(found)
    assert "'broken'" in caplog.text and "<horizontal_fov>" in caplog.text


def test_unknown_sensor_is_rejected_with_the_known_ones():
    robot = read_robot(SERVICE_ROBOT, lidar="front_lidar")
    with pytest.raises(SdfError) as error:
        select_sensors("rover.sdf", robot.sensors, ["kamera"], "planner 'dwa'")
    for part in ("rover.sdf", "planner 'dwa'", "'kamera'", "'camera'", "'bumper'"):
        assert part in str(error.value)


def test_bumper_without_a_collision_shape_of_its_link_is_rejected(read):
    text = (
        '<sensor name="soft" type="contact"><contact><collision>hull</collision></contact></sensor>'
    )
    found = read(text)
    with pytest.raises(SdfError, match=r"(?s)'soft'.*'base'"):
        select_sensors("rover.sdf", list(found.values()), ["soft"], "planner 'dwa'")


def test_sonars_are_not_selected_as_the_lidar(tmp_path):
    file = tmp_path / "model.sdf"
    text = (share_directory() / "models" / "wheelchair" / "model.sdf").read_text(encoding="utf-8")
    own = rays("sonar", rows=1, plugin=plugin("gazebo_ros_range"))
    file.write_text(text.replace('<link name="base">', '<link name="base">' + own))
    robot = read_robot(file)
    assert robot.lidar.sensor == "lidar"
    assert [one.name for one in robot.sensors] == ["sonar"]


def test_merged_lidar_covers_the_union_of_the_angles():
    lidar = read_robot(SERVICE_ROBOT, lidar="front_lidar, rear_lidar").lidar
    assert [one.name for one in lidar.parts] == ["front_lidar", "rear_lidar"]
    assert (lidar.samples, lidar.angle_min_rad) == (720, -math.pi)
    assert lidar.angle_max_rad == pytest.approx(math.pi - math.radians(0.5))
    assert lidar.mount.position == (0.0, 0.0, 0.24)
    assert lidar.scoped_name == "base::front_lidar,base::rear_lidar"
    assert (lidar.range_min_m, lidar.range_max_m) == (0.0, pytest.approx(10.17))


@pytest.mark.parametrize(
    ("yaws", "low", "high"), [((0.1, 1.2), -0.4, 1.7), ((2.9, 0.0), -math.pi, math.pi)]
)
def test_merged_lidar_has_a_full_circle_only_if_a_lidar_looks_backward(
    read, tmp_path, yaws, low, high
):
    file = tmp_path / "model.sdf"
    pose = "<pose>0 0 0.2 0 0 {yaw}</pose><update_rate>"
    texts = [
        rays(f"n{i}", rows=1).replace("<update_rate>", pose.format(yaw=yaw))
        for i, yaw in enumerate(yaws)
    ]
    text = SERVICE_ROBOT.read_text(encoding="utf-8")
    file.write_text(text.replace('<link name="base">', '<link name="base">' + "".join(texts)))
    lidar = read_robot(file, lidar="n0,n1").lidar
    assert lidar.angle_min_rad == pytest.approx(low)
    assert lidar.angle_max_rad == pytest.approx(high, abs=0.55 if high > 3 else 1e-9)


@pytest.mark.parametrize("names", ["front_lidar,camera", "front_lidar,bumper", "front_lidar,"])
def test_merged_lidar_of_other_sensors_is_rejected(names):
    with pytest.raises(SdfError, match=r"robot\.lidar"):
        read_robot(SERVICE_ROBOT, lidar=names)


def test_second_sensor_with_the_same_topic_has_its_own_one(read):
    topics = {"a": "front", "b": "/front", "c": "front"}
    found = read(
        *(rays(name, plugin=plugin("gazebo_ros_laser", topicName=topics[name])) for name in topics)
    )
    assert [found[name].topic for name in topics] == ["front", "base/b", "base/c"]
