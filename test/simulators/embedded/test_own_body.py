"""Rays of a robot's lidar that end on the robot itself."""

import embedded_scenes as scenes
import numpy as np
import pytest

from gz_testauto.sdf.robot import read_robot
from gz_testauto.simulators import Scene, open_simulator
from gz_testauto.simulators.embedded.own_body import scan_own_body

CYLINDER = "<cylinder><radius>{radius}</radius><length>0.06</length></cylinder>"


def housed(folder, *shapes):
    """Return the wheelchair with further collision shapes, each a name, a pose and a geometry."""
    plain = scenes.wheelchair()
    link = f'<link name="{plain.lidar.link}">'
    more = "".join(
        f'<collision name="{name}"><pose>{pose}</pose><geometry>{geometry}</geometry></collision>'
        for name, pose, geometry in shapes
    )
    path = folder / "housed.sdf"
    path.write_text(plain.path.read_text().replace(link, link + more))
    return read_robot(path)


AROUND = ("housing", "0.5 0 0.35 0 0 0", CYLINDER.format(radius=0.15))
WITHIN_RANGE_MIN = ("housing", "0.5 0 0.35 0 0 0", CYLINDER.format(radius=0.05))
POLE = ("pole", "0.8 0 0.35 0 0 0", CYLINDER.format(radius=0.05))
POST = ("post", "0.5 0.3 0.35 0.3 0.2 0", "<box><size>0.02 0.02 0.3</size></box>")


def test_free_lidar_and_housing_within_the_minimum_range_give_no_ray_on_the_robot(tmp_path):
    assert scan_own_body(scenes.wheelchair()).count == 0
    scan = scan_own_body(housed(tmp_path, WITHIN_RANGE_MIN))
    assert (scan.count, scan.rays, np.isinf(scan.ranges_m).all()) == (0, {}, True)


def test_rays_in_a_larger_housing_end_on_its_inner_side(tmp_path):
    scan = scan_own_body(housed(tmp_path, AROUND))
    assert scan.rays == {"base::housing": 361}
    assert scan.ranges_m == pytest.approx(np.full(361, 0.15))


def test_rays_end_on_visuals_in_place_of_collision_shapes_if_requested(tmp_path):
    model = housed(tmp_path, AROUND).path
    assert scan_own_body(read_robot(model), visuals=True).count == 0
    _, pose, geometry = AROUND
    link = '<link name="base">'
    hood = f'<visual name="hood"><pose>{pose}</pose><geometry>{geometry}</geometry></visual>'
    model.write_text(scenes.wheelchair().path.read_text().replace(link, link + hood))
    assert scan_own_body(read_robot(model)).count == 0
    assert scan_own_body(read_robot(model), visuals=True).rays == {"base::hood": 361}


def test_rays_are_counted_for_each_shape_in_descending_order(tmp_path):
    scan = scan_own_body(housed(tmp_path, POST, POLE))
    assert list(scan.rays) == ["base::pole", "base::post"]
    # seen from a distance of 0.3 m, the pole covers 2 asin(0.05 / 0.3) = 19.2°
    assert scan.rays["base::pole"] == pytest.approx(19.2 / 0.75, abs=1)
    assert scan.ranges_m[180] == pytest.approx(0.25)


def test_robot_without_a_lidar_has_no_scan(tmp_path):
    path = tmp_path / "blind.sdf"
    text = scenes.wheelchair().path.read_text()
    path.write_text(text.replace('type="ray"', 'type="camera"'))
    assert scan_own_body(read_robot(path)) is None


@pytest.mark.parametrize(
    "simulator", ["embedded", pytest.param("gazebo", marks=pytest.mark.gazebo)]
)
def test_rays_on_the_robot_are_those_of_a_simulator_in_an_empty_world(tmp_path, simulator):
    robot = housed(tmp_path, POST, POLE)
    world = scenes.write_world(tmp_path)
    with open_simulator(simulator) as running:
        ranges = running.load(Scene(world, robot)).step(0.1).scan.ranges_m
    expected = scan_own_body(robot).ranges_m
    differing = ~np.isclose(ranges, expected, atol=0.02)
    assert np.flatnonzero(np.isfinite(expected)).size > 20
    assert differing.sum() <= 4  # rays that touch an edge
