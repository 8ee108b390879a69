"""Conformance suite for simulators.

Subclass the suite in a pytest file and create the simulator in ``make_simulator``::

    from gz_testauto.testing.simulator_conformance import SimulatorConformance

    class TestMySimulator(SimulatorConformance):
        def make_simulator(self):
            return MySimulator()

One simulator loads all scenes of the suite in succession, as in a campaign. The world contains a
floor, a wall 5 m ahead and a static box, and the robot is a wheelchair. Results are compared with
analytic values, and ``tolerance`` allows for slip.
"""

import math
import re
from pathlib import Path

import numpy as np
import pytest

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.observation import ModelState, Twist2D
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.sdf.scene import read_scene
from gz_testauto.simulators.interface import (
    NamedModel,
    Scene,
    Simulation,
    Simulator,
)
from gz_testauto.testing.simulator_sensing import SimulatorSensing
from gz_testauto.testing.simulator_suite import (
    PERIOD_S,
    WORLD,
    assert_identical_traces,
    calls,
    contacts,
    drive,
    range_ahead_m,
    rejected,
    robot_pose,
    to_spawn,
    trace,
)


class SimulatorConformance(SimulatorSensing):
    """The conformance suite for simulators. Override :meth:`make_simulator`."""

    tolerance = 0.03
    """Allowed relative error of the robot's motion compared with the commanded motion. The error
    results from slip, and from the time in which the drive controller reaches the commanded
    speed."""

    astray = 0.02
    """Allowed deviation (m and rad) from a straight line after 3.2 m."""

    # loading

    def test_a_loaded_scene_has_time_zero_and_all_models(self, simulation: Simulation) -> None:
        snapshot = simulation.snapshot()
        assert snapshot.time_s == 0.0
        assert set(snapshot.models) == {"floor", "wall", "obstacle_box_0", "robot"}

    def test_the_robot_has_the_start_pose_of_the_scene(
        self, simulator: Simulator, world: Path, robot: RobotModel
    ) -> None:
        start = Pose2D(-2.0, 1.5, 2.0)
        pose = robot_pose(simulator.load(Scene(world, robot, start)).snapshot())
        assert pose == pytest.approx(start, abs=1e-6)

    def test_models_have_the_poses_of_the_world_file(self, simulation: Simulation) -> None:
        pose = simulation.snapshot().models["obstacle_box_0"].pose
        assert pose.position == pytest.approx((0, 4, 0.5), abs=1e-6)
        assert pose.yaw_rad == pytest.approx(0.3, abs=1e-6)

    def test_additional_models_of_the_scene_have_the_requested_poses(
        self, simulator: Simulator, world: Path, robot: RobotModel
    ) -> None:
        scene = Scene(world, robot, models=(to_spawn("extra", 2.5, 0.0, 0.7),))
        simulation = simulator.load(scene)
        pose = simulation.snapshot().models["extra"].pose
        assert pose.position == pytest.approx((2.5, 0, 0.25), abs=1e-6)
        assert pose.yaw_rad == pytest.approx(0.7, abs=1e-6)
        scan = simulation.step(PERIOD_S).scan
        assert scan is not None and scan.ranges_m.min() < 2.5

    def test_a_world_without_a_robot_can_be_loaded(self, simulator: Simulator, world: Path) -> None:
        simulation = simulator.load(Scene(world))
        assert "robot" not in simulation.step(PERIOD_S).models
        with rejected("this simulation has no robot to drive"):
            simulation.drive(Twist2D(1.0, 0.0))

    def test_after_an_invalid_world_is_rejected_the_next_world_loads(
        self, simulator: Simulator, scene: Scene, tmp_path: Path
    ) -> None:
        broken_world = tmp_path / "broken.world"
        broken_world.write_text(
            WORLD.format(models="<include><uri>model://missing_model</uri></include>")
        )
        with pytest.raises(SimulatorError, match="missing_model"):
            simulator.load(Scene(broken_world))
        assert "robot" in simulator.load(scene).snapshot().models

    def test_loading_a_scene_ends_the_previous_simulation(
        self, simulator: Simulator, scene: Scene
    ) -> None:
        first = simulator.load(scene)
        simulator.load(scene)
        for call in calls(first):
            with rejected("this simulation is over: another scene was loaded"):
                call()

    # time

    def test_only_steps_advance_time(self, simulator: Simulator, simulation: Simulation) -> None:
        times = [simulation.step(PERIOD_S).time_s for _ in range(3)]
        if simulator.steps_exactly:
            assert times == pytest.approx([0.1, 0.2, 0.3], abs=1e-9)
        else:
            assert np.diff([0.0, *times]).min() > PERIOD_S - 1e-9
        assert simulation.snapshot().time_s == times[-1]

    def test_short_and_long_steps_have_at_least_their_duration(
        self, simulator: Simulator, simulation: Simulation
    ) -> None:
        short_s = simulation.step(0.03).time_s
        long_s = simulation.step(0.5).time_s - short_s
        if simulator.steps_exactly:
            assert (short_s, long_s) == pytest.approx((0.03, 0.5), abs=1e-9)
        else:
            assert (short_s > 0.03 - 1e-9, long_s > 0.5 - 1e-9) == (True, True)

    def test_a_step_that_is_not_a_multiple_of_the_physics_step_is_rejected(
        self, simulation: Simulation
    ) -> None:
        for duration_s in (0.00037, 0.0, -PERIOD_S):
            message = f"{duration_s} s is not a whole number of physics steps of "
            with pytest.raises(ValueError, match=re.escape(message)):
                simulation.step(duration_s)
        assert simulation.snapshot().time_s == 0.0

    # driving

    def test_a_robot_with_a_zero_command_does_not_move(self, simulation: Simulation) -> None:
        pose = robot_pose(drive(simulation, Twist2D(0.0, 0.0), 2.0)[-1])
        assert pose == pytest.approx((0, 0, 0), abs=0.01)

    def test_a_forward_command_moves_the_robot_straight_ahead(self, simulation: Simulation) -> None:
        last_snapshot = drive(simulation, Twist2D(0.8, 0.0), 4.0)[-1]
        x_m, y_m, yaw_rad = robot_pose(last_snapshot)
        assert x_m == pytest.approx(0.8 * last_snapshot.time_s, rel=self.tolerance)
        assert (y_m, yaw_rad) == pytest.approx((0, 0), abs=self.astray)

    def test_a_negative_speed_moves_the_robot_backward(self, simulation: Simulation) -> None:
        last_snapshot = drive(simulation, Twist2D(-0.5, 0.0), 2.0)[-1]
        assert robot_pose(last_snapshot).x_m == pytest.approx(
            -0.5 * last_snapshot.time_s, rel=2 * self.tolerance
        )

    @pytest.mark.parametrize("rate_radps", [0.8, -0.8])
    def test_a_yaw_rate_without_speed_turns_the_robot_in_place(
        self, simulation: Simulation, rate_radps: float
    ) -> None:
        last_snapshot = drive(simulation, Twist2D(0.0, rate_radps), 3.0)[-1]
        x_m, y_m, yaw_rad = robot_pose(last_snapshot)
        assert yaw_rad == pytest.approx(last_snapshot.time_s * rate_radps, rel=self.tolerance)
        assert math.hypot(x_m, y_m) < 0.05

    def test_the_radius_of_an_arc_is_speed_over_yaw_rate(self, simulation: Simulation) -> None:
        drive(simulation, Twist2D(0.6, 0.6), 1.0)
        track = np.array([robot_pose(s) for s in drive(simulation, Twist2D(0.6, 0.6), 4.0)])
        length_m = np.hypot(*np.diff(track[:, :2], axis=0).T).sum()
        turned_rad = np.unwrap(track[:, 2])[-1] - track[0, 2]
        assert length_m / turned_rad == pytest.approx(1.0, rel=self.tolerance)

    def test_a_velocity_command_applies_until_the_next_command(
        self, simulation: Simulation
    ) -> None:
        drive(simulation, Twist2D(0.5, 0.0), 1.0)
        first_snapshot, second_snapshot = simulation.snapshot(), simulation.step(1.0)
        moved_m = robot_pose(second_snapshot).x_m - robot_pose(first_snapshot).x_m
        passed_s = second_snapshot.time_s - first_snapshot.time_s
        assert moved_m == pytest.approx(0.5 * passed_s, rel=2 * self.tolerance)

    @pytest.mark.parametrize("speed_mps", [math.nan, math.inf])
    def test_a_velocity_command_that_is_not_finite_is_rejected(
        self, simulation: Simulation, speed_mps: float
    ) -> None:
        with pytest.raises(ValueError, match="a velocity command must be finite, not "):
            simulation.drive(Twist2D(speed_mps, 0.0))
        assert robot_pose(simulation.step(PERIOD_S)) == pytest.approx((0, 0, 0), abs=0.01)

    def test_the_reported_twist_matches_the_motion_in_the_world_frame(
        self, simulator: Simulator, world: Path, robot: RobotModel
    ) -> None:
        """The twist is in the world frame: a robot with a yaw of 90° drives in the direction of
        +y."""
        simulation = simulator.load(Scene(world, robot, Pose2D(-3.0, -3.0, math.pi / 2), seed=3))
        state = drive(simulation, Twist2D(0.5, 0.0), 2.0)[-1].models["robot"]
        if state.linear_mps is None:
            pytest.skip("this simulator does not report the robot's twist")
        allowed_error = 0.5 * 2 * self.tolerance
        assert state.linear_mps[:2] == pytest.approx((0.0, 0.5), abs=allowed_error)
        state = drive(simulation, Twist2D(0.0, 0.5), 2.0)[-1].models["robot"]
        assert state.angular_radps is not None
        assert state.angular_radps[2] == pytest.approx(0.5, rel=2 * self.tolerance)

    # sensors

    def test_the_scan_measures_the_distance_to_the_wall(
        self, simulation: Simulation, robot: RobotModel
    ) -> None:
        assert robot.lidar is not None
        scan = simulation.step(PERIOD_S).scan
        wall_m = 4.9 - robot.lidar.mount.position[0]
        assert range_ahead_m(scan) == pytest.approx(wall_m, abs=0.02)
        assert scan is not None and len(scan.ranges_m) == robot.lidar.samples

    def test_rays_without_a_hit_are_infinite(
        self, simulator: Simulator, robot: RobotModel, world: Path
    ) -> None:
        snapshot = simulator.load(Scene(world, robot, Pose2D(-20, -20, math.pi))).step(PERIOD_S)
        assert snapshot.scan is not None
        assert np.isposinf(snapshot.scan.ranges_m).all()

    def test_scans_have_the_update_rate_of_the_lidar(
        self, simulation: Simulation, robot: RobotModel
    ) -> None:
        assert robot.lidar is not None
        simulation.drive(Twist2D(0.0, 0.0))
        snapshots = [simulation.step(0.02) for _ in range(100)]  # 2 s, or more if it runs freely
        stamps = {snapshot.scan.stamp_s for snapshot in snapshots if snapshot.scan is not None}
        first_s, last_s, period_s = min(stamps), max(stamps), 1 / robot.lidar.update_rate_hz
        # A scan can be newer than the time of a snapshot if the simulator runs continuously.
        assert abs(first_s - snapshots[0].time_s) <= 2 * period_s, "the first scan is late"
        assert abs(last_s - snapshots[-1].time_s) <= 2 * period_s, "the last scan is old"
        assert len(stamps) - 1 == pytest.approx((last_s - first_s) / period_s, abs=1)

    def test_scans_are_measured_from_the_moving_robot(self, simulation: Simulation) -> None:
        first = simulation.step(PERIOD_S)
        last_snapshot = drive(simulation, Twist2D(0.5, 0.0), 2.0)[-1]
        assert last_snapshot.scan is not None
        since_scan_m = 0.5 * (last_snapshot.time_s - last_snapshot.scan.stamp_s)
        moved_m = robot_pose(last_snapshot).x_m - since_scan_m - robot_pose(first).x_m
        approached_m = range_ahead_m(first.scan) - range_ahead_m(last_snapshot.scan)
        assert approached_m == pytest.approx(moved_m, abs=0.02)

    def test_the_imu_measures_gravity_and_yaw_rate(self, simulation: Simulation) -> None:
        snapshots = drive(simulation, Twist2D(0.0, 0.5), 2.0)
        samples = [sample for snapshot in snapshots[10:] for sample in snapshot.imu]
        assert samples
        assert np.mean([s.angular_radps[2] for s in samples]) == pytest.approx(0.5, abs=0.03)
        assert np.mean([s.linear_mps2[2] for s in samples]) == pytest.approx(9.8, abs=0.2)

    def test_imu_samples_declared_as_means_match_the_change_of_speed(
        self, simulator: Simulator, simulation: Simulation
    ) -> None:
        assert simulator.inertial in ("step", "period")
        if simulator.inertial != "period" or not simulator.steps_exactly:
            pytest.skip(f"samples of {simulator.name} are not the means of known periods")
        simulation.step(0.5)
        snapshots = drive(simulation, Twist2D(0.6, 0.0), 1.0)
        stamps, forward = zip(
            *((s.stamp_s, s.linear_mps2[0]) for snapshot in snapshots for s in snapshot.imu)
        )
        gained_mps = float(np.dot(forward, np.diff([0.5, *stamps])))
        assert gained_mps == pytest.approx(0.6, abs=0.05)

    # contacts

    def test_a_collision_with_the_wall_is_reported_as_a_contact(
        self, simulation: Simulation
    ) -> None:
        touched_contacts = contacts(drive(simulation, Twist2D(1.0, 0.0), 5.5))
        assert {"robot", "wall"} in touched_contacts

    def test_driving_on_the_floor_reports_no_contact_with_obstacles(
        self, simulation: Simulation
    ) -> None:
        touched_contacts = contacts(drive(simulation, Twist2D(0.5, 0.3), 3.0))
        assert [pair for pair in touched_contacts if pair & {"wall", "obstacle_box_0"}] == []

    # changing the world

    def test_spawned_models_have_the_requested_poses_and_are_in_the_scan(
        self, simulation: Simulation
    ) -> None:
        simulation.spawn([to_spawn("a", 2.5, 0.0), to_spawn("b", -3.0, 1.0, 0.7)])
        snapshot = simulation.step(PERIOD_S)
        assert snapshot.models["a"].pose.position == pytest.approx((2.5, 0, 0.25), abs=1e-6)
        assert snapshot.models["b"].pose.yaw_rad == pytest.approx(0.7, abs=1e-6)
        assert snapshot.scan is not None
        assert snapshot.scan.ranges_m.min() < 2.5

    def test_if_one_name_exists_no_model_is_spawned(self, simulation: Simulation) -> None:
        for name in ("obstacle_box_0", "fresh"):
            with rejected(f"a model named '{name}' exists already"):
                simulation.spawn([to_spawn("fresh", 2, 2), to_spawn(name, 3, 3)])
        models = simulation.snapshot().models
        assert "fresh" not in models
        assert models["obstacle_box_0"].pose.position == pytest.approx((0, 4, 0.5), abs=1e-6)

    def test_spawning_text_without_a_model_is_rejected(self, simulation: Simulation) -> None:
        for text in ("<sdf version='1.6'><model></sdf>", "<sdf version='1.6'/>"):
            with pytest.raises(SimulatorError, match="cannot spawn 'broken': "):
                simulation.spawn([NamedModel("broken", text)])
        assert "broken" not in simulation.snapshot().models

    def test_deleted_models_are_absent_and_their_names_can_be_used_again(
        self, simulation: Simulation
    ) -> None:
        simulation.spawn([to_spawn("a", 2.5, 0.0), to_spawn("b", 2.5, 2.0)])
        simulation.delete(["a", "b"])
        snapshot = simulation.step(PERIOD_S)
        assert not {"a", "b"} & set(snapshot.models)
        assert snapshot.scan is not None
        assert snapshot.scan.ranges_m.min() > 2.5, "the scan sees a deleted model"
        simulation.spawn([to_spawn("a", -2.0, 0.0)])
        assert "a" in simulation.snapshot().models

    def test_deleting_an_unknown_model_is_rejected(self, simulation: Simulation) -> None:
        with rejected("there is no model named 'unknown'"):
            simulation.delete(["wall", "unknown"])
        assert "wall" in simulation.snapshot().models

    def test_setting_the_pose_of_an_unknown_model_is_rejected(self, simulation: Simulation) -> None:
        other_state = ModelState(Pose((2.0, 2.0, 0.75)))
        with rejected("there is no model named 'unknown'"):
            simulation.set_states({"wall": other_state, "unknown": other_state})
        assert simulation.snapshot().models["wall"].pose.position == pytest.approx((5, 0, 0.75))

    def test_driving_a_deleted_robot_is_rejected(self, simulation: Simulation) -> None:
        simulation.drive(Twist2D(0.5, 0.0))
        first_snapshot = simulation.step(PERIOD_S)
        simulation.delete(["robot"])
        with rejected("this simulation has no robot to drive"):
            simulation.drive(Twist2D(1.0, 0.0))
        second_snapshot = simulation.step(PERIOD_S)
        assert second_snapshot.time_s > first_snapshot.time_s
        assert set(second_snapshot.models) == set(first_snapshot.models) - {"robot"}

    def test_poses_of_several_models_are_set_in_one_call(self, simulation: Simulation) -> None:
        simulation.spawn([to_spawn("a", 2.5, 0.0), to_spawn("b", 2.5, 2.0)])
        simulation.set_states(
            {
                "a": ModelState(Pose.from_rpy(-4, 0, 0.25, 0, 0, 1.0)),
                "robot": ModelState(Pose2D(-1.0, -2.0, 0.5).to_pose()),
            }
        )
        models = simulation.step(PERIOD_S).models
        assert models["a"].pose.position == pytest.approx((-4, 0, 0.25), abs=1e-6)
        assert models["a"].pose.yaw_rad == pytest.approx(1.0, abs=1e-6)
        assert models["b"].pose.position == pytest.approx((2.5, 2.0, 0.25), abs=1e-6)
        assert models["robot"].pose.planar == pytest.approx((-1.0, -2.0, 0.5), abs=0.02)

    def test_scan_and_contacts_use_the_new_pose_of_a_model(self, simulation: Simulation) -> None:
        simulation.set_states({"wall": ModelState(Pose((2.5, 0.0, 0.75)))})
        scan = simulation.step(PERIOD_S).scan
        assert scan is not None
        assert range_ahead_m(scan) == pytest.approx(2.4 - scan.mount.position[0], abs=0.02)
        assert {"robot", "wall"} in contacts(drive(simulation, Twist2D(1.0, 0.0), 2.5))

    def test_a_saved_world_contains_the_present_models_and_can_be_loaded(
        self, simulator: Simulator, simulation: Simulation, tmp_path: Path
    ) -> None:
        simulation.spawn([to_spawn("a", 2.5, -1.0, 0.4), to_spawn("b", 9.0, 9.0)])
        simulation.delete(["b"])
        simulation.set_states({"obstacle_box_0": ModelState(Pose((-4.0, 2.0, 0.5)))})
        saved_world = tmp_path / "saved.world"
        simulation.save_world(saved_world)
        pose = read_scene(saved_world).models["a"].pose
        assert pose.position == pytest.approx((2.5, -1.0, 0.25), abs=1e-5)
        models = simulator.load(Scene(saved_world)).snapshot().models
        assert {"wall", "a", "obstacle_box_0"} <= set(models)
        assert "b" not in models, "a deleted model was saved"
        assert models["a"].pose.yaw_rad == pytest.approx(0.4, abs=1e-5)
        position = models["obstacle_box_0"].pose.position
        assert position == pytest.approx((-4.0, 2.0, 0.5), abs=1e-5)

    # repeatability

    def test_equal_calls_give_bit_identical_snapshots(
        self, simulator: Simulator, scene: Scene
    ) -> None:
        if not simulator.repeatable:
            pytest.skip(f"{simulator.name} is not repeatable to the bit")
        assert_identical_traces(trace(simulator.load(scene)), trace(simulator.load(scene)))

    def test_a_new_and_a_used_simulator_give_bit_identical_results(
        self, simulator: Simulator, scene: Scene, world: Path, robot: RobotModel
    ) -> None:
        if not simulator.repeatable:
            pytest.skip(f"{simulator.name} is not repeatable to the bit")
        trace(simulator.load(Scene(world, robot, Pose2D(-3.0, 1.0, 1.0), seed=9)))
        served_trace = trace(simulator.load(scene))
        with self.make_simulator() as new_simulator:
            assert_identical_traces(trace(new_simulator.load(scene)), served_trace)

    def test_closing_the_simulator_ends_its_simulation_and_rejects_loading(
        self, scene: Scene
    ) -> None:
        simulator = self.make_simulator()
        simulation = simulator.load(scene)
        simulator.close()
        simulator.close()
        with rejected("this simulator has been closed"):
            simulator.load(scene)
        for call in calls(simulation):
            with rejected("this simulation is over: its simulator was closed"):
                call()
