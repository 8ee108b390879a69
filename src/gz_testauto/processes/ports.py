"""Find free TCP ports on the loopback interface."""

import contextlib
import socket
from typing import List


def free_port() -> int:
    """Return a TCP port of the loopback interface that is currently free."""
    return free_ports(1)[0]


def free_ports(count: int) -> List[int]:
    """Return ``count`` different TCP ports of the loopback interface that are currently free."""
    with contextlib.ExitStack() as open_sockets:
        probes = [open_sockets.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]
