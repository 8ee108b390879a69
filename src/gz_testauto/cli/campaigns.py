"""Runs campaigns for the verbs that do, as their options say. No verb."""

import argparse
import functools
from pathlib import Path

from gz_testauto.campaign.executor import StopRequest
from gz_testauto.campaign.lockstep import LockstepExecutor
from gz_testauto.campaign.results import CampaignResults
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.simulator import start_simulator
from gz_testauto.campaign.trials import Selection
from gz_testauto.cli.progress import progress_listener
from gz_testauto.cli.workers import chosen_workers
from gz_testauto.spec.campaign import CampaignSpec


def run_lockstep(
    spec: CampaignSpec,
    out: Path,
    arguments: argparse.Namespace,
    selection: Selection,
    should_stop: StopRequest,
    resume: bool = False,
) -> CampaignResults:
    """Run or continue a campaign in ``out``, in-process, with progress on standard error;
    ``arguments`` hold the options of :mod:`gz_testauto.cli.workers`."""
    return run_campaign(
        spec,
        out,
        functools.partial(LockstepExecutor, open_simulator=start_simulator),
        make_workers=chosen_workers(arguments),
        selection=selection,
        resume=resume,
        listener=progress_listener(),
        should_stop=should_stop,
    )
