"""Ports of loopback for processes that listen."""

import contextlib
import socket
from typing import List


def free_port() -> int:
    """A TCP port of loopback that nobody listens on at this moment."""
    return free_ports(1)[0]


def free_ports(count: int) -> List[int]:
    """As many TCP ports of loopback, each another, that nobody listens on at this moment."""
    with contextlib.ExitStack() as held:
        probes = [held.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]
