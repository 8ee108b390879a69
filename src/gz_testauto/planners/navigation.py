"""What a trial needs from whatever drives the robot.

Call order, once per trial::

    navigator.begin(task)                      # send the goal
    while ...:
        command = navigator.command(observation)   # once per control period
    navigator.end()

A navigator that drives the robot by itself, as a navigation stack does over its own topics,
returns None from :meth:`Navigator.command`: there is nothing to apply.
"""

import abc
from typing import Optional, Tuple

import numpy as np

from gz_testauto.observation import Twist2D
from gz_testauto.planners.interface import Observation, Task


class NavigatorGaveUp(Exception):
    """Raised by ``command`` when the navigation under test says that it will not get there.

    An outcome (``planner_aborted``), not an error. The message is its reason.
    """


class Navigator(abc.ABC):
    """Drives the robot to one goal after the other."""

    @abc.abstractmethod
    def begin(self, task: Task) -> None:
        """Take on a new task. Raises ``NavigatorError`` when it cannot be given."""

    @abc.abstractmethod
    def command(self, observation: Observation) -> Optional[Twist2D]:
        """Return the command for the coming control period, or None where the navigation
        drives by itself. Raises ``NavigatorGaveUp``, or ``NavigatorError`` when the
        navigation itself is gone."""

    @abc.abstractmethod
    def end(self) -> None:
        """The trial is over, however it ended: stop driving. Idempotent."""

    @property
    @abc.abstractmethod
    def cycle_times_s(self) -> Tuple[np.ndarray, np.ndarray]:
        """Wall and CPU time (s) of every planner cycle since ``begin``, both shape (m,); empty
        where they cannot be seen."""
