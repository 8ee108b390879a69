"""Errors at the start of the process of a trial."""

import sys
from types import SimpleNamespace

import pytest

pytest.importorskip("rospy")

from gz_testauto.base.errors import MissingDependencyError
from gz_testauto.ros.stack import executor

DRIVE = "gz_testauto.ros.stack.trial"


class NoTrajectoryMessages:
    """An importer for which the module of the trial needs a package that is not installed."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == DRIVE:
            raise ModuleNotFoundError("No module named 'trajectory_msgs'", name="trajectory_msgs")


def test_missing_message_package_is_reported_with_its_name(tmp_path, monkeypatch):
    core = SimpleNamespace(close=lambda: None)
    monkeypatch.setattr(executor, "start_master", lambda home, logs, timeout_s: core)
    monkeypatch.setattr(sys, "meta_path", [NoTrajectoryMessages, *sys.meta_path])
    monkeypatch.delitem(sys.modules, DRIVE, raising=False)
    stack = SimpleNamespace(start_timeout_s=90.0)
    campaign = SimpleNamespace(spec=SimpleNamespace(stack=stack))
    with pytest.raises(MissingDependencyError) as raised:
        executor.start_stack_session(campaign, tmp_path, tmp_path, lambda doing: None)
    assert "ROS package trajectory_msgs" in str(raised.value)
    assert "\n" not in str(raised.value)
