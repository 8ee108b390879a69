"""Sensors that the adaptor adds to models, and their removal."""

from dataclasses import replace
from pathlib import Path

import pytest
from lxml import etree

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.base.resources import share_directory
from gz_testauto.sdf.robot import read_robot
from gz_testauto.simulators.gazebo.instruments import (
    PROBE,
    SUFFIX,
    instrument_model,
    instrument_robot,
    own_name,
    remove_instruments,
)
from gz_testauto.simulators.gazebo.simulation import standalone_model
from gz_testauto.simulators.interface import NamedModel

ROBOT = Path(__file__).parents[1] / "data" / "robot.sdf"
PERIOD_NS = 100_001_000


def model(static):
    text = f"""<sdf version="1.6"><model name="x"><static>{static}</static><link name="a"/>
    <link name="b"><pose>1 0 0 0 0 0</pose></link></model></sdf>"""
    return NamedModel("thing", text, Pose((1.0, 2.0, 3.0)))


@pytest.fixture(scope="module")
def robot():
    return read_robot(ROBOT)


@pytest.fixture(scope="module")
def service_robot():
    return read_robot(share_directory() / "models" / "service_robot", lidar="front_lidar")


def sensors(sdf, kind):
    return [s for s in etree.fromstring(sdf).iter("sensor") if s.get("type") == kind]


def test_every_movable_link_has_a_probe():
    instrumented = instrument_model(model("false"), PERIOD_NS)
    assert set(instrumented.probes.values()) == {"thing::a", "thing::b"}
    assert "thing/a/gz_testauto_probe/scan" in instrumented.probes
    assert instrumented.links["thing::b"].position == (1, 0, 0)


def test_contacts_without_forces_need_ode():
    contact = "<contact><collide_without_contact>1</collide_without_contact></contact>"
    collision = f"""<collision name="c"><geometry><sphere><radius>1</radius></sphere></geometry>
    <surface>{contact}</surface></collision></link>"""
    free_model = model("false")
    sdf = free_model.sdf.replace('<link name="a"/>', f'<link name="a">{collision}')
    ghost = replace(free_model, sdf=sdf)
    instrument_model(ghost, PERIOD_NS)
    with pytest.raises(
        SimulatorError, match=r"'thing': contacts without forces .* 'ode', not 'dart'"
    ):
        instrument_model(ghost, PERIOD_NS, engine="dart")


def test_static_model_has_no_probe():
    instrumented = instrument_model(model("true"), PERIOD_NS)
    assert not instrumented.probes
    assert not sensors(instrumented.model.sdf, "ray")


def test_names_on_the_server_have_the_suffix_in_every_other_scene():
    instrumented = instrument_model(model("false"), PERIOD_NS, SUFFIX)
    assert instrumented.name == "thing"
    assert instrumented.model.name == "thing" + SUFFIX
    assert etree.fromstring(instrumented.model.sdf).find("model").get("name") == "thing" + SUFFIX
    assert set(instrumented.probes.values()) == {"thing::a", "thing::b"}
    assert all(topic.startswith("thing" + SUFFIX) for topic in instrumented.probes)
    assert own_name(f"thing{SUFFIX}::a::c") == "thing::a::c"


def test_all_sensors_have_the_same_period(robot):
    instrumented = instrument_robot(robot, Pose2D(0, 0), PERIOD_NS)
    found = list(etree.fromstring(instrumented.body.model.sdf).iter("sensor"))
    kinds = sorted(sensor.get("type") for sensor in found)
    # the lidar, a probe in each of three links, the IMU, and the contacts of the body
    assert kinds == ["contact", "imu", "ray", "ray", "ray", "ray"]
    for sensor in found:
        assert sensor.findtext("update_rate") == "9.9999"
        assert 1e9 / float(sensor.findtext("update_rate")) == pytest.approx(PERIOD_NS, abs=0.02)


def test_contact_sensor_covers_the_body_but_not_the_wheels(robot):
    instrumented = instrument_robot(robot, Pose2D(0, 0), PERIOD_NS)
    (contact,) = sensors(instrumented.body.model.sdf, "contact")
    assert [c.text for c in contact.iter("collision")] == ["body"]
    assert instrumented.contact_topics == ("robot/base/gz_testauto_contact",)


def test_robot_has_the_start_pose_and_the_height_of_its_sdf(robot):
    pose = instrument_robot(robot, Pose2D(1.0, 2.0, 0.5), PERIOD_NS).body.model.pose
    assert pose.position == (1, 2, 0)
    assert pose.yaw_rad == pytest.approx(0.5)


def test_lidar_that_needs_a_display_becomes_a_ray_sensor(tmp_path, caplog):
    path = tmp_path / "robot.sdf"
    path.write_text(ROBOT.read_text().replace('type="ray"', 'type="gpu_ray"'))
    instrumented = instrument_robot(read_robot(path), Pose2D(0, 0), PERIOD_NS)
    (lidar,) = (s for s in sensors(instrumented.body.model.sdf, "ray") if s.get("name") == "lidar")
    assert lidar.find("ray") is not None
    assert "'lidar' as ray" in caplog.text


def test_saved_world_contains_no_added_sensors(robot):
    instrumented = instrument_robot(robot, Pose2D(0, 0), PERIOD_NS).body
    world = etree.fromstring("<world/>")
    world.append(etree.fromstring(instrumented.model.sdf).find("model"))
    remove_instruments(world, [instrumented])
    (lidar,) = (s for s in world.iter("sensor") if s.get("type") == "ray")
    assert lidar.findtext("update_rate") == "10"
    assert "gz_testauto" not in etree.tostring(world, encoding="unicode")


def test_sdf_text_without_a_model_is_rejected():
    with pytest.raises(SimulatorError, match="cannot spawn 'thing'"):
        instrument_model(NamedModel("thing", "<sdf version='1.6'/>"), PERIOD_NS)


@pytest.mark.parametrize(
    ("version", "content", "expected"),
    (
        ("1.6", '<link name="l"/>', "1.7"),
        ("1.5", '<link name="l"/>', "1.5"),
        ("1.6", '<link name="l"><pose frame="a">1 0 0 0 0 0</pose></link>', "1.6"),
        ("1.6", '<link name="l"/><link name="m"/><joint name="j" type="fixed"/>', "1.6"),
    ),
)
def test_model_of_sdf_1_6_is_sent_as_1_7_only_if_its_meaning_is_the_same(
    version, content, expected
):
    text = f'<sdf version="{version}"><model name="m">{content}</model></sdf>'
    sent = standalone_model(NamedModel("box", text)).sdf
    assert sent.startswith(f'<sdf version="{expected}"><model name="box">')


def test_robot_has_only_the_rays_of_its_lidar_and_of_the_selected_sensors(service_robot):
    """Gazebo creates an object for each ray, also for one that is not used."""
    lidar_3d = next(one for one in service_robot.sensors if one.name == "lidar_3d")
    instrumented = instrument_robot(service_robot, Pose2D(0, 0, 0), PERIOD_NS, sensors=(lidar_3d,))
    names = [one.get("name") for one in sensors(instrumented.body.model.sdf, "ray")]
    probes = [name for name in names if name == PROBE]
    assert sorted(set(names) - {PROBE}) == ["front_lidar", "gz_testauto_rays_0"]
    assert len(names) == len(probes) + 2
    assert instrumented.ray_count == 541 + 360 * 16


def test_sensor_with_a_plugin_that_gazebo_loads_remains(service_robot):
    plugin = '<plugin name="own" filename="libRayPlugin.so"/>'
    text = service_robot.sdf.replace(
        '<sensor name="rear_lidar" type="ray">', f'<sensor name="rear_lidar" type="ray">{plugin}'
    )
    robot = replace(service_robot, sdf=text)
    instrumented = instrument_robot(robot, Pose2D(0, 0, 0), PERIOD_NS)
    names = {one.get("name") for one in sensors(instrumented.body.model.sdf, "ray")}
    assert names == {PROBE, "front_lidar", "rear_lidar"}
