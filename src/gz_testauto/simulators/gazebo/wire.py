"""Frames over TCP: the lowest layer of Gazebo's transport.

Every frame is eight hexadecimal digits, the length of the payload, and the payload. This module
splits a byte stream into frames and does not interpret them.
"""

import socket
from typing import Callable, List

_HEADER_BYTES = 8
_CHUNK_BYTES = 1 << 18


class ConnectionLostError(Exception):
    """The peer closed the connection or the network broke it."""


def frame(payload: bytes) -> bytes:
    """Return a payload with its header."""
    return b"%08X" % len(payload) + payload


class FrameConnection:
    """A connected socket that transfers frames. The owner calls :meth:`receive` when data is
    available; :meth:`send` blocks at most for the socket's timeout."""

    def __init__(
        self, peer: socket.socket, on_frame: Callable[[bytes], None], latest_only: bool = False
    ) -> None:
        """Take a connected socket; ``on_frame`` is called with every payload, or with the last one
        of each read."""
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = peer
        self.on_frame = on_frame
        self._latest_only = latest_only
        self._pending = b""

    def fileno(self) -> int:
        """Return the file descriptor, for selectors."""
        return self.socket.fileno()

    @property
    def local_port(self) -> int:
        """The port of this end."""
        return int(self.socket.getsockname()[1])

    def send(self, *payloads: bytes) -> None:
        """Send frames in one write, so that the peer reads them together."""
        try:
            self.socket.sendall(b"".join(map(frame, payloads)))
        except OSError as error:
            raise ConnectionLostError(str(error)) from error

    def receive(self) -> None:
        """Read the available data and pass on every complete frame."""
        try:
            data = self.socket.recv(_CHUNK_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            raise ConnectionLostError(str(error)) from error
        if not data:
            raise ConnectionLostError("closed by the peer")
        frames = self._cut(self._pending + data)
        for payload in frames[-1:] if self._latest_only else frames:
            self.on_frame(payload)

    def _cut(self, data: bytes) -> List[bytes]:
        """Return all complete frames of ``data``; the rest remains pending."""
        start, frames = 0, []
        while len(data) - start >= _HEADER_BYTES:
            try:
                end = start + _HEADER_BYTES + int(data[start : start + _HEADER_BYTES], 16)
            except ValueError as error:
                raise ConnectionLostError("the peer does not speak Gazebo's protocol") from error
            if end > len(data):
                break
            frames.append(data[start + _HEADER_BYTES : end])
            start = end
        self._pending = data[start:]
        return frames

    def close(self) -> None:
        """Close the socket."""
        self.socket.close()
