"""Campaigns of the commands that run the same trials in two simulators."""

import argparse
import sys
from typing import Tuple

from gz_testauto.base.errors import SpecError
from gz_testauto.campaign.simulator import simulator_options, with_simulator
from gz_testauto.cli.campaigns import run_trials
from gz_testauto.results.records import CampaignResults
from gz_testauto.spec.campaign import BuiltinCampaignSpec, CampaignSpec
from gz_testauto.trial.executor import StopRequest
from gz_testauto.trial.plan import TrialSelection


def on_two_simulators(
    spec: CampaignSpec, first: str, second: str, options: str
) -> Tuple[BuiltinCampaignSpec, BuiltinCampaignSpec]:
    """Return the campaign with the simulator ``first``, and with the simulator ``second``.

    Raises ``SpecError`` if the simulators are equal, or a simulator rejects ``simulator_options``.
    ``options`` names the command-line options in the error.
    """
    one, other = with_simulator(spec, first), with_simulator(spec, second)
    if one.simulator == other.simulator:
        raise SpecError(f"{options} are both {one.simulator}; use two different simulators")
    simulator_options(one)
    simulator_options(other)
    return one, other


def run_in_simulator(
    spec: BuiltinCampaignSpec,
    arguments: argparse.Namespace,
    selection: TrialSelection,
    should_stop: StopRequest,
    resume: bool = False,
) -> CampaignResults:
    """Run or continue a campaign of :func:`on_two_simulators` in ``arguments.out``/SIMULATOR."""
    print(f"{spec.simulator}:", file=sys.stderr, flush=True)
    return run_trials(
        spec, arguments.out / spec.simulator, arguments, selection, should_stop, resume
    )
