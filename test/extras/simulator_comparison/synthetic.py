"""Synthetic recordings of a maneuver, with known values."""

import numpy as np

from gz_testauto.extras.simulator_comparison.recordings.recording import RunRecording, Series

RATE_HZ = 100.0
GRAVITY_MPS2 = 9.80665


def clock(duration_s, rate_hz=RATE_HZ):
    return np.arange(round(duration_s * rate_hz)) / rate_hz


def weave(time_s):
    """Return a yaw rate (rad/s) with a unique shape over time."""
    return 0.5 * np.sin(1.3 * time_s) * np.exp(-0.05 * time_s) + 0.2 * np.sin(0.4 * time_s**1.5)


def drive(seed, duration_s=10.0, noise=0.3, yaw_rate=weave, speed_mps=None, bias=0.0, gain=1.0):
    """Return the recording of a robot that follows commands and vibrates with white noise ``noise``
    (m/s²). ``gain`` and ``bias`` change the vertical axis of the accelerometer."""
    random = np.random.default_rng(seed)
    time_s = clock(duration_s)
    values = np.zeros((len(time_s), 6))
    values[:, 2] = yaw_rate(time_s)
    values[:, :3] += 0.01 * random.standard_normal((len(time_s), 3))
    values[:, 3:] += noise * random.standard_normal((len(time_s), 3))
    values[:, 5] = GRAVITY_MPS2 + bias + gain * values[:, 5]
    channels = {"imu": Series(time_s, values)}
    if speed_mps is not None:
        speed = speed_mps(time_s)
        values[:, 3] += np.gradient(speed, time_s)
        yaw = np.cumsum(yaw_rate(time_s)) / RATE_HZ
        way = np.cumsum(np.stack([np.cos(yaw), np.sin(yaw)]) * speed, axis=1) / RATE_HZ
        channels["odometry"] = Series(time_s, np.column_stack([*way, yaw]))
    return RunRecording.of(f"drive {seed}", channels)


def delayed(recording, delay_s):
    """Return a recording that is delayed by ``delay_s``; its first sample is held before."""
    imu = recording.imu
    earlier = imu.time_s - delay_s
    values = [np.interp(earlier, imu.time_s, column) for column in imu.values.T]
    return RunRecording.of("delayed", {"imu": Series(imu.time_s, np.stack(values, axis=1))})


def changed(recording, change):
    """Return a recording whose IMU values (n, 6) are replaced by ``change(values)``."""
    channels = dict(recording.channels)
    channels["imu"] = Series(recording.imu.time_s, change(recording.imu.values.copy()))
    return RunRecording.of("changed", channels)
