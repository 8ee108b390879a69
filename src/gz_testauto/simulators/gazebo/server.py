"""A gzserver process with its window, its processor and its temporary directory."""

import contextlib
import logging
import os
import re
import shutil
import signal
import socket
import tempfile
import time
from pathlib import Path
from typing import Iterable, Iterator, List, Optional, Sequence

from gz_testauto.base import scratch
from gz_testauto.base.errors import MissingDependencyError, SimulatorError
from gz_testauto.processes import ChildProcess, cpu_time_s, free_port, start_with_watchdog
from gz_testauto.sdf.missing import is_allowed
from gz_testauto.simulators.gazebo.installation import GazeboInstallation

LOGGER = logging.getLogger(__name__)

_ATTEMPTS = 5
_LOG_LINES_SHOWN = 8
_PORT_TAKEN = "Unable to start server"
_FATAL_ERRORS = (
    "Failed to load plugin",
    "Unable to find uri",
    "Unable to find file",
    "Could not open file",
    "This plugin will not run",
)
# log lines about a missing sound card never explain a failure
_OF_SOUND_CARD = "ALSA lib"

_COLOR = re.compile(r"\x1b\[[^m]*m?")
_UP = "Connected to gazebo master"

SCRATCH_PREFIX = "gz_testauto_gzserver_"

# Name in Linux's abstract socket namespace with which a server claims a CPU core. Every process on
# the machine sees it. It is released when the process that created it exits.
CLAIM_NAME = "\0gz_testauto.processor.{}"


class ServerProcess:
    """A running gzserver, paused at time zero, whose master listens on ``port``."""

    def __init__(
        self,
        installation: GazeboInstallation,
        world: str,
        seed: int,
        model_path: Iterable[Path] = (),
        start_timeout_s: float = 60.0,
        one_processor: bool = True,
    ) -> None:
        """Start gzserver with the world text ``world``.

        Raises ``SimulatorError`` if gzserver does not start within ``start_timeout_s`` of wall
        time. With ``one_processor`` the server is bound to a processor that no other server uses,
        if one exists.
        """
        self._installation = installation
        self._model_path = tuple(model_path)
        remove_orphans()
        self._scratch = scratch.ScratchDirectory(SCRATCH_PREFIX)
        self.directory = self._scratch.path
        self.log_file = self.directory / "gzserver.log"
        self._world_file = self.directory / "start.world"
        self._world_file.write_text(world, encoding="utf-8")
        self._process: Optional[ChildProcess] = None
        self._processor = ClaimedProcessor() if one_processor else None
        self.port = 0
        try:
            self._start(seed, time.monotonic() + start_timeout_s)
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """The id of gzserver's process and process group."""
        assert self._process is not None
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def cpu_s(self) -> float:
        """Return the CPU time (s) that gzserver has used, or 0 if it has ended."""
        return cpu_time_s(self.pid)

    def log_lines(self, mark: int = 0) -> List[str]:
        """Return the log lines after the first ``mark`` bytes, without color codes."""
        try:
            with self.log_file.open("rb") as log:
                log.seek(mark)
                text = log.read().decode("utf-8", errors="replace")
        except FileNotFoundError:
            return []
        lines = (_COLOR.sub("", line).strip() for line in text.splitlines())
        return [line for line in lines if line]

    def log_size(self) -> int:
        try:
            return self.log_file.stat().st_size
        except FileNotFoundError:
            return 0

    def errors_since(self, start_byte: int) -> List[str]:
        """Return the error lines after the first ``start_byte`` bytes of the log."""
        return [line for line in self.log_lines(start_byte) if line.startswith(("[Err]", "Error"))]

    def fatal_error_since(self, mark: int, allowed_names: Sequence[str] = ()) -> Optional[str]:
        """Return the first error about a missing plugin or file after ``mark`` bytes, or None. For
        an error with a name in ``allowed_names``, only log a warning."""
        for line in self.errors_since(mark):
            # Gazebo continues after this error, but with a different world.
            if any(phrase in line for phrase in _FATAL_ERRORS):
                if any(is_allowed(word.strip(":[],"), allowed_names) for word in line.split()):
                    LOGGER.warning(
                        "the scene is simulated without a file, as allow_missing permits: %s", line
                    )
                    continue
                return line
        return None

    def describe_end(self) -> str:
        status = "" if self.alive else f"{self._describe_exit()}; "
        lines = [line for line in self.log_lines() if not line.startswith(_OF_SOUND_CARD)]
        lines = lines[-_LOG_LINES_SHOWN:]
        return f"{status}its last lines: " + (" | ".join(lines) if lines else "none")

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None
        if self._processor is not None:
            self._processor.release()
        if self.directory.exists():  # the next server can use the same port
            for path in self._files:
                shutil.rmtree(path, ignore_errors=True)
        self._scratch.remove()

    @property
    def _files(self) -> List[Path]:
        return [self.directory, *([_gazebo_log(self.port)] if self.port else [])]

    def _describe_exit(self) -> str:
        code = self._process.poll() if self._process is not None else None
        if code is None:
            return "it was closed"
        if code < 0:
            return f"it was killed by {signal.Signals(-code).name}"
        return f"it exited with status {code}"

    def _start(self, seed: int, deadline_s: float) -> None:
        options = ("--verbose", "-u", "--seed", str(seed), str(self._world_file))
        for _ in range(_ATTEMPTS):
            self.port = free_port()
            self._scratch.note(str(self.port))
            self._process = start_with_watchdog(
                [*self._installation.server, *options],
                self._installation.process_environment(self.port, self._model_path),
                self.log_file,
                remove=self._files,
                within=self._processor.for_children() if self._processor else None,
            )
            if self._has_started(deadline_s):
                return
            if not any(_PORT_TAKEN in line for line in self.log_lines()):
                break
            if self._process is not None:  # another process used the port before gzserver
                self._process.kill()
                self._process = None
        raise SimulatorError(f"gzserver did not start: {self.describe_end()}")

    def _has_started(self, deadline_s: float) -> bool:
        while time.monotonic() < deadline_s:
            was_alive = self.alive
            # The port is not tested, since another process could use it.
            if any(_UP in line for line in self.log_lines()):
                return True
            if not was_alive:
                return False
            time.sleep(0.02)
        return False


class ClaimedProcessor:
    """A processor to which no other gzserver of this package is bound.

    ``number`` is None if no processor is free, or if the system does not support the claims.
    """

    def __init__(self) -> None:
        self.number: Optional[int] = None
        self._claim: Optional[socket.socket] = None
        processors = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        for number in processors:
            self._claim = _bind_claim(CLAIM_NAME.format(number))
            if self._claim is not None:
                self.number = number
                break

    @contextlib.contextmanager
    def for_children(self) -> Iterator[None]:
        """Bind all processes that this thread starts in the context to this processor."""
        if self.number is None:
            yield
            return
        processors = os.sched_getaffinity(0)
        is_default_policy = os.sched_getscheduler(0) == os.SCHED_OTHER  # else the user selected it
        # gzserver's threads pass work to each other thousands of times per second. On several
        # processors they spend more time on waking each other than on the work. On one, a woken
        # thread waits until the working thread has no work left (SCHED_BATCH).
        os.sched_setaffinity(0, {self.number})
        try:
            if is_default_policy:
                os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
            yield
        finally:
            if is_default_policy:
                os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
            os.sched_setaffinity(0, processors)

    def release(self) -> None:
        if self._claim is not None:
            self._claim.close()
        self._claim = self.number = None


def _bind_claim(name: str) -> Optional[socket.socket]:
    """Return a socket that only one process can bind; None if another process has it."""
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind(name)
    except OSError:
        claim.close()
        return None
    return claim


class GuiClient:
    """The window of a gzserver, which is closed with this process.

    A window that cannot be opened, or that the user closes, does not affect the trial.
    """

    def __init__(self, installation: GazeboInstallation, master_port: int) -> None:
        """Raise ``MissingDependencyError`` if gzclient or a display is missing."""
        if installation.client is None:
            raise MissingDependencyError(
                f"gzclient was not found in {installation.where}; run without gui"
            )
        if not os.environ.get("DISPLAY"):
            raise MissingDependencyError(
                "gzclient needs a display, but DISPLAY is not set; run without gui"
            )
        self._directory = Path(tempfile.mkdtemp(prefix="gz_testauto_gzclient_"))
        self._process = start_with_watchdog(
            list(installation.client),
            installation.process_environment(master_port),
            self._directory / "gzclient.log",
            remove=[self._directory],
        )

    def close(self) -> None:
        self._process.kill()
        shutil.rmtree(self._directory, ignore_errors=True)


def remove_orphans() -> None:
    """Remove the directories of servers whose owner no longer exists. Errors are ignored."""
    removed_ports, used_ports = scratch.remove_orphans(SCRATCH_PREFIX)
    for port in removed_ports:
        if port.isdigit() and port not in used_ports:
            shutil.rmtree(_gazebo_log(int(port)), ignore_errors=True)


def _gazebo_log(port: int) -> Path:
    return Path("~/.gazebo").expanduser() / f"server-{port}"
