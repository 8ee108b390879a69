"""Poses and twists of models and links in Bullet.

It converts between Bullet's frame of a link, at its center of mass, and SDF's link frame.
"""

from dataclasses import dataclass
from typing import Any, Dict, Sequence, Tuple

from gz_testauto.base.observation import ModelState
from gz_testauto.base.pose import Pose
from gz_testauto.extras.pybullet.multibody import BASE, BulletModel, LinkPlace
from gz_testauto.sdf.engine_model.bodies import EngineModel
from gz_testauto.simulators.engine_robot import LazyLinkStates
from gz_testauto.simulators.engine_simulation import AT_REST, Vector, velocity_at


@dataclass(frozen=True)
class LinkMotion:
    """The motion of a link: the pose of its center of mass, along the principal axes, with the
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


def motion(client: Any, place: LinkPlace) -> LinkMotion:
    """Return the present motion of a link."""
    if place.index == BASE:
        position, quaternion = client.getBasePositionAndOrientation(place.body)
        return LinkMotion(Pose(position, quaternion), *client.getBaseVelocity(place.body))
    state = client.getLinkState(place.body, place.index, 1, 1)
    return LinkMotion(Pose(state[0], state[1]), state[6], state[7])


def bullet_link_states(
    client: Any, models: Sequence[Tuple[EngineModel, BulletModel]]
) -> LazyLinkStates:
    """Return the present states of all links."""
    motions: Dict[str, Tuple[LinkPlace, LinkMotion]] = {}
    still: Dict[str, Pose] = {}
    for model, built in models:
        for name, pose in model.links.items():
            if name in built.links:
                motions[name] = (built.links[name], motion(client, built.links[name]))
            else:
                still[name] = model.pose * pose

    def state(link: str) -> ModelState:
        if link in still:
            return ModelState(still[link], AT_REST, AT_REST)
        place, moves = motions[link]
        return moves.of_link(place)

    return LazyLinkStates(lambda: [name for model, _ in models for name in model.links], state)
