"""Every planner of the core passes the suite that it offers to others."""

import pytest

from gz_testauto.planners import PLANNERS, make_planner
from gz_testauto.testing.planner_conformance import PlannerConformance


class TestStraight(PlannerConformance):
    avoids_obstacles = False

    def make_planner(self):
        return make_planner("straight")


class TestFollowTheGap(PlannerConformance):
    def make_planner(self):
        return make_planner("fgm")


class TestImprovedFollowTheGap(PlannerConformance):
    def make_planner(self):
        return make_planner("fgm_improved")


@pytest.mark.slow
class TestDynamicWindow(PlannerConformance):
    def make_planner(self):
        return make_planner("dwa")


class TestFoxDynamicWindow(PlannerConformance):
    def make_planner(self):
        return make_planner("dwa_fox")


@pytest.mark.parametrize("name", ["straight", "fgm", "fgm_improved", "dwa", "dwa_fox"])
def test_all_registered_planners_run_the_conformance_suite(name):
    assert name in PLANNERS.names()
