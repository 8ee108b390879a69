"""Changes of a world on a gzserver, as messages.

Owns what each kind of change is on Gazebo's transport. Masses and friction are told to the model
by the ids of its links and collisions, and taken up within 0.2 s of wall time. A force is a wrench
that a link takes for one physics step, in its own frame; a twist is the force that makes up what is
missing of it. Lights and looks reach whoever draws; nobody waits for them, since they change
nothing of what moves. Joints cannot be set: Gazebo takes that on another transport.
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


def check(change: Change, truth: Callable[[], Description]) -> None:
    """Raise ``SimulatorError`` for what Gazebo's transport has no message for."""
    kind = type(change).__name__
    if isinstance(change, SetModel) and (change.linear_mps or change.angular_radps):
        links = truth().links_of(change.name)
        if len(links) != 1:
            raise SimulatorError(
                f"{kind}: {change.name!r} has {len(links)} links, and Gazebo can be told the twist "
                "of a model of one only"
            )
        if truth().links[links[0]].static:
            raise SimulatorError(f"{kind}: {change.name!r} is static, so it has no twist")
    if isinstance(change, (SetMass, SetFriction)):
        depth = 2 if isinstance(change, SetMass) else 3
        if len(change.name.split("::")) != depth:
            raise SimulatorError(
                f"{kind}: {change.name!r} is in a nested model, of which Gazebo takes no changes"
            )


class PropertyMessages:
    """Sends what is told to the world or a model: masses, friction, gravity, lights, looks."""

    def __init__(self, link: WorldLink, on_server: Callable[[str], str]) -> None:
        """``on_server`` gives the name of a model there."""
        self._link, self._on_server = link, on_server
        self._lights: Optional[Publisher] = None
        self._visuals: Optional[Publisher] = None

    def send(self, changes: Sequence[Change], truth: Description) -> None:
        """Tell the server; returns when physics has what it must know."""
        models: Dict[str, Any] = {}
        for change in changes:
            if isinstance(change, SetMass):
                inertial = truth.links[change.name].inertial
                assert inertial is not None, "looked at before"
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
                self._add_friction(models, change.name, truth)
            elif isinstance(change, SetGravity):
                self._link.set_physics(gravity=_vector(change.mps2))
            elif isinstance(change, SetLight):
                self._send_light(change)
            elif isinstance(change, SetVisual):
                self._send_look(change, truth)
        if models:
            self._link.modify(list(models.values()))

    def _link_message(self, models: Dict[str, Any], scoped: str) -> Any:
        """The part of a message to a model that is about one of its links."""
        model, link = scoped.split("::")
        name = self._on_server(model)
        known = self._described(name, link)
        message = models.setdefault(name, MESSAGES["Model"](name=name))
        for part in message.link:
            if part.id == known.id:
                return part
        return message.link.add(id=known.id, name=link)

    def _add_friction(self, models: Dict[str, Any], scoped: str, truth: Description) -> None:
        link, _, collision = scoped.rpartition("::")
        model, of_model = link.split("::")
        known = self._described(self._on_server(model), of_model)
        number = next(c.id for c in known.collision if c.name.split("::")[-1] == collision)
        now = truth.collisions[scoped]
        message = self._link_message(models, link)
        part = next((c for c in message.collision if c.id == number), None)
        if part is None:
            part = message.collision.add(id=number, name=collision)
        part.surface.friction.mu, part.surface.friction.mu2 = now.mu, now.mu2

    def _described(self, model: str, link: str) -> Any:
        """What Gazebo has said of a link, with its number."""
        if model not in self._link.models:
            self._link.list_models()
        for known in self._link.models[model].link:
            if known.name.split("::")[-1] == link:
                return known
        raise SimulatorError(f"gzserver has told of no link {link!r} in {model!r}")

    def _send_light(self, change: SetLight) -> None:
        said = set_fields(change)
        message = MESSAGES["Light"](name=change.name)
        for field, value in said.items():
            if field == "pose":
                message.pose.CopyFrom(pose_message(value))
            elif field in ("diffuse", "specular"):
                getattr(message, field).CopyFrom(_color(value))
            elif field == "direction":
                message.direction.CopyFrom(_vector(value))
            else:
                setattr(message, _LIGHT_FIELDS[field], value)
        if self._lights is None:
            self._lights = lights = self._link.advertise("light/modify", "Light")
            self._link.wait_for(lambda: lights.connected, "connecting to the lights")
        with self._link.watched("changing a light"):
            self._lights.send(message)

    def _send_look(self, change: SetVisual, truth: Description) -> None:
        model, _, rest = change.name.partition("::")
        name = f"{self._on_server(model)}::{rest}"
        look = truth.visuals[change.name]
        material = MESSAGES["Material"](
            ambient=_color(look.ambient),
            diffuse=_color(look.diffuse),
            specular=_color(look.specular),
            emissive=_color(look.emissive),
        )
        if self._visuals is None:
            self._visuals = self._link.advertise("visual", "Visual")
        with self._link.watched("changing a look"):
            self._visuals.send(
                MESSAGES["Visual"](
                    name=name,
                    parent_name=name.rpartition("::")[0],
                    transparency=look.transparency,
                    visible=look.visible,
                    material=material,
                )
            )


@dataclass
class _Pushing:
    """A push with the time (s) that it has left, and what it owes from the last stretch (N s)."""

    push: Push
    left_s: float
    owed_s: float = 0.0


class Impulses:
    """Gives links impulses at the beginning of stretches of physics.

    A push acts while physics goes on without a stop, and a link takes a wrench for one step only:
    so in each stretch it gets as much of it at the beginning as carries it as far as the whole
    would, and the rest at the next beginning, which sets the velocity right.
    """

    def __init__(self, link: WorldLink, on_server: Callable[[str], str], step_s: float) -> None:
        self._link, self._on_server, self._step_s = link, on_server, step_s
        self._pushing: List[_Pushing] = []
        self._kicks: Dict[str, Tuple[np.ndarray, np.ndarray]] = {}

    def push(self, push: Push) -> None:
        """Push from the next stretch on."""
        self._link_topic(push.name)
        self._pushing.append(_Pushing(push, max(push.duration_s, self._step_s)))

    def kick(self, link: str, linear_ns: np.ndarray, angular_nms: np.ndarray) -> None:
        """Give a link an impulse through its center of mass (N s) and an angular one (N m s), in
        the world frame, with the next stretch; in place of any that it was to get there."""
        self._link_topic(link)
        self._kicks[link] = (linear_ns, angular_nms)

    def forget(self, model: str) -> None:
        """Push nothing of a model any more: it is about to go."""
        self._pushing = [p for p in self._pushing if p.push.name.split("::")[0] != model]
        for link in [name for name in self._kicks if name.split("::")[0] == model]:
            del self._kicks[link]
        self._link.release([self._on_server(model)])

    def deliver(
        self,
        stretch_s: float,
        pose_of: Callable[[str], Pose],
        truth: Callable[[], Description],
    ) -> None:
        """Send what is due at the beginning of a stretch of physics; ``pose_of`` says where a link
        is."""
        total = {
            name: (linear.copy(), angular.copy()) for name, (linear, angular) in self._kicks.items()
        }
        self._kicks.clear()
        for pushing in self._pushing:
            acting_s = min(pushing.left_s, stretch_s)
            early = 1.0 - acting_s / (2.0 * stretch_s)
            now_s = pushing.owed_s + early * acting_s
            pushing.owed_s, pushing.left_s = (1.0 - early) * acting_s, pushing.left_s - acting_s
            linear, angular = total.setdefault(pushing.push.name, (np.zeros(3), np.zeros(3)))
            linear += np.asarray(pushing.push.force_n) * now_s
            angular += np.asarray(pushing.push.torque_nm) * now_s
        self._pushing = [p for p in self._pushing if p.left_s > 0 or p.owed_s > 0]
        for name, (linear, angular) in total.items():
            if not (linear.any() or angular.any()):
                continue
            inertial = truth().links[name].inertial
            assert inertial is not None, "looked at before"
            into_link = pose_of(name).rotation.T / self._step_s
            wrench = MESSAGES["Wrench"](
                force=_vector(into_link @ linear),
                torque=_vector(into_link @ angular),
                force_offset=_vector(inertial.center_m),
            )
            with self._link.watched("pushing a link"):
                self._link_topic(name).send(wrench)

    def _link_topic(self, scoped: str) -> Any:
        model, _, link = scoped.partition("::")
        relative = "/".join((*link.split("::"), "wrench"))
        publisher = self._link.advertise_to(self._on_server(model), relative, "Wrench")
        if not publisher.connected:
            self._link.wait_for(lambda: publisher.connected, f"connecting to {scoped!r}")
        return publisher


def _vector(values: Union[Sequence[float], np.ndarray]) -> Any:
    x, y, z = (float(value) for value in values)
    return MESSAGES["Vector3d"](x=x, y=y, z=z)


def _color(values: Sequence[float]) -> Any:
    red, green, blue, alpha = values
    return MESSAGES["Color"](r=red, g=green, b=blue, a=alpha)
