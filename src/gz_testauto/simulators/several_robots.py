"""Simulations that keep what is on board of each robot, the first one and further ones alike."""

from typing import Dict, Generic, Mapping, TypeVar

from typing_extensions import Protocol

from gz_testauto.base.observation import ModelState, SensorReadings, Snapshot, Twist2D
from gz_testauto.simulators.interface import Simulation

NOTHING = SensorReadings()


class OnboardRobot(Protocol):
    """What is asked of a robot."""

    def drive(self, command: Twist2D) -> None:
        """Obey this from now on."""

    def sensed(self) -> SensorReadings:
        """What was measured since it was last asked."""


Robot = TypeVar("Robot", bound=OnboardRobot)


class SeveralRobotsSimulation(Simulation, Generic[Robot]):
    """See :class:`~gz_testauto.simulators.interface.Simulation`. An adaptor keeps ``_onboard``,
    its robots by name, without those that have been deleted."""

    _onboard: Dict[str, Robot]

    def _shown(
        self, time_s: float, models: Mapping[str, ModelState], links: Mapping[str, ModelState]
    ) -> Snapshot:
        """A snapshot with what the robots have sensed."""
        sensed = {name: robot.sensed() for name, robot in self._onboard.items()}
        first = NOTHING if self.robot is None else sensed.pop(self.robot.name)
        return Snapshot(time_s, models, links, first.scan, first.imu, first.contacts, sensed)

    def _drive(self, command: Twist2D) -> None:
        assert self.robot is not None, "the interface asks before"
        self._onboard[self.robot.name].drive(command)

    def _drive_other(self, command: Twist2D, robot: str) -> None:
        self._onboard[robot].drive(command)
