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
from typing import Any, Callable, Deque, Iterable, Iterator, List, TypeVar

from gz_testauto.errors import ResourceError
from gz_testauto.processes.owner import when_owner_ends

Item = TypeVar("Item")
Made = TypeVar("Made")


def map_side_by_side(
    task: Callable[[Item], Made], items: Iterable[Item], workers: int, doing: str
) -> Iterator[Made]:
    """What ``task`` makes of each of ``items``, in their order, made by ``workers`` processes.

    ``task`` is pickled to each process once, the items one by one. One more is begun than there
    are processes: where one fails or the caller stops, the others soon end. Raises what
    ``task`` raises, or ``ResourceError`` where a process died; ``doing`` says at what, such as
    ``"drawing worlds"``.
    """
    context = multiprocessing.get_context("spawn")
    begun: Deque[Future[Made]] = collections.deque()
    with ProcessPoolExecutor(workers, context, _begin, (os.getpid(), task)) as pool:
        try:
            for item in items:
                begun.append(pool.submit(_make, item))
                if len(begun) > workers:
                    yield begun.popleft().result()
            while begun:
                yield begun.popleft().result()
        except BrokenProcessPool as error:
            raise ResourceError(
                f"a process died while {doing}, as where memory runs out; run fewer with --workers"
            ) from error


_task: List[Callable[[Any], Any]] = []
"""Of a process of a pool: its one task."""


def _begin(owner: int, task: Callable[[Any], Any]) -> None:
    """Become a process that works for ``owner``."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches us too; our owner decides
    when_owner_ends(owner, lambda: os._exit(1))
    _task.append(task)


def _make(item: Any) -> Any:
    return _task[0](item)
