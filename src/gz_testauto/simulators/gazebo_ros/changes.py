"""Property changes of a world in gazebo_ros, as service calls.

Every field of a request is set, since the services overwrite all properties. gazebo_ros has no
service for friction and visuals. Its service for masses (``set_link_properties``) reports success
but does not change the physics.
"""

from dataclasses import replace
from functools import partial
from typing import Callable, Dict, FrozenSet, Mapping, Sequence

import rospy
from gazebo_msgs import srv
from gazebo_msgs.msg import LinkState
from geometry_msgs.msg import Point, Vector3, Wrench
from std_msgs.msg import ColorRGBA

from gz_testauto.base import ros_messages
from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.observation import ModelState
from gz_testauto.sdf.appearance import Light
from gz_testauto.simulators.changes import (
    Change,
    ChangeKind,
    Push,
    SetGravity,
    SetJoint,
    SetLight,
    SetLink,
    SetModel,
    set_fields,
)
from gz_testauto.simulators.description import DescribedWorld, Description
from gz_testauto.simulators.gazebo_ros.client import WORLD, GazeboRosClient

# largest errors (m, rad) at which a pose that was set while time is paused counts as reached
EXACT = 1e-4

SUPPORTED_CHANGES: FrozenSet[ChangeKind] = frozenset(
    (SetModel, SetLink, SetJoint, SetGravity, Push, SetLight)
)


def check(change: Change, describe: Callable[[], Description]) -> None:
    """Raise ``SimulatorError`` for a change that no service of gazebo_ros supports.

    ``describe`` returns the description of the current world.
    """
    if isinstance(change, SetLight) and change.range_m is not None:
        raise SimulatorError(f"SetLight: {change.name!r}: gazebo_ros cannot set range_m; omit it")
    if isinstance(change, SetJoint) and change.velocity is not None:
        raise SimulatorError(
            f"SetJoint: {change.name!r}: gazebo_ros cannot set a velocity; omit it"
        )
    if isinstance(change, SetLink) and any(
        joint.child == change.name for joint in describe().joints.values()
    ):
        raise SimulatorError(f"SetLink: {change.name!r} is attached to a joint; use SetModel")


def target_state(change: SetModel, current_states: Mapping[str, ModelState]) -> ModelState:
    """Return the state (world frame) that ``change`` requests. Without a pose, it is the current
    state with the requested velocities."""
    if change.pose is not None:
        return ModelState(change.pose, change.linear_mps, change.angular_radps)
    return change.with_twist(current_states[change.name])


class ChangeCalls:
    """A client that applies property changes by service calls.

    ``described_world`` returns the description of the world, with the requested changes.
    ``step_s`` is the physics step. If ``paused`` is False, poses are not verified, since the models
    move.
    """

    def __init__(
        self,
        client: GazeboRosClient,
        described_world: Callable[[], DescribedWorld],
        step_s: float,
        paused: bool = True,
    ) -> None:
        self._client, self._described_world = client, described_world
        self._step_s, self._paused = step_s, paused
        self._setters: Dict[str, Callable[[], None]] = {}

    def apply(self, changes: Sequence[Change]) -> None:
        """Apply changes of properties in order, then the states of all models in one call."""
        properties = [change for change in changes if change.part != "model"]
        if properties:
            described_world = self._described_world()
            self._set_properties(properties, described_world.before, described_world.now)
        model_changes = {
            change.name: change
            for change in changes
            if isinstance(change, SetModel) and change.part == "model"
        }
        if model_changes:
            self._set_model_states(model_changes)

    def restore(self) -> None:
        """Restore gravity and lights for the next scene."""
        setters, self._setters = self._setters, {}
        for setter in setters.values():
            setter()

    def _set_model_states(self, changes: Mapping[str, SetModel]) -> None:
        current_states = self._client.states(
            [name for name, c in changes.items() if c.pose is None]
        )
        states = {
            name: target_state(change, current_states)
            for name, change in changes.items()
            if set_fields(change) and (change.pose is not None or name in current_states)
        }
        if self._paused:
            self._client.set_states(states, within_m=EXACT, within_rad=EXACT)
        else:
            self._client.send_states(states)

    def _set_properties(
        self, changes: Sequence[Change], loaded_world: Description, new_world: Description
    ) -> None:
        """Apply changes of properties. ``new_world`` describes the world with the changes, and
        ``loaded_world`` the world to which :meth:`restore` returns."""
        for change in changes:
            if isinstance(change, SetGravity):
                self._set_gravity(new_world.gravity_mps2)
                self._setters.setdefault("", partial(self._set_gravity, loaded_world.gravity_mps2))
            elif isinstance(change, SetLight):
                name = change.name
                self._set_light(name, new_world.lights[name])
                self._setters.setdefault(
                    name, partial(self._set_light, name, loaded_world.lights[name])
                )
            elif isinstance(change, Push):
                self._push(change)
            elif isinstance(change, SetLink):
                self._set_link_state(change)
            elif isinstance(change, SetJoint):
                self._set_joint_position(change)

    def _set_gravity(self, mps2: Sequence[float]) -> None:
        self._client.set_physics(replace(self._client.physics(), gravity_mps2=tuple(mps2)))

    def _set_light(self, name: str, light: Light) -> None:
        request = srv.SetLightPropertiesRequest(
            light_name=name,
            cast_shadows=light.cast_shadows,
            diffuse=ColorRGBA(*light.diffuse),
            specular=ColorRGBA(*light.specular),
            attenuation_constant=light.constant,
            attenuation_linear=light.linear,
            attenuation_quadratic=light.quadratic,
            direction=Vector3(*light.direction),
            pose=ros_messages.pose_message(light.pose),
        )
        self._client.request("set_light_properties", [request])

    def _push(self, push: Push) -> None:
        """Apply a wrench in every physics step that ends within the duration of a push."""
        wrench = Wrench(Vector3(*push.force_n), Vector3(*push.torque_nm))
        steps = max(1, round(push.duration_s / self._step_s))
        # half a step longer, so that rounding does not omit the last step
        duration = rospy.Duration.from_sec((steps + 0.5) * self._step_s)
        request = srv.ApplyBodyWrenchRequest(
            push.name, WORLD, Point(), wrench, rospy.Time(), duration
        )
        self._client.request("apply_body_wrench", [request])

    def _set_link_state(self, change: SetLink) -> None:
        link_state = target_state(change, self._client.link_states([change.name]))
        pose, twist = (
            ros_messages.pose_message(link_state.pose),
            ros_messages.twist_of_state(link_state),
        )
        state = LinkState(change.name, pose, twist, WORLD)
        self._client.request("set_link_state", [srv.SetLinkStateRequest(state)])

    def _set_joint_position(self, change: SetJoint) -> None:
        model, _, joint = change.name.partition("::")
        request = srv.SetModelConfigurationRequest(model, "", [joint], [change.position])
        self._client.request("set_model_configuration", [request])
