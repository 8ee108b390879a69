"""Executors are found by name, as planners and simulators are."""

import importlib.util
import pickle

import pytest

from gz_testauto.base.errors import MissingDependencyError, UnknownNameError
from gz_testauto.campaign.executors import EXECUTORS, chosen_executor, executor_factory
from gz_testauto.trial.executor import TrialExecutor
from gz_testauto.trial.lockstep import LockstepExecutor

HAS_ROS = importlib.util.find_spec("rospy") is not None


def test_this_packages_executors_are_found_by_name():
    assert {"launch_files", "lockstep", "nodes"} <= set(EXECUTORS.names())
    assert EXECUTORS.get("lockstep") is LockstepExecutor
    for name in ("launch_files", *(["nodes"] if HAS_ROS else [])):
        assert issubclass(EXECUTORS.get(name), TrialExecutor)


@pytest.mark.skipif(HAS_ROS, reason="there is ROS here")
def test_an_executor_that_needs_ros_is_named_where_there_is_none():
    with pytest.raises(MissingDependencyError, match="executor 'nodes' cannot be loaded"):
        executor_factory("nodes")


def test_an_unknown_executor_is_named_with_the_near_miss():
    with pytest.raises(UnknownNameError, match="did you mean 'lockstep'"):
        executor_factory("lockstp")


def test_the_executor_of_a_campaign_can_be_given_to_another_process(smoke, tmp_path):
    factory = pickle.loads(pickle.dumps(chosen_executor(smoke, tmp_path)))
    assert factory.func is LockstepExecutor
