"""Base classes and helper functions of the simulator suites.

This module starts and closes the one simulator of a suite, and contains the operations on a
simulation that several suites use.
"""

import re
from pathlib import Path
from typing import Callable, ClassVar, ContextManager, List, Optional, Set, Tuple

import numpy as np
import pytest

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.observation import ModelState, Snapshot, Twist2D
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.base.resources import share_directory
from gz_testauto.sdf.robot import RobotModel, read_robot
from gz_testauto.simulators.interface import Scene, Simulation, Simulator
from gz_testauto.testing.simulator_scene import PARCEL, WALL, WORLD, to_spawn

PERIOD_S = 0.1


class SimulatorSuite:
    """A suite of tests of one simulator. Override :meth:`make_simulator`. Its scene has a floor, a
    wall 5 m ahead of the robot, and a box to its left."""

    def make_simulator(self) -> Simulator:
        """Start the simulator under test."""
        raise NotImplementedError("override make_simulator()")

    _running: ClassVar[Optional[Simulator]] = None

    @pytest.fixture
    def simulator(self) -> Simulator:
        """Return the one simulator of the suite; start it in the first call."""
        suite = type(self)
        if suite._running is None:
            suite._running = self.make_simulator()
        return suite._running

    @classmethod
    def teardown_class(cls) -> None:
        """Close the simulator of the suite."""
        running, cls._running = cls._running, None
        if running is not None:
            running.close()

    @pytest.fixture
    def robot(self) -> RobotModel:
        """Return the wheelchair."""
        return read_robot(share_directory() / "models" / "wheelchair", "robot")

    @pytest.fixture
    def world(self, tmp_path: Path) -> Path:
        """Write a world with a floor, a wall and one obstacle; return its path."""
        path = tmp_path / "conformance.world"
        path.write_text(WORLD.format(models=WALL + PARCEL))
        return path

    @pytest.fixture
    def scene(self, world: Path, robot: RobotModel) -> Scene:
        """Return the scene with the robot at the origin, facing the wall."""
        return Scene(world, robot, Pose2D(0.0, 0.0, 0.0), seed=3)

    @pytest.fixture
    def simulation(self, simulator: Simulator, scene: Scene) -> Simulation:
        """Load the scene of the suite and return its simulation."""
        return simulator.load(scene)


def rejected(message: str) -> ContextManager[object]:
    """Assert that the block raises ``SimulatorError`` with exactly this message."""
    return pytest.raises(SimulatorError, match=f"^{re.escape(message)}$")


def robot_pose(snapshot: Snapshot) -> Pose2D:
    """Return the robot's pose in the world frame."""
    return snapshot.models["robot"].pose.planar


def drive(simulation: Simulation, command: Twist2D, duration_s: float) -> List[Snapshot]:
    """Drive for ``duration_s``; return the snapshots."""
    simulation.drive(command)
    return steps(simulation, duration_s)


def steps(simulation: Simulation, duration_s: float) -> List[Snapshot]:
    """Return the snapshots of consecutive periods, until ``duration_s`` of simulated time have
    passed. There are fewer if a step takes longer than a period, for example on a busy machine in a
    simulator that runs continuously."""
    snapshots = [simulation.step(PERIOD_S)]
    enough_s = snapshots[0].time_s + duration_s - 1.5 * PERIOD_S
    for _ in range(round(duration_s / PERIOD_S) - 1):
        if snapshots[-1].time_s >= enough_s:
            break
        snapshots.append(simulation.step(PERIOD_S))
    return snapshots


def calls(simulation: Simulation) -> List[Callable[[], object]]:
    """Return calls of all methods of the interface, in its order."""
    return [
        simulation.snapshot,
        lambda: simulation.drive(Twist2D(0.5, 0.0)),
        lambda: simulation.step(PERIOD_S),
        lambda: simulation.spawn([to_spawn("late", 2.5, 0.0)]),
        lambda: simulation.delete(["wall"]),
        lambda: simulation.set_states({"wall": ModelState(Pose((2.0, 2.0, 0.75)))}),
        lambda: simulation.save_world(Path("late.world")),
    ]


def contacts(snapshots: List[Snapshot]) -> List[Set[str]]:
    """Return the pairs of models in contact."""
    return [
        {contact.first.split("::")[0], contact.second.split("::")[0]}
        for snapshot in snapshots
        for contact in snapshot.contacts
    ]


def trace(simulation: Simulation) -> Tuple[bytes, ...]:
    """Return poses and scans as bytes, from time 0 on, of a drive with changing commands that ends
    at the wall."""
    generator = np.random.default_rng(5)
    snapshots = [simulation.snapshot()]
    for _ in range(80):
        turn_radps = float(generator.uniform(-0.4, 0.4))
        simulation.drive(Twist2D(0.8, turn_radps))
        snapshots.append(simulation.step(PERIOD_S))
    rows = []
    for snapshot in snapshots:
        pose = snapshot.models["robot"].pose
        rows.append(np.array([*pose.position, *pose.quaternion]).tobytes())
        if snapshot.scan is not None:
            rows.append(np.asarray(snapshot.scan.ranges_m).tobytes())
    return tuple(rows)
