"""Measurement of the cost of a simulator."""

import itertools
import subprocess
import sys

import pytest

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.pose import Pose2D
from gz_testauto.base.resources import share_directory
from gz_testauto.extras.simulator_comparison.bench import load
from gz_testauto.extras.simulator_comparison.bench.load import Clocks, measure_load
from gz_testauto.extras.simulator_comparison.bench.plan import (
    LOAD_DRIVE,
    LOAD_TERRAIN,
    read_bench_robot,
)
from gz_testauto.extras.simulator_comparison.bench.run_maneuver import ManeuverRequest
from gz_testauto.extras.simulator_comparison.maneuvers import BenchRobotSpec, compute_commands
from gz_testauto.extras.simulator_comparison.terrain import make_terrain, write_world
from gz_testauto.simulators.interface import PlacedRobot
from gz_testauto.simulators.kinematic import KinematicSimulator

ROBOT = BenchRobotSpec(model=share_directory() / "models" / "wheelchair")


@pytest.fixture
def order(tmp_path):
    """Return a request to drive ``count`` robots."""
    world = write_world(make_terrain(LOAD_TERRAIN, 0), tmp_path)
    commands = compute_commands(LOAD_DRIVE, ROBOT)

    def of(count):
        robots = read_bench_robot(ROBOT, max(count, 1), always=False)[:count]
        load_scene = tuple(
            PlacedRobot(robot, Pose2D(0.0, 3.0 * lane)) for lane, robot in enumerate(robots)
        )
        return ManeuverRequest("load", world, load_scene, (0.0,) * count, commands)

    return of


def set_readings(monkeypatch, wall_s, cpu_s, others_s=0.0):
    """Replace the clocks with synthetic ones that advance by these times per segment, on two
    processors."""
    shown = [Clocks(0.0, 0.0, 0.0, 0.0)]
    for wall, cpu in zip(wall_s, cpu_s):
        last = shown[-1]
        shown.append(
            Clocks(
                last.wall_s + wall,
                last.simulator_s + cpu,
                last.busy_s + cpu + others_s,
                last.ours_s + cpu,
            )
        )
    readings = iter(shown)
    monkeypatch.setattr(load, "_read_clocks", lambda simulator, owner: next(readings))
    monkeypatch.setattr(load.psutil, "cpu_count", lambda: 2)


def test_one_interruption_does_not_change_the_measured_cost(monkeypatch, order):
    wall_s = [0.5] * 6 + [9.0] + [0.5] * 5
    set_readings(monkeypatch, wall_s, [0.25] * 12)
    found = measure_load(KinematicSimulator(), order(1), 0.0, 1)
    assert (found.simulated_s, found.wall_s, found.cpu_s) == pytest.approx((12.0, 6.0, 3.0))
    assert found.others == pytest.approx(0.0)


@pytest.mark.slow
def test_cost_measurement_is_extended_until_enough_cpu_time_was_used(monkeypatch, order):
    set_readings(monkeypatch, itertools.repeat(0.1), [0.05] * 200)
    assert measure_load(KinematicSimulator(), order(1), 0.0, 1).simulated_s == 30.0
    set_readings(monkeypatch, itertools.repeat(0.1), [0.001] * 200)
    assert measure_load(KinematicSimulator(), order(1), 0.0, 1).simulated_s == 120.0


def test_load_of_other_programs_is_a_share_of_all_processors(monkeypatch, order):
    set_readings(monkeypatch, [1.0] * 12, [0.5] * 12, others_s=0.4)
    assert measure_load(KinematicSimulator(), order(1), 0.0, 1).others == pytest.approx(0.2)


@pytest.mark.slow
def test_cost_of_five_robots_needs_a_simulator_for_several_robots(order):
    assert measure_load(KinematicSimulator(), order(0), 0.0, 1).cpu_s >= 0.0
    with pytest.raises(SimulatorError, match="kinematic supports only one robot"):
        measure_load(KinematicSimulator(), order(5), 0.0, 1)


@pytest.mark.slow
def test_cost_includes_all_processes_of_the_simulator(order):
    burn = "import time\nwhile time.process_time() < 0.3: pass\nprint(1, flush=True)\ninput()"
    child = subprocess.Popen(
        [sys.executable, "-c", burn], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )

    class Elsewhere(KinematicSimulator):
        processes = (child.pid,)

    try:
        child.stdout.readline()
        used_s = load._read_clocks(Elsewhere(), 1).simulator_s
        found = measure_load(Elsewhere(), order(1), 1e15, 1)
    finally:
        child.kill()
        child.wait(60)
    assert used_s >= 0.25
    assert found.cpu_s == 0.0  # it waits for input while this process simulates
    assert found.memory_bytes > 1e6
