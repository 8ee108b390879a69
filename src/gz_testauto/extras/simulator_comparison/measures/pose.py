"""Where the robot went: drift of its pose, as a whole and per second."""

from typing import Tuple, Union

import numpy as np

from gz_testauto.extras.simulator_comparison.measures.interface import Measure
from gz_testauto.extras.simulator_comparison.recordings.recording import RunRecording
from gz_testauto.extras.simulator_comparison.signals import resampled

POSE_RATE_HZ = 20.0


def _ways(first: RunRecording, second: RunRecording) -> Tuple[np.ndarray, np.ndarray]:
    """Poses (n, 3) of both at the same times since their beginning; yaw unwrapped."""
    assert first.odometry is not None and second.odometry is not None, "asked with odometry only"
    ways = []
    for series in (first.odometry, second.odometry):
        unwrapped = np.column_stack([series.values[:, :2], np.unwrap(series.values[:, 2])])
        ways.append(resampled(type(series)(series.time_s, unwrapped), POSE_RATE_HZ).values)
    length = min(map(len, ways))
    return ways[0][:length], ways[1][:length]


def drift_m(first: RunRecording, second: RunRecording) -> float:
    """RMS distance (m), both from the same first pose: S. Umeyama's alignment would turn away a
    wrong heading."""
    own, reference = (_from_its_start(way) for way in _ways(first, second))
    return float(np.sqrt(((own - reference)[:, :2] ** 2).sum(axis=1).mean()))


def _from_its_start(way: np.ndarray) -> np.ndarray:
    return _as_seen(way - way[0], way[0, 2])


def _as_seen(moved: np.ndarray, yaw_rad: Union[float, np.ndarray]) -> np.ndarray:
    """Ways (n, 3) in x, y and yaw of a fixed frame, ahead and to the left of who looks along
    ``yaw_rad``, one for all or (n,)."""
    cos, sin = np.cos(yaw_rad), np.sin(yaw_rad)
    return np.column_stack(
        [cos * moved[:, 0] + sin * moved[:, 1], cos * moved[:, 1] - sin * moved[:, 0], moved[:, 2]]
    )


def _relative(first: RunRecording, second: RunRecording) -> float:
    own, reference = (_steps(way) for way in _ways(first, second))
    return float(np.sqrt(((own - reference)[:, :2] ** 2).sum(axis=1).mean()))


def _steps(way: np.ndarray) -> np.ndarray:
    """What is driven in each second (m, m, rad), as seen from its beginning."""
    ahead = min(round(POSE_RATE_HZ), len(way) - 1)
    begin, moved = way[:-ahead], way[ahead:] - way[:-ahead]
    return _as_seen(moved, begin[:, 2])


def _pushed(first: RunRecording, second: RunRecording) -> float:
    assert first.box is not None and second.box is not None, "asked with a box only"
    ways = (series.values[-1] - series.values[0] for series in (first.box, second.box))
    own, reference = (float(np.hypot(*way)) for way in ways)
    return abs(own - reference)


DRIFT = Measure(
    name="pose_drift",
    unit="m",
    better="lower",
    description="root mean square distance of the positions, from the same first pose",
    formula="sqrt(mean |p - p_ref|²)",
    source="absolute trajectory error, J. Sturm et al., IROS 2012, aligned by the first pose",
    needs=("odometry",),
    between=drift_m,
)

RELATIVE = Measure(
    name="relative_pose",
    unit="m",
    better="lower",
    description="root mean square difference of what is driven in a second",
    formula="sqrt(mean |Δp - Δp_ref|²), Δ over 1 s in the robot's frame",
    source="relative pose error, J. Sturm et al., IROS 2012",
    needs=("odometry",),
    between=_relative,
)

BOX_PUSHED = Measure(
    name="box_pushed",
    unit="m",
    better="lower",
    description="difference of how far a box of 5 kg is pushed",
    formula="|d - d_ref|",
    source="friction of the box and of the tires at once",
    needs=("box",),
    between=_pushed,
)
