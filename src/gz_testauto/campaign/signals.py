"""Ctrl-C and SIGTERM: once ends the campaign cleanly, twice at once.

Cleanly means: the trial under way is given up as not done, the simulator is closed, and the
same command continues from there.
"""

import signal
from types import FrameType, TracebackType
from typing import Callable, Dict, Optional, Type

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopSignals:
    """Catches the two signals inside a ``with`` block, in the main thread.

    Calling it says whether to stop. ``on_first`` is told once, from the signal handler.
    """

    def __init__(self, on_first: Callable[[], None] = lambda: None) -> None:
        self._on_first = on_first
        self._previous: Dict[int, object] = {}
        self.received: Optional[int] = None

    def __call__(self) -> bool:
        """Whether one of the signals has come."""
        return self.received is not None

    @property
    def exit_status(self) -> int:
        """What a shell expects of a process that ended by the signal."""
        return 128 + self.received if self.received else 0

    def __enter__(self) -> "StopSignals":
        for number in SIGNALS:
            self._previous[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _handle(self, number: int, frame: Optional[FrameType]) -> None:
        if self.received is not None:
            raise KeyboardInterrupt
        self.received = number
        self._on_first()
