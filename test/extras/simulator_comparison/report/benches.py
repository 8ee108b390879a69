"""Comparisons for tests of reports: recordings of a real robot and of simulators with known
errors."""

import functools
import sys
from pathlib import Path

import numpy as np

from gz_testauto.base.resources import share_directory
from gz_testauto.extras.simulator_comparison.bench.simulated import (
    NO_CONDITIONS,
    InvalidRun,
    RunConditions,
)
from gz_testauto.extras.simulator_comparison.findings import evaluate_bench
from gz_testauto.extras.simulator_comparison.measures.load import LOAD, ONE
from gz_testauto.extras.simulator_comparison.probe import GroundProbe
from gz_testauto.extras.simulator_comparison.recordings.recording import RunRecording, SimulatorCost
from gz_testauto.extras.simulator_comparison.spec import BenchSpec
from gz_testauto.spec.loader import load

sys.path.append(str(Path(__file__).resolve().parents[1]))
from synthetic import drive

CASES = ("flat/straight", "gravel/s_curve")
PAPER = share_directory() / "config" / "simulator_comparison" / "farley_2022.yaml"


@functools.lru_cache(maxsize=None)
def paper():
    """Return the results of a comparison of the values that Farley et al. 2022 published."""
    return evaluate_bench(load(PAPER, BenchSpec))


def recorded(seed, noise, repetitions, load_s=None):
    """Return recordings of all repetitions by case. With ``load_s`` (CPU seconds per second) there
    are also cost measurements."""

    def one(number):
        return drive(
            1000 * seed + number,
            duration_s=6.0,
            noise=noise,
            speed_mps=lambda time_s: 0.5 + 0.2 * np.sin(0.9 * time_s),
        )

    found = {
        case: [one(10 * at + number) for number in range(repetitions)]
        for at, case in enumerate(CASES)
    }
    if load_s is not None:
        wall_s = [4.0 - 4.0 * load_s + 0.1 * number for number in range(repetitions)]
        loads = [SimulatorCost(6.0, wall, 6.0 * load_s, 2e8) for wall in wall_s]
        found[f"{LOAD}/{ONE}"] = [RunRecording("load", load=load) for load in loads]
    return found


def simulated(names=("near", "loud", "lost", "sunk"), conditions=NO_CONDITIONS, repetitions=3):
    """Return the results of a comparison of simulators with a real robot. The entry ``near``
    vibrates as the robot does, and others vibrate more. ``lost`` and ``sunk`` have runs on flat
    ground only."""
    features = {"free": True, "ros": "plugin", "source": "its page", "date": "2026-11-01"}
    spec = BenchSpec.model_validate(
        {
            "name": "husky",
            "entries": [
                {"name": "real", "recording": {"cases": {case: ["a.csv"] for case in CASES}}},
                *({"name": name, "features": features} for name in names),
            ],
            "reference": "real",
            "reference_is_robot": True,
            "weights": {"free": 1, "real_time_factor": 2, "imu_linear_error": 4, "gain": 2},
        }
    )
    drives = {"real": recorded(1, 0.3, repetitions=repetitions)}
    for at, name in enumerate(names):
        noise = 0.3 if name == "near" else 0.6
        drives[name] = recorded(2 + at, noise, repetitions=repetitions, load_s=0.2 + 0.1 * at)
    for name in {"lost", "sunk"} & set(drives):
        del drives[name][CASES[1]]
    return find_without_reading(spec, drives, conditions)


def find_without_reading(spec, drives, conditions):
    """Evaluate a specification with recordings that are not in files."""
    entries = tuple(
        entry.model_copy(update={"recording": None}) if entry.name in drives else entry
        for entry in spec.entries
    )
    return evaluate_bench(spec.model_copy(update={"entries": entries}), drives, conditions)


CONDITIONS = RunConditions(
    simulators={"near": "gazebo 11.10.2 (engine: ode)", "loud": "embedded 3.2.3"},
    grounds=(
        GroundProbe("near", "gravel", 0.0004, 0.55, 0.55),
        GroundProbe("loud", "gravel", 0.0009, 0.56, 0.55),
        GroundProbe("sunk", "gravel", 0.013, 0.55, 0.55, "the surface is 13.0 mm off"),
    ),
    invalid=(InvalidRun("lost", CASES[1], 2, "the robot is more than 0.15 m below the ground"),),
    notes=("Others used 34 % of the machine while loads were measured.",),
)


@functools.lru_cache(maxsize=None)
def simulated_report():
    """Return the results of a comparison with all conditions that a report can show."""
    return simulated(conditions=CONDITIONS)
