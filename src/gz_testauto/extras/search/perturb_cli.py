"""Measure the robustness of the failed trials of a campaign.

Each trial is repeated with small changes, as with `gz_testauto replay --perturb`. An outcome is
robust if at least 80 % of such repeats have it, and otherwise fragile. It is undecided if the exact
95 % interval of this share allows both. The table, the report and the page of the results directory
then state for each trial whether it is robust, fragile, undecided or not tested.

The answer of each repeat is stored in robustness.jsonl. The same command continues after a stop or
a kill, and repeats nothing. A larger --count adds repeats.

Exit status 0: finished. 1: some repeats are invalid. 2: an error. 130, 143: stopped by Ctrl-C, by
SIGTERM.

examples:
  gz_testauto perturb results/paper
  gz_testauto perturb results/paper fgm --trials all --worlds 50 --count 40
"""

import argparse
import functools
import sys
from pathlib import Path
from typing import Iterator, List, NamedTuple, Optional, Sequence, Tuple

from gz_testauto.base.errors import ResultsError, SimulatorError, SpecError
from gz_testauto.base.escaping import escape_text
from gz_testauto.base.registry import unknown_name
from gz_testauto.campaign.resume import changed_planners, open_for_replay
from gz_testauto.campaign.robustness import Perturbation, PerturbedTrial
from gz_testauto.campaign.signals import StopSignals
from gz_testauto.cli.progress import announce_stop
from gz_testauto.cli.trust import add_trust_argument, require_trust
from gz_testauto.cli.workers import processors, whole_number, worker_count
from gz_testauto.extras.search.journal import Journal
from gz_testauto.extras.search.stored_robustness import (
    ANSWERS,
    REPEATS,
    answer_key,
    read_outcomes,
    section,
)
from gz_testauto.processes.pool import TaskPool
from gz_testauto.report.page.page import write_final_page
from gz_testauto.report.sections import print_section
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.records import CampaignResults
from gz_testauto.results.store import ResultStore
from gz_testauto.trial.plan import Trial
from gz_testauto.trial.setup import PreparedCampaign

FAILED, ALL = "failed", "all"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command-line arguments."""
    parser.add_argument("directory", type=Path, help="results directory of a campaign")
    parser.add_argument(
        "planners",
        nargs="*",
        metavar="PLANNER",
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
        default=FAILED,
        help="trials to repeat; the robustness of successes takes many simulations "
        "(default: %(default)s)",
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


class Repeat(NamedTuple):
    """A perturbed trial: the index of the trial in the plan, and the number of the repeat."""

    trial: int
    number: int


class RepeatTask:
    """A function of a :class:`Repeat`: its outcome, empty if its scene is invalid, and the cause if
    it has no valid outcome. Each process opens the campaign with the first call.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._opened: Optional[Tuple[PreparedCampaign, Perturbation]] = None

    def __call__(self, repeat: Repeat) -> Tuple[str, str]:
        """Run a repeat."""
        if self._opened is None:
            directory = CampaignDirectory(self._directory)
            with ResultStore.read(directory) as store:  # the command has required trust
                campaign = open_for_replay(directory, store, lambda campaigns, worlds: None)
            self._opened = campaign, Perturbation(campaign.spec)
        campaign, perturbation = self._opened
        trial = next(one for one in campaign.trials if one.index == repeat.trial)
        try:
            found = perturbation.outcome(PerturbedTrial.of_trial(campaign, trial), repeat.number)
        except SimulatorError as error:
            return "", str(error)
        return ("" if found is None else found.value), ""


def run(arguments: argparse.Namespace) -> int:
    """Run the missing repeats, print and write the report; return the exit status."""
    directory = CampaignDirectory(arguments.directory)
    directory.require_begun()
    with directory.locked(), ResultStore.read(directory) as store:
        results = store.results()
        trust = functools.partial(require_trust, is_trusted=arguments.trust)
        campaign = open_for_replay(directory, store, trust)
        trials = {one.label: one for one in _chosen(campaign, results, arguments)}
        with Perturbation(campaign.spec):
            pass  # a campaign that it does not support is rejected here
        for plugin in changed_planners(directory, campaign):
            raise ResultsError(
                f"the code of planner {plugin} has changed since the campaign, so other outcomes "
                "would not show that the stored ones are fragile; run the campaign again"
            )
        known = read_outcomes(directory.path)
        journal = Journal(directory.path / ANSWERS, {"format": 1})
        missing = [
            Repeat(trial.index, number)
            for number in range(arguments.count)
            for label, trial in trials.items()
            if number not in known.get(label, {})
        ]
        labels = {trial.index: label for label, trial in trials.items()}
        causes: List[str] = []
        with StopSignals(on_first=announce_stop) as stop:
            for done, (repeat, (word, cause)) in enumerate(
                _run(missing, directory.path, arguments.workers, stop)
            ):
                label = labels[repeat.trial]
                if cause:
                    causes.append(f"{label}: {cause}")
                else:
                    key = answer_key(label, repeat.number)
                    journal.add(key, {"outcome": word or None})
                shown = cause or word or "no valid scene"
                line = f"[{done + 1}/{len(missing)}] {label}: {shown}"
                print(escape_text(line), file=sys.stderr, flush=True)
        if stop():
            print("stopped; the same command continues", file=sys.stderr)
            return stop.exit_status
    found = section(directory.path, results)
    if found is not None:
        print_section(found)
    for line in write_final_page(directory.path):
        print(escape_text(line), file=sys.stderr)
    if causes:
        print(
            f"{len(causes)} repeats have no valid outcome; the same command runs them again",
            file=sys.stderr,
        )
    return int(bool(causes))


def _run(
    repeats: Sequence[Repeat], directory: Path, workers: int, should_stop: StopSignals
) -> Iterator[Tuple[Repeat, Tuple[str, str]]]:
    """Yield each repeat with its answer, in order, until the stop."""
    task = RepeatTask(directory)
    if workers == 1 or len(repeats) <= 1:
        for repeat in repeats:
            if should_stop():
                return
            yield repeat, task(repeat)
        return
    with TaskPool(task, min(workers, len(repeats)), "repeating trials") as pool:
        for repeat, answer in zip(repeats, pool.map(repeats)):
            yield repeat, answer
            if should_stop():
                return


def _chosen(
    campaign: PreparedCampaign, results: CampaignResults, arguments: argparse.Namespace
) -> List[Trial]:
    """Return the trials to repeat. Raises ``SpecError`` or ``ResultsError`` if there are none."""
    for planner in arguments.planners:
        if planner not in results.planners:
            raise SpecError(unknown_name("planner", planner, results.planners))
    ended = {one.trial: one for one in results.trials if one.outcome.valid}
    found = [
        trial
        for trial in campaign.trials
        if trial.index in ended
        and (not arguments.planners or trial.planner in arguments.planners)
        and (arguments.worlds is None or trial.world_index < arguments.worlds)
        and (arguments.trials == ALL or not ended[trial.index].completed)
    ]
    if not found:
        what = "finished" if arguments.trials == ALL else "failed"
        raise ResultsError(
            f"no selected trial has {what}, so there is nothing to repeat; use --trials {ALL}, or "
            "other planners or worlds"
        )
    return found
