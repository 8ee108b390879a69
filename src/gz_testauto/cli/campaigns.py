"""Functions of the verbs that run campaigns: options, execution and exit status. No verb."""

import argparse
import sys
from pathlib import Path
from typing import Any, Dict, Tuple

from gz_testauto.base.errors import SpecError
from gz_testauto.base.escaping import escape_text
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.signals import StopSignals
from gz_testauto.campaign.simulator import chosen_executor, simulator_options, with_simulator
from gz_testauto.campaign.world_plugins import plugins_notice
from gz_testauto.cli.progress import progress_listener
from gz_testauto.cli.workers import add_worker_arguments, chosen_workers, processors
from gz_testauto.results.records import CampaignResults
from gz_testauto.spec.campaign import BuiltinCampaignSpec, CampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.spec.worlds import SEEDS
from gz_testauto.trial.executor import StopRequest
from gz_testauto.trial.plan import TrialSelection

EXIT_INVALID = 1


def add_campaign_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of every verb that runs campaigns."""
    add_worker_arguments(parser)
    parser.add_argument(
        "--seed",
        type=_seed,
        metavar="N",
        help="campaign seed to use instead of the campaign's: other worlds where they are "
        "generated, other noise, other draws of planners",
    )
    parser.add_argument(
        "--retry-invalid",
        action="store_true",
        help="repeat the trials that are stored as invalid",
    )
    parser.add_argument(
        "--no-plugins",
        action="store_true",
        help="do not run what <plugin> elements of the worlds name (worlds.plugins: false)",
    )


def load_campaign(arguments: argparse.Namespace) -> CampaignSpec:
    """Read ``arguments.campaign`` with the values of ``--seed`` and ``--no-plugins``. Results have
    them as the campaign's, so that a directory is continued with the same only."""
    spec = load(arguments.campaign, CampaignSpec)
    update: Dict[str, Any] = {} if arguments.seed is None else {"seed": arguments.seed}
    if arguments.no_plugins:
        update["worlds"] = spec.worlds.model_copy(update={"plugins": False})
    return spec.model_copy(update=update)


def on_two_simulators(
    spec: CampaignSpec, first: str, second: str, options: str
) -> Tuple[BuiltinCampaignSpec, BuiltinCampaignSpec]:
    """Return the campaign on each of two simulators, which ``options`` name. Raises ``SpecError``,
    before worlds are generated, if they are the same or one rejects the campaign's options."""
    one, other = with_simulator(spec, first), with_simulator(spec, second)
    if one.simulator == other.simulator:
        raise SpecError(f"{options} are both {one.simulator}; name two different simulators")
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
    """Run or continue one of :func:`on_two_simulators`, in a directory of the simulator's name in
    ``arguments.out``."""
    print(f"{spec.simulator}:", file=sys.stderr, flush=True)
    return run_trials(
        spec, arguments.out / spec.simulator, arguments, selection, should_stop, resume
    )


def run_trials(
    spec: CampaignSpec,
    out: Path,
    arguments: argparse.Namespace,
    selection: TrialSelection,
    should_stop: StopRequest,
    resume: bool = False,
) -> CampaignResults:
    """Run or continue a campaign in ``out`` with progress on standard error, and write its page
    unless it was stopped; ``arguments`` hold the options of :func:`add_campaign_arguments`."""
    notice = plugins_notice(spec)
    if notice:
        print(notice, file=sys.stderr, flush=True)
    results = run_campaign(
        spec,
        out,
        chosen_executor(spec, out),
        make_workers=chosen_workers(arguments),
        selection=selection,
        resume=resume,
        retry_invalid=arguments.retry_invalid,
        listener=progress_listener(),
        should_stop=should_stop,
        world_workers=arguments.workers or processors(),
    )
    if not should_stop():
        from gz_testauto.report.page.page import write_final_page

        for line in write_final_page(out):
            print(escape_text(line), file=sys.stderr)
    return results


def _seed(text: str) -> int:
    if not text.isdecimal() or int(text) >= SEEDS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a seed: give a whole number >= 0")
    return int(text)


def exit_status(stop: StopSignals, *campaigns: CampaignResults) -> int:
    """Return 0 if all trials are done and valid, 1 after printing the number of invalid ones, and
    128 + signal if stopped."""
    if stop():
        return stop.exit_status
    invalid = sum(len(results.invalid) for results in campaigns)
    if not invalid:
        return 0
    print(f"invalid trials: {invalid}; to repeat them: --retry-invalid", file=sys.stderr)
    return EXIT_INVALID
