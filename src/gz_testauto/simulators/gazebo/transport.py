"""A node of Gazebo's transport, which finds topics at the master, publishes and subscribes.

The node must be used by one thread only. Bytes are transferred and callbacks run only in
:meth:`TransportNode.poll` and :meth:`TransportNode.wait_for`. A frame consists of the length of
the payload, in eight hexadecimal digits, and the payload. Payloads are ``Packet`` messages, except
for published messages, which have no envelope.
"""

import selectors
import socket
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Set, Tuple, Union

from gz_testauto.simulators.gazebo.messages import MESSAGES

_HOST = "127.0.0.1"
_SEND_TIMEOUT_S = 10.0
_ANSWER_TIMEOUT_S = 5.0
_HEADER_BYTES = 8
_CHUNK_BYTES = 1 << 18

Packet = MESSAGES["Packet"]
Publish = MESSAGES["Publish"]
Subscribe = MESSAGES["Subscribe"]
RawCallback = Callable[[bytes], None]


class ConnectionLostError(Exception):
    """The peer closed a connection or the network failed."""


def frame(payload: bytes) -> bytes:
    return b"%08X" % len(payload) + payload


class FrameConnection:
    """A connected socket that transfers frames.

    The caller must call :meth:`receive` when data are available.
    """

    def __init__(
        self, peer: socket.socket, on_frame: Callable[[bytes], None], latest_only: bool = False
    ) -> None:
        """Call ``on_frame`` with every payload or, if ``latest_only``, the last of each read."""
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = peer
        self.on_frame = on_frame
        self._latest_only = latest_only
        self._buffer = b""

    def fileno(self) -> int:
        return self.socket.fileno()

    def send(self, *payloads: bytes) -> None:
        """Send frames in one write, so that the peer reads all of them in one read."""
        try:
            self.socket.sendall(b"".join(map(frame, payloads)))
        except OSError as error:
            raise ConnectionLostError(str(error)) from error

    def receive(self) -> None:
        try:
            data = self.socket.recv(_CHUNK_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            raise ConnectionLostError(str(error)) from error
        if not data:
            raise ConnectionLostError("the peer closed the connection")
        frames = self._split_frames(self._buffer + data)
        for payload in frames[-1:] if self._latest_only else frames:
            self.on_frame(payload)

    def _split_frames(self, data: bytes) -> List[bytes]:
        start, frames = 0, []
        while len(data) - start >= _HEADER_BYTES:
            try:
                end = start + _HEADER_BYTES + int(data[start : start + _HEADER_BYTES], 16)
            except ValueError as error:
                raise ConnectionLostError("the peer does not use Gazebo's protocol") from error
            if end > len(data):
                break
            frames.append(data[start + _HEADER_BYTES : end])
            start = end
        self._buffer = data[start:]
        return frames

    def close(self) -> None:
        self.socket.close()


class Publisher:
    def __init__(self, topic: str, message_class: Any) -> None:
        self.topic = topic
        self.message_class = message_class
        self.links: List[FrameConnection] = []

    @property
    def connected(self) -> bool:
        """True if a subscriber is connected. Messages that are sent before that are lost."""
        return bool(self.links)

    def send(self, *messages: Any) -> None:
        """Publish messages, which the subscriber processes together, in one write."""
        payloads = [message.SerializeToString() for message in messages]
        for link in self.links:
            link.send(*payloads)


@dataclass
class Subscription:
    """A subscription to one topic.

    ``on_payload`` is called with every unparsed message, or, if ``latest_only``, only with the last
    of several pending messages. With ``latching``, the last message that was published before the
    subscription is also received.
    """

    topic: str
    message_class: Any
    on_payload: RawCallback
    latest_only: bool = False
    latching: bool = False
    peers: Dict[Tuple[str, int], FrameConnection] = field(default_factory=dict)


class TransportNode:
    def __init__(self, master_port: int, timeout_s: float = 30.0) -> None:
        """Raise ``ConnectionLostError`` or ``TimeoutError`` if the connection fails."""
        self.namespaces: List[str] = []
        self._welcomed = False
        self._publishers: Dict[str, Publisher] = {}
        self._subscriptions: Dict[str, Subscription] = {}
        self._answered = False
        self._anonymous: Set[FrameConnection] = set()
        self._selector = selectors.DefaultSelector()
        self._listener = socket.create_server((_HOST, 0))
        self._port = int(self._listener.getsockname()[1])
        self._selector.register(self._listener, selectors.EVENT_READ, None)
        try:
            self._master = self._connect(master_port, self._on_master_frame)
            self.wait_for(lambda: self._welcomed and bool(self.namespaces), timeout_s, "a world")
        except OSError as error:
            self._listener.close()
            raise ConnectionLostError(str(error)) from error

    def advertise(self, topic: str, message_class: Any) -> Publisher:
        publisher = self._publishers[topic] = Publisher(topic, message_class)
        self._send_to_master("advertise", self._topic_message(Publish, publisher))
        return publisher

    def unadvertise(self, publisher: Publisher) -> None:
        """Withdraw an advertisement, and wait until the master has forwarded the withdrawal."""
        self._send_to_master("unadvertise", self._topic_message(Publish, publisher))
        self._await_master(publisher.topic)

    def subscribe(
        self,
        topic: str,
        message_class: Any,
        on_payload: RawCallback,
        latest_only: bool = False,
        latching: bool = False,
    ) -> Subscription:
        subscription = Subscription(topic, message_class, on_payload, latest_only, latching)
        self._subscriptions[topic] = subscription
        message = self._topic_message(Subscribe, subscription, latching=latching)
        self._send_to_master("subscribe", message)
        return subscription

    def unsubscribe(self, topic: str) -> None:
        """Cancel a subscription, and wait until the master has forwarded the cancellation."""
        subscription = self._subscriptions.pop(topic)
        self._send_to_master("unsubscribe", self._topic_message(Subscribe, subscription))
        self._await_master(topic)
        for connection in list(subscription.peers.values()):
            self._close_connection(connection)

    def disconnect(self, publisher: Publisher) -> None:
        """Close the connections of a publisher whose advertisement was withdrawn."""
        for connection in list(publisher.links):
            self._close_connection(connection)

    def is_connected(self, topic: str) -> bool:
        subscription = self._subscriptions.get(topic)
        return subscription is not None and bool(subscription.peers)

    def _await_master(self, topic: str) -> None:
        self._answered = False
        # the master handles messages in order, so its answer to this request is the last
        request = MESSAGES["Request"](id=1, request="topic_info", data=topic)
        self._send_to_master("request", request)
        self.wait_for(lambda: self._answered, _ANSWER_TIMEOUT_S, f"the master's answer on {topic}")

    def poll(self, timeout_s: float = 0.0) -> None:
        """Wait up to ``timeout_s`` for the first byte, and transfer all pending bytes.

        Raises ``ConnectionLostError`` if the connection to the master is closed.
        """
        for key, _ in self._selector.select(timeout_s):
            connection = key.data
            if connection is None:
                self._accept()
                continue
            try:
                connection.receive()
            except ConnectionLostError:
                if connection is self._master:
                    raise
                self._close_connection(connection)

    def wait_for(self, condition: Callable[[], bool], timeout_s: float, awaited_event: str) -> None:
        """Poll until ``condition()`` is true, or raise ``TimeoutError`` with ``awaited_event``."""
        deadline_s = time.monotonic() + timeout_s
        while not condition():
            left_s = deadline_s - time.monotonic()
            if left_s <= 0:
                raise TimeoutError(f"{awaited_event} has not arrived")
            self.poll(left_s)

    def close(self) -> None:
        for key in list((self._selector.get_map() or {}).values()):  # None after an earlier call
            key.fileobj.close()  # type: ignore[union-attr]
        self._selector.close()

    def _connect(
        self, port: int, on_frame: RawCallback, latest_only: bool = False
    ) -> FrameConnection:
        peer = socket.create_connection((_HOST, port), timeout=_SEND_TIMEOUT_S)
        return self._register(FrameConnection(peer, on_frame, latest_only))

    def _register(self, connection: FrameConnection) -> FrameConnection:
        self._selector.register(connection, selectors.EVENT_READ, connection)
        return connection

    def _accept(self) -> None:
        peer, _ = self._listener.accept()
        peer.settimeout(_SEND_TIMEOUT_S)
        connection = FrameConnection(peer, lambda payload: self._on_peer_frame(connection, payload))
        self._anonymous.add(self._register(connection))

    def _close_connection(self, connection: FrameConnection) -> None:
        self._selector.unregister(connection)
        connection.close()
        self._anonymous.discard(connection)
        for publisher in self._publishers.values():
            if connection in publisher.links:
                publisher.links.remove(connection)
        for subscription in self._subscriptions.values():
            for address, peer in list(subscription.peers.items()):
                if peer is connection:
                    del subscription.peers[address]

    def _send_to_master(self, kind: str, message: Any) -> None:
        self._master.send(_pack(kind, message))

    def _topic_message(
        self, kind: Any, endpoint: Union[Publisher, Subscription], **fields: Any
    ) -> Any:
        type_name = endpoint.message_class.DESCRIPTOR.full_name
        return kind(topic=endpoint.topic, msg_type=type_name, host=_HOST, port=self._port, **fields)

    def _on_master_frame(self, payload: bytes) -> None:
        packet = Packet.FromString(payload)
        kind, body = packet.type, packet.serialized_data
        if kind == "topic_namepaces_init":  # Gazebo's spelling
            self.namespaces.extend(MESSAGES["GzString_V"].FromString(body).data)
        elif kind == "topic_namespace_add":
            self.namespaces.append(MESSAGES["GzString"].FromString(body).data)
        elif kind == "publishers_init":
            self._welcomed = True
        elif kind in ("publisher_subscribe", "publisher_advertise"):
            self._connect_publisher(Publish.FromString(body))
        elif kind == "topic_info_response":
            self._answered = True

    def _connect_publisher(self, publish: Any) -> None:
        subscription = self._subscriptions.get(publish.topic)
        address = (publish.host, publish.port)
        if subscription is None or address in subscription.peers or publish.port == self._port:
            return
        try:
            peer = self._connect(
                publish.port,
                lambda payload: subscription.on_payload(payload),
                subscription.latest_only,
            )
        except OSError:  # closed again, and the master will announce the next publisher
            return
        subscription.peers[address] = peer
        message = self._topic_message(Subscribe, subscription, latching=subscription.latching)
        peer.send(_pack("sub", message))

    def _on_peer_frame(self, connection: FrameConnection, payload: bytes) -> None:
        packet = Packet.FromString(payload)
        if packet.type != "sub":
            return
        publisher = self._publishers.get(Subscribe.FromString(packet.serialized_data).topic)
        if publisher is not None:
            self._anonymous.discard(connection)
            publisher.links.append(connection)


def _pack(kind: str, message: Any) -> bytes:
    time_ns = time.time_ns()
    packet = Packet(type=kind, serialized_data=message.SerializeToString())
    packet.stamp.sec, packet.stamp.nsec = divmod(time_ns, 10**9)
    return bytes(packet.SerializeToString())
