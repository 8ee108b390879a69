"""Detection of worker processes that are frozen or hung, from the parent process.

A process that computes for a long time is valid. A process that neither sends beats nor uses its
processor is frozen: stopped by a signal, or blocked in native code. A process that does not finish
a control period for much longer is hung.
"""

import contextlib
import time
from pathlib import Path
from typing import Any, Sequence

_MAX_INTERVAL_S = 1.0
"""Longest time that counts between two checks; if it is longer, the parent itself was stopped."""


class ProcessWatchdog:
    """Watches one process, which increments ``signs``: its beats and its progress."""

    def __init__(self, pid: int, signs: Sequence[int]) -> None:
        self._stat = Path(f"/proc/{pid}/stat")
        self._signs = signs
        self._looked_s = time.monotonic()
        self._life: Any = None
        self._progress: Any = None
        self.lifeless_s = 0.0
        """Wall time since the last beat, progress or processor time of the process."""
        self.idle_s = 0.0
        """Wall time since its last progress."""

    def look(self) -> None:
        """Update both times."""
        now_s = time.monotonic()
        passed_s = min(now_s - self._looked_s, _MAX_INTERVAL_S)
        self._looked_s = now_s
        beats, progress = self._signs
        life = (beats, progress, self._processor_time())
        self.lifeless_s = self.lifeless_s + passed_s if life == self._life else 0.0
        self.idle_s = self.idle_s + passed_s if progress == self._progress else 0.0
        self._life, self._progress = life, progress

    def begin(self) -> None:
        """Start counting the time without progress."""
        self.idle_s = 0.0

    def _processor_time(self) -> Any:
        """Return the processor time in ticks of the kernel, or None if it is not available."""
        with contextlib.suppress(OSError):
            fields = self._stat.read_text().rpartition(") ")[2].split()
            return fields[11:13]  # utime and stime of proc(5), counted from the state
        return None
