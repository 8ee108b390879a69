"""A local planner in a trial: with measured cycle times, and with failures as an outcome.

Owns the cycle times, in wall time and in CPU time of the calling thread. Simulated time does not
advance meanwhile, so a slow planner does not change a trajectory. If a planner raises an exception
or returns a command that is not finite, the outcome is ``planner_aborted``: a campaign must report
a faulty planner, not stop.
"""

import dataclasses
import logging
import math
import time
import traceback
from typing import List, Mapping, Tuple

import numpy as np

from gz_testauto.base.observation import Twist2D
from gz_testauto.planners.interface import LocalPlanner, Observation, PlannerGaveUp, Task

LOGGER = logging.getLogger(__name__)


def in_message_precision(observation: Observation) -> Observation:
    """Return an observation as a planner receives it: the scan has the precision of the ROS
    message, so that a trial over ROS has the same bits."""
    if observation.scan is None:
        return observation
    return dataclasses.replace(observation, scan=observation.scan.in_single_precision())


class TimedPlanner(LocalPlanner):
    """An instance of a local planner, with the time of each cycle."""

    def __init__(self, planner: LocalPlanner) -> None:
        self._planner = planner
        self.wants_objects = planner.wants_objects
        self._wall_s: List[float] = []
        self._cpu_s: List[float] = []

    def begin(self, task: Task) -> None:
        """Pass the task to the planner; its time is not a cycle."""
        self._planner.begin(task)

    def plan(self, observation: Observation) -> Twist2D:
        """Return the planner's command and measure its time; a cycle that raises ``PlannerGaveUp``
        also counts."""
        observation = in_message_precision(observation)
        cpu_s, wall_s = time.thread_time(), time.perf_counter()
        try:
            command = self._planner.plan(observation)
        except PlannerGaveUp as gave_up:
            raise PlannerGaveUp(str(gave_up) or "the planner found no path") from gave_up
        except Exception as error:
            LOGGER.exception("the planner failed at %.2f s", observation.time_s)
            raise PlannerGaveUp(_describe(error)) from error
        finally:
            self._wall_s.append(time.perf_counter() - wall_s)
            self._cpu_s.append(time.thread_time() - cpu_s)
        if not all(map(math.isfinite, command)):
            raise PlannerGaveUp(f"the planner commanded {tuple(command)}")
        return command

    @property
    def numbers(self) -> Mapping[str, float]:
        """Return the planner's numbers for the trial."""
        return self._planner.numbers

    @property
    def cycle_times_s(self) -> Tuple[np.ndarray, np.ndarray]:
        """Return wall and CPU time (s) of every call of :meth:`plan`, both shape (m,)."""
        return np.array(self._wall_s), np.array(self._cpu_s)


def _describe(error: Exception) -> str:
    """Return the error in one line, with its file and line."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"the planner raised {type(error).__name__}: {error} ({place.filename}:{place.lineno})"
