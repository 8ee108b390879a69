"""The estimator of a robot's pose with the errors of a recording."""

from pathlib import Path
from typing import List, Optional

import numpy as np
from typing_extensions import override

from gz_testauto.base.disk import read_text
from gz_testauto.base.errors import SpecError
from gz_testauto.base.observation import Twist2D
from gz_testauto.base.pose import Pose2D, wrap_angle
from gz_testauto.extras.localization.odometry import (
    OdometryErrors,
    OdometryInputs,
    OdometryModel,
)
from gz_testauto.sampling.seeds import LOCALIZATION, child_generator
from gz_testauto.spec.model import LARGEST

COLUMNS = ("time", "x", "y", "yaw")
# Without errors of the radii, the distance of the wheels has no effect.
EXACT = OdometryErrors(alpha=(0.0, 0.0, 0.0, 0.0), wheel_separation_m=1.0)

MOST_BYTES = 10_000_000  # about two days of one error per second


class RecordedErrors(OdometryModel):
    """An estimator whose pose is the true pose plus a recorded error. The odometry is exact."""

    def __init__(self, errors: np.ndarray) -> None:
        """``errors``, shape (n, 4), contain the time (s) since the start of the trial, and the
        errors of x, y (m) and yaw (rad) in the map frame."""
        super().__init__(OdometryInputs(EXACT, child_generator(0, LOCALIZATION), None))
        self._errors_over_time = errors
        self._start_s: Optional[float] = None
        self._pose = Pose2D(0.0, 0.0)

    @override
    def advance(self, time_s: float, pose: Pose2D, twist: Twist2D) -> None:
        super().advance(time_s, pose, twist)
        if self._start_s is None:
            self._start_s = time_s
        times_s, *errors = self._errors_over_time.T
        x_m, y_m, yaw_rad = (
            float(np.interp(time_s - self._start_s, times_s, column)) for column in errors
        )
        self._pose = Pose2D(pose.x_m + x_m, pose.y_m + y_m, wrap_angle(pose.yaw_rad + yaw_rad))

    @property
    def pose(self) -> Pose2D:
        return self._pose


def read_errors(path: Path) -> np.ndarray:
    """Return the errors of a file as in :class:`RecordedErrors`. Raises ``SpecError`` for an
    invalid file."""
    header, *rows = read_text(path, SpecError, MOST_BYTES).splitlines() or [""]
    if tuple(name.strip() for name in header.split(",")) != COLUMNS:
        raise SpecError(
            f"{path}:1: the header is {header[:60]!r}; it must be {','.join(COLUMNS)!r} (s, m, m, "
            "rad)"
        )
    values: List[List[float]] = []
    for line, row in enumerate(rows, 2):
        if not row.strip():
            continue
        place = f"{path}:{line}"
        try:
            numbers = [float(text) for text in row.split(",")]
        except ValueError:
            numbers = []
        if len(numbers) != len(COLUMNS) or not all(abs(n) <= LARGEST for n in numbers):
            raise SpecError(f"{place}: {row[:60]!r} is not four numbers of at most {LARGEST:g}")
        if values and numbers[0] <= values[-1][0]:
            raise SpecError(
                f"{place}: the time {numbers[0]:g} s is not after the time of the previous row, "
                f"{values[-1][0]:g} s; sort the rows, and remove repeated ones"
            )
        values.append(numbers)
    if not values:
        raise SpecError(f"{path}: the file has no errors; add rows below the header")
    return np.array(values)
