"""One command of a trial, a launch file or roscore, with everything that it starts.

Owns its log file, whether it and its nodes still live, and its end.
:mod:`~gz_testauto.processes.subreaper` sees to it that nothing survives.
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
"""What roslaunch prints of a node that ended other than cleanly, maybe in the middle of a line of
another node."""
KILLED = ("-9", "-15")
"""Exit codes of a node that somebody else ended: what it said before is no cause."""


REFUSED = re.compile(r"ERROR: (cannot launch node of type .*)")
"""What it prints of a node that it does not find, and goes on."""
ERROR = re.compile(
    r"\b(?:ERROR|FATAL)\b|\[Err\]|^[\w.]*(?:Error|Exception)\b"
    r"|\bwhat\(\):|\berror while loading shared libraries\b"
)
STAMP = re.compile(r"\[ ?\d+\.\d+(?:, \d+\.\d+)?\]:?")


class LaunchedProcess:
    """A running command. ``name`` is what messages call it."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        log_file: Path,
        environment: Optional[Mapping[str, str]] = None,
        pass_fds: Sequence[int] = (),
        may_finish: bool = False,
    ) -> None:
        """Start it, its output into ``log_file``. ``may_finish``: to end in good order, as a
        launch file that only spawns a robot does, is no trouble."""
        self.name = name
        self._may_finish = may_finish
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
        """Of the subreaper, above all processes of this command."""
        return self._process.pid

    def trouble(self) -> str:
        """Why the part cannot go on: it ended, or a node of it died. Empty while all is well."""
        if not self._cause:
            status = self._process.poll()
            died = self._newly_died()
            if died:
                self._cause = f"{self.name}: {died}"
            elif status is not None and not (self._may_finish and status == 0):
                self._cause = f"{self.name} ended ({_ended(status)}): {self.last_words()}"
        return self._cause

    def last_words(self, but_for: str = "") -> str:
        """What its log says of errors, otherwise its last lines, for a message that says
        ``but_for`` already."""
        lines = _lines(_readable(self._log()))
        if but_for:
            lines = [line for line in lines if but_for not in line]
        said = _quoted(_errors(lines)[:LINES_SHOWN] or lines[-LINES_SHOWN:])
        return said or f"nothing in {self.log_file}"

    def refused(self) -> str:
        """The first node that roslaunch could not start at all, in its words; empty where it
        could. The others live, and may do without that one."""
        found = REFUSED.search(_readable(self._log()))
        return found.group(1) if found else ""

    def said(self, text: str) -> bool:
        """Whether its log has a text."""
        return text in _readable(self._log())

    def interrupt(self, timeout_s: float) -> None:
        """Ask it to end in good order, then see to it."""
        self._process.request_exit(signal.SIGINT, timeout_s)
        self.close()

    def close(self) -> None:
        """End every process of it, now. Idempotent."""
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
    """A log without the colors and window titles that roslaunch writes."""
    return re.sub(r"\x1b(\[[0-9;]*m|\][^\x07]*\x07)", "", log.decode("utf-8", "replace"))


def _lines(text: str) -> List[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _errors(lines: Sequence[str]) -> List[str]:
    """Those that tell of an error, in their order, each once whenever it was said."""
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
