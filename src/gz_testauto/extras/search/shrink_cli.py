"""Shrink a failed trial to a small world with the same failure.

The failure is the same if the outcome is equal and the trial ends within 0.5 m of the same place
(2 m if it timed out). The trial is simulated again and again, with fewer and simpler obstacles. The
output directory contains the world (shrunk.world), a campaign of this one trial (campaign.yaml),
which `gz_testauto run` repeats bit by bit, and a picture of both worlds (before_and_after.png).

If the command is interrupted or killed, the same command continues and has the same result.

example:
  gz_testauto shrink results/paper world_0139 fgm --simulator-confirm gazebo
  gz_testauto run results/paper_shrunk/world_0139--fgm/campaign.yaml --out results/again
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Dict

import numpy as np

from gz_testauto.analysis.repeatability import compare_recordings
from gz_testauto.base.disk import make_directory
from gz_testauto.base.errors import ResultsError, SpecError
from gz_testauto.base.escaping import escape_text
from gz_testauto.campaign.resume import open_for_replay
from gz_testauto.campaign.robustness import PerturbedTrial
from gz_testauto.campaign.simulator import select_simulator
from gz_testauto.campaign.trial_runner import REMOVABLE, TrialRunner, TrialSeed
from gz_testauto.cli.replay import find_trial, require_result
from gz_testauto.extras.search.examination import Examination
from gz_testauto.extras.search.journal import JOURNAL, Journal
from gz_testauto.extras.search.one_trial import (
    CAMPAIGN,
    PICTURE,
    WORLD,
    campaign_text,
    draw,
    one_trial_spec,
)
from gz_testauto.extras.search.shrink import Candidate, FailureTest, place_of, shrink
from gz_testauto.results.directory import CampaignDirectory, reporting_disk, write_atomically
from gz_testauto.results.store import ResultStore
from gz_testauto.trial.setup import PreparedBuiltin
from gz_testauto.worlds.edited import EditedWorld

PERTURBED = 10
"""Default number of perturbed trials from which the robustness is estimated."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command-line arguments."""
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
        type=int,
        default=PERTURBED,
        metavar="N",
        help="perturbed trials for the robustness of the failure; 0: none (default: %(default)s)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Shrink the trial, write the output directory, and print a summary."""
    if arguments.perturb < 0:
        raise SpecError(f"--perturb is {arguments.perturb}; it must be at least 0")
    directory = CampaignDirectory(arguments.directory)
    with ResultStore.read(directory) as store:
        campaign = open_for_replay(directory, store)
        trial = find_trial(campaign, arguments.world, arguments.planner, arguments.repetition)
        where = f"{escape_text(trial.world)} {trial.planner}"
        found_trials = {one.trial: one for one in store.results().trials}
        stored = require_result(found_trials.get(trial.index), trial)
        if stored.outcome.success:
            raise ResultsError(
                f"{where}: the trial succeeded ({stored.outcome.value}), so there is no failure to "
                "shrink; choose a trial that failed"
            )
        recording = store.trajectory(stored)
    if not isinstance(campaign, PreparedBuiltin) or campaign.spec.worlds.has_agents:
        raise SpecError(
            f"{where}: shrinking needs trials that repeat bit by bit, so it does not support a "
            "stack or the agents of a world source; use a campaign without them"
        )
    out = arguments.out or _default_out(directory.path, trial.label)
    record = campaign.world(trial)
    world = EditedWorld(record.path, campaign.spec.worlds.obstacle_pattern)
    seed = TrialSeed.of_trial(campaign.spec, trial.world_index, trial.repetition)
    bounds = campaign.static_map.bounds(record)
    spec = one_trial_spec(campaign.spec, campaign.planner(trial), bounds, out.absolute())
    confirm = arguments.simulator_confirm or ""
    if confirm:
        select_simulator(spec, confirm)  # an unknown name is rejected before the first simulation
    complete = Candidate(
        tuple(world.obstacles),
        (),
        campaign.missions.start_in(trial.world),
        tuple(campaign.missions.goals_in(trial.world)),
    )
    inputs = {"campaign": spec.model_dump(mode="json"), "world": record.sha256, "seed": list(seed)}
    journal = Journal(out / JOURNAL, inputs)
    with TrialRunner(spec) as runner:
        fails = FailureTest(runner, world, trial.planner, seed, journal, _print_progress)
        first = fails.trial(complete)
        if first.outcome is not stored.outcome:
            raise ResultsError(
                f"{where}: the failure does not repeat: it was {stored.outcome.value}, and is now "
                f"{first.outcome.value}; check with `gz_testauto replay` whether the planner or "
                "the simulator has changed"
            )
        same_bits = compare_recordings(recording, first.recording).identical
        fails.compare_with(first, complete)
        found = shrink(fails, world, first, complete, runner)
        last = fails.trial(found)
        content = fails.content(found)
        with reporting_disk(out):
            make_directory(out)
        write_atomically(out / WORLD, content)
        text = campaign_text(spec, found, seed)
        write_atomically(out / CAMPAIGN, text.encode("utf-8"))
        picture = draw(
            first,
            last,
            {"before": fails.content(complete), "after": content},
            {"before": complete, "after": found},
            np.asarray(campaign.limits.footprint_m),
            campaign.robot.height_m,
            out / PICTURE,
        )
    result: Dict[str, Any] = {
        "outcome": last.outcome.value,
        "place_m": place_of(first.outcome, first.recording).tolist(),
        "obstacles_before": len(complete.kept),
        "obstacles": list(found.kept),
        "simulations": fails.simulations,
        "original_repeated_bit_by_bit": same_bits,
        "time_s": last.recording.duration_s,
        "omitted": list(found.without),
    }
    print(f"{where}: {last.outcome.value}, {escape_text(last.detail)}")
    print(f"obstacles: {len(found.kept)} of {len(complete.kept)}; simulations: {fails.simulations}")
    if found.without:
        print(f"omitted without effect: {', '.join(found.without)}")
    reduced = spec.model_copy(update=_entries(spec, found))
    shrunk = PerturbedTrial(
        EditedWorld(out / WORLD, spec.worlds.obstacle_pattern),
        trial.planner,
        seed,
        found.start,
        found.goals,
    )
    with Examination(reduced, journal, confirm, _print_progress) as examination:
        if arguments.perturb:
            robustness = examination.robustness(shrunk, last.outcome, arguments.perturb)
            result["robustness"] = {"same": robustness.same, "valid": robustness.valid}
            print(f"robustness: {robustness.summary}")
        if confirm:
            result["confirmed_in"] = examination.confirmation(shrunk).sentence(last.outcome)
            print(f"{confirm}: {result['confirmed_in']}")
    write_atomically(out / "shrunk.json", (json.dumps(result, indent=1) + "\n").encode("utf-8"))
    print(f"repeat: gz_testauto run {out / CAMPAIGN} --out {out / 'results'}")
    if picture is not None:
        print(f"picture: {picture}")
    return 0


def _default_out(results: Path, label: str) -> Path:
    folder = results.absolute()
    return folder.with_name(f"{folder.name}_shrunk") / label


def _entries(spec: Any, candidate: Candidate) -> Dict[str, Any]:
    return {
        key: tuple(one for one in getattr(spec, key) if one.name not in candidate.without)
        for key in REMOVABLE
    }


def _print_progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
