"""Find random worlds in which planners fail, and test failures.

A quarter of the simulations are in the first worlds of the campaign, in which the failure rate is
not biased. The others are in screened worlds: of each five further worlds, only the one with the
longest shortest path is simulated. Each failure is repeated with small changes, as with
`gz_testauto perturb`. It is robust if at least 80 % of such repeats end in the same way,
otherwise fragile, and undecided if the exact 95 % interval of this share allows both.

--for selects what is searched for:
  failed             failed trials (default)
  collided, stuck …  trials with this outcome
  disagreement       failed trials in worlds in which another planner succeeds
  low-clearance      trials with clearance_min_m < 0.1
  'METRIC < NUMBER'  valid trials with a metric below or above (>) a number

The results directory contains an ordinary campaign, and search.json with the found trials. The same
command continues after a stop or a kill.

Exit status 0: trials were found. 1: none was found, or trials are invalid. 2: an error.
130, 143: stopped by Ctrl-C, by SIGTERM.

examples:
  gz_testauto search config/example_campaign.yaml --budget 200 --out results/search
  gz_testauto search config/example_campaign.yaml --for stuck --budget 400 \\
      --simulator-confirm gazebo --out results/stuck
"""

import argparse
import functools
import json
import math
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

from gz_testauto.analysis.repeats import FRAGILE, ROBUST, UNDECIDED
from gz_testauto.base.escaping import escape_text
from gz_testauto.campaign.campaign_files import campaign_path
from gz_testauto.campaign.resume import open_for_replay
from gz_testauto.campaign.signals import StopSignals
from gz_testauto.campaign.simulator import select_simulator
from gz_testauto.cli.campaigns import (
    EXIT_INVALID,
    add_campaign_arguments,
    add_simulator_argument,
    exit_status,
    load_campaign,
    run_trials,
)
from gz_testauto.cli.options import whole_number
from gz_testauto.cli.progress import announce_stop
from gz_testauto.cli.trust import require_trust
from gz_testauto.extras.search.findings import (
    FoundTrial,
    examine,
    search_report,
    searched_campaign,
)
from gz_testauto.extras.search.journal import Journal
from gz_testauto.extras.search.repeats import Examination
from gz_testauto.extras.search.screening import STRATEGIES, SearchPlan, ratio_of_rates
from gz_testauto.extras.search.stored_robustness import (
    OF_SEARCH,
    REPEATS,
)
from gz_testauto.extras.search.target import FAILED, SearchTarget, read_target
from gz_testauto.report.plain import number_text, plain_table, report_console
from gz_testauto.results.directory import CampaignDirectory, write_atomically
from gz_testauto.results.store import ResultStore
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.trial.outcome import Outcome
from gz_testauto.trial.plan import TrialSelection
from gz_testauto.worlds.manifest import read_worlds
from gz_testauto.worlds.record import generated_name

GROUP = ("failures", 1)
REPORT = "search.json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "campaign",
        type=campaign_path,
        help="campaign file (YAML) with random obstacles; its numbers of worlds and repetitions "
        "are not used",
    )
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="results directory; a search in this directory is continued",
    )
    parser.add_argument(
        "--budget", type=int, required=True, metavar="N", help="largest number of trials"
    )
    parser.add_argument(
        "--for",
        dest="wanted",
        default=FAILED,
        metavar="TARGET",
        help="trials to search for: an outcome, disagreement, low-clearance, or a condition on a "
        "metric (default: %(default)s)",
    )
    parser.add_argument(
        "--strategy",
        choices=STRATEGIES,
        default=STRATEGIES[0],
        help="screened: a quarter of the trials in plain worlds, and the others in worlds with a "
        "long shortest path; random: only plain worlds (default: %(default)s)",
    )
    add_simulator_argument(parser)
    parser.add_argument(
        "--perturb",
        type=whole_number,
        default=REPEATS,
        metavar="N",
        help="perturbed trials per found trial, which do not count for the budget; at least 17 are "
        "necessary to find that a trial is robust; 0: none (default: %(default)s)",
    )
    parser.add_argument(
        "--simulator-confirm",
        metavar="NAME",
        help="also run each found trial that is not fragile in this simulator, such as gazebo",
    )
    parser.add_argument("--json", action="store_true", help="print search.json instead of a table")
    add_campaign_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    spec = select_simulator(load_campaign(arguments), arguments.simulator or "")
    target = read_target(arguments.wanted, len(spec.planners))
    plan = SearchPlan.of_budget(arguments.budget, len(spec.planners), arguments.strategy)
    spec = searched_campaign(spec, plan)
    if arguments.simulator_confirm:
        select_simulator(spec, arguments.simulator_confirm)  # an unknown name is rejected here
    directory = CampaignDirectory(arguments.out)
    with StopSignals(on_first=announce_stop) as stop:
        first = TrialSelection(worlds=plan.plain)
        if plan.screened:  # the screening needs all worlds, which a selection by name generates
            first = TrialSelection(only=tuple(map(generated_name, range(plan.plain))))
        results = run_trials(
            spec, arguments.out, arguments, first, stop, write_page=not plan.screened
        )
        worlds = {world.name: world for world in read_worlds(directory.worlds)}
        screened = [world.name for world in plan.chosen(list(worlds.values()))]
        if screened and not stop():
            plain = [world.name for world in results.worlds[: plan.plain]]
            plain_and_screened = TrialSelection(only=(*plain, *screened))
            results = run_trials(spec, arguments.out, arguments, plain_and_screened, stop)
        metric = target.metric_name
        findings = [
            FoundTrial(
                record,
                worlds[record.world],
                record.world in screened,
                value=record.metrics.get(metric, math.nan),
            )
            for record in target.select(results.trials)
        ]
        if findings and not stop():
            with ResultStore.read(directory) as store:
                trust = functools.partial(_require_trust, spec, arguments.trust)
                campaign = open_for_replay(directory, store, trust)
            confirm = arguments.simulator_confirm or ""
            journal = Journal(arguments.out / OF_SEARCH, {"format": 2})
            with Examination(campaign.spec, journal, confirm, target) as examination:
                findings = examine(
                    findings, campaign, examination, arguments.perturb, bool(confirm), stop
                )
        if stop():
            print("stopped; the same command continues", file=sys.stderr)
            return stop.exit_status
    report = search_report(results, set(screened), findings, arguments.perturb)
    text = json.dumps({"for": arguments.wanted, **report}, indent=1) + "\n"
    write_atomically(arguments.out / REPORT, text.encode("utf-8"))
    if arguments.json:
        sys.stdout.write(text)
    else:
        _print_report(report["rates"], findings, target, arguments)
    status = exit_status(stop, results)
    unconfirmed = [finding for finding in findings if finding.confirmed == Outcome.INVALID.value]
    if unconfirmed:
        print(
            f"{len(unconfirmed)} found trials are invalid in {arguments.simulator_confirm}; the "
            "same command repeats them",
            file=sys.stderr,
        )
    return status if findings and not unconfirmed else EXIT_INVALID


def _require_trust(
    spec: CampaignSpec, is_trusted: bool, stored: Sequence[CampaignSpec], worlds: Sequence[Path]
) -> None:
    """Require the permission to run the programs of stored campaigns and worlds.

    Stored campaigns that are equal to ``spec`` are trusted.
    """
    is_same = all(
        stored_spec.model_dump(mode="json") == spec.model_dump(mode="json")
        for stored_spec in stored
    )
    require_trust(stored, worlds, is_trusted or is_same)


def _print_report(
    rates: Sequence[Dict[str, Any]],
    findings: Sequence[FoundTrial],
    target: SearchTarget,
    arguments: argparse.Namespace,
) -> None:
    console = report_console()
    metric = target.metric_name
    ordered = sorted(
        findings,
        key=lambda finding: (
            -finding.repeats.same / (finding.repeats.valid or 1),
            finding.record.trial,
        ),
    )
    if ordered:
        columns = ["world", "planner", "outcome", *([metric] if metric else [])]
        columns += ["path m", "density %"]
        columns += ["repeated"] if arguments.perturb else []
        columns += [arguments.simulator_confirm] if arguments.simulator_confirm else []
        table = plain_table(*columns)
        for finding in ordered:
            difficulty = finding.world.difficulty
            cells = [
                escape_text(finding.record.world),
                escape_text(finding.record.planner),
                finding.record.outcome.value,
                *([number_text(finding.value, 3)] if metric else []),
                _scaled_text(finding.world.shortest_path_m, 1.0),
                _scaled_text(None if difficulty is None else difficulty.density, 100.0),
            ]
            cells += (
                [f"{finding.repeats.same} of {finding.repeats.valid}"] if arguments.perturb else []
            )
            confirmed = finding.confirmed or "-"
            if not math.isnan(finding.confirmed_value):
                confirmed += f", {number_text(finding.confirmed_value, 3)}"
            cells += [confirmed] if arguments.simulator_confirm else []
            table.add_row(*cells)
        console.print(table)
        console.print()
    labels = [ROBUST, UNDECIDED, FRAGILE] if arguments.perturb else []
    table = plain_table("planner", "worlds", "trials", "found", "% [95 % CI]", *labels)
    for row in rates:
        if row["trials"]:
            value, low, high = (100 * share for share in row["rate"])
            table.add_row(
                escape_text(row["planner"]),
                row["worlds"],
                str(row["trials"]),
                str(row["found"]),
                f"{value:.1f} [{low:.1f}, {high:.1f}]",
                *(str(row[label]) for label in labels),
            )
    console.print(table)
    trials_text = f"{ROBUST} {target.noun}" if arguments.perturb else target.noun
    for line in _ratio_sentences(rates, ROBUST if arguments.perturb else "found", trials_text):
        console.print(line)
    if ordered:
        best = ordered[0].record
        command = "replay" if best.completed else "shrink"
        world, planner = escape_text(best.world), escape_text(best.planner)
        console.print(f"next: gz_testauto {command} {arguments.out} {world} {planner}")
    else:
        target_text = escape_text(arguments.wanted)
        console.print(
            f"no trial found for {target_text}; raise --budget, or make the worlds harder"
        )


def _scaled_text(value: Optional[float], factor: float) -> str:
    return "-" if value is None else number_text(factor * value, 1)


def _ratio_sentences(rates: Sequence[Dict[str, Any]], key: str, noun: str) -> List[str]:
    sentences = []
    for plain, screened in zip(rates[::2], rates[1::2]):
        ratio = ratio_of_rates((screened[key], screened["trials"]), (plain[key], plain["trials"]))
        if ratio.has_interval:
            value, low, high = (number_text(number, 1) for number in ratio[:3])
            sentences.append(
                f"{escape_text(plain['planner'])}: {value} times as many {noun} per trial in "
                f"screened as in plain worlds (95 % CI {low} to {high})"
            )
    return sentences
