"""The planar fake is a simulator like any other, as far as a campaign can tell."""

from gz_testauto.testing.planar import PlanarSimulator
from gz_testauto.testing.simulator_conformance import SimulatorConformance


class TestPlanar(SimulatorConformance):
    tolerance = 1e-3  # chords are a little shorter than the arc

    def make_simulator(self):
        return PlanarSimulator()
