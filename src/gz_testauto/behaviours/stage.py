"""A simulation with what moves and changes in it by itself.

Owns the loop: before each step every tracker is shown the world, who goes goes, who comes comes,
what they ask for is applied in one batch, and time goes on. To who drives the robot it is a
simulation like any other, so trials run the same with it, in-process and behind a node. Filters
come between robot and planner: what they do to scans and commands changes nothing of the world.
"""

from dataclasses import replace
from pathlib import Path
from typing import Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

from gz_testauto.base.errors import SceneError, SimulatorError
from gz_testauto.base.observation import LaserScan, ModelState, Snapshot, Twist2D
from gz_testauto.behaviours.tracker import Period, Tracker
from gz_testauto.simulators.changes import Change
from gz_testauto.simulators.description import Description
from gz_testauto.simulators.interface import NamedModel, Simulation


class Filter:
    """Stands between the first robot and who drives it. Asked in order of time."""

    def scanned(self, scan: LaserScan) -> LaserScan:
        """A new scan as it is passed on; asked once for each."""
        return scan

    def delayed(self, scan: LaserScan, time_s: float) -> LaserScan:
        """The scan that is seen at ``time_s``; asked for every snapshot, with the newest."""
        return scan

    def commanded(self, command: Twist2D, time_s: float, duration_s: float) -> Twist2D:
        """What the drive is told for the period that begins at ``time_s`` and lasts
        ``duration_s``."""
        return command


class Stage(Simulation):
    """A simulation with trackers and filters. See the module.

    Closing, loading and ending are the inner simulation's; so are all checks.
    """

    def __init__(
        self,
        simulation: Simulation,
        trackers: Iterable[Tracker] = (),
        filters: Sequence[Filter] = (),
        reserve: Iterable[NamedModel] = (),
    ) -> None:
        """``reserve`` are models that trackers may have come. Raises ``ValueError`` for two
        trackers of one name."""
        super().__init__(simulation.step_size_s, simulation.robot)
        self.changes = simulation.changes
        self._inner = simulation
        self._filters = tuple(filters)
        self._reserve = {model.name: model for model in reserve}
        self._trackers: Dict[str, Tracker] = {}
        self._order: Tuple[Tracker, ...] = ()
        self._seen: Optional[Snapshot] = None
        self._before: Optional[Snapshot] = None
        self._scan: Optional[Tuple[LaserScan, LaserScan]] = None
        self._command = Twist2D()
        self._driven = False
        for tracker in trackers:
            self.add(tracker)

    # trackers

    def add(self, tracker: Tracker) -> None:
        """Ask this one too, from the next period on. Raises ``ValueError`` for a name that is
        taken."""
        if tracker.name in self._trackers:
            raise ValueError(f"there is a tracker named {tracker.name!r} already")
        self._trackers[tracker.name] = tracker
        self._order = _in_order(self._trackers.values())

    def remove(self, name: str) -> None:
        """Ask this one no more. Raises ``ValueError`` where there is none of that name."""
        if self._trackers.pop(name, None) is None:
            raise ValueError(f"there is no tracker named {name!r}")
        self._order = _in_order(self._trackers.values())

    @property
    def trackers(self) -> Mapping[str, Tracker]:
        """Those that are asked, by name."""
        return dict(self._trackers)

    # the interface

    def snapshot(self) -> Snapshot:
        """What the world looks like now, as the planner sees it."""
        return self._shown(self._inner.snapshot())

    def drive(self, command: Twist2D, robot: Optional[str] = None) -> None:
        """Command a robot. Filters work on what the first one is commanded, in each period that it
        holds for."""
        self._inner.drive(command, robot)  # checks it; the next step tells what filters make of it
        if robot is not None and (self.robot is None or robot != self.robot.name):
            return
        self._command, self._driven = command, True

    def step(self, duration_s: float) -> Snapshot:
        """Ask all trackers, apply what they want, and simulate ``duration_s``. Raises
        ``SceneError`` naming a tracker that fails; then the simulation is over."""
        self._check_usable()
        seen = self._inner.snapshot() if self._seen is None else self._seen
        period = Period(seen, duration_s, self._inner.describe, self._before, self._reserve)
        self._before = seen
        for tracker in self._order:
            try:
                tracker.update(period)
            except SimulatorError:
                raise
            except Exception as error:  # a tracker may be anybody's, and raise anything
                said = (
                    f"tracker {tracker.name!r} ({type(tracker).__name__}) failed at "
                    f"{seen.time_s:.2f} s: {type(error).__name__}: {error}"
                )
                self.end(said)
                raise SceneError(said) from error
        changes = period.changes
        if period.leaving:
            self.delete(period.leaving)
            changes = [one for one in changes if one.name.split("::")[0] not in period.leaving]
        if period.coming:
            self.spawn(period.coming)
        if changes:
            self._inner.apply(changes)
        if self._filters and self._driven:
            command = self._command
            for filter_ in self._filters:
                command = filter_.commanded(command, seen.time_s, duration_s)
            self._inner.drive(command)
        after = self._inner.step(duration_s)
        for tracker in self._order:
            tracker.observe(after)
        return self._shown(after)

    def spawn(self, models: Sequence[NamedModel]) -> None:
        """As the inner one does."""
        self._inner.spawn(models)
        self._seen = None

    def delete(self, names: Iterable[str]) -> None:
        """As the inner one does."""
        self._inner.delete(names)
        self.robot, self._seen = self._inner.robot, None

    def set_states(self, states: Mapping[str, ModelState]) -> None:
        """As the inner one does."""
        self._inner.set_states(states)
        self._seen = None

    def apply(self, changes: Sequence[Change]) -> None:
        """As the inner one does."""
        self._inner.apply(changes)

    def describe(self) -> Description:
        """As the inner one does."""
        return self._inner.describe()

    @property
    def brought(self) -> Mapping[str, str]:
        """As the inner one has it."""
        return self._inner.brought

    def save_world(self, path: Path) -> None:
        """As the inner one does."""
        self._inner.save_world(path)

    # inside

    def _check_usable(self) -> None:
        super()._check_usable()
        self._inner._check_usable()

    def _shown(self, snapshot: Snapshot) -> Snapshot:
        """Remember what is there, and show it as filters have it."""
        self._seen = snapshot
        scan = snapshot.scan
        if scan is None or not self._filters:
            return snapshot
        if self._scan is None or self._scan[0] is not scan:
            changed = scan
            for filter_ in self._filters:
                changed = filter_.scanned(changed)
            self._scan = (scan, changed)
        seen = self._scan[1]
        for filter_ in self._filters:
            seen = filter_.delayed(seen, snapshot.time_s)
        return replace(snapshot, scan=seen)

    # nobody asks for these: the public methods are the inner simulation's

    def _snapshot(self) -> Snapshot:
        return self._inner.snapshot()

    def _drive(self, command: Twist2D) -> None:
        self._inner.drive(command)

    def _step(self, count: int) -> None:
        self._inner.step(count * self.step_size_s)

    def _spawn(self, models: Sequence[NamedModel]) -> None:
        self._inner.spawn(models)

    def _delete(self, names: Sequence[str]) -> None:
        self._inner.delete(names)

    def _set_states(self, states: Mapping[str, ModelState]) -> None:
        self._inner.set_states(states)

    def _save_world(self, path: Path) -> None:
        self._inner.save_world(path)

    def _model_names(self) -> Iterable[str]:
        return self._inner.snapshot().models


def _in_order(trackers: Iterable[Tracker]) -> Tuple[Tracker, ...]:
    found: List[Tracker] = sorted(trackers, key=lambda tracker: (tracker.priority, tracker.name))
    return tuple(found)
