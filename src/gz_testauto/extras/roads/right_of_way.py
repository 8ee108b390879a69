"""Right of way: a vehicle waits until the lanes to which it gives way have a sufficient gap.

The critical gap is the smallest time until the next vehicle on the other lane that a driver accepts
(Transportation Research Board, *Highway Capacity Manual*, 2000, chapter 17).
"""

import math
from typing import Iterable, Optional, Sequence, Tuple

import numpy as np
import shapely

from gz_testauto.base.pose import Pose2D
from gz_testauto.extras.roads.car_following import Occupancy, occupancy
from gz_testauto.extras.roads.center_line import CenterLine
from gz_testauto.planners.interface import Lane

STOP_M = 0.5  # distance before the other lane at which the front of a vehicle stops

SLOWEST_MPS = 1.0  # least speed in the estimated time until the vehicle enters the other lane

AT_REST_MPS = 0.1  # speed below which a vehicle can always stop

OtherModel = Tuple[np.ndarray, Pose2D, Tuple[float, float]]
"""Outline (m, in the frame of the model), pose and velocity (m/s) of another model."""


class Conflict:
    """The area in which the path of a vehicle crosses or joins another lane.

    The area starts at the arc length ``entry_m`` of the path, and extends from ``start_m`` to
    ``end_m`` along the center of the lane.
    """

    def __init__(self, lane: Lane, entry_m: float, start_m: float, end_m: float) -> None:
        self.entry_m = entry_m
        self._line, self._start_m, self._end_m = CenterLine(lane.center_m), start_m, end_m
        self._half_width_m = float(lane.width_m.max()) / 2

    @classmethod
    def between(
        cls, path: CenterLine, width_m: float, lane: Lane, needed_m: float
    ) -> Optional["Conflict"]:
        """Return the first area in which a vehicle on ``path`` covers a part of ``lane``, or None.

        ``width_m`` is that of the vehicle. The area extends at most ``needed_m`` along the lane: a
        vehicle that joins it does not wait for vehicles farther ahead.
        """
        swept = _lane_strip(path.points_m, width_m)
        common = swept.intersection(_lane_strip(lane.center_m, float(lane.width_m.max())))
        line, first = CenterLine(lane.center_m), None
        for part in getattr(common, "geoms", [common]):
            if part.area <= 0.0:
                continue
            corners = shapely.get_coordinates(part).tolist()
            entry_m = min(path.arc_of(x_m, y_m) for x_m, y_m in corners)
            arcs = [line.arc_of(x_m, y_m) for x_m, y_m in corners]
            if first is None or entry_m < first.entry_m:
                end_m = min(max(arcs), min(arcs) + needed_m)
                first = cls(lane, entry_m, min(arcs), end_m)
        return first

    def is_reserved(self, models: Iterable[OtherModel], entry_s: float, gap_s: float) -> bool:
        """Return whether a model on the lane is in the area, or reaches it less than ``gap_s``
        after the vehicle, which reaches it in ``entry_s``."""
        return any(
            self._has_right_of_way(occupancy(self._line, *model), entry_s + gap_s)
            for model in models
        )

    def _has_right_of_way(self, other: Occupancy, within_s: float) -> bool:
        """Return whether a model is in the area, or reaches it in less than ``within_s``."""
        if not other.is_within(self._half_width_m):
            return False
        distance_m = max(self._start_m - other.front_m, other.rear_m - self._end_m)
        if distance_m <= 0.0:
            return True
        is_before = other.front_m < self._start_m
        closing_mps = other.speed_mps if is_before else -other.speed_mps
        return closing_mps > 0.0 and distance_m < within_s * closing_mps


def _lane_strip(center_m: np.ndarray, width_m: float) -> shapely.Geometry:
    return shapely.LineString(center_m).buffer(width_m / 2, cap_style="flat")


class RightOfWay:
    """The decision of a vehicle to wait before the first of several conflicts, or to enter them.

    ``gap_s`` is the accepted gap, and ``front_m`` the arc length of the vehicle's front at its
    start. The vehicle waits with its front at the arc length ``stop_m``: at its start if
    ``waits_at_start`` is true or if it already covers a part of a lane, else before the first
    conflict.
    """

    def __init__(
        self,
        conflicts: Sequence[Conflict],
        gap_s: float,
        front_m: float,
        waits_at_start: bool = False,
    ) -> None:
        self._conflicts, self._gap_s = conflicts, gap_s
        entry_m = min((conflict.entry_m for conflict in conflicts), default=math.inf)
        self.stop_m = front_m if waits_at_start else max(entry_m - STOP_M, front_m)
        self.reset()

    def reset(self) -> None:
        self._enters = not self._conflicts

    def waits(
        self,
        models: Sequence[OtherModel],
        front_m: float,
        speed_mps: float,
        braking_mps2: Tuple[float, float],
    ) -> bool:
        """Return whether the vehicle must stop at ``stop_m``.

        ``front_m`` is the arc length of its front, and ``braking_mps2`` are its comfortable and its
        largest deceleration. The final decision to enter is made if the gap is sufficient at the
        last point where the vehicle can stop comfortably, or if it can no longer stop.
        """
        if self._enters:
            return False
        remaining_m = self.stop_m - front_m
        comfortable, largest = braking_mps2
        needed_m = 0.5 * speed_mps * speed_mps
        entry_s = max(remaining_m, 0.0) / max(speed_mps, SLOWEST_MPS)
        if any(conflict.is_reserved(models, entry_s, self._gap_s) for conflict in self._conflicts):
            self._enters = speed_mps > AT_REST_MPS and needed_m > largest * remaining_m
            return not self._enters
        self._enters = needed_m >= comfortable * remaining_m
        return False
