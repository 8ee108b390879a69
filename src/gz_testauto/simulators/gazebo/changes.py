"""Property changes of a world on a gzserver, as messages of Gazebo's transport.

Masses and friction take effect within 0.2 s of wall time. A force is sent as a wrench that acts
on a link for one physics step, in the link frame. A twist is set by a force. The client does not
wait for the effect of lights and visuals. The state of a joint cannot be set.
"""

from dataclasses import dataclass
from typing import Any, Callable, Dict, FrozenSet, List, Optional, Sequence, Tuple, Union

import numpy as np

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.pose import Pose
from gz_testauto.simulators.changes import (
    Change,
    ChangeKind,
    Push,
    SetFriction,
    SetGravity,
    SetLight,
    SetMass,
    SetModel,
    SetVisual,
    set_fields,
)
from gz_testauto.simulators.description import Description
from gz_testauto.simulators.gazebo.messages import MESSAGES
from gz_testauto.simulators.gazebo.transport import Publisher
from gz_testauto.simulators.gazebo.world import WorldLink, pose_message

SUPPORTED_CHANGES: FrozenSet[ChangeKind] = frozenset(
    (SetModel, SetMass, SetFriction, SetGravity, Push, SetVisual, SetLight)
)

_LIGHT_FIELDS = {
    "range_m": "range",
    "constant": "attenuation_constant",
    "linear": "attenuation_linear",
    "quadratic": "attenuation_quadratic",
    "cast_shadows": "cast_shadows",
}


def check(change: Change, description: Callable[[], Description]) -> None:
    """Raise ``SimulatorError`` for a change for which Gazebo's transport has no message."""
    kind = type(change).__name__
    if isinstance(change, SetModel) and (change.linear_mps or change.angular_radps):
        links = description().links_of(change.name)
        if "::" in change.name:
            raise SimulatorError(
                f"{kind}: the twist of {change.name!r} cannot be set in Gazebo, since its name "
                "contains '::'; rename the model"
            )
        if len(links) != 1:
            raise SimulatorError(
                f"{kind}: {change.name!r} has {len(links)} links, and Gazebo can set the twist "
                "only of a model with one link"
            )
        if description().links[links[0]].static:
            raise SimulatorError(
                f"{kind}: {change.name!r} is static, so it has no twist; set the pose only"
            )
    if isinstance(change, (SetMass, SetFriction)):
        depth = 2 if isinstance(change, SetMass) else 3
        if len(change.name.split("::")) != depth:
            raise SimulatorError(
                f"{kind}: {change.name!r} is in a nested model, whose properties Gazebo "
                "cannot change"
            )


class PropertyMessages:
    def __init__(self, link: WorldLink, name_on_server: Callable[[str], str]) -> None:
        """``name_on_server`` returns the name of a model on the server."""
        self._link, self._name_on_server = link, name_on_server
        self._lights: Optional[Publisher] = None
        self._visuals: Optional[Publisher] = None

    def send(self, changes: Sequence[Change], description: Description) -> None:
        """Publish the changes, and wait until they are processed."""
        models: Dict[str, Any] = {}
        for change in changes:
            if isinstance(change, SetMass):
                inertial = description.links[change.name].inertial
                assert inertial is not None, "checked by require()"
                xx, yy, zz, xy, xz, yz = inertial.tensor_kgm2
                self._link_message(models, change.name).inertial.CopyFrom(
                    MESSAGES["Inertial"](
                        mass=inertial.mass_kg,
                        pose=pose_message(Pose(inertial.center_m)),
                        ixx=xx,
                        ixy=xy,
                        ixz=xz,
                        iyy=yy,
                        iyz=yz,
                        izz=zz,
                    )
                )
            elif isinstance(change, SetFriction):
                self._add_friction(models, change.name, description)
            elif isinstance(change, SetGravity):
                self._link.set_physics(gravity=_vector_message(change.mps2))
            elif isinstance(change, SetLight):
                self._send_light(change)
            elif isinstance(change, SetVisual):
                self._send_visual(change, description)
        if models:
            self._link.modify(list(models.values()))

    def _link_message(self, model_messages: Dict[str, Any], scoped_name: str) -> Any:
        """Return the message of a link, which is a part of the message of its model. Add missing
        messages to ``model_messages``, by the model's name on the server."""
        model, link = scoped_name.split("::")
        name = self._name_on_server(model)
        published_link = self._published_link(name, link)
        message = model_messages.setdefault(name, MESSAGES["Model"](name=name))
        for link_message in message.link:
            if link_message.id == published_link.id:
                return link_message
        return message.link.add(id=published_link.id, name=link)

    def _add_friction(
        self, model_messages: Dict[str, Any], scoped_name: str, description: Description
    ) -> None:
        link, _, collision = scoped_name.rpartition("::")
        model, link_name = link.split("::")
        published_link = self._published_link(self._name_on_server(model), link_name)
        number = next(c.id for c in published_link.collision if c.name.split("::")[-1] == collision)
        friction = description.collisions[scoped_name]
        link_message = self._link_message(model_messages, link)
        message = next((c for c in link_message.collision if c.id == number), None)
        if message is None:
            message = link_message.collision.add(id=number, name=collision)
        message.surface.friction.mu, message.surface.friction.mu2 = friction.mu, friction.mu2

    def _published_link(self, model: str, link: str) -> Any:
        """Return the ``Link`` message that Gazebo has published, with ids of its collisions."""
        if model not in self._link.models:
            self._link.list_models()
        for link_message in self._link.models[model].link:
            if link_message.name.split("::")[-1] == link:
                return link_message
        raise SimulatorError(f"gzserver has not published the link {link!r} of the model {model!r}")

    def _send_light(self, change: SetLight) -> None:
        values = set_fields(change)
        message = MESSAGES["Light"](name=change.name)
        for field, value in values.items():
            if field == "pose":
                message.pose.CopyFrom(pose_message(value))
            elif field in ("diffuse", "specular"):
                getattr(message, field).CopyFrom(_color_message(value))
            elif field == "direction":
                message.direction.CopyFrom(_vector_message(value))
            else:
                setattr(message, _LIGHT_FIELDS[field], value)
        if self._lights is None:
            self._lights = lights = self._link.advertise("light/modify", "Light")
            self._link.wait_for(lambda: lights.connected, "connecting to the lights")
        with self._link.watched("changing a light"):
            self._lights.send(message)

    def _send_visual(self, change: SetVisual, description: Description) -> None:
        model, _, in_model = change.name.partition("::")
        name = f"{self._name_on_server(model)}::{in_model}"
        visual = description.visuals[change.name]
        material = MESSAGES["Material"](
            ambient=_color_message(visual.ambient),
            diffuse=_color_message(visual.diffuse),
            specular=_color_message(visual.specular),
            emissive=_color_message(visual.emissive),
        )
        if self._visuals is None:
            self._visuals = self._link.advertise("visual", "Visual")
        with self._link.watched("changing a visual"):
            self._visuals.send(
                MESSAGES["Visual"](
                    name=name,
                    parent_name=name.rpartition("::")[0],
                    transparency=visual.transparency,
                    visible=visual.visible,
                    material=material,
                )
            )


@dataclass
class _GazeboPush:
    """An active push with its remaining time.

    ``deferred_s`` is the part of the previous interval whose impulse was deferred.
    """

    push: Push
    left_s: float
    deferred_s: float = 0.0


class Impulses:
    """The pushes and impulses on links that start with the next physics interval."""

    # A push acts for many physics steps, but Gazebo applies a wrench for one step only. So the
    # impulse of each interval is divided: the first part, at the start of the interval, causes the
    # displacement of the whole push, and the other, at the start of the next interval, corrects the
    # velocity.

    def __init__(
        self, link: WorldLink, name_on_server: Callable[[str], str], step_s: float
    ) -> None:
        self._link, self._name_on_server, self._step_s = link, name_on_server, step_s
        self._pushing: List[_GazeboPush] = []
        self._impulses: Dict[str, Tuple[np.ndarray, np.ndarray]] = {}

    def push(self, push: Push) -> None:
        self._wrench_publisher(push.name)
        self._pushing.append(_GazeboPush(push, max(push.duration_s, self._step_s)))

    def set_impulse(self, link: str, linear_ns: np.ndarray, angular_nms: np.ndarray) -> None:
        """Set the impulse through a link's center of mass and the angular impulse (world frame).

        They replace earlier impulses of the link for the next interval of physics.
        """
        self._wrench_publisher(link)
        self._impulses[link] = (linear_ns, angular_nms)

    def drop(self, model: str) -> None:
        """Discard the pushes of a model that is deleted."""
        self._pushing = [p for p in self._pushing if p.push.name.split("::")[0] != model]
        for link in [name for name in self._impulses if name.split("::")[0] == model]:
            del self._impulses[link]
        self._link.release([self._name_on_server(model)])

    def deliver(
        self,
        interval_s: float,
        pose_of: Callable[[str], Pose],
        description: Callable[[], Description],
    ) -> None:
        """Publish the wrenches for the start of an interval."""
        impulses, self._impulses = self._impulses, {}
        for pushing in self._pushing:
            acting_s = min(pushing.left_s, interval_s)
            early_share = 1.0 - acting_s / (2.0 * interval_s)
            now_s = pushing.deferred_s + early_share * acting_s
            pushing.deferred_s, pushing.left_s = (
                (1.0 - early_share) * acting_s,
                pushing.left_s - acting_s,
            )
            linear, angular = impulses.setdefault(pushing.push.name, (np.zeros(3), np.zeros(3)))
            linear += np.asarray(pushing.push.force_n) * now_s
            angular += np.asarray(pushing.push.torque_nm) * now_s
        self._pushing = [p for p in self._pushing if p.left_s > 0 or p.deferred_s > 0]
        for name, (linear, angular) in impulses.items():
            if not (linear.any() or angular.any()):
                continue
            inertial = description().links[name].inertial
            assert inertial is not None, "checked by require()"
            into_link = pose_of(name).rotation.T / self._step_s
            wrench = MESSAGES["Wrench"](
                force=_vector_message(into_link @ linear),
                torque=_vector_message(into_link @ angular),
                force_offset=_vector_message(inertial.center_m),
            )
            with self._link.watched("pushing a link"):
                self._wrench_publisher(name).send(wrench)

    def _wrench_publisher(self, scoped_name: str) -> Any:
        model, _, link = scoped_name.partition("::")
        relative = "/".join((*link.split("::"), "wrench"))
        publisher = self._link.advertise_to(self._name_on_server(model), relative, "Wrench")
        if not publisher.connected:
            self._link.wait_for(lambda: publisher.connected, f"connecting to {scoped_name!r}")
        return publisher


def _vector_message(values: Union[Sequence[float], np.ndarray]) -> Any:
    x, y, z = (float(value) for value in values)
    return MESSAGES["Vector3d"](x=x, y=y, z=z)


def _color_message(values: Sequence[float]) -> Any:
    red, green, blue, alpha = values
    return MESSAGES["Color"](r=red, g=green, b=blue, a=alpha)
