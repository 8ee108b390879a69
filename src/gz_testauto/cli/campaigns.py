"""Runs campaigns for the verbs that do, as their options say. No verb."""

import argparse
from pathlib import Path

from gz_testauto.campaign.executor import StopRequest
from gz_testauto.campaign.executors import chosen_executor
from gz_testauto.campaign.results import CampaignResults
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.trials import Selection
from gz_testauto.cli.progress import progress_listener
from gz_testauto.cli.workers import chosen_workers
from gz_testauto.spec.campaign import CampaignSpec


def run_trials(
    spec: CampaignSpec,
    out: Path,
    arguments: argparse.Namespace,
    selection: Selection,
    should_stop: StopRequest,
    resume: bool = False,
) -> CampaignResults:
    """Run or continue a campaign in ``out`` with progress on standard error;
    ``arguments`` hold the options of :mod:`gz_testauto.cli.workers`."""
    return run_campaign(
        spec,
        out,
        chosen_executor(spec, out),
        make_workers=chosen_workers(arguments),
        selection=selection,
        resume=resume,
        listener=progress_listener(),
        should_stop=should_stop,
    )
