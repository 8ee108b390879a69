"""Cost of a simulator: processor time, wall time and memory, without those of the measurement.

If a simulator has separate processes (``Simulator.processes``), these and their children are
measured. Otherwise the processor time of all threads of this process during a step is measured, and
the memory that was allocated since the simulator was opened. No sensor is read during the
measurement.
"""

import contextlib
import time
from typing import Iterable, List, NamedTuple, Tuple

import numpy as np
import psutil

from gz_testauto.base.errors import SceneError
from gz_testauto.base.observation import Twist2D
from gz_testauto.extras.simulator_comparison.bench.run_maneuver import (
    ManeuverRequest,
    load_scene,
    settle,
)
from gz_testauto.extras.simulator_comparison.maneuvers import PERIOD_S
from gz_testauto.extras.simulator_comparison.recordings.recording import SimulatorCost
from gz_testauto.simulators.interface import Simulation, Simulator

SEGMENT_S = 1.0  # simulated time between two readings of the clocks

MIN_SEGMENTS, MAX_SEGMENTS = 12, 120
MIN_CPU_S = 1.5  # processor time after which the minimum number of segments is sufficient


class Clocks(NamedTuple):
    """Wall time, and processor times of the simulator, of the machine, and of all processes that
    belong to the measurement (s)."""

    wall_s: float
    simulator_s: float
    busy_s: float
    ours_s: float


def measure_load(
    simulator: Simulator, request: ManeuverRequest, base_bytes: float, owner: int
) -> SimulatorCost:
    """Execute the commands of a request, and return the cost of the simulator after them.

    All robots keep driving by the last command. ``base_bytes`` is the memory of this process before
    the simulator was opened, and ``owner`` the ID of the parent process.
    """
    if len(request.robots) > 1 and not simulator.several_robots:
        raise SceneError(
            f"{simulator.name} supports only one robot in a world, not {len(request.robots)}"
        )
    simulation = load_scene(simulator, request)
    settle(simulation, PERIOD_S)
    for linear_mps, angular_radps in request.commands.tolist():
        for robot in request.robots:
            simulation.drive(Twist2D(linear_mps, angular_radps), robot.robot.name)
        simulation.step(PERIOD_S)
    return _measure_segments(simulator, simulation, base_bytes, owner)


def _measure_segments(
    simulator: Simulator, simulation: Simulation, base_bytes: float, owner: int
) -> SimulatorCost:
    readings = [_read_clocks(simulator, owner)]
    while len(readings) <= MAX_SEGMENTS:
        used_s = readings[-1].simulator_s - readings[0].simulator_s
        if len(readings) > MIN_SEGMENTS and used_s >= MIN_CPU_S:
            break
        simulation.step(SEGMENT_S)
        readings.append(_read_clocks(simulator, owner))
    count = len(readings) - 1
    # the median is robust against one interruption
    wall_s, cpu_s, *_ = np.median(np.diff(readings, axis=0), axis=0).tolist()
    first, last = readings[0], readings[-1]
    others_s = (last.busy_s - first.busy_s) - (last.ours_s - first.ours_s)
    processors_s = (last.wall_s - first.wall_s) * (psutil.cpu_count() or 1)
    memory = _memory_bytes(simulator.processes)
    return SimulatorCost(
        simulated_s=count * SEGMENT_S,
        wall_s=count * wall_s,
        cpu_s=count * cpu_s,
        memory_bytes=memory or max(0.0, psutil.Process().memory_info().rss - base_bytes),
        others=max(0.0, others_s / processors_s),
    )


def _read_clocks(simulator: Simulator, owner: int) -> Clocks:
    times = psutil.cpu_times()
    idle_s = times.idle + getattr(times, "iowait", 0.0)
    guests_s = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
    busy_s = sum(times) - idle_s - guests_s  # guests are included in user and nice
    own_s, parent_s = time.process_time(), _cpu_s([owner], ended=False)
    outside_s = _cpu_s(_process_tree(simulator.processes))
    return Clocks(
        wall_s=time.perf_counter(),
        simulator_s=outside_s if simulator.processes else own_s,
        busy_s=busy_s,
        ours_s=own_s + parent_s + outside_s,
    )


def _process_tree(pids: Iterable[int]) -> List[int]:
    tree: List[int] = []
    for pid in pids:
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(pid)
            tree += [pid, *(child.pid for child in process.children(recursive=True))]
    return list(dict.fromkeys(tree))


def _cpu_s(pids: Iterable[int], ended: bool = True) -> float:
    """Return the CPU time of processes, with their exited children if ``ended`` is true."""
    total = 0.0
    for pid in pids:
        with contextlib.suppress(psutil.Error):
            times = psutil.Process(pid).cpu_times()
            total += times.user + times.system
            total += times.children_user + times.children_system if ended else 0.0
    return total


def _memory_bytes(pids: Tuple[int, ...]) -> float:
    total = 0.0
    for pid in _process_tree(pids):
        with contextlib.suppress(psutil.Error):
            total += psutil.Process(pid).memory_info().rss
    return total
