"""A local planner as a trial asks it: timed, and with whatever it does wrong as its giving up.

Owns the timing of its cycles, in wall time and in CPU time of the calling thread. Simulated
time stands still meanwhile, so how long a planner thinks changes no trajectory. A planner that
raises something unexpected, or commands what is not a number, has given up as far as the trial
is concerned: a campaign over night is there to find that, not to die of it.
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


def as_shown(observation: Observation) -> Observation:
    """What a planner is shown of an observation: the scan in the precision of ROS's message, so
    that the same trial over ROS is the same to the bit."""
    if observation.scan is None:
        return observation
    return dataclasses.replace(observation, scan=observation.scan.in_single_precision())


class TimedPlanner(LocalPlanner):
    """One instance of a local planner, and the time that each of its answers took."""

    def __init__(self, planner: LocalPlanner) -> None:
        self._planner = planner
        self.wants_objects = planner.wants_objects
        self._wall_s: List[float] = []
        self._cpu_s: List[float] = []

    def begin(self, task: Task) -> None:
        """Hand the task to the planner; its time is not a cycle."""
        self._planner.begin(task)

    def plan(self, observation: Observation) -> Twist2D:
        """Ask the planner and time its answer; a cycle in which it gives up counts too."""
        observation = as_shown(observation)
        cpu_s, wall_s = time.thread_time(), time.perf_counter()
        try:
            command = self._planner.plan(observation)
        except PlannerGaveUp as gave_up:
            raise PlannerGaveUp(str(gave_up) or "the planner sees no way") from gave_up
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
        """What the planner says of the trial."""
        return self._planner.numbers

    @property
    def cycle_times_s(self) -> Tuple[np.ndarray, np.ndarray]:
        """Wall and CPU time (s) of every call of :meth:`plan`, both shape (m,)."""
        return np.array(self._wall_s), np.array(self._cpu_s)


def _describe(error: Exception) -> str:
    """The error in one line, with the place that raised it."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"the planner raised {type(error).__name__}: {error} ({place.filename}:{place.lineno})"
