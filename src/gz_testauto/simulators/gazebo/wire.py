"""Frames over TCP: the lowest layer of Gazebo's transport.

Every frame is eight hexadecimal digits, the length of the payload, and the payload. Owns
the cutting of a byte stream into frames and nothing of their meaning.
"""

import socket
from typing import Callable, List

_HEADER_BYTES = 8
_CHUNK_BYTES = 1 << 18


class ConnectionLostError(Exception):
    """The peer closed the connection or the network broke it."""


def frame(payload: bytes) -> bytes:
    """The payload as it goes over the wire."""
    return b"%08X" % len(payload) + payload


class FrameConnection:
    """A connected socket that speaks frames. Reading is the owner's, who knows when there is
    something to read; writing blocks for as long as the socket's timeout says."""

    def __init__(
        self, peer: socket.socket, on_frame: Callable[[bytes], None], latest_only: bool = False
    ) -> None:
        """Take over a connected socket; ``on_frame`` is called with every payload, or with
        the last of those that were there to be read."""
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = peer
        self.on_frame = on_frame
        self._latest_only = latest_only
        self._pending = b""

    def fileno(self) -> int:
        """For selectors."""
        return self.socket.fileno()

    @property
    def local_port(self) -> int:
        """The port of our end."""
        return int(self.socket.getsockname()[1])

    def send(self, *payloads: bytes) -> None:
        """Send frames in one write, so that they are read together at the other end."""
        try:
            self.socket.sendall(b"".join(map(frame, payloads)))
        except OSError as error:
            raise ConnectionLostError(str(error)) from error

    def receive(self) -> None:
        """Read what is there and hand on every complete frame."""
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
        """All complete frames at the front of ``data``; the rest stays pending."""
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
