"""Conversion of engine models to Bullet's bodies.

A tree of joined links is one body. A static model has one body per shape. Bullet reports contacts
by link and not by shape, so each further shape of a link belongs to a massless link that is fixed
to it. Bullet's frame of a link is at its center of mass.
"""

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.base.errors import SdfError
from gz_testauto.base.observation import ModelState
from gz_testauto.base.pose import Pose
from gz_testauto.extras.pybullet.client import LIDAR_BIT
from gz_testauto.extras.pybullet.shapes import Part, ShapeFactory
from gz_testauto.sdf.dynamics import Inertial, JointAxis
from gz_testauto.sdf.engine_model.bodies import Body, BodyShape, EngineModel, ground_pose
from gz_testauto.sdf.meshes.surfaces import Heightmap
from gz_testauto.sdf.shapes import Plane
from gz_testauto.simulators.changes import Vector
from gz_testauto.simulators.engine_robot import LazyLinkStates
from gz_testauto.simulators.engine_simulation import AT_REST, velocity_at

MAX_LINKS = 127  # largest number of links of a body in addition to its base

BASE = -1  # Bullet's index of the base of a body

MAX_JOINT_SPEED = 1000.0  # rad/s or m/s; Bullet's default is 100

Key = Tuple[int, int]  # ids of a body and of a link


@dataclass(frozen=True)
class LinkPlace:
    """A link in Bullet: the link number ``index`` of the body number ``body``. ``center`` is the
    pose of Bullet's frame, along the principal axes, in SDF's link frame. The moments of inertia
    are about these axes."""

    body: int
    index: int
    center: Pose
    mass_kg: float
    moments_kgm2: Tuple[float, ...]


@dataclass(frozen=True)
class JointPlace:
    """An axis of a joint: the joint number ``index`` of Bullet's body number ``body``, with the
    SDF properties that Bullet does not apply itself."""

    body: int
    index: int
    axis: JointAxis


@dataclass
class BulletModel:
    """A model in Bullet. ``links``, ``joints`` and ``shapes`` map the scoped names in SDF to the
    links, joints and collision links in Bullet. ``fixed`` contains the shape, the pose of the link,
    and the pose of the part in the shape, for each static body."""

    model: EngineModel
    links: Dict[str, LinkPlace] = field(default_factory=dict)
    joints: Dict[str, List[JointPlace]] = field(default_factory=dict)
    shapes: Dict[str, List[Key]] = field(default_factory=dict)
    bodies: List[int] = field(default_factory=list)
    fixed: Dict[int, Tuple[BodyShape, Pose, Pose]] = field(default_factory=dict)


def build(client: Any, factory: ShapeFactory, model: EngineModel) -> BulletModel:
    """Add a model to the world of ``client``, and return its bodies, links and joints in Bullet.
    Raises ``SdfError``, and then adds nothing."""
    built = BulletModel(model)
    try:
        if model.static:
            _build_static(client, factory, built)
        else:
            for root in model.roots:
                _LinkTreeBuilder(client, factory, built, root).build()
    except SdfError:
        for body in built.bodies:
            client.removeBody(body)
        raise
    if not model.static and not model.self_collide:
        for number, first in enumerate(built.bodies):
            for second in built.bodies[number + 1 :]:
                _disable_collisions(client, first, second)
    return built


def static_pose(model: Pose, shape: BodyShape, link: Pose, part: Pose) -> Pose:
    """Return the pose of a body of a static model, in the world frame. ``link`` is the pose of the
    link in the model frame, and ``part`` that of the body in the frame of the shape."""
    placed = model * link * shape.pose
    if isinstance(shape.geometry, (Heightmap, Plane)):
        placed = ground_pose(shape.geometry, placed)
    return placed * part


def _build_static(client: Any, factory: ShapeFactory, built: BulletModel) -> None:
    model = built.model
    for link in model.roots:
        for shape in link.shapes:
            for part in factory.static(shape):
                pose = static_pose(model.pose, shape, link.pose, part.pose)
                body = int(
                    client.createMultiBody(
                        baseMass=0.0,
                        baseCollisionShapeIndex=part.shape,
                        basePosition=pose.position,
                        baseOrientation=pose.quaternion,
                    )
                )
                built.bodies.append(body)
                built.fixed[body] = (shape, link.pose, part.pose)
                built.shapes.setdefault(shape.name, []).append((body, BASE))
                _set_surface(client, (body, BASE), shape, part.skin)


def _disable_collisions(client: Any, first_body: int, second_body: int) -> None:
    for first in range(BASE, client.getNumJoints(first_body)):
        for second in range(BASE, client.getNumJoints(second_body)):
            client.setCollisionFilterPair(first_body, second_body, first, second, 0)


def _set_surface(client: Any, key: Key, shape: BodyShape, skin: bool) -> None:
    bits = shape.surface.collide_bitmask & 0xFFFF
    body, link = key
    client.setCollisionFilterGroupMask(body, link, bits | LIDAR_BIT, bits)
    client.changeDynamics(body, link, rollingFriction=0, spinningFriction=0, restitution=0)
    if skin:
        client.changeDynamics(body, link, collisionMargin=0.0)


@dataclass
class _LinkRow:
    """A link to create. ``parent`` is the index of the parent row, or ``BASE``."""

    parent: int
    pose: Pose
    mass_kg: float = 0.0
    center: Pose = Pose()
    part: Optional[Part] = None
    shape: Optional[BodyShape] = None
    axis: Optional[JointAxis] = None
    slides: bool = False


class _LinkTreeBuilder:
    def __init__(self, client: Any, factory: ShapeFactory, built: BulletModel, root: Body) -> None:
        self._client, self._factory, self._built, self._root = client, factory, built, root
        self._rows: List[_LinkRow] = []
        self._links: Dict[str, Tuple[int, Pose, Inertial]] = {}
        self._joints: Dict[str, List[int]] = {}

    def build(self) -> None:
        root = self._root
        moves_on_joint = root.joint is not None and root.joint.kind != "fixed"
        pose = self._built.model.pose * root.pose
        if moves_on_joint:
            base = _LinkRow(BASE, pose)
            self._add(root, BASE, Pose())
        else:
            inertial = root.inertial if root.joint is None else None
            base = _LinkRow(BASE, pose, *_mass_and_center(inertial))
            base.part, base.shape = self._add_shapes(root, BASE, Pose())
            self._links[root.name] = (BASE, base.center, inertial or _MASSLESS)
            for child in root.children:
                self._add(child, BASE, root.pose.inverse() * child.pose)
        self._create_body(base)

    def _add(self, body: Body, parent: int, pose: Pose) -> None:
        """Add a link and its children. ``pose`` is in Bullet's frame of the parent link."""
        joint, inertial = body.joint, body.inertial
        assert joint is not None and inertial is not None, "attached, and not static"
        if joint.kind == "ball":
            raise SdfError(
                f"model {self._built.model.name!r}: the joint {joint.name!r} is of the type "
                "'ball', which 'pybullet' does not support; use a universal joint, or "
                "the simulator 'embedded'"
            )
        anchor = Pose(joint.anchor_m)
        at = pose * anchor
        numbers = []
        for axis in joint.axes[:-1]:
            numbers.append(len(self._rows))
            self._rows.append(_LinkRow(parent, at, axis=axis, slides=joint.kind == "prismatic"))
            parent, at = numbers[-1], Pose()
        mass_kg, center = _mass_and_center(inertial)
        row = _LinkRow(parent, at, mass_kg, anchor.inverse() * center)
        row.axis = joint.axes[-1] if joint.axes else None
        row.slides = joint.kind == "prismatic"
        number = len(self._rows)
        self._rows.append(row)
        if joint.axes:
            self._joints[f"{self._built.model.name}::{joint.name}"] = [*numbers, number]
        self._links[body.name] = (number, center, inertial)
        row.part, row.shape = self._add_shapes(body, number, anchor.inverse())
        for child in body.children:
            self._add(child, number, anchor.inverse() * body.pose.inverse() * child.pose)

    def _add_shapes(
        self, body: Body, number: int, frame: Pose
    ) -> Tuple[Optional[Part], Optional[BodyShape]]:
        """Add a fixed link below the link ``number`` for each part of a shape except the first.

        Return the first part and its shape, or None and None for a body without shapes. ``frame``
        is the pose of ``body`` in Bullet's frame of the link.
        """
        parts = [
            (part, shape)
            for shape in body.shapes
            for part in self._factory.moving(shape, frame * shape.pose)
        ]
        for part, shape in parts[1:]:
            self._rows.append(_LinkRow(number, Pose(), part=part, shape=shape))
        return parts[0] if parts else (None, None)

    def _create_body(self, base: _LinkRow) -> None:
        client, rows, built = self._client, self._rows, self._built
        if len(rows) > MAX_LINKS:
            raise SdfError(
                f"model {built.model.name!r} has {len(rows)} connected links and shapes; "
                f"'pybullet' supports {MAX_LINKS}. Remove some, or use the simulator 'embedded'"
            )
        body = int(
            client.createMultiBody(
                baseMass=base.mass_kg,
                baseCollisionShapeIndex=_shape_index(base),
                basePosition=base.pose.position,
                baseOrientation=base.pose.quaternion,
                baseInertialFramePosition=base.center.position,
                baseInertialFrameOrientation=base.center.quaternion,
                linkMasses=[row.mass_kg for row in rows],
                linkCollisionShapeIndices=[_shape_index(row) for row in rows],
                linkVisualShapeIndices=[-1] * len(rows),
                linkPositions=[row.pose.position for row in rows],
                linkOrientations=[row.pose.quaternion for row in rows],
                linkInertialFramePositions=[row.center.position for row in rows],
                linkInertialFrameOrientations=[row.center.quaternion for row in rows],
                linkParentIndices=[row.parent + 1 for row in rows],
                linkJointTypes=[self._joint_type(row) for row in rows],
                linkJointAxis=[row.axis.direction if row.axis else (0, 0, 1) for row in rows],
                flags=client.URDF_USE_SELF_COLLISION if built.model.self_collide else 0,
            )
        )
        built.bodies.append(body)
        for index, row in enumerate([base, *rows], start=BASE):
            self._set_link_properties(body, index, row)
        self._store_places(body)
        if built.model.self_collide:
            self._disable_neighbor_collisions(body)

    def _joint_type(self, row: _LinkRow) -> int:
        client = self._client
        if row.axis is None:
            return int(client.JOINT_FIXED)
        return int(client.JOINT_PRISMATIC if row.slides else client.JOINT_REVOLUTE)

    def _set_link_properties(self, body: int, index: int, row: _LinkRow) -> None:
        # ``createMultiBody`` has no arguments for these, or other defaults
        client = self._client
        client.changeDynamics(
            body, index, linearDamping=0.0, angularDamping=0.0, maxJointVelocity=MAX_JOINT_SPEED
        )
        if row.shape is not None and row.part is not None:
            _set_surface(client, (body, index), row.shape, row.part.skin)
            self._built.shapes.setdefault(row.shape.name, []).append((body, index))
        if row.axis is not None:
            _set_joint_axis(client, body, index, row.axis)

    def _store_places(self, body: int) -> None:
        client, built = self._client, self._built
        for name, (index, center, inertial) in self._links.items():
            moments = _principal(inertial)[1]
            built.links[name] = LinkPlace(body, index, center, inertial.mass_kg, moments)
            if inertial.mass_kg:  # PyBullet has computed other moments from the shapes
                client.changeDynamics(body, index, localInertiaDiagonal=moments)
        for name, numbers in self._joints.items():
            axes = [(number, self._rows[number].axis) for number in numbers]
            built.joints[name] = [
                JointPlace(body, number, axis) for number, axis in axes if axis is not None
            ]

    def _disable_neighbor_collisions(self, body: int) -> None:
        # links that a joint connects, and the shapes of one link
        neighbors = {(row.parent, number) for number, row in enumerate(self._rows)}
        neighbors |= {
            (number, later)
            for number, row in enumerate(self._rows)
            for later, second in enumerate(self._rows)
            if number < later and row.parent == second.parent and row.axis is second.axis is None
        }
        for number, later in sorted(neighbors):
            self._client.setCollisionFilterPair(body, body, number, later, 0)


_MASSLESS = Inertial(0.0, (0.0, 0.0, 0.0), (0.0,) * 6)


def _shape_index(row: _LinkRow) -> int:
    return -1 if row.part is None else row.part.shape


def _mass_and_center(inertial: Optional[Inertial]) -> Tuple[float, Pose]:
    """Return the mass, and the pose of the principal axes in the link frame."""
    if inertial is None:
        return 0.0, Pose()
    return inertial.mass_kg, Pose(inertial.center_m, _principal(inertial)[0])


def _principal(
    inertial: Inertial,
) -> Tuple[Tuple[float, float, float, float], Tuple[float, ...]]:
    """Return the principal axes as a quaternion (xyzw), and the moments (kg m²)."""
    tensor = inertial.tensor_kgm2
    if not any(tensor[3:]):
        return (0.0, 0.0, 0.0, 1.0), tensor[:3]
    from scipy.spatial.transform import Rotation

    moments, axes = np.linalg.eigh(inertial.matrix)
    if np.linalg.det(axes) < 0:
        axes[:, 0] = -axes[:, 0]
    x, y, z, w = Rotation.from_matrix(axes).as_quat().tolist()
    return (x, y, z, w), tuple(moments.tolist())


def _set_joint_axis(client: Any, body: int, index: int, axis: JointAxis) -> None:
    client.changeDynamics(body, index, jointDamping=axis.damping)
    # in Bullet, a motor holds each joint; its limit at the target speed 0 is the friction
    client.setJointMotorControl2(
        body, index, client.VELOCITY_CONTROL, targetVelocity=0.0, force=axis.friction
    )
    if axis.limits is not None:
        low, high = axis.limits
        client.changeDynamics(body, index, jointLowerLimit=low, jointUpperLimit=high)
        if not low <= 0.0 <= high:
            client.resetJointState(body, index, min(max(0.0, low), high))


@dataclass(frozen=True)
class LinkMotion:
    """The pose of the center of mass of a link, along the principal axes, and the twist of that
    center, in the world frame."""

    center: Pose
    linear_mps: Vector
    angular_radps: Vector

    def of_link(self, place: LinkPlace) -> ModelState:
        """Return the state of SDF's frame of the link."""
        return self.state(self.center * place.center.inverse())

    def state(self, pose: Pose) -> ModelState:
        """Return the state of a frame at ``pose`` that moves with the link."""
        moving = velocity_at(
            self.linear_mps, self.angular_radps, pose.position, self.center.position
        )
        return ModelState(pose, moving, self.angular_radps)


def motion(client: Any, place: LinkPlace) -> LinkMotion:
    """Return the motion of the center of mass of a link, in the world frame."""
    if place.index == BASE:
        position, quaternion = client.getBasePositionAndOrientation(place.body)
        return LinkMotion(Pose(position, quaternion), *client.getBaseVelocity(place.body))
    state = client.getLinkState(place.body, place.index, 1, 1)
    return LinkMotion(Pose(state[0], state[1]), state[6], state[7])


def bullet_link_states(
    client: Any, models: Sequence[Tuple[EngineModel, BulletModel]]
) -> LazyLinkStates:
    motions: Dict[str, Tuple[LinkPlace, LinkMotion]] = {}
    fixed_poses: Dict[str, Pose] = {}
    for model, built in models:
        for name, pose in model.links.items():
            if name in built.links:
                motions[name] = (built.links[name], motion(client, built.links[name]))
            else:
                fixed_poses[name] = model.pose * pose

    def state(link: str) -> ModelState:
        if link in fixed_poses:
            return ModelState(fixed_poses[link], AT_REST, AT_REST)
        place, moves = motions[link]
        return moves.of_link(place)

    return LazyLinkStates(lambda: [name for model, _ in models for name in model.links], state)
