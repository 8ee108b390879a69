"""Work shared out to processes, each of which is given what it needs once.

Owns the pool: its processes end with their owner, leave Ctrl-C to it, and one that dies becomes an
error that says so.
"""

import collections
import multiprocessing
import os
import signal
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Callable, Deque, Generic, Iterable, Iterator, List, TypeVar

from gz_testauto.base.errors import ResourceError
from gz_testauto.processes.parent import on_parent_exit

Item = TypeVar("Item")
Made = TypeVar("Made")


class TaskPool(Generic[Item, Made]):
    """``workers`` processes with one task, for as long as the context lasts.

    ``task`` is pickled to each process once. ``doing`` says what they do where one of them dies,
    such as ``"drawing worlds"``.
    """

    def __init__(self, task: Callable[[Item], Made], workers: int, doing: str) -> None:
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(workers, context, _begin, (os.getpid(), task))
        self._workers, self._doing = workers, doing

    def __enter__(self) -> "TaskPool[Item, Made]":
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()

    def map(self, items: Iterable[Item]) -> Iterator[Made]:
        """What the task makes of each of ``items``, in their order; these are pickled one by one.

        One more is begun than there are processes: where one fails or the caller stops, the others
        soon end. Raises what the task raises, or ``ResourceError`` where a process died.
        """
        begun: Deque[Future[Made]] = collections.deque()
        try:
            for item in items:
                begun.append(self._pool.submit(_make, item))
                if len(begun) > self._workers:
                    yield begun.popleft().result()
            while begun:
                yield begun.popleft().result()
        except BrokenProcessPool as error:
            raise ResourceError(
                f"a process died while {self._doing}, as where memory runs out; run fewer with "
                "--workers"
            ) from error


def map_in_processes(
    task: Callable[[Item], Made], items: Iterable[Item], workers: int, doing: str
) -> Iterator[Made]:
    """As :meth:`TaskPool.map`, by a pool for these items alone."""
    with TaskPool(task, workers, doing) as pool:
        yield from pool.map(items)


_task: List[Callable[[Any], Any]] = []
"""Of a process of a pool: its one task."""


def _begin(owner: int, task: Callable[[Any], Any]) -> None:
    """Become a process that works for ``owner``."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches us too; our owner decides
    on_parent_exit(owner, lambda: os._exit(1))
    _task.append(task)


def _make(item: Any) -> Any:
    return _task[0](item)
