"""One scan from the scans of several planar lidars of a robot.

The rays of the merged scan start at the origin of the base frame, at the height of the first lidar,
and have the directions in which at least one lidar measures at large distances. A ray has the
distance to the nearest surface that a lidar has detected:

- Two adjacent returns of a lidar are a surface, unless the line through them and the ray to the
  first one make an angle below :data:`SHADOW_RAD`, as in the ScanShadowsFilter of laser_filters.
  The distance is that of the intersection with this line.
- Any other return is a point, and belongs to the nearest ray.

Any other ray is ``inf`` if a lidar has no return in its direction, and otherwise NaN: no lidar
measures there, or the edge of a surface hides it. Returns of a tilted lidar are projected to the
horizontal plane.
"""

import math
from typing import Sequence, Tuple

import numpy as np

from gz_testauto.base.arithmetic import matrix_product
from gz_testauto.base.compiled import compiled
from gz_testauto.base.elementary import arctan2
from gz_testauto.base.observation import LaserScan, SensorReading
from gz_testauto.base.sensors import Sensor
from gz_testauto.sdf.robot_sensors import LidarDescription

# Smallest angle between a ray and the line through its return and the next one for which both
# returns are on one surface.
SHADOW_RAD = math.radians(10.0)


def merged_scan(lidar: LidarDescription, readings: Sequence[SensorReading]) -> LaserScan:
    """Return the scan of a lidar with ``parts``, from one reading of each part.

    Its stamp is that of the first reading.
    """
    angles = lidar.angles_rad
    ranges = np.full(lidar.samples, np.nan)
    spacing = (lidar.angle_max_rad - lidar.angle_min_rad) / max(lidar.samples - 1, 1)
    cosines, sines = np.cos(angles), np.sin(angles)
    for reading in readings:
        _mark_free(
            _ray_bearings(reading.sensor) - lidar.angle_min_rad,
            ~_hit_mask(reading),
            spacing,
            ranges,
        )
    for reading in readings:
        points, hits, on_surface = _returns(reading)
        point_bearings = arctan2(points[:, 1], points[:, 0])
        bearings = point_bearings - lidar.angle_min_rad
        _add_returns(points, hits, on_surface, bearings, spacing, cosines, sines, ranges)
    ranges[ranges >= lidar.range_max_m] = np.inf
    return lidar.scan(readings[0].stamp_s, ranges)


def _returns(reading: SensorReading) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the points (n, 2) in the base frame at which the rays end, and two flags (n,).

    The flags are whether the ray has a return, and whether this return and that of the next ray are
    on one surface.
    """
    sensor, ranges, hits = reading.sensor, reading.ranges_m.ravel(), _hit_mask(reading)
    finite_ranges = np.where(hits, ranges, 0.0)
    sensor_points = sensor.directions * finite_ranges[:, None]
    points = sensor.mount.apply(sensor_points)[:, :2]
    step = np.diff(sensor_points, axis=0)
    length = np.linalg.norm(step, axis=1)
    along = np.abs(np.einsum("ij,ij->i", step, sensor.directions[:-1]))
    on_surface = np.zeros(len(ranges), dtype=np.bool_)
    on_surface[:-1] = hits[:-1] & hits[1:] & (along <= math.cos(SHADOW_RAD) * length)
    return np.ascontiguousarray(points), hits, on_surface


def _hit_mask(reading: SensorReading) -> np.ndarray:
    return np.isfinite(reading.ranges_m.ravel())


def _ray_bearings(sensor: Sensor) -> np.ndarray:
    """Return the bearing (rad) of each ray in the base frame, shape (n,)."""
    rays = matrix_product(sensor.directions, sensor.mount.rotation.T)
    return np.asarray(arctan2(rays[:, 1], rays[:, 0]))


@compiled
def _mark_free(bearings, is_free, spacing, ranges):  # type: ignore[no-untyped-def]
    """Set merged ``ranges`` to inf in the directions in which a lidar has no return.

    These are the merged rays nearest to one of the lidar's free rays, and those between two
    adjacent free rays. Bearings are relative to the first merged ray (rad).
    """
    count = len(ranges)
    turn = 2.0 * math.pi
    for i in range(len(is_free)):
        if not is_free[i]:
            continue
        start, change = bearings[i] - spacing / 2, spacing
        if i + 1 < len(is_free) and is_free[i + 1]:
            change = bearings[i + 1] - bearings[i]
            change -= turn * math.floor(change / turn + 0.5)
            start = min(start, start + change)
            change = abs(change) + spacing
        start = start % turn
        ray = math.ceil(start / spacing)
        while ray * spacing <= start + change:
            index = ray
            if index * spacing >= turn - spacing / 2:
                index = round((index * spacing - turn) / spacing)
            if index < count:
                ranges[index] = np.inf
            ray += 1


@compiled
def _add_returns(  # type: ignore[no-untyped-def]
    points, hits, on_surface, bearings, spacing, cosines, sines, ranges
):
    """Reduce the merged ``ranges`` (m) to the surfaces and points that one lidar has detected.

    The first arrays are those of :func:`_returns`. Bearings of the points are relative to the first
    merged ray (rad). The merged rays have a ``spacing``, and cosines and sines in the base frame.
    """
    count = len(ranges)
    turn = 2.0 * math.pi
    for i in range(len(hits)):
        if not hits[i]:
            continue
        follows_surface = i > 0 and on_surface[i - 1]
        if not on_surface[i] and not follows_surface:
            point_distance = math.sqrt(points[i, 0] ** 2 + points[i, 1] ** 2)
            ray = math.floor((bearings[i] % turn) / spacing + 0.5)
            if ray >= count and bearings[i] % turn > turn - spacing / 2:
                ray = 0
            if ray < count and not ranges[ray] <= point_distance:
                ranges[ray] = point_distance
        if not on_surface[i]:
            continue
        start, change = bearings[i], bearings[i + 1] - bearings[i]
        change -= turn * math.floor(change / turn + 0.5)
        if change < 0.0:
            start, change = start + change, -change
        start = start % turn
        step_x, step_y = points[i + 1, 0] - points[i, 0], points[i + 1, 1] - points[i, 1]
        area = points[i, 0] * step_y - points[i, 1] * step_x
        ray = math.ceil(start / spacing - 1e-9)
        while ray * spacing <= start + change + 1e-9 * spacing:
            index = ray
            if index * spacing >= turn - spacing / 2:
                index = round((index * spacing - turn) / spacing)
            if index < count:
                across = cosines[index] * step_y - sines[index] * step_x
                if across != 0.0 and area / across > 0.0 and not ranges[index] <= area / across:
                    ranges[index] = area / across
            ray += 1
