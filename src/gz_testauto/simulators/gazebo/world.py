"""A conversation with one gzserver about its one world.

Owns the topics of the world, the waiting for what was asked to have happened, and the
translation of a dead or silent server into ``SimulatorError``. Knows nothing of robots,
trials or repeatability.

Gazebo takes up what is published on ``factory``, ``request`` and ``model/modify`` at most
five times a second of wall time, so requests are sent in batches; ``world_control`` and
``physics`` take effect at once.
"""

import contextlib
import time
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Set, Tuple

from gz_testauto.base.errors import SimulatorError, simulator_stalled
from gz_testauto.base.pose import Pose
from gz_testauto.base.truncation import join_truncated
from gz_testauto.simulators.gazebo.aliases import own_name
from gz_testauto.simulators.gazebo.messages import MESSAGES
from gz_testauto.simulators.gazebo.server import ServerProcess
from gz_testauto.simulators.gazebo.transport import (
    Publisher,
    RawCallback,
    Subscription,
    TransportNode,
)
from gz_testauto.simulators.gazebo.wire import ConnectionLostError
from gz_testauto.simulators.interface import NamedModel

CLOCK_TOPIC = "pose/local/info"
"""Tells the time with every step, and at rest with every look for commands: the one topic
whose last message is never held back for long."""

_ASK_AGAIN_S = 0.05
_PHYSICS_TRIES = 1000


class WorldLink:
    """The world of one server; ``stall_timeout_s`` of wall time without an answer is death.

    ``broken`` says that the server is not fit for another trial.
    """

    def __init__(self, server: ServerProcess, stall_timeout_s: float = 30.0) -> None:
        self.server = server
        self.stall_timeout_s = stall_timeout_s
        self.models: Dict[str, Any] = {}
        self._announced: List[Any] = []
        self._responses: Dict[int, Any] = {}
        self._removals: Dict[str, int] = {}
        self._to_remove: Set[str] = set()
        self._last_id = 1000
        self.broken = False
        self._runs = False
        self._to_models: Dict[str, Publisher] = {}
        self._modified = 0
        self._subscriptions: Dict[str, Subscription] = {}
        with self.watched("connecting to gzserver"):
            self.node = TransportNode(server.port, stall_timeout_s)
            self.name = self.node.namespaces[0]
            self._factory = self._publish("factory", "Factory")
            self._requests = self._publish("request", "Request")
            self._control = self._publish("world_control", "WorldControl")
            self._physics = self._publish("physics", "Physics")
            self._modify = self._publish("model/modify", "Model")
            self.listen("model/info", "Model", self._on_model)
            self.listen("response", "Response", self._on_response)
            self.listen("request", "Request", self._on_request)
            self.listen("world_stats", "WorldStatistics", self._on_statistics)
            self._own_topics = frozenset((*self._subscriptions, CLOCK_TOPIC))
            # gzserver aborts on a message about physics that comes before its world runs
            self.node.wait_for(
                lambda: self._ready and self._runs, stall_timeout_s, "a running world"
            )

    # topics

    def topic(self, relative: str) -> str:
        """The full name of a topic of this world."""
        return f"/gazebo/{self.name}/{relative}"

    def listen(
        self,
        relative: str,
        kind: str,
        on_payload: RawCallback,
        latest_only: bool = False,
        latching: bool = False,
    ) -> None:
        """Receive a topic of this world, unparsed; a later listener takes the place of an
        earlier one. With ``latest_only``, of messages that came together the last will do;
        with ``latching``, the last that was published before is received, too.

        A topic once subscribed to stays so for the server's life: taking a subscription back
        while messages are under way can silence the publisher for good, and the publisher of
        a model that comes again finds its subscribers again.
        """
        subscription = self._subscriptions.get(relative)
        if subscription is None:
            self._subscriptions[relative] = self.node.subscribe(
                self.topic(relative), MESSAGES[kind], on_payload, latest_only, latching
            )
        else:
            subscription.on_payload = on_payload

    def wait_for_topics(self) -> None:
        """Wait until every topic listened to has its publisher, and that knows of us."""
        names = [name for name, s in self._subscriptions.items() if s.on_payload is not _ignore]
        self.wait_for(
            lambda: all(self.node.is_connected(self.topic(name)) for name in names),
            "connecting to the sensors",
        )
        self.acknowledge()
        self.acknowledge()

    def ignore_models(self) -> None:
        """Let nobody hear any more what comes on the topics of models."""
        for relative, subscription in self._subscriptions.items():
            if relative not in self._own_topics:
                subscription.on_payload = _ignore

    def advertise(self, relative: str, kind: str) -> Publisher:
        """Publish on a topic of this world."""
        return self._publish(relative, kind)

    def is_connected(self, relative: str) -> bool:
        """Whether a topic that we subscribed to has a publisher."""
        return self.node.is_connected(self.topic(relative))

    def advertise_to(self, model: str, relative: str, kind: str) -> Publisher:
        """Publish on a topic on which something in a model takes commands, that is there or is
        about to be spawned; asked again, the same publisher. It is connected when that listens."""
        topic = f"{model}/{relative}"
        if topic not in self._to_models:
            self._to_models[topic] = self.advertise(topic, kind)
        return self._to_models[topic]

    def release(self, models: Optional[Iterable[str]] = None) -> None:
        """Take back the topics of models that are about to be deleted, by default all.

        What is unloaded while it has a publisher closes the connection under a lock of
        gzserver's that its transport waits for while it holds the one for connections, and once
        in a hundred times the two and the removal of a sensor wait for each other for ever.
        """
        chosen = None if models is None else set(models)
        topics = [t for t in self._to_models if chosen is None or t.split("/")[0] in chosen]
        if not topics:
            return
        publishers = [self._to_models.pop(topic) for topic in topics]
        with self.watched("letting go of models"):
            for publisher in publishers:
                self.node.unadvertise(publisher)
        self.acknowledge()
        for publisher in publishers:
            self.node.disconnect(publisher)

    # waiting

    @contextlib.contextmanager
    def watched(self, doing: str) -> Iterator[None]:
        """Raise ``SimulatorError`` for a lost connection or a ``TimeoutError``, which names the
        missing message. The error contains the end of the server's log."""
        try:
            yield
        except ConnectionLostError as error:
            self.broken = True
            # the socket may be gone a moment before the process can be seen to be
            deadline_s = time.monotonic() + 0.5
            while self.server.alive and time.monotonic() < deadline_s:
                time.sleep(0.01)
            raise SimulatorError(
                f"gzserver died while {doing}: {self.server.last_words()}"
            ) from error
        except TimeoutError as error:
            self.broken = True
            details = f"missing: {error}; gzserver: {self.server.last_words()}"
            raise simulator_stalled(self.stall_timeout_s, doing, details) from error

    def fail(self, what: str) -> None:
        """Mark this server as broken; raises ``SimulatorError``."""
        self.broken = True
        raise SimulatorError(f"gzserver failed: {what}; {self.server.last_words()}")

    def wait_for(self, condition: Callable[[], bool], doing: str) -> None:
        """Wait until ``condition()`` holds; raises ``SimulatorError``."""
        with self.watched(doing):
            self.node.wait_for(condition, self.stall_timeout_s, "a message of gzserver")

    def acknowledge(self) -> Any:
        """Ask the physics engine for its settings and wait for the answer.

        Messages on different topics may overtake each other on their way in; this answer
        comes a full round trip after whatever was sent before.
        """
        asked: List[int] = []
        deadline_s = time.monotonic() + self.stall_timeout_s
        with self.watched("answering"):
            while time.monotonic() < deadline_s:
                # a publisher may hold back an answer until it has the next one to send
                asked.append(self._ask("physics_info", ""))
                again_s = time.monotonic() + _ASK_AGAIN_S
                while time.monotonic() < again_s:
                    answered = [i for i in asked if i in self._responses]
                    if answered:
                        response = self._responses.pop(answered[-1])
                        return MESSAGES["Physics"].FromString(response.serialized_data)
                    self.node.poll(max(0.0, again_s - time.monotonic()))
            raise TimeoutError("the settings of the physics engine")

    # the world

    def control(self, **fields: Any) -> None:
        """Send a ``WorldControl``: ``multi_step``, ``seed``, ``reset`` ..."""
        with self.watched("taking a command"):
            self._control.send(MESSAGES["WorldControl"](**fields))

    def set_physics(self, **fields: Any) -> None:
        """Change physics settings and wait until they hold."""
        with self.watched("changing the physics"):
            self._physics.send(MESSAGES["Physics"](**fields))
        scalar = {name: value for name, value in fields.items() if isinstance(value, (int, float))}
        for _ in range(_PHYSICS_TRIES):
            answer = self.acknowledge()
            if all(getattr(answer, name) == value for name, value in scalar.items()):
                return
        raise SimulatorError(f"gzserver does not accept the physics settings {scalar}")

    def ask(self, request: str, data: str = "") -> Any:
        """Send a request that the world answers at its next tick; returns the response."""
        request_id = self._ask(request, data)
        self.wait_for(lambda: request_id in self._responses, f"answering {request}")
        return self._responses.pop(request_id)

    def spawn(self, models: Sequence[NamedModel], places: Sequence[Tuple[str, Pose]] = ()) -> None:
        """Add models in one batch, then move those in ``places``, all within one tick.

        Returns when the server has announced every model and every move; raises
        ``SimulatorError`` with the server's complaints when one does not appear.
        """
        mark = self.server.log_size()
        self._announced.clear()
        names = {model.name for model in models}
        factories = [_factory_message(model) for model in models]
        moves = [_move_message(name, pose) for name, pose in places]
        with self.watched("spawning models"):
            if factories:
                self._factory.send(*factories)
            if moves:
                self._modify.send(*moves)

        lost = 0

        def missing_now() -> int:
            nonlocal lost
            absent = names - {m.name for m in self._announced if len(m.link) or len(m.model)}
            if absent:
                return len(absent) + len(moves)
            moved = {m.name for m in self._announced if not len(m.link) and not len(m.model)}
            missing = [move for move in moves if move.name not in moved]
            # a second move would change the last bits of the pose, so it must have been lost
            if missing and self._count_lost_moves(mark) > lost:
                lost = self._count_lost_moves(mark)
                self._modify.send(*missing)
            return len(missing)

        try:
            self._wait_while_it_goes_on(missing_now, "spawning models")
        except SimulatorError as error:
            absent = sorted(map(own_name, names - set(self.models)))
            said = self.server.complaints_since(mark)
            cause = " | ".join(said[-4:]) if said else error.full
            raise SimulatorError(
                f"gzserver spawned {len(names) - len(absent)} of {len(names)} models: {cause}"
                + (f"; missing: {join_truncated(absent)}" if absent else "")
            ) from error

    def _count_lost_moves(self, mark: int) -> int:
        said = self.server.complaints_since(mark)
        return sum("Unable to find model" in line for line in said)

    def delete(self, names: Iterable[str]) -> None:
        """Remove models in one batch; when this returns, their names can be used again."""
        self.request_deletion(names)
        self.await_deletion()
        self.await_free_names()

    def request_deletion(self, names: Iterable[str]) -> None:
        """Ask for models to be removed, in one batch.

        The server notes the requests at its next tick and removes the models at the one after
        that. It announces each removal on the very topic on which it takes requests, hears
        itself, and two ticks later removes whatever bears the name by then: hence
        :meth:`await_free_names`.
        """
        self.await_free_names()
        wanted = [
            MESSAGES["Request"](id=self._next_id(), request="entity_delete", data=name)
            for name in names
        ]
        self._to_remove = {request.data for request in wanted}
        self._removals.clear()
        with self.watched("deleting models"):
            self._requests.send(*wanted)

    def await_deletion(self) -> None:
        """Wait until what was asked to be removed is gone."""
        self._wait_while_it_goes_on(
            lambda: len(self._to_remove - set(self._removals)), "deleting models"
        )
        for name in self._to_remove:
            self.models.pop(name, None)

    def await_free_names(self) -> None:
        """Wait until the names of what was removed can be used again."""
        removals = self._removals
        self._wait_while_it_goes_on(
            lambda: sum(removals.get(name) not in self._responses for name in self._to_remove),
            "settling after deleting models",
        )
        self._to_remove = set()
        self._responses.clear()

    def move(self, places: Sequence[Tuple[str, Pose]]) -> None:
        """Place models and wait until the server has done it."""
        self.spawn((), places)

    def modify(self, messages: Sequence[Any]) -> None:
        """Send partial ``Model`` messages without a pose, in one batch, and wait until the server
        has taken them."""
        self._modified = 0
        with self.watched("changing models"):
            self._modify.send(*messages)
        self._wait_while_it_goes_on(lambda: len(messages) - self._modified, "changing models")

    def list_models(self) -> Dict[str, Any]:
        """Every model of the world as a ``Model`` message, by name."""
        response = self.ask("entity_list")
        listed = MESSAGES["Model_V"].FromString(response.serialized_data).models
        self.models = {model.name: model for model in listed}
        return dict(self.models)

    def close(self) -> None:
        """Let go of the server, which its owner ends."""
        self.node.close()

    # inside

    @property
    def _ready(self) -> bool:
        ours = (self._factory, self._requests, self._control, self._physics, self._modify)
        theirs = ("model/info", "response")
        return all(publisher.connected for publisher in ours) and all(
            self.node.is_connected(self.topic(name)) for name in theirs
        )

    def _publish(self, relative: str, kind: str) -> Publisher:
        return self.node.advertise(self.topic(relative), MESSAGES[kind])

    def _next_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def _ask(self, request: str, data: str) -> int:
        request_id = self._next_id()
        with self.watched("taking a request"):
            self._requests.send(MESSAGES["Request"](id=request_id, request=request, data=data))
        return request_id

    def _wait_while_it_goes_on(self, missing: Callable[[], int], doing: str) -> None:
        """Wait until nothing is ``missing`` any more, as long as that becomes less; looks again
        from time to time although nothing came."""
        least, since_s = missing(), time.monotonic()
        with self.watched(doing):
            while least:
                if time.monotonic() - since_s > self.stall_timeout_s:
                    raise TimeoutError(f"{least} of the expected messages")
                self.node.poll(0.05)
                left = missing()
                if left < least:
                    least, since_s = left, time.monotonic()

    def _on_model(self, payload: bytes) -> None:
        model = MESSAGES["Model"].FromString(payload)
        if not model.HasField("pose"):  # an echo of ours
            self._modified += 1
            return
        self._announced.append(model)
        if len(model.link) or len(model.model):
            self.models[model.name] = model

    def _on_response(self, payload: bytes) -> None:
        response = MESSAGES["Response"].FromString(payload)
        self._responses[response.id] = response

    def _on_statistics(self, payload: bytes) -> None:
        self._runs = True

    def _on_request(self, payload: bytes) -> None:
        request = MESSAGES["Request"].FromString(payload)
        if request.request == "entity_delete":
            self._removals[request.data] = request.id


def _ignore(payload: bytes) -> None:
    """What a listener does that is of no more use."""


def pose_message(pose: Pose) -> Any:
    """A pose as Gazebo takes it."""
    message = MESSAGES["Pose"]()
    for axis, value in zip("xyz", pose.position):
        setattr(message.position, axis, value)
    for axis, value in zip("xyzw", pose.quaternion):
        setattr(message.orientation, axis, value)
    return message


def pose_from(message: Any) -> Pose:
    """A pose as Gazebo gives it, bit for bit."""
    p, q = message.position, message.orientation
    return Pose((p.x, p.y, p.z), (q.x, q.y, q.z, q.w))


def _factory_message(model: NamedModel) -> Any:
    return MESSAGES["Factory"](sdf=model.sdf, pose=pose_message(model.pose), allow_renaming=False)


def _move_message(name: str, pose: Pose) -> Any:
    return MESSAGES["Model"](name=name, pose=pose_message(pose))
