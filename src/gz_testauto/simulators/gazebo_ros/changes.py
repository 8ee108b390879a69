"""Changes of a world on a gazebo_ros, as service calls.

Owns what each kind of change is there, every field filled, since what is left out would be
overwritten; and the way back: what was changed of the world, or of a model that stays for the next
scene, is set again as it was. Friction and looks gazebo_ros has no service for.
"""

from typing import Any, Callable, Dict, FrozenSet, List, Sequence

import rospy
from gazebo_msgs import srv
from gazebo_msgs.msg import LinkState
from geometry_msgs.msg import Point, Vector3, Wrench
from std_msgs.msg import ColorRGBA

from gz_testauto import ros_messages
from gz_testauto.errors import SimulatorError
from gz_testauto.pose import Pose
from gz_testauto.sdf.dynamics import Inertial
from gz_testauto.sdf.looks import Light
from gz_testauto.simulators.changes import (
    Change,
    Kind,
    Push,
    SetGravity,
    SetJoint,
    SetLight,
    SetLink,
    SetMass,
    SetModel,
)
from gz_testauto.simulators.description import Description
from gz_testauto.simulators.gazebo_ros.client import WORLD, GazeboRosClient
from gz_testauto.simulators.interface import PhysicsSettings

TAKEN: FrozenSet[Kind] = frozenset(
    (SetModel, SetLink, SetJoint, SetMass, SetGravity, Push, SetLight)
)


def check(change: Change, truth: Callable[[], Description]) -> None:
    """Raise ``SimulatorError`` for what gazebo_ros has no field for."""
    if isinstance(change, SetLight) and change.range_m is not None:
        raise SimulatorError(f"SetLight: {change.name!r}: gazebo_ros takes no range_m of a light")
    if isinstance(change, SetJoint) and change.velocity is not None:
        raise SimulatorError(f"SetJoint: {change.name!r}: gazebo_ros takes no velocity of a joint")
    if isinstance(change, SetLink) and any(
        joint.child == change.name for joint in truth().joints.values()
    ):
        raise SimulatorError(f"SetLink: {change.name!r} is held by a joint; set the model")


class PropertyCalls:
    """Makes changes of links, joints, lights and the world; ``step_s`` is the physics step."""

    def __init__(self, client: GazeboRosClient, step_s: float) -> None:
        self._client, self._step_s = client, step_s
        self._before: Dict[str, Callable[[], None]] = {}

    def apply(self, changes: Sequence[Change], before: Description, now: Description) -> None:
        """Make changes, in order. ``before`` is the world as it was, ``now`` as it is to be."""
        for change in changes:
            if isinstance(change, SetMass):
                self._keep(change.name, self._mass_setter(change.name, before))
                self._mass_setter(change.name, now)()
            elif isinstance(change, SetGravity):
                self._keep("gravity", self._gravity_setter(before.gravity_mps2))
                self._gravity_setter(now.gravity_mps2)()
            elif isinstance(change, SetLight):
                self._keep(f"light {change.name}", self._light_setter(change.name, before))
                self._light_setter(change.name, now)()
            elif isinstance(change, Push):
                self._push(change)
            elif isinstance(change, SetLink):
                self._place(change)
            elif isinstance(change, SetJoint):
                self._turn(change)

    def restore(self, standing: Sequence[str]) -> None:
        """Set what stays for the next scene as it was; ``standing`` are the models that stand."""
        setters, self._before = self._before, {}
        for name, setter in setters.items():
            if "::" not in name or name.split("::")[0] in standing:
                setter()

    def _keep(self, name: str, setter: Callable[[], None]) -> None:
        self._before.setdefault(name, setter)

    def _gravity_setter(self, mps2: Sequence[float]) -> Callable[[], None]:
        def set_gravity() -> None:
            present = self._client.physics()
            self._client.set_physics(
                PhysicsSettings(present.step_size_s, present.max_update_rate_hz, tuple(mps2))
            )

        return set_gravity

    def _mass_setter(self, link: str, truth: Description) -> Callable[[], None]:
        inertial = truth.links[link].inertial
        assert inertial is not None, "looked at before"

        def set_mass() -> None:
            (there,) = self._client.ask("get_link_properties", [srv.GetLinkPropertiesRequest(link)])
            self._client.ask(
                "set_link_properties", [_link_request(link, inertial, there.gravity_mode)]
            )

        return set_mass

    def _light_setter(self, name: str, truth: Description) -> Callable[[], None]:
        request = _light_request(name, truth.lights[name])
        return lambda: self._none(self._client.ask("set_light_properties", [request]))

    def _push(self, push: Push) -> None:
        """It acts in every physics step that ends within its time: half a step more of that, and
        rounding does not take one away."""
        wrench = Wrench(Vector3(*push.force_n), Vector3(*push.torque_nm))
        steps = max(1, round(push.duration_s / self._step_s))
        lasts = rospy.Duration.from_sec((steps + 0.5) * self._step_s)
        request = srv.ApplyBodyWrenchRequest(push.name, WORLD, Point(), wrench, rospy.Time(), lasts)
        self._client.ask("apply_body_wrench", [request])

    def _place(self, change: SetLink) -> None:
        present = self._client.link_states([change.name])[change.name]
        linear, angular = change.linear_mps, change.angular_radps
        if change.pose is None:
            linear = linear if linear is not None else present.linear_mps
            angular = angular if angular is not None else present.angular_radps
        at_rest = (0.0, 0.0, 0.0)
        pose = present.pose if change.pose is None else change.pose
        state = LinkState(
            change.name,
            ros_messages.pose_message(pose),
            ros_messages.twist_message(linear or at_rest, angular or at_rest),
            WORLD,
        )
        self._client.ask("set_link_state", [srv.SetLinkStateRequest(state)])

    def _turn(self, change: SetJoint) -> None:
        model, _, joint = change.name.partition("::")
        request = srv.SetModelConfigurationRequest(model, "", [joint], [change.position])
        self._client.ask("set_model_configuration", [request])

    @staticmethod
    def _none(_: List[Any]) -> None:
        return None


def _link_request(link: str, inertial: Inertial, gravity: bool) -> srv.SetLinkPropertiesRequest:
    xx, yy, zz, xy, xz, yz = inertial.tensor_kgm2
    return srv.SetLinkPropertiesRequest(
        link_name=link,
        com=ros_messages.pose_message(Pose(inertial.center_m)),
        gravity_mode=gravity,
        mass=inertial.mass_kg,
        ixx=xx,
        ixy=xy,
        ixz=xz,
        iyy=yy,
        iyz=yz,
        izz=zz,
    )


def _light_request(name: str, light: Light) -> srv.SetLightPropertiesRequest:
    return srv.SetLightPropertiesRequest(
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
