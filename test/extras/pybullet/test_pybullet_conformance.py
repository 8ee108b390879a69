"""The conformance suites for simulators, run on PyBullet."""

import pytest

from gz_testauto.testing.changes_conformance import ChangesConformance
from gz_testauto.testing.sensors_conformance import SensorsConformance
from gz_testauto.testing.several_robots_conformance import SeveralRobotsConformance
from gz_testauto.testing.simulator_conformance import SimulatorConformance

pytest.importorskip("pybullet", reason="no PyBullet here: pip install gz_testauto[pybullet]")

from gz_testauto.extras.pybullet import PyBulletSimulator


@pytest.mark.slow
class TestPyBullet(SimulatorConformance):
    def make_simulator(self):
        return PyBulletSimulator()


@pytest.mark.slow
class TestPyBulletChanges(ChangesConformance):
    def make_simulator(self):
        return PyBulletSimulator()


@pytest.mark.slow
class TestPyBulletSeveralRobots(SeveralRobotsConformance):
    def make_simulator(self):
        return PyBulletSimulator()


@pytest.mark.slow
class TestPyBulletSensors(SensorsConformance):
    def make_simulator(self):
        return PyBulletSimulator()
