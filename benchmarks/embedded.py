"""Measure the CPU time of an embedded trial, of its parts, and the influence of obstacles and rays.

First, every trial of the example campaign runs a second time with its recorded commands. This takes
the time of physics, lidar and stepping only and must end at the same pose to the bit. The time of
the whole trial, from loading its world to its row in the store, is printed as a multiple of it. A
separate process measures the CPU time from its start to its first trial. If BARN_ROOT is set, dwa
is timed with 541 rays among BARN's cylinders.

Then the example campaign runs in one process. Every few milliseconds of CPU time, a signal handler
records the active part: physics, lidar, planner, metrics (ground truth, clearance and metrics), or
the rest, which is the overhead of this package. Then the robot drives without a planner through
worlds with 8 to 256 obstacles, and with lidars of 90 to 1440 rays, alternately in one run. Prints
shares, and milliseconds per simulated second with their ratios to the first.

    python3 benchmarks/embedded.py [--worlds 10] [--turns 5] [--only trials,start,dwa,shares,costs]
                                   [--json]
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
from gz_testauto.base.pose import Pose2D
from gz_testauto.campaign.progress import CampaignListener
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.simulator import start_simulator, with_simulator
from gz_testauto.sdf.robot import read_robot
from gz_testauto.simulators.embedded import EmbeddedSimulator
from gz_testauto.simulators.interface import Scene
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.trial.lockstep import LockstepExecutor

SAMPLE_S = 0.003
OBSTACLES = (8, 16, 64, 256)
RAYS = (90, 361, 720, 1440)
DRIVE_S = 10.0
PERIOD_S = 0.1
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
from gz_testauto.cli.main import main
from gz_testauto.trial.lockstep import LockstepExecutor
def first(self, trial, should_stop):
    print(time.process_time(), flush=True)
    os._exit(0)
LockstepExecutor.execute = first
main(["run", sys.argv[1], "--simulator", "embedded", "--workers", "1", "--out", sys.argv[2]])
"""
"""Program that starts a campaign, stops before its first trial and prints the used CPU time."""


class Trials(CampaignListener):
    """A listener that measures the CPU time from the start of the first trial to the end of the
    last one."""

    def __init__(self):
        self.began_s = None
        self.ended_s = None

    def trial_began(self, trial, progress):
        if self.began_s is None:
            self.began_s = time.process_time()

    def trial_ended(self, record, progress):
        self.ended_s = time.process_time()


class TwiceDriving(LockstepExecutor):
    """An executor that runs each trial a second time with the recorded velocity commands."""

    steps_s = 0.0
    """CPU time (s) of the physics steps of the repeated trials."""
    again_s = 0.0
    """CPU time (s) of the repeated trials as a whole."""

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
        TwiceDriving.steps_s += time.process_time() - steps_began_s
        pose = snapshot.models[bed.robot.name].pose.planar
        assert pose == tuple(recording.pose[-1].tolist()), "the same commands, the same drive"
        TwiceDriving.again_s += time.process_time() - began_s
        return result


def measure_trials(worlds, directory):
    """Return the CPU time of whole trials as a multiple of physics, lidar and stepping alone."""
    run(example_campaign("embedded", 1, seed=0), Path(directory) / "warm_trials")
    listener = Trials()
    make_executor = functools.partial(TwiceDriving, open_simulator=start_simulator)
    spec = example_campaign("embedded", worlds, seed=7)
    results = run_campaign(spec, Path(directory) / "trials", make_executor, listener=listener)
    simulated_s = sum(record.metrics["time_s"] for record in results.trials)
    whole_s = listener.ended_s - listener.began_s - TwiceDriving.again_s
    return {
        "whole_trial_ms_per_simulated_s": round(1000 * whole_s / simulated_s, 2),
        "physics_and_lidar_ms_per_simulated_s": round(1000 * TwiceDriving.steps_s / simulated_s, 2),
        "whole_trial_over_physics_and_lidar": round(whole_s / TwiceDriving.steps_s, 2),
        **{
            f"cycle_ms_{planner}": round(1000 * mean_cycle_s(results, planner), 3)
            for planner in results.planners
        },
    }


def mean_cycle_s(results, planner):
    cycles = [r.metrics["cycle_cpu_mean_s"] for r in results.trials if r.planner == planner]
    return statistics.mean(cycles)


def measure_start(directory):
    """Return the CPU time (s) from the start of a process to its first trial, the minimum of
    several processes."""
    campaign = str(ROOT / "config" / "example_campaign.yaml")
    seen = []
    for turn in range(STARTS + 1):  # the first warms the disk
        out = str(Path(directory) / f"start_{turn}")
        ran = subprocess.run(
            [sys.executable, "-c", START, campaign, out],
            stdout=subprocess.PIPE,
            check=True,
            timeout=600,
        )
        seen.append(float(ran.stdout.split()[-1]))
    return {"start_to_first_trial_cpu_s": round(min(seen[1:]), 2)}


def measure_dwa(directory):
    """Return the mean CPU time of one cycle of dwa_fox among the cylinders of BARN worlds."""
    if "BARN_ROOT" not in os.environ:
        print("without BARN_ROOT, dwa is not timed", file=sys.stderr)
        return {}
    spec = with_simulator(
        load(ROOT / "config" / "benchmarks" / "barn.yaml", CampaignSpec), "embedded"
    )
    model = Path(directory) / "jackal_sized.sdf"
    text = (ROOT / "models" / "jackal_sized" / "model.sdf").read_text()
    text, count = re.subn(r"<samples>\d+</samples>", f"<samples>{BARN_RAYS}</samples>", text)
    assert count == 1, "the model has one lidar"
    model.write_text(text)
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
        for part, place, functions in PARTS:
            if place in name and (functions is None or function in functions):
                return part
        frame = frame.f_back
    return "overhead"


def measure_shares(worlds, directory):
    counts = collections.Counter()

    def look(number, frame):
        counts[part_of(frame)] += 1

    # what happens once on a machine, and once in a process, is not what trials cost
    run(example_campaign("embedded", 1, seed=0), Path(directory) / "warm")
    signal.signal(signal.SIGPROF, look)
    signal.setitimer(signal.ITIMER_PROF, SAMPLE_S, SAMPLE_S)
    began_s = time.process_time()
    results = run(example_campaign("embedded", worlds, seed=1), Path(directory) / "run")
    cpu_s = time.process_time() - began_s
    signal.setitimer(signal.ITIMER_PROF, 0)
    simulated_s = sum(record.metrics["time_s"] for record in results.trials)
    total = sum(counts.values())
    figures = {f"share_{part}": round(count / total, 3) for part, count in counts.most_common()}
    figures["samples"] = total
    figures["trials"] = len(results.trials)
    figures["cpu_s_per_trial"] = round(cpu_s / len(results.trials), 3)
    figures["cpu_ms_per_simulated_s"] = round(1000 * cpu_s / simulated_s, 2)
    return figures


def run(spec, out):
    make_executor = functools.partial(LockstepExecutor, open_simulator=start_simulator)
    return run_campaign(spec, out, make_executor)


def write_world(directory, obstacles):
    """Write a world with random boxes and cylinders that leave the circle of the robot free."""
    models, spacing = [], 28.0 / 17
    places = [
        (x, y)
        for x in (spacing * (i - 8) for i in range(17))
        for y in (spacing * (i - 8) for i in range(17))
        if x * x + y * y > 2.5**2
    ]
    step = len(places) / obstacles
    for index in range(obstacles):
        x, y = places[int(index * step)]
        shape = (
            "<box><size>0.4 0.5 1</size></box>"
            if index % 2
            else "<cylinder><radius>0.25</radius><length>1</length></cylinder>"
        )
        models.append(
            f'<model name="obstacle_{index}"><static>1</static><pose>{x:.3f} {y:.3f} 0.5 0 0 '
            f'{index}</pose><link name="link"><collision name="c"><geometry>{shape}</geometry>'
            "</collision></link></model>"
        )
    path = Path(directory) / f"{obstacles}.world"
    text = (ROOT / "worlds" / "arena.world").read_text()
    path.write_text(text.replace("</world>", "".join(models) + "</world>"))
    return path


def robot_with(rays):
    robot = read_robot(ROOT / "models" / "wheelchair")
    sdf, count = re.subn(r"<samples>\d+</samples>", f"<samples>{rays}</samples>", robot.sdf)
    assert count == 1, "the model has one lidar"
    with tempfile.NamedTemporaryFile("w", suffix=".sdf") as file:
        file.write(sdf)
        file.flush()
        return read_robot(Path(file.name), robot.name)


def drive(simulator, world, robot):
    """Return the CPU time of a simulation in milliseconds per simulated second."""
    simulation = simulator.load(Scene(world, robot, Pose2D(0.0, 0.0, 0.0)))
    simulation.drive(Twist2D(0.5, 0.5))
    simulation.step(PERIOD_S)
    began_s = time.process_time()
    for _ in range(round(DRIVE_S / PERIOD_S)):
        simulation.step(PERIOD_S)
    return 1000 * (time.process_time() - began_s) / DRIVE_S


def measure_costs(turns, directory):
    standard = read_robot(ROOT / "models" / "wheelchair")
    cases = {f"obstacles_{n}": (write_world(directory, n), standard) for n in OBSTACLES}
    world = write_world(directory, 16)
    cases.update({f"rays_{n}": (world, robot_with(n)) for n in RAYS})
    seen = {name: [] for name in cases}
    with EmbeddedSimulator() as simulator:
        for world, robot in cases.values():
            drive(simulator, world, robot)
        for _ in range(turns):
            for name, (world, robot) in cases.items():
                seen[name].append(drive(simulator, world, robot))
    figures = {}
    for name, values in seen.items():
        kind = name.split("_")[0]
        first = statistics.median(next(v for n, v in seen.items() if n.startswith(kind)))
        figures[f"{name}_ms_per_simulated_s"] = round(statistics.median(values), 2)
        figures[f"{name}_ratio"] = round(statistics.median(values) / first, 2)
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--worlds", type=int, default=10, help="worlds for trials and shares (default 10)"
    )
    parser.add_argument("--turns", type=int, default=5, help="turns for the costs (default 5)")
    parser.add_argument("--only", default="", help="of trials,start,dwa,shares,costs; else all")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args()
    wanted = arguments.only.split(",") if arguments.only else []
    figures = {}
    with tempfile.TemporaryDirectory() as directory:
        for part, measure in (
            ("trials", functools.partial(measure_trials, arguments.worlds)),
            ("start", measure_start),
            ("dwa", measure_dwa),
            ("shares", functools.partial(measure_shares, arguments.worlds)),
            ("costs", functools.partial(measure_costs, arguments.turns)),
        ):
            if not wanted or part in wanted:
                figures.update(measure(directory))
                print(f"{part} done", file=sys.stderr)
    print_figures(figures, arguments.json)


if __name__ == "__main__":
    main()
