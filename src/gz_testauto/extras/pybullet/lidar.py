"""A robot's lidar: its pose, and its readings from Bullet's rays."""

from typing import Any, Tuple

import numpy as np

from gz_testauto.base.observation import LaserScan
from gz_testauto.base.pose import Pose
from gz_testauto.extras.pybullet.client import LIDAR_BIT
from gz_testauto.extras.pybullet.motion import motion
from gz_testauto.extras.pybullet.multibody import LinkPlace
from gz_testauto.sdf.robot import LidarDescription
from gz_testauto.simulators.lidar_scan import measured_scan

RAYS_PER_CALL = 16_000
"""Rays per call; PyBullet accepts 16,384."""


class BulletLidar:
    """A lidar on a link. ``mount`` is its pose on the link; ``noise`` is mean and standard
    deviation (m) of the noise of every reading, drawn from ``generator``."""

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
        """Return a scan of the present state."""
        pose = motion(self._client, self._place).of_link(self._place).pose * self._mount
        ranges = self._cast(np.asarray(pose.position), self._flat @ pose.rotation.T)
        return measured_scan(self._description, stamp_s, ranges, self._noise, self._generator)

    def _cast(self, origin: np.ndarray, directions: np.ndarray) -> np.ndarray:
        """Return the distance (m) along each ray to the first shape, infinite beyond the range."""
        reach_m = self._description.range_max_m
        ends = (origin + directions * reach_m).tolist()
        start, found = origin.tolist(), []
        for first in range(0, len(ends), RAYS_PER_CALL):
            some = ends[first : first + RAYS_PER_CALL]
            found += self._client.rayTestBatch(
                [start] * len(some), some, numThreads=1, collisionFilterMask=LIDAR_BIT
            )
        met = np.array([hit[0] for hit in found]) >= 0
        shares = np.array([hit[2] for hit in found])
        return np.where(met, shares * reach_m, np.inf)
