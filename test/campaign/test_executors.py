"""The executor of a campaign follows from what it tests."""

import pickle

from gz_testauto.campaign.executors import chosen_executor
from gz_testauto.ros.stack.executor import StackExecutor
from gz_testauto.spec.campaign import StackCampaignSpec
from gz_testauto.trial.lockstep import LockstepExecutor


def test_this_packages_planners_run_in_this_process_in_lockstep(smoke, tmp_path):
    assert chosen_executor(smoke, tmp_path).func is LockstepExecutor


def test_a_stack_is_started_from_launch_files_with_results_at_an_absolute_path(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    factory = chosen_executor(StackCampaignSpec.model_construct(), "results")
    assert factory.func is StackExecutor
    assert factory.keywords == {"out": tmp_path / "results"}


def test_the_executor_of_a_campaign_can_be_given_to_another_process(smoke, tmp_path):
    factory = pickle.loads(pickle.dumps(chosen_executor(smoke, tmp_path)))
    assert factory.func is LockstepExecutor
