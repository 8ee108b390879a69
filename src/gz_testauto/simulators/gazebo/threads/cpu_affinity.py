"""One processor for each gzserver, as long as there are enough.

gzserver's threads hand work to one another many thousand times a second. Spread over processors
they spend more time on waking each other than on the work, and two servers side by side get
little more done than one. Here each has a processor of its own, and there a thread that is woken
waits until the one that works has nothing left to do (SCHED_BATCH), so that the telling of a
hundred steps becomes one. What is simulated is the same, bit for bit.

A claim is a name in Linux's abstract socket namespace: every process on the machine sees it, and
it is gone with the process that made it, however that ended.
"""

import contextlib
import os
import socket
from typing import Iterator, Optional

CLAIM_NAME = "\0gz_testauto.processor.{}"


class ClaimedProcessor:
    """A processor that no other gzserver of ours is bound to, or none.

    ``number`` is None when all that this process may use are claimed, or when the system knows
    nothing of the kind.
    """

    def __init__(self) -> None:
        self.number: Optional[int] = None
        self._claim: Optional[socket.socket] = None
        allowed = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        for number in allowed:
            self._claim = _claim(CLAIM_NAME.format(number))
            if self._claim is not None:
                self.number = number
                break

    @contextlib.contextmanager
    def for_children(self) -> Iterator[None]:
        """While this lasts, what this thread starts is bound to the processor, with all that
        comes of it."""
        if self.number is None:
            yield
            return
        allowed = os.sched_getaffinity(0)
        ordinary = os.sched_getscheduler(0) == os.SCHED_OTHER  # else the user has chosen
        os.sched_setaffinity(0, {self.number})
        try:
            if ordinary:
                os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
            yield
        finally:
            if ordinary:
                os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
            os.sched_setaffinity(0, allowed)

    def release(self) -> None:
        """Let another server have it."""
        if self._claim is not None:
            self._claim.close()
        self._claim = self.number = None


def _claim(name: str) -> Optional[socket.socket]:
    """The name's holder, or None where somebody else holds it or there are no such names."""
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind(name)
    except OSError:
        claim.close()
        return None
    return claim
