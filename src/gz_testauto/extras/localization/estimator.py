"""The estimator of a robot's pose that corrects the odometry."""

import math
from dataclasses import dataclass
from typing import Callable, List, Optional, Tuple

import numpy as np

from gz_testauto.actors.localization import compose, inverse
from gz_testauto.base.observation import Twist2D
from gz_testauto.base.pose import Pose2D
from gz_testauto.extras.localization.odometry import OdometryInputs, OdometryModel

TIME_SLACK_S = 1e-6  # times are sums of physics steps


class LostPeriods:
    """Periods in which a localizer is lost, with exponentially distributed times between them.
    ``duration_s`` maps a number in [0, 1) to the duration of a period."""

    def __init__(
        self,
        every_s: float,
        duration_s: Callable[[float], float],
        random: np.random.Generator,
    ) -> None:
        self._every_s, self._duration_s, self._random = every_s, duration_s, random
        self._start_s = self._end_s = 0.0
        self._draw_next_period()

    def include(self, time_s: float) -> bool:
        """Return whether a period includes ``time_s``, which must not decrease between calls."""
        while time_s >= self._end_s:
            self._draw_next_period()
        return time_s >= self._start_s

    def _draw_next_period(self) -> None:
        self._start_s = self._end_s + float(self._random.exponential(self._every_s))
        self._end_s = self._start_s + float(self._duration_s(float(self._random.random())))


@dataclass(frozen=True)
class CorrectionErrors:
    """The rate, the delay and the errors of the localizer's measurements.

    ``usual`` and ``outlier`` are the standard deviations of x and y (m) and of the heading (rad).
    The share ``outlier_share`` of the measurements has the errors ``outlier``.
    """

    rate_hz: float
    delay_s: float
    usual: Tuple[float, float]
    outlier_share: float
    outlier: Tuple[float, float]


class CorrectedOdometry(OdometryModel):
    """An estimator that corrects the odometry by noisy measurements of the pose.

    A correction replaces the transform from the map to the odometry frame.
    """

    def __init__(
        self,
        odometry: OdometryInputs,
        corrections: CorrectionErrors,
        random: np.random.Generator,
        lost: Optional[LostPeriods],
    ) -> None:
        super().__init__(odometry)
        self._corrections, self._correction_random, self._lost = corrections, random, lost
        self._start_s: Optional[float] = None
        self._count = 0
        self._pending: List[Tuple[float, Pose2D]] = []
        self._map_to_odom: Optional[Pose2D] = None

    def advance(self, time_s: float, pose: Pose2D, twist: Twist2D) -> None:
        super().advance(time_s, pose, twist)
        if self._start_s is None:
            self._start_s = time_s
        since_s = time_s - self._start_s
        due_count = math.floor((since_s + TIME_SLACK_S) * self._corrections.rate_hz)
        if due_count > self._count:
            # Skipped corrections are drawn, too, so that the error of a correction does not depend
            # on the control period.
            error = [self._draw_error() for _ in range(due_count - self._count)][-1]
            self._count = due_count
            if self._lost is None or not self._lost.include(since_s):
                self._add_correction(since_s, pose, error)
        while self._pending and self._pending[0][0] <= since_s + TIME_SLACK_S:
            self._map_to_odom = self._pending.pop(0)[1]

    @property
    def pose(self) -> Pose2D:
        if self._map_to_odom is None:
            return self.odometry
        return compose(self._map_to_odom, self.odometry)

    def _draw_error(self) -> Tuple[float, float, float]:
        """Return the errors of x and y (m) and of the heading (rad) in one measurement."""
        normal = self._correction_random.standard_normal(3).tolist()
        is_outlier = self._correction_random.random() < self._corrections.outlier_share
        position_m, yaw_rad = self._corrections.outlier if is_outlier else self._corrections.usual
        return position_m * normal[0], position_m * normal[1], yaw_rad * normal[2]

    def _add_correction(
        self, since_s: float, pose: Pose2D, error: Tuple[float, float, float]
    ) -> None:
        measured = Pose2D(*(value + offset for value, offset in zip(pose, error)))
        transform = compose(measured, inverse(self.odometry))
        self._pending.append((since_s + self._corrections.delay_s, transform))
