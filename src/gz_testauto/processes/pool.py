"""Run Python code in child processes that exit with their parent process."""

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
    """Call ``act`` in a new thread when ``parent``, a process ID, is no longer the parent process.

    ``parent`` is None if the parent has already exited.
    """

    def poll() -> None:
        # PR_SET_PDEATHSIG is not used: the kernel also sends that signal when only the thread exits
        # that started the child.
        while os.getppid() == parent:
            time.sleep(POLL_S)
        act()

    threading.Thread(target=poll, name="parent watchdog", daemon=True).start()


class TaskPool(Generic[Item, Result]):
    """A pool of ``workers`` processes that apply one task to many items; a context manager.

    ``task`` must be picklable; each process receives it once. ``activity`` describes the task in
    error messages, such as ``"drawing worlds"``.
    """

    def __init__(self, task: Callable[[Item], Result], workers: int, activity: str) -> None:
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(workers, context, _initialize_process, (os.getpid(), task))
        self._workers, self._activity = workers, activity

    def __enter__(self) -> "TaskPool[Item, Result]":
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()

    def map(self, items: Iterable[Item]) -> Iterator[Result]:
        """Yield the results in the order of ``items``.

        Raises the exceptions of the task, and ``ResourceError`` if a process died.
        """
        futures: Deque[Future[Result]] = collections.deque()
        try:
            for item in items:
                futures.append(self._pool.submit(_run_task, item))
                # Few items are pending, so that the pool stops soon after an error, or after the
                # caller stops iterating.
                if len(futures) > self._workers:
                    yield futures.popleft().result()
            while futures:
                yield futures.popleft().result()
        except BrokenProcessPool as error:
            raise ResourceError(
                f"a worker process exited unexpectedly while {self._activity}, possibly because "
                "the memory was full; reduce --workers"
            ) from error


def map_in_processes(
    task: Callable[[Item], Result], items: Iterable[Item], workers: int, activity: str
) -> Iterator[Result]:
    """Yield the results of a temporary :class:`TaskPool`; see :meth:`TaskPool.map`."""
    with TaskPool(task, workers, activity) as pool:
        yield from pool.map(items)


_task: List[Callable[[Any], Any]] = []


def _initialize_process(parent: int, task: Callable[[Any], Any]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    on_parent_exit(parent, lambda: os._exit(1))
    _task.append(task)


def _run_task(item: Any) -> Any:
    return _task[0](item)
