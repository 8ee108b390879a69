"""Conformance suite for scenes with several robots. A simulator must support them, or reject them
with an error that names the robots.

Use it in addition to :mod:`gz_testauto.testing.simulator_conformance`::

    class TestMySimulatorSeveralRobots(SeveralRobotsConformance):
        def make_simulator(self):
            return MySimulator()
"""

from pathlib import Path
from typing import List, Set

import pytest

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.observation import Snapshot, Twist2D
from gz_testauto.base.pose import Pose2D
from gz_testauto.base.resources import share_directory
from gz_testauto.sdf.robot import RobotModel, read_robot
from gz_testauto.simulators.interface import PlacedRobot, Scene, Simulator
from gz_testauto.testing.simulator_suite import (
    PERIOD_S,
    SimulatorSuite,
    contacts,
    range_ahead_m,
    rejected,
    robot_pose,
)


class SeveralRobotsConformance(SimulatorSuite):
    """The conformance suite for several robots. Override :meth:`make_simulator`."""

    def test_each_of_several_robots_has_its_own_command_scan_and_contacts(
        self, simulator: Simulator, world: Path, robot: RobotModel
    ) -> None:
        scene = Scene(world, robot, Pose2D(0.0, 0.0, 0.0), others=(second_robot(),))
        if not simulator.several_robots:
            with pytest.raises(
                SimulatorError, match=r"supports one robot in a scene, and .* has 2;"
            ):
                simulator.load(scene)
            return
        simulation = simulator.load(scene)
        first_snapshot = simulation.snapshot()
        assert {"robot", "second"} <= set(first_snapshot.models)
        for scan in (first_snapshot.scan, first_snapshot.of_robot("second").scan):
            assert scan is not None and scan.stamp_s == 0.0, "no scan at time 0"
        simulation.drive(Twist2D(0.0, 0.4))
        simulation.drive(Twist2D(1.0, 0.0), "second")
        snapshots = [simulation.step(PERIOD_S) for _ in range(30)]
        first, second = (snapshots[-1].models[name].pose.planar for name in ("robot", "second"))
        assert (first.x_m, first.y_m) == pytest.approx((0.0, 0.0), abs=0.1)
        assert first.yaw_rad == pytest.approx(1.2, abs=0.15)
        assert second.x_m == pytest.approx(3.0, abs=0.2)
        assert second.y_m == pytest.approx(-2.0, abs=0.1)
        scan = snapshots[-1].of_robot("second").scan
        assert scan is not None and snapshots[-1].scan is not None
        assert range_ahead_m(scan) == pytest.approx(
            4.9 - second.x_m - scan.mount.position[0], abs=0.05
        )
        assert not parts_above_floor(snapshots)
        snapshots += [simulation.step(PERIOD_S) for _ in range(30)]
        assert not parts_above_floor(snapshots), "the first robot has a contact"
        touched_contacts = contacts([snapshot.of_robot("second") for snapshot in snapshots])
        assert {"second", "wall"} in touched_contacts
        samples = [sample for snapshot in snapshots for sample in snapshot.others["second"].imu]
        assert len(samples) >= len(snapshots) - 1

    def test_a_command_for_an_unknown_robot_is_rejected(
        self, simulator: Simulator, world: Path, robot: RobotModel
    ) -> None:
        simulation = simulator.load(Scene(world, robot))
        message = "this simulation has no robot named 'wall'; it has these robots: robot"
        with rejected(message):
            simulation.drive(Twist2D(1.0, 0.0), "wall")

    def test_the_first_robot_keeps_driving_after_the_second_is_deleted(
        self, simulator: Simulator, world: Path, robot: RobotModel
    ) -> None:
        if not simulator.several_robots:
            pytest.skip(f"{simulator.name} supports one robot in a scene")
        simulation = simulator.load(Scene(world, robot, others=(second_robot(),)))
        simulation.drive(Twist2D(0.5, 0.0))
        simulation.step(PERIOD_S)
        simulation.delete(["second"])
        with pytest.raises(SimulatorError, match="no robot named 'second'"):
            simulation.drive(Twist2D(0.5, 0.0), "second")
        for _ in range(20):
            snapshot = simulation.step(PERIOD_S)
        assert robot_pose(snapshot).x_m == pytest.approx(1.0, abs=0.15)
        assert not snapshot.others


def parts_above_floor(snapshots: List[Snapshot]) -> List[Set[str]]:
    """Return the pairs of models that touch, except for contacts with the floor. Not every
    simulator reports which part of a robot touches the floor."""
    return [pair for pair in contacts(snapshots) if "floor" not in pair]


def second_robot() -> PlacedRobot:
    """Return another wheelchair, to the right of the first."""
    path = share_directory() / "models" / "wheelchair"
    return PlacedRobot(read_robot(path, "second"), Pose2D(0.0, -2.0, 0.0))
