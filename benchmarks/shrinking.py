"""Shrink the failures of a results directory, and check the small worlds independently.

    python3 benchmarks/shrinking.py RESULTS --count 30 --out DIR

Compares, for each failed trial: the obstacles before and after, the simulations, whether each
remaining obstacle is necessary (one trial without each, in a new simulator), and whether the
campaign of the small world repeats its trial bit by bit.
With --confirm, the small world also runs in another simulator. An outcome is robust if all
perturbed trials of the small world have it. A file DIR/figures.jsonl has one line per failure; the
same command continues.
"""

import argparse
import collections
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from gz_testauto.analysis.repeatability import compare_recordings
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.simulator import chosen_executor
from gz_testauto.campaign.trial_runner import TrialRunner
from gz_testauto.extras.search.edited_world import EditedWorld
from gz_testauto.extras.search.shrink import PLACE_M, place_of
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load


def run_stored(spec, out):
    run_campaign(spec, out, chosen_executor(spec, out))
    with ResultStore.read(CampaignDirectory(out)) as store:
        (record,) = store.results().trials
        return record, store.trajectory(record)


def checked(out, place):
    """Return whether the small world is 1-minimal, and repeats bit by bit.

    ``place`` is the place of the failure in the complete world.
    """
    spec = load(out / "campaign.yaml", CampaignSpec)
    record, recording = run_stored(spec, out / "first")
    _, again = run_stored(spec, out / "second")
    entry, world = spec.worlds.files[0], EditedWorld(out / "shrunk.world")
    minimal = True
    for name in world.obstacles:
        rest = world.content([other for other in world.obstacles if other != name], {})
        with TrialRunner(spec) as runner:
            trial = runner.run(
                rest,
                record.planner,
                seed=spec.random_numbers(0, 0),
                start=entry.start.pose,
                goals=[*(one.pose for one in entry.via), entry.goal.pose],
            )
        away_m = np.hypot(*(place_of(trial.outcome, trial.recording) - place))
        near = away_m <= PLACE_M.get(record.outcome, 0.5)
        minimal &= not (trial.outcome is record.outcome and near)
    return bool(minimal), compare_recordings(recording, again).identical, record.outcome.value


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--perturb", default="10")
    parser.add_argument("--confirm", default="", help="simulator that confirms the failures")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    figures = arguments.out / "figures.jsonl"
    done = (
        [json.loads(line) for line in figures.read_text().splitlines()] if figures.exists() else []
    )
    known = {(one["world"], one["planner"]) for one in done}
    with ResultStore.read(CampaignDirectory(arguments.results)) as store:
        failed = [one for one in store.results().trials if one.outcome.valid and not one.completed]
    for record in _in_turn(failed)[: arguments.count]:
        if (record.world, record.planner) in known:
            continue
        out = arguments.out / f"{record.world}--{record.planner}"
        command = [
            sys.executable,
            "-m",
            "gz_testauto.cli.main",
            "shrink",
            str(arguments.results),
            "--trust",
        ]
        command += [record.world, record.planner, "--out", str(out), "--perturb", arguments.perturb]
        command += ["--simulator-confirm", arguments.confirm] if arguments.confirm else []
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        result = json.loads((out / "shrunk.json").read_text())
        minimal, identical, outcome = checked(out, np.array(result["place_m"]))
        line = {
            "world": record.world,
            "planner": record.planner,
            **{key: result[key] for key in ("outcome", "obstacles_before", "simulations")},
            "left": len(result["obstacles"]),
            "minimal": minimal,
            "identical": identical and outcome == result["outcome"],
            "original": result["original_repeated_bit_by_bit"],
            "robustness": result.get("robustness"),
            "confirmed": result.get("confirmed_in"),
        }
        done.append(line)
        with open(figures, "a") as file:
            file.write(json.dumps(line) + "\n")
        _print(done)


def _in_turn(failed):
    """Return the failures with the planners in turn, so that any number contains all planners."""
    by_planner = collections.defaultdict(list)
    for record in failed:
        by_planner[record.planner].append(record)
    ranked = [(rank, one) for group in by_planner.values() for rank, one in enumerate(group)]
    return [one for _, one in sorted(ranked, key=lambda entry: (entry[0], entry[1].planner))]


def _print(done):
    print(
        len(done), "failures", collections.Counter((one["planner"], one["outcome"]) for one in done)
    )
    for key in ("obstacles_before", "left", "simulations"):
        values = [one[key] for one in done]
        print(
            f"  {key}: median {np.median(values):g}, 90 % {np.quantile(values, 0.9):g}, "
            f"most {max(values)}"
        )
    for key in ("minimal", "identical", "original"):
        print(f"  {key}: {sum(one[key] for one in done)} of {len(done)}")
    shares = [one["robustness"] for one in done if one["robustness"]]
    if shares:
        same, valid = (sum(one[key] for one in shares) for key in ("same", "valid"))
        robust = sum(one["same"] == one["valid"] > 0 for one in shares)
        print(
            f"  perturbed with the same outcome: {same} of {valid}; all the same: {robust}",
            flush=True,
        )
    for title, wanted in (("robust", True), ("fragile", False)):
        of = [
            one["confirmed"].startswith("confirmed")
            for one in done
            if one["robustness"] and one.get("confirmed")
            if (one["robustness"]["same"] == one["robustness"]["valid"] > 0) is wanted
        ]
        if of:
            print(f"  confirmed, {title} failures: {sum(of)} of {len(of)}", flush=True)


if __name__ == "__main__":
    main()
