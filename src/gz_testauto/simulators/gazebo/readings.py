"""Conversion of gzserver's messages to observations."""

import math
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.base.observation import Contact, ImuSample, LaserScan, ModelState
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.robot_sensors import LidarDescription
from gz_testauto.simulators.changes import Vector
from gz_testauto.simulators.engine_robot import LazyLinkStates
from gz_testauto.simulators.gazebo.instruments import own_name
from gz_testauto.simulators.gazebo.messages import MESSAGES

_IDENTITY = Pose()


def nanoseconds(stamp: Any) -> int:
    return int(stamp.sec) * 10**9 + int(stamp.nsec)


def leading_stamp(payload: bytes) -> int:
    """Return the stamp (ns) of a message whose first field is its time."""
    # The other fields are not parsed, since such messages arrive with every physics step.
    return nanoseconds(MESSAGES["Time"].FromString(payload[2 : 2 + payload[1]]))


class ModelPoses:
    """The poses of all models and links of a world, measured by probes for movable models."""

    def __init__(self) -> None:
        self.models: Dict[str, Pose] = {}
        self._links: Dict[str, Mapping[str, Pose]] = {}
        self._carrier: Dict[str, str] = {}
        self._measured_poses: Dict[str, Pose] = {}

    def add(self, name: str, pose: Pose, links: Mapping[str, Pose]) -> None:
        """Add or replace a model. ``links`` starts with the canonical link."""
        self.models[name] = pose
        self._links[name] = links
        self._carrier.update((link, name) for link in list(links)[:1])
        for link in links:
            self._measured_poses.pop(link, None)

    def place(self, name: str, pose: Pose) -> None:
        self.add(name, pose, self._links[name])

    def set_link(self, link: str, pose: Pose) -> None:
        """Set the measured pose of a link. A model moves with its canonical link."""
        self._measured_poses[link] = pose
        name = self._carrier.get(link)
        if name is not None:
            in_model = self._links[name][link]
            self.models[name] = pose if in_model == _IDENTITY else pose * in_model.inverse()

    def remove(self, name: str) -> None:
        del self.models[name]
        for link in self._links.pop(name):
            self._measured_poses.pop(link, None)
            self._carrier.pop(link, None)

    def link_pose(self, link: str) -> Pose:
        name = link.split("::", 1)[0]
        return self._measured_poses.get(link) or self.models[name] * self._links[name][link]

    def link_states(self) -> LazyLinkStates:
        models, measured_poses = dict(self.models), dict(self._measured_poses)
        in_model = {
            link: (name, pose)
            for name, links in self._links.items()
            for link, pose in links.items()
        }

        def state(link: str) -> ModelState:
            name, pose = in_model[link]
            return ModelState(measured_poses.get(link) or models[name] * pose)

        return LazyLinkStates(lambda: in_model, state)


def scan_from(message: Any, stamp_ns: int, lidar: LidarDescription) -> LaserScan:
    """Return a scan with the simulated time ``stamp_ns``.

    Distances that are NaN, or at or beyond Gazebo's range, become infinite. Distances below the
    range become minus infinite (REP-117).
    """
    scan, ranges = message.scan, ranges_from(message)
    ranges.setflags(write=False)
    return LaserScan(
        stamp_s=stamp_ns / 1e9,
        angle_min_rad=scan.angle_min,
        angle_max_rad=scan.angle_max,
        range_min_m=scan.range_min,
        range_max_m=scan.range_max,
        ranges_m=ranges,
        mount=lidar.mount,
    )


def ranges_from(message: Any) -> np.ndarray:
    """Return the distances (m), row by row; see :func:`scan_from`."""
    scan = message.scan
    ranges = np.array(scan.ranges, dtype=float)
    ranges[~(ranges < scan.range_max)] = np.inf
    ranges[ranges < scan.range_min] = -np.inf
    return ranges


# decimal places of accelerations (m/s²), above the resolution of accelerometers
RESOLUTION_DIGITS = 6


class ImuReader:
    """A converter of an IMU's messages to samples in simulated time."""

    # Gazebo's linear acceleration is the change of velocity since the last measurement divided by
    # the time on Gazebo's clock, minus gravity. This clock also advances at every rest, so the part
    # that results from motion is computed again.

    def __init__(self, gravity_mps2: Sequence[float], mount: Pose) -> None:
        """``mount`` is the pose of the sensor in the model frame."""
        self._gravity = np.asarray(gravity_mps2, dtype=float)
        self._mount = mount
        self._message: Optional[Any] = None
        self._velocity_mps = np.zeros(3)
        self._measured_ns = 0
        self._since_ns = 0
        self._time_ns = 0
        self._start_ns: Optional[int] = None

    def begin(self, gazebo_ns: int) -> None:
        """Start at simulated time zero, when the server's clock shows ``gazebo_ns``."""
        self._start_ns = gazebo_ns

    def receive(self, message: Any) -> None:
        """Add the acceleration since the previous message to the velocity in the world frame."""
        stamp_ns, a = nanoseconds(message.stamp), message.linear_acceleration
        if self._start_ns is None or stamp_ns <= self._start_ns:
            self._measured_ns = self._since_ns = stamp_ns
            return
        passed_s = (stamp_ns - self._measured_ns) / 1e9
        self._velocity_mps += _orientation(message) @ np.array((a.x, a.y, a.z)) * passed_s
        self._measured_ns = stamp_ns
        self._message = message

    def sample(self, time_ns: int, model: Pose) -> Optional[ImuSample]:
        """Return one sample for all messages since the previous sample.

        ``model`` is the pose at the simulated time ``time_ns``. Return None if no message has
        arrived or no time has passed.
        """
        message, velocity_mps = self._message, self._velocity_mps
        gazebo_ns, passed_ns = self._measured_ns - self._since_ns, time_ns - self._time_ns
        self._message, self._velocity_mps = None, np.zeros(3)
        self._since_ns, self._time_ns = self._measured_ns, time_ns
        if message is None or passed_ns <= 0:
            return None
        gravity = (model * self._mount).rotation.T @ self._gravity
        velocity_mps = _orientation(message).T @ velocity_mps
        motion = (velocity_mps + gravity * (gazebo_ns / 1e9)) / (passed_ns / 1e9)
        q, w = message.orientation, message.angular_velocity
        return ImuSample(
            stamp_s=time_ns / 1e9,
            quaternion=(q.x, q.y, q.z, q.w),
            angular_radps=(w.x, w.y, w.z),
            # The number of measurements in a period depends on gzserver's threads, and the last
            # bits of their sum depend on this number.
            linear_mps2=tuple(np.round(motion - gravity, RESOLUTION_DIGITS).tolist()),
        )


def _orientation(message: Any) -> np.ndarray:
    """Return the rotation matrix of an IMU relative to its pose when it was created."""
    q = message.orientation
    return Pose((0.0, 0.0, 0.0), (q.x, q.y, q.z, q.w)).rotation


def contact_from(message: Any, stamp_ns: int) -> Contact:
    # Forces are omitted: Gazebo reports them in link frames, whose poses in that step are unknown.
    return Contact(
        stamp_s=stamp_ns / 1e9,
        first=own_name(message.collision1),
        second=own_name(message.collision2),
        positions_m=tuple((p.x, p.y, p.z) for p in message.position),
        normals=tuple((n.x, n.y, n.z) for n in message.normal),
        depths_m=tuple(message.depth),
    )


def mean_twist(first_pose: Pose, second_pose: Pose, passed_s: float) -> Tuple[Vector, Vector]:
    """Return the mean linear and angular velocity between two poses, in the world frame."""
    velocity = np.subtract(second_pose.position, first_pose.position) / passed_s
    x, y, z, w = (second_pose * first_pose.inverse()).quaternion
    sine = math.sqrt(x * x + y * y + z * z)
    angle = 2.0 * math.atan2(sine, abs(w))
    scale = 0.0 if sine == 0.0 else math.copysign(angle / sine, w) / passed_s
    return tuple(velocity.tolist()), (x * scale, y * scale, z * scale)
