"""Shrink a failed trial to a small world with the same failure.

The failure is the same if the outcome is equal and the trial ends within 0.5 m of the same place
(2 m if it timed out). The trial is simulated again and again, with fewer and simpler obstacles. The
output directory contains the world (shrunk.world), a campaign of this one trial (campaign.yaml),
which `gz_testauto run` repeats bit by bit, and a picture of both worlds (before_and_after.png).

On a navigation stack, a failure does not repeat bit by bit. A world then has the failure if two of
at most three trials have it, and the rate of the failure in the small world is estimated from new
trials.

If the command is interrupted or killed, the same command continues and has the same result.

example:
  gz_testauto shrink results/paper world_0139 fgm --simulator-confirm gazebo
  gz_testauto run results/paper_shrunk/world_0139--fgm/campaign.yaml --out results/again
"""

import argparse
import functools
import json
import shutil
from pathlib import Path
from typing import Any, Dict

import numpy as np

from gz_testauto.analysis.repeatability import compare_recordings
from gz_testauto.base.errors import ResultsError, SpecError
from gz_testauto.base.escaping import escape_text
from gz_testauto.campaign.resume import open_for_replay
from gz_testauto.campaign.simulator import select_simulator
from gz_testauto.campaign.trial_runner import TrialRunner
from gz_testauto.cli.options import whole_number
from gz_testauto.cli.progress import print_status
from gz_testauto.cli.replay import find_trial, require_result
from gz_testauto.cli.trust import add_trust_argument, require_trust
from gz_testauto.extras.search.edited_world import EditedWorld
from gz_testauto.extras.search.journal import JOURNAL, Journal
from gz_testauto.extras.search.one_trial import (
    CAMPAIGN,
    PICTURE,
    WORLD,
    draw,
    one_trial_spec,
    write_campaign,
)
from gz_testauto.extras.search.repeats import Examination
from gz_testauto.extras.search.shrink import (
    Candidate,
    FailedTrial,
    FailureTest,
    RepeatableFailureTest,
    shrink,
)
from gz_testauto.extras.search.stack_failure import StackFailureTest, run_repeats
from gz_testauto.results.directory import CampaignDirectory, write_atomically
from gz_testauto.results.store import ResultStore
from gz_testauto.spec.campaign import BuiltinCampaignSpec, CampaignSpec, StackCampaignSpec
from gz_testauto.trial.plan import PreparedCampaign
from gz_testauto.trial.testbed import REMOVABLE
from gz_testauto.trial.trial import Trial

GROUP = ("failures", 2)
PERTURBED = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, help="results directory of a campaign")
    parser.add_argument("world", help="name or number of the world")
    parser.add_argument("planner", help="name of the planner that failed in it")
    parser.add_argument(
        "--repetition", type=int, default=0, metavar="N", help="index (default: %(default)s)"
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="output directory (default: RESULTS_shrunk/TRIAL, next to the results)",
    )
    parser.add_argument(
        "--simulator-confirm",
        metavar="NAME",
        help="also run the shrunk trial in this simulator, such as gazebo, and report its outcome",
    )
    parser.add_argument(
        "--perturb",
        type=whole_number,
        default=PERTURBED,
        metavar="N",
        help="perturbed trials for the robustness of the failure, or on a stack new trials for its "
        "rate; 0: none (default: %(default)s)",
    )
    add_trust_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    directory = CampaignDirectory(arguments.directory)
    with ResultStore.read(directory) as store:
        trust = functools.partial(require_trust, is_trusted=arguments.trust)
        campaign = open_for_replay(directory, store, trust)
        trial = find_trial(campaign, arguments.world, arguments.planner, arguments.repetition)
        trial_name = f"{escape_text(trial.world.name)} {trial.planner.name}"
        records = {record.trial: record for record in store.results().trials}
        stored = require_result(records.get(trial.index), trial)
        if stored.outcome.success:
            raise ResultsError(
                f"{trial_name}: the trial succeeded ({stored.outcome.value}), so there is no "
                "failure to shrink; choose a trial that failed"
            )
        recording = store.trajectory(stored)
    if campaign.spec.worlds.has_agents:
        raise SpecError(
            f"{trial_name}: shrinking does not support the agents of a world source; use a "
            "campaign without them"
        )
    out = arguments.out or _default_out(directory.path, trial.label)
    bounds = campaign.bed.static_map.bounds(trial.world, trial.mission)
    spec = one_trial_spec(campaign.spec, trial, bounds, out.absolute())
    confirm = arguments.simulator_confirm or ""
    if confirm:
        select_simulator(spec, confirm)  # rejects an unknown name, and any name for a stack
    failed = FailedTrial(stored.outcome, recording)
    shrinking = _Shrinking(campaign, trial, failed, spec, trial_name, out)
    if isinstance(spec, StackCampaignSpec):
        result = shrinking.shrink_on_stack(spec, arguments.perturb)
    else:
        assert isinstance(spec, BuiltinCampaignSpec), "there are two kinds of campaigns"
        result = shrinking.shrink(spec, arguments.perturb, confirm)
    write_atomically(out / "shrunk.json", (json.dumps(result, indent=1) + "\n").encode("utf-8"))
    print(f"repeat: gz_testauto run {out / CAMPAIGN} --out {out / 'again'}")
    if (out / PICTURE).exists():
        print(f"picture: {out / PICTURE}")
    return 0


class _Shrinking:
    """The failure of a trial, which is shrunk in ``out``; ``spec`` has only this trial."""

    def __init__(
        self,
        campaign: PreparedCampaign,
        trial: Trial,
        stored: FailedTrial,
        spec: CampaignSpec,
        trial_name: str,
        out: Path,
    ) -> None:
        self._bed, self._trial, self._stored = campaign.bed, trial, stored
        self._trial_name, self._out = trial_name, out
        self._world = EditedWorld(trial.world.path, spec.worlds.obstacle_pattern)
        self._complete = Candidate.complete(trial, self._world)
        self._omissible = [entry.name for key in REMOVABLE for entry in getattr(spec, key)]
        inputs = {
            "campaign": spec.model_dump(mode="json"),
            "world": trial.world.sha256,
            "seed": list(trial.numbers.model_dump().values()),
        }
        self._journal = Journal(out / JOURNAL, inputs)

    def shrink(self, spec: BuiltinCampaignSpec, perturbed: int, confirm: str) -> Dict[str, Any]:
        """Shrink the failure, write its files, and return the content of ``shrunk.json``. Raises
        ``ResultsError`` if the failure does not repeat."""
        with TrialRunner(spec) as runner:
            fails = RepeatableFailureTest(
                runner, self._world, self._trial, self._journal, print_status
            )
            first = fails.trial(self._complete)
            if first.outcome is not self._stored.outcome:
                raise ResultsError(
                    f"{self._trial_name}: the failure does not repeat: it was "
                    f"{self._stored.outcome.value}, and is now {first.outcome.value}; check with "
                    "`gz_testauto replay` whether the planner or the simulator has changed"
                )
            same_bits = compare_recordings(self._stored.recording, first.recording).identical
            failed = FailedTrial(first.outcome, first.recording)
            fails.compare_with(failed, self._complete)
            smallest = self._shrink_candidate(fails, failed)
            last = fails.trial(smallest)
            write_atomically(self._out / WORLD, fails.content(smallest))
            shrunk = smallest.trial(self._trial, runner.record(self._out / WORLD))
        write_campaign(spec, smallest, self._trial.numbers, self._out)
        self._draw_picture(fails, smallest, failed, FailedTrial(last.outcome, last.recording))
        result = self._summary(fails, smallest, failed)
        result["original_repeated_bit_by_bit"] = same_bits
        result["time_s"] = last.recording.duration_s
        self._print_result(result, f"{last.outcome.value}, {escape_text(last.detail)}")
        with Examination(spec, self._journal, confirm, progress=print_status) as examination:
            if perturbed:
                count = examination.count(shrunk, last.outcome, perturbed)
                result["robustness"] = count._asdict()
                print(f"robustness: {count.text('perturbed trials', 'have the failure')}")
            if confirm:
                result["confirmed_in"] = examination.confirmation(shrunk).sentence(last.outcome)
                print(f"{confirm}: {result['confirmed_in']}")
        return result

    def shrink_on_stack(self, spec: StackCampaignSpec, repeats: int) -> Dict[str, Any]:
        """Shrink the failure, write its files, and return the content of ``shrunk.json``. The rate
        of the failure is estimated by ``repeats`` new trials. Raises ``ResultsError`` if the
        failure does not repeat."""
        fails = StackFailureTest(
            spec,
            self._bed.robot,
            self._trial,
            self._out / "candidates",
            self._world,
            self._journal,
            print_status,
        )
        fails.compare_with(self._stored, self._complete)
        if not fails(self._complete):
            raise ResultsError(
                f"{self._trial_name}: the failure does not repeat: {fails.simulations} new trials "
                "in the same world do not confirm it; choose a failure that occurs in most trials, "
                "or use a new --out to try again"
            )
        smallest = self._shrink_candidate(fails, self._stored)
        fails.write_campaign(smallest, self._out, max(repeats, 1))
        result = self._summary(fails, smallest, self._stored)
        self._print_result(result, self._stored.outcome.value)
        if repeats:
            # New trials: those that decided the search would give too high a share.
            print_status(f"{repeats} new trials in the small world")
            repeats_of_failure = run_repeats(
                self._out / CAMPAIGN, self._stored, progress=print_status
            )
            count, example = repeats_of_failure.count, repeats_of_failure.example
            result["failure_rate"] = count._asdict()
            print(f"failure rate: {count.text('trials', 'have the failure')}")
            if example is not None:
                self._draw_picture(fails, smallest, self._stored, example)
        shutil.rmtree(self._out / "candidates", ignore_errors=True)
        return result

    def _shrink_candidate(self, fails: FailureTest, first: FailedTrial) -> Candidate:
        height_m = self._bed.robot.height_m
        return shrink(fails, self._world, first, self._complete, height_m, self._omissible)

    def _draw_picture(
        self, fails: FailureTest, smallest: Candidate, first: FailedTrial, last: FailedTrial
    ) -> None:
        draw(
            {
                "before": (self._complete, fails.content(self._complete), first),
                "after": (smallest, fails.content(smallest), last),
            },
            np.asarray(self._bed.limits.footprint_m),
            self._bed.robot.height_m,
            self._out / PICTURE,
        )

    def _summary(
        self, fails: FailureTest, smallest: Candidate, first: FailedTrial
    ) -> Dict[str, Any]:
        return {
            "outcome": first.outcome.value,
            "place_m": list(first.place),
            "obstacles_before": len(self._complete.kept),
            "obstacles": list(smallest.kept),
            "simulations": fails.simulations,
            "omitted": list(smallest.without),
        }

    def _print_result(self, result: Dict[str, Any], failure: str) -> None:
        print(f"{self._trial_name}: {failure}")
        print(
            f"obstacles: {len(result['obstacles'])} of {result['obstacles_before']}; simulations: "
            f"{result['simulations']}"
        )
        if result["omitted"]:
            print(f"omitted without effect: {', '.join(result['omitted'])}")


def _default_out(results: Path, label: str) -> Path:
    folder = results.absolute()
    return folder.with_name(f"{folder.name}_shrunk") / label
