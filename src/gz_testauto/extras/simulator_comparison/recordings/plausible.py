"""Validation of the IMU of a recording: axes, unit and sign.

Gravity determines unit, sign and the vertical axis. Odometry or commands determine the axis of
rotation and the forward axis. Error messages contain the correct setting.
"""

from typing import Optional, Tuple

import numpy as np
from scipy.signal import butter, sosfiltfilt

from gz_testauto.base.errors import ResultsError
from gz_testauto.extras.simulator_comparison.recordings.recording import RunRecording, Series

GRAVITY_MPS2 = 9.80665
GRAVITY_TOLERANCE = 0.02  # relative tolerance of the measured gravity at rest

WRONG_GRAVITY = (
    (1.0, "1 g: set units.linear: g"),
    (GRAVITY_MPS2**2, "g times g: set units.linear: m/s2"),
    (1000.0, "1000 mg: set units.linear: mg"),
    (2.0 * GRAVITY_MPS2, "twice g: set gravity: measured"),
)
"""Accelerations at rest (m/s²) by wrong settings, with the cause and the remedy."""

REST_S = 1.0
LEAST_HZ = 10.0  # a slower sensor does not measure the vibration of a robot

TILT_RAD = np.radians(30.0)  # largest tilt of the sensor; recordings in snow have 23 degrees

MIN_CORRELATION = 0.5  # smallest correlation of channels that measure the same motion

MIN_CORRELATION_GAP = 0.2  # difference between the correlations of a wrong and of the expected axis

MIN_UNIT_FACTOR = 20.0
"""Smallest ratio of measured to expected yaw rate for a gyroscope with another unit. If the
expected rate is the difference of wheel speeds, the correct ratio is 1 / track in meters."""

SLOW_HZ = 2.0  # upper limit of the band of compared accelerations and speeds


def check_plausible(recording: RunRecording) -> None:
    """Raise ``ResultsError`` if IMU samples are too few, or contradict gravity or the motion."""
    if recording.imu is None:
        return
    _check_extent(recording.source, recording.imu)
    _check_gravity(recording.source, recording.imu)
    yaw_rates, accelerations = _motion(recording)
    if yaw_rates is not None:
        _check_axis(recording.source, "turns", "z", recording.imu.values[:, :3], yaw_rates)
        _check_angular_unit(recording.source, recording.imu.values[:, 2], yaw_rates)
    if accelerations is not None:
        slow = _low_pass(recording.imu.values[:, 3:5], recording.imu.rate_hz)
        _check_axis(
            recording.source,
            "speeds up",
            "x",
            slow,
            _low_pass(accelerations, recording.imu.rate_hz),
        )


def _find_quietest_samples(imu: Series) -> slice:
    length = min(len(imu.time_s), max(2, round(REST_S * imu.rate_hz)))
    scale = np.array([1.0] * 3 + [GRAVITY_MPS2] * 3)
    centered = (imu.values - imu.values.mean(axis=0)) / scale
    sums, squares = (
        np.cumsum(np.insert(v, 0, 0.0, axis=0), axis=0) for v in (centered, centered**2)
    )
    mean, square = ((v[length:] - v[:-length]) / length for v in (sums, squares))
    begin = int(np.argmin((square - mean**2).sum(axis=1)))
    return slice(begin, begin + length)


def _check_extent(source: str, imu: Series) -> None:
    duration_s = float(imu.time_s[-1] - imu.time_s[0])
    if duration_s < REST_S:
        raise ResultsError(
            f"{source}: imu: the recording lasts {duration_s:.3g} s, but at least {REST_S:g} s is "
            "needed; check that units.time is the unit of its stamps"
        )
    if imu.rate_hz < LEAST_HZ:
        raise ResultsError(
            f"{source}: imu: {imu.rate_hz:.3g} samples per second, but at least {LEAST_HZ:g} are "
            "needed; check that units.time is the unit of the stamps, or set imu: null to compare "
            "without the IMU"
        )


def _check_gravity(source: str, imu: Series) -> None:
    mean = imu.values[_find_quietest_samples(imu), 3:].mean(axis=0)
    norm = float(np.linalg.norm(mean))
    components = "({:.3g}, {:.3g}, {:.3g})".format(*mean)
    reading = f"{source}: imu: at rest the accelerometer reads {components} m/s²"
    if abs(norm / GRAVITY_MPS2 - 1.0) > GRAVITY_TOLERANCE:
        if norm < 0.05 * GRAVITY_MPS2:
            raise ResultsError(
                f"{reading}, so gravity was subtracted from the samples; set 'gravity: subtracted' "
                "to add it"
            )
        for expected, remedy in WRONG_GRAVITY:
            if abs(norm / expected - 1.0) <= GRAVITY_TOLERANCE:
                raise ResultsError(f"{reading}, which is {remedy}")
        raise ResultsError(
            f"{reading}, whose norm {norm:.4g} is not within {100 * GRAVITY_TOLERANCE:.0f} % of "
            f"{GRAVITY_MPS2:.2f}; calibrate the sensor, or set 'imu: null' to compare without the "
            "IMU"
        )
    if mean[2] >= norm * np.cos(TILT_RAD):
        return
    if mean[2] <= -norm * np.cos(TILT_RAD):
        raise ResultsError(
            f"{reading}, so the sensor is upside down; set 'axes: [x, -y, -z]' if its z axis "
            "points down, or 'gravity: opposite' if the sensor reports the acceleration of gravity "
            "itself"
        )
    axis = int(np.argmax(np.abs(mean)))
    if axis == 2:
        tilt_deg = np.degrees(np.arccos(abs(mean[2]) / norm))
        raise ResultsError(
            f"{reading}, so the sensor is tilted by {tilt_deg:.0f} degrees; at most "
            f"{np.degrees(TILT_RAD):.0f} are allowed. Rotate the samples into the robot's axes"
        )
    name = ("" if mean[axis] > 0 else "-") + "xyz"[axis]
    raise ResultsError(
        f"{reading}, so the {name} axis of the sensor points up; set 'axes: [FORWARD, LEFT, "
        f"{name}]' with the axes that point forward and left"
    )


def _motion(recording: RunRecording) -> Tuple[Optional[np.ndarray], Optional[np.ndarray]]:
    """Return yaw rate (rad/s) and forward acceleration (m/s²) at the stamps of the IMU, from
    odometry, wheels or commands; None if unknown. For wheels the yaw rate is replaced by the
    difference of their speeds (m/s)."""
    imu, odometry = recording.imu, recording.odometry
    assert imu is not None, "a recording with an IMU"
    if odometry is not None:
        yaw = np.interp(imu.time_s, odometry.time_s, np.unwrap(odometry.values[:, 2]))
        x_and_y = [np.interp(imu.time_s, odometry.time_s, odometry.values[:, i]) for i in (0, 1)]
        rates = [np.gradient(signal, imu.time_s) for signal in (yaw, *x_and_y)]
        speed = rates[1] * np.cos(yaw) + rates[2] * np.sin(yaw)
        return rates[0], np.gradient(speed, imu.time_s)
    if recording.wheels is not None:
        left, right = (
            np.interp(imu.time_s, recording.wheels.time_s, recording.wheels.values[:, side])
            for side in (0, 1)
        )
        return right - left, np.gradient((left + right) / 2.0, imu.time_s)
    if recording.command is not None:
        command = recording.command  # each is valid until the next
        last = np.searchsorted(command.time_s, imu.time_s, side="right") - 1
        return command.values[np.maximum(last, 0), 1], None
    return None, None


def _low_pass(values: np.ndarray, rate_hz: float) -> np.ndarray:
    if rate_hz <= 2.5 * SLOW_HZ or len(values) < 30:
        return values
    sections = butter(2, SLOW_HZ, fs=rate_hz, output="sos")
    return np.asarray(sosfiltfilt(sections, values, axis=0))


def _check_axis(
    source: str, motion: str, expected: str, measured: np.ndarray, signal: np.ndarray
) -> None:
    centered = measured - measured.mean(axis=0)
    signal = signal - signal.mean()
    size = np.linalg.norm(centered, axis=0) * np.linalg.norm(signal)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlations = np.nan_to_num(centered.T @ signal / size)
    best = int(np.argmax(np.abs(correlations)))
    name = ("" if correlations[best] > 0 else "-") + "xyz"[best]
    correlation = correlations["xyz".index(expected)]
    if (
        abs(correlations[best]) >= MIN_CORRELATION
        and correlation < abs(correlations[best]) - MIN_CORRELATION_GAP
    ):
        raise ResultsError(
            f"{source}: imu: when the robot {motion}, axis {name} measures the motion (correlation "
            f"{abs(correlations[best]):.2f}) instead of axis {expected}; set axes so that {name} "
            f"is read as {expected}. The key axes lists the sensor's axes that point forward, left "
            "and up"
        )


def _check_angular_unit(source: str, yaw_rate: np.ndarray, true_yaw_rate: np.ndarray) -> None:
    measured, moved = yaw_rate - yaw_rate.mean(), true_yaw_rate - true_yaw_rate.mean()
    product, square = float(measured @ moved), float(moved @ moved)
    follows = product >= MIN_CORRELATION * np.linalg.norm(measured) * np.linalg.norm(moved)
    if square > 0.0 and follows and product > MIN_UNIT_FACTOR * square:
        raise ResultsError(
            f"{source}: imu: the angular velocity about z is {product / square:.0f} times the yaw "
            "rate of the robot; set 'units.angular: deg/s'"
        )
