"""Conformance suite for sensors that a scene selects, and for merged lidars.

A simulator with ``senses`` must pass it, in addition to
:mod:`gz_testauto.testing.simulator_conformance`. Any other simulator must reject such a scene::

    class TestMySimulatorSensors(SensorsConformance):
        def make_simulator(self):
            return MySimulator()
"""

import math
from dataclasses import replace
from pathlib import Path
from typing import List, Tuple

import numpy as np
import pytest

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.observation import SensorReading, Twist2D
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.base.resources import share_directory
from gz_testauto.base.sensors import Sensor
from gz_testauto.sdf.robot import RobotModel, read_robot
from gz_testauto.simulators.interface import NamedModel, PlacedRobot, Scene, Simulation, Simulator
from gz_testauto.testing.simulator_suite import BOX, PERIOD_S, SimulatorSuite

WALL_M = 4.9
"""The x coordinate (m) of the wall's front."""

ERROR_M = 0.02
"""Largest error (m) of a range. A robot on wheels sinks into the ground by less."""


class SensorsConformance(SimulatorSuite):
    """The conformance suite for sensors. Override :meth:`make_simulator`."""

    @pytest.fixture
    def robot(self) -> RobotModel:
        """Return the model of the service robot, which has all kinds of sensors."""
        return service_robot("front_lidar")

    def load(self, simulator: Simulator, scene: Scene) -> Simulation:
        """Load a scene. If the simulator does not support sensors, assert that it rejects the
        scene, and skip the test."""
        if simulator.senses:
            return simulator.load(scene)
        names = [sensor.name for placed in scene.robots for sensor in placed.simulated]
        with pytest.raises(SimulatorError, match=names[0]):
            simulator.load(scene)
        pytest.skip(f"{simulator.name} rejects scenes with sensors")

    def test_only_selected_sensors_are_measured_and_have_a_reading_at_time_0(
        self, simulator: Simulator, world: Path, robot: RobotModel
    ) -> None:
        sensors = named(robot, "camera", "sonar_left", "bumper")
        simulation = self.load(simulator, Scene(world, robot, sensors=sensors))
        readings = simulation.snapshot().sensors
        assert set(readings) == {"camera", "sonar_left", "bumper"}, "other sensors were measured"
        assert {reading.stamp_s for reading in readings.values()} == {0.0}, "no reading at time 0"
        shapes = [readings[name].ranges_m.shape for name in ("camera", "sonar_left")]
        assert shapes == [(60, 80), (1, 1)]

    def test_points_of_the_rays_are_on_the_surfaces_of_the_world(
        self, simulator: Simulator, world: Path, robot: RobotModel
    ) -> None:
        """Each ray of the camera and of the 3-D lidar ends at the floor, at the wall or at the
        parcel. The robot is turned, so that the rear lidar detects the wall, too."""
        start = Pose2D(1.0, -1.0, 1.0)
        names = ("camera", "lidar_3d", "rear_lidar")
        scene = Scene(world, robot, start, sensors=silent(named(robot, *names)))
        readings = self.load(simulator, scene).snapshot().sensors
        base = start.to_pose()
        for name in names:
            points = readings[name].points_m @ base.rotation.T + base.position
            wall = np.abs(points[:, 0] - WALL_M) < ERROR_M
            floor = np.abs(points[:, 2]) < ERROR_M
            parcel = np.hypot(points[:, 0], points[:, 1] - 4.0) < 0.8
            assert wall.sum() > 50, f"{wall.sum()} points of {name} are on the wall"
            assert name == "rear_lidar" or floor.sum() > 50, f"no points of {name} on the floor"
            assert (wall | floor | parcel).all(), f"a point of {name} is on no surface"
            share = len(points) / readings[name].ranges_m.size
            assert share > 0.15, f"too few points: {share:.2f} of the rays of {name} have a return"

    def test_a_sonar_measures_the_nearest_surface_in_its_cone(
        self, simulator: Simulator, world: Path, robot: RobotModel
    ) -> None:
        """A pole is 1 m from the sonar, 8° from the axis of its cone."""
        (sonar,) = silent(named(robot, "sonar_left"))
        simulation = self.load(simulator, Scene(world, robot, sensors=(sonar,)))
        before_m = float(simulation.snapshot().sensors["sonar_left"].ranges_m[0, 0])
        assert before_m == math.inf, f"the range without a return is {before_m}"
        angle = 0.3 + math.radians(8.0)
        x_m, y_m, _ = sonar.mount.position
        target = (x_m + math.cos(angle), y_m + math.sin(angle), 0.5)
        simulation.spawn([box("pole", "0.1 0.1 1", target)])
        found_m = float(simulation.step(PERIOD_S).sensors["sonar_left"].ranges_m[0, 0])
        assert found_m == pytest.approx(0.945, abs=0.02), f"the range of a pole is {found_m} m"

    def test_a_sensor_measures_at_the_end_of_the_step_that_is_due(
        self, simulator: Simulator, world: Path, robot: RobotModel
    ) -> None:
        """The steps of 30 ms are not a divisor of the periods of 100 ms and 50 ms."""
        sensors = named(robot, "rear_lidar", "bumper")
        simulation = self.load(simulator, Scene(world, robot, sensors=sensors))
        simulation.drive(Twist2D(0.0, 0.5))
        snapshots = [simulation.step(0.03) for _ in range(20)]
        for name, period_s in (("rear_lidar", 0.1), ("bumper", 0.05)):
            stamps = sorted({snapshot.sensors[name].stamp_s for snapshot in snapshots})
            measurement_count = int(0.6 / period_s + 1e-9)
            due_times_s = [
                0.03 * math.ceil(k * period_s / 0.03 - 1e-9) for k in range(measurement_count + 1)
            ]
            assert stamps == pytest.approx(due_times_s), f"{name} measured at {stamps}"
        distinct = {snapshot.sensors["rear_lidar"].ranges_m.tobytes() for snapshot in snapshots}
        assert len(distinct) == 7, "a reading is not from the time of its stamp"

    def test_noise_depends_only_on_the_seed(
        self, simulator: Simulator, world: Path, robot: RobotModel
    ) -> None:
        rear_sensors = named(robot, "rear_lidar")

        def measured(seed: int, sensors: Tuple[Sensor, ...]) -> np.ndarray:
            scene = Scene(world, robot, Pose2D(3.0, 0.0, math.pi), seed, sensors=sensors)
            simulation = self.load(simulator, scene)
            snapshots = [simulation.snapshot(), simulation.step(PERIOD_S)]
            return np.stack([snapshot.sensors["rear_lidar"].ranges_m for snapshot in snapshots])

        noisy, exact = measured(3, rear_sensors), measured(3, silent(rear_sensors))
        second_readings = measured(3, (*named(robot, "sonar_left"), *rear_sensors))
        assert np.array_equal(noisy, second_readings), (
            "the same seed and another sensor give other noise"
        )
        assert not np.array_equal(noisy, measured(4, rear_sensors)), (
            "another seed gives the same noise"
        )
        hits = np.isfinite(exact)
        assert np.array_equal(hits, np.isfinite(noisy)), "noise changed the returns"
        error = noisy[hits] - exact[hits]
        assert 0.0045 < error.std() < 0.0055, f"the noise is {error.std():.4f} m"
        assert abs(error.mean()) < 0.001

    def test_a_delayed_reading_has_the_stamp_of_its_measurement(
        self, simulator: Simulator, world: Path, robot: RobotModel
    ) -> None:
        """The delay is 0.25 s. Until it has passed, the reading of time 0 is returned."""
        (lidar,) = named(robot, "rear_lidar")
        delayed_lidar = replace(lidar, delay_s=0.25)
        simulation = self.load(simulator, Scene(world, robot, sensors=(delayed_lidar,)))
        stamps = [simulation.step(PERIOD_S).sensors["rear_lidar"].stamp_s for _ in range(6)]
        assert stamps == pytest.approx([0.0, 0.0, 0.0, 0.1, 0.2, 0.3]), "wrong delay"

    def test_a_bumper_reports_each_contact_of_its_shapes_once(
        self, simulator: Simulator, world: Path, robot: RobotModel
    ) -> None:
        """The robot drives against the wall, and the column of the robot touches nothing."""
        scene = Scene(world, robot, Pose2D(4.3, 0.0, 0.0), sensors=named(robot, "bumper"))
        simulation = self.load(simulator, scene)
        assert simulation.snapshot().sensors["bumper"].contacts == (), "a contact before driving"
        simulation.drive(Twist2D(0.5, 0.0))
        readings: List[SensorReading] = []
        all_contacts = 0
        for _ in range(20):
            snapshot = simulation.step(PERIOD_S)
            readings.append(snapshot.sensors["bumper"])
            all_contacts += len(snapshot.contacts)
        touched_contacts = [contact for reading in readings for contact in reading.contacts]
        assert touched_contacts, "no contact with the wall"
        assert len(touched_contacts) == all_contacts, "a contact was lost or reported twice"
        for contact in touched_contacts:
            assert contact.first == "robot::base::bumper", f"the first shape is {contact.first}"
            assert contact.second.startswith("wall::"), f"the second shape is {contact.second}"
            assert all(x < -0.5 for x, _, _ in contact.normals), "a normal points away"

    def test_a_merged_lidar_detects_obstacles_on_all_sides(
        self, simulator: Simulator, world: Path, robot: RobotModel
    ) -> None:
        """One lidar faces the wall, and the other one a box behind the robot. A ray of the merged
        scan starts at the origin of the base frame."""
        merged_robot = service_robot("front_lidar,rear_lidar")
        scene = Scene(world, merged_robot, models=(box("behind", "0.5 0.5 1", (-2.0, 0.0, 0.5)),))
        snapshot = self.load(simulator, scene).snapshot()
        assert set(snapshot.sensors) == {"front_lidar", "rear_lidar"}, "a part has no reading"
        scan = snapshot.scan
        assert scan is not None and scan.stamp_s == 0.0, "no scan at time 0"
        assert scan.mount.position[:2] == (0.0, 0.0), "wrong origin of the merged scan"
        for bearing, expected_m in ((0.0, WALL_M), (0.5, WALL_M / math.cos(0.5)), (-math.pi, 1.75)):
            ray = int(np.argmin(np.abs(scan.angles_rad - bearing)))
            exact = expected_m if bearing == -math.pi else WALL_M / math.cos(scan.angles_rad[ray])
            assert scan.ranges_m[ray] == pytest.approx(exact, abs=0.03), "wrong merged range"

    def test_each_of_several_robots_has_its_own_readings(
        self, simulator: Simulator, world: Path, robot: RobotModel
    ) -> None:
        if not simulator.several_robots:
            pytest.skip(f"{simulator.name} supports one robot in a scene")
        second = service_robot("front_lidar", "second")
        other_robot = PlacedRobot(
            second, Pose2D(2.0, 2.0, math.pi), silent(named(second, "rear_lidar"))
        )
        scene = Scene(
            world,
            robot,
            others=(other_robot,),
            sensors=silent(named(robot, "rear_lidar", "camera")),
        )
        snapshot = self.load(simulator, scene).snapshot()
        readings = snapshot.of_robot("second").sensors
        assert (set(snapshot.sensors), set(readings)) == ({"rear_lidar", "camera"}, {"rear_lidar"})
        ahead_m = float(readings["rear_lidar"].ranges_m[0, 270])
        assert ahead_m == pytest.approx(WALL_M - 2.17, abs=ERROR_M), "not its own reading"


def service_robot(lidar: str, name: str = "robot") -> RobotModel:
    """Return the model of the service robot. ``lidar`` is the name of the lidar that measures its
    scan, or the names of several merged lidars, separated by commas."""
    return read_robot(share_directory() / "models" / "service_robot", name, lidar=lidar)


def named(robot: RobotModel, *names: str) -> Tuple[Sensor, ...]:
    """Return the sensors of a robot with these names."""
    return tuple(next(sensor for sensor in robot.sensors if sensor.name == name) for name in names)


def silent(sensors: Tuple[Sensor, ...]) -> Tuple[Sensor, ...]:
    """Return the sensors without noise."""
    return tuple(replace(sensor, noise_m=(0.0, 0.0)) for sensor in sensors)


def box(name: str, size: str, at_m: Tuple[float, float, float]) -> NamedModel:
    """Return a static box with its center at a position (m)."""
    text = BOX.format(name=name, static="true", pose="0 0 0 0 0 0", size=size)
    return NamedModel(name, f'<sdf version="1.6">{text}</sdf>', Pose(at_m))
