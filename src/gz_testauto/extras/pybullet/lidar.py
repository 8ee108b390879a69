"""The robot's lidar: where it is and what it reads, by Bullet's rays."""

from typing import Any, Tuple

import numpy as np

from gz_testauto.base.observation import LaserScan
from gz_testauto.base.pose import Pose
from gz_testauto.extras.pybullet.client import LIDAR_BIT
from gz_testauto.extras.pybullet.motion import motion
from gz_testauto.extras.pybullet.multibody import LinkPlace
from gz_testauto.sdf.robot import LidarDescription
from gz_testauto.simulators.lidar_scan import measured_scan

RAYS_AT_ONCE = 16_000
"""PyBullet takes 16,384 in one call."""


class Lidar:
    """A lidar on a link. ``mount`` is the pose on it; ``noise`` is mean and standard deviation (m)
    of what is added to every reading, drawn from ``generator``."""

    def __init__(
        self,
        client: Any,
        description: LidarDescription,
        place: LinkPlace,
        mount: Pose,
        noise: Tuple[float, float],
        generator: np.random.Generator,
    ) -> None:
        self._client, self._description, self._place = client, description, place
        self._mount, self._noise, self._generator = mount, noise, generator
        count = description.samples
        angles = np.linspace(description.angle_min_rad, description.angle_max_rad, count)
        self._flat = np.stack([np.cos(angles), np.sin(angles), np.zeros(count)], axis=1)

    def scan(self, stamp_s: float) -> LaserScan:
        """Measure now."""
        pose = motion(self._client, self._place).of_link(self._place).pose * self._mount
        ranges = self._cast(np.asarray(pose.position), self._flat @ pose.rotation.T)
        return measured_scan(self._description, stamp_s, ranges, self._noise, self._generator)

    def _cast(self, origin: np.ndarray, directions: np.ndarray) -> np.ndarray:
        """Meters to what each ray meets, infinite where that is nothing in the lidar's range."""
        reach_m = self._description.range_max_m
        ends = (origin + directions * reach_m).tolist()
        start, found = origin.tolist(), []
        for first in range(0, len(ends), RAYS_AT_ONCE):
            some = ends[first : first + RAYS_AT_ONCE]
            found += self._client.rayTestBatch(
                [start] * len(some), some, numThreads=1, collisionFilterMask=LIDAR_BIT
            )
        met = np.array([hit[0] for hit in found]) >= 0
        shares = np.array([hit[2] for hit in found])
        return np.where(met, shares * reach_m, np.inf)
