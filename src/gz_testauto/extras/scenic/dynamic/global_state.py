"""The global state of a process that Scenic uses: random generators, and the running scenario.

Scenic draws from the global generators of Python and NumPy. Separate states for each program make
its draws depend only on its seed. A process compiles, draws or runs one scenario at a time.
"""

import contextlib
import random
from typing import Any, Callable, Iterator, List, Tuple

import numpy as np


@contextlib.contextmanager
def preserved_random_state() -> Iterator[None]:
    """Restore the states of the global random generators at the end of the context."""
    before = random.getstate(), np.random.get_state()
    try:
        yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])


class GeneratorStates:
    """The states of the generators from which one scenario or behavior draws."""

    def __init__(self, states: Tuple[Any, Any]) -> None:
        self._states = states

    @classmethod
    def seeded(cls, seed: int) -> "GeneratorStates":
        return cls(
            (random.Random(seed).getstate(), np.random.RandomState(seed % 2**32).get_state())
        )

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """Use these states in the context, and store the new states at its end."""
        with preserved_random_state():
            random.setstate(self._states[0])
            np.random.set_state(self._states[1])
            try:
                yield
            finally:
                self._states = random.getstate(), np.random.get_state()


_RUNNING: List[Callable[[], None]] = []


def register_running_scenario(stop: Callable[[], None]) -> None:
    """Register the function that stops a started scenario, and stop the running one."""
    stop_running_scenario()
    _RUNNING.append(stop)


def stop_running_scenario() -> None:
    while _RUNNING:
        _RUNNING.pop()()


def unregister_running_scenario(stop: Callable[[], None]) -> None:
    """Remove a stopped scenario from the register. Idempotent."""
    if stop in _RUNNING:
        _RUNNING.remove(stop)
