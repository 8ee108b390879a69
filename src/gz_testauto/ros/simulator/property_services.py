"""Services that read and change links, joints, lights and visuals.

Services for one link, light or model are those of gazebo_ros. An unsupported change is rejected.
"""

import math
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from gazebo_msgs import srv
from gazebo_msgs.msg import ModelState as ModelStateMessage
from std_msgs.msg import ColorRGBA

from gz_testauto.base import ros_messages
from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.pose import Pose
from gz_testauto.base.truncation import join_truncated
from gz_testauto.ros.simulator import entities
from gz_testauto.ros.simulator.clock import SceneClock
from gz_testauto.ros.simulator.loop import SimulationLoop
from gz_testauto.sdf.appearance import Color
from gz_testauto.simulators.changes import (
    Change,
    Push,
    SetJoint,
    SetLight,
    SetLink,
    SetMass,
    SetVisual,
)
from gz_testauto.srv import (
    GetModelStatesRequest,
    GetModelStatesResponse,
    SetLightsRequest,
    SetLightsResponse,
    SetModelStatesRequest,
    SetModelStatesResponse,
    SetVisualsRequest,
    SetVisualsResponse,
)


class PropertyServices:
    def __init__(self, loop: SimulationLoop, clock: SceneClock) -> None:
        self._loop, self._clock = loop, clock

    # Services for several models, visuals or lights.

    def get_model_states(self, request: GetModelStatesRequest) -> GetModelStatesResponse:
        snapshot = self._loop.snapshot()
        names = list(request.names) or list(snapshot.models)
        missing_names = [name for name in names if name not in snapshot.models]
        if missing_names:
            raise SimulatorError(f"no model has the name {missing_names[0]!r}")
        return GetModelStatesResponse(
            success=True,
            message=f"{len(names)} models",
            stamp=ros_messages.time_message(self._clock.nanoseconds(snapshot.time_s)),
            states=[
                ModelStateMessage(
                    model_name=name,
                    reference_frame="world",
                    pose=ros_messages.pose_message(snapshot.models[name].pose),
                    twist=ros_messages.twist_of_state(snapshot.models[name]),
                )
                for name in names
            ],
        )

    def set_model_states(self, request: SetModelStatesRequest) -> SetModelStatesResponse:
        states = {}
        for state in request.states:
            if state.reference_frame not in ("", "world", "map"):
                raise SimulatorError(
                    f"{state.model_name}: reference_frame is {state.reference_frame!r}; it must be "
                    "empty or world"
                )
            states[state.model_name] = ros_messages.requested_state(state.pose, state.twist)
        self._loop.set_states(states)
        return SetModelStatesResponse(True, f"{len(states)} models placed")

    def set_visuals(self, request: SetVisualsRequest) -> SetVisualsResponse:
        named_values = _columns(
            request,
            diffuse=_color,
            emissive=_color,
            transparency=float,
            visible=bool,
        )
        changes = [
            SetVisual(name, ambient=values.get("diffuse"), **values)
            for name, values in named_values
        ]
        self._loop.simulation.apply(changes)
        return SetVisualsResponse(True, f"{len(changes)} visuals changed")

    def set_lights(self, request: SetLightsRequest) -> SetLightsResponse:
        named_values = _columns(request, diffuse=_color, specular=_color, range=float)
        changes = [
            SetLight(name, range_m=values.pop("range", None), **values)
            for name, values in named_values
        ]
        self._loop.simulation.apply(changes)
        return SetLightsResponse(True, f"{len(changes)} lights changed")

    # Services of gazebo_ros.

    def set_link_state(self, request: srv.SetLinkStateRequest) -> srv.SetLinkStateResponse:
        """Set the state of a link without joints; the twist is in the axes of the frame."""
        requested_state, snapshot = request.link_state, self._loop.snapshot()
        frame = entities.reference(
            snapshot,
            requested_state.reference_frame,
            "SetLinkState: failed, reference frame not found",
        )
        state = entities.in_world(
            ros_messages.requested_state(requested_state.pose, requested_state.twist), frame
        )
        link = self._full_link_name(requested_state.link_name)
        self._apply(SetLink(link, state.pose, state.linear_mps, state.angular_radps))
        return srv.SetLinkStateResponse(True, "SetLinkState: success")

    def get_link_properties(
        self, request: srv.GetLinkPropertiesRequest
    ) -> srv.GetLinkPropertiesResponse:
        name = self._full_link_name(request.link_name)
        inertial = self._loop.simulation.describe().links[name].inertial
        if inertial is None:
            raise SimulatorError(f"the link {name!r} has no mass, since its model is static")
        xx, yy, zz, xy, xz, yz = inertial.tensor_kgm2
        return srv.GetLinkPropertiesResponse(
            com=ros_messages.pose_message(Pose(inertial.center_m)),
            mass=inertial.mass_kg,
            ixx=xx,
            iyy=yy,
            izz=zz,
            ixy=xy,
            ixz=xz,
            iyz=yz,
            success=True,
            status_message="GetLinkProperties: got properties",
        )

    def set_link_properties(
        self, request: srv.SetLinkPropertiesRequest
    ) -> srv.SetLinkPropertiesResponse:
        """Set the mass, and scale the inertia in proportion; other valid fields are ignored."""
        moments = ("ixx", "iyy", "izz")
        _require_finite(request.com.position, "x", "y", "z", prefix="com.position.")
        _require_finite(request.com.orientation, "x", "y", "z", "w", prefix="com.orientation.")
        _require_finite(request, *moments, "ixy", "ixz", "iyz")
        for moment in moments:
            if getattr(request, moment) < 0.0:
                raise SimulatorError(
                    f"{moment} is {getattr(request, moment)}; it must be at least 0"
                )
        self._apply(SetMass(self._full_link_name(request.link_name), request.mass))
        return srv.SetLinkPropertiesResponse(
            True, "SetLinkProperties: mass set, and the inertia in proportion"
        )

    def get_light_properties(
        self, request: srv.GetLightPropertiesRequest
    ) -> srv.GetLightPropertiesResponse:
        lights = self._loop.simulation.describe().lights
        if request.light_name not in lights:
            raise SimulatorError(f"no light has the name {request.light_name!r}")
        light = lights[request.light_name]
        return srv.GetLightPropertiesResponse(
            diffuse=ColorRGBA(*light.diffuse),
            attenuation_constant=light.constant,
            attenuation_linear=light.linear,
            attenuation_quadratic=light.quadratic,
            success=True,
            status_message="GetLightProperties: success",
        )

    def set_light_properties(
        self, request: srv.SetLightPropertiesRequest
    ) -> srv.SetLightPropertiesResponse:
        """Set all properties, as gazebo_ros does: a field that is not set counts as 0."""
        direction = request.direction
        self._apply(
            SetLight(
                request.light_name,
                pose=ros_messages.pose_of(request.pose),
                diffuse=_color(request.diffuse),
                specular=_color(request.specular),
                direction=(direction.x, direction.y, direction.z),
                constant=request.attenuation_constant,
                linear=request.attenuation_linear,
                quadratic=request.attenuation_quadratic,
                cast_shadows=bool(request.cast_shadows),
            )
        )
        return srv.SetLightPropertiesResponse(True, "SetLightProperties: success")

    def apply_body_wrench(self, request: srv.ApplyBodyWrenchRequest) -> srv.ApplyBodyWrenchResponse:
        """Apply a force and a torque (world axes) to the center of mass of a link for a time."""
        if request.reference_frame not in ("", "world", "map"):
            raise SimulatorError(
                f"reference_frame is {request.reference_frame!r}; it must be empty or world"
            )
        _require_finite(request.reference_point, "x", "y", "z", prefix="reference_point.")
        force, torque = request.wrench.force, request.wrench.torque
        self._apply(
            Push(
                self._full_link_name(request.body_name),
                (force.x, force.y, force.z),
                (torque.x, torque.y, torque.z),
                request.duration.to_sec(),
            )
        )
        return srv.ApplyBodyWrenchResponse(True, "ApplyBodyWrench: applied")

    def set_model_configuration(
        self, request: srv.SetModelConfigurationRequest
    ) -> srv.SetModelConfigurationResponse:
        """Set joint positions, and joint velocities to 0."""
        names, positions = request.joint_names, request.joint_positions
        if len(names) != len(positions):
            raise SimulatorError(
                f"{len(names)} joint_names need {len(names)} joint_positions, not {len(positions)}"
            )
        self._apply(
            *(
                SetJoint(f"{request.model_name}::{name.split('::')[-1]}", position, 0.0)
                for name, position in zip(names, positions)
            )
        )
        return srv.SetModelConfigurationResponse(True, "SetModelConfiguration: success")

    # Helpers.

    def _full_link_name(self, name: str) -> str:
        links = self._loop.simulation.describe().links
        if name in links:
            return name
        matches = [scoped for scoped in links if scoped.split("::")[-1] == name]
        if len(matches) == 1:
            return matches[0]
        raise SimulatorError(
            f"no link has the name {name!r}; use model::link"
            if not matches
            else f"{name!r} is the name of several links ({join_truncated(matches)}); "
            "use model::link"
        )

    def _apply(self, *changes: Change) -> None:
        self._loop.simulation.apply(changes)


def _columns(request: Any, **kinds: Callable[[Any], Any]) -> List[Tuple[str, Dict[str, Any]]]:
    """Return each name in ``request.names`` with its values by field. ``kinds`` maps the array
    fields of the request to functions that convert an element. Empty arrays are omitted. Raises
    ``SimulatorError`` if an array has another length than the names."""
    names: Sequence[str] = request.names
    rows: List[Tuple[str, Dict[str, Any]]] = [(name, {}) for name in names]
    for field, kind in kinds.items():
        values: Optional[Sequence[Any]] = getattr(request, field)
        if not values:
            continue
        if len(values) != len(names):
            raise SimulatorError(
                f"{len(names)} names need {len(names)} of {field}, or none, not {len(values)}"
            )
        for (_, row), value in zip(rows, values):
            row[field] = kind(value)
    return rows


def _require_finite(message: Any, *names: str, prefix: str = "") -> None:
    for name in names:
        value = getattr(message, name)
        if not math.isfinite(value):
            raise SimulatorError(f"{prefix}{name} is {value}; it must be finite")


def _color(message: ColorRGBA) -> Color:
    return (message.r, message.g, message.b, message.a)
