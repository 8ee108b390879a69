"""Where the time of an embedded campaign goes, and what obstacles and rays cost.

First the example campaign runs in one process, and every few milliseconds of CPU time a signal
asks what it is doing: physics, lidar, planner, metrics (ground truth, clearance and metrics), or
the rest, which is this package's own overhead. Then worlds with 8 to 256 obstacles, and lidars with
90 to 1440 rays, are driven through without a planner, in turns within one run. Prints shares, and
milliseconds per simulated second with their ratios to the first.

    python3 benchmarks/embedded.py [--worlds 10] [--turns 5] [--json]
"""

import argparse
import collections
import functools
import re
import signal
import statistics
import sys
import tempfile
import time
from pathlib import Path

from example import ROOT, example_campaign, print_figures

from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.simulator import start_simulator
from gz_testauto.observation import Twist2D
from gz_testauto.pose import Pose2D
from gz_testauto.sdf.robot import read_robot
from gz_testauto.simulators.embedded import EmbeddedSimulator
from gz_testauto.simulators.interface import Scene
from gz_testauto.trial.lockstep import LockstepExecutor

SAMPLE_S = 0.003
OBSTACLES = (8, 16, 64, 256)
RAYS = (90, 361, 720, 1440)
DRIVE_S = 10.0
PERIOD_S = 0.1

PARTS = (
    ("physics", "simulators/embedded/engine.py", ("tick", "refresh")),
    ("lidar", "simulators/embedded/lidar.py", None),
    ("lidar", "simulators/embedded/raycast.py", None),
    ("planner", "/planners/", None),
    ("metrics", "/metrics/", None),
    ("metrics", "trial/recorder.py", None),
)
"""What a frame of the stack counts for, by a part of its file's name and its functions."""


def part_of(frame):
    """What the innermost frame that says something says."""
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
    """A field of boxes and cylinders that leaves the robot's circle free."""
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
    """Milliseconds of CPU time per simulated second."""
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
    parser.add_argument("--worlds", type=int, default=10, help="worlds for the shares (default 10)")
    parser.add_argument("--turns", type=int, default=5, help="turns for the costs (default 5)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        figures = measure_shares(arguments.worlds, directory)
        print("shares done", file=sys.stderr)
        figures.update(measure_costs(arguments.turns, directory))
    print_figures(figures, arguments.json)


if __name__ == "__main__":
    main()
