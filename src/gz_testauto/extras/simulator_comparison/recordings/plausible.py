"""Whether the IMU of a recording measures what it is said to: axes, unit and sign.

Refuses what is not, with what to set in the recording's ``imu``. Gravity tells unit, sign and which
axis is up; odometry or commands tell the axis about which the robot turns, and the one along which
it drives.
"""

from typing import Optional, Tuple

import numpy as np
from scipy.signal import butter, sosfiltfilt

from gz_testauto.base.errors import ResultsError
from gz_testauto.extras.simulator_comparison.recordings.recording import RunRecording, Series

GRAVITY_MPS2 = 9.80665
GRAVITY_TOLERANCE = 0.02
"""Of gravity, at rest."""

REST_S = 1.0
LEAST_HZ = 10.0
"""A slower sensor says nothing of how a robot shakes."""

TILT_RAD = np.radians(30.0)
"""A robot leans less than this; recordings in snow have 23 degrees."""

MIN_CORRELATION = 0.5
"""Above this a channel follows another."""

MIN_CORRELATION_GAP = 0.2
"""By so much more than the axis that it should be."""

MIN_UNIT_FACTOR = 20.0
"""A gyroscope that reads more than so many times what the robot turns has another unit. Where
turning is the difference of its wheels' speeds, the factor is one over its track in meters."""

SLOW_HZ = 2.0
"""The band in which acceleration is compared with speed."""

_NAMES = ("x", "-x", "y", "-y", "z", "-z")


def check_plausible(recording: RunRecording) -> None:
    """Raise ``ResultsError`` where the IMU is not what it is said to be."""
    if recording.imu is None:
        return
    _check_extent(recording.source, recording.imu)
    _check_gravity(recording.source, recording.imu)
    turned, sped = _motion(recording)
    if turned is not None:
        _check_axis(recording.source, "turns", "z", recording.imu.values[:, :3], turned)
        _check_unit(recording.source, recording.imu.values[:, 2], turned)
    if sped is not None:
        slow = _slow(recording.imu.values[:, 3:5], recording.imu.rate_hz)
        _check_axis(recording.source, "speeds up", "x", slow, _slow(sped, recording.imu.rate_hz))


def quietest(imu: Series, duration_s: float = REST_S) -> slice:
    """The samples of the stretch in which the IMU moves least."""
    length = min(len(imu.time_s), max(2, round(duration_s * imu.rate_hz)))
    scale = np.array([1.0] * 3 + [GRAVITY_MPS2] * 3)
    centerd = (imu.values - imu.values.mean(axis=0)) / scale
    sums, squares = (np.cumsum(np.insert(v, 0, 0.0, axis=0), axis=0) for v in (centerd, centerd**2))
    mean, square = ((v[length:] - v[:-length]) / length for v in (sums, squares))
    begin = int(np.argmin((square - mean**2).sum(axis=1)))
    return slice(begin, begin + length)


def _check_extent(source: str, imu: Series) -> None:
    lasts_s = float(imu.time_s[-1] - imu.time_s[0])
    if lasts_s < REST_S:
        raise ResultsError(
            f"{source}: imu: lasts {lasts_s:.3g} s; at least {REST_S:g} s is needed (is units.time "
            "the unit of its stamps?)"
        )
    if imu.rate_hz < LEAST_HZ:
        raise ResultsError(
            f"{source}: imu: has {imu.rate_hz:.3g} samples a second; at least {LEAST_HZ:g} are "
            "needed (is units.time the unit of its stamps?); set imu: null to compare without it"
        )


def _check_gravity(source: str, imu: Series) -> None:
    mean = imu.values[quietest(imu), 3:].mean(axis=0)
    size = float(np.linalg.norm(mean))
    reads = "({:.3g}, {:.3g}, {:.3g})".format(*mean)
    said = f"{source}: imu: at rest the accelerometer reads {reads} m/s²"
    if abs(size / GRAVITY_MPS2 - 1.0) > GRAVITY_TOLERANCE:
        if abs(size - 1.0) <= GRAVITY_TOLERANCE:
            raise ResultsError(f"{said}, which is 1 g: set units.linear: g")
        if size < 0.05 * GRAVITY_MPS2:
            raise ResultsError(
                f"{said}: gravity was taken off; set gravity: subtracted to have it put back"
            )
        if abs(size / GRAVITY_MPS2**2 - 1.0) <= GRAVITY_TOLERANCE:
            raise ResultsError(f"{said}, which is g times g: set units.linear: m/s2")
        if abs(size / 1000.0 - 1.0) <= GRAVITY_TOLERANCE:
            raise ResultsError(f"{said}, which is 1000 mg: set units.linear: mg")
        if abs(size / (2.0 * GRAVITY_MPS2) - 1.0) <= GRAVITY_TOLERANCE:
            raise ResultsError(f"{said}, which is twice g: set gravity: measured")
        raise ResultsError(
            f"{said}, {size:.4g} in all, not within {100 * GRAVITY_TOLERANCE:.0f} % of "
            f"{GRAVITY_MPS2:.2f}: calibrate it, or set imu: null to compare without it"
        )
    if mean[2] >= size * np.cos(TILT_RAD):
        return
    if mean[2] <= -size * np.cos(TILT_RAD):
        raise ResultsError(
            f"{said}: upside down. Set axes: [x, -y, -z] where its z axis points down, or gravity: "
            "opposite where it tells gravity itself"
        )
    along = int(np.argmax(np.abs(mean)))
    if along == 2:
        raise ResultsError(
            f"{said}: it leans by {np.degrees(np.arccos(abs(mean[2]) / size)):.0f} degrees, more "
            f"than the {np.degrees(TILT_RAD):.0f} that a robot stands at; turn its samples into "
            "the robot's axes first"
        )
    name = ("" if mean[along] > 0 else "-") + "xyz"[along]
    raise ResultsError(
        f"{said}: up is its {name} axis; set axes: [..., ..., {name}] with forward and left before"
    )


def _motion(recording: RunRecording) -> Tuple[Optional[np.ndarray], Optional[np.ndarray]]:
    """Yaw rate (rad/s) and forward acceleration (m/s²) at the IMU's stamps, as odometry or, without
    it, wheels or commands have them."""
    imu, odometry = recording.imu, recording.odometry
    assert imu is not None, "asked of an IMU only"
    if odometry is not None:
        yaw = np.interp(imu.time_s, odometry.time_s, np.unwrap(odometry.values[:, 2]))
        across = [np.interp(imu.time_s, odometry.time_s, odometry.values[:, i]) for i in (0, 1)]
        rates = [np.gradient(one, imu.time_s) for one in (yaw, *across)]
        speed = rates[1] * np.cos(yaw) + rates[2] * np.sin(yaw)
        return rates[0], np.gradient(speed, imu.time_s)
    if recording.wheels is not None:
        left, right = (
            np.interp(imu.time_s, recording.wheels.time_s, recording.wheels.values[:, side])
            for side in (0, 1)
        )
        return right - left, np.gradient((left + right) / 2.0, imu.time_s)
    if recording.command is not None:
        command = recording.command  # which holds until the next
        last = np.searchsorted(command.time_s, imu.time_s, side="right") - 1
        return command.values[np.maximum(last, 0), 1], None
    return None, None


def _slow(values: np.ndarray, rate_hz: float) -> np.ndarray:
    if rate_hz <= 2.5 * SLOW_HZ or len(values) < 30:
        return values
    sections = butter(2, SLOW_HZ, fs=rate_hz, output="sos")
    return np.asarray(sosfiltfilt(sections, values, axis=0))


def _check_axis(
    source: str, does: str, expected: str, measured: np.ndarray, moved: np.ndarray
) -> None:
    """Refuse an IMU of which another axis than the expected one follows the robot's motion."""
    centerd = measured - measured.mean(axis=0)
    moved = moved - moved.mean()
    size = np.linalg.norm(centerd, axis=0) * np.linalg.norm(moved)
    with np.errstate(invalid="ignore", divide="ignore"):
        along = np.nan_to_num(centerd.T @ moved / size)
    best = int(np.argmax(np.abs(along)))
    name = ("" if along[best] > 0 else "-") + "xyz"[best]
    own = along["xyz".index(expected)]
    if abs(along[best]) >= MIN_CORRELATION and own < abs(along[best]) - MIN_CORRELATION_GAP:
        raise ResultsError(
            f"{source}: imu: where the robot {does}, its {name} axis follows (correlation "
            f"{abs(along[best]):.2f}), not {expected}: set axes so that {name} is read as "
            f"{expected}; axes: [x, y, z] says for forward, left and up which axis it is"
        )


def _check_unit(source: str, yaw_rate: np.ndarray, turned: np.ndarray) -> None:
    """Refuse a gyroscope in degrees."""
    measured, moved = yaw_rate - yaw_rate.mean(), turned - turned.mean()
    product, square = float(measured @ moved), float(moved @ moved)
    follows = product >= MIN_CORRELATION * np.linalg.norm(measured) * np.linalg.norm(moved)
    if square > 0.0 and follows and product > MIN_UNIT_FACTOR * square:
        raise ResultsError(
            f"{source}: imu: where the robot turns, its z axis reads {product / square:.0f} times "
            "as much: set units.angular: deg/s"
        )
