"""Choose the trial executor of a campaign."""

import functools
from pathlib import Path

from gz_testauto.base.registry import load_object
from gz_testauto.campaign.simulator import start_simulator
from gz_testauto.spec.campaign import CampaignSpec, StackCampaignSpec
from gz_testauto.trial.lockstep import LockstepExecutor
from gz_testauto.workers.interface import ExecutorFactory


def chosen_executor(spec: CampaignSpec, out: Path) -> ExecutorFactory:
    """Return what creates the executor of a campaign whose results are in ``out``; picklable.

    This package's planners run in this process in lock-step; a stack is started from the user's
    launch files, by a module that needs ROS and is imported only then.
    """
    if isinstance(spec, StackCampaignSpec):
        stack_executor = load_object("gz_testauto.ros.stack.executor:StackExecutor")
        return functools.partial(stack_executor, out=Path(out).absolute())
    return functools.partial(LockstepExecutor, open_simulator=start_simulator)
