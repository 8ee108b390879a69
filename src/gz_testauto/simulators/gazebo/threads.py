"""Whether the threads of a process have gone to sleep, as the kernel tells it.

Gazebo's sensors set themselves an alarm when they have measured, and tell nobody when they have
done so. A thread that has is asleep.
"""

import contextlib
import os
import time
import weakref
from pathlib import Path
from typing import List, NamedTuple

_AWAKE = b"RD"
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
        awake = [file for file in self._files if _look(file).awake]
        if not awake:
            return True
        began_s = {file: _look(file).cpu_s for file in awake}
        deadline_s = time.monotonic() + timeout_s
        while time.monotonic() < deadline_s:
            looks = {file: _look(file) for file in awake}
            awake = [file for file, look in looks.items() if look.awake]
            if not awake:
                return True
            if any(looks[file].cpu_s - began_s[file] >= cpu_s for file in awake):
                return False
            time.sleep(_LOOK_AGAIN_S)
        return False


class _Look(NamedTuple):
    """At one thread, as ``proc(5)`` has it: whether it is awake, and what it has computed."""

    awake: bool
    cpu_s: float


def _close(files: List[int]) -> None:
    for file in files:
        os.close(file)


def _look(file: int) -> _Look:
    """A thread that has ended is not awake."""
    try:
        _, _, rest = os.pread(file, _STAT_BYTES, 0).rpartition(b") ")
    except OSError:
        return _Look(False, 0.0)
    if rest[:1] not in _AWAKE or not rest:
        return _Look(False, 0.0)
    fields = rest.split(maxsplit=13)
    return _Look(True, (int(fields[11]) + int(fields[12])) * _TICK_S)
