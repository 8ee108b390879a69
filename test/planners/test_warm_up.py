"""The warm-up of planners."""

from typing import ClassVar

import numpy as np
import pytest

from gz_testauto.base.observation import Twist2D
from gz_testauto.planners import PLANNERS
from gz_testauto.planners.interface import LocalPlanner, PlannerGaveUp, RobotLimits
from gz_testauto.planners.timed import warm_up

SQUARE_M = np.array([[0.3, 0.3], [-0.3, 0.3], [-0.3, -0.3], [0.3, -0.3]])
LIMITS = RobotLimits(footprint_m=SQUARE_M, max_linear_mps=1.0, max_angular_radps=1.0)


class Slow(LocalPlanner):
    """A planner that records its calls."""

    needs_warm_up = True
    calls: ClassVar[list] = []

    def begin(self, task):
        type(self).calls.append(len(task.lanes))

    def plan(self, observation):
        type(self).calls.append(observation.pose)
        raise PlannerGaveUp("no path")


class Quick(Slow):
    needs_warm_up = False

    def plan(self, observation):
        return Twist2D()


@pytest.mark.parametrize(("planner", "times"), [(Slow, 1), (Quick, 0)])
@pytest.mark.parametrize("on_road", [False, True])
def test_planner_with_warm_up_runs_one_cycle(monkeypatch, planner, times, on_road):
    monkeypatch.setattr(PLANNERS, "get", lambda name: planner)
    monkeypatch.setattr(Slow, "calls", [])
    warm_up("any", {}, LIMITS, on_road)
    assert Slow.calls == [int(on_road), (0.0, 0.0, 0.0)][: 2 * times]
