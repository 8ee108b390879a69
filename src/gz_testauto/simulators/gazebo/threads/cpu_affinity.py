"""Binds each gzserver to one processor while enough are available.

gzserver's threads pass work to each other thousands of times per second. On several processors they
spend more time on waking each other than on the work, and two servers in parallel are hardly faster
than one. Here each server has its own processor, and a woken thread waits until the working one has
nothing left to do (SCHED_BATCH), so that one message covers a hundred steps. The simulation is the
same, bit for bit.

A claim is a name in Linux's abstract socket namespace: it is visible to every process on the
machine and disappears with the process that created it.
"""

import contextlib
import os
import socket
from typing import Iterator, Optional

CLAIM_NAME = "\0gz_testauto.processor.{}"


class ClaimedProcessor:
    """A processor to which no other gzserver of this package is bound, or none.

    ``number`` is None if all processors that this process can use are claimed, or if the system
    does not support it.
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
        """Bind all processes that this thread starts in the context to the processor."""
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
        """Release the processor for another server."""
        if self._claim is not None:
            self._claim.close()
        self._claim = self.number = None


def _claim(name: str) -> Optional[socket.socket]:
    """Return a socket with this name; None if another process has it or names are unsupported."""
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind(name)
    except OSError:
        claim.close()
        return None
    return claim
