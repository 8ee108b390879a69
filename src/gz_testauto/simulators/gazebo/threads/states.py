"""Detects from the kernel's thread states when the threads of a process sleep.

Gazebo's sensor threads set an alarm after they have measured, and publish no message about it. A
thread that has set its alarm sleeps.
"""

import contextlib
import os
import time
import weakref
from pathlib import Path
from typing import Dict, Iterable, List

_AWAKE_STATES = b"RD"
_STAT_BYTES = 256
"""Size of the start of a thread's ``stat`` file, including its two CPU times."""
_LOOK_AGAIN_S = 0.00005
_TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")


class ThreadStates:
    """The present threads of a process; threads that it starts later are not included.

    A file is open for each of them for the lifetime of the object. If the kernel does not provide
    them, there are none.
    """

    def __init__(self, pid: int) -> None:
        self._files: List[int] = []
        weakref.finalize(self, _close, self._files)
        with contextlib.suppress(OSError):
            for thread in sorted(Path(f"/proc/{pid}/task").iterdir()):
                with contextlib.suppress(OSError):  # it has ended since
                    self._files.append(os.open(thread / "stat", os.O_RDONLY | os.O_CLOEXEC))

    def wait_until_asleep(self, cpu_s: float, timeout_s: float) -> bool:
        """Wait until each thread has been seen asleep; return False if one computed for ``cpu_s``
        before that, or after ``timeout_s`` of wall time. A thread that waits for a processor or a
        disk is awake, too, and computes nothing."""
        awake = _awake(self._files)
        started_s = awake
        deadline_s = time.monotonic() + timeout_s
        while awake and time.monotonic() < deadline_s:
            if any(used_s - started_s[file] >= cpu_s for file, used_s in awake.items()):
                return False
            time.sleep(_LOOK_AGAIN_S)
            awake = _awake(awake)
        return not awake


def _close(files: List[int]) -> None:
    for file in files:
        os.close(file)


def _awake(files: Iterable[int]) -> Dict[int, float]:
    """Return the CPU time (s) of each awake thread, see ``proc(5)``, by file. An ended thread is
    not awake."""
    awake = {}
    for file in files:
        with contextlib.suppress(OSError):
            _, _, rest = os.pread(file, _STAT_BYTES, 0).rpartition(b") ")
            if rest and rest[:1] in _AWAKE_STATES:
                fields = rest.split(maxsplit=13)
                awake[file] = (int(fields[11]) + int(fields[12])) * _TICK_S
    return awake
