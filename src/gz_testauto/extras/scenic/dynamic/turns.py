"""Whose turn Scenic is: it compiles, draws, or has one scenario act, one of these at a time.

Owns the one scenario of this process that acts.
"""

from typing import Callable, List

_ACTING: List[Callable[[], None]] = []


def begin_acting(end: Callable[[], None]) -> None:
    """A scenario begins to act, which ``end`` ends; one that still acts is ended."""
    end_acting()
    _ACTING.append(end)


def end_acting() -> None:
    """End what acts, before something else is done with Scenic."""
    while _ACTING:
        _ACTING.pop()()


def has_ended(end: Callable[[], None]) -> None:
    """A scenario acts no more. Idempotent."""
    if end in _ACTING:
        _ACTING.remove(end)
