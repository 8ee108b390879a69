"""Whether a worker process still works, as its owner sees it from outside.

Owns the difference between one that computes for long, which is legal, and one that will never
end. A process that neither beats nor uses its processor is frozen: stopped by a signal, or stuck
in native code. One that lives and comes to no end of a control period for much longer hangs.
"""

import contextlib
import time
from pathlib import Path
from typing import Any, Sequence

_LONGEST_LOOK_S = 1.0
"""What may pass between two looks; where it is more, the owner itself was stopped."""


class Vigil:
    """Watches one process; ``signs`` are numbers that it changes: beats, and steps of progress."""

    def __init__(self, pid: int, signs: Sequence[int]) -> None:
        self._stat = Path(f"/proc/{pid}/stat")
        self._signs = signs
        self._looked_s = time.monotonic()
        self._life: Any = None
        self._progress: Any = None
        self.lifeless_s = 0.0
        """Wall time since the process has last shown any life."""
        self.idle_s = 0.0
        """Wall time since it has made any progress."""

    def look(self) -> None:
        """See what has happened since the last look."""
        now_s = time.monotonic()
        passed_s = min(now_s - self._looked_s, _LONGEST_LOOK_S)
        self._looked_s = now_s
        beats, progress = self._signs
        life = (beats, progress, self._processor_time())
        self.lifeless_s = self.lifeless_s + passed_s if life == self._life else 0.0
        self.idle_s = self.idle_s + passed_s if progress == self._progress else 0.0
        self._life, self._progress = life, progress

    def begin(self) -> None:
        """Count progress from now on: the process has something to do."""
        self.idle_s = 0.0

    def _processor_time(self) -> Any:
        """In the kernel's ticks; None where it does not tell."""
        with contextlib.suppress(OSError):
            fields = self._stat.read_text().rpartition(") ")[2].split()
            return fields[11:13]  # utime and stime of proc(5), counted from the state
        return None
