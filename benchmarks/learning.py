#!/usr/bin/env python3
"""Train policies with several seeds, and print the success rate by simulated control periods.

    python3 benchmarks/learning.py --out DIR [--seeds 5] [--environment ENV.yaml] [--workers 2]

The success rate is that of each generation's mean in the first 25 held-out worlds of the
environment; these trials are not part of the training. Existing results are not computed again. To
evaluate DIR/seed_*/policy.npz in all held-out worlds, run a campaign.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
from matplotlib import pyplot

SHARE = Path(__file__).resolve().parents[1]
JUDGED = 25


def main():
    """Train the policies and draw the success rates."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--environment", type=Path, default=SHARE / "config" / "learning" / "arena.yaml"
    )
    arguments = parser.parse_args()
    folders = [arguments.out / f"seed_{seed}" for seed in range(1, arguments.seeds + 1)]
    for seed, folder in enumerate(folders, 1):
        command = [
            sys.executable,
            "-m",
            "gz_testauto.cli.main",
            "train",
            str(arguments.environment),
        ]
        command += ["--out", str(folder), "--seed", str(seed), "--workers", str(arguments.workers)]
        command += ["--eval-worlds", str(JUDGED)]
        subprocess.run(command, check=True)
    draw([curve_of(folder) for folder in folders], arguments.out / "learning_curve.png")


def curve_of(folder):
    """Return control periods and held-out success (%) of the mean of each generation, from the
    journal."""
    lines = (folder / "generations.jsonl").read_text().splitlines()
    generations = [json.loads(line) for line in lines]
    steps = [0, *(generation["steps"] for generation in generations)]
    return np.array(steps), np.array([0.0, *(100 * one["held_out"] for one in generations)])


def draw(curves, path):
    """Draw the success rate of each seed, their median, and the range between their minimum and
    maximum."""
    even = np.linspace(0, min(steps[-1] for steps, _ in curves), 200)
    rows = np.array([np.interp(even, steps, reached) for steps, reached in curves])
    figure, axes = pyplot.subplots(figsize=(7, 3.5), constrained_layout=True)
    axes.fill_between(even, rows.min(axis=0), rows.max(axis=0), color="C0", alpha=0.2, lw=0)
    for steps, reached in curves:
        axes.plot(steps, reached, color="C0", lw=0.6, alpha=0.6)
    axes.plot(even, np.median(rows, axis=0), color="C0", lw=2, label="median of the seeds")
    axes.set(
        xlabel="control periods driven in training",
        ylabel="mean reaches held-out goals, %",
        ylim=(0, 103),
        xlim=(0, even[-1]),
    )
    axes.legend(loc="lower right")
    figure.savefig(path, dpi=130)
    print(path)


if __name__ == "__main__":
    main()
