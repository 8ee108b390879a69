"""What the suites for simulators stand on: one simulator for a whole suite.

Owns its start and its end, and what several suites ask of a simulation.
"""

import re
from typing import ClassVar, ContextManager, Optional

import pytest

from gz_testauto.errors import SimulatorError
from gz_testauto.resources import share_directory
from gz_testauto.sdf.robot import RobotModel, read_robot
from gz_testauto.simulators.interface import Simulator

PERIOD_S = 0.1


class SimulatorSuite:
    """A suite of tests of one simulator. Override :meth:`make_simulator`."""

    def make_simulator(self) -> Simulator:
        """Start the simulator under test."""
        raise NotImplementedError("override make_simulator()")

    _running: ClassVar[Optional[Simulator]] = None

    @pytest.fixture
    def simulator(self) -> Simulator:
        """The one simulator of the suite, started when first asked for."""
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
        """The wheelchair."""
        return read_robot(share_directory() / "models" / "wheelchair", "robot")


def refused(says: str) -> ContextManager[object]:
    """What is done within raises ``SimulatorError`` with exactly this message."""
    return pytest.raises(SimulatorError, match=f"^{re.escape(says)}$")
