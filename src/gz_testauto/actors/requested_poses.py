"""The poses of models that move exactly at the twists that hooks request.

Simulators integrate a twist with different rounding errors, which the forces between people
amplify. While a model moves as requested, its computed pose therefore replaces the simulator's
pose, and the next twist corrects the simulator's pose.
"""

import math
from dataclasses import dataclass, replace
from typing import Dict, Iterable, List, Sequence

from gz_testauto.base.observation import Snapshot
from gz_testauto.base.pose import Pose, quaternion_product
from gz_testauto.simulators.changes import Change, SetModel, Vector
from gz_testauto.simulators.interface import NamedModel

# Largest difference of position (along each axis) and orientation from the computed pose.
# Rounding errors of simulators are smaller.
TOLERANCE_M, TOLERANCE_RAD = 1e-5, 1e-4

# Tolerance until the first request for a spawned model. Gazebo rounds its start pose to six
# significant digits: between 100 m and 1 km from the origin, the error is up to 5e-4 m.
START_TOLERANCE_M = 1e-3

AT_REST: Vector = (0.0, 0.0, 0.0)


@dataclass
class _RequestedMotion:
    """The computed ``pose`` of a model. ``offset_m`` and ``offset_rad`` are its position and yaw
    relative to the simulator's pose."""

    pose: Pose
    linear_mps: Vector = AT_REST
    turn_radps: float = 0.0
    offset_m: Vector = AT_REST
    offset_rad: float = 0.0
    tolerance_m: float = TOLERANCE_M

    def advance(self, duration_s: float) -> None:
        """Integrate the pose over a step."""
        x, y, z = (a + duration_s * v for a, v in zip(self.pose.position, self.linear_mps))
        quaternion, half_rad = self.pose.quaternion, duration_s * self.turn_radps / 2
        if half_rad:
            quaternion = quaternion_product(
                (0.0, 0.0, math.sin(half_rad), math.cos(half_rad)), quaternion
            )
        self.pose = Pose((x, y, z), quaternion)

    def agrees(self, pose: Pose) -> bool:
        """Store the offset from the simulator's ``pose``, and return whether it is within the
        tolerance."""
        x, y, z = (a - b for a, b in zip(self.pose.position, pose.position))
        i, j, k, w = pose.quaternion
        i, j, k, w = quaternion_product(self.pose.quaternion, (-i, -j, -k, w))
        self.offset_m, self.offset_rad = (x, y, z), math.copysign(2.0, w) * k
        is_turned = 2.0 * math.hypot(i, math.hypot(j, k)) > TOLERANCE_RAD
        return max(abs(x), abs(y), abs(z)) <= self.tolerance_m and not is_turned


class RequestedPoses:
    def __init__(self) -> None:
        self._motions: Dict[str, _RequestedMotion] = {}

    def place(self, models: Iterable[NamedModel]) -> None:
        """Add models that are at rest at their poses."""
        for model in models:
            self._motions[model.name] = _RequestedMotion(model.pose, tolerance_m=START_TOLERANCE_M)

    def forget(self, names: Iterable[str]) -> None:
        """Use the simulator's poses of models until their next request."""
        for name in names:
            self._motions.pop(name, None)

    def request(
        self, changes: Sequence[Change], snapshot: Snapshot, duration_s: float
    ) -> List[Change]:
        """Compute the poses at the end of a step, and return the changes with corrected twists.
        ``snapshot`` contains the computed poses before the step."""
        corrected_changes = [
            self._correct_twist(change, snapshot, duration_s)
            if type(change) is SetModel
            else change
            for change in changes
        ]
        for motion in self._motions.values():
            motion.advance(duration_s)
        return corrected_changes

    def _correct_twist(self, change: SetModel, snapshot: Snapshot, duration_s: float) -> SetModel:
        """Store the requested motion, and return the change with a corrected twist."""
        linear, angular = change.linear_mps, change.angular_radps
        if change.pose is not None and linear is None and angular is None:
            self._motions[change.name] = _RequestedMotion(change.pose)
            return change
        if change.pose is not None or linear is None or angular is None or any(angular[:2]):
            self.forget((change.name,))
            return change
        motion = self._motions.get(change.name)
        if motion is None:
            state = snapshot.models.get(change.name)
            if state is None:  # the simulation rejects the change
                return change
            motion = self._motions[change.name] = _RequestedMotion(state.pose)
        motion.linear_mps, motion.turn_radps = linear, angular[2]
        motion.tolerance_m = TOLERANCE_M
        x, y, z = (v + offset / duration_s for v, offset in zip(linear, motion.offset_m))
        turn = angular[2] + motion.offset_rad / duration_s
        return replace(change, linear_mps=(x, y, z), angular_radps=(*angular[:2], turn))

    def with_computed_poses(self, snapshot: Snapshot) -> Snapshot:
        models = dict(snapshot.models)
        for name, motion in tuple(self._motions.items()):
            state = models.get(name)
            if state is None or not motion.agrees(state.pose):
                del self._motions[name]
            else:
                models[name] = replace(state, pose=motion.pose)
        return replace(snapshot, models=models)
