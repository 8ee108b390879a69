"""Real Gazebo passes the conformance suite."""

import pytest

from gz_testauto.simulators.gazebo import GazeboSimulator
from gz_testauto.testing.simulator_conformance import SimulatorConformance


@pytest.mark.gazebo
class TestGazebo(SimulatorConformance):
    def make_simulator(self):
        return GazeboSimulator()
