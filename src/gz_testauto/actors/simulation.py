"""A simulation with the actors and other hooks of a trial."""

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, Mapping, Optional, Sequence, Tuple, Union

from typing_extensions import override

from gz_testauto.actors.actor import Actor
from gz_testauto.actors.effects import Effects
from gz_testauto.actors.hook import Hook, StepContext
from gz_testauto.actors.requested_poses import RequestedPoses
from gz_testauto.base.errors import SceneError, SimulatorError
from gz_testauto.base.observation import LaserScan, ModelState, Snapshot, Twist2D
from gz_testauto.simulators.changes import Change, SetModel
from gz_testauto.simulators.description import Description
from gz_testauto.simulators.interface import NamedModel, Simulation


class Filter:
    """A filter of scans and commands between the first robot and its planner."""

    def scanned(self, scan: LaserScan) -> LaserScan:
        """Return the filtered scan. This is called once for each scan."""
        return scan

    def delayed(self, scan: LaserScan, time_s: float) -> LaserScan:
        """Return the scan that the planner receives at ``time_s``. This is called for each snapshot
        with the newest scan."""
        return scan

    def commanded(self, command: Twist2D, time_s: float, duration_s: float) -> Twist2D:
        """Return the filtered command for the step that starts at ``time_s``."""
        return command


class ActorSimulation(Simulation):
    """A wrapper of a simulation that calls hooks before and after each step, and applies filters to
    scans and commands.

    A snapshot contains the computed poses of the models that move exactly as hooks request
    (:mod:`~gz_testauto.actors.requested_poses`).
    """

    def __init__(
        self,
        simulation: Simulation,
        hooks: Iterable[Hook] = (),
        filters: Sequence[Filter] = (),
        robot: Optional[str] = None,
    ) -> None:
        """``robot`` is the first robot, by default that of ``simulation``. Raises ``ValueError`` if
        two hooks have the same name."""
        super().__init__(simulation.step_size_s, simulation.robot)
        self.changes = simulation.changes
        self._inner = simulation
        self._filters = tuple(filters)
        self._robot_name = robot or (simulation.robot.name if simulation.robot else None)
        self.effects = Effects()
        self._requested_poses = RequestedPoses()
        self._hooks: Dict[str, Hook] = {}
        self._order: Tuple[Hook, ...] = ()
        self._actors: Dict[str, Actor] = {}
        self._spare: Dict[str, NamedModel] = {}
        self._seen_snapshot: Optional[Snapshot] = None
        self._before: Optional[Snapshot] = None
        self._scan: Optional[Tuple[LaserScan, LaserScan]] = None
        self._command = Twist2D()
        self._has_command = False
        for hook in hooks:
            self.add(hook)

    # hooks

    def add(self, hook: Hook) -> None:
        """Add a hook. Raises ``ValueError`` if a hook with its name exists."""
        if hook.name in self._hooks:
            raise ValueError(f"a hook named {hook.name!r} exists already; use another name")
        self._hooks[hook.name] = hook
        self._requested_poses.place(hook.models)
        self._sort_hooks()

    def remove(self, name: str) -> None:
        """Remove a hook. Raises ``ValueError`` if no hook has this name."""
        if self._hooks.pop(name, None) is None:
            raise ValueError(
                f"no hook is named {name!r}; hooks: {', '.join(self._hooks) or 'none'}"
            )
        self._sort_hooks()

    @property
    def hooks(self) -> Mapping[str, Hook]:
        return dict(self._hooks)

    def _sort_hooks(self) -> None:
        hooks = self._hooks.values()
        self._order = tuple(sorted(hooks, key=lambda hook: (hook.priority, hook.name)))
        self._actors = {hook.name: hook for hook in hooks if isinstance(hook, Actor)}
        self._spare = {model.name: model for hook in hooks for model in hook.spare_models}

    # the interface

    def snapshot(self) -> Snapshot:
        """Return the snapshot with the scan that the planner receives."""
        return self._apply_scan_filters(self._read_snapshot())

    def drive(self, command: Twist2D, robot: Optional[str] = None) -> None:
        """Set the velocity command of a robot. The filters change that of the first robot."""
        self._inner.drive(command, robot)  # validates the command; step() applies the filters
        if robot is not None and (self.robot is None or robot != self.robot.name):
            return
        self._command, self._has_command = command, True

    def step(self, duration_s: float) -> Snapshot:
        """Call all hooks, apply their requests, and simulate ``duration_s``. If a hook raises an
        exception other than ``SimulatorError``, end the simulation, and raise ``SceneError``."""
        self._check_usable()
        snapshot = self._read_snapshot() if self._seen_snapshot is None else self._seen_snapshot
        context = StepContext(
            snapshot,
            duration_s,
            self._inner.describe,
            self._before,
            self._spare,
            self._robot_name,
            self._actors,
            self.effects,
        )
        self._before = snapshot
        callers: Sequence[Union[Hook, Effects]] = (*self._order, self.effects)
        for hook in callers:
            with self._ending_at_failure(hook, snapshot.time_s):
                hook.before_step(context)
        changes = context.changes
        if context.to_delete:
            self.delete(context.to_delete)
            changes = [
                change for change in changes if change.name.split("::")[0] not in context.to_delete
            ]
        if context.to_spawn:
            self.spawn(context.to_spawn)
        changes = self._requested_poses.request(changes, snapshot, duration_s)
        if changes:
            self._inner.apply(changes)
        if self._filters and self._has_command:
            command = self._command
            for filter_ in self._filters:
                command = filter_.commanded(command, snapshot.time_s, duration_s)
            self._inner.drive(command)
        next_snapshot = self._requested_poses.with_computed_poses(self._inner.step(duration_s))
        placed = {
            change.name: change.pose
            for change in changes
            if type(change) is SetModel and change.pose is not None
        }
        if placed:
            next_snapshot = replace(next_snapshot, placed=placed)
        for hook in self._order:
            with self._ending_at_failure(hook, next_snapshot.time_s):
                hook.after_step(next_snapshot)
        return self._apply_scan_filters(next_snapshot)

    @contextlib.contextmanager
    def _ending_at_failure(self, hook: Union[Hook, Effects], time_s: float) -> Iterator[None]:
        try:
            yield
        except SimulatorError:
            raise
        except Exception as error:  # a hook of another package raises any exception
            message = (
                f"hook {hook.name!r} ({type(hook).__name__}) failed at {time_s:.2f} s: "
                f"{type(error).__name__}: {error}"
            )
            self.end(message)
            raise SceneError(message) from error

    @override
    def spawn(self, models: Sequence[NamedModel]) -> None:
        self._inner.spawn(models)
        self._requested_poses.place(models)
        self._seen_snapshot = None

    @override
    def delete(self, names: Iterable[str]) -> None:
        self._inner.delete(names)
        self.robot, self._seen_snapshot = self._inner.robot, None

    @override
    def set_states(self, states: Mapping[str, ModelState]) -> None:
        self._inner.set_states(states)
        self._requested_poses.forget(states)
        self._seen_snapshot = None

    @override
    def apply(self, changes: Sequence[Change]) -> None:
        self._inner.apply(changes)
        self._requested_poses.forget(change.name.split("::")[0] for change in changes)

    @override
    def describe(self) -> Description:
        return self._inner.describe()

    @property
    @override
    def spawned_sdf(self) -> Mapping[str, str]:
        return self._inner.spawned_sdf

    @override
    def save_world(self, path: Path) -> None:
        self._inner.save_world(path)

    def _check_usable(self) -> None:
        super()._check_usable()
        self._inner._check_usable()

    def _read_snapshot(self) -> Snapshot:
        return self._requested_poses.with_computed_poses(self._inner.snapshot())

    def _apply_scan_filters(self, snapshot: Snapshot) -> Snapshot:
        """Store the snapshot, and return a copy with the scan after all filters."""
        self._seen_snapshot = snapshot
        scan = snapshot.scan
        if scan is None or not self._filters:
            return snapshot
        if self._scan is None or self._scan[0] is not scan:
            changed_scan = scan
            for filter_ in self._filters:
                changed_scan = filter_.scanned(changed_scan)
            self._scan = (scan, changed_scan)
        delayed_scan = self._scan[1]
        for filter_ in self._filters:
            delayed_scan = filter_.delayed(delayed_scan, snapshot.time_s)
        return replace(snapshot, scan=delayed_scan)

    def _unused(self, *arguments: Any, **keywords: Any) -> Any:
        """Raise ``NotImplementedError``: the public methods call those of the inner simulation."""
        raise NotImplementedError

    _snapshot = _drive = _step = _spawn = _delete = _unused
    _set_states = _save_world = _model_names = _unused
