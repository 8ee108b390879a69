"""Options, execution and exit status that all commands which run campaigns share."""

import argparse
import sys
from pathlib import Path
from typing import Any, Dict, Optional

from gz_testauto.base.errors import SpecError
from gz_testauto.base.escaping import escape_text
from gz_testauto.base.registry import unknown_name
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.selection import CampaignOptions, RunOptions
from gz_testauto.campaign.signals import StopSignals
from gz_testauto.campaign.simulator import chosen_executor
from gz_testauto.campaign.world_plugins import plugins_notice
from gz_testauto.cli.options import add_options, processors
from gz_testauto.cli.progress import progress_listener
from gz_testauto.cli.trust import add_trust_argument, require_trust_in_file
from gz_testauto.cli.workers import add_worker_arguments, chosen_workers
from gz_testauto.results.records import CampaignResults
from gz_testauto.results.store import LoadedCampaign
from gz_testauto.spec.campaign import CampaignSpec, PlannerSpec
from gz_testauto.spec.loader import load
from gz_testauto.trial.executor import StopRequest
from gz_testauto.trial.plan import TrialSelection

EXIT_INVALID = 1


def add_campaign_arguments(parser: argparse.ArgumentParser) -> None:
    add_worker_arguments(parser)
    add_options(parser, RunOptions, "seed", "retry_invalid")
    parser.add_argument(
        "--no-plugins",
        action="store_true",
        help="do not run the plugins of the worlds (worlds.plugins: false)",
    )
    add_trust_argument(parser)


def add_simulator_argument(parser: argparse.ArgumentParser) -> None:
    add_options(parser, CampaignOptions, "simulator")


def add_selection_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--resume",
        action="store_true",
        help="only continue a campaign in DIR; do not start a new campaign",
    )
    add_options(parser, CampaignOptions, "worlds", "planners")
    parser.add_argument(
        "--json", action="store_true", help="print the results as JSON instead of a table"
    )


def load_campaign(arguments: argparse.Namespace) -> CampaignSpec:
    """Return the campaign with ``--seed`` and ``--no-plugins`` applied. Only a command with the
    same values can resume it. Raises ``ResultsError`` for a campaign file in a directory of results
    whose code is not trusted."""
    spec = load(arguments.campaign, CampaignSpec)
    require_trust_in_file(arguments.campaign, spec, arguments.trust)
    seed = CampaignOptions.of(seed=arguments.seed).seed
    update: Dict[str, Any] = {} if seed is None else {"seed": seed}
    if arguments.no_plugins:
        update["worlds"] = spec.worlds.model_copy(update={"plugins": False})
    return spec.model_copy(update=update)


def chosen_planner(spec: CampaignSpec, name: Optional[str]) -> PlannerSpec:
    """Return the planner with the name of ``--planner``, or without a name the campaign's only
    planner. Raises ``SpecError`` for an unknown name, or if a name is needed."""
    names = [planner.name for planner in spec.planners]
    if name is None and len(names) > 1:
        raise SpecError(
            f"campaign {spec.name}: there are {len(names)} planners ({', '.join(names)}); select "
            "one with --planner"
        )
    if name is not None and name not in names:
        raise SpecError(f"campaign {spec.name}: {unknown_name('planner', name, names)}")
    return spec.planners[0 if name is None else names.index(name)]


def run_trials(
    spec: CampaignSpec,
    out: Path,
    arguments: argparse.Namespace,
    selection: TrialSelection,
    should_stop: StopRequest,
    resume: bool = False,
    failed_in: Optional[LoadedCampaign] = None,
    write_page: bool = True,
) -> CampaignResults:
    """Run the selected trials of a campaign with progress on standard error, and return the results
    in ``out``. Finally write the page, unless the campaign was stopped. With ``failed_in``, only
    the trials that failed in that campaign are run."""
    notice = plugins_notice(spec)
    if notice:
        print(notice, file=sys.stderr, flush=True)
    results = run_campaign(
        spec,
        out,
        chosen_executor(spec, out),
        make_workers=chosen_workers(arguments),
        selection=selection,
        failed_in=failed_in,
        resume=resume,
        retry_invalid=arguments.retry_invalid,
        listener=progress_listener(),
        should_stop=should_stop,
        world_workers=arguments.workers or processors(),
    )
    if write_page and not should_stop():
        from gz_testauto.report.page.page import write_final_page

        for line in write_final_page(out):
            print(escape_text(line), file=sys.stderr)
    return results


def print_results(results: CampaignResults, out: Path, as_json: bool) -> None:
    from gz_testauto.analysis.overview import analyze
    from gz_testauto.report.export import to_json
    from gz_testauto.report.sections import print_sections
    from gz_testauto.report.table import closing_lines, print_report

    if as_json:
        sys.stdout.write(to_json(analyze(results)))
    else:
        print_report(analyze(results))
        print_sections(out, results)
    for line in closing_lines(results, out):
        print(line, file=sys.stderr)


def exit_status(stop: StopSignals, *campaigns: CampaignResults) -> int:
    """Return 0 if all trials are valid, 1 if some are invalid (their number is printed), and 128
    plus the signal number if a signal stopped the command."""
    if stop():
        return stop.exit_status
    return status_of_invalid(sum(len(results.invalid) for results in campaigns))


def status_of_invalid(count: int) -> int:
    """Return the exit status for a number of invalid trials, and print the number unless it is
    0."""
    if not count:
        return 0
    print(f"{count} invalid trials; --retry-invalid repeats them", file=sys.stderr)
    return EXIT_INVALID
