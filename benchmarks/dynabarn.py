#!/usr/bin/env python3
"""Run all planners in worlds as in DynaBARN, in three levels.

    python3 benchmarks/dynabarn.py --out DIR [--seed 60] [--worlds 20] [--simulator gazebo]
        [--planners fgm]

Cylinders of 1 m move back and forth along random polynomials through a field of 20 x 20 m, which
the robot must cross. The levels are defined here: number of cylinders, curvature and speed.
"""

import argparse
import collections
import subprocess
import sys
from pathlib import Path

import numpy as np
import yaml

from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore

SHARE = Path(__file__).resolve().parents[1]
LEVELS = {
    "easy": {"count": 6, "order": [1, 2], "mean_speed_mps": [0.3, 0.6]},
    "medium": {"count": 10, "order": [1, 3], "mean_speed_mps": [0.5, 1.0]},
    "hard": {"count": 16, "order": [2, 4], "mean_speed_mps": [0.8, 1.5]},
}
PLANNERS = ("straight", "fgm", "fgm_improved", "dwa_fox", "sst", "dki_sst")


def campaign(level, seed, worlds, simulator, planners):
    """Return the campaign of one level of difficulty."""
    names = [f"{level}_{number:02d}" for number in range(worlds)]
    return {
        "name": f"dynabarn_{level}",
        "seed": seed,
        "simulator": simulator,
        "worlds": {
            "directory": str(SHARE / "worlds"),
            "files": [{"file": "plain.world", "name": name} for name in names],
        },
        "robot": {
            "model": str(SHARE / "models" / "jackal_sized" / "model.sdf"),
            "start": {"x_m": -11.0, "y_m": 0.0},
            "max_linear_mps": 1.5,
            "max_angular_radps": 2.0,
            "max_linear_accel_mps2": 2.0,
        },
        "goal": {"x_m": 11.0, "y_m": 0.0},
        "planners": list(planners),
        "tracking": {"prediction": "constant_velocity"},
        "limits": {"timeout_s": 90.0},
        "actors": [{"name": "mover", "behavior": "polynomial", **LEVELS[level]}],
    }


def main():
    """Run the levels, and print the results of each planner."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=60, help="campaign seed")
    parser.add_argument("--worlds", type=int, default=20)
    parser.add_argument("--simulator", default="embedded")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--planners", nargs="+", default=PLANNERS)
    arguments = parser.parse_args()
    for level in LEVELS:
        folder = arguments.out / f"{level}_{arguments.simulator}"
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "campaign.yaml"
        spec = campaign(
            level, arguments.seed, arguments.worlds, arguments.simulator, arguments.planners
        )
        file.write_text(yaml.safe_dump(spec))
        command = [sys.executable, "-m", "gz_testauto.cli.main", "run", str(file)]
        command += ["--out", str(folder / "results"), "--workers", str(arguments.workers)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        print(f"{level}, {arguments.worlds} worlds, {arguments.simulator}", flush=True)
        by_planner = collections.defaultdict(list)
        with ResultStore.read(CampaignDirectory(folder / "results")) as store:
            for record in store.results().trials:
                by_planner[record.planner].append(record)
        for planner, records in by_planner.items():
            outcomes = collections.Counter(record.outcome.value for record in records)

            def mean(name, records=records):
                return np.nanmean([record.metrics[name] for record in records if record.metrics])

            print(
                f"  {planner:14s}",
                ", ".join(f"{outcome} {count}" for outcome, count in sorted(outcomes.items())),
                f"; stl {mean('stl'):.2f}, struck standing {mean('struck_standing'):.2f}, "
                f"exposed {mean('object_tet_s'):.2f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
