"""Handle Ctrl-C and SIGTERM: the first signal stops a campaign cleanly, the second immediately."""

import signal
from types import FrameType
from typing import Callable, Dict, Optional

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopSignals:
    """A context manager that handles SIGINT and SIGTERM, for the main thread.

    The first signal calls ``on_first``; the second raises ``KeyboardInterrupt``. A call of the
    instance returns whether a signal was received.
    """

    def __init__(self, on_first: Callable[[], None] = lambda: None) -> None:
        self._on_first = on_first
        self._previous_handlers: Dict[int, object] = {}
        self.received: Optional[int] = None

    def __call__(self) -> bool:
        return self.received is not None

    @property
    def exit_status(self) -> int:
        """128 plus the number of the received signal, or 0."""
        return 128 + self.received if self.received else 0

    def __enter__(self) -> "StopSignals":
        for number in SIGNALS:
            self._previous_handlers[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous_handlers.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _handle(self, number: int, frame: Optional[FrameType]) -> None:
        if self.received is not None:
            raise KeyboardInterrupt
        self.received = number
        self._on_first()
