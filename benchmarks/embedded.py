"""Measure the CPU time of an embedded trial and of its parts.

    python3 benchmarks/embedded.py [--worlds 10] [--only trials,start,dwa,shares]

trials  Each trial of the example campaign runs a second time with its recorded commands, which
        takes the time of physics, lidar and stepping only. The time of the whole trial, from
        loading its world to its row in the store, is printed as a multiple of it.
start   The CPU time of a process from its start to its first trial.
dwa     The cycle of dwa_fox with 541 rays among BARN's cylinders, if BARN_ROOT is set.
shares  The shares of physics, lidar, planner, metrics, and the rest, which is the overhead of this
        package. They are sampled every few milliseconds of CPU time.
"""

import argparse
import collections
import functools
import math
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from example import ROOT, example_campaign, print_figures

from gz_testauto.base.observation import Twist2D
from gz_testauto.campaign.progress import CampaignListener
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.simulator import start_simulator, with_simulator
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.trial.lockstep import LockstepExecutor

SAMPLE_S = 0.003
BARN_RAYS = 541
BARN_WORLDS = 3
STARTS = 3

PARTS = (
    ("physics", "simulators/embedded/engine.py", ("step", "refresh")),
    ("lidar", "simulators/embedded/lidar.py", None),
    ("planner", "/planners/", None),
    ("metrics", "/metrics/", None),
    ("metrics", "trial/recorder.py", None),
)
"""Names of the measured parts of a trial, by file name and function of a stack frame."""

START = """
import os, sys, time
from gz_testauto.cli.main import VERBS, main
def first(self, trial, should_stop):
    print(time.process_time(), flush=True)
    os._exit(0)
get_verb = VERBS.get
def get_patched(name):
    verb = get_verb(name)
    from gz_testauto.trial.lockstep import LockstepExecutor
    LockstepExecutor.execute = first
    return verb
VERBS.get = get_patched
main(["run", sys.argv[1], "--simulator", "embedded", "--workers", "1", "--out", sys.argv[2]])
"""
"""Program that starts a campaign, stops before its first trial and prints the used CPU time."""


class Trials(CampaignListener):
    """A listener that stores the CPU times of the first start and of the last end of a trial."""

    def __init__(self):
        self.began_s = None
        self.ended_s = None

    def trial_began(self, trial, progress):
        if self.began_s is None:
            self.began_s = time.process_time()

    def trial_ended(self, record, progress):
        self.ended_s = time.process_time()


class RepeatingExecutor(LockstepExecutor):
    """An executor that runs each trial a second time with the recorded velocity commands."""

    steps_s = 0.0
    """CPU time (s) of the steps of the repeated trials."""
    repeated_s = 0.0
    """CPU time (s) of the repeated trials."""

    def execute(self, trial, should_stop):
        result = super().execute(trial, should_stop)
        began_s = time.process_time()
        bed, recording = self._bed, result.recording
        simulation = self._require_simulator().load(bed.scene(trial))
        commands = [Twist2D(*command) for command in recording.command.tolist()]
        steps_began_s = time.process_time()
        for command in commands:
            if math.isnan(command.linear_mps):
                break
            simulation.drive(command)
            snapshot = simulation.step(bed.spec.control_period_s)
        RepeatingExecutor.steps_s += time.process_time() - steps_began_s
        pose = snapshot.models[bed.robot.name].pose.planar
        assert pose == tuple(recording.pose[-1].tolist()), "the trajectory is not repeatable"
        RepeatingExecutor.repeated_s += time.process_time() - began_s
        return result


def measure_trials(worlds, directory):
    """Return the CPU time of whole trials as a multiple of physics, lidar and stepping alone."""
    run(example_campaign("embedded", 1, seed=0), Path(directory) / "warm_trials")
    listener = Trials()
    make_executor = functools.partial(RepeatingExecutor, open_simulator=start_simulator)
    spec = example_campaign("embedded", worlds, seed=7)
    results = run_campaign(spec, Path(directory) / "trials", make_executor, listener=listener)
    simulated_s = sum(record.metrics["time_s"] for record in results.trials)
    whole_s = listener.ended_s - listener.began_s - RepeatingExecutor.repeated_s
    return {
        "whole_trial_ms_per_simulated_s": round(1000 * whole_s / simulated_s, 2),
        "physics_and_lidar_ms_per_simulated_s": round(
            1000 * RepeatingExecutor.steps_s / simulated_s, 2
        ),
        "whole_trial_over_physics_and_lidar": round(whole_s / RepeatingExecutor.steps_s, 2),
        **{
            f"cycle_ms_{planner}": round(1000 * mean_cycle_s(results, planner), 3)
            for planner in results.planners
        },
    }


def mean_cycle_s(results, planner):
    cycles = [r.metrics["cycle_cpu_mean_s"] for r in results.trials if r.planner == planner]
    return statistics.mean(cycles)


def measure_start(directory):
    """Return the minimum of the CPU times (s) of several processes to their first trials."""
    campaign = ROOT / "config" / "example_campaign.yaml"
    times_s = []
    for turn in range(STARTS + 1):  # the first one fills the disk cache
        command = [sys.executable, "-c", START, campaign, Path(directory) / f"start_{turn}"]
        output = subprocess.check_output(list(map(str, command)), timeout=600)
        times_s.append(float(output.split()[-1]))
    return {"start_to_first_trial_cpu_s": round(min(times_s[1:]), 2)}


def measure_dwa(directory):
    """Return the mean CPU time of one cycle of dwa_fox among the cylinders of BARN worlds."""
    if "BARN_ROOT" not in os.environ:
        print("without BARN_ROOT, dwa is not timed", file=sys.stderr)
        return {}
    barn = load(ROOT / "config" / "benchmarks" / "barn.yaml", CampaignSpec)
    spec = with_simulator(barn, "embedded")
    model = Path(directory) / "jackal_sized.sdf"
    text = (ROOT / "models" / "jackal_sized" / "model.sdf").read_text()
    model.write_text(set_rays(text, BARN_RAYS))
    spec = spec.model_copy(
        update={
            "planners": tuple(entry for entry in spec.planners if entry.name == "dwa_fox"),
            "robot": spec.robot.model_copy(update={"model": model}),
            "worlds": spec.worlds.model_copy(update={"files": spec.worlds.files[:BARN_WORLDS]}),
        }
    )
    results = run(spec, Path(directory) / "barn")
    return {"dwa_cycle_ms_among_barns_cylinders": round(1000 * mean_cycle_s(results, "dwa_fox"), 2)}


def part_of(frame):
    """Return the name of the measured part to which the innermost known stack frame belongs."""
    while frame is not None:
        name, function = frame.f_code.co_filename, frame.f_code.co_name
        for part, file, functions in PARTS:
            if file in name and (functions is None or function in functions):
                return part
        frame = frame.f_back
    return "overhead"


def measure_shares(worlds, directory):
    counts = collections.Counter()

    def count_part(number, frame):
        counts[part_of(frame)] += 1

    run(example_campaign("embedded", 1, seed=0), Path(directory) / "warm")  # compiles
    signal.signal(signal.SIGPROF, count_part)
    signal.setitimer(signal.ITIMER_PROF, SAMPLE_S, SAMPLE_S)
    began_s = time.process_time()
    results = run(example_campaign("embedded", worlds, seed=1), Path(directory) / "run")
    cpu_s = time.process_time() - began_s
    signal.setitimer(signal.ITIMER_PROF, 0)
    simulated_s = sum(record.metrics["time_s"] for record in results.trials)
    total = sum(counts.values())
    return {
        **{f"share_{part}": round(count / total, 3) for part, count in counts.most_common()},
        "samples": total,
        "trials": len(results.trials),
        "cpu_s_per_trial": round(cpu_s / len(results.trials), 3),
        "cpu_ms_per_simulated_s": round(1000 * cpu_s / simulated_s, 2),
    }


def run(spec, out):
    make_executor = functools.partial(LockstepExecutor, open_simulator=start_simulator)
    return run_campaign(spec, out, make_executor)


def set_rays(sdf, rays):
    """Return the SDF of a robot with this number of rays of its only lidar."""
    text, count = re.subn(r"<samples>\d+</samples>", f"<samples>{rays}</samples>", sdf)
    assert count == 1
    return text


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--worlds", type=int, default=10, help="worlds for trials and shares (default 10)"
    )
    parser.add_argument("--only", default="trials,start,dwa,shares", help="of %(default)s")
    arguments = parser.parse_args()
    parts = {
        "trials": functools.partial(measure_trials, arguments.worlds),
        "start": measure_start,
        "dwa": measure_dwa,
        "shares": functools.partial(measure_shares, arguments.worlds),
    }
    figures = {}
    with tempfile.TemporaryDirectory() as directory:
        for part, measure in parts.items():
            if part in arguments.only.split(","):
                figures.update(measure(directory))
                print(f"{part} finished", file=sys.stderr)
    print_figures(figures)


if __name__ == "__main__":
    main()
