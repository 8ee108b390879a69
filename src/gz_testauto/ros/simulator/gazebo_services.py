"""The services of gazebo_ros, with its semantics and messages, for any simulator.

Interprets requests: reference frames, composed poses, and the message of each failure. The handlers
run on the loop's thread; :func:`gz_testauto.ros.services.offer` registers them. The messages are
part of the interface, since users compare them.
"""

import tempfile
from pathlib import Path
from typing import Dict, List

from gazebo_msgs import srv
from lxml import etree
from std_srvs.srv import Empty, EmptyRequest, EmptyResponse

from gz_testauto.base import ros_messages
from gz_testauto.base.observation import ModelState
from gz_testauto.base.pose import Pose
from gz_testauto.base.xml_file import read_xml
from gz_testauto.ros.services import Services
from gz_testauto.ros.simulator import entities, spawn_xml
from gz_testauto.ros.simulator.clock import SceneClock
from gz_testauto.ros.simulator.loop import SimulationLoop
from gz_testauto.ros.simulator.physics import PhysicsProperties


class GazeboServices:
    """Handlers of ``/gazebo/*``; :attr:`services` has the name and type of each."""

    def __init__(
        self,
        loop: SimulationLoop,
        clock: SceneClock,
        physics: PhysicsProperties,
        convert_urdf: spawn_xml.UrdfConverter,
    ) -> None:
        self._loop = loop
        self._clock = clock
        self._physics = physics
        self._convert_urdf = convert_urdf
        self._initial: Dict[str, Pose] = {}
        self._state_requests: Dict[str, int] = {}

    @property
    def services(self) -> Services:
        """Return the services."""
        return {
            "/gazebo/spawn_sdf_model": (srv.SpawnModel, self.spawn_sdf_model),
            "/gazebo/spawn_urdf_model": (srv.SpawnModel, self.spawn_urdf_model),
            "/gazebo/delete_model": (srv.DeleteModel, self.delete_model),
            "/gazebo/get_model_state": (srv.GetModelState, self.get_model_state),
            "/gazebo/set_model_state": (srv.SetModelState, self.set_model_state),
            "/gazebo/get_link_state": (srv.GetLinkState, self.get_link_state),
            "/gazebo/get_model_properties": (srv.GetModelProperties, self.get_model_properties),
            "/gazebo/get_world_properties": (srv.GetWorldProperties, self.get_world_properties),
            "/gazebo/get_physics_properties": (
                srv.GetPhysicsProperties,
                self.get_physics_properties,
            ),
            "/gazebo/set_physics_properties": (
                srv.SetPhysicsProperties,
                self.set_physics_properties,
            ),
            "/gazebo/pause_physics": (Empty, lambda request: self._pause(True)),
            "/gazebo/unpause_physics": (Empty, lambda request: self._pause(False)),
            "/gazebo/reset_world": (Empty, self.reset_world),
            "/gazebo/reset_simulation": (Empty, self.reset_simulation),
        }

    def scene_began(self, poses: Dict[str, Pose]) -> None:
        """Store the initial pose of every model of a new scene for the two resets."""
        self._initial = dict(poses)

    def spawn_urdf_model(self, request: srv.SpawnModelRequest) -> srv.SpawnModelResponse:
        """Spawn a model from URDF."""
        try:
            spawn_xml.require_urdf(request.model_xml)
        except spawn_xml.SpawnRejectedError as error:
            return srv.SpawnModelResponse(False, str(error))
        return self.spawn_sdf_model(request)

    def spawn_sdf_model(self, request: srv.SpawnModelRequest) -> srv.SpawnModelResponse:
        """Spawn a model from SDF, or from URDF, which gazebo_ros also accepts here."""
        try:
            self._loop.perform(lambda: self._spawn(request))
        except entities.UnknownFrame:
            return srv.SpawnModelResponse(
                False,
                "SpawnModel: reference reference_frame not found, did you forget to scope the "
                "link by model name?",
            )
        return srv.SpawnModelResponse(True, "SpawnModel: Successfully spawned entity")

    def _spawn(self, request: srv.SpawnModelRequest) -> None:
        snapshot = self._loop.look()
        frame = entities.reference(snapshot, request.reference_frame)
        model = spawn_xml.model_to_spawn(
            request.model_xml,
            request.model_name,
            request.robot_namespace,
            frame.pose * ros_messages.pose_of(request.initial_pose),
            self._convert_urdf,
        )
        if request.model_name in snapshot.models:
            raise spawn_xml.SpawnRejectedError("SpawnModel: Failure - entity already exists.")
        self._loop.simulation.spawn([model])
        self._initial[model.name] = model.pose

    def delete_model(self, request: srv.DeleteModelRequest) -> srv.DeleteModelResponse:
        """Delete a model by name."""

        def delete() -> srv.DeleteModelResponse:
            if request.model_name not in self._loop.look().models:
                return srv.DeleteModelResponse(False, "DeleteModel: model does not exist")
            self._loop.simulation.delete([request.model_name])
            self._initial.pop(request.model_name, None)
            return srv.DeleteModelResponse(True, "DeleteModel: successfully deleted model")

        return self._loop.perform(delete)

    def get_model_state(self, request: srv.GetModelStateRequest) -> srv.GetModelStateResponse:
        """Return pose and twist of a model in the world or relative to an entity."""

        def get() -> srv.GetModelStateResponse:
            snapshot = self._loop.look()
            if request.model_name not in snapshot.models:
                return srv.GetModelStateResponse(
                    success=False, status_message="GetModelState: model does not exist"
                )
            response = srv.GetModelStateResponse()
            self._state_requests[request.model_name] = (
                self._state_requests.get(request.model_name, 0) + 1
            )
            response.header.seq = self._state_requests[request.model_name]
            response.header.stamp = ros_messages.time_message(
                self._clock.nanoseconds(snapshot.time_s)
            )
            response.header.frame_id = request.relative_entity_name
            try:
                frame = entities.reference(snapshot, request.relative_entity_name)
            except entities.UnknownFrame:
                response.status_message = (
                    "GetModelState: reference relative_entity_name not found, did you forget to "
                    "scope the body by model name?"
                )
                return response
            state = entities.relative_to(snapshot.models[request.model_name], frame)
            response.pose = ros_messages.pose_message(state.pose)
            response.twist = ros_messages.twist_of_state(state)
            response.success, response.status_message = True, "GetModelState: got properties"
            return response

        return self._loop.perform(get)

    def get_link_state(self, request: srv.GetLinkStateRequest) -> srv.GetLinkStateResponse:
        """Return pose and twist of a link in the world or relative to an entity."""

        def get() -> srv.GetLinkStateResponse:
            snapshot = self._loop.look()
            response = srv.GetLinkStateResponse()
            link = entities.find_link(snapshot.links, request.link_name)
            if link is None:
                response.status_message = (
                    "GetLinkState: link not found, did you forget to scope the link by model name?"
                )
                return response
            try:
                frame = entities.reference(snapshot, request.reference_frame)
            except entities.UnknownFrame:
                response.status_message = (
                    "GetLinkState: reference reference_frame not found, did you forget to scope "
                    "the link by model name?"
                )
                return response
            state = entities.relative_to(link, frame)
            response.link_state.link_name = request.link_name
            response.link_state.reference_frame = request.reference_frame
            response.link_state.pose = ros_messages.pose_message(state.pose)
            response.link_state.twist = ros_messages.twist_of_state(state)
            response.success, response.status_message = True, "GetLinkState: got state"
            return response

        return self._loop.perform(get)

    def set_model_state(self, request: srv.SetModelStateRequest) -> srv.SetModelStateResponse:
        """Set the state of a model. Its twist is in the axes of the reference frame."""

        def place() -> srv.SetModelStateResponse:
            wanted = request.model_state
            snapshot = self._loop.look()
            if wanted.model_name not in snapshot.models:
                return srv.SetModelStateResponse(False, "SetModelState: model does not exist")
            try:
                frame = entities.reference(snapshot, wanted.reference_frame)
            except entities.UnknownFrame:
                return srv.SetModelStateResponse(
                    False, "SetModelState: specified reference frame entity does not exist"
                )
            state = entities.in_world(ros_messages.state_of(wanted.pose, wanted.twist), frame)
            moving = any((*(state.linear_mps or ()), *(state.angular_radps or ())))
            if moving and not self._loop.simulator.sets_twist:
                return srv.SetModelStateResponse(
                    False,
                    f"SetModelState: {self._loop.simulator.name} can set a pose but no twist; "
                    "nothing was changed",
                )
            placed = state if moving else ModelState(state.pose)
            self._loop.simulation.set_states({wanted.model_name: placed})
            return srv.SetModelStateResponse(True, "SetModelState: set model state done")

        return self._loop.perform(place)

    def get_world_properties(self, request: object) -> srv.GetWorldPropertiesResponse:
        """Return the simulated time, as on ``/clock``, and the names of all models."""

        def get() -> srv.GetWorldPropertiesResponse:
            snapshot = self._loop.look()
            return srv.GetWorldPropertiesResponse(
                sim_time=self._clock.nanoseconds(snapshot.time_s) / ros_messages.NANOSECONDS,
                model_names=list(snapshot.models),
                rendering_enabled=True,
                success=True,
                status_message="GetWorldProperties: got properties",
            )

        return self._loop.perform(get)

    def get_model_properties(
        self, request: srv.GetModelPropertiesRequest
    ) -> srv.GetModelPropertiesResponse:
        """Return the unscoped names of a model's parts, and whether it is static."""

        def get() -> srv.GetModelPropertiesResponse:
            model = self._saved_model(request.model_name)
            if model is None:
                return srv.GetModelPropertiesResponse(
                    success=False, status_message="GetModelProperties: model does not exist"
                )
            return srv.GetModelPropertiesResponse(
                body_names=_names(model, "link"),
                geom_names=_names(model, "link/collision"),
                joint_names=_names(model, "joint"),
                child_model_names=_names(model, "model"),
                is_static=model.findtext("static", "0").strip().lower() in ("1", "true"),
                success=True,
                status_message="GetModelProperties: got properties",
            )

        return self._loop.perform(get)

    def get_physics_properties(self, request: object) -> srv.GetPhysicsPropertiesResponse:
        """Return the solver's settings and whether the simulation is paused."""
        return self._loop.perform(lambda: self._physics.get(self._loop))

    def set_physics_properties(
        self, request: srv.SetPhysicsPropertiesRequest
    ) -> srv.SetPhysicsPropertiesResponse:
        """Change the physics properties; without any change if one of them is not supported."""
        return self._loop.perform(lambda: self._physics.set(self._loop, request))

    def reset_world(self, request: EmptyRequest) -> EmptyResponse:
        """Reset every model to its initial pose, at rest; time continues."""
        self._loop.perform(self._reset_poses)
        return EmptyResponse()

    def reset_simulation(self, request: EmptyRequest) -> EmptyResponse:
        """Reset every model as :meth:`reset_world` does, and set ROS time to 0."""

        def reset() -> None:
            self._reset_poses()
            self._clock.restart(self._loop.look().time_s)

        self._loop.perform(reset)
        return EmptyResponse()

    def _reset_poses(self) -> None:
        standing = self._loop.look().models
        self._loop.simulation.set_states(
            {name: ModelState(pose) for name, pose in self._initial.items() if name in standing}
        )

    def _pause(self, paused: bool) -> EmptyResponse:
        def set_paused() -> None:
            self._loop.paused = paused

        self._loop.perform(set_paused)
        return EmptyResponse()

    def _saved_model(self, name: str) -> "etree._Element":
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "now.world"
            self._loop.simulation.save_world(path)
            world = read_xml(path).find("world")
        return next((model for model in world.findall("model") if model.get("name") == name), None)


def _names(model: "etree._Element", path: str) -> List[str]:
    return [str(part.get("name")) for part in model.findall(path)]
