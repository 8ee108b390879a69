"""Additional nodes for py_trees, and nodes that use simulated time instead of wall time."""

from typing import Iterator, Optional, Sequence

import numpy as np
import py_trees
from py_trees.behaviour import Behaviour
from py_trees.common import Status


class Clock:
    """A clock of simulated time (s). The caller sets the time before each tick."""

    def __init__(self) -> None:
        self.now_s = 0.0


class _Shuffled(py_trees.composites.Composite):
    """A mixin for composites that draw the order of their children whenever they start."""

    def __init__(
        self,
        name: str,
        random: np.random.Generator,
        children: Optional[Sequence[Behaviour]] = None,
        memory: bool = True,
    ) -> None:
        super().__init__(name, memory, list(children or ()))  # type: ignore[call-arg, arg-type]
        self._random, self._in_order = random, list(self.children)

    def tick(self) -> Iterator[Behaviour]:
        if self.status != Status.RUNNING:
            if len(self._in_order) != len(self.children):
                self._in_order = list(self.children)
            order = self._random.permutation(len(self._in_order)).tolist()
            self.children[:] = [self._in_order[index] for index in order]
        yield from super().tick()  # type: ignore[safe-super]  # the method of the other base class


class RandomSequence(_Shuffled, py_trees.composites.Sequence):
    """A sequence that draws the order of its children whenever it starts."""


class RandomSelector(_Shuffled, py_trees.composites.Selector):
    """A selector that draws the order of its children whenever it starts."""


class CountingParallel(py_trees.composites.Composite):
    """A composite that ticks all running children until a number of children has succeeded or
    failed.

    As in ``Parallel`` of BehaviorTree.CPP, a negative number is counted from the number of
    children: -1 means all children.
    """

    def __init__(
        self,
        name: str,
        success_count: int = -1,
        failure_count: int = 1,
        children: Optional[Sequence[Behaviour]] = None,
    ) -> None:
        super().__init__(name, list(children or ()))
        self.success_count, self.failure_count = success_count, failure_count

    def tick(self) -> Iterator[Behaviour]:
        if self.status != Status.RUNNING:
            for child in self.children:
                if child.status != Status.INVALID:
                    child.stop(Status.INVALID)
            self.initialise()
            self.status = Status.RUNNING
            pending = list(self.children)
        else:
            pending = [child for child in self.children if child.status == Status.RUNNING]
        for child in pending:
            yield from child.tick()
        statuses = [child.status for child in self.children]
        if statuses.count(Status.SUCCESS) >= self._required_count(self.success_count):
            self._stop_with(Status.SUCCESS)
        elif statuses.count(Status.FAILURE) >= self._required_count(self.failure_count):
            self._stop_with(Status.FAILURE)
        elif Status.RUNNING not in statuses:
            self._stop_with(Status.FAILURE)  # neither number can be reached any more
        self.current_child = self.children[-1] if self.children else None
        yield self

    def _required_count(self, count: int) -> int:
        # A negative count is relative to the number of children: -1 means all.
        return count if count >= 0 else max(0, len(self.children) + 1 + count)

    def _stop_with(self, status: Status) -> None:
        for child in self.children:
            if child.status == Status.RUNNING:
                child.stop(Status.INVALID)
        self.stop(status)


class ParallelSelector(CountingParallel):
    """A composite that succeeds as soon as one child succeeds, and fails when all children have
    failed."""

    def __init__(self, name: str, children: Optional[Sequence[Behaviour]] = None) -> None:
        super().__init__(name, 1, -1, children)


class SequenceWithMemory(py_trees.composites.Composite):
    """A sequence that, after the failure of a child, starts with this child at its next tick."""

    def __init__(self, name: str, children: Optional[Sequence[Behaviour]] = None) -> None:
        super().__init__(name, list(children or ()))
        self._child_index = 0

    def tick(self) -> Iterator[Behaviour]:
        if self.status != Status.RUNNING:
            self.initialise()
        while self._child_index < len(self.children):
            child = self.children[self._child_index]
            self.current_child = child
            yield from child.tick()
            if child.status != Status.SUCCESS:
                self.status = child.status
                yield self
                return
            self._child_index += 1
        self._child_index = 0
        self.stop(Status.SUCCESS)
        yield self

    def terminate(self, new_status: Status) -> None:
        if new_status == Status.INVALID:  # interrupted by a parent node
            self._child_index = 0


class TickLimit(py_trees.decorators.Decorator):
    """A decorator that fails and stops its child if it still runs after ``limit`` ticks."""

    def __init__(self, name: str, child: Behaviour, limit: int) -> None:
        """Raise ``ValueError`` if ``limit`` is less than 1."""
        if limit < 1:
            raise ValueError(f"{name}: 'limit' is {limit}; it must be at least 1")
        super().__init__(name=name, child=child)
        self.limit, self._ticks = limit, 0

    def initialise(self) -> None:
        self._ticks = 0

    def update(self) -> Status:
        self._ticks += 1
        if self.decorated.status == Status.RUNNING and self._ticks >= self.limit:
            self.decorated.stop(Status.INVALID)
            return Status.FAILURE
        return self.decorated.status


class UntilFail(py_trees.decorators.Decorator):
    """A decorator that ticks its child repeatedly until the child fails, and then succeeds."""

    ends_with = Status.SUCCESS

    def update(self) -> Status:
        return self.ends_with if self.decorated.status == Status.FAILURE else Status.RUNNING


class KeepRunningUntilFailure(UntilFail):
    """A decorator that ticks its child repeatedly until the child fails, and then fails."""

    ends_with = Status.FAILURE


class Wait(Behaviour):
    """A leaf that runs for a simulated time (s) and then succeeds."""

    def __init__(self, name: str, clock: Clock, duration_s: float) -> None:
        super().__init__(name)
        self._clock, self.duration_s = clock, duration_s

    def initialise(self) -> None:
        self._until_s = self._clock.now_s + self.duration_s

    def update(self) -> Status:
        is_over = self._clock.now_s >= self._until_s - 1e-9
        return Status.SUCCESS if is_over else Status.RUNNING


class Timeout(py_trees.decorators.Decorator):
    """A decorator that fails and stops its child if it still runs after a simulated time (s)."""

    def __init__(self, name: str, child: Behaviour, clock: Clock, duration_s: float) -> None:
        super().__init__(name=name, child=child)
        self._clock, self.duration_s = clock, duration_s

    def initialise(self) -> None:
        self._until_s = self._clock.now_s + self.duration_s

    def update(self) -> Status:
        is_over = self._clock.now_s >= self._until_s - 1e-9
        if self.decorated.status == Status.RUNNING and is_over:
            self.decorated.stop(Status.INVALID)
            return Status.FAILURE
        return self.decorated.status


class Delay(py_trees.decorators.Decorator):
    """A decorator that waits for a simulated time (s) before it ticks its child."""

    def __init__(self, name: str, child: Behaviour, clock: Clock, duration_s: float) -> None:
        super().__init__(name=name, child=child)
        self._clock, self.duration_s = clock, duration_s
        self._until_s = 0.0

    def tick(self) -> Iterator[Behaviour]:
        if self.status != Status.RUNNING:
            self._until_s = self._clock.now_s + self.duration_s
        if self._clock.now_s < self._until_s - 1e-9:
            self.status = Status.RUNNING
            yield self
            return
        yield from super().tick()

    def update(self) -> Status:
        return self.decorated.status
