"""MuJoCo passes the conformance suite."""

from gz_testauto.simulators.embedded import EmbeddedSimulator
from gz_testauto.testing.simulator_conformance import SimulatorConformance


class TestEmbedded(SimulatorConformance):
    def make_simulator(self):
        return EmbeddedSimulator()
