"""Handle Ctrl-C and SIGTERM: the first one stops the campaign cleanly, the second immediately.

Cleanly means: the running trial is abandoned and counts as unfinished, the simulator is closed, and
the same command resumes the campaign.
"""

import signal
from types import FrameType
from typing import Callable, Dict, Optional

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopSignals:
    """A handler of the two signals inside a ``with`` block, in the main thread.

    A call returns whether to stop. The signal handler calls ``on_first`` once.
    """

    def __init__(self, on_first: Callable[[], None] = lambda: None) -> None:
        self._on_first = on_first
        self._previous: Dict[int, object] = {}
        self.received: Optional[int] = None

    def __call__(self) -> bool:
        """Return whether one of the signals was received."""
        return self.received is not None

    @property
    def exit_status(self) -> int:
        """The exit status that a shell expects of a process that ended by the signal."""
        return 128 + self.received if self.received else 0

    def __enter__(self) -> "StopSignals":
        for number in SIGNALS:
            self._previous[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _handle(self, number: int, frame: Optional[FrameType]) -> None:
        if self.received is not None:
            raise KeyboardInterrupt
        self.received = number
        self._on_first()
