import math
import time
from typing import ClassVar

import numpy as np
import pytest

from gz_testauto.base.observation import Twist2D
from gz_testauto.base.pose import Pose2D
from gz_testauto.planners import PLANNERS
from gz_testauto.planners.interface import (
    LocalPlanner,
    Observation,
    PlannerAborted,
    RobotLimits,
    Task,
)
from gz_testauto.planners.timed import TimedPlanner, warm_up

TASK = Task(Pose2D(1, 0), 0.5, np.zeros((2, 2)), RobotLimits(((1, 0), (0, 1), (-1, 0))))
NOW = Observation(0.0, Pose2D(0, 0), Twist2D(), None)


class Obedient(LocalPlanner):
    """Answers with what it is given: a command, or something to raise."""

    def __init__(self, *answers, sleep_s=0.0):
        self.answers, self.sleep_s, self.begun = list(answers), sleep_s, 0

    def begin(self, task):
        self.begun += 1

    def plan(self, observation):
        time.sleep(self.sleep_s)
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer


def test_every_cycle_is_timed_in_wall_and_in_cpu_time():
    planner = TimedPlanner(Obedient(Twist2D(1.0), Twist2D(0.5), sleep_s=0.02))
    planner.begin(TASK)
    assert planner.plan(NOW) == Twist2D(1.0)
    assert planner.plan(NOW) == Twist2D(0.5)
    wall_s, cpu_s = planner.cycle_times_s
    assert len(wall_s) == len(cpu_s) == 2
    assert (wall_s >= 0.02).all()
    assert (cpu_s < 0.02).all()  # it slept


def test_cycle_times_cover_all_goals_of_a_trial():
    planner = TimedPlanner(Obedient(Twist2D(), Twist2D()))
    for _ in range(2):
        planner.begin(TASK)
        planner.plan(NOW)
    assert len(planner.cycle_times_s[0]) == 2


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (PlannerAborted("walled in"), "walled in"),
        (PlannerAborted(), "found no path"),
        (ValueError("odd scan"), r"ValueError: odd scan \(.*test_timed\.py:\d+\)"),
        (Twist2D(math.nan, 0.0), "returned the command"),
        (Twist2D(0.0, math.inf), "returned the command"),
    ],
)
def test_planner_that_aborts_or_fails_reports_the_reason_and_the_cycle_counts(answer, says):
    planner = TimedPlanner(Obedient(answer))
    planner.begin(TASK)
    with pytest.raises(PlannerAborted, match=says):
        planner.plan(NOW)
    assert len(planner.cycle_times_s[0]) == 1


def test_interruption_is_not_a_failure_of_the_planner():
    planner = TimedPlanner(Obedient(KeyboardInterrupt()))
    planner.begin(TASK)
    with pytest.raises(KeyboardInterrupt):
        planner.plan(NOW)


SQUARE_M = np.array([[0.3, 0.3], [-0.3, 0.3], [-0.3, -0.3], [0.3, -0.3]])
LIMITS = RobotLimits(footprint_m=SQUARE_M, max_linear_mps=1.0, max_angular_radps=1.0)


class WithWarmUp(LocalPlanner):
    """A planner that records its calls."""

    needs_warm_up = True
    calls: ClassVar[list] = []

    def begin(self, task):
        type(self).calls.append(len(task.lanes))

    def plan(self, observation):
        type(self).calls.append(observation.pose)
        raise PlannerAborted("no path")


class WithoutWarmUp(WithWarmUp):
    needs_warm_up = False

    def plan(self, observation):
        return Twist2D()


@pytest.mark.parametrize(("planner", "times"), [(WithWarmUp, 1), (WithoutWarmUp, 0)])
@pytest.mark.parametrize("on_road", [False, True])
def test_warm_up_runs_one_cycle_of_a_planner_that_needs_it(monkeypatch, planner, times, on_road):
    monkeypatch.setattr(PLANNERS, "get", lambda name: planner)
    monkeypatch.setattr(WithWarmUp, "calls", [])
    warm_up("any", {}, LIMITS, on_road)
    assert WithWarmUp.calls == [int(on_road), (0.0, 0.0, 0.0)][: 2 * times]
