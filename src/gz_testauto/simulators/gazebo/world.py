"""Client of one gzserver and its world.

Gazebo processes messages on ``factory``, ``request`` and ``model/modify`` at most five times per
second of wall time, so requests are sent in batches; ``world_control`` and ``physics`` take effect
immediately.
"""

import contextlib
import itertools
import time
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Set, Tuple

from gz_testauto.base.errors import SimulatorError, simulator_stalled
from gz_testauto.base.pose import Pose
from gz_testauto.base.truncation import join_truncated
from gz_testauto.simulators.gazebo.instruments import own_name
from gz_testauto.simulators.gazebo.messages import MESSAGES
from gz_testauto.simulators.gazebo.server import ServerProcess
from gz_testauto.simulators.gazebo.transport import (
    ConnectionLostError,
    Publisher,
    RawCallback,
    Subscription,
    TransportNode,
)
from gz_testauto.simulators.interface import NamedModel

# The topic with the time of every step and, at rest, of every poll for commands. It is the only
# topic whose last message is never delayed for long.
CLOCK_TOPIC = "pose/local/info"

# Added to the timeout of a spawning for each ray of a model. Gazebo creates an object for each
# ray, which takes about 0.5 ms of processor time.
RAY_TIMEOUT_S = 0.005

LONGEST_LOADING_S = 600.0

# Smallest share of a processor that gzserver uses while it loads a world on a loaded machine. A
# paused gzserver without a client uses less.
_LOADING_SHARE = 0.1

_REPEAT_S = 0.05
_PHYSICS_TRIES = 1000


class WorldLink:
    """A connection to the world of one server.

    The methods raise ``SimulatorError`` if the server is dead, or does not respond for
    ``stall_timeout_s`` of wall time. ``broken`` is True if the server must not be used again.
    """

    def __init__(self, server: ServerProcess, stall_timeout_s: float = 30.0) -> None:
        self.server = server
        self.stall_timeout_s = stall_timeout_s
        self.models: Dict[str, Any] = {}
        self._announced: List[Any] = []
        self._responses: Dict[int, Any] = {}
        self._removals: Dict[str, int] = {}
        self._to_remove: Set[str] = set()
        self._ids = itertools.count(1001)
        self.broken = False
        self._is_running = False
        self._to_models: Dict[str, Publisher] = {}
        self._modified_count = 0
        self._subscriptions: Dict[str, Subscription] = {}
        with self.watched("connecting to gzserver"):
            self.node = TransportNode(server.port, stall_timeout_s)
            self.name = self.node.namespaces[0]
            self._factory = self.advertise("factory", "Factory")
            self._requests = self.advertise("request", "Request")
            self._control = self.advertise("world_control", "WorldControl")
            self._physics = self.advertise("physics", "Physics")
            self._modify = self.advertise("model/modify", "Model")
            self.listen("model/info", "Model", self._on_model)
            self.listen("response", "Response", self._on_response)
            self.listen("request", "Request", self._on_request)
            self.listen("world_stats", "WorldStatistics", self._on_statistics)
            self._own_topics = frozenset((*self._subscriptions, CLOCK_TOPIC))
            # gzserver aborts on a physics message that it receives before its world runs
            self._wait_until_loaded()

    def _wait_until_loaded(self) -> None:
        # gzserver sends nothing while it loads a world: 40 s for one with 14,000 boxes.
        deadline_s = time.monotonic() + LONGEST_LOADING_S
        while True:
            start_cpu_s = self.server.cpu_s()
            try:
                self.node.wait_for(
                    lambda: self._is_ready and self._is_running,
                    self.stall_timeout_s,
                    "a running world",
                )
                return
            except TimeoutError:
                used_s = self.server.cpu_s() - start_cpu_s
                is_loading = used_s > _LOADING_SHARE * self.stall_timeout_s
                if not is_loading or time.monotonic() > deadline_s:
                    raise

    # topics

    def topic(self, relative: str) -> str:
        return f"/gazebo/{self.name}/{relative}"

    def listen(
        self,
        relative: str,
        kind: str,
        on_payload: RawCallback,
        latest_only: bool = False,
        latching: bool = False,
    ) -> None:
        """Subscribe to a topic of this world, or replace its callback; see :class:`Subscription`.

        A subscription remains for the lifetime of the server.
        """
        # Canceling it while messages are sent can silence the publisher permanently. If a model is
        # spawned again, its publisher connects to the existing subscriptions.
        subscription = self._subscriptions.get(relative)
        if subscription is None:
            self._subscriptions[relative] = self.node.subscribe(
                self.topic(relative), MESSAGES[kind], on_payload, latest_only, latching
            )
        else:
            subscription.on_payload = on_payload

    def unsubscribe(self, relatives: Iterable[str]) -> None:
        """Cancel subscriptions. No message must be published on these topics during the call."""
        with self.watched("canceling subscriptions"):
            for relative in relatives:
                if self._subscriptions.pop(relative, None) is not None:
                    self.node.unsubscribe(self.topic(relative))

    def wait_for_topics(self) -> None:
        """Wait until every subscribed topic has a publisher that is connected to this client."""
        names = [name for name, s in self._subscriptions.items() if s.on_payload is not _ignore]
        self.wait_for(
            lambda: all(self.node.is_connected(self.topic(name)) for name in names),
            "connecting to the sensors",
        )
        self.acknowledge()
        self.acknowledge()

    def ignore_models(self) -> None:
        for relative, subscription in self._subscriptions.items():
            if relative not in self._own_topics:
                subscription.on_payload = _ignore

    def advertise(self, relative: str, kind: str) -> Publisher:
        return self.node.advertise(self.topic(relative), MESSAGES[kind])

    def advertise_to(self, model: str, relative: str, kind: str) -> Publisher:
        """Return the publisher on a command topic of a model that exists or will be spawned."""
        topic = f"{model}/{relative}"
        if topic not in self._to_models:
            self._to_models[topic] = self.advertise(topic, kind)
        return self._to_models[topic]

    def release(self, models: Optional[Iterable[str]] = None) -> None:
        """Withdraw the advertisements of command topics, by default of all models, before the
        models are deleted."""
        # A plugin that is unloaded while its topic has a publisher closes the connection while it
        # holds a lock of gzserver. The transport thread waits for that lock while it holds the
        # connection lock. In about one of 100 cases, these two threads and the removal of a sensor
        # deadlock.
        model_names = None if models is None else set(models)
        topics = [
            t for t in self._to_models if model_names is None or t.split("/")[0] in model_names
        ]
        if not topics:
            return
        publishers = [self._to_models.pop(topic) for topic in topics]
        with self.watched("releasing models"):
            for publisher in publishers:
                self.node.unadvertise(publisher)
        self.acknowledge()
        for publisher in publishers:
            self.node.disconnect(publisher)

    # waiting

    @contextlib.contextmanager
    def watched(self, activity: str) -> Iterator[None]:
        """Convert a lost connection or a ``TimeoutError`` to a ``SimulatorError``.

        Its message contains the operation ``activity`` and the end of the server's log. The server
        is then not used again.
        """
        try:
            yield
        except ConnectionLostError as error:
            self.broken = True
            # the socket can close shortly before the process has exited
            deadline_s = time.monotonic() + 0.5
            while self.server.alive and time.monotonic() < deadline_s:
                time.sleep(0.01)
            raise SimulatorError(
                f"gzserver died while {activity}: {self.server.describe_end()}"
            ) from error
        except TimeoutError as error:
            self.broken = True
            details = f"{error}; gzserver: {self.server.describe_end()}"
            raise simulator_stalled(self.stall_timeout_s, activity, details) from error

    def fail(self, failure: str) -> None:
        self.broken = True
        raise SimulatorError(f"gzserver failed: {failure}; {self.server.describe_end()}")

    def wait_for(self, condition: Callable[[], bool], activity: str) -> None:
        with self.watched(activity):
            self.node.wait_for(condition, self.stall_timeout_s, "a message of gzserver")

    def acknowledge(self) -> Any:
        """Wait until all previous messages are processed; return the physics settings."""
        request_ids: List[int] = []
        deadline_s = time.monotonic() + self.stall_timeout_s
        with self.watched("answering"):
            while time.monotonic() < deadline_s:
                # a publisher can hold back a response until it has another message to send
                request_ids.append(self._send_request("physics_info", ""))
                again_s = time.monotonic() + _REPEAT_S
                while time.monotonic() < again_s:
                    answered_ids = [i for i in request_ids if i in self._responses]
                    if answered_ids:
                        response = self._responses.pop(answered_ids[-1])
                        return MESSAGES["Physics"].FromString(response.serialized_data)
                    self.node.poll(max(0.0, again_s - time.monotonic()))
            raise TimeoutError("the physics settings have not arrived")

    # the world

    def control(self, **fields: Any) -> None:
        with self.watched("sending a command"):
            self._control.send(MESSAGES["WorldControl"](**fields))

    def set_physics(self, **fields: Any) -> None:
        with self.watched("changing the physics"):
            self._physics.send(MESSAGES["Physics"](**fields))
        scalar = {name: value for name, value in fields.items() if isinstance(value, (int, float))}
        for _ in range(_PHYSICS_TRIES):
            answer = self.acknowledge()
            if all(getattr(answer, name) == value for name, value in scalar.items()):
                return
        raise SimulatorError(f"gzserver does not accept the physics settings {scalar}")

    def request(self, kind: str, data: str = "") -> Any:
        """Return the response to a request, which the world processes in its next update."""
        request_id = self._send_request(kind, data)
        self.wait_for(lambda: request_id in self._responses, f"answering {kind}")
        return self._responses.pop(request_id)

    def spawn(
        self,
        models: Sequence[NamedModel],
        places: Sequence[Tuple[str, Pose]] = (),
        rays: int = 0,
    ) -> None:
        """Spawn models in one batch, and then move the models in ``places``, all within one update.

        Wait until the server has reported every model and every move. Each of the ``rays`` adds
        :data:`RAY_TIMEOUT_S` to the timeout.
        """
        mark = self.server.log_size()
        self._announced.clear()
        names = {model.name for model in models}
        factories = [
            MESSAGES["Factory"](sdf=model.sdf, pose=pose_message(model.pose), allow_renaming=False)
            for model in models
        ]
        moves = [MESSAGES["Model"](name=name, pose=pose_message(pose)) for name, pose in places]
        with self.watched("spawning models"):
            if factories:
                self._factory.send(*factories)
            if moves:
                self._modify.send(*moves)

        lost_count = 0

        def count_missing() -> int:
            nonlocal lost_count
            absent_names = names - {m.name for m in self._announced if len(m.link) or len(m.model)}
            if absent_names:
                return len(absent_names) + len(moves)
            moved_names = {m.name for m in self._announced if not len(m.link) and not len(m.model)}
            missing_moves = [move for move in moves if move.name not in moved_names]
            # repeat only lost moves, since a repeated move changes the last bits of the pose
            if missing_moves and self._count_lost_moves(mark) > lost_count:
                lost_count = self._count_lost_moves(mark)
                self._modify.send(*missing_moves)
            return len(missing_moves)

        try:
            self._wait_with_progress(count_missing, "spawning models", RAY_TIMEOUT_S * rays)
        except SimulatorError as error:
            absent_names = sorted(map(own_name, names - set(self.models)))
            errors = self.server.errors_since(mark)
            cause = " | ".join(errors[-4:]) if errors else error.full
            raise SimulatorError(
                f"gzserver spawned {len(names) - len(absent_names)} of {len(names)} models: {cause}"
                + (f"; missing: {join_truncated(absent_names)}" if absent_names else "")
            ) from error

    def _count_lost_moves(self, mark: int) -> int:
        errors = self.server.errors_since(mark)
        return sum("Unable to find model" in line for line in errors)

    def delete(self, names: Iterable[str]) -> None:
        self.request_deletion(names)
        self.await_deletion()
        self.await_free_names()

    def request_deletion(self, names: Iterable[str]) -> None:
        """Request the removal of models in one batch.

        :meth:`await_free_names` must be called before a name is used again.
        """
        self.await_free_names()
        requests = [
            MESSAGES["Request"](id=next(self._ids), request="entity_delete", data=name)
            for name in names
        ]
        self._to_remove = {request.data for request in requests}
        self._removals.clear()
        with self.watched("deleting models"):
            # The server publishes each removal on the topic on which it also receives requests. So
            # it receives its own message and, two updates later, removes a new model of this name.
            self._requests.send(*requests)

    def await_deletion(self) -> None:
        self._wait_with_progress(
            lambda: len(self._to_remove - set(self._removals)), "deleting models"
        )
        for name in self._to_remove:
            self.models.pop(name, None)

    def await_free_names(self) -> None:
        removals = self._removals
        self._wait_with_progress(
            lambda: sum(removals.get(name) not in self._responses for name in self._to_remove),
            "waiting after deleting models",
        )
        self._to_remove = set()
        self._responses.clear()

    def move(self, places: Sequence[Tuple[str, Pose]]) -> None:
        self.spawn((), places)

    def modify(self, messages: Sequence[Any]) -> None:
        """Publish partial ``Model`` messages without a pose, and wait until they are processed."""
        self._modified_count = 0
        with self.watched("changing models"):
            self._modify.send(*messages)
        self._wait_with_progress(lambda: len(messages) - self._modified_count, "changing models")

    def list_models(self) -> Dict[str, Any]:
        """Return the ``Model`` messages of all models by name."""
        response = self.request("entity_list")
        messages = MESSAGES["Model_V"].FromString(response.serialized_data).models
        self.models = {model.name: model for model in messages}
        return dict(self.models)

    def close(self) -> None:
        self.node.close()

    # private methods

    @property
    def _is_ready(self) -> bool:
        publishers = (self._factory, self._requests, self._control, self._physics, self._modify)
        published_topics = ("model/info", "response")
        return all(publisher.connected for publisher in publishers) and all(
            self.node.is_connected(self.topic(name)) for name in published_topics
        )

    def _send_request(self, request: str, data: str) -> int:
        request_id = next(self._ids)
        with self.watched("taking a request"):
            self._requests.send(MESSAGES["Request"](id=request_id, request=request, data=data))
        return request_id

    def _wait_with_progress(
        self, count_missing: Callable[[], int], activity: str, more_s: float = 0.0
    ) -> None:
        """Wait until ``count_missing()`` returns 0.

        The timeout, which is ``more_s`` longer than that of a response, starts again when the value
        decreases.
        """
        min_missing, since_s = count_missing(), time.monotonic()
        with self.watched(activity):
            while min_missing:
                if time.monotonic() - since_s > self.stall_timeout_s + more_s:
                    raise TimeoutError(f"{min_missing} expected messages have not arrived")
                self.node.poll(0.05)
                missing_count = count_missing()
                if missing_count < min_missing:
                    min_missing, since_s = missing_count, time.monotonic()

    def _on_model(self, payload: bytes) -> None:
        model = MESSAGES["Model"].FromString(payload)
        if not model.HasField("pose"):  # an echo of a message of this client
            self._modified_count += 1
            return
        self._announced.append(model)
        if len(model.link) or len(model.model):
            self.models[model.name] = model

    def _on_response(self, payload: bytes) -> None:
        response = MESSAGES["Response"].FromString(payload)
        self._responses[response.id] = response

    def _on_statistics(self, payload: bytes) -> None:
        self._is_running = True

    def _on_request(self, payload: bytes) -> None:
        request = MESSAGES["Request"].FromString(payload)
        if request.request == "entity_delete":
            self._removals[request.data] = request.id


def _ignore(payload: bytes) -> None: ...


def pose_message(pose: Pose) -> Any:
    message = MESSAGES["Pose"]()
    for axis, value in zip("xyz", pose.position):
        setattr(message.position, axis, value)
    for axis, value in zip("xyzw", pose.quaternion):
        setattr(message.orientation, axis, value)
    return message


def pose_from(message: Any) -> Pose:
    p, q = message.position, message.orientation
    return Pose((p.x, p.y, p.z), (q.x, q.y, q.z, q.w))
