"""Comparison of the compiled ray caster with the ray caster of MuJoCo."""

import embedded_scenes as scenes
import mujoco
import numpy as np
import pytest

from gz_testauto.base.observation import ModelState, Twist2D
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


@pytest.mark.skipif(
    tuple(map(int, mujoco.__version__.split(".")[:2])) < (3, 17),
    reason="rays of older versions of MuJoCo pass through some shapes",
)
def test_ray_casters_agree_on_the_whole_path_through_many_static_and_movable_shapes(tmp_path):
    generator = np.random.default_rng(4)
    models = []
    for index in range(400):
        x, y = generator.uniform(-40, 40), generator.uniform(-12, 12)
        a, b, c = generator.uniform(0.2, 1.5, 3)
        geometry = SHAPES[tuple(SHAPES)[index % 4]].format(a=a, b=b, c=c)
        pose = f"{x} {y} 0.4 0 0 {generator.uniform(-3, 3)}"
        models.append(scenes.model(f"shape{index}", geometry, pose, static=index % 10 != 0))
    models.append(scenes.box("wall", 0, 9, 0.5, "80 0.2 1"))
    world = scenes.write_world(tmp_path, *models)
    path = [Pose.from_rpy(x, 0.1 * x, 0.0, 0.0, 0.05, 0.2 * x) for x in np.arange(-35, 35, 0.7)]
    scans = []
    for fast in (True, False):
        with EmbeddedSimulator(fast_lidar=fast) as simulator:
            simulation = scenes.load(simulator, world, scenes.wheelchair())
            robot, scans_here = robot_of(simulation), []
            for pose in path:
                mover = Pose(tuple(pose.apply(np.array([3.0, 0.5, 0.0])).tolist()))
                simulation.set_states({"robot": ModelState(pose), "shape0": ModelState(mover)})
                scans_here.append(ranges_of(robot))
            scans.append(np.array(scans_here))
    assert np.array_equal(np.isfinite(scans[0]), np.isfinite(scans[1]))
    seen = np.isfinite(scans[0])
    assert seen.mean() > 0.3
    assert np.abs(scans[0][seen] - scans[1][seen]).max() < 1e-9


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


def test_rays_end_on_visuals_in_place_of_collision_shapes_if_requested(tmp_path):
    """Two fixed models, one with a mesh, and one that moves have a small collision shape.
    Their scan is that of the same shapes as collision shapes."""
    _write_u(tmp_path / "u.stl")
    shapes = {
        "table": (SHAPES["box"].format(a=0.1, b=2.0, c=1.0), "0 0 0.5 0 0 0.3", True),
        "u": (f"<mesh><uri>file://{tmp_path}/u.stl</uri></mesh>", "0 0 0.2 0 0 0", True),
        "cart": (SHAPES["cylinder"].format(a=0.3, c=1.0), "0 0 0.5 0 0 0", False),
    }
    places = {"table": "3 0 0 0 0 0.2", "u": "0 4 0 0 0 -1.5", "cart": "0.5 -3 0 0 0 0"}

    def world(folder, tag):
        folder.mkdir()
        models = []
        for name, (geometry, pose, static) in shapes.items():
            part = f'<{tag} name="seen"><pose>{pose}</pose><geometry>{geometry}</geometry></{tag}>'
            base = scenes.model(name, "<sphere><radius>0.1</radius></sphere>", places[name], static)
            models.append(base.replace("<collision", f"{part}<collision", 1))
        return scenes.write_world(folder, *models)

    scans = {}
    for tag, lidar in (("collision", "collisions"), ("visual", "visuals")):
        with EmbeddedSimulator(lidar=lidar) as simulator:
            simulation = scenes.load(simulator, world(tmp_path / tag, tag), scenes.wheelchair())
            scans[tag] = ranges_of(robot_of(simulation))
    assert np.isfinite(scans["visual"]).mean() > 0.2
    # a cylinder for contacts is tilted by 1e-8 rad
    assert scans["visual"] == pytest.approx(scans["collision"], abs=1e-7)


def test_a_lidar_that_sees_visuals_changes_no_contact(tmp_path):
    box = scenes.box("box", 1.5, 0.0, 0.5)
    aside = '<visual name="v"><pose>0 9 0 0 0 0</pose><geometry><sphere><radius>1</radius></sphere>'
    seen = box.replace("<collision", f"{aside}</geometry></visual><collision", 1)
    drives = []
    for lidar in ("collisions", "visuals"):
        with EmbeddedSimulator(lidar=lidar) as simulator:
            world = scenes.write_world(tmp_path, seen)
            simulation = scenes.load(simulator, world, scenes.wheelchair())
            drives.append(scenes.drive(simulation, Twist2D(0.8, 0.0), 1.5))
    before, after = drives
    assert [snapshot.contacts for snapshot in before] == [snapshot.contacts for snapshot in after]
    assert before[-1].contacts and before[-1].models == after[-1].models
    ahead = [drive[0].scan.ranges_m[180] for drive in drives]
    assert ahead == [pytest.approx(1.0 - 0.5, abs=0.05), np.inf]


@pytest.mark.parametrize("fast", [True, False])
def test_rays_start_at_the_minimum_range_in_both_ray_casters(tmp_path, fast):
    """The lidar is at (0.5, 0, 0.35), and its minimum range is 0.1 m. Each shape is in another
    direction: a thin box that is completely nearer, with a sphere behind it; a cylinder and an
    ellipsoid that contain starts of rays; and a box beyond the starts."""
    world = scenes.write_world(
        tmp_path,
        scenes.model("thin", SHAPES["box"].format(a=0.02, b=0.02, c=0.1), "0.55 0 0.35 0 0 0"),
        scenes.model("behind", SHAPES["sphere"].format(a=0.5), "3 0 0.35 0 0 0"),
        scenes.model("around", SHAPES["cylinder"].format(a=0.04, c=0.1), "0.5 0.09 0.35 0 0 0"),
        scenes.model(
            "tilted", SHAPES["ellipsoid"].format(a=0.04, b=0.04, c=0.04), "0.5 -0.09 0.35 1 0 0"
        ),
        scenes.model(
            "beyond", SHAPES["box"].format(a=0.02, b=0.02, c=0.1), "0.65 0.15 0.35 0 0 0.785398163"
        ),
    )
    ranges = scan(world, fast, Pose())
    angles = np.linspace(-np.radians(135), np.radians(135), len(ranges))
    expected = {0.0: 2.0, 90.0: 0.13, -90.0: 0.13, 45.0: 0.15 * 2**0.5 - 0.01, -45.0: np.inf}
    found = {angle: float(np.interp(np.radians(angle), angles, ranges)) for angle in expected}
    assert found == pytest.approx(expected, abs=1e-6)
    assert ranges.min() > 0.1


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
