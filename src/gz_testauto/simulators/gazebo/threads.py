"""Whether the threads of a process have gone to sleep, as the kernel tells it.

Gazebo's sensors set themselves an alarm when they have measured, and tell nobody when they have
done so. A thread that has is asleep.
"""

import contextlib
import os
import time
import weakref
from pathlib import Path
from typing import List

_AWAKE = b"RD"
_STAT_BYTES = 128
_LOOK_AGAIN_S = 0.00005


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

    def wait_until_asleep(self, timeout_s: float) -> bool:
        """Wait until each has been seen asleep; returns whether all were in ``timeout_s``."""
        deadline_s = time.monotonic() + timeout_s
        awake = [file for file in self._files if _state(file) in _AWAKE]
        while awake and time.monotonic() < deadline_s:
            time.sleep(_LOOK_AGAIN_S)
            awake = [file for file in awake if _state(file) in _AWAKE]
        return not awake


def _close(files: List[int]) -> None:
    for file in files:
        os.close(file)


def _state(file: int) -> bytes:
    """The letter of ``proc(5)``; that of a dead one when the thread has ended."""
    try:
        _, _, rest = os.pread(file, _STAT_BYTES, 0).rpartition(b") ")
    except OSError:
        return b"X"
    return rest[:1] or b"X"
