"""One open simulator with its options, and the requests to it.

Determines the options for each purpose, and when a simulator is opened again.
"""

import os
from pathlib import Path
from typing import Any, Dict, Mapping, NamedTuple, Optional, Tuple

import psutil

from gz_testauto.extras.simulator_comparison.bench.load import measure_load
from gz_testauto.extras.simulator_comparison.bench.run_maneuver import (
    ManeuverRequest,
    SimulatedRun,
    run_maneuver,
)
from gz_testauto.extras.simulator_comparison.probe import GroundProbe, probe_ground
from gz_testauto.extras.simulator_comparison.recordings.recording import SimulatorCost
from gz_testauto.extras.simulator_comparison.steps import SAMPLE_S
from gz_testauto.extras.simulator_comparison.terrain import Terrain
from gz_testauto.simulators import open_simulator, options_taken
from gz_testauto.simulators.interface import Simulator


class Identity(NamedTuple):
    """Name and version of a simulator."""

    name: str
    version: str


class SimulatorRunner:
    """Keeps a simulator open while requests are for the same one. Every method raises the errors of
    the simulator; after an error :meth:`close` must be called."""

    def __init__(self) -> None:
        self._base_bytes = float(psutil.Process().memory_info().rss)
        self._simulator: Optional[Simulator] = None
        self._opened: Optional[Tuple[str, Dict[str, Any]]] = None

    def open(self, name: str, options: Mapping[str, Any]) -> Identity:
        """Open this simulator with these options unless it is open."""
        wanted = (name, dict(options))
        if self._simulator is None or self._opened != wanted:
            self.close()
            self._simulator = open_simulator(name, **options)
            self._opened = wanted
        return Identity(self._simulator.name, self._simulator.version)

    def run_maneuver(self, request: ManeuverRequest) -> SimulatedRun:
        """See :func:`~gz_testauto.extras.simulator_comparison.bench.run_maneuver.run_maneuver`."""
        return run_maneuver(self._required, request)

    def measure_load(self, request: ManeuverRequest) -> SimulatorCost:
        """See :func:`~gz_testauto.extras.simulator_comparison.bench.load.measure_load`."""
        return measure_load(self._required, request, self._base_bytes, os.getppid())

    def probe(self, terrain: Terrain, folder: Path) -> GroundProbe:
        """See :func:`~gz_testauto.extras.simulator_comparison.probe.probe_ground`."""
        return probe_ground(self._required, terrain, folder)

    def close(self) -> None:
        """Close the simulator if it is open."""
        simulator, self._simulator, self._opened = self._simulator, None, None
        if simulator is not None:
            simulator.close()

    def end(self) -> None:
        """Close the simulator if it is open."""
        self.close()

    def abort(self) -> None:
        """Do nothing: a request in this process cannot be stopped."""

    @property
    def _required(self) -> Simulator:
        assert self._simulator is not None, "open is called first"
        return self._simulator


def sampling_options(simulator: str, options: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the options for sampling a simulator every :data:`SAMPLE_S`: a simulator that measures
    in periods needs the period."""
    if "period_s" in options_taken(simulator):
        return {"period_s": SAMPLE_S, **options}
    return dict(options)
