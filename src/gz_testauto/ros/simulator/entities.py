"""Relative states of models and links, as the services of gazebo_ros define them.

A twist relative to an entity is the difference of the velocities of both origins, in the axes of
the entity. The entity's rotation contributes nothing.
"""

from typing import Mapping, Optional, Tuple, Union

import numpy as np

from gz_testauto.base.observation import ModelState, Snapshot
from gz_testauto.base.pose import Pose
from gz_testauto.ros.graph import RequestRejectedError

INERTIAL_FRAMES = ("", "world", "map", "/map")
Vector = Tuple[float, float, float]
AT_REST: Vector = (0.0, 0.0, 0.0)


def find_entity(snapshot: Snapshot, name: str) -> Optional[ModelState]:
    return snapshot.models.get(name) or find_link(snapshot.links, name)


def find_link(links: Mapping[str, ModelState], name: str) -> Optional[ModelState]:
    """Return the state of a link by its scoped name, or by the last part of it if that is unique;
    otherwise None."""
    if name in links:
        return links[name]
    ends = [scoped for scoped in links if name and scoped.endswith("::" + name)]
    return links[ends[0]] if len(ends) == 1 else None


def reference(snapshot: Snapshot, frame: str, failure: str) -> ModelState:
    """Return the state in the world frame of the model, link or inertial frame ``frame``.

    Raises ``RequestRejectedError`` with the message ``failure`` if it does not exist.
    """
    entity = find_entity(snapshot, frame)
    if entity is not None:
        return entity
    if frame in INERTIAL_FRAMES:
        return ModelState(Pose())
    raise RequestRejectedError(failure)


def relative_to(state: ModelState, frame: ModelState) -> ModelState:
    """Return ``state`` relative to ``frame``, both in the world frame. Unknown twists count as
    zero."""
    return ModelState(
        frame.pose.inverse() * state.pose,
        _relative_vector(frame.pose, state.linear_mps, frame.linear_mps),
        _relative_vector(frame.pose, state.angular_radps, frame.angular_radps),
    )


def in_world(state: ModelState, frame: ModelState) -> ModelState:
    """Return ``state``, which is relative to ``frame``, in the world frame.

    Its twist is rotated, without the velocity of ``frame``. Unknown twists count as zero.
    """
    # gazebo_ros does not add the velocity of the frame
    rotation = frame.pose.rotation
    return ModelState(
        frame.pose * state.pose,
        _rotate(rotation, state.linear_mps or AT_REST),
        _rotate(rotation, state.angular_radps or AT_REST),
    )


def _relative_vector(
    frame: Pose, vector: Optional[Vector], frame_vector: Optional[Vector]
) -> Vector:
    """Return the difference of two vectors, rotated from the world frame to ``frame``."""
    return _rotate(frame.rotation.T, np.subtract(vector or AT_REST, frame_vector or AT_REST))


def _rotate(rotation: np.ndarray, vector: Union[Vector, np.ndarray]) -> Vector:
    x, y, z = map(float, rotation @ np.asarray(vector))
    return x, y, z
