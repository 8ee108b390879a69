"""Recordings of simulated maneuvers, and their validation."""

import math
import os
import re
from dataclasses import replace

import numpy as np
import pytest

from gz_testauto.base.errors import SceneError, SimulatorError
from gz_testauto.base.observation import ModelState
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.base.resources import share_directory
from gz_testauto.extras.simulator_comparison.bench.load import measure_load
from gz_testauto.extras.simulator_comparison.bench.plan import read_bench_robot
from gz_testauto.extras.simulator_comparison.bench.run_maneuver import (
    ManeuverRequest,
    implausibility,
    run_maneuver,
)
from gz_testauto.extras.simulator_comparison.bench.simulator_process import sampling_options
from gz_testauto.extras.simulator_comparison.bench.wheels import (
    DrivenWheels,
    WheelJoint,
    is_inside,
    wheel_surfaces,
)
from gz_testauto.extras.simulator_comparison.maneuvers import (
    BenchRobotSpec,
    ManeuverSpec,
    compute_commands,
)
from gz_testauto.extras.simulator_comparison.recordings.recording import Series
from gz_testauto.extras.simulator_comparison.terrain import make_terrain, write_world
from gz_testauto.extras.simulator_comparison.terrain.kinds import (
    FlatTerrain,
    GravelTerrain,
    StepTerrain,
)
from gz_testauto.sdf.robot import read_robot
from gz_testauto.simulators import open_simulator
from gz_testauto.simulators.interface import PlacedRobot
from gz_testauto.simulators.kinematic import KinematicSimulator

ROBOT = BenchRobotSpec(model=share_directory() / "models" / "wheelchair")
HUSKY = read_robot(share_directory() / "models" / "husky_a200")
STEP = make_terrain(StepTerrain(kind="step", name="step", height_m=0.076), 0)
TERRAIN = make_terrain(FlatTerrain(kind="flat", name="flat", pixels=17), 0)


@pytest.fixture
def order(tmp_path):
    (robot,) = read_bench_robot(ROBOT)
    drive = ManeuverSpec.model_validate({"name": "circle", "duration_s": 2.0})
    world = write_world(TERRAIN, tmp_path)
    start = PlacedRobot(robot, Pose2D(0.1, 0.0, 0.0))
    return ManeuverRequest("a drive", world, (start,), (0.0,), compute_commands(drive, ROBOT))


class PeriodSimulator(KinematicSimulator):
    inertial = "period"


@pytest.mark.parametrize("simulator", [KinematicSimulator, PeriodSimulator])
def test_run_records_imu_samples_every_10_ms_and_true_poses(simulator, order):
    driven = run_maneuver(simulator(), order)
    imu, odometry = driven.recording.imu, driven.recording.odometry
    assert imu.time_s == pytest.approx(np.arange(1, 201) * 0.01)
    assert odometry.time_s == pytest.approx(np.arange(41) * 0.05)
    assert imu.values[-1, 2] == pytest.approx(0.5)
    assert odometry.values[0] == pytest.approx([0.1, 0.0, 0.0])
    turned = np.sum(order.commands[:, 1]) * 0.05
    assert odometry.values[-1, 2] == pytest.approx(turned, abs=1e-6)
    assert driven.recording.command.values.tolist() == order.commands.tolist()
    assert implausibility(driven, TERRAIN) is None


@pytest.mark.slow
def test_imu_samples_are_means_over_physics_steps(order):
    found = {}
    for step_s in (0.002, 0.01):
        with open_simulator("embedded", step_s=step_s) as simulator:
            found[step_s] = run_maneuver(simulator, order)
    gained = {
        step_s: driven.recording.imu.values[:, 3].cumsum() * 0.01
        for step_s, driven in found.items()
    }
    assert [driven.step_s for driven in found.values()] == [0.002, 0.01]
    assert [len(one) for one in gained.values()] == [200, 200]
    # forward speed minus the effect of the turn on the sensor: 0.5 m/s in both
    assert gained[0.002][-1] == pytest.approx(gained[0.01][-1], abs=0.05)
    assert gained[0.002][-1] == pytest.approx(0.5, abs=0.15)


@pytest.mark.gazebo
@pytest.mark.slow
def test_gazebo_run_measures_imu_samples_and_cpu_time_of_gzserver(order):
    options = sampling_options("gazebo", {})
    with open_simulator("gazebo", **options) as simulator:
        driven = run_maneuver(simulator, replace(order, commands=order.commands[:20]))
        load = measure_load(simulator, order, 1e15, os.getppid())
    imu = driven.recording.imu
    assert imu.time_s == pytest.approx(np.arange(1, 101) * 0.01)
    assert imu.values[:, 5].mean() == pytest.approx(9.80665, rel=0.01)
    assert imu.values[-20:, 2].mean() == pytest.approx(0.5, abs=0.1)
    assert implausibility(driven, TERRAIN) is None
    assert load.cpu_s > 0.0 and load.memory_bytes > 1e7


def test_physics_step_that_does_not_divide_10_ms_is_rejected(order):
    with open_simulator("embedded", step_s=0.004) as simulator:
        with pytest.raises(SimulatorError, match=r"does not divide 0.01 s"):
            run_maneuver(simulator, order)
        with pytest.raises(SimulatorError, match=r"0.004 s instead of 0.002 s"):
            run_maneuver(simulator, replace(order, step_s=0.002))


def test_a_robot_without_imu_samples_is_reported(order):
    class Silent(KinematicSimulator):
        def _load(self, scene):
            robot = replace(scene.robot, imu=None)
            return super()._load(replace(scene, robot=robot))

    with pytest.raises(SimulatorError, match=r"a drive: the IMU has no sample in .* 0.01 s"):
        run_maneuver(Silent(), order)


def with_(driven, **changed):
    return replace(driven, **changed)


def test_an_impossible_motion_is_not_plausible(order):
    driven = run_maneuver(KinematicSimulator(), order)
    count = len(driven.height_m)
    sunk = np.linspace(0.0, -1.0, count)
    assert "below the ground" in implausibility(with_(driven, height_m=sunk), TERRAIN)
    flung = np.where(np.arange(count) == 7, 0.3, 0.0)
    said = implausibility(with_(driven, height_m=flung), TERRAIN)
    assert said == "the robot moves up or down at more than 3 m/s after 0.35 s"
    tipped = np.full(count, 1.5)
    assert "tipped over" in implausibility(with_(driven, tilt_rad=tipped), TERRAIN)
    imu = driven.recording.imu
    knocked = Series(imu.time_s, imu.values + np.array([0, 0, 0, 0, 0, 520.0]))
    recording = replace(driven.recording, imu=knocked)
    assert "500 m/s²" in implausibility(with_(driven, recording=recording), TERRAIN)
    odometry = driven.recording.odometry
    away = Series(odometry.time_s, odometry.values + np.array([50.0, 0.0, 0.0]))
    recording = replace(driven.recording, odometry=away)
    assert "left the terrain" in implausibility(with_(driven, recording=recording), TERRAIN)


def rolled(x_m, z_m):
    """Return surface points of an upright wheel of a Husky at positions (n,) along x."""
    (points,) = {len(own): own for own in wheel_surfaces(HUSKY).values()}.values()
    return np.stack([points + np.array([x, 0.0, z]) for x, z in zip(x_m, z_m)])


def test_wheel_surfaces_are_cached_per_robot():
    (robot,), (again,) = read_bench_robot(ROBOT), read_bench_robot(ROBOT)
    assert again is not robot
    assert wheel_surfaces(again) is wheel_surfaces(robot)
    assert set(wheel_surfaces(HUSKY)) != set(wheel_surfaces(robot))


def test_wheel_depth_is_the_distance_from_the_surface():
    radius_m, edge_m = 0.1651, 2.0
    touching_m = edge_m - math.sqrt(radius_m**2 - (radius_m - 0.076) ** 2)
    assert not is_inside(STEP, rolled([touching_m - 0.002], [radius_m]), 0.001).any()
    leaning = rolled([touching_m + 0.012], [radius_m])
    over = STEP.height_m(*leaning.reshape(-1, 3)[:, :2].T) - leaning.reshape(-1, 3)[:, 2]
    assert over.max() > 0.01
    assert not is_inside(STEP, leaning, 0.95 * over.max()).any()
    assert is_inside(STEP, rolled([3.0], [radius_m + 0.076 - 0.025]), 0.02).any()
    assert not is_inside(STEP, rolled([3.0], [radius_m + 0.076 - 0.015]), 0.02).any()
    assert not is_inside(STEP, rolled([50.0], [-1.0]), 0.02).any()


def test_run_through_a_step_is_not_plausible(order):
    driven = run_maneuver(KinematicSimulator(), order)
    count = len(driven.height_m)
    assert driven.wheels_m == {}
    x_m = np.linspace(1.0, 3.0, count)
    through = {"robot::front_left_wheel_link": rolled(x_m, np.full(count, 0.1651))}
    said = implausibility(with_(driven, wheels_m=through), STEP)
    first = driven.recording.odometry.time_s[np.argmax(x_m > 1.9)]
    assert re.fullmatch(
        r"robot::front_left_wheel_link is more than 20 mm inside the ground after \d\.\d\d s", said
    )
    assert float(said.split()[-2]) == pytest.approx(first, abs=0.1)
    above = np.where(x_m > 2.0 - 0.17, 0.076, 0.0) + 0.1651
    over = {"robot::front_left_wheel_link": rolled(x_m, above - 0.008)}
    assert implausibility(with_(driven, wheels_m=over), STEP) is None
    knocked = np.where(np.arange(count) == 12, -0.03, 0.0) + above
    once = {"robot::front_left_wheel_link": rolled(x_m, knocked)}
    assert implausibility(with_(driven, wheels_m=once), STEP) is None


@pytest.mark.gazebo
@pytest.mark.slow
def test_wheels_penetrate_edges_of_ode_height_maps_but_not_of_meshes(order, tmp_path):
    spec = StepTerrain(
        kind="step",
        name="step",
        height_m=0.076,
        position_m=1.0,
        size_m=6.4,
        pixels=257,
        clear_m=0.5,
    )
    step = make_terrain(spec, 0)
    start = PlacedRobot(HUSKY, Pose2D(0.0, 0.0, 0.0))
    straight = np.tile([0.5, 0.0], (40, 1))
    over = replace(order, world=write_world(step, tmp_path), robots=(start,), commands=straight)
    said = {}
    for ground in ("fields", "meshes"):
        options = sampling_options("gazebo", {"engine": "ode", "height_maps": ground})
        with open_simulator("gazebo", **options) as simulator:
            said[ground] = implausibility(run_maneuver(simulator, over), step)
    assert "inside the ground" in said["fields"]
    assert said["meshes"] is None


@pytest.mark.slow
def test_wheel_positions_are_recorded_if_the_simulator_reports_links(order, tmp_path):
    start = PlacedRobot(HUSKY, Pose2D(0.0, 0.0, 0.0))
    straight = np.tile([0.5, 0.0], (20, 1))
    with open_simulator("embedded", skid="wheels") as simulator:
        driven = run_maneuver(simulator, replace(order, robots=(start,), commands=straight))
    assert sorted(driven.wheels_m) == sorted(wheel_surfaces(HUSKY))
    for points in driven.wheels_m.values():
        assert len(points) == 21
        assert points[:, :, 2].min() == pytest.approx(0.0, abs=2e-3)
        assert points[-1, :, 0].mean() - points[0, :, 0].mean() == pytest.approx(0.5, abs=0.05)
    assert implausibility(driven, TERRAIN) is None


@pytest.mark.slow
@pytest.mark.parametrize("model", ["wheelchair", "husky_a200"])
@pytest.mark.parametrize(
    "name",
    ["embedded", "pybullet", pytest.param("gazebo", marks=pytest.mark.gazebo)],
)
def test_outer_wheels_are_faster_in_a_turn(name, model, order):
    if name == "pybullet":
        pytest.importorskip("pybullet")
    path = share_directory() / "models" / model
    (robot,) = read_bench_robot(BenchRobotSpec(model=path))
    start = PlacedRobot(robot, Pose2D(0.0, 0.0, 0.4))
    half_m = robot.drive.wheel_separation_m / 2.0
    ahead, left = np.tile([0.5, 0.0], (30, 1)), np.tile([0.5, 0.5], (30, 1))
    asked = replace(order, robots=(start,), commands=np.concatenate([ahead, left]))
    with open_simulator(name, **sampling_options(name, {})) as simulator:
        driven = run_maneuver(simulator, asked)
    wheels = driven.recording.wheels
    assert wheels.time_s == pytest.approx((np.arange(60) + 0.5) * 0.05)
    assert wheels.values[10:30] == pytest.approx(np.full((20, 2), 0.5), rel=0.02)
    turning = wheels.values[45:].mean(axis=0)
    if name == "gazebo" and model == "husky_a200":  # friction changes the set speed of its wheels
        assert turning[1] - turning[0] > 0.1
        return
    assert turning == pytest.approx([0.5 - 0.5 * half_m, 0.5 + 0.5 * half_m], rel=0.05)


def test_wheel_speeds_are_missing_without_poses_of_links(order):
    assert run_maneuver(KinematicSimulator(), order).recording.wheels is None


def turning(rate_radps, count=20):
    """Yield the states of the links of a robot in each period, with wheels at this rate, one of
    them backward."""
    base = Pose.from_rpy(1.0, 2.0, 3.0, 0.3, 0.1, 0.8)
    for turn in np.arange(count) * rate_radps * 0.05:
        yield {
            "robot::base": ModelState(base),
            "robot::left": ModelState(base * Pose.from_rpy(0.0, 0.3, 0.0, 0.0, turn, 0.0)),
            "robot::right": ModelState(base * Pose.from_rpy(0.0, -0.3, 0.0, 0.0, -turn, 0.0)),
        }


def test_wheel_speed_is_joint_rate_times_radius():
    wheels = DrivenWheels(
        (WheelJoint("robot::left", "robot::base", (0.0, 1.0, 0.0)),),
        (WheelJoint("robot::right", "robot::base", (0.0, 1.0, 0.0)),),
        radius_m=0.1,
        separation_m=0.6,
    )
    links = list(turning(40.0))
    speeds = wheels.speeds(links, np.tile([1.0, 0.0], (19, 1)))
    assert speeds.values == pytest.approx(np.tile([4.0, -4.0], (19, 1)))
    assert wheels.speeds([*links, {}], np.zeros((20, 2))) is None
    faster = np.tile([4.8, 1.0], (19, 1))  # 51 rad/s: more than 0.8 of half a turn in 50 ms
    assert wheels.speeds(links, faster) is None


@pytest.mark.slow
def test_wheels_with_friction_drive_do_not_penetrate_stones(order, tmp_path):
    spec = GravelTerrain(
        kind="gravel", name="gravel", friction=0.55, size_m=6.4, pixels=257, clear_m=0.5
    )
    gravel = make_terrain(spec, 1)
    start = PlacedRobot(HUSKY, Pose2D(0.0, 0.0, 0.0))
    straight = np.tile([0.5, 0.0], (45, 1))
    over = replace(order, world=write_world(gravel, tmp_path), robots=(start,), commands=straight)
    with open_simulator("embedded", skid="wheels") as simulator:
        driven = run_maneuver(simulator, over)
    assert implausibility(driven, gravel) is None
    assert driven.height_m.max() > 0.015  # it did climb
    for points in driven.wheels_m.values():
        assert not is_inside(gravel, points, 0.005).any()


def test_run_with_non_finite_numbers_raises_a_scene_error(order):
    class Broken(KinematicSimulator):
        def _load(self, scene):
            simulation = super()._load(scene)
            simulation._snapshot, whole = self._broken(simulation), simulation._snapshot
            self._whole_steps = whole
            return simulation

        def _broken(self, simulation):
            def snapshot():
                shown = self._whole_steps()
                imu = tuple(
                    replace(one, linear_mps2=(float("nan"), 0.0, 0.0))
                    for one in shown.imu
                    if one.stamp_s > 1.5
                )
                kept = tuple(one for one in shown.imu if one.stamp_s <= 1.5)
                return replace(shown, imu=(*kept, *imu))

            return snapshot

    with pytest.raises(SceneError, match="not finite"):
        run_maneuver(Broken(), order)
