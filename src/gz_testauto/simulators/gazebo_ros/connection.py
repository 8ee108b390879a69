"""A persistent TCPROS connection to one ROS service, without a node and global state."""

import http.client
import io
import itertools
import os
import socket
import struct
import threading
import time
import xmlrpc.client
from typing import Any, Dict, List, Optional, Sequence, Tuple
from urllib.parse import urlsplit

from gz_testauto.base.errors import SimulatorError

# The requests and responses fit into the buffers of the sockets, so that no process waits for
# the other one to read.
IN_FLIGHT = 100
LENGTH = struct.Struct("<I")
_QUICK_ACK = getattr(socket, "TCP_QUICKACK", None)
_numbers = itertools.count()


class ServiceUnavailableError(SimulatorError):
    """Raised if no process provides a service, or a connection was closed too early."""


class ServiceTimeoutError(SimulatorError):
    """Raised if a service does not respond within the timeout."""


class MasterLink:
    """A connection to a ROS master, by default that of ``ROS_MASTER_URI``."""

    def __init__(self, uri: Optional[str] = None, timeout_s: float = 5.0) -> None:
        self.uri = uri or os.environ.get("ROS_MASTER_URI", "http://localhost:11311")
        self.caller_id = f"/gz_testauto_{os.getpid()}_{next(_numbers)}"
        self._timeout_s = timeout_s

    def service_address(self, name: str) -> Tuple[str, int]:
        """Return host and port of the node that provides a service. Raises
        ``ServiceUnavailableError`` for an unknown service."""
        code, reason, uri = self._call_master("lookupService", name)
        if code != 1:
            raise ServiceUnavailableError(
                f"{name} is not provided at {self.uri} ({reason}); check that gazebo_ros runs there"
            )
        address = urlsplit(uri)
        return str(address.hostname), int(address.port or 0)

    def parameter(self, name: str) -> Any:
        code, _, value = self._call_master("getParam", name)
        return value if code == 1 else None

    def private_service(self, public_name: str, name: str) -> Optional[str]:
        """Return the full name of the private service ``name`` of the node that provides
        ``public_name``, or None if the node has no such service."""
        _, _, (_, _, services) = self._call_master("getSystemState")
        nodes = dict(services)
        names = [f"{node}/{name}" for node in nodes.get(public_name, ())]
        return next((service for service in names if service in nodes), None)

    def _call_master(self, method: str, *arguments: str) -> Any:
        try:
            with xmlrpc.client.ServerProxy(self.uri, _TimedTransport(self._timeout_s)) as master:
                return getattr(master, method)(self.caller_id, *arguments)
        except (OSError, http.client.HTTPException, xmlrpc.client.Error) as error:
            raise ServiceUnavailableError(
                f"the ROS master at {self.uri} cannot be reached: {error}; start roscore, or set "
                "ROS_MASTER_URI"
            ) from error


class ServiceConnection:
    """A connection to one service of type ``kind``, a generated service class.

    The connection is opened with the first call and remains open. It can be used from any thread,
    but only by one thread at a time.
    """

    # rospy.ServiceProxy has no timeout, and waits for every response before the next request.

    def __init__(self, master: MasterLink, name: str, kind: Any) -> None:
        self.name = name
        self._master = master
        self._kind = kind
        self._turn = threading.Lock()
        self._socket: Optional[socket.socket] = None
        self._buffer = bytearray()

    def call(self, requests: Sequence[Any], timeout_s: float, repeatable: bool = True) -> List[Any]:
        """Return the responses to all requests, in order. The timeout applies to each response.

        If the connection was lost, ``repeatable`` requests are sent once more over a new one.
        Raises ``ServiceUnavailableError``, ``ServiceTimeoutError``, or ``SimulatorError`` for a
        failed request.
        """
        if not self._turn.acquire(timeout=timeout_s):
            raise ServiceTimeoutError(
                f"{self.name} is still processing another call after {timeout_s:g} s"
            )
        try:
            try:
                return self._exchange(requests, timeout_s)
            except ServiceUnavailableError:
                if not repeatable:
                    raise
            return self._exchange(requests, timeout_s)
        finally:
            self._turn.release()

    def close(self) -> None:
        connection, self._socket = self._socket, None
        self._buffer.clear()
        if connection is not None:
            connection.close()

    def _exchange(self, requests: Sequence[Any], timeout_s: float) -> List[Any]:
        answers: List[Any] = []
        rejections: List[str] = []
        try:
            if self._socket is None:
                self._open(timeout_s)
            for start in range(0, len(requests), IN_FLIGHT):
                batch = requests[start : start + IN_FLIGHT]
                self._send(b"".join(map(_serialize, batch)), timeout_s)
                for _ in batch:
                    is_accepted, body = self._read_response(time.monotonic() + timeout_s)
                    if is_accepted:
                        answers.append(self._kind._response_class().deserialize(body))
                    else:
                        rejections.append(body.decode("utf-8", "replace"))
        except socket.timeout as error:
            self.close()
            raise ServiceTimeoutError(
                f"{self.name} did not respond within {timeout_s:g} s of wall time"
            ) from error
        except OSError as error:
            self.close()
            raise ServiceUnavailableError(
                f"{self.name} was closed during a call: {error}"
            ) from error
        except BaseException:
            self.close()  # later responses would belong to other requests
            raise
        if rejections:
            raise SimulatorError(f"{self.name} could not process a request: {rejections[0]}")
        return answers

    def _open(self, timeout_s: float) -> None:
        address = self._master.service_address(self.name)
        self._socket = socket.create_connection(address, timeout=timeout_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        fields = {
            "callerid": self._master.caller_id,
            "service": self.name,
            "type": self._kind._type,
            "md5sum": self._kind._md5sum,
            "persistent": "1",
            "tcp_nodelay": "1",
        }
        self._send(_encode_header(fields), timeout_s)
        deadline = time.monotonic() + timeout_s
        answer = _decode_header(self._read(LENGTH.unpack(self._read(4, deadline))[0], deadline))
        if "error" in answer:
            raise SimulatorError(f"{self.name} rejects the connection: {answer['error']}")

    def _send(self, content: bytes, timeout_s: float) -> None:
        assert self._socket is not None
        self._socket.settimeout(timeout_s)
        self._socket.sendall(content)

    def _read_response(self, deadline: float) -> Tuple[bool, bytes]:
        is_accepted = self._read(1, deadline) == b"\x01"
        return is_accepted, self._read(LENGTH.unpack(self._read(4, deadline))[0], deadline)

    def _read(self, count: int, deadline: float) -> bytes:
        assert self._socket is not None
        while len(self._buffer) < count:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise socket.timeout()
            self._socket.settimeout(left_s)
            if _QUICK_ACK is not None:
                # Otherwise the peer sometimes waits 40 ms for an acknowledgment before it sends
                # small responses. The option is not permanent, so it is set again.
                self._socket.setsockopt(socket.IPPROTO_TCP, _QUICK_ACK, 1)
            chunk = self._socket.recv(65536)
            if not chunk:
                raise ConnectionResetError("the connection was closed")
            self._buffer += chunk
        content = bytes(self._buffer[:count])
        del self._buffer[:count]
        return content


class _TimedTransport(xmlrpc.client.Transport):
    def __init__(self, timeout_s: float) -> None:
        super().__init__()
        self._timeout_s = timeout_s

    def make_connection(self, host: Any) -> Any:
        connection = super().make_connection(host)
        connection.timeout = self._timeout_s
        return connection


def _serialize(request: Any) -> bytes:
    buffer = io.BytesIO()
    request.serialize(buffer)
    return LENGTH.pack(buffer.tell()) + buffer.getvalue()


def _encode_header(fields: Dict[str, str]) -> bytes:
    lines = [f"{key}={value}".encode() for key, value in fields.items()]
    content = b"".join(LENGTH.pack(len(line)) + line for line in lines)
    return LENGTH.pack(len(content)) + content


def _decode_header(content: bytes) -> Dict[str, str]:
    fields, position = {}, 0
    while position < len(content):
        (length,) = LENGTH.unpack_from(content, position)
        key, _, value = content[position + 4 : position + 4 + length].partition(b"=")
        fields[key.decode()] = value.decode("utf-8", "replace")
        position += 4 + length
    return fields
