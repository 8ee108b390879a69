"""Execution of a local planner in a trial, with a measurement of cycle times and a warm-up."""

import contextlib
import dataclasses
import logging
import math
import time
import traceback
from typing import Any, List, Mapping, Tuple

import numpy as np

from gz_testauto.base.observation import LaserScan, Twist2D
from gz_testauto.base.pose import Pose2D
from gz_testauto.planners import make_planner
from gz_testauto.planners.interface import (
    Lane,
    LocalPlanner,
    Observation,
    PlannerAborted,
    RobotLimits,
    Task,
)

LOGGER = logging.getLogger(__name__)

_GOAL_M, _RAYS, _RANGE_M, _LANE_WIDTH_M = 5.0, 360, 10.0, 4.0  # of the warm-up


def in_message_precision(observation: Observation) -> Observation:
    """Return the observation with its scan in the single precision of ROS messages, so that trials
    with and without ROS are bit-identical."""
    if observation.scan is None:
        return observation
    return dataclasses.replace(observation, scan=observation.scan.in_single_precision())


class TimedPlanner(LocalPlanner):
    """A wrapper of a local planner that measures the time of each cycle.

    If the planner raises an exception or returns a command that is not finite, :meth:`plan` raises
    ``PlannerAborted``.
    """

    def __init__(self, planner: LocalPlanner) -> None:
        self._planner = planner
        self.wants_objects = planner.wants_objects
        self.sensors = planner.sensors
        self._wall_s: List[float] = []
        self._cpu_s: List[float] = []

    def begin(self, task: Task) -> None:
        self._planner.begin(task)

    def plan(self, observation: Observation) -> Twist2D:
        observation = in_message_precision(observation)
        cpu_s, wall_s = time.thread_time(), time.perf_counter()
        try:
            command = self._planner.plan(observation)
        except PlannerAborted as aborted:
            raise PlannerAborted(str(aborted) or "the planner found no path") from aborted
        except Exception as error:
            LOGGER.exception("the planner failed at %.2f s", observation.time_s)
            raise PlannerAborted(_describe(error)) from error
        finally:
            self._wall_s.append(time.perf_counter() - wall_s)
            self._cpu_s.append(time.thread_time() - cpu_s)
        if not all(map(math.isfinite, command)):
            raise PlannerAborted(
                f"the planner returned the command {tuple(command)}, which is not finite"
            )
        return command

    @property
    def numbers(self) -> Mapping[str, float]:
        return self._planner.numbers

    @property
    def cycle_times_s(self) -> Tuple[np.ndarray, np.ndarray]:
        """The wall times and the CPU times (s) of all calls of :meth:`plan`."""
        return np.array(self._wall_s), np.array(self._cpu_s)


def _describe(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"the planner raised {type(error).__name__}: {error} ({frame.filename}:{frame.lineno})"


def warm_up(
    plugin: str, parameters: Mapping[str, Any], limits: RobotLimits, on_road: bool = False
) -> None:
    """Run one cycle of a new planner on an empty plane, if its class needs a warm-up.

    Compilation, loading and imports then do not count as cycle time. Raises ``SpecError`` if the
    planner cannot be constructed.
    """
    planner: LocalPlanner = make_planner(plugin, **parameters)
    if not planner.needs_warm_up:
        return
    path_m = np.array([[0.0, 0.0], [_GOAL_M, 0.0]])
    long_m = np.array([[-4 * _GOAL_M, 0.0], [4 * _GOAL_M, 0.0]])
    lanes = (Lane(long_m, np.full(2, _LANE_WIDTH_M)),) if on_road else ()
    empty_ranges_m = np.full(_RAYS, math.inf)
    scan = LaserScan(0.0, -math.pi, math.pi, 0.1, _RANGE_M, empty_ranges_m)
    with contextlib.suppress(PlannerAborted):
        planner.begin(Task(Pose2D(_GOAL_M, 0.0, 0.0), 0.5, path_m, limits, lanes=lanes))
        planner.plan(Observation(0.0, Pose2D(0.0, 0.0, 0.0), Twist2D(), scan))
