"""Scenic draws from Python's and numpy's own generators, which are everybody's.

Owns the states that a program has for itself: what it draws depends on its seed alone, and whoever
else draws from these generators is not disturbed.
"""

import contextlib
import random
from typing import Any, Iterator, Tuple

import numpy as np


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Leave both generators as they were, whatever is drawn while inside."""
    before = random.getstate(), np.random.get_state()
    try:
        yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])


class GlobalDraws:
    """The states of both generators, as they are to be when the program draws next."""

    def __init__(self, states: Tuple[Any, Any]) -> None:
        self._states = states

    @classmethod
    def seeded(cls, seed: int) -> "GlobalDraws":
        """Those that begin with a seed."""
        return cls(
            (random.Random(seed).getstate(), np.random.RandomState(seed % 2**32).get_state())
        )

    @contextlib.contextmanager
    def going_on(self) -> Iterator[None]:
        """While inside, both generators are the program's, and go on where they were."""
        with undisturbed():
            random.setstate(self._states[0])
            np.random.set_state(self._states[1])
            try:
                yield
            finally:
                self._states = random.getstate(), np.random.get_state()
