"""One command of a trial, a launch file or roscore, with all processes that it starts.

Manages its log file, the detection of failed nodes, and its end;
:mod:`~gz_testauto.processes.subreaper` ends all processes.
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
"""Output of roslaunch for a node that exited with an error, possibly within a line of another
node."""
KILLED = ("-9", "-15")
"""Exit codes of a node that another process killed: its last output is not the cause."""

REFUSED = re.compile(r"ERROR: (cannot launch node of type .*)")
"""Output of roslaunch for a node that was not found; roslaunch continues."""
ERROR = re.compile(
    r"\b(?:ERROR|FATAL)\b|\[Err\]|^[\w.]*(?:Error|Exception)\b"
    r"|\bwhat\(\):|\berror while loading shared libraries\b"
)
STAMP = re.compile(r"\[ ?\d+\.\d+(?:, \d+\.\d+)?\]:?")


class LaunchedProcess:
    """A running command. ``name`` identifies it in messages."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        log_file: Path,
        environment: Optional[Mapping[str, str]] = None,
        pass_fds: Sequence[int] = (),
        may_exit: bool = False,
    ) -> None:
        """Start the command, with its output in ``log_file``. With ``may_exit``, exit status 0
        is no failure: a launch file that only spawns a robot exits."""
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
        """The process id of the subreaper, the parent of all processes of this command."""
        return self._process.pid

    def failure(self) -> str:
        """Return why the command failed: it exited, or one of its nodes died. Empty if it runs."""
        if not self._cause:
            status = self._process.poll()
            died = self._newly_died()
            if died:
                self._cause = f"{self.name}: {died}"
            elif status is not None and not (self._may_exit and status == 0):
                self._cause = f"{self.name} ended ({_ended(status)}): {self.log_excerpt()}"
        return self._cause

    def log_excerpt(self, excluding: str = "") -> str:
        """Return the errors in the log, or else its last lines, for a message that already
        contains ``excluding``."""
        lines = _lines(_readable(self._log()))
        if excluding:
            lines = [line for line in lines if excluding not in line]
        excerpt = _quoted(_errors(lines)[:LINES_SHOWN] or lines[-LINES_SHOWN:])
        return excerpt or f"nothing in {self.log_file}"

    def node_not_found(self) -> str:
        """Return roslaunch's message about the first node that it could not start, or an empty
        text. The other nodes still run."""
        found = REFUSED.search(_readable(self._log()))
        return found.group(1) if found else ""

    def log_contains(self, text: str) -> bool:
        """Return true if the log contains ``text``."""
        return text in _readable(self._log())

    def interrupt(self, timeout_s: float) -> None:
        """Send SIGINT, wait up to ``timeout_s`` of wall time, then kill the rest."""
        self._process.request_exit(signal.SIGINT, timeout_s)
        self.close()

    def close(self) -> None:
        """Kill all its processes. Idempotent."""
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
    """Return a log without the colors and window titles that roslaunch writes."""
    return re.sub(r"\x1b(\[[0-9;]*m|\][^\x07]*\x07)", "", log.decode("utf-8", "replace"))


def _lines(text: str) -> List[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _errors(lines: Sequence[str]) -> List[str]:
    """Return the lines that report errors, in order, each once even if it was repeated."""
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
