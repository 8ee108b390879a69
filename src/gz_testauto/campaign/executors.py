"""Which executor runs the trials of a campaign.

This package's planners run in-process in lock-step; a campaign with ``stack`` needs ROS, whose
part is imported when it is asked for.
"""

import functools
from pathlib import Path

from gz_testauto.campaign.simulator import start_simulator
from gz_testauto.errors import MissingDependencyError
from gz_testauto.registry import load_object
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.trial.lockstep import LockstepExecutor
from gz_testauto.workers.interface import ExecutorFactory

STACK_EXECUTOR = "gz_testauto.ros.stack.executor:StackExecutor"


def chosen_executor(spec: CampaignSpec, out: Path) -> ExecutorFactory:
    """Make the executor of a campaign whose results go to ``out``; picklable. Raises
    ``MissingDependencyError``."""
    if spec.stack is None:
        return functools.partial(LockstepExecutor, open_simulator=start_simulator)
    try:
        return functools.partial(load_object(STACK_EXECUTOR), out=Path(out).absolute())
    except ImportError as error:
        raise MissingDependencyError(f"a campaign with stack needs ROS: {error}") from error
