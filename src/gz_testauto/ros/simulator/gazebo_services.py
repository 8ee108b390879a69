"""The services of gazebo_ros, with its semantics and messages, for any simulator of this package.

Handlers must be called on the thread of the simulation loop.
"""

import collections
from typing import Counter, Dict, List

from gazebo_msgs import srv
from lxml import etree
from std_srvs.srv import EmptyRequest, EmptyResponse

from gz_testauto.base import ros_messages
from gz_testauto.base.observation import ModelState
from gz_testauto.base.pose import Pose
from gz_testauto.base.scratch import scratch_directory
from gz_testauto.base.xml_file import read_xml
from gz_testauto.ros.graph import RequestRejectedError
from gz_testauto.ros.simulator import entities, spawn_xml
from gz_testauto.ros.simulator.clock import SceneClock
from gz_testauto.ros.simulator.loop import SimulationLoop
from gz_testauto.srv import (
    DeleteModelsRequest,
    DeleteModelsResponse,
    SpawnModelsRequest,
    SpawnModelsResponse,
)


class GazeboServices:
    def __init__(self, loop: SimulationLoop, clock: SceneClock) -> None:
        self._loop = loop
        self._clock = clock
        self._initial: Dict[str, Pose] = {}
        self._state_requests: Counter[str] = collections.Counter()

    def start_scene(self, poses: Dict[str, Pose]) -> None:
        self._initial = dict(poses)

    def spawn_urdf_model(self, request: srv.SpawnModelRequest) -> srv.SpawnModelResponse:
        spawn_xml.require_urdf(request.model_xml)
        return self.spawn_sdf_model(request)

    def spawn_sdf_model(self, request: srv.SpawnModelRequest) -> srv.SpawnModelResponse:
        # gazebo_ros also accepts URDF.
        snapshot = self._loop.snapshot()
        frame = entities.reference(
            snapshot,
            request.reference_frame,
            "SpawnModel: reference reference_frame not found, did you forget to scope the link by "
            "model name?",
        )
        model = spawn_xml.model_to_spawn(
            request.model_xml,
            request.model_name,
            request.robot_namespace,
            frame.pose * ros_messages.pose_of(request.initial_pose),
        )
        if request.model_name in snapshot.models:
            raise RequestRejectedError("SpawnModel: Failure - entity already exists.")
        self._loop.simulation.spawn([model])
        self._initial[model.name] = model.pose
        return srv.SpawnModelResponse(True, "SpawnModel: Successfully spawned entity")

    def delete_model(self, request: srv.DeleteModelRequest) -> srv.DeleteModelResponse:
        if request.model_name not in self._loop.snapshot().models:
            raise RequestRejectedError("DeleteModel: model does not exist")
        self._loop.simulation.delete([request.model_name])
        self._initial.pop(request.model_name, None)
        return srv.DeleteModelResponse(True, "DeleteModel: successfully deleted model")

    def spawn_models(self, request: SpawnModelsRequest) -> SpawnModelsResponse:
        columns = (request.names, request.sdf, request.poses)
        if len(set(map(len, columns))) > 1:
            raise RequestRejectedError(
                f"{len(request.names)} names, {len(request.sdf)} sdf and {len(request.poses)} "
                "poses; the numbers must be equal"
            )
        models = [
            spawn_xml.model_to_spawn(xml, name, "", ros_messages.pose_of(pose))
            for name, xml, pose in zip(*columns)
        ]
        self._loop.simulation.spawn(models)
        self._initial.update((model.name, model.pose) for model in models)
        return SpawnModelsResponse(True, f"{len(models)} models spawned")

    def delete_models(self, request: DeleteModelsRequest) -> DeleteModelsResponse:
        names = dict.fromkeys(request.names)
        self._loop.simulation.delete(names)
        for name in names:
            self._initial.pop(name, None)
        return DeleteModelsResponse(True, f"{len(names)} models deleted")

    def get_model_state(self, request: srv.GetModelStateRequest) -> srv.GetModelStateResponse:
        snapshot = self._loop.snapshot()
        if request.model_name not in snapshot.models:
            raise RequestRejectedError("GetModelState: model does not exist")
        frame = entities.reference(
            snapshot,
            request.relative_entity_name,
            "GetModelState: reference relative_entity_name not found, did you forget to scope the "
            "body by model name?",
        )
        response = srv.GetModelStateResponse()
        self._state_requests[request.model_name] += 1
        response.header.seq = self._state_requests[request.model_name]
        response.header.stamp = ros_messages.time_message(self._clock.nanoseconds(snapshot.time_s))
        response.header.frame_id = request.relative_entity_name
        state = entities.relative_to(snapshot.models[request.model_name], frame)
        response.pose = ros_messages.pose_message(state.pose)
        response.twist = ros_messages.twist_of_state(state)
        response.success, response.status_message = True, "GetModelState: got properties"
        return response

    def get_link_state(self, request: srv.GetLinkStateRequest) -> srv.GetLinkStateResponse:
        snapshot = self._loop.snapshot()
        response = srv.GetLinkStateResponse()
        link = entities.find_link(snapshot.links, request.link_name)
        if link is None:
            raise RequestRejectedError(
                "GetLinkState: link not found, did you forget to scope the link by model name?"
            )
        frame = entities.reference(
            snapshot,
            request.reference_frame,
            "GetLinkState: reference reference_frame not found, did you forget to scope the link "
            "by model name?",
        )
        state = entities.relative_to(link, frame)
        response.link_state.link_name = request.link_name
        response.link_state.reference_frame = request.reference_frame
        response.link_state.pose = ros_messages.pose_message(state.pose)
        response.link_state.twist = ros_messages.twist_of_state(state)
        response.success, response.status_message = True, "GetLinkState: got state"
        return response

    def set_model_state(self, request: srv.SetModelStateRequest) -> srv.SetModelStateResponse:
        """Set a state, whose twist is in the axes of the reference frame."""
        requested_state = request.model_state
        snapshot = self._loop.snapshot()
        if requested_state.model_name not in snapshot.models:
            raise RequestRejectedError("SetModelState: model does not exist")
        frame = entities.reference(
            snapshot,
            requested_state.reference_frame,
            "SetModelState: specified reference frame entity does not exist",
        )
        state = entities.in_world(
            ros_messages.requested_state(requested_state.pose, requested_state.twist), frame
        )
        is_moving = any((*(state.linear_mps or ()), *(state.angular_radps or ())))
        if is_moving and not self._loop.simulator.sets_twist:
            raise RequestRejectedError(
                f"SetModelState: {self._loop.simulator.name} can set a pose but no twist; nothing "
                "was changed"
            )
        placed_state = state if is_moving else ModelState(state.pose)
        self._loop.set_states({requested_state.model_name: placed_state})
        return srv.SetModelStateResponse(True, "SetModelState: set model state done")

    def get_world_properties(self, request: object) -> srv.GetWorldPropertiesResponse:
        snapshot = self._loop.snapshot()
        return srv.GetWorldPropertiesResponse(
            sim_time=self._clock.nanoseconds(snapshot.time_s) / ros_messages.NANOSECONDS,
            model_names=list(snapshot.models),
            rendering_enabled=True,
            success=True,
            status_message="GetWorldProperties: got properties",
        )

    def get_model_properties(
        self, request: srv.GetModelPropertiesRequest
    ) -> srv.GetModelPropertiesResponse:
        model = self._saved_model(request.model_name)
        if model is None:
            raise RequestRejectedError("GetModelProperties: model does not exist")
        return srv.GetModelPropertiesResponse(
            body_names=_names(model, "link"),
            geom_names=_names(model, "link/collision"),
            joint_names=_names(model, "joint"),
            child_model_names=_names(model, "model"),
            is_static=model.findtext("static", "0").strip().lower() in ("1", "true"),
            success=True,
            status_message="GetModelProperties: got properties",
        )

    def reset_world(self, request: EmptyRequest) -> EmptyResponse:
        """Reset models to their initial poses, or load the scene again if the simulation failed."""
        if self._loop.has_failed and self._loop.load_again is not None:
            self._loop.load_again()
            return EmptyResponse()
        poses = {
            name: ModelState(self._initial[name])
            for name in self._loop.snapshot().models
            if name in self._initial
        }
        self._loop.set_states(poses)
        return EmptyResponse()

    def reset_simulation(self, request: EmptyRequest) -> EmptyResponse:
        self.reset_world(request)
        self._clock.restart(self._loop.snapshot().time_s)
        return EmptyResponse()

    def pause_physics(self, request: EmptyRequest) -> EmptyResponse:
        self._loop.paused = True
        return EmptyResponse()

    def unpause_physics(self, request: EmptyRequest) -> EmptyResponse:
        self._loop.paused = False
        return EmptyResponse()

    def _saved_model(self, name: str) -> "etree._Element":
        with scratch_directory() as directory:
            path = directory / "now.world"
            self._loop.simulation.save_world(path)
            world = read_xml(path).find("world")
        return next((model for model in world.findall("model") if model.get("name") == name), None)


def _names(model: "etree._Element", path: str) -> List[str]:
    return [str(element.get("name")) for element in model.findall(path)]
