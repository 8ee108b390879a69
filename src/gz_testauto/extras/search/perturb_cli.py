"""Repeat trials with small changes, and label their outcomes.

By default, all failed trials of a campaign are repeated. In each repeat, obstacles and start move
by 1 to 10 mm, and the lidar has noise of 10 mm. Every second repeat has half of the physics step,
if the simulator has this option. An outcome is robust if at least 80 % of such repeats have it, and
otherwise fragile. It is undecided if the exact 95 % interval of this share allows both. The table,
the report and the page of the results directory then state for each trial whether it is robust,
fragile, undecided or not tested.

The answer of each repeat is stored in robustness.jsonl. The same command continues after a stop or
a kill, and repeats nothing. A larger --count adds repeats.

Exit status 0: finished. 1: some repeats are invalid. 2: an error. 130, 143: stopped by Ctrl-C, by
SIGTERM.

examples:
  gz_testauto perturb results/paper
  gz_testauto perturb results/paper world_0139 fgm
  gz_testauto perturb results/paper --planners fgm --trials all --worlds 50 --count 40
"""

import argparse
import contextlib
import functools
import sys
from pathlib import Path
from typing import List

from gz_testauto.analysis.repeats import NO_REPEATS
from gz_testauto.base.errors import ResultsError
from gz_testauto.base.escaping import escape_text
from gz_testauto.campaign.resume import changed_planners, open_for_replay
from gz_testauto.campaign.selection import valid_trials, world_name
from gz_testauto.campaign.signals import StopSignals
from gz_testauto.cli.options import processors, whole_number, worker_count
from gz_testauto.cli.progress import announce_stop
from gz_testauto.cli.trust import add_trust_argument, require_trust
from gz_testauto.extras.search.journal import Journal
from gz_testauto.extras.search.perturbation import Perturbation
from gz_testauto.extras.search.repeats import Repeat, RepeatTask, run_repeats
from gz_testauto.extras.search.stored_robustness import (
    ANSWERS,
    REPEATS,
    read_counts,
    read_outcomes,
    section,
)
from gz_testauto.report.page.page import write_final_page
from gz_testauto.report.sections import print_section
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.records import CampaignResults
from gz_testauto.results.store import ResultStore
from gz_testauto.trial.plan import PreparedCampaign
from gz_testauto.trial.trial import Trial

GROUP = ("failures", 3)
FAILED, ALL = "failed", "all"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, help="results directory of a campaign")
    parser.add_argument(
        "world", nargs="?", help="name or number of the only world (default: all worlds)"
    )
    parser.add_argument(
        "planner", nargs="?", help="name of the only planner (default: all planners)"
    )
    parser.add_argument(
        "--planners",
        nargs="+",
        default=[],
        metavar="NAME",
        help="planners whose trials are repeated (default: all)",
    )
    parser.add_argument(
        "--count",
        type=functools.partial(whole_number, least=1),
        default=REPEATS,
        metavar="N",
        help="repeats of each trial; at least 17 are necessary to find that an outcome is robust, "
        "and at least 3 that it is fragile (default: %(default)s)",
    )
    parser.add_argument(
        "--trials",
        choices=(FAILED, ALL),
        help="trials to repeat; the robustness of successes takes many simulations (default: "
        "failed, or all if a world is specified)",
    )
    parser.add_argument(
        "--worlds",
        type=functools.partial(whole_number, least=1),
        metavar="N",
        help="repeat only trials in the first N worlds (default: all)",
    )
    parser.add_argument(
        "--workers",
        type=worker_count,
        default=processors(),
        metavar="N",
        help="number of processes (default: number of processors, here %(default)s); it changes "
        "no result",
    )
    add_trust_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    directory = CampaignDirectory(arguments.directory)
    directory.require_begun()
    with directory.locked(), ResultStore.read(directory) as store:
        results = store.results()
        trust = functools.partial(require_trust, is_trusted=arguments.trust)
        campaign = open_for_replay(directory, store, trust)
        trials = _select_trials(campaign, results, arguments)
        Perturbation(campaign.spec).close()  # rejects a campaign that it does not support
        for plugin in changed_planners(directory, campaign):
            raise ResultsError(
                f"the code of planner {plugin} has changed since the campaign, so other outcomes "
                "would not show that the stored ones are fragile; run the campaign again"
            )
        journal = Journal(directory.path / ANSWERS, {"format": 1})
        known = read_outcomes(directory.path)
        repeats = [
            Repeat(trial.label, trial, number)
            for number in range(arguments.count)
            for trial in trials
            if number not in known.get(trial.label, {})
        ]
        causes: List[str] = []
        task = RepeatTask(campaign.spec)
        with StopSignals(on_first=announce_stop) as stop, contextlib.closing(task):
            running = run_repeats(task, repeats, journal, arguments.workers)
            for finished, (repeat, answer, cause) in enumerate(running, 1):
                if answer is None:
                    causes.append(f"{repeat.label}: {cause}")
                word = cause if answer is None else answer.word
                line = f"[{finished}/{len(repeats)}] {repeat.label}: {word}"
                print(escape_text(line), file=sys.stderr, flush=True)
                if stop():
                    running.close()
                    break
        if stop():
            print("stopped; the same command continues", file=sys.stderr)
            return stop.exit_status
    if len(trials) == 1:
        count = read_counts(directory.path, results).get(trials[0].index, NO_REPEATS)
        sentence = f"{count.text('repeats', 'have its outcome')}, so it is {count.label}"
        print(f"{escape_text(trials[0].label)}: {sentence}")
    else:
        robustness = section(directory.path, results)
        if robustness is not None:
            print_section(robustness)
    for line in write_final_page(directory.path):
        print(escape_text(line), file=sys.stderr)
    if causes:
        print(
            f"{len(causes)} repeats have no valid outcome; the same command runs them again",
            file=sys.stderr,
        )
    return int(bool(causes))


def _select_trials(
    campaign: PreparedCampaign, results: CampaignResults, arguments: argparse.Namespace
) -> List[Trial]:
    planners = [*arguments.planners, *([arguments.planner] if arguments.planner else [])]
    valid = valid_trials(results, None, planners or None)
    world = world_name(arguments.world, campaign.worlds) if arguments.world else None
    kind = arguments.trials or (FAILED if world is None else ALL)
    records = {record.trial: record for record in valid}
    selected = [
        trial
        for trial in campaign.trials
        if trial.index in records
        and world in (None, trial.world.name)
        and (arguments.worlds is None or trial.world.world_index < arguments.worlds)
        and (kind == ALL or not records[trial.index].completed)
    ]
    if not selected:
        state = "finished" if kind == ALL else "failed"
        raise ResultsError(
            f"no selected trial has {state}, so there is nothing to repeat; use --trials {ALL}, or "
            "other planners or worlds"
        )
    return selected
