"""Error of an IMU in the paper: differences of mean and range, equations (5) to (7)."""

import numpy as np

from gz_testauto.extras.simulator_comparison.measures.comparable import comparable, mean_and_range
from gz_testauto.extras.simulator_comparison.measures.interface import Measure
from gz_testauto.extras.simulator_comparison.recordings.recording import RunRecording

_SOURCE = "Farley et al. 2022, equations (5) to (7)"
_FORMULA = "sum over cases and axes of |range - range_ref| + |mean - mean_ref|"


def summary_error(
    mean: np.ndarray, extent: np.ndarray, mean_ref: np.ndarray, extent_ref: np.ndarray
) -> np.ndarray:
    """Return equation (7) for one case, by axis (k,)."""
    return np.asarray(np.abs(extent - extent_ref) + np.abs(mean - mean_ref))


def _error(columns: slice, first: RunRecording, second: RunRecording) -> float:
    pair = comparable(first, second)
    own, reference = mean_and_range(pair.first), mean_and_range(pair.second)
    return float(summary_error(*own, *reference)[columns].sum())


def _angular(first: RunRecording, second: RunRecording) -> float:
    return _error(slice(0, 3), first, second)


def _linear(first: RunRecording, second: RunRecording) -> float:
    return _error(slice(3, 6), first, second)


ANGULAR = Measure(
    name="imu_angular_error",
    unit="rad/s",
    better="lower",
    description="differences of mean and range of the angular velocities",
    formula=_FORMULA,
    source=_SOURCE,
    needs=("imu",),
    between=_angular,
    summed=True,
)

LINEAR = Measure(
    name="imu_linear_error",
    unit="m/s²",
    better="lower",
    description="differences of mean and range of the accelerations",
    formula=_FORMULA,
    source=_SOURCE,
    needs=("imu",),
    between=_linear,
    summed=True,
)
