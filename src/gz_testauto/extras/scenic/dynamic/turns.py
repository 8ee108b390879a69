"""Ensure that a process compiles, draws or runs one scenario of Scenic at a time.

This module stores the one scenario of this process that acts.
"""

from typing import Callable, List

_ACTING: List[Callable[[], None]] = []


def begin_acting(end: Callable[[], None]) -> None:
    """Register a scenario that starts to act, and that ``end`` stops. One that still acts is
    stopped."""
    end_acting()
    _ACTING.append(end)


def end_acting() -> None:
    """Stop the scenario that acts, before another use of Scenic."""
    while _ACTING:
        _ACTING.pop()()


def has_ended(end: Callable[[], None]) -> None:
    """Unregister a scenario that has stopped. Idempotent."""
    if end in _ACTING:
        _ACTING.remove(end)
