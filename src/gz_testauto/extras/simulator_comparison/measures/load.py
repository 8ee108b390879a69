"""Measures of the cost of a simulator with all its processes, without the cost of the
measurement."""

from typing import Tuple

from gz_testauto.extras.simulator_comparison.measures.interface import (
    Measure,
    register_measures,
)
from gz_testauto.extras.simulator_comparison.recordings.recording import RunRecording, SimulatorCost

LOAD = "load"
"""Name of the terrain on which the cost of simulators is measured."""

IDLE, ONE, FIVE = "idle", "one", "five"
"""Names of the cases in which cost is measured: without a robot, with one and with five moving
robots."""


def _load(recording: RunRecording) -> SimulatorCost:
    assert recording.load is not None, "a recording with a cost"
    return recording.load


def _real_time_factor(recording: RunRecording) -> Tuple[float, float]:
    load = _load(recording)
    return load.simulated_s, load.wall_s


def _cpu(recording: RunRecording) -> Tuple[float, float]:
    load = _load(recording)
    return load.cpu_s, load.simulated_s


def _memory(recording: RunRecording) -> Tuple[float, float]:
    return _load(recording).memory_bytes / 2**20, 1.0


def _cpu_time(name: str, case: str, robots: str, source: str) -> Measure:
    return Measure(
        name=name,
        unit="CPU s / s",
        description=f"CPU time of all processes of the simulator per simulated second {robots}",
        formula="sum of CPU s / sum of simulated s",
        source=source,
        needs=("load",),
        own=_cpu,
        terrain=LOAD,
        maneuver=case,
    )


register_measures(
    Measure(
        name="real_time_factor",
        better="higher",
        description="simulated time divided by wall time, at full speed with one robot",
        formula="sum of simulated s / sum of wall s",
        source="Farley et al. 2022, equation (2)",
        needs=("load",),
        own=_real_time_factor,
        terrain=LOAD,
        maneuver=ONE,
    ),
    _cpu_time("cpu_idle", IDLE, "without a robot", "read from the processes"),
    _cpu_time(
        "cpu_average",
        ONE,
        "with one robot",
        "Farley et al. 2022, section 3.3.2, read from the processes; theirs is a share in %",
    ),
    _cpu_time("cpu_intense", FIVE, "with five robots", "Farley et al. 2022, section 3.3.2"),
    Measure(
        name="memory",
        unit="MiB",
        description="resident memory of all processes of the simulator after a run with one robot; "
        "for a simulator inside the process, the increase since before its import, which includes "
        "libraries",
        formula="mean over runs",
        source="psutil",
        needs=("load",),
        own=_memory,
        terrain=LOAD,
        maneuver=ONE,
    ),
)
