"""Measures of the cost of a simulator with all its processes."""

import functools
from typing import Callable, Tuple

from gz_testauto.extras.simulator_comparison.measures.interface import (
    Measure,
    Own,
    register_measures,
)
from gz_testauto.extras.simulator_comparison.recordings.recording import RunRecording, SimulatorCost

LOAD = "load"  # terrain on which cost is measured

IDLE, ONE, FIVE = "idle", "one", "five"  # cases, by the number of moving robots


def _of_cost(numerator_and_denominator: Callable[[SimulatorCost], Tuple[float, float]]) -> Own:
    def of_recording(recording: RunRecording) -> Tuple[float, float]:
        assert recording.load is not None, "a recording with a cost"
        return numerator_and_denominator(recording.load)

    return of_recording


_load_measure = functools.partial(Measure, needs=("load",), terrain=LOAD)


def _cpu_time(name: str, case: str, robots: str, source: str) -> Measure:
    return _load_measure(
        name=name,
        unit="CPU s / s",
        description=f"CPU time of all processes of the simulator per simulated second {robots}",
        formula="sum of CPU s / sum of simulated s",
        source=source,
        own=_of_cost(lambda load: (load.cpu_s, load.simulated_s)),
        maneuver=case,
    )


register_measures(
    _load_measure(
        name="real_time_factor",
        better="higher",
        description="simulated time divided by wall time, at full speed with one robot",
        formula="sum of simulated s / sum of wall s",
        source="Farley et al. 2022, equation (2)",
        own=_of_cost(lambda load: (load.simulated_s, load.wall_s)),
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
    _load_measure(
        name="memory",
        unit="MiB",
        description="resident memory of all processes of the simulator after a run with one robot; "
        "for a simulator inside the process, the increase since before its import, which includes "
        "libraries",
        formula="mean over runs",
        source="psutil",
        own=_of_cost(lambda load: (load.memory_bytes / 2**20, 1.0)),
        maneuver=ONE,
    ),
)
