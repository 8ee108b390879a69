"""The kinematic simulator on terrains, compared with exact values."""

import math

import numpy as np
import pytest
from pydantic import TypeAdapter
from scipy.spatial.transform import Rotation
from simulators import embedded_scenes as scenes

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.observation import ModelState, Twist2D
from gz_testauto.base.pose import Pose
from gz_testauto.extras.simulator_comparison.probe import probe_ground
from gz_testauto.extras.simulator_comparison.terrain import TerrainSpec, make_terrain, write_world
from gz_testauto.simulators import open_simulator

G = 9.80665
AHEAD = 0.3
IMU = f"""<sensor name="imu" type="imu"><pose>{AHEAD} 0 0.1 0 0 0</pose>
<update_rate>1000</update_rate></sensor>"""


@pytest.fixture
def simulator():
    with open_simulator("kinematic") as opened:
        yield opened


@pytest.fixture
def rover(tmp_path):
    """Return a robot with wheels of a radius of 0.12 m at x = 0.2 m and x = -0.2 m."""
    return scenes.rover(tmp_path, scenes.SKID_STEER, IMU)


def terrain_of(kind, **more):
    spec = TypeAdapter(TerrainSpec).validate_python({"name": kind, "kind": kind, **more})
    return make_terrain(spec, 0)


def on_terrain(simulator, folder, robot, terrain, start=(0.0, 0.0, 0.0)):
    return scenes.load(simulator, write_world(terrain, folder), robot, start)


def pose_of(snapshot):
    return snapshot.models["robot"].pose


def test_kinematic_robot_with_its_front_axle_on_a_step_pitches_up(simulator, rover, tmp_path):
    step = terrain_of("step", height_m=0.05, position_m=2.0)
    pose = pose_of(on_terrain(simulator, tmp_path, rover, step, (2.0, 0.0, 0.0)).snapshot())
    assert pose.position == pytest.approx((2.0, 0.0, 0.025), abs=1e-9)
    assert pose.rpy == pytest.approx((0.0, -math.atan(0.05 / 0.4), 0.0), abs=1e-9)


def test_wheel_touches_the_edge_of_a_step_before_its_center_is_above(simulator, rover, tmp_path):
    step = terrain_of("step", height_m=0.05, position_m=2.0)
    before = 0.05
    start = (2.0 - before - 0.2, 0.0, 0.0)
    pose = pose_of(on_terrain(simulator, tmp_path, rover, step, start).snapshot())
    front = math.sqrt(0.12**2 - before**2) - 0.12 + 0.05
    assert pose.position[2] == pytest.approx(front / 2, abs=1e-9)
    aside = pose_of(
        on_terrain(simulator, tmp_path, rover, step, (2.0, 0.0, math.pi / 2)).snapshot()
    )
    assert aside.rpy[0] == pytest.approx(-math.atan(0.05 / 0.5), abs=1e-9)  # the right one is high


def test_robot_is_supported_by_slabs_and_planes(simulator, rover, tmp_path):
    slab = scenes.box("slab", 0, 0, 0.0, "3 3 0.1")
    slope = scenes.FLOOR.replace("0 0 1<", "-0.1 0 1<").replace('"floor"', '"slope"')
    world = scenes.write_world(tmp_path, slab, slope, floor="")
    simulation = scenes.load(simulator, world, rover)
    assert simulation.ground_m(np.array([0.0, 4.0]), np.zeros(2)) == pytest.approx([0.05, 0.4])
    assert pose_of(simulation.snapshot()).position[2] == pytest.approx(0.05)
    there = pose_of(scenes.load(simulator, world, rover, (4.0, 0.0, 0.0)).snapshot())
    assert there.rpy[1] == pytest.approx(-math.atan(0.1), abs=1e-3)  # a wheel touches ahead


def test_slope_is_moved_along_its_normal_by_z_of_its_pose(simulator, rover, tmp_path):
    slope = scenes.model("slope", "<plane><normal>-0.1 0 2</normal></plane>", "9 0 0.5 0 0 0")
    simulation = scenes.load(simulator, scenes.write_world(tmp_path, slope, floor=""), rover)
    heights = simulation.ground_m(np.array([0.0, 4.0]), np.zeros(2))
    assert heights == pytest.approx([0.5 / 2, (0.5 + 0.1 * 4) / 2])


def test_kinematic_imu_measures_gravity_on_a_slope_and_the_turn(simulator, rover, tmp_path):
    slope = scenes.FLOOR.replace("0 0 1<", "-0.1 0 1<")
    gravity = f"<gravity>0 0 -{G}</gravity>"
    world = scenes.write_world(tmp_path, floor=slope, more=gravity)
    simulation = scenes.load(simulator, world, rover)
    climbing = scenes.drive(simulation, Twist2D(0.5, 0.0), 0.2)[-1].imu[-1]
    lean = math.atan(0.1)
    expected = (G * math.sin(lean), 0.0, G * math.cos(lean))
    assert climbing.linear_mps2 == pytest.approx(expected, abs=1e-6)
    assert climbing.angular_radps == pytest.approx((0, 0, 0), abs=1e-9)
    level = scenes.write_world(tmp_path, more=gravity)
    turning = scenes.drive(scenes.load(simulator, level, rover), Twist2D(0.0, 1.5), 0.2)[-1].imu
    assert turning[-1].linear_mps2 == pytest.approx((-AHEAD * 1.5**2, 0.0, G), abs=2e-3)
    assert turning[-1].angular_radps == pytest.approx((0, 0, 1.5), abs=1e-9)


@pytest.mark.slow
def test_kinematic_imu_is_consistent_with_the_motion(simulator, rover, tmp_path):
    """The sums of IMU samples equal the changes of velocity and attitude, for any ground and any
    command."""
    simulation = on_terrain(simulator, tmp_path, rover, terrain_of("gravel"))
    samples, moved = [], []
    for command in (Twist2D(0.6, 0.4), Twist2D(-0.2, -1.0), Twist2D(0.8, 0.0)):
        samples += [s for snapshot in scenes.drive(simulation, command, 1.0) for s in snapshot.imu]
        moved.append(simulation.snapshot().models["robot"])
    assert len(samples) == 3000
    attitudes = Rotation.from_quat([sample.quaternion for sample in samples])
    felt = np.array([sample.linear_mps2 for sample in samples])
    velocity = ((attitudes.apply(felt) - (0, 0, G)) * 0.001).sum(axis=0)
    last = moved[-1]
    turned = attitudes[-1].as_matrix() - attitudes[-2].as_matrix()
    of_imu = np.array(last.linear_mps) + turned @ (AHEAD, 0, 0.1) / 0.001
    assert velocity == pytest.approx(of_imu, abs=1e-6)
    turns = np.array([sample.angular_radps for sample in samples]) * 0.001
    attitude = Rotation.identity()
    for turn in turns:
        attitude = attitude * Rotation.from_rotvec(turn)
    assert (attitude * attitudes[-1].inv()).magnitude() < 1e-9
    assert np.ptp(felt[:, 2]) > 1.0


@pytest.mark.slow
def test_kinematic_robot_follows_commands_on_any_ground(simulator, rover, tmp_path):
    simulation = on_terrain(simulator, tmp_path, rover, terrain_of("bumps"))
    last = pose_of(scenes.drive(simulation, Twist2D(0.5, 0.5), 3.0)[-1])
    assert last.position[:2] == pytest.approx((math.sin(1.5), 1 - math.cos(1.5)), abs=1e-9)
    assert last.yaw_rad == pytest.approx(1.5, abs=1e-9)


def test_kinematic_robot_does_not_leave_the_ground(simulator, rover, tmp_path):
    simulation = on_terrain(simulator, tmp_path, rover, terrain_of("fbm"), (5.5, 0.0, 0.0))
    simulation.drive(Twist2D(1.0, 0.0))
    with pytest.raises(SimulatorError, match=r"no ground under the robot at \(6\.\d"):
        simulation.step(1.0)


def test_placed_robot_is_at_rest(simulator, rover, tmp_path):
    simulation = on_terrain(simulator, tmp_path, rover, terrain_of("fbm"))
    scenes.drive(simulation, Twist2D(0.5, 0.0), 0.5)
    simulation.set_states({"robot": ModelState(Pose((-3.0, 1.0, 0.0)))})
    simulation.drive(Twist2D())
    after = simulation.step(0.1)
    assert after.models["robot"].linear_mps == (0.0, 0.0, 0.0)
    assert np.linalg.norm(after.imu[0].linear_mps2) == pytest.approx(G)


@pytest.mark.slow
def test_kinematic_ground_matches_the_terrain_without_friction(simulator, tmp_path):
    for kind in ("flat", "gravel"):
        probe = probe_ground(simulator, terrain_of(kind), tmp_path, points=50)
        assert probe.refusal is None and math.isnan(probe.friction)
        assert probe.worst_m < 1e-9


def test_a_physics_step_out_of_range_is_rejected():
    with pytest.raises(Exception, match="'kinematic': step_s must be above 0"):
        open_simulator("kinematic", step_s=1.0)
