"""The ideal robot on a plane: motion, ranges, contacts and changes with known values."""

import math

import numpy as np
import pytest
import shapely

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.observation import ModelState, Twist2D
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.base.resources import share_directory
from gz_testauto.sdf.robot import read_robot
from gz_testauto.sdf.scene import read_scene
from gz_testauto.simulators.interface import NamedModel, Scene
from gz_testauto.simulators.kinematic import KinematicSimulator
from gz_testauto.simulators.kinematic.motion import drive_arc
from gz_testauto.simulators.kinematic.outlines import Outlines

WORLD = """<sdf version="1.6"><world name="default">
<model name="ground"><static>true</static><link name="l"><collision name="c">
<geometry><plane><normal>0 0 1</normal></plane></geometry></collision></link></model>
<model name="wall"><static>true</static><pose>5 0 0.5 0 0 0</pose><link name="l">
<collision name="c"><geometry><box><size>0.2 8 1</size></box></geometry></collision></link></model>
<model name="low"><static>true</static><pose>-3 0 0.05 0 0 0</pose><link name="l">
<collision name="c"><geometry><box><size>0.5 0.5 0.1</size></box></geometry></collision></link>
</model></world></sdf>"""

BOX = """<sdf version="1.6"><model name="box"><pose>9 9 9 0 0 0</pose><link name="l">
<collision name="c"><geometry><box><size>1 1 1</size></box></geometry></collision></link>
</model></sdf>"""


@pytest.fixture(scope="module")
def robot():
    return read_robot(share_directory() / "models" / "wheelchair" / "model.sdf")


@pytest.fixture
def world(tmp_path):
    path = tmp_path / "wall.world"
    path.write_text(WORLD)
    return path


@pytest.fixture
def simulation(world, robot):
    with KinematicSimulator() as simulator:
        yield simulator.load(Scene(world, robot, Pose2D(0.0, 0.0, 0.0)))


def robot_pose(snapshot):
    return snapshot.models["robot"].pose.planar


def test_robot_drives_the_commanded_arc_exactly(simulation):
    simulation.drive(Twist2D(0.5, 0.8))
    pose = robot_pose(simulation.step(1.0))
    radius = 0.5 / 0.8
    assert pose == pytest.approx((radius * math.sin(0.8), radius * (1 - math.cos(0.8)), 0.8))


def test_pose_does_not_depend_on_the_step_duration(world, robot):
    ends = []
    for steps in (1, 10):
        with KinematicSimulator() as simulator:
            simulation = simulator.load(Scene(world, robot))
            simulation.drive(Twist2D(0.7, -0.5))
            for _ in range(steps):
                snapshot = simulation.step(1.0 / steps)
            ends.append(robot_pose(snapshot))
    assert ends[0] == pytest.approx(ends[1], abs=1e-12)


def test_scan_has_the_distance_to_the_wall(simulation, robot):
    scan = simulation.step(0.1).scan
    assert scan.stamp_s == pytest.approx(0.1)
    # The sensor is at x = 0.5 m, the wall's face at 4.9 m: 4.4 m ahead, longer at an angle.
    ahead = len(scan.ranges_m) // 2
    assert scan.ranges_m[ahead] == pytest.approx(4.4)
    aside = np.argmin(np.abs(scan.angles_rad - math.radians(30)))
    assert scan.ranges_m[aside] == pytest.approx(4.4 / math.cos(scan.angles_rad[aside]))
    assert np.isinf(scan.ranges_m[0])
    assert robot.lidar.samples == len(scan.ranges_m)


def test_shape_below_the_lidar_is_not_in_the_scan(simulation, robot):
    simulation.set_states({"robot": ModelState(Pose.from_rpy(-3, 2, 0, 0, 0, -math.pi / 2))})
    assert np.isinf(
        simulation.step(0.1).scan.ranges_m[len(simulation.snapshot().scan.ranges_m) // 2]
    )


def test_robot_stops_at_the_wall_with_a_contact(simulation):
    simulation.drive(Twist2D(1.0, 0.0))
    snapshot = simulation.step(4.2)
    assert not snapshot.contacts
    snapshot = simulation.step(0.8)
    contact = snapshot.contacts[0]
    assert contact.second == "wall::l::c"
    assert contact.first.startswith("robot::")
    assert contact.normals[0] == pytest.approx((-1.0, 0.0, 0.0), abs=1e-6)
    assert robot_pose(snapshot).x_m == pytest.approx(4.3, abs=0.011)
    assert snapshot.models["robot"].linear_mps == (0.0, 0.0, 0.0)


def test_robot_can_drive_away_from_a_contact(simulation):
    simulation.drive(Twist2D(1.0, 0.0))
    simulation.step(5.0)
    simulation.drive(Twist2D(-1.0, 0.0))
    assert robot_pose(simulation.step(1.0)).x_m == pytest.approx(3.3, abs=0.02)
    assert not simulation.step(0.1).contacts


def test_spawned_model_has_its_pose_until_deleted(simulation):
    simulation.spawn([NamedModel("box_1", BOX, Pose((2.5, 0.0, 0.5)))])
    snapshot = simulation.step(0.1)
    assert snapshot.models["box_1"].pose.position == (2.5, 0.0, 0.5)
    assert snapshot.scan.ranges_m[180] == pytest.approx(1.5)
    simulation.delete(["box_1"])
    snapshot = simulation.step(0.1)
    assert "box_1" not in snapshot.models
    assert snapshot.scan.ranges_m[180] == pytest.approx(4.4)


def test_spawning_a_name_in_use_adds_no_model(simulation):
    with pytest.raises(SimulatorError, match="wall"):
        simulation.spawn([NamedModel("new", BOX), NamedModel("wall", BOX)])
    assert "new" not in simulation.snapshot().models


def test_deleting_an_unknown_name_removes_no_model(simulation):
    with pytest.raises(SimulatorError, match="ghost"):
        simulation.delete(["wall", "ghost"])
    assert "wall" in simulation.snapshot().models


def test_saved_world_has_all_models_at_their_poses(simulation, tmp_path):
    simulation.drive(Twist2D(1.0, 0.0))
    simulation.step(1.0)
    simulation.set_states({"wall": ModelState(Pose((7.0, 0.0, 0.5)))})
    simulation.save_world(tmp_path / "saved.world")
    models = read_scene(tmp_path / "saved.world").models
    assert set(models) == {"ground", "wall", "low", "robot"}
    assert models["wall"].pose.position == (7.0, 0.0, 0.5)
    assert models["robot"].pose.position[0] == pytest.approx(1.0)


def test_imu_measures_gravity_and_centripetal_acceleration_at_the_update_rate(simulation):
    simulation.drive(Twist2D(0.5, 0.8))
    samples = simulation.step(0.1).imu
    assert len(samples) == 10
    assert samples[-1].angular_radps == pytest.approx((0.0, 0.0, 0.8), abs=1e-3)
    assert samples[-1].linear_mps2 == pytest.approx((0.0, 0.4, 9.8), abs=1e-3)


def test_step_duration_must_be_a_multiple_of_the_physics_step(simulation):
    with pytest.raises(ValueError, match="whole number"):
        simulation.step(0.0155)


def test_loading_another_scene_ends_the_simulation(world, robot):
    with KinematicSimulator() as simulator:
        first = simulator.load(Scene(world, robot))
        simulator.load(Scene(world, robot))
        with pytest.raises(SimulatorError, match="over"):
            first.step(0.1)
    with pytest.raises(SimulatorError, match="closed"):
        simulator.load(Scene(world, robot))


def test_unreadable_world_raises_an_error_with_its_file_name(tmp_path, robot):
    with KinematicSimulator() as simulator, pytest.raises(SimulatorError, match=r"none\.world"):
        simulator.load(Scene(tmp_path / "none.world", robot))


def test_ray_distances_match_exact_intersections():
    generator = np.random.default_rng(4)
    discs = [
        shapely.Point(x, y).buffer(r)
        for x, y, r in zip(*generator.uniform(-6, 6, (2, 12)), generator.uniform(0.2, 1.0, 12))
    ]
    free = [disc for disc in discs if disc.distance(shapely.Point(0, 0)) > 0.1]
    angles = np.linspace(-math.pi, math.pi, 181)
    ranges = Outlines.of(free).cast(0.0, 0.0, 0.7, angles, 0.0, 5.0)
    everything = shapely.union_all(free)
    for angle, found in zip(angles, ranges):
        end = (5.0 * math.cos(angle + 0.7), 5.0 * math.sin(angle + 0.7))
        met = shapely.LineString([(0, 0), end]).intersection(everything)
        expected = np.inf if met.is_empty else met.distance(shapely.Point(0, 0))
        assert found == pytest.approx(expected, abs=1e-9)


def outlines(generator):
    for x, y, angle in generator.uniform((-6, -6, 0), (6, 6, 180), (8, 3)):
        box = shapely.box(x, y, x + 1.5, y + 0.4)
        yield shapely.affinity.rotate(box, angle)
        yield shapely.Point(y, x).buffer(0.5).difference(shapely.Point(y, x).buffer(0.4))


@pytest.mark.parametrize(
    "outline",
    [
        shapely.box(1, -1, 3, 2),
        shapely.box(1, -1, 3, 2).reverse(),
        shapely.Point(3, 1).buffer(0.5),
        shapely.Point(3, 1).buffer(0.5).difference(shapely.Point(3, 1).buffer(0.4)),
        shapely.Point(0, 0).buffer(2).difference(shapely.box(-1, -1, 3, 1)),
        shapely.box(-2, -2, 4, 1),
        shapely.union(shapely.box(2, 0, 3, 1), shapely.box(4, 0, 5, 3)),
    ],
    ids=["box", "clockwise box", "circle", "ring", "C-shape", "box around the lidar", "two parts"],
)
def test_rays_end_at_the_first_edge_of_an_outline(outline):
    angles = np.linspace(-math.pi, math.pi, 181)
    ranges = Outlines.of([outline]).cast(0.0, 0.0, 0.01, angles, 0.0, 10.0)
    for angle, distance in zip(angles + 0.01, ranges):
        end = (10 * math.cos(angle), 10 * math.sin(angle))
        met = shapely.LineString([(0, 0), end]).intersection(outline.boundary)
        expected = np.inf if met.is_empty else met.distance(shapely.Point(0, 0))
        assert distance == pytest.approx(expected, abs=1e-9)


def test_clearance_matches_the_distance_of_shapely():
    """The polygons are separate, touch, overlap, or are inside each other or in a hole."""
    generator = np.random.default_rng(5)
    corners = np.array([(-0.1, -0.1), (0.3, -0.1), (0.3, 0.1), (-0.1, 0.1)])
    differences = []
    for _ in range(15):
        among = list(outlines(generator))
        measured = Outlines.of(among)
        for pose in generator.uniform((-7, -7, -4), (7, 7, 4), (40, 3)):
            for size in (0.2, 1.0, 20.0):
                placed = Pose2D(*pose).apply(size * corners)
                expected = min(1.0, shapely.distance(shapely.Polygon(placed), among).min())
                differences.append(measured.clearance_m(placed, 1.0) - expected)
    assert np.abs(differences).max() < 1e-9


@pytest.mark.parametrize(
    "outline",
    [shapely.box(-3, -3, 3, 3), shapely.box(0.1, -0.05, 0.2, 0.05)],
    ids=["robot in outline", "outline in robot"],
)
def test_clearance_is_zero_if_one_polygon_contains_the_other(outline):
    corners = np.array([(-0.5, -0.3), (0.6, -0.3), (0.6, 0.3), (-0.5, 0.3)])
    assert Outlines.of([outline]).clearance_m(corners, 9.0) == 0.0
    ring = outline.buffer(5).difference(outline.buffer(2))
    assert Outlines.of([ring]).clearance_m(corners, 9.0) > 0.0


def test_moved_model_has_scan_and_contacts_at_its_new_pose(simulation):
    """The outlines are transformed after a planar motion, and computed again after any other
    motion."""
    for pose in (Pose.from_rpy(2.0, 0.0, 0.5, 0, 0, 0), Pose.from_rpy(2.0, 0.0, 0.6, 0, 0.2, 0)):
        simulation.set_states({"wall": ModelState(pose), "robot": ModelState(Pose())})
        simulation.drive(Twist2D(1.0, 0.0))
        start, end = simulation.step(0.1), simulation.step(2.0)
        lidar_above_center_m = 0.35 - pose.position[2]
        face_m = 1.9 + math.tan(pose.rpy[1]) * lidar_above_center_m
        if pose.rpy[1] == 0.0:
            assert start.scan.ranges_m[180] == pytest.approx(face_m - 0.6, abs=1e-9)
        assert {contact.second for contact in end.contacts} == {"wall::l::c"}
        assert robot_pose(end).x_m < 1.4
        assert end.models["wall"].pose == pose


def test_many_moves_of_a_model_do_not_accumulate_errors(simulation, robot):
    """A moved outline is computed from the outline that was read, not from the previous outline."""
    before = simulation.step(0.1).scan.ranges_m
    for turn in np.linspace(0.0, 6.0, 50):
        simulation.set_states({"wall": ModelState(Pose.from_rpy(5, turn, 0.5, 0, 0, turn))})
    simulation.set_states({"wall": ModelState(Pose((5.0, 0.0, 0.5)))})
    assert simulation.step(0.1).scan.ranges_m == pytest.approx(before, abs=1e-12)


def test_imu_samples_do_not_depend_on_when_they_are_read(world, robot):
    read, kept = [], []
    for samples in (read, kept):
        with KinematicSimulator() as simulator:
            simulation = simulator.load(Scene(world, robot))
            for rate in (0.3, -0.5, 0.8):
                simulation.drive(Twist2D(0.5, rate))
                imu = simulation.step(0.1).imu
                samples.append(list(imu) if samples is read else imu)
    assert [list(imu) for imu in kept] == read


def test_robot_on_a_full_circle_returns_to_its_start():
    pose = drive_arc(Pose2D(1.0, 2.0, 0.3), Twist2D(1.0, 0.5), 2 * math.pi / 0.5)
    assert pose == pytest.approx((1.0, 2.0, 0.3))
