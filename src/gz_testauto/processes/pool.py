"""Process pools for one task, which each process receives once.

The processes end with their parent process and ignore Ctrl-C, which their parent handles. If a
process dies, an error reports it.
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
Result = TypeVar("Result")


class TaskPool(Generic[Item, Result]):
    """A pool of ``workers`` processes for one task, used as a context manager.

    ``task`` is pickled to each process once. ``doing`` describes the task in errors, such as
    ``"drawing worlds"``.
    """

    def __init__(self, task: Callable[[Item], Result], workers: int, doing: str) -> None:
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(workers, context, _initialize, (os.getpid(), task))
        self._workers, self._doing = workers, doing

    def __enter__(self) -> "TaskPool[Item, Result]":
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()

    def map(self, items: Iterable[Item]) -> Iterator[Result]:
        """Yield the result of the task for each item, in the order of ``items``.

        At most one item more than there are processes is submitted at a time, so that the pool
        stops soon after an error or when the caller stops. Raises any exception of the task, or
        ``ResourceError`` if a process died.
        """
        submitted: Deque[Future[Result]] = collections.deque()
        try:
            for item in items:
                submitted.append(self._pool.submit(_run_task, item))
                if len(submitted) > self._workers:
                    yield submitted.popleft().result()
            while submitted:
                yield submitted.popleft().result()
        except BrokenProcessPool as error:
            raise ResourceError(
                f"a process died while {self._doing}, possibly out of memory; reduce --workers"
            ) from error


def map_in_processes(
    task: Callable[[Item], Result], items: Iterable[Item], workers: int, doing: str
) -> Iterator[Result]:
    """Yield the result of ``task`` for each item from a temporary :class:`TaskPool`."""
    with TaskPool(task, workers, doing) as pool:
        yield from pool.map(items)


_task: List[Callable[[Any], Any]] = []
"""In a process of a pool, its only task."""


def _initialize(parent: int, task: Callable[[Any], Any]) -> None:
    """Initialize a process of a pool; ``parent`` is the process ID of the owner of the pool."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    on_parent_exit(parent, lambda: os._exit(1))
    _task.append(task)


def _run_task(item: Any) -> Any:
    return _task[0](item)
