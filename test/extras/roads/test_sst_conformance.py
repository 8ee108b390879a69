"""The trajectory planners pass the suite for planners."""

import pytest

from gz_testauto.planners import make_planner
from gz_testauto.testing.planner_conformance import PlannerConformance


@pytest.mark.slow
class TestStableSparseRrt(PlannerConformance):
    draws_random_numbers = True

    def make_planner(self):
        return make_planner("sst", iterations=500)


@pytest.mark.slow
class TestInformedSst(PlannerConformance):
    draws_random_numbers = True

    def make_planner(self):
        return make_planner("dki_sst", iterations=500)
