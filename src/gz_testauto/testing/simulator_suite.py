"""Base class, scene and helper functions of the simulator suites."""

import re
from pathlib import Path
from typing import Callable, ClassVar, ContextManager, List, Optional, Sequence, Set, Tuple

import numpy as np
import pytest

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.observation import LaserScan, ModelState, Snapshot, Twist2D
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.base.resources import share_directory
from gz_testauto.sdf.robot import RobotModel, read_robot
from gz_testauto.simulators.interface import NamedModel, Scene, Simulation, Simulator

PERIOD_S = 0.1

BOX = """<model name="{name}"><static>{static}</static><pose>{pose}</pose><link name="link">
<inertial><mass>5</mass><inertia><ixx>0.2</ixx><iyy>0.2</iyy><izz>0.2</izz></inertia></inertial>
<collision name="collision"><geometry><box><size>{size}</size></box></geometry></collision>
<visual name="visual"><geometry><box><size>{size}</size></box></geometry></visual>
</link></model>"""

WORLD = """<?xml version="1.0"?><sdf version="1.6"><world name="conformance">
<physics type="ode"><max_step_size>0.001</max_step_size>
<real_time_factor>1</real_time_factor><real_time_update_rate>1000</real_time_update_rate></physics>
<model name="floor"><static>true</static><link name="link"><collision name="collision">
<geometry><plane><normal>0 0 1</normal><size>60 60</size></plane></geometry>
</collision></link></model>
{models}
</world></sdf>"""

WALL = BOX.format(name="wall", static="true", pose="5 0 0.75 0 0 0", size="0.2 8 1.5")
PARCEL = BOX.format(name="obstacle_box_0", static="true", pose="0 4 0.5 0 0 0.3", size="1 0.6 1")

LAMP = """<light name="lamp" type="point"><pose>0 0 4 0 0 0</pose><diffuse>0.9 0.9 0.8 1</diffuse>
<attenuation><range>8</range><constant>0.5</constant></attenuation></light>"""

DOOR = """<model name="door"><pose>-4 3 0 0 0 0</pose><link name="frame"><inertial><mass>500</mass>
<inertia><ixx>50</ixx><iyy>50</iyy><izz>50</izz></inertia></inertial><collision name="collision">
<pose>0 0 0.05 0 0 0</pose><geometry><box><size>1 1 0.1</size></box></geometry></collision></link>
<link name="leaf"><pose>0 0 1.2 0 0 0</pose><inertial><pose>0.4 0 0 0 0 0</pose><mass>5</mass>
<inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial><collision name="collision">
<pose>0.4 0 0 0 0 0</pose><geometry><box><size>0.8 0.05 2</size></box></geometry></collision>
</link><joint name="hinge" type="revolute"><parent>frame</parent><child>leaf</child>
<axis><xyz>0 0 1</xyz></axis></joint></model>"""


class SimulatorSuite:
    """A base class for suites that test one simulator. Override :meth:`make_simulator`.

    The scene contains a floor, a wall 5 m ahead of the robot, and a box to its left.
    """

    def make_simulator(self) -> Simulator:
        """Start the simulator under test."""
        raise NotImplementedError("override make_simulator()")

    _running: ClassVar[Optional[Simulator]] = None

    @pytest.fixture
    def simulator(self) -> Simulator:
        """Return the simulator of the suite. The first call starts it."""
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
        """Return the model of the wheelchair."""
        return read_robot(share_directory() / "models" / "wheelchair", "robot")

    @pytest.fixture
    def world(self, tmp_path: Path) -> Path:
        """Write a world file with a floor, a wall and one obstacle, and return its path."""
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
    """Return a context that asserts that ``SimulatorError`` is raised with exactly this message."""
    return pytest.raises(SimulatorError, match=f"^{re.escape(message)}$")


def robot_pose(snapshot: Snapshot) -> Pose2D:
    """Return the robot's pose in the world frame."""
    return snapshot.models["robot"].pose.planar


def range_ahead_m(scan: Optional[LaserScan]) -> float:
    """Return the range (m) of the ray that is nearest to the x axis of the sensor."""
    assert scan is not None
    return float(scan.ranges_m[np.argmin(np.abs(scan.angles_rad))])


def drive(simulation: Simulation, command: Twist2D, duration_s: float) -> List[Snapshot]:
    """Drive for ``duration_s`` and return the snapshot of each control period."""
    simulation.drive(command)
    return steps(simulation, duration_s)


def steps(simulation: Simulation, duration_s: float) -> List[Snapshot]:
    """Return the snapshots of consecutive control periods for ``duration_s`` of simulated time.

    If a step takes longer than a period, there are fewer snapshots. This can occur on a busy
    machine with a simulator that runs continuously.
    """
    snapshots = [simulation.step(PERIOD_S)]
    enough_s = snapshots[0].time_s + duration_s - 1.5 * PERIOD_S
    for _ in range(round(duration_s / PERIOD_S) - 1):
        if snapshots[-1].time_s >= enough_s:
            break
        snapshots.append(simulation.step(PERIOD_S))
    return snapshots


def calls(simulation: Simulation) -> List[Callable[[], object]]:
    """Return functions that call each method of the simulation interface."""
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
    """Return the pairs of models that touch in any of the snapshots."""
    return [
        {contact.first.split("::")[0], contact.second.split("::")[0]}
        for snapshot in snapshots
        for contact in snapshot.contacts
    ]


def trace(simulation: Simulation) -> Tuple[bytes, ...]:
    """Drive with changing commands until the robot touches the wall. Return the pose and the scan
    after each control period since time 0, as bytes."""
    generator = np.random.default_rng(5)
    snapshots = [simulation.snapshot()]
    for _ in range(80):
        turn_radps = float(generator.uniform(-0.4, 0.4))
        simulation.drive(Twist2D(0.8, turn_radps))
        snapshots.append(simulation.step(PERIOD_S))
    rows = []
    for snapshot in snapshots:
        pose = snapshot.models["robot"].pose
        row = np.array([*pose.position, *pose.quaternion]).tobytes()
        if snapshot.scan is not None:
            row += np.asarray(snapshot.scan.ranges_m).tobytes()
        rows.append(row)
    return tuple(rows)


def assert_identical_traces(first: Sequence[bytes], second: Sequence[bytes]) -> None:
    """Assert that two traces have the same bits, and name the first control period that differs.
    pytest's explanation of ``first == second`` can exceed the timeout of a test."""
    assert len(first) == len(second), "the two runs have different numbers of control periods"
    differing = [period for period, pair in enumerate(zip(first, second)) if pair[0] != pair[1]]
    assert not differing, f"two equal runs differ from control period {differing[0]} on"


def to_spawn(name: str, x_m: float, y_m: float, yaw_rad: float = 0.0) -> NamedModel:
    """Return a static box of 0.5 m on the floor at a position (m) and yaw (rad). Its SDF contains
    another pose, which the simulator must ignore."""
    box = BOX.format(name="other", static="true", pose="9 9 9 0 0 0", size="0.5 0.5 0.5")
    return NamedModel(
        name, f'<sdf version="1.6">{box}</sdf>', Pose.from_rpy(x_m, y_m, 0.25, 0, 0, yaw_rad)
    )


def body(name: str, place: str, gravity: bool = True, size: str = "0.2 0.2 0.2") -> str:
    """Return the SDF of a movable box of 2 kg with moments of inertia of 0.02 kg m². ``place`` and
    ``size`` are the texts of x, y and z (m)."""
    box = f"<geometry><box><size>{size}</size></box></geometry>"
    return (
        f'<model name="{name}"><pose>{place} 0 0 0</pose><link name="link">'
        f"<gravity>{str(gravity).lower()}</gravity><inertial><mass>2</mass><inertia><ixx>0.02</ixx>"
        "<iyy>0.02</iyy><izz>0.02</izz></inertia></inertial>"
        f'<collision name="collision">{box}</collision><visual name="visual">{box}<material>'
        "<ambient>0.2 0.2 0.6 1</ambient><diffuse>0.2 0.2 0.6 1</diffuse></material></visual>"
        "</link></model>"
    )
