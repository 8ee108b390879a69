"""Ports of loopback for processes that listen."""

import socket


def free_port() -> int:
    """A TCP port of loopback that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
