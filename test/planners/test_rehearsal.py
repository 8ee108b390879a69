"""Planners that plan once before it counts."""

from typing import ClassVar

import numpy as np
import pytest

from gz_testauto.base.observation import Twist2D
from gz_testauto.planners import PLANNERS
from gz_testauto.planners.interface import LocalPlanner, PlannerGaveUp, RobotLimits
from gz_testauto.planners.rehearsal import rehearse

SQUARE_M = np.array([[0.3, 0.3], [-0.3, 0.3], [-0.3, -0.3], [0.3, -0.3]])
LIMITS = RobotLimits(footprint_m=SQUARE_M, max_linear_mps=1.0, max_angular_radps=1.0)


class Slow(LocalPlanner):
    """Says what it was asked."""

    rehearses = True
    asked: ClassVar[list] = []

    def begin(self, task):
        type(self).asked.append(len(task.lanes))

    def plan(self, observation):
        type(self).asked.append(observation.pose)
        raise PlannerGaveUp("there is nothing")


class Quick(Slow):
    rehearses = False

    def plan(self, observation):
        return Twist2D()


@pytest.mark.parametrize(("planner", "times"), [(Slow, 1), (Quick, 0)])
@pytest.mark.parametrize("on_road", [False, True])
def test_who_wants_it_plans_once_on_an_empty_plain(monkeypatch, planner, times, on_road):
    monkeypatch.setattr(PLANNERS, "get", lambda name: planner)
    monkeypatch.setattr(Slow, "asked", [])
    rehearse("any", {}, LIMITS, on_road)
    assert Slow.asked == [int(on_road), (0.0, 0.0, 0.0)][: 2 * times]
