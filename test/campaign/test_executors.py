"""The executor of a campaign follows from what it tests."""

import pickle

from gz_testauto.campaign.simulator import chosen_executor
from gz_testauto.ros.stack.executor import StackExecutor
from gz_testauto.spec.campaign import StackCampaignSpec
from gz_testauto.trial.lockstep import LockstepExecutor


def test_planners_of_this_package_run_in_the_lockstep_executor(smoke, tmp_path):
    assert chosen_executor(smoke, tmp_path).func is LockstepExecutor


def test_stack_executor_receives_the_absolute_path_of_the_results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    factory = chosen_executor(StackCampaignSpec.model_construct(), "results")
    assert factory.func is StackExecutor
    assert factory.keywords == {"out": tmp_path / "results"}


def test_executor_factory_of_a_campaign_can_be_pickled(smoke, tmp_path):
    factory = pickle.loads(pickle.dumps(chosen_executor(smoke, tmp_path)))
    assert factory.func is LockstepExecutor
