"""What is asked before each step of a simulation what is to change in it.

Owns the contract: a tracker is shown the world as it is, and hands in changes, and models that come
and go, all of which happens in one batch before time goes on. No thread, no clock of its own; a
tracker that is there is asked in every period, those of high priority first, and within a priority
in the order of their names.
"""

import abc
from dataclasses import replace
from typing import Callable, List, Mapping, Optional, Tuple

from gz_testauto.base.observation import ModelState, Snapshot
from gz_testauto.base.pose import Pose, wrap_angle
from gz_testauto.simulators.changes import Change
from gz_testauto.simulators.description import Description
from gz_testauto.simulators.interface import NamedModel

HIGH, NORMAL, LOW = 0, 1, 2
"""Priorities: what others depend on, behaviours, effects that follow them."""


class Period:
    """One period that is about to begin, of ``duration_s``. ``snapshot`` is the world as it is, at
    ``time_s`` of the scene, and ``before`` as it was at the beginning of the last period, None in
    the first. ``reserve`` are the models that may come, by name; ``coming`` and ``leaving`` those
    that do with this period."""

    def __init__(
        self,
        snapshot: Snapshot,
        duration_s: float,
        describe: Callable[[], Description],
        before: Optional[Snapshot] = None,
        reserve: Optional[Mapping[str, NamedModel]] = None,
    ) -> None:
        self.snapshot = snapshot
        self.before = before
        self.duration_s = duration_s
        self.changes: List[Change] = []
        self.coming: List[NamedModel] = []
        self.leaving: List[str] = []
        self.reserve = {} if reserve is None else reserve
        self._describe = describe

    @property
    def time_s(self) -> float:
        """Simulated time at which the period begins."""
        return self.snapshot.time_s

    def change(self, *changes: Change) -> None:
        """Hand in changes, which hold from the beginning of the period. Of two of the same thing
        the later one holds."""
        self.changes.extend(changes)

    def spawn(self, name: str, pose: Pose) -> None:
        """Have a model of the reserve come, at rest at ``pose``. Raises ``ValueError`` for one that
        is not of it, or is there."""
        model = self.reserve.get(name)
        if model is None:
            raise ValueError(
                f"{name!r} is not among the models that may come ({', '.join(self.reserve) or 0}); "
                "name it in the reserve of its behaviour"
            )
        if name in self.snapshot.models or any(one.name == name for one in self.coming):
            raise ValueError(f"{name!r} is there already")
        self.coming.append(replace(model, pose=pose))

    def delete(self, name: str) -> None:
        """Have a model go. Raises ``ValueError`` where there is none of that name."""
        if name not in self.snapshot.models or name in self.leaving:
            raise ValueError(f"there is no {name!r} to go")
        self.leaving.append(name)

    def state(self, model: str) -> Optional[ModelState]:
        """Where a model is; None where there is none of that name."""
        return self.snapshot.models.get(model)

    def velocity_mps(self, model: str) -> Tuple[float, float, float]:
        """The mean velocity of a model over the last period, in the world frame; 0 where that is
        not known. Simulators do not all tell one, and then not the same."""
        now, before = self.state(model), self.before
        if now is None or before is None or model not in before.models:
            return (0.0, 0.0, 0.0)
        passed_s = self.snapshot.time_s - before.time_s
        was = before.models[model].pose.position
        x, y, z = ((a - b) / passed_s for a, b in zip(now.pose.position, was))
        return (x, y, z)

    def turn_radps(self, model: str) -> float:
        """The mean yaw rate of a model over the last period; 0 where that is not known."""
        now, before = self.state(model), self.before
        if now is None or before is None or model not in before.models:
            return 0.0
        turned = wrap_angle(now.pose.yaw_rad - before.models[model].pose.yaw_rad)
        return turned / (self.snapshot.time_s - before.time_s)

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

    def observe(self, snapshot: Snapshot) -> None:
        """Look at the world at the end of a period, also of the last one. By default, nothing."""
        return
