"""Measure the trials per minute of each method of running a campaign.

The example campaign runs in the embedded simulator, on gzservers that are reused, and with nodes on
a ROS master for each worker, with each number of workers. Tools that start Gazebo again for every
world and run it in real time are estimated: a new gzserver is started, loaded and closed, and the
duration of a trial is its simulated time. Prints trials per minute, from the first finished trial
to the last one, and their ratios to that estimate; and the speed-up by more workers. The time until
the first trial is printed separately.

    python3 benchmarks/throughput.py [--turns 2] [--worlds 30] [--gazebo-worlds 6]
                                     [--ros-worlds 12] [--workers 1,2]
"""

import argparse
import functools
import statistics
import sys
import tempfile
import time
from pathlib import Path

from example import ROOT, example_campaign, numbers, print_figures

from gz_testauto.campaign.progress import CampaignListener
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.simulator import start_simulator
from gz_testauto.sdf.robot import read_robot
from gz_testauto.simulators.gazebo import GazeboSimulator
from gz_testauto.simulators.interface import Scene
from gz_testauto.trial.lockstep import LockstepExecutor
from gz_testauto.workers.processes import local_workers

RELAUNCHES = 3
ROS = "ros"
"""Name of the method in which ROS nodes drive in the embedded simulator."""


class Stopwatch(CampaignListener):
    """A recorder of the times at which trials finish."""

    def __init__(self):
        self.ended_s = []

    def trial_ended(self, record, progress):
        self.ended_s.append(time.perf_counter())


def executors(method, out):
    """Return the functions that create the executors of one method."""
    if method != ROS:
        return functools.partial(LockstepExecutor, open_simulator=start_simulator)
    from gz_testauto.ros.campaign.isolated_executor import IsolatedNodesExecutor  # needs ROS

    return functools.partial(
        IsolatedNodesExecutor,
        log_directory=out / "logs",
        simulator_parameters={"simulator": "embedded", "real_time_factor": "lockstep"},
    )


def run(method, workers, worlds, seed, out):
    """Return the steady number of trials per minute, the start-up time (s) and the mean simulated
    time (s) of a trial."""
    watch, began_s = Stopwatch(), time.perf_counter()
    results = run_campaign(
        example_campaign("embedded" if method == ROS else method, worlds, seed),
        out,
        executors(method, out),
        make_workers=local_workers(workers),
        listener=watch,
    )
    # trials that end together with the first one also started with it
    rate = 60 * (len(watch.ended_s) - workers) / (watch.ended_s[-1] - watch.ended_s[workers - 1])
    simulated_s = statistics.mean(record.metrics["time_s"] for record in results.trials)
    return rate, watch.ended_s[0] - began_s, simulated_s


def relaunch(world, robot):
    """Return the wall time (s) of starting a new gzserver with a world and a robot, and of closing
    it."""
    began_s = time.perf_counter()
    with GazeboSimulator() as simulator:
        simulator.load(Scene(world, robot)).snapshot()
    return time.perf_counter() - began_s


def measure(arguments, directory):
    robot = read_robot(ROOT / "models" / "wheelchair")
    methods = [("embedded", n, arguments.worlds) for n in arguments.workers]
    methods += [("gazebo", n, arguments.gazebo_worlds) for n in arguments.workers]
    methods += [(ROS, n, arguments.ros_worlds) for n in arguments.workers]
    methods = [method for method in methods if method[-1]]
    rates = {method[:2]: [] for method in methods}
    first_s = {method[:2]: [] for method in methods}
    relaunches_s, durations_s = [], []
    for turn in range(arguments.turns):
        for simulator, workers, worlds in methods:
            out = Path(directory) / f"{turn}-{simulator}-{workers}"
            rate, started_s, simulated_s = run(simulator, workers, worlds, turn, out)
            rates[simulator, workers].append(rate)
            first_s[simulator, workers].append(started_s)
            print(
                f"turn {turn}, {simulator}, workers {workers}: {rate:.1f} a minute", file=sys.stderr
            )
            if simulator == "gazebo":
                durations_s.append(simulated_s)
                world = out / "worlds" / "world_0000.world"
        relaunches_s += [relaunch(world, robot) for _ in range(RELAUNCHES)]
    relaunch_s, duration_s = statistics.median(relaunches_s), statistics.mean(durations_s)
    at_real_time = 60 / (relaunch_s + duration_s)
    figures = {
        "relaunch_s": round(relaunch_s, 2),
        "simulated_s_per_trial": round(duration_s, 1),
        "trials_per_minute_relaunched_at_real_time": round(at_real_time, 2),
    }
    for (simulator, workers), values in rates.items():
        name = f"{simulator}_{workers}"
        figures[f"trials_per_minute_{name}"] = round(statistics.median(values), 1)
        figures[f"first_trial_s_{name}"] = round(statistics.median(first_s[simulator, workers]), 1)
        figures[f"ratio_{name}"] = round(statistics.median(values) / at_real_time, 1)
    for simulator in dict.fromkeys(name for name, _ in rates):
        single = rates[simulator, arguments.workers[0]]
        for workers in arguments.workers[1:]:
            gains = [rate / base for rate, base in zip(rates[simulator, workers], single)]
            figures[f"scaling_{simulator}_{workers}"] = round(statistics.median(gains), 2)
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=2, help="turns (default 2)")
    parser.add_argument("--worlds", type=int, default=30, help="worlds embedded (default 30)")
    parser.add_argument("--gazebo-worlds", type=int, default=6, help="on Gazebo (default 6)")
    parser.add_argument("--ros-worlds", type=int, default=12, help="over ROS (default 12)")
    parser.add_argument("--workers", type=numbers, default=[1, 2], help="numbers (default 1,2)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        print_figures(measure(arguments, directory))


if __name__ == "__main__":
    main()
