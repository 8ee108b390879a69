"""What is asked before each step of a simulation what is to change in it.

Owns the contract: a tracker is shown the world as it is, and hands in changes, which are applied in
one batch before time goes on. No thread, no clock of its own; a tracker that is there is asked in
every period, those of high priority first, and within a priority in the order of their names.
"""

import abc
from typing import Callable, List, Optional

from gz_testauto.observation import ModelState, Snapshot
from gz_testauto.simulators.changes import Change
from gz_testauto.simulators.description import Description

HIGH, NORMAL, LOW = 0, 1, 2
"""Priorities: what others depend on, behaviours, effects that follow them."""


class Period:
    """One period that is about to begin, of ``duration_s``. ``snapshot`` is the world as it is, at
    ``time_s`` of the scene."""

    def __init__(
        self, snapshot: Snapshot, duration_s: float, describe: Callable[[], Description]
    ) -> None:
        self.snapshot = snapshot
        self.duration_s = duration_s
        self.changes: List[Change] = []
        self._describe = describe

    @property
    def time_s(self) -> float:
        """Simulated time at which the period begins."""
        return self.snapshot.time_s

    def change(self, *changes: Change) -> None:
        """Hand in changes, which hold from the beginning of the period. Of two of the same thing
        the later one holds."""
        self.changes.extend(changes)

    def state(self, model: str) -> Optional[ModelState]:
        """Where a model is; None where there is none of that name."""
        return self.snapshot.models.get(model)

    def describe(self) -> Description:
        """What the world consists of, as it is before this period's changes."""
        return self._describe()


class Tracker(abc.ABC):
    """Something that is asked in every period. ``name`` says in messages which one it is."""

    name: str = ""
    priority: int = NORMAL

    @abc.abstractmethod
    def update(self, period: Period) -> None:
        """Look at the world and hand in changes. What it raises ends the trial, with its name."""
