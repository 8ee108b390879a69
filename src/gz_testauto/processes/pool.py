"""Run Python code of this package in child processes that exit with their parent process.

The signal that the kernel sends at the death of a parent (PR_SET_PDEATHSIG) is not used: the kernel
also sends it if only the *thread* ends that started the child. The processes therefore poll for
their parent.
"""

import collections
import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Callable, Deque, Generic, Iterable, Iterator, List, Optional, TypeVar

from gz_testauto.base.errors import ResourceError

POLL_S = 0.2

Item = TypeVar("Item")
Result = TypeVar("Result")


def on_parent_exit(parent: Optional[int], act: Callable[[], object]) -> None:
    """Call ``act`` in a new thread as soon as ``parent`` is no longer the parent of this process.

    ``parent`` is a process ID, or None if the parent has already exited.
    """

    def poll() -> None:
        while os.getppid() == parent:
            time.sleep(POLL_S)
        act()

    threading.Thread(target=poll, name="parent watchdog", daemon=True).start()


class TaskPool(Generic[Item, Result]):
    """A pool of ``workers`` processes that apply one task to many items; a context manager.

    ``task`` is sent to each process once and must be picklable. ``doing`` describes the task in
    error messages, such as ``"drawing worlds"``. The processes exit with their parent process, and
    ignore Ctrl-C, which the parent handles.
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

        At most ``workers + 1`` items are submitted at a time, so that the pool stops soon after an
        error, or after the caller stops iterating. Raises the exceptions of the task, and
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
                f"a worker process exited unexpectedly while {self._doing}, possibly because the "
                "memory was full; reduce --workers"
            ) from error


def map_in_processes(
    task: Callable[[Item], Result], items: Iterable[Item], workers: int, doing: str
) -> Iterator[Result]:
    """Yield the result of ``task`` for each item from a temporary :class:`TaskPool`."""
    with TaskPool(task, workers, doing) as pool:
        yield from pool.map(items)


_task: List[Callable[[Any], Any]] = []
"""The task of this process if the process belongs to a :class:`TaskPool`."""


def _initialize(parent: int, task: Callable[[Any], Any]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    on_parent_exit(parent, lambda: os._exit(1))
    _task.append(task)


def _run_task(item: Any) -> Any:
    return _task[0](item)
