"""Client of the services of gazebo_ros in a running Gazebo.

The client verifies the effect of a call from the state of the simulator. gazebo_ros can report a
timeout of a spawn even if the model appears, and success before a state is set. Timeouts are wall
times. No ROS node is needed.
"""

import math
import time
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Set, Tuple

import rospy
from gazebo_msgs import srv
from gazebo_msgs.msg import ModelState as ModelStateMessage
from geometry_msgs.msg import Vector3
from lxml import etree
from std_srvs.srv import Empty, EmptyRequest

from gz_testauto.base import ros_messages
from gz_testauto.base.errors import SdfError, SimulatorError
from gz_testauto.base.observation import ModelState
from gz_testauto.base.pose import Pose
from gz_testauto.base.truncation import MAX_NAMES, join_truncated
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.tree import read_model
from gz_testauto.simulators.gazebo_ros.connection import (
    MasterLink,
    ServiceConnection,
    ServiceTimeoutError,
    ServiceUnavailableError,
)
from gz_testauto.simulators.interface import NamedModel
from gz_testauto.simulators.world_file import PhysicsSettings

POLL_S = 0.02
# After a call without a response: gazebo_ros handles one call at a time, so an unfinished call
# blocks all others.
SHORT_TIMEOUT_S = 2.0
# The name of a deleted model is not reused for this wall time: Gazebo receives its own message
# about the deletion and handles it 0.2 s later.
ECHO_S = 0.45
# Largest errors (m, rad) at which a pose counts as reached while time runs: a movable model has
# moved for a few milliseconds before its pose is read.
PLACED_M = 0.02
PLACED_RAD = 0.02
WORLD = "world"

KINDS = {
    "spawn_sdf_model": srv.SpawnModel,
    "delete_model": srv.DeleteModel,
    "get_model_state": srv.GetModelState,
    "set_model_state": srv.SetModelState,
    "get_link_state": srv.GetLinkState,
    "get_model_properties": srv.GetModelProperties,
    "get_world_properties": srv.GetWorldProperties,
    "set_link_state": srv.SetLinkState,
    "set_light_properties": srv.SetLightProperties,
    "set_model_configuration": srv.SetModelConfiguration,
    "apply_body_wrench": srv.ApplyBodyWrench,
    "get_physics_properties": srv.GetPhysicsProperties,
    "set_physics_properties": srv.SetPhysicsProperties,
    "pause_physics": Empty,
    "unpause_physics": Empty,
}

try:
    from gz_testauto.srv import (
        DeleteModels,
        DeleteModelsRequest,
        SpawnModels,
        SpawnModelsRequest,
    )
except ImportError:  # ROS without this package's messages
    OWN_KINDS: Dict[str, Any] = {}
else:
    OWN_KINDS = {"spawn_models": SpawnModels, "delete_models": DeleteModels}


@dataclass(frozen=True)
class WorldNow:
    """The simulated time (s) and the names of all models, which can occur twice."""

    time_s: float
    names: Tuple[str, ...]


class GazeboRosClient:
    """A client of the services ``/gazebo/*`` at one ROS master.

    Every method raises ``SimulatorError`` if a call fails or has no effect. ``answer_timeout_s`` is
    the timeout of a call, and ``effect_timeout_s`` that of its effect. Names are remapped as by
    rospy. A client can be used from any thread.
    """

    def __init__(
        self,
        answer_timeout_s: float = 30.0,
        effect_timeout_s: float = 10.0,
        namespace: str = "/gazebo",
        master_uri: Optional[str] = None,
    ) -> None:
        if answer_timeout_s <= 0 or effect_timeout_s <= 0:
            raise ValueError("answer_timeout_s and effect_timeout_s must be positive")
        self._answer_timeout_s = answer_timeout_s
        self._effect_timeout_s = effect_timeout_s
        self._is_silent = False
        self._deleted_at: Dict[str, float] = {}
        self._master = MasterLink(master_uri)
        self._services = {
            name: ServiceConnection(self._master, rospy.resolve_name(f"{namespace}/{name}"), kind)
            for name, kind in KINDS.items()
        }

    def close(self) -> None:
        """Close all connections. The next call connects again."""
        for service in self._services.values():
            service.close()

    # reading

    def ros_version(self) -> str:
        values = (self._master.parameter(name) for name in ("/rosdistro", "/rosversion"))
        return "ROS " + " ".join(str(text or "?").strip() for text in values)

    def world(self) -> WorldNow:
        (answer,) = self.request("get_world_properties", [srv.GetWorldPropertiesRequest()])
        return WorldNow(answer.sim_time, tuple(answer.model_names))

    def model_names(self) -> Set[str]:
        return set(self.world().names)

    def states(self, names: Iterable[str]) -> Dict[str, ModelState]:
        """Return the states, in the world frame, of the models in ``names`` that exist."""
        return self._states(list(names))[0]

    def states_now(self, names: Iterable[str]) -> Tuple[float, Dict[str, ModelState]]:
        """Return the simulated time (s), and the result of :meth:`states` at this time."""
        # The stamp of a response is the time that gazebo_ros's node has received; it can be late.
        time_s = self.world().time_s
        states, stamp_s = self._states(list(names))
        return max(time_s, stamp_s), states

    def poses(self, names: Iterable[str]) -> Dict[str, Pose]:
        return {name: state.pose for name, state in self.states(names).items()}

    def links_of(self, models: Iterable[str]) -> Dict[str, Tuple[str, ...]]:
        """Return the scoped names of the links of the ``models`` that exist."""
        names = list(models)
        requests = [srv.GetModelPropertiesRequest(name) for name in names]
        return {
            name: tuple(f"{name}::{link}" for link in answer.body_names)
            for name, answer in zip(names, self._call("get_model_properties", requests))
            if answer.success
        }

    def link_states(self, names: Iterable[str]) -> Dict[str, ModelState]:
        """Return the states, in the world frame, of the links in ``names`` that exist."""
        requested_names = list(names)
        requests = [srv.GetLinkStateRequest(name, WORLD) for name in requested_names]
        return {
            name: ros_messages.state_of(answer.link_state.pose, answer.link_state.twist)
            for name, answer in zip(requested_names, self._call("get_link_state", requests))
            if answer.success
        }

    def physics(self) -> PhysicsSettings:
        answer = self._physics_properties()
        gravity = (answer.gravity.x, answer.gravity.y, answer.gravity.z)
        return PhysicsSettings(answer.time_step, answer.max_update_rate, gravity)

    def paused(self) -> bool:
        return bool(self._physics_properties().pause)

    # changing

    def set_physics(self, settings: PhysicsSettings) -> None:
        properties = self._physics_properties()
        gravity = Vector3(*settings.gravity_mps2)
        request = srv.SetPhysicsPropertiesRequest(
            settings.step_size_s, settings.max_update_rate_hz, gravity, properties.ode_config
        )
        self.request("set_physics_properties", [request])

    def pause(self) -> None:
        self._call("pause_physics", [EmptyRequest()])

    def unpause(self) -> None:
        self._call("unpause_physics", [EmptyRequest()])

    def set_states(
        self,
        states: Mapping[str, ModelState],
        within_m: float = PLACED_M,
        within_rad: float = PLACED_RAD,
        from_above: bool = False,
    ) -> None:
        """Set states of models (world frame), and wait until the poses are reached within the
        tolerances.

        A state without a twist leaves the model at rest. A rejected state does not affect other
        models. With ``from_above``, only x, y and yaw are compared, since the model can fall.
        """
        self.send_states(states)
        remaining: Dict[str, Pose] = {name: state.pose for name, state in states.items()}

        def is_reached() -> bool:
            for name, pose in self.poses(list(remaining)).items():
                target = remaining[name]
                if from_above:
                    pose, target = pose.planar.to_pose(), target.planar.to_pose()
                if is_at(pose, target, within_m, within_rad):
                    del remaining[name]
            return not remaining

        if not self._await(is_reached):
            raise SimulatorError(
                f"these models did not reach their poses: {join_truncated(sorted(remaining))}"
            )

    def send_states(self, states: Mapping[str, ModelState]) -> None:
        """Set states of models (world frame), without waiting for their effect."""
        requests = [
            srv.SetModelStateRequest(_state_message(name, state)) for name, state in states.items()
        ]
        answers = self._call("set_model_state", requests)
        rejections = [
            f"{name}: {answer.status_message}"
            for name, answer in zip(states, answers)
            if not answer.success
        ]
        if rejections:
            raise SimulatorError(f"not placed: {join_truncated(rejections)}")

    def spawn(self, models: Mapping[str, str]) -> None:
        """Spawn models from SDF texts by name, each at the pose in its SDF, and wait for them.

        Raises ``SimulatorError`` before any request if a name is in use or a text is not SDF. After
        any other error, some of the models can exist.
        """
        for name, xml in models.items():
            _parse_model(name, xml)
        self._spawn([(name, xml, Pose()) for name, xml in models.items()])

    def spawn_models(self, models: Sequence[NamedModel]) -> None:
        """Spawn models, each at its pose, and wait until they exist.

        After an error, the models that were spawned are removed.
        """
        parts = [(model.name, _remove_pose(model), model.pose) for model in models]
        names = [model.name for model in models]
        try:
            self._spawn(parts)
            # If the world file with which Gazebo 11 was started contains the name, Gazebo uses the
            # pose in the file.
            self.set_states({model.name: ModelState(model.pose) for model in models})
        except _NameInUseError:
            raise
        except SimulatorError:
            self.delete(set(names) & self.model_names())
            raise

    def delete(self, names: Iterable[str]) -> None:
        """Remove all models with these names, and wait until they no longer exist.

        If a removal fails, the other models are removed before ``SimulatorError`` is raised.
        """
        deleted_names = set(names)
        faults: Dict[str, str] = {}
        deadline = math.inf
        while deleted_names:
            remaining = sorted(deleted_names & self.model_names())
            if not remaining:
                return
            if time.monotonic() > deadline:
                reasons = "; ".join(
                    faults[name] for name in remaining[:MAX_NAMES] if name in faults
                )
                raise SimulatorError(
                    "these models still exist after they were deleted: "
                    f"{join_truncated(remaining)} ({reasons})"
                )
            faults.update(self._request_deletion(remaining))
            self._deleted_at.update(dict.fromkeys(remaining, time.monotonic()))
            deadline = min(deadline, time.monotonic() + self._effect_timeout_s)
            time.sleep(POLL_S)

    # private methods

    def _spawn(self, parts: Sequence[Tuple[str, str, Pose]]) -> None:
        existing_names = self.model_names()
        names = [name for name, _, _ in parts]
        in_use = [name for name in names if name in existing_names or names.count(name) > 1]
        if in_use:
            raise _NameInUseError(f"a model named {in_use[0]!r} exists already")
        messages = self._request_spawning(parts)
        remaining: Set[str] = set(names)

        def exist() -> bool:
            remaining.difference_update(self.model_names())
            return not remaining

        if not self._await(exist):
            reasons = "; ".join(messages[name] for name in sorted(remaining)[:MAX_NAMES])
            raise SimulatorError(
                "these models do not exist after they were spawned: "
                f"{join_truncated(sorted(remaining))} ({reasons})"
            )

    def _request_spawning(self, parts: Sequence[Tuple[str, str, Pose]]) -> Dict[str, str]:
        """Request the spawning of models (name, SDF, pose), and return the responses by name."""
        poses = [ros_messages.pose_message(pose) for _, _, pose in parts]
        names, texts = [name for name, _, _ in parts], [xml for _, xml, _ in parts]
        if self._has_batch_service("spawn_sdf_model", "spawn_models"):
            (answer,) = self._call("spawn_models", [SpawnModelsRequest(names, texts, poses)], False)
            if not answer.success:
                raise SimulatorError(f"not spawned: {answer.message}")
            return dict.fromkeys(names, answer.message)
        free_at = max((self._deleted_at.pop(name, 0.0) + ECHO_S for name in names), default=0.0)
        time.sleep(max(0.0, free_at - time.monotonic()))
        return {
            name: self._spawn_one(srv.SpawnModelRequest(name, xml, "", pose, WORLD))
            for (name, xml, _), pose in zip(parts, poses)
        }

    def _request_deletion(self, names: Sequence[str]) -> Dict[str, str]:
        """Request the deletion of models, and return the messages of rejected requests by model."""
        if self._has_batch_service("delete_model", "delete_models"):
            (answer,) = self._call("delete_models", [DeleteModelsRequest(list(names))])
            return {} if answer.success else {names[0]: answer.message}
        requests = [srv.DeleteModelRequest(name) for name in names]
        return {
            name: f"{name}: {answer.status_message}"
            for name, answer in zip(names, self._call("delete_model", requests))
            if not answer.success
        }

    def _has_batch_service(self, service: str, batch_service: str) -> bool:
        """Return whether the node that provides ``service`` also has ``batch_service``, which
        handles several models in one call. Only this package's simulator node has it."""
        if batch_service not in OWN_KINDS:
            return False
        try:
            name = self._master.private_service(self._services[service].name, batch_service)
        except ServiceUnavailableError:
            return False
        connection = self._services.get(batch_service)
        if name is not None and (connection is None or connection.name != name):
            self._services[batch_service] = ServiceConnection(
                self._master, name, OWN_KINDS[batch_service]
            )
        return name is not None

    def _spawn_one(self, request: srv.SpawnModelRequest) -> str:
        """Request the spawning of a model, and return the response's message.

        Raises ``SimulatorError`` if the request was rejected, so that the model will not appear.
        """
        name = request.model_name
        try:
            (answer,) = self._call("spawn_sdf_model", [request], repeatable=False)
        except ServiceUnavailableError as error:
            # It is unknown whether the request was processed.
            if name in self.model_names():
                return str(error)
            (answer,) = self._call("spawn_sdf_model", [request], repeatable=False)
        except ServiceTimeoutError as error:
            raise SimulatorError(
                f"{name} was not spawned: {error}. Resume simulated time in Gazebo's window or "
                "restart gazebo_ros, and look for an SDF error in the output of "
                "gazebo_ros. It waits in simulated time for a model that Gazebo has rejected, and "
                "does not respond while time is paused"
            ) from error
        can_appear = answer.success or "timed out" in answer.status_message
        if not can_appear and name not in self.model_names():
            raise SimulatorError(f"{name} was not spawned: {answer.status_message}")
        return str(answer.status_message)

    def _states(self, names: Sequence[str]) -> Tuple[Dict[str, ModelState], float]:
        """Return the states by name, and the time stamp (s) of the first response, or 0."""
        requests = [srv.GetModelStateRequest(name, WORLD) for name in names]
        answers = self._call("get_model_state", requests)
        states = {
            name: ros_messages.state_of(answer.pose, answer.twist)
            for name, answer in zip(names, answers)
            if answer.success
        }
        return states, answers[0].header.stamp.to_sec() if answers else 0.0

    def _physics_properties(self) -> Any:
        (answer,) = self.request("get_physics_properties", [srv.GetPhysicsPropertiesRequest()])
        return answer

    def request(self, service: str, requests: Sequence[Any]) -> List[Any]:
        """Send requests to a service in :data:`KINDS`, and return its responses.

        Raises ``SimulatorError`` if the field ``success`` is false in a response.
        """
        answers = self._call(service, requests)
        for answer in answers:
            if not answer.success:
                raise SimulatorError(f"{self._services[service].name}: {answer.status_message}")
        return answers

    def _call(self, service: str, requests: Sequence[Any], repeatable: bool = True) -> List[Any]:
        if not requests:
            return []
        timeout_s = self._answer_timeout_s
        if self._is_silent:
            timeout_s = min(timeout_s, SHORT_TIMEOUT_S)
        try:
            answers = self._services[service].call(requests, timeout_s, repeatable)
        except ServiceTimeoutError:
            self._is_silent = True
            raise
        self._is_silent = False
        return answers

    def _await(self, condition: Callable[[], bool]) -> bool:
        deadline = time.monotonic() + self._effect_timeout_s
        while not condition():
            if time.monotonic() > deadline:
                return False
            time.sleep(POLL_S)
        return True


class _NameInUseError(SimulatorError):
    """Raised if the name of a model to spawn is already in use."""


def _state_message(name: str, state: ModelState) -> ModelStateMessage:
    pose, twist = ros_messages.pose_message(state.pose), ros_messages.twist_of_state(state)
    return ModelStateMessage(name, pose, twist, WORLD)


def _parse_model(name: str, sdf: str) -> Element:
    """Return the root element of the SDF text of a model, with unresolved includes. Raises
    ``SimulatorError`` if it is invalid."""
    try:
        document = SdfDocument.parse(sdf, name)
        model = document.require_model()
        if next(model.iter("include"), None) is None:
            read_model(document, model, ModelLibrary())
    except SdfError as error:
        raise SimulatorError(f"cannot spawn {name!r}: {error}") from error
    return document.root


def _remove_pose(model: NamedModel) -> str:
    """Return the model's SDF text without the pose in it.

    gazebo_ros would compose that pose with the requested pose, which is complete.
    """
    root = _parse_model(model.name, model.sdf)
    element = root.find("model")
    for pose in element.findall("pose"):
        element.remove(pose)
    element.set("name", model.name)
    return str(etree.tostring(root, encoding="unicode"))


def is_at(pose: Pose, target: Pose, within_m: float, within_rad: float) -> bool:
    turn = (target.inverse() * pose).quaternion
    angle_rad = 2.0 * math.atan2(math.hypot(*turn[:3]), abs(turn[3]))
    return math.dist(pose.position, target.position) <= within_m and angle_rad <= within_rad
