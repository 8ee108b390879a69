"""Train policies with several seeds, and evaluate them in held-out worlds with walkers.

    python3 benchmarks/learning.py --out DIR [--seeds 5] [--workers 2]

Each policy learns in config/learning/arena.yaml, and then in config/learning/walkers.yaml. The
planners fgm and fgm_improved, and the policies as ppo_0, ppo_1, ..., then run in the two campaigns
of docs/measurements/learning.md. The figure DIR/learning_curve.png shows the success rate of the
episodes of each iteration. The same command continues an interrupted run.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy as np
import yaml

matplotlib.use("Agg")
from matplotlib import pyplot

CONFIG = Path(__file__).resolve().parents[1] / "config"
HELD_OUT = ("walkers_held_out", "walkers_crowded_held_out")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    out, seeds = arguments.out.resolve(), range(arguments.seeds)
    for seed in seeds:
        options = ("--seed", str(seed), "--out")
        arena, walkers = out / f"arena_{seed}", out / f"walkers_{seed}"
        run("train", CONFIG / "learning" / "arena.yaml", *options, arena)
        run("train", CONFIG / "learning" / "walkers.yaml", "--start", arena, *options, walkers)
    draw([curve_of(out, seed) for seed in seeds], out / "learning_curve.png")
    for name in HELD_OUT:
        text = (CONFIG / "learning" / f"{name}.yaml").read_text()
        text = text.replace("../../", f"{CONFIG.parent}/").replace("../", f"{CONFIG}/")
        campaign = yaml.safe_load(text)
        campaign["planners"] += [
            {"name": f"ppo_{seed}", "plugin": "policy", "parameters": {"file": str(file)}}
            for seed, file in ((seed, out / f"walkers_{seed}" / "policy.npz") for seed in seeds)
        ]
        (out / f"{name}.yaml").write_text(yaml.safe_dump(campaign))
        options = ("--simulator", "embedded", "--workers", str(arguments.workers))
        run("run", out / f"{name}.yaml", *options, "--out", out / name)


def run(*arguments):
    command = [sys.executable, "-m", "gz_testauto.cli.main", *map(str, arguments)]
    subprocess.run(command, check=True)


def curve_of(out, seed):
    """Return control periods and success rate (%) of the iterations of both trainings."""
    steps, reached = [0], [0.0]
    for name in ("arena", "walkers"):
        first_step = steps[-1]
        journal = (out / f"{name}_{seed}" / "iterations.jsonl").read_text()
        for entry in map(json.loads, journal.splitlines()):
            episodes = sum(entry["outcomes"].values())
            steps.append(first_step + entry["steps"])
            reached.append(100 * entry["outcomes"].get("reached", 0) / max(1, episodes))
    return np.array(steps), np.array(reached)


def draw(curves, path):
    """Draw the success rate of each seed, and their median."""
    figure, axes = pyplot.subplots(figsize=(7, 3.5), constrained_layout=True)
    for steps, reached in curves:
        axes.plot(steps, reached, color="C0", lw=0.6, alpha=0.6)
    median = np.median([reached for _, reached in curves], axis=0)
    axes.plot(curves[0][0], median, color="C0", lw=2, label="median of the seeds")
    axes.set(xlabel="control periods of the training", ylabel="episodes that reach the goal, %")
    axes.set(xlim=(0, curves[0][0][-1]), ylim=(0, 103))
    axes.legend(loc="lower right")
    figure.savefig(path, dpi=130)
    print(path)


if __name__ == "__main__":
    main()
