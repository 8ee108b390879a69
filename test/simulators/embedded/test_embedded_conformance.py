"""The conformance suites for simulators, run on the embedded simulator."""

from gz_testauto.simulators.embedded import EmbeddedSimulator
from gz_testauto.testing.changes_conformance import ChangesConformance
from gz_testauto.testing.sensors_conformance import SensorsConformance
from gz_testauto.testing.several_robots_conformance import SeveralRobotsConformance
from gz_testauto.testing.simulator_conformance import SimulatorConformance


class TestEmbedded(SimulatorConformance):
    def make_simulator(self):
        return EmbeddedSimulator()


class TestEmbeddedThatSlidesByCoulombsLaw(SimulatorConformance):
    def make_simulator(self):
        return EmbeddedSimulator(skid="wheels")


class TestEmbeddedChanges(ChangesConformance):
    def make_simulator(self):
        return EmbeddedSimulator()


class TestEmbeddedSeveralRobots(SeveralRobotsConformance):
    def make_simulator(self):
        return EmbeddedSimulator()


class TestEmbeddedSensors(SensorsConformance):
    def make_simulator(self):
        return EmbeddedSimulator()
