"""Simulations with several robots, each with its own drive controller and sensors."""

from typing import Dict, Generic, Mapping, TypeVar

from typing_extensions import Protocol

from gz_testauto.base.observation import ModelState, SensorReadings, Snapshot, Twist2D
from gz_testauto.simulators.interface import Simulation

NOTHING = SensorReadings()


class OnboardRobot(Protocol):
    """A simulated robot: it accepts velocity commands and returns sensor readings."""

    def drive(self, command: Twist2D) -> None:
        """Set the velocity command from now on."""

    def sensed(self) -> SensorReadings:
        """Return the readings since the previous call."""


Robot = TypeVar("Robot", bound=OnboardRobot)


class SeveralRobotsSimulation(Simulation, Generic[Robot]):
    """A world with robots; see :class:`~gz_testauto.simulators.interface.Simulation`. An adaptor
    sets ``_onboard``, its robots by name, without those that were deleted."""

    _onboard: Dict[str, Robot]

    def _shown(
        self, time_s: float, models: Mapping[str, ModelState], links: Mapping[str, ModelState]
    ) -> Snapshot:
        """Return a snapshot with the readings of all robots."""
        sensed = {name: robot.sensed() for name, robot in self._onboard.items()}
        first = NOTHING if self.robot is None else sensed.pop(self.robot.name)
        return Snapshot(time_s, models, links, first.scan, first.imu, first.contacts, sensed)

    def _drive(self, command: Twist2D) -> None:
        assert self.robot is not None, "checked by drive()"
        self._onboard[self.robot.name].drive(command)

    def _drive_other(self, command: Twist2D, robot: str) -> None:
        self._onboard[robot].drive(command)
