"""States of models and links relative to one another, as gazebo_ros's services tell them.

Owns gazebo_ros's rule for the names of reference frames and the arithmetic of relative poses
and twists: a twist relative to an entity is the difference of the velocities of the two
origins, turned into the entity's axes, without the part that its rotation adds.
"""

from typing import Mapping, Optional, Tuple, Union

import numpy as np

from gz_testauto.base.observation import ModelState, Snapshot
from gz_testauto.base.pose import Pose

INERTIAL_FRAMES = ("", "world", "map", "/map")
Vector = Tuple[float, float, float]
AT_REST: Vector = (0.0, 0.0, 0.0)


class UnknownFrame(LookupError):
    """A reference frame that is neither an entity nor a name of the inertial frame."""


def find_entity(snapshot: Snapshot, name: str) -> Optional[ModelState]:
    """The state of the model or (by scoped name) link of that name, None where there is none."""
    return snapshot.models.get(name) or find_link(snapshot.links, name)


def find_link(links: Mapping[str, ModelState], name: str) -> Optional[ModelState]:
    """The state of a link by scoped name, or by its last part where only one link has it, as
    Gazebo looks names up."""
    if name in links:
        return links[name]
    ends = [scoped for scoped in links if name and scoped.endswith("::" + name)]
    return links[ends[0]] if len(ends) == 1 else None


def reference(snapshot: Snapshot, frame: str) -> ModelState:
    """The state of the named frame in the world; an entity goes before a name of the inertial
    frame. Raises ``UnknownFrame``."""
    entity = find_entity(snapshot, frame)
    if entity is not None:
        return entity
    if frame in INERTIAL_FRAMES:
        return ModelState(Pose())
    raise UnknownFrame(frame)


def relative_to(state: ModelState, frame: ModelState) -> ModelState:
    """``state`` as seen from ``frame``; a twist that is not known counts as rest."""
    return ModelState(
        frame.pose.inverse() * state.pose,
        _turned_back(frame.pose, state.linear_mps, frame.linear_mps),
        _turned_back(frame.pose, state.angular_radps, frame.angular_radps),
    )


def in_world(state: ModelState, frame: ModelState) -> ModelState:
    """``state``, given in ``frame``, as it is in the world. The frame's own velocity is not
    added: gazebo_ros turns a commanded twist, and no more."""
    rotation = frame.pose.rotation
    return ModelState(
        frame.pose * state.pose,
        _turned(rotation, state.linear_mps or AT_REST),
        _turned(rotation, state.angular_radps or AT_REST),
    )


def _turned_back(frame: Pose, vector: Optional[Vector], frame_vector: Optional[Vector]) -> Vector:
    return _turned(frame.rotation.T, np.subtract(vector or AT_REST, frame_vector or AT_REST))


def _turned(rotation: np.ndarray, vector: Union[Vector, np.ndarray]) -> Vector:
    x, y, z = map(float, rotation @ np.asarray(vector))
    return x, y, z
