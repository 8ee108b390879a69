"""Whether the threads of a process have gone to sleep, as the kernel tells it.

Gazebo's sensors set themselves an alarm when they have measured, and tell nobody when they have
done so. A thread that has is asleep.
"""

import contextlib
import os
import time
import weakref
from pathlib import Path
from typing import Dict, Iterable, List

_AWAKE_STATES = b"RD"
_STAT_BYTES = 256
"""Of a thread's ``stat``: beyond the two times that it has computed."""
_LOOK_AGAIN_S = 0.00005
_TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")


class ThreadStates:
    """The threads that a process has now; those it starts later are not watched.

    Keeps a file open for each of them for as long as it lives. Where the kernel does not show
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
        """Wait until each has been seen asleep; returns whether all were, before one of them had
        computed for ``cpu_s`` and within ``timeout_s`` of wall time. A thread that waits for a
        processor or a disk is awake, too, and computes nothing."""
        awake = _awake(self._files)
        began_s = awake
        deadline_s = time.monotonic() + timeout_s
        while awake and time.monotonic() < deadline_s:
            if any(used_s - began_s[file] >= cpu_s for file, used_s in awake.items()):
                return False
            time.sleep(_LOOK_AGAIN_S)
            awake = _awake(awake)
        return not awake


def _close(files: List[int]) -> None:
    for file in files:
        os.close(file)


def _awake(files: Iterable[int]) -> Dict[int, float]:
    """Of those threads that are awake, as ``proc(5)`` has it, what each has computed (s). One
    that has ended is not awake."""
    awake = {}
    for file in files:
        with contextlib.suppress(OSError):
            _, _, rest = os.pread(file, _STAT_BYTES, 0).rpartition(b") ")
            if rest and rest[:1] in _AWAKE_STATES:
                fields = rest.split(maxsplit=13)
                awake[file] = (int(fields[11]) + int(fields[12])) * _TICK_S
    return awake
