"""Frames, and nodes that are connected through a master."""

import contextlib
import socket
import threading

import pytest

from gz_testauto.simulators.gazebo.messages import MESSAGES
from gz_testauto.simulators.gazebo.transport import (
    ConnectionLostError,
    FrameConnection,
    TransportNode,
    frame,
)

Packet = MESSAGES["Packet"]


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    yield ours, theirs
    ours.close()
    theirs.close()


class TcpLike:
    """A socket of a socket pair, which has no option TCP_NODELAY."""

    def __init__(self, inner):
        self._inner = inner

    def setsockopt(self, *arguments):
        pass

    def __getattr__(self, name):
        return getattr(self._inner, name)


def connection(pair, frames, **options):
    return FrameConnection(TcpLike(pair[0]), frames.append, **options)


class TestFrames:
    def test_frame_is_hexadecimal_length_and_payload(self):
        assert frame(b"x" * 26) == b"0000001A" + b"x" * 26

    def test_frames_are_split_at_any_chunk_boundary(self, pair):
        frames = []
        reader = connection(pair, frames)
        for byte in frame(b"one") + frame(b"") + frame(b"three"):
            pair[1].send(bytes([byte]))
            reader.receive()
        assert frames == [b"one", b"", b"three"]

    def test_connection_delivers_all_pending_frames(self, pair):
        frames = []
        reader = connection(pair, frames)
        pair[1].send(frame(b"one") + frame(b"two") + frame(b"three")[:-1])
        reader.receive()
        assert frames == [b"one", b"two"]

    def test_connection_with_latest_only_delivers_the_last_frame(self, pair):
        frames = []
        reader = connection(pair, frames, latest_only=True)
        pair[1].send(frame(b"one") + frame(b"two") + frame(b"three")[:4])
        reader.receive()
        pair[1].send(frame(b"three")[4:])
        reader.receive()
        assert frames == [b"two", b"three"]

    def test_invalid_frame_header_raises(self, pair):
        pair[1].send(b"HTTP/1.1 400 Bad Request")
        with pytest.raises(ConnectionLostError, match="protocol"):
            connection(pair, []).receive()

    def test_reading_from_a_closed_peer_raises(self, pair):
        pair[1].close()
        with pytest.raises(ConnectionLostError):
            connection(pair, []).receive()


class Master(threading.Thread):
    """A substitute for Gazebo's master that serves two nodes."""

    def __init__(self):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.told = []
        self._peers, self._published, self._subscribed = [], [], []
        self._lock = threading.Lock()

    def run(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            peer.settimeout(60)
            self._peers.append(peer)
            threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def close(self):
        for each in (self.listener, *self._peers):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _send(self, peer, kind, message):
        packet = Packet(type=kind, serialized_data=message.SerializeToString())
        packet.stamp.sec = packet.stamp.nsec = 0
        peer.sendall(frame(packet.SerializeToString()))

    def _serve(self, peer):
        self._send(peer, "version_init", MESSAGES["GzString"](data="gazebo 11.0"))
        self._send(peer, "topic_namepaces_init", MESSAGES["GzString_V"](data=["default"]))
        self._send(peer, "publishers_init", MESSAGES["Publishers"]())
        pending = b""
        while True:
            try:
                data = peer.recv(4096)
            except OSError:
                return
            if not data:
                return
            pending += data
            while len(pending) >= 8 and len(pending) >= 8 + int(pending[:8], 16):
                end = 8 + int(pending[:8], 16)
                self._take(peer, Packet.FromString(pending[8:end]))
                pending = pending[end:]

    def _take(self, peer, packet):
        with self._lock:
            self.told.append(packet.type)
            if packet.type == "advertise":
                publish = MESSAGES["Publish"].FromString(packet.serialized_data)
                self._published.append(publish)
                for subscriber, topic in self._subscribed:
                    if topic == publish.topic:
                        self._send(subscriber, "publisher_advertise", publish)
            elif packet.type == "subscribe":
                topic = MESSAGES["Subscribe"].FromString(packet.serialized_data).topic
                self._subscribed.append((peer, topic))
                for publish in self._published:
                    if publish.topic == topic:
                        self._send(peer, "publisher_subscribe", publish)


@pytest.fixture
def master():
    master = Master()
    master.start()
    yield master
    master.close()


@pytest.fixture
def nodes(master):
    made = [TransportNode(master.port, 5.0), TransportNode(master.port, 5.0)]
    yield made
    for node in made:
        node.close()


def until(condition, *nodes):
    for _ in range(500):
        if condition():
            return
        for node in nodes:
            node.poll(0.01)
    raise AssertionError("it did not happen")


class TestNodes:
    def test_node_receives_the_name_of_the_world(self, nodes):
        assert nodes[0].namespaces == ["default"]

    @pytest.mark.parametrize("first", ["publisher", "subscriber"])
    def test_messages_arrive_in_order(self, nodes, first):
        speaker, listener = nodes
        heard = []

        def subscribe():
            listener.subscribe("/gazebo/default/t", MESSAGES["GzString"], heard.append)

        if first == "subscriber":
            subscribe()
        publisher = speaker.advertise("/gazebo/default/t", MESSAGES["GzString"])
        if first == "publisher":
            subscribe()
        until(lambda: publisher.connected, speaker, listener)
        publisher.send(*(MESSAGES["GzString"](data=str(number)) for number in range(100)))
        until(lambda: len(heard) == 100, speaker, listener)
        assert [MESSAGES["GzString"].FromString(h).data for h in heard] == [
            str(number) for number in range(100)
        ]

    def test_closed_publisher_is_disconnected(self, nodes):
        speaker, listener = nodes
        listener.subscribe("/gazebo/default/t", MESSAGES["GzString"], print)
        publisher = speaker.advertise("/gazebo/default/t", MESSAGES["GzString"])
        until(lambda: publisher.connected, speaker, listener)
        publisher.links[0].close()
        until(lambda: not listener.is_connected("/gazebo/default/t"), listener)

    def test_polling_a_closed_master_raises(self, master, nodes):
        master.close()
        with pytest.raises(ConnectionLostError):
            nodes[0].wait_for(lambda: False, 5.0, "nothing")

    def test_wait_for_times_out_with_the_name_of_the_missing_message(self, nodes):
        with pytest.raises(TimeoutError, match="the moon"):
            nodes[0].wait_for(lambda: False, 0.05, "the moon")

    def test_connecting_without_a_master_raises(self, master):
        port = master.port
        master.close()
        with pytest.raises(ConnectionLostError):
            TransportNode(port, 1.0)
