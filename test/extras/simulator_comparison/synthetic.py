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


def maneuver(kind, seed, delay_s=0.0, noise=0.05, duration_s=8.0):
    """Return the recording of a robot that starts from rest at time ``delay_s``, with white noise
    (m/s²). Kinds are ``straight``, ``circle``, ``s_curve`` and ``rest``."""
    random = np.random.default_rng(seed)
    time_s = clock(duration_s)
    late = time_s - delay_s
    speed = np.clip(late, 0.0, 0.5) * (kind != "rest")
    yaw_rate = {
        "circle": np.clip(3.0 * late, 0.0, 0.5),
        "s_curve": 0.5 * np.sin(2.0 * np.pi * late / duration_s) * (late > 0.0),
    }.get(kind, np.zeros_like(time_s))
    values = np.zeros((len(time_s), 6))
    values[:, 2] = yaw_rate
    values[:, 3:] = np.stack(
        [np.gradient(speed, time_s), speed * yaw_rate, np.full_like(time_s, GRAVITY_MPS2)], axis=1
    )
    values[:, :3] += 0.01 * random.standard_normal((len(time_s), 3))
    values[:, 3:] += noise * random.standard_normal((len(time_s), 3))
    return RunRecording.of(f"{kind} {seed}", {"imu": Series(time_s, values)})


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
