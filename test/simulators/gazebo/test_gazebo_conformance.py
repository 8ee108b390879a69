"""The conformance suites for simulators, run on the simulator gazebo."""

import pytest

from gz_testauto.simulators.gazebo import GazeboSimulator
from gz_testauto.testing.changes_conformance import ChangesConformance
from gz_testauto.testing.sensors_conformance import SensorsConformance
from gz_testauto.testing.several_robots_conformance import SeveralRobotsConformance
from gz_testauto.testing.simulator_conformance import SimulatorConformance


@pytest.mark.gazebo
class TestGazebo(SimulatorConformance):
    def make_simulator(self):
        return GazeboSimulator()


@pytest.mark.gazebo
@pytest.mark.slow
class TestGazeboWithBullet(SimulatorConformance):
    astray = 0.04  # Bullet's wheels pull to one side

    def make_simulator(self):
        return GazeboSimulator(engine="bullet")


@pytest.mark.gazebo
class TestGazeboChanges(ChangesConformance):
    def make_simulator(self):
        return GazeboSimulator()


@pytest.mark.gazebo
class TestGazeboSeveralRobots(SeveralRobotsConformance):
    def make_simulator(self):
        return GazeboSimulator()


@pytest.mark.gazebo
class TestGazeboSensors(SensorsConformance):
    def make_simulator(self):
        return GazeboSimulator()
