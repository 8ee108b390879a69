"""Trial executors, each found by name, and which of them runs the trials of a campaign.

``lockstep`` runs this package's planners in-process, ``nodes`` the same over ROS, one node each
(the ``campaign`` node's), ``isolated_nodes`` that with a ROS master and a simulator node of its
own, so that several run side by side, and ``launch_files`` what the launch files of a campaign
with ``stack`` start. A module is imported when its executor is asked for: all but the first need
ROS.
"""

import functools
from pathlib import Path
from typing import Any

from gz_testauto.base.registry import Registry
from gz_testauto.campaign.simulator import start_simulator
from gz_testauto.spec.campaign import CampaignSpec, StackCampaignSpec
from gz_testauto.workers.interface import ExecutorFactory

EXECUTORS = Registry(
    "executor",
    {
        "lockstep": "gz_testauto.trial.lockstep:LockstepExecutor",
        "nodes": "gz_testauto.ros.campaign.executor:RosTrialExecutor",
        "isolated_nodes": ("gz_testauto.ros.campaign.isolated_executor:IsolatedNodesExecutor"),
        "launch_files": "gz_testauto.ros.stack.executor:StackExecutor",
    },
)


def executor_factory(name: str, **options: Any) -> ExecutorFactory:
    """Makes, of a campaign, the executor registered as ``name``; ``options`` go to its
    constructor, and it is picklable where they are. Raises ``UnknownNameError``, and
    ``MissingDependencyError`` for one that needs ROS where there is none."""
    return functools.partial(EXECUTORS.get(name), **options)


def chosen_executor(spec: CampaignSpec, out: Path) -> ExecutorFactory:
    """Makes the executor of a campaign whose results go to ``out``; picklable. Raises
    ``MissingDependencyError``."""
    if isinstance(spec, StackCampaignSpec):
        return executor_factory("launch_files", out=Path(out).absolute())
    return executor_factory("lockstep", open_simulator=start_simulator)
