"""Comparison of the compiled ray caster with the ray caster of MuJoCo."""

import embedded_scenes as scenes
import numpy as np
import pytest

from gz_testauto.base.observation import ModelState
from gz_testauto.base.pose import Pose
from gz_testauto.simulators import open_simulator
from gz_testauto.simulators.embedded import EmbeddedSimulator

SHAPES = {
    "box": "<box><size>{a} {b} {c}</size></box>",
    "cylinder": "<cylinder><radius>{a}</radius><length>{c}</length></cylinder>",
    "sphere": "<sphere><radius>{a}</radius></sphere>",
    "ellipsoid": "<ellipsoid><radii>{a} {b} {c}</radii></ellipsoid>",
}


def random_world(folder, generator, upright, kinds=tuple(SHAPES)):
    """Return a dozen shapes around the origin, upright or at any angle."""
    models = []
    for index in range(12):
        sizes = dict(zip("abc", generator.uniform(0.2, 1.5, 3)))
        x, y = generator.uniform(-8, 8, 2)
        z = generator.uniform(0, 0.6)
        angles = generator.uniform(-3, 3, 3) * ((0, 0, 1) if upright else (1, 1, 1))
        pose = f"{x} {y} {z} {angles[0]} {angles[1]} {angles[2]}"
        geometry = SHAPES[kinds[index % len(kinds)]].format(**sizes)
        models.append(scenes.model(f"shape{index}", geometry, pose))
    return scenes.write_world(folder, *models)


def scan(world, fast, pose):
    """Return the scan of a robot after the robot was placed and simulated for one step of 5 ms."""
    with EmbeddedSimulator(fast_lidar=fast) as simulator:
        simulation = scenes.load(simulator, world, scenes.wheelchair())
        assert robot_of(simulation)._lidar.is_fast == fast
        simulation.set_states({"robot": ModelState(pose)})
        return ranges_of(robot_of(simulation))


def robot_of(simulation):
    return next(iter(simulation._onboard.values()))


def ranges_of(robot):
    robot.measure_scan(0.0)
    return robot.sensed().scan.ranges_m


@pytest.mark.parametrize("upright", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_both_ray_casters_give_identical_ranges(tmp_path, seed, upright):
    generator = np.random.default_rng(seed)
    world = random_world(tmp_path, generator, upright)
    x, y = generator.uniform(-3, 3, 2)
    # tilted like a braking robot: some rays reach the floor
    pose = Pose.from_rpy(x, y, 0.0, 0.02, 0.05, generator.uniform(-3, 3))
    fast, slow = scan(world, True, pose), scan(world, False, pose)
    assert np.array_equal(np.isfinite(fast), np.isfinite(slow))
    seen = np.isfinite(fast)
    assert seen.mean() > 0.3
    assert np.abs(fast[seen] - slow[seen]).max() < 1e-9


def test_lidar_detects_the_true_surface_of_a_mesh(tmp_path):
    ring = tmp_path / "u.stl"
    _write_u(ring)
    mesh = f"<mesh><uri>file://{ring}</uri></mesh>"
    world = scenes.write_world(tmp_path, scenes.model("u", mesh, "3 0 0 0 0 0"))
    with open_simulator("embedded") as simulator:
        simulation = scenes.load(simulator, world, scenes.wheelchair())
        assert not robot_of(simulation)._lidar.is_fast
        ranges = simulation.step(0.1).scan.ranges_m
    assert ranges[len(ranges) // 2] == pytest.approx(3.5 - 0.5, abs=0.01)  # the back, not the hull


def test_lidar_ignores_a_mesh_without_area(tmp_path):
    _write_u(tmp_path / "u.stl")
    mesh = f"<mesh><uri>file://{tmp_path}/u.stl</uri><scale>1 0 0</scale></mesh>"
    world = scenes.write_world(tmp_path, scenes.model("line", mesh, "3 0 0 0 0 0"))
    with open_simulator("embedded") as simulator:
        ranges = scenes.load(simulator, world, scenes.wheelchair()).step(0.1).scan.ranges_m
    assert np.isposinf(ranges).all()


def test_range_below_the_minimum_is_minus_infinite(tmp_path):
    world = scenes.write_world(tmp_path, scenes.box("wall", 1.09, 0, 0.5))
    with open_simulator("embedded") as simulator:
        simulation = scenes.load(simulator, world, scenes.wheelchair())
        ranges = ranges_of(robot_of(simulation))
    assert np.isneginf(ranges[len(ranges) // 2])
    assert np.isposinf(ranges[0])


def _write_u(path):
    """Return a mesh with the shape of a U that is open in the direction of -x: two arms from x =
    -0.5 to 0.5 and a back from 0.5 to 0.7."""
    import trimesh

    parts = []
    for size, center in (
        ((1.0, 0.2, 1), (0.0, 0.9, 0.5)),
        ((1.0, 0.2, 1), (0.0, -0.9, 0.5)),
        ((0.2, 2.0, 1), (0.6, 0.0, 0.5)),
    ):
        part = trimesh.creation.box(size)
        part.apply_translation(center)
        parts.append(part)
    trimesh.util.concatenate(parts).export(path)
