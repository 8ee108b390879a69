"""Tests of sensors and contacts in a snapshot, as a part of the simulator conformance suite."""

import math
from pathlib import Path
from typing import List, Tuple

import numpy as np
import pytest

from gz_testauto.base.observation import LaserScan, Snapshot, Twist2D
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.sdf.robot import RobotModel, read_robot
from gz_testauto.simulators.interface import NamedModel, Scene, Simulation, Simulator
from gz_testauto.testing.simulator_suite import BOX, PERIOD_S, SimulatorSuite, drive


class SimulatorSensing(SimulatorSuite):
    """The tests of sensors and contacts in
    :class:`~gz_testauto.testing.simulator_conformance.SimulatorConformance`."""

    def test_the_first_snapshot_has_a_scan_of_the_loaded_world(
        self, simulator: Simulator, world: Path, robot: RobotModel
    ) -> None:
        """The second scene is loaded after the robot has driven in the first scene."""
        assert robot.lidar is not None
        for x_m in (0.0, 2.0):
            simulation = simulator.load(Scene(world, robot, Pose2D(x_m, 0.0, 0.0), seed=3))
            scan = simulation.snapshot().scan
            assert scan is not None, "no scan at time 0"
            assert scan.stamp_s == 0.0
            assert len(scan.ranges_m) == robot.lidar.samples
            wall_m = 4.9 - x_m - robot.lidar.mount.position[0]
            assert ranges_at(scan, 0.0).min() == pytest.approx(wall_m, abs=0.02)
            drive(simulation, Twist2D(0.5, 0.0), 1.0)

    def test_imu_samples_and_contacts_start_after_time_zero(self, simulation: Simulation) -> None:
        """The snapshot at time 0 contains no IMU sample and no contact, since these start with the
        first physics step."""
        first, second = simulation.snapshot(), simulation.step(PERIOD_S)
        assert (tuple(first.imu), tuple(first.contacts)) == ((), ())
        stamps = [sample.stamp_s for sample in second.imu]
        stamps += [contact.stamp_s for contact in second.contacts]
        assert min(stamps, default=PERIOD_S) > 0.0

    def test_scan_angles_increase_counter_clockwise(self, simulation: Simulation) -> None:
        """A box is to the left of the robot, and the space to its right is free."""
        scan = simulation.step(PERIOD_S).scan
        assert scan is not None
        assert np.isfinite(ranges_at(scan, math.radians(97.0))).all(), "no box to the left"
        assert np.isposinf(ranges_at(scan, math.radians(-97.0))).all(), (
            "the scan has a hit on the right"
        )

    @pytest.mark.parametrize("depth_m", [0.02, 0.27])
    def test_rays_start_at_the_minimum_range(self, simulation: Simulation, depth_m: float) -> None:
        """A lidar does not detect the surface of a plate that is nearer than its minimum range
        (0.1 m), as in Gazebo. The thin plate is completely nearer. The thick plate contains starts
        of rays, which end on its far side, or on the wall behind it in Gazebo with Bullet."""
        assert simulation.robot is not None and simulation.robot.lidar is not None
        sensor_m = simulation.robot.lidar.mount.position[0]
        plate = BOX.format(name="plate", static="true", pose="0", size=f"{depth_m} 0.3 0.04")
        text = f'<sdf version="1.6">{plate}</sdf>'
        near_m = 0.03
        center_m = sensor_m + near_m + depth_m / 2
        simulation.spawn([NamedModel("plate", text, Pose((center_m, 0.0, 0.35)))])
        scan = simulation.step(PERIOD_S).scan
        assert scan is not None
        ahead_m = float(ranges_at(scan, 0.0).min())
        expected_m = [4.9 - sensor_m]
        if near_m + depth_m > scan.range_min_m:
            expected_m.append(near_m + depth_m)
        assert min(abs(ahead_m - range_m) for range_m in expected_m) < 0.02, (
            f"a ray that starts at the minimum range has the range {ahead_m} m"
        )

    def test_a_housing_within_the_minimum_range_does_not_block_the_lidar(
        self, simulator: Simulator, world: Path, robot: RobotModel, tmp_path: Path
    ) -> None:
        """The lidar is inside a collision shape of the robot with a radius of 0.05 m."""
        assert robot.lidar is not None
        pose = " ".join(map(str, robot.lidar.mount.position))
        housing = (
            f'<collision name="housing"><pose>{pose} 0 0 0</pose><geometry><cylinder>'
            "<radius>0.05</radius><length>0.06</length></cylinder></geometry></collision>"
        )
        model, link = tmp_path / "housed.sdf", f'<link name="{robot.lidar.link}">'
        text = robot.path.read_text(encoding="utf-8")
        assert text.count(link) == 1
        model.write_text(text.replace(link, link + housing), encoding="utf-8")
        scan = simulator.load(Scene(world, read_robot(model, "robot"))).step(PERIOD_S).scan
        assert scan is not None
        wall_m = 4.9 - robot.lidar.mount.position[0]
        ahead_m = float(ranges_at(scan, 0.0).min())
        assert ahead_m == pytest.approx(wall_m, abs=0.02), "the lidar detects its housing"

    def test_the_stamp_of_a_scan_is_its_time_of_measurement(self, simulation: Simulation) -> None:
        """The robot turns during the test, so that no two scans are equal."""
        drive(simulation, Twist2D(0.0, 0.8), 0.5)
        shown_scans: List[Tuple[float, bytes]] = []
        for snapshot in drive_in_short_steps(simulation, Twist2D(0.0, 0.8)):
            if snapshot.scan is not None:
                assert 0.0 <= snapshot.scan.stamp_s <= snapshot.time_s + 1e-9
                shown_scans.append(
                    (snapshot.scan.stamp_s, np.asarray(snapshot.scan.ranges_m).tobytes())
                )
        stamps = [stamp_s for stamp_s, _ in shown_scans]
        assert stamps == sorted(stamps)
        measured_ranges = {ranges for _, ranges in shown_scans}
        assert len(measured_ranges) == len(set(stamps)), "a stamp is not the time of measurement"

    def test_imu_samples_and_contacts_are_reported_once_in_order_of_time(
        self, simulation: Simulation
    ) -> None:
        """A snapshot contains the IMU samples and contacts since the previous snapshot."""
        before_s, stamps = simulation.snapshot().time_s, []
        for snapshot in drive(simulation, Twist2D(1.0, 0.0), 5.5):
            stamps += [sample.stamp_s for sample in snapshot.imu]
            for contact in snapshot.contacts:
                assert before_s - 1e-9 <= contact.stamp_s <= snapshot.time_s + 1e-9, (
                    f"a contact of {contact.stamp_s} s is reported after {before_s} s"
                )
            before_s = snapshot.time_s
        assert stamps and (np.diff(stamps) > 0.0).all(), "an IMU sample is reported twice"

    def test_a_contact_has_its_position_and_a_normal_toward_the_first_shape(
        self, simulation: Simulation
    ) -> None:
        """The robot touches the wall, whose surface is at x = 4.9 m."""
        has_touched = False
        for snapshot in drive(simulation, Twist2D(1.0, 0.0), 5.5):
            for contact in snapshot.contacts:
                names = [shape.split("::")[0] for shape in (contact.first, contact.second)]
                if set(names) != {"robot", "wall"}:
                    continue
                towards_robot = -1.0 if names[0] == "robot" else 1.0
                for position_m, normal in zip(contact.positions_m, contact.normals):
                    has_touched = True
                    assert position_m[0] == pytest.approx(4.9, abs=0.1), "wrong position"
                    assert abs(position_m[1]) < 0.5, "wrong position"
                    assert normal[0] * towards_robot > 0.5, f"the normal is {normal}"
        assert has_touched, "no contact with the wall has a position and a normal"

    def test_a_snapshot_does_not_change_in_later_steps(self, simulation: Simulation) -> None:
        """Later steps must not change a snapshot, since the caller can keep it."""
        kept_snapshot = drive(simulation, Twist2D(0.5, 0.3), 0.5)[-1]
        frozen_copy = frozen(kept_snapshot)
        drive(simulation, Twist2D(0.5, 0.3), 1.0)
        assert frozen(kept_snapshot) == frozen_copy, "a returned snapshot changed"

    def test_snapshots_without_a_step_between_them_are_equal(self, simulation: Simulation) -> None:
        """Creating a snapshot does not change the simulation."""
        drive(simulation, Twist2D(0.5, 0.0), 1.0)
        first, second = simulation.snapshot(), simulation.snapshot()
        assert first.time_s == second.time_s
        assert first.models["robot"] == second.models["robot"], "two consecutive snapshots differ"


def ranges_at(scan: LaserScan, angle_rad: float) -> np.ndarray:
    """Return the ranges of the rays within 1° of a direction (rad)."""
    return np.asarray(scan.ranges_m)[np.abs(scan.angles_rad - angle_rad) < math.radians(1.0)]


def drive_in_short_steps(simulation: Simulation, command: Twist2D) -> List[Snapshot]:
    """Drive for 1 s in steps shorter than the lidar's period, and return all snapshots."""
    simulation.drive(command)
    return [simulation.step(0.03) for _ in range(33)]


def frozen(snapshot: Snapshot) -> Tuple[object, ...]:
    """Return the content of a snapshot as values that later steps cannot change."""
    ranges = b"" if snapshot.scan is None else np.asarray(snapshot.scan.ranges_m).tobytes()
    models = {
        name: (state.pose.position, state.pose.quaternion)
        for name, state in snapshot.models.items()
    }
    return snapshot.time_s, models, ranges, tuple(snapshot.imu), tuple(snapshot.contacts)
