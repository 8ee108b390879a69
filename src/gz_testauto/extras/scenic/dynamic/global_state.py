"""The global state of a process that Scenic uses: random generators, and the scenario that acts.

Scenic draws from the generators of Python and NumPy. This module keeps a separate state for each
program, so that its draws depend on its seed alone, and other users of the generators are not
affected. It also ensures that a process compiles, draws or runs one scenario at a time.
"""

import contextlib
import random
from typing import Any, Callable, Iterator, List, Tuple

import numpy as np


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Restore the states of both generators at the end of the context."""
    before = random.getstate(), np.random.get_state()
    try:
        yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])


class GlobalDraws:
    """The states of both generators for a program's next draw."""

    def __init__(self, states: Tuple[Any, Any]) -> None:
        self._states = states

    @classmethod
    def seeded(cls, seed: int) -> "GlobalDraws":
        """Return the states for a seed."""
        return cls(
            (random.Random(seed).getstate(), np.random.RandomState(seed % 2**32).get_state())
        )

    @contextlib.contextmanager
    def going_on(self) -> Iterator[None]:
        """Use the program's states in this context, and keep their values at its end."""
        with undisturbed():
            random.setstate(self._states[0])
            np.random.set_state(self._states[1])
            try:
                yield
            finally:
                self._states = random.getstate(), np.random.get_state()


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
