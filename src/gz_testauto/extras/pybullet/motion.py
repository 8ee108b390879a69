"""Poses and twists of models and links in Bullet.

It converts between Bullet's frame of a link, at its center of mass, and SDF's link frame.
"""

from dataclasses import dataclass
from typing import Any, Dict, Iterator, Mapping, Sequence, Tuple

from gz_testauto.base.observation import ModelState
from gz_testauto.base.pose import Pose
from gz_testauto.extras.pybullet.multibody import BASE, BulletModel, LinkPlace
from gz_testauto.sdf.engine_model.bodies import EngineModel
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


class BulletLinkStates(Mapping[str, ModelState]):
    """States of links, computed when they are read, which a planner never does."""

    def __init__(self, client: Any, models: Sequence[Tuple[EngineModel, BulletModel]]) -> None:
        """Store the present states."""
        self._motions: Dict[str, Tuple[LinkPlace, LinkMotion]] = {}
        self._still: Dict[str, Pose] = {}
        for model, built in models:
            for name, pose in model.links.items():
                if name in built.links:
                    place = built.links[name]
                    self._motions[name] = (place, motion(client, place))
                else:
                    self._still[name] = model.pose * pose
        self._names = [name for model, _ in models for name in model.links]

    def __getitem__(self, link: str) -> ModelState:
        if link in self._still:
            return ModelState(self._still[link], AT_REST, AT_REST)
        place, moves = self._motions[link]
        return moves.of_link(place)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
