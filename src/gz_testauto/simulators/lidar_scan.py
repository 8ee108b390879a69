"""What a lidar reports of the distances that its rays go.

Owns its noise and its range, for adaptors that cast the rays themselves.
"""

from typing import Tuple

import numpy as np

from gz_testauto.base.observation import LaserScan
from gz_testauto.sdf.robot import LidarDescription


def measured_scan(
    lidar: LidarDescription,
    stamp_s: float,
    ranges_m: np.ndarray,
    noise_m: Tuple[float, float],
    generator: np.random.Generator,
) -> LaserScan:
    """The scan of rays that go ``ranges_m``, shape (samples,), which is altered and becomes the
    scan's. ``noise_m`` is mean and standard deviation of what is added to each, drawn from
    ``generator``; then what is too far is infinite and what is too near minus infinite (REP-117).
    """
    if any(noise_m):
        ranges_m += generator.normal(*noise_m, size=len(ranges_m))
    ranges_m[ranges_m >= lidar.range_max_m] = np.inf
    ranges_m[ranges_m < lidar.range_min_m] = -np.inf
    ranges_m.setflags(write=False)
    return LaserScan(
        stamp_s,
        lidar.angle_min_rad,
        lidar.angle_max_rad,
        lidar.range_min_m,
        lidar.range_max_m,
        ranges_m,
        lidar.mount,
    )
