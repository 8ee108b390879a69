"""One recorded drive, whatever it was recorded from.

Owns the channels with their units and frames: x forward, y left, z up (REP 103), SI, seconds since
the first stamp of any channel. What cannot be (stamps that go back, numbers that are none) is
refused here; whether axes and gravity are plausible is asked in
:mod:`~gz_testauto.fidelity.recordings.plausible`.
"""

from dataclasses import dataclass
from typing import Dict, Optional

import numpy as np

from gz_testauto.errors import ResultsError

CHANNELS = {"imu": 6, "odometry": 3, "wheels": 2, "command": 2}
"""Columns: angular velocity (rad/s) and specific force (m/s²), x y z each, which at rest is
(0, 0, 9.81); x, y (m), yaw (rad); speeds of the left and of the right wheels (m/s); forward speed
(m/s) and yaw rate (rad/s) that were commanded."""

LONGEST_GAP = 20.0
"""Of an IMU, in its median period: a longer one is a loss of data."""


@dataclass(frozen=True, eq=False)
class Series:
    """A channel: ``values`` (n, k) at ``time_s`` (n,)."""

    time_s: np.ndarray
    values: np.ndarray

    @property
    def rate_hz(self) -> float:
        """By the median period."""
        return float(1.0 / np.median(np.diff(self.time_s)))


@dataclass(frozen=True)
class Load:
    """What a simulated drive cost: simulated and wall seconds, and CPU seconds and resident memory
    (bytes) of all processes of the simulator, without what records."""

    simulated_s: float
    wall_s: float
    cpu_s: float
    memory_bytes: float


@dataclass(frozen=True, eq=False)
class Recording:
    """A drive; ``source`` is a file, or a simulator with a repetition, for messages. Channels that
    were not recorded are None."""

    source: str
    imu: Optional[Series] = None
    odometry: Optional[Series] = None
    wheels: Optional[Series] = None
    command: Optional[Series] = None
    load: Optional[Load] = None

    @property
    def channels(self) -> Dict[str, Series]:
        """Those that there are, by name."""
        found = {name: getattr(self, name) for name in CHANNELS}
        return {name: series for name, series in found.items() if series is not None}

    @classmethod
    def of(cls, source: str, channels: Dict[str, Series]) -> "Recording":
        """From channels with stamps of any one clock. Raises ``ResultsError`` for what cannot be
        a recording."""
        for name, series in channels.items():
            _check(f"{source}: {name}", series, CHANNELS[name])
        if not channels:
            raise ResultsError(f"{source}: has none of {', '.join(CHANNELS)}")
        zero = min(series.time_s[0] for series in channels.values())
        shifted = {
            name: Series(series.time_s - zero, series.values) for name, series in channels.items()
        }
        if "imu" in shifted:
            _check_gaps(source, shifted["imu"])
        return cls(
            source,
            shifted.get("imu"),
            shifted.get("odometry"),
            shifted.get("wheels"),
            shifted.get("command"),
        )


def _check(where: str, series: Series, width: int) -> None:
    if series.values.shape != (len(series.time_s), width):
        raise ResultsError(
            f"{where}: has shape {series.values.shape}; ({len(series.time_s)}, {width}) is needed"
        )
    if len(series.time_s) < 2:
        raise ResultsError(f"{where}: has {len(series.time_s)} samples; at least 2 are needed")
    strange = np.flatnonzero(~np.isfinite(np.column_stack([series.time_s, series.values])).all(1))
    if len(strange):
        raise ResultsError(f"{where}: sample {strange[0] + 1} has a number that is not finite")
    back = np.flatnonzero(np.diff(series.time_s) <= 0)
    if len(back):
        first = back[0]
        raise ResultsError(
            f"{where}: sample {first + 2} is not after the one before ({series.time_s[first]:.9g} "
            f"and {series.time_s[first + 1]:.9g} s); sort the samples and take out repeated ones"
        )


def _check_gaps(source: str, imu: Series) -> None:
    gaps = np.diff(imu.time_s)
    longest = int(np.argmax(gaps))
    if gaps[longest] > LONGEST_GAP * np.median(gaps):
        raise ResultsError(
            f"{source}: imu: nothing for {gaps[longest]:.3g} s after {imu.time_s[longest]:.3f} s, "
            f"at {imu.rate_hz:.0f} Hz; cut the recording there into two repetitions"
        )
