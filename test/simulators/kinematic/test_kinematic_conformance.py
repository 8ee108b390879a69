"""The conformance suite for simulators, run on the kinematic simulator."""

from gz_testauto.simulators.kinematic import KinematicSimulator
from gz_testauto.testing.simulator_conformance import SimulatorConformance


class TestKinematic(SimulatorConformance):
    def make_simulator(self):
        return KinematicSimulator()
