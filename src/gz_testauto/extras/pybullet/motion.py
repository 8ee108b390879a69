"""Poses and twists of models and links in Bullet, and functions to set them.

It converts between Bullet's frame of a link, at its center of mass, and SDF's link frame.
"""

from dataclasses import dataclass
from typing import Any, Dict, Iterator, Mapping, Optional, Sequence, Tuple

from gz_testauto.base.observation import ModelState
from gz_testauto.base.pose import Pose
from gz_testauto.extras.pybullet.multibody import BASE, BulletModel, LinkPlace, static_pose
from gz_testauto.sdf.engine_model.bodies import Body, EngineModel

Vector = Tuple[float, float, float]

AT_REST: Vector = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class LinkMotion:
    """LinkMotion of a link: the pose of its center of mass, along the principal axes, with the
    linear (m/s) and angular velocity (rad/s) of that, in the world frame."""

    center: Pose
    linear_mps: Vector
    angular_radps: Vector

    def of_link(self, place: LinkPlace) -> ModelState:
        """Return pose and twist of SDF's frame of the link."""
        return self.state(self.center * place.center.inverse())

    def state(self, pose: Pose) -> ModelState:
        """Return the state of a frame that moves with the link and is at ``pose`` now."""
        moving = velocity_at(
            self.linear_mps, self.angular_radps, pose.position, self.center.position
        )
        return ModelState(pose, moving, self.angular_radps)


def velocity_at(linear: Vector, angular: Vector, at: Vector, origin: Vector) -> Vector:
    """Return the velocity of a point of a body that rotates about ``origin``, which has the
    velocity ``linear``."""
    x, y, z = at[0] - origin[0], at[1] - origin[1], at[2] - origin[2]
    return (
        linear[0] + (angular[1] * z - angular[2] * y),
        linear[1] + (angular[2] * x - angular[0] * z),
        linear[2] + (angular[0] * y - angular[1] * x),
    )


def motion(client: Any, place: LinkPlace) -> LinkMotion:
    """Return the present motion of a link."""
    if place.index == BASE:
        position, quaternion = client.getBasePositionAndOrientation(place.body)
        return LinkMotion(Pose(position, quaternion), *client.getBaseVelocity(place.body))
    state = client.getLinkState(place.body, place.index, 1, 1)
    return LinkMotion(Pose(state[0], state[1]), state[6], state[7])


def model_state(client: Any, built: BulletModel) -> ModelState:
    """Return pose and twist, in the world frame, of a model that can move."""
    first = built.model.roots[0]
    place = built.links[first.name]
    moves = motion(client, place)
    return moves.state(moves.center * place.center.inverse() * first.pose.inverse())


def place_static(client: Any, built: BulletModel, pose: Pose) -> None:
    """Set the pose of a static model."""
    for body, (shape, link, part) in built.fixed.items():
        there = static_pose(pose, shape, link, part)
        client.resetBasePositionAndOrientation(body, there.position, there.quaternion)


def place_movable(client: Any, built: BulletModel, state: ModelState) -> None:
    """Set the pose of a model with all its links, and the twist of ``state`` or none."""
    present = model_state(client, built).pose
    for index, root in enumerate(built.model.roots):
        relative = root.pose
        if index:
            place = built.links[root.name]
            relative = present.inverse() * motion(client, place).of_link(place).pose
        _place_root(client, built, root, state.pose * relative)
    for places in built.joints.values():
        for joint in places:
            angle = client.getJointState(joint.body, joint.index)[0]
            client.resetJointState(joint.body, joint.index, angle, 0.0)
    linear = state.linear_mps or AT_REST
    set_twist(client, built, linear, state.angular_radps or AT_REST, state.pose)


def set_twist(
    client: Any,
    built: BulletModel,
    linear_mps: Optional[Vector],
    angular_radps: Optional[Vector],
    pose: Optional[Pose] = None,
) -> None:
    """Set the twist of a model, at ``pose`` if known; a component that is None does not change."""
    present = model_state(client, built)
    linear = present.linear_mps if linear_mps is None else linear_mps
    angular = present.angular_radps if angular_radps is None else angular_radps
    origin = (present.pose if pose is None else pose).position
    assert linear is not None and angular is not None, "the state has both"
    for root in built.model.roots:
        if root.joint is None:
            place = built.links[root.name]
            center = client.getBasePositionAndOrientation(place.body)[0]
            client.resetBaseVelocity(
                place.body, velocity_at(linear, angular, center, origin), angular
            )


def place_link(
    client: Any,
    place: LinkPlace,
    pose: Optional[Pose],
    linear_mps: Optional[Vector],
    angular_radps: Optional[Vector],
) -> None:
    """Set the pose of a link that is not attached to a joint; without a twist it is at rest."""
    present = motion(client, place).of_link(place)
    if pose is None:
        linear = present.linear_mps if linear_mps is None else linear_mps
        angular = present.angular_radps if angular_radps is None else angular_radps
    else:
        linear, angular = linear_mps or AT_REST, angular_radps or AT_REST
        center = pose * place.center
        client.resetBasePositionAndOrientation(place.body, center.position, center.quaternion)
    assert linear is not None and angular is not None, "the state has both"
    origin = (present.pose if pose is None else pose).position
    at = client.getBasePositionAndOrientation(place.body)[0]
    client.resetBaseVelocity(place.body, velocity_at(linear, angular, at, origin), angular)


def _place_root(client: Any, built: BulletModel, root: Body, pose: Pose) -> None:
    place = built.links[root.name]
    center = pose * place.center
    if place.index != BASE:  # it is a child of a separate, massless base, which follows it
        assert root.joint is not None
        hinge = motion(client, place).of_link(place).pose.inverse()
        base = Pose(*client.getBasePositionAndOrientation(place.body))
        center = pose * hinge * base
    client.resetBasePositionAndOrientation(place.body, center.position, center.quaternion)


class BulletLinkStates(Mapping[str, ModelState]):
    """States of links, computed when they are read, which a planner never does."""

    def __init__(self, client: Any, models: Sequence[BulletModel]) -> None:
        """Copy the present state."""
        self._motions: Dict[str, Tuple[LinkPlace, LinkMotion]] = {}
        self._still: Dict[str, Pose] = {}
        for built in models:
            model: EngineModel = built.model
            for name, pose in model.links.items():
                if name in built.links:
                    place = built.links[name]
                    self._motions[name] = (place, motion(client, place))
                else:
                    self._still[name] = model.pose * pose
        self._names = [name for built in models for name in built.model.links]

    def __getitem__(self, link: str) -> ModelState:
        if link in self._still:
            return ModelState(self._still[link], AT_REST, AT_REST)
        place, moves = self._motions[link]
        return moves.of_link(place)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
