"""A command of a trial, such as roslaunch or roscore, with all processes that it starts."""

import os
import re
import signal
from pathlib import Path
from typing import AbstractSet, Mapping, Optional, Sequence, Set

from gz_testauto.processes import start_under_subreaper
from gz_testauto.ros.log_messages import (
    LINE_LENGTH,
    error_messages,
    readable,
    signature,
    unusual,
)

# Without them, the last output of Python and of C++ nodes is lost if they are killed.
UNBUFFERED = {"PYTHONUNBUFFERED": "1", "ROSCONSOLE_STDOUT_LINE_BUFFERED": "1"}
LINES_SHOWN = 6
LINES_BEFORE_A_DEATH = 40
ERRORS_BEFORE_A_DEATH = 2
# output of roslaunch when a node has exited with an error, also within a line of another node
DIED = re.compile(r"(?:\[[^][\s]+\] )?process has died \[pid \d+, exit code (-?\d+)")
# signals from another process; the last output of the killed node does not show the cause
KILLED = (signal.SIGKILL, signal.SIGTERM)

# output of roslaunch when it does not find a node and continues without it
REFUSED = re.compile(r"ERROR: (cannot launch node of type .*)")
# output of roslaunch when it has loaded its launch file, and when it exits before that, except for
# faults of the network
LOADED = "started roslaunch server"
INVALID = re.compile(
    r"^(?:RLException: (?!.*(?:contact|XML-RPC|networking))|Resource not found: |Value error: |"
    r".*, in _load_config$)",
    re.MULTILINE,
)


class LaunchedProcess:
    """A running command with all its processes; ``name`` identifies it in messages."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        log_file: Path,
        environment: Optional[Mapping[str, str]] = None,
        pass_fds: Sequence[int] = (),
        may_exit: bool = False,
        usual: AbstractSet[str] = frozenset(),
    ) -> None:
        """Start the command, and write its output to ``log_file``.

        With ``may_exit``, status 0 is not a failure, as for a launch file that only spawns a robot.
        ``usual`` are the signatures of messages of a successful start.
        """
        self.name = name
        self._usual = usual
        self._may_exit = may_exit
        self.log_file = log_file
        self._read_length = 0
        self._cause = ""
        log_file.parent.mkdir(parents=True, exist_ok=True)
        inherited_environment = os.environ if environment is None else environment
        self._process = start_under_subreaper(
            command, {**inherited_environment, **UNBUFFERED}, log_file, pass_fds
        )

    @property
    def pid(self) -> int:
        """Id of the subreaper, the process that starts the command and ends all its processes."""
        return self._process.pid

    def failure(self) -> str:
        """Return why the command exited or one of its nodes died; "" while all of them run."""
        if not self._cause:
            status = self._process.poll()
            death_text = self._read_new_death()
            if death_text:
                self._cause = f"{self.name}: {death_text}"
            elif status is not None and not (self._may_exit and status == 0):
                self._cause = f"{self.name} ended ({_status_text(status)}): {self.log_excerpt()}"
        return self._cause

    def log_excerpt(self, excluding: str = "", only_errors: bool = False) -> str:
        """Return the error messages in the log or, unless ``only_errors``, its last lines.

        Lines that contain ``excluding``, and messages of a successful start, are omitted.
        """
        lines = readable(self._read_log()).splitlines()
        if excluding:
            lines = [line for line in lines if excluding not in line]
        errors = unusual(error_messages("\n".join(lines)), self._usual)[:LINES_SHOWN]
        if only_errors and not errors:
            return ""
        last_lines = unusual([line.strip() for line in lines if line.strip()], self._usual)
        excerpt = " | ".join(errors or [line[:LINE_LENGTH] for line in last_lines[-LINES_SHOWN:]])
        return excerpt or f"nothing in {self.log_file}"

    def error_signatures(self) -> Set[str]:
        return set(map(signature, error_messages(readable(self._read_log()))))

    def node_not_found(self) -> str:
        """Return roslaunch's message about the first node that it could not start, or ""."""
        match = REFUSED.search(readable(self._read_log()))
        return match.group(1) if match else ""

    def launch_file_is_invalid(self) -> bool:
        """Return whether roslaunch could not load its file, which is a permanent error."""
        log = readable(self._read_log())
        return LOADED not in log and INVALID.search(log) is not None

    def log_contains(self, text: str) -> bool:
        return text in readable(self._read_log())

    def interrupt(self, timeout_s: float) -> None:
        """Send SIGINT, and kill all processes after at most ``timeout_s`` of wall time."""
        self._process.request_exit(signal.SIGINT, timeout_s)
        self.close()

    def close(self) -> None:
        """Kill all processes. Idempotent."""
        self._process.kill()

    def _read_new_death(self) -> str:
        """Return a text about a process that died since the previous call, or ""."""
        text = self._read_log(self._read_length).rpartition(b"\n")[0]
        previous_length = self._read_length
        self._read_length += len(text)
        output = readable(text)
        death = DIED.search(output)
        if not death:
            return ""
        death_signal = _signal(int(death.group(1)))
        death_text = f"{death.group()}]" + (f" ({death_signal.name})" if death_signal else "")
        lines = (
            readable(self._read_log()[:previous_length]) + output[: death.start()]
        ).splitlines()
        recent = "\n".join(lines[-LINES_BEFORE_A_DEATH:])
        errors = unusual(error_messages(recent), self._usual)[-ERRORS_BEFORE_A_DEATH:]
        is_cause = errors and death_signal not in KILLED
        return f"{death_text}; just before: {' | '.join(errors)}" if is_cause else death_text

    def _read_log(self, mark: int = 0) -> bytes:
        try:
            with self.log_file.open("rb") as log:
                log.seek(mark)
                return log.read()
        except OSError:
            return b""


def _signal(status: int) -> Optional[signal.Signals]:
    # A shell reports signal n of its child as 128 + n.
    number = status - 128 if status > 128 else -status
    return signal.Signals(number) if number in set(signal.Signals) else None


def _status_text(status: int) -> str:
    received_signal = _signal(status)
    return f"status {status}" if received_signal is None else f"killed by {received_signal.name}"
