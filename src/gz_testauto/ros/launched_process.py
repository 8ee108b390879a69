"""A command of a trial, such as roslaunch or roscore, with all processes that it starts.

The output of the command is in a log file, in which failed nodes are detected. When the command is
closed, :mod:`~gz_testauto.processes.subreaper` ends all its processes.
"""

import os
import re
import signal
from pathlib import Path
from typing import List, Mapping, Optional, Sequence

from gz_testauto.processes import start_under_subreaper

LINES_SHOWN = 6
LINE_LENGTH = 160
LINES_BEFORE_A_DEATH = 40
ERRORS_BEFORE_A_DEATH = 2
DIED = re.compile(r"(?:\[[^][\s]+\] )?process has died \[pid \d+, exit code (-?\d+)")
"""Regular expression for the output of roslaunch when a node has exited with an error. This output
can occur within an output line of another node."""
KILLED = ("-9", "-15")
"""Exit codes of a node that another process killed. The last output of such a node does not show
the cause."""

REFUSED = re.compile(r"ERROR: (cannot launch node of type .*)")
"""Regular expression for the output of roslaunch when it does not find a node. roslaunch then
continues without the node."""
ERROR = re.compile(
    r"\b(?:ERROR|FATAL)\b|\[Err\]|^[\w.]*(?:Error|Exception)\b"
    r"|\bwhat\(\):|\berror while loading shared libraries\b"
)
STAMP = re.compile(r"\[ ?\d+\.\d+(?:, \d+\.\d+)?\]:?")


class LaunchedProcess:
    """A running command with all processes that it starts. ``name`` identifies the command in error
    messages."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        log_file: Path,
        environment: Optional[Mapping[str, str]] = None,
        pass_fds: Sequence[int] = (),
        may_exit: bool = False,
    ) -> None:
        """Start the command, and write its output to ``log_file``. With ``may_exit``, an exit with
        status 0 is not a failure, as for a launch file that only spawns a robot."""
        self.name = name
        self._may_exit = may_exit
        self.log_file = log_file
        self._seen = 0
        self._cause = ""
        log_file.parent.mkdir(parents=True, exist_ok=True)
        inherited = os.environ if environment is None else environment
        self._process = start_under_subreaper(
            command, {**inherited, "PYTHONUNBUFFERED": "1"}, log_file, pass_fds
        )

    @property
    def pid(self) -> int:
        """The process id of the subreaper, which is the parent of all processes of the command."""
        return self._process.pid

    def failure(self) -> str:
        """Return why the command failed, which is that it exited or a node died. The text is empty
        while the command runs."""
        if not self._cause:
            status = self._process.poll()
            died = self._newly_died()
            if died:
                self._cause = f"{self.name}: {died}"
            elif status is not None and not (self._may_exit and status == 0):
                self._cause = f"{self.name} ended ({_ended(status)}): {self.log_excerpt()}"
        return self._cause

    def log_excerpt(self, excluding: str = "") -> str:
        """Return the error messages in the log, or its last lines if it contains no errors. Lines
        that contain ``excluding`` are omitted."""
        lines = _lines(_readable(self._log()))
        if excluding:
            lines = [line for line in lines if excluding not in line]
        excerpt = _quoted(_errors(lines)[:LINES_SHOWN] or lines[-LINES_SHOWN:])
        return excerpt or f"nothing in {self.log_file}"

    def node_not_found(self) -> str:
        """Return the message of roslaunch about the first node that it could not start, or an empty
        text. The other nodes still run."""
        found = REFUSED.search(_readable(self._log()))
        return found.group(1) if found else ""

    def log_contains(self, text: str) -> bool:
        """Return whether the log contains ``text``."""
        return text in _readable(self._log())

    def interrupt(self, timeout_s: float) -> None:
        """Send SIGINT, wait up to ``timeout_s`` of wall time, then kill all remaining processes."""
        self._process.request_exit(signal.SIGINT, timeout_s)
        self.close()

    def close(self) -> None:
        """Kill all processes of the command. Idempotent."""
        self._process.kill()

    def _newly_died(self) -> str:
        text = self._log(self._seen).rpartition(b"\n")[0]
        before = self._seen
        self._seen += len(text)
        readable = _readable(text)
        found = DIED.search(readable)
        if not found:
            return ""
        lines = _lines(_readable(self._log()[:before]) + readable[: found.start()])
        errors = _errors(lines[-LINES_BEFORE_A_DEATH:])[-ERRORS_BEFORE_A_DEATH:]
        cause = "" if found.group(1) in KILLED else _quoted(errors)
        return f"{found.group()}]" + (f"; just before: {cause}" if cause else "")

    def _log(self, mark: int = 0) -> bytes:
        try:
            with self.log_file.open("rb") as log:
                log.seek(mark)
                return log.read()
        except OSError:
            return b""


def _readable(log: bytes) -> str:
    """Return the text of a log without the escape sequences for colors and window titles."""
    return re.sub(r"\x1b(\[[0-9;]*m|\][^\x07]*\x07)", "", log.decode("utf-8", "replace"))


def _lines(text: str) -> List[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _errors(lines: Sequence[str]) -> List[str]:
    """Return the lines that report errors, in order. A repeated line is returned once."""
    last = {STAMP.sub("", line): line for line in reversed(lines) if ERROR.search(line)}
    return list(last.values())[::-1]


def _quoted(lines: Sequence[str]) -> str:
    return " | ".join(line[:LINE_LENGTH] for line in lines)


def _ended(status: int) -> str:
    if status < 0:
        return f"killed by {signal.Signals(-status).name}"
    if status > 128 and status - 128 in set(signal.Signals):
        return f"killed by {signal.Signals(status - 128).name}"
    return f"status {status}"
