"""An open simulator in this process or in a child process, and the requests to it.

In a child process the cost of a simulator is measured separately, and its crash does not affect the
parent process.
"""

import contextlib
import functools
import logging
import multiprocessing
import os
import signal
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional, Set, Tuple, Type, TypeVar

import psutil

from gz_testauto.base.errors import GzTestautoError, SimulatorError, simulator_stalled
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
from gz_testauto.processes import on_parent_exit
from gz_testauto.processes.remote import NoReplyError, send_request, serve_requests
from gz_testauto.simulators import open_simulator, options_taken
from gz_testauto.simulators.interface import Simulator

REQUEST_TIMEOUT_S = 600.0

CLOSE_TIMEOUT_S, ABORT_TIMEOUT_S = 15.0, 0.5
"""Timeouts for closing a simulator, normally and after an error or a second Ctrl-C."""


Result = TypeVar("Result")


class Identity(NamedTuple):
    name: str
    version: str


class SimulatorRunner:
    """A runner of maneuvers, measurements of cost and ground probes in a simulator in this process.
    The simulator stays open until another one is requested. After an error, the caller must call
    :meth:`close`."""

    def __init__(self) -> None:
        self._base_bytes = float(psutil.Process().memory_info().rss)
        self._simulator: Optional[Simulator] = None
        self._opened: Optional[Tuple[str, Dict[str, Any]]] = None

    def open(self, name: str, options: Mapping[str, Any]) -> Identity:
        requested = (name, dict(options))
        if self._simulator is None or self._opened != requested:
            self.close()
            self._simulator = open_simulator(name, **options)
            self._opened = requested
        return Identity(self._simulator.name, self._simulator.version)

    def run_maneuver(self, request: ManeuverRequest) -> SimulatedRun:
        return run_maneuver(self._opened_simulator, request)

    def measure_load(self, request: ManeuverRequest) -> SimulatorCost:
        return measure_load(self._opened_simulator, request, self._base_bytes, os.getppid())

    def probe(self, terrain: Terrain, folder: Path, entry: str) -> GroundProbe:
        return probe_ground(self._opened_simulator, terrain, folder, entry)

    def close(self) -> None:
        simulator, self._simulator, self._opened = self._simulator, None, None
        if simulator is not None:
            simulator.close()

    def end(self) -> None:
        """Close the simulator, and stop its process if it has one."""
        self.close()

    def abort(self) -> None:
        """Stop the current request from another thread, if it is in a child process."""

    @property
    def _opened_simulator(self) -> Simulator:
        assert self._simulator is not None, "open is called first"
        return self._simulator


def sampling_options(simulator: str, options: Mapping[str, Any]) -> Dict[str, Any]:
    """Return options with which a simulator can be sampled every :data:`SAMPLE_S`."""
    if "period_s" in options_taken(simulator):
        return {"period_s": SAMPLE_S, **options}
    return dict(options)


def _in_child(method: Callable[..., Result]) -> Callable[..., Result]:
    """Return a method that executes ``method`` in the child process."""

    @functools.wraps(method)
    def request(process: "SimulatorProcess", *arguments: Any) -> Result:
        return process.request(method, *arguments)

    return request


class SimulatorProcess(SimulatorRunner):
    """A :class:`SimulatorRunner` in a child process, which starts with the first request, also
    after a crash. Methods raise ``SimulatorError`` if the process died or did not reply."""

    def __init__(self, timeout_s: float = REQUEST_TIMEOUT_S) -> None:
        self._timeout_s = timeout_s
        self._context = multiprocessing.get_context("spawn")
        self._process: Optional[multiprocessing.process.BaseProcess] = None
        self._connection: Optional[Connection] = None

    open = _in_child(SimulatorRunner.open)
    run_maneuver = _in_child(SimulatorRunner.run_maneuver)
    measure_load = _in_child(SimulatorRunner.measure_load)
    probe = _in_child(SimulatorRunner.probe)

    def close(self) -> None:
        """Close the simulator, and stop the process only if it does not reply."""
        if self._process is not None:
            with contextlib.suppress(GzTestautoError):
                self.request(SimulatorRunner.close)

    def end(self, timeout_s: float = CLOSE_TIMEOUT_S) -> None:
        """Stop the process within ``timeout_s`` of wall time."""
        process = self._disconnect()  # the process then closes its simulator and exits
        if process is not None:
            process.join(timeout_s)
            process.kill()
            process.join()

    def abort(self) -> None:
        """Kill the process from another thread; a waiting thread receives an error."""
        process = self._process
        if process is not None:
            process.kill()

    def __enter__(self) -> "SimulatorProcess":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], *_: object) -> None:
        self.end(CLOSE_TIMEOUT_S if kind is None else ABORT_TIMEOUT_S)

    def request(self, method: Callable[..., Result], *arguments: Any) -> Result:
        try:
            reply: Result = send_request(
                self._started_connection(), (method, arguments), self._timeout_s
            )
        except NoReplyError as error:
            end = self._kill()
            if error.is_silent:
                raise simulator_stalled(self._timeout_s, f"executing {method.__name__!r}") from None
            raise SimulatorError(f"its process died{end}") from None
        return reply

    def _started_connection(self) -> Connection:
        if self._connection is None:
            self._connection, child_end = self._context.Pipe()
            self._process = self._context.Process(
                target=_serve, args=(child_end, os.getpid()), daemon=False
            )
            self._process.start()
            child_end.close()
        return self._connection

    def _disconnect(self) -> Optional[multiprocessing.process.BaseProcess]:
        process, connection = self._process, self._connection
        self._process = self._connection = None
        if connection is not None:
            connection.close()
        return process

    def _kill(self) -> str:
        """Kill the process. Return its signal or exit status as the end of a message, or ""."""
        process = self._disconnect()
        if process is None:
            return ""
        process.join(1.0)
        status = process.exitcode
        process.kill()
        process.join()
        if status is not None and status < 0:
            return f" by {signal.Signals(-status).name}"
        return "" if status is None else f" with exit status {status}"


def _ignore_signal(number: int, frame: object) -> None:
    """Ignore a signal."""


def _serve(owner: Connection, owner_pid: int) -> None:
    """Execute requests until the parent process closes the connection or exits."""
    # both signals are sent to the process group; the parent process decides when to stop
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _ignore_signal)  # not SIG_IGN, which a simulator would inherit
    on_parent_exit(owner_pid, lambda: os._exit(1))
    logged: Set[str] = set()

    def is_new(record: logging.LogRecord) -> bool:
        # a simulator repeats messages whenever it loads a world
        text = record.getMessage()
        repeated = text in logged
        logged.add(text)
        return not repeated

    handler = logging.StreamHandler()
    handler.addFilter(is_new)
    logging.basicConfig(handlers=[handler], format="%(message)s")
    runner = SimulatorRunner()
    serve_requests(owner, lambda request: request[0](runner, *request[1]))
    runner.close()
