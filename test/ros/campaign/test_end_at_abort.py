"""The end of a trial over ROS after its planner aborted."""

from types import SimpleNamespace

import pytest

from gz_testauto.base.errors import SimulatorError
from gz_testauto.ros.campaign import executor

MONITOR = SimpleNamespace(planner_aborted=lambda reason: f"aborted: {reason}")


def test_an_abort_of_a_planner_whose_simulator_has_died_is_no_result(monkeypatch):
    monkeypatch.setattr(executor, "is_served", lambda service, timeout_s: False)
    with pytest.raises(SimulatorError, match="does not respond; the planner aborted: no transform"):
        executor._end_at_abort(MONITOR, "no transform")
    monkeypatch.setattr(executor, "is_served", lambda service, timeout_s: True)
    assert executor._end_at_abort(MONITOR, "no path") == "aborted: no path"
