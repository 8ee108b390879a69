"""Noise and range limits of a lidar, for simulators that cast its rays themselves."""

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
    """Return a scan of the distances ``ranges_m`` (samples,), which are modified in place and used
    by the scan. ``noise_m`` is mean and standard deviation of the noise drawn from ``generator``.
    After that, distances beyond the range are infinite and too small ones minus infinite (REP-117).
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
