"""Speeds of the driven wheels of a simulated robot, as encoders on its joints measure them.

Computes the channel ``wheels`` of simulated runs: the mean rate of the left and of the right wheels
about their joints times the radius in the drive plug-in. It is computed from the poses of links,
which more simulators report than their twists.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.base.errors import SdfError
from gz_testauto.base.observation import ModelState
from gz_testauto.base.pose import Pose
from gz_testauto.extras.simulator_comparison.maneuvers import PERIOD_S
from gz_testauto.extras.simulator_comparison.recordings.recording import Series
from gz_testauto.sdf.dynamics import Joint, read_joints
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.sdf.scene import placed_model

MAX_TURN_RAD = 0.8 * math.pi
"""Largest commanded rotation of a wheel in a period; half a turn or more is ambiguous in
direction."""


@dataclass(frozen=True)
class WheelJoint:
    """A driven wheel: links by scoped name, and its joint's axis in its own frame."""

    link: str
    parent: str
    axis: Tuple[float, float, float]

    def pose(self, links: Mapping[str, ModelState]) -> Pose:
        """Return the wheel's pose in the frame of its parent."""
        return links[self.parent].pose.inverse() * links[self.link].pose


@dataclass(frozen=True)
class DrivenWheels:
    """Wheels of both sides, with one radius (m) and separation (m); empty for a robot with unknown
    wheels."""

    left: Tuple[WheelJoint, ...] = ()
    right: Tuple[WheelJoint, ...] = ()
    radius_m: float = 0.0
    separation_m: float = 0.0

    def poses(self, links: Mapping[str, ModelState]) -> Optional[Dict[str, Pose]]:
        """Return the pose of each wheel on the robot, by link; None if the simulator does not
        report one."""
        wheels = (*self.left, *self.right)
        if not wheels or not all(one.link in links and one.parent in links for one in wheels):
            return None
        return {one.link: one.pose(links) for one in wheels}

    def speeds(
        self, poses: Sequence[Optional[Mapping[str, Pose]]], commands: np.ndarray
    ) -> Optional[Series]:
        """Return speeds (n, 2) of the left and of the right wheels (m/s) between consecutive poses,
        with stamps in the middle, as means over a side's wheels. None without poses, or if
        ``commands`` (n, 2) turn a wheel too fast for them."""
        known = [one for one in poses if one is not None]
        fastest = np.abs(commands) @ np.array([1.0, self.separation_m / 2.0])
        too_fast = fastest.max(initial=0.0) * PERIOD_S > MAX_TURN_RAD * self.radius_m
        if len(known) < len(poses) or too_fast:
            return None
        turned = [
            np.mean([_turns_rad(wheel, known) for wheel in side], axis=0)
            for side in (self.left, self.right)
        ]
        middle_s = (np.arange(len(known) - 1) + 0.5) * PERIOD_S
        return Series(middle_s, np.column_stack(turned) * self.radius_m / PERIOD_S)


@lru_cache(maxsize=8)
def driven_wheels(robot: RobotModel) -> DrivenWheels:
    """Return the wheels of a robot's drive plug-in; none if its joints cannot be read or are not
    wheels."""
    drive = robot.drive
    if drive is None:
        return DrivenWheels()
    try:
        joints = read_joints(placed_model(robot.sdf, robot.name, Pose()).node)
    except SdfError:  # a joint that only Gazebo supports
        return DrivenWheels()
    by_name = {joint.name.rsplit("::", 1)[-1]: joint for joint in joints}
    sides: List[Tuple[WheelJoint, ...]] = []
    for names in (drive.left_joints, drive.right_joints):
        side = [by_name[name] for name in names if name in by_name]
        if not side or not all(joint.parent and joint.kind == "revolute" for joint in side):
            return DrivenWheels()
        sides.append(tuple(_wheel(robot.name, joint) for joint in side))
    left, right = sides
    return DrivenWheels(left, right, drive.wheel_diameter_m / 2.0, drive.wheel_separation_m)


def _wheel(robot: str, joint: Joint) -> WheelJoint:
    return WheelJoint(
        f"{robot}::{joint.child}", f"{robot}::{joint.parent}", joint.axes[0].direction
    )


def _turns_rad(wheel: WheelJoint, poses: Sequence[Mapping[str, Pose]]) -> np.ndarray:
    """Return the rotation about the axis from each pose to the next, (n - 1,), each less than half
    a turn."""
    found = []
    for first, second in zip(poses, poses[1:]):
        x, y, z, w = (first[wheel.link].inverse() * second[wheel.link]).quaternion
        found.append(2.0 * math.atan2(float(np.dot((x, y, z), wheel.axis)), w))
    return (np.array(found) + math.pi) % (2.0 * math.pi) - math.pi
