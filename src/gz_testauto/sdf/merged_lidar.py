"""The description of the scan that is merged from several planar lidars of a robot.

:mod:`gz_testauto.simulators.merged_scan` merges the scans.
"""

import math
from typing import Sequence, Tuple

import numpy as np

from gz_testauto.base.arithmetic import matrix_product
from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.base.sensors import Sensor
from gz_testauto.sdf.plugin_sensors import select_sensors
from gz_testauto.sdf.robot_sensors import LidarDescription

MERGED = "merged_lidar"
"""Name of the merged lidar, and of its frame."""


def select_merged(source: str, sensors: Sequence[Sensor], names: Sequence[str]) -> LidarDescription:
    """Return the merged lidar of the planar lidars with the specified names. Raises ``SdfError`` if
    a name is not that of a planar lidar, or if only one lidar is named."""
    parts = select_sensors(source, sensors, names, "the key robot.lidar")
    for part in parts:
        if part.rows.samples != 1 or part.kind == "contact" or part.is_camera:
            raise SdfError(
                f"{source}: the key robot.lidar names {part}, which is not a planar lidar; remove "
                "it from the list"
            )
    if len(parts) < 2:
        raise SdfError(
            f"{source}: the key robot.lidar is a list with one lidar; write its name without a list"
        )
    return merged_lidar(parts)


def _bearings_of(part: Sensor) -> Tuple[float, float]:
    """Return the lowest and the highest direction (rad) of the rays of a lidar in the base frame.
    The second value can be above pi."""
    ahead = matrix_product(part.directions, part.mount.rotation.T)
    bearings = np.unwrap(np.arctan2(ahead[:, 1], ahead[:, 0]))
    low = float(bearings.min())
    return low, low + min(float(np.ptp(bearings)), 2 * math.pi)


def merged_lidar(parts: Sequence[Sensor]) -> LidarDescription:
    """Return the description of the merged scan of planar lidars. Its rate is that of the first
    lidar."""
    spacing = min(
        (one.columns.last - one.columns.first) / max(one.columns.samples - 1, 1) or 2 * math.pi
        for one in parts
    )
    low, high = _union([_bearings_of(one) for one in parts])
    count = max(2, round((high - low) / spacing) + 1)
    if high - low >= 2 * math.pi - spacing / 2:  # the last ray is next to the first one
        count = round(2 * math.pi / spacing)
        low, high = -math.pi, math.pi - 2 * math.pi / count
    first = parts[0]
    return LidarDescription(
        link="",
        sensor=MERGED,
        mount=Pose((0.0, 0.0, first.mount.position[2])),
        samples=count,
        angle_min_rad=low,
        angle_max_rad=high,
        range_min_m=0.0,
        range_max_m=max(one.range_max_m + math.hypot(*one.mount.position[:2]) for one in parts),
        update_rate_hz=first.update_rate_hz,
        parts=tuple(parts),
    )


def _union(spans: Sequence[Tuple[float, float]]) -> Tuple[float, float]:
    """Return the smallest interval in [-pi, pi] that contains all spans of angles. If a span
    crosses the direction backward, it is the full circle."""
    turn = 2 * math.pi
    ends = [((low + math.pi) % turn - math.pi, high - low) for low, high in spans]
    low, high = min(low for low, _ in ends), max(low + width for low, width in ends)
    return (low, high) if high <= math.pi else (-math.pi, math.pi)
