"""Recordings of maneuvers from any source, and their alignment.

Axes are x forward, y left, z up (REP 103), units are SI, and stamps are in seconds since the first
stamp of any channel. This module rejects invalid stamps and non-finite numbers.
"""

from dataclasses import dataclass, replace
from typing import Any, Dict, List, Mapping, Optional, Sequence

import numpy as np

from gz_testauto.base.errors import ResultsError

CHANNELS = {"imu": 6, "odometry": 3, "wheels": 2, "command": 2, "box": 2}
"""Number of columns of each channel. IMU: angular velocity (rad/s) and specific force (m/s²) along
x, y and z; (0, 0, 9.81) at rest. Odometry: x, y (m), yaw (rad). Wheels: speeds of the left and of
the right wheels (m/s). Command: forward speed (m/s) and yaw rate (rad/s). Box: x, y (m) of a pushed
box."""

MEASURED = ("imu", "odometry")  # channels with measures; the others validate them

LONGEST_GAP = 20.0  # largest gap between IMU samples without a loss of data, in periods

BAND_HZ = 20.0  # above it, the mounting of the sensor has the greatest influence

BAND_OF_RATE = 0.4  # band / rate of a slower sensor; below 0.5, since no low-pass filter is ideal

MAX_OUT_OF_ORDER_S = 0.5  # a larger delay is a reset of the clock

MAX_REPEATED_SHARE = 0.02  # rounding can repeat stamps

_AT_A_TIME = 10
_SAME_S = 1e-9  # largest difference of equal stamps


@dataclass(frozen=True, eq=False)
class Series:
    """Samples of one channel: ``values`` (n, k) at the stamps ``time_s`` (n,)."""

    time_s: np.ndarray
    values: np.ndarray

    @property
    def rate_hz(self) -> float:
        # intervals of several samples are robust against bursts and losses of data
        count = min(_AT_A_TIME, len(self.time_s) - 1)
        return float(count / np.median(self.time_s[count:] - self.time_s[:-count]))

    def between(self, begin_s: float, end_s: float) -> "Series":
        first = np.searchsorted(self.time_s, begin_s - _SAME_S)
        last = np.searchsorted(self.time_s, end_s + _SAME_S)
        return Series(self.time_s[first:last], self.values[first:last])


@dataclass(frozen=True)
class SimulatorCost:
    """Cost of a simulated run. ``others`` is the share of the machine's processors that other
    programs used."""

    simulated_s: float
    wall_s: float
    cpu_s: float
    memory_bytes: float
    others: float = 0.0


@dataclass(frozen=True, eq=False)
class RunRecording:
    """A recording of one run of a maneuver. ``half_step`` is a run from the same start in the same
    simulator at half the physics step."""

    source: str
    imu: Optional[Series] = None
    odometry: Optional[Series] = None
    wheels: Optional[Series] = None
    command: Optional[Series] = None
    box: Optional[Series] = None
    load: Optional[SimulatorCost] = None
    half_step: Optional["RunRecording"] = None
    band_hz: float = BAND_HZ
    """Upper limit of the band in which the inertial samples are compared."""

    @property
    def duration_s(self) -> float:
        """End of the common time of all channels with measures."""
        return float(min(series.time_s[-1] for series in self._measured_channels.values()))

    @property
    def _measured_channels(self) -> Dict[str, Series]:
        # the other channels can have few samples
        channels = self.channels
        return {name: channels[name] for name in MEASURED if name in channels} or channels

    def common_interval(self) -> "RunRecording":
        """Return the part in which IMU and odometry both have samples. Raises ``ResultsError`` if
        they do not overlap."""
        begin = max(
            self._measured_channels, key=lambda name: self._measured_channels[name].time_s[0]
        )
        end = min(
            self._measured_channels, key=lambda name: self._measured_channels[name].time_s[-1]
        )
        begin_s, end_s = (
            self._measured_channels[begin].time_s[0],
            self._measured_channels[end].time_s[-1],
        )
        if end_s <= begin_s:
            raise ResultsError(
                f"{self.source}: {begin} starts {begin_s - end_s:.3g} s after {end} stops, so "
                "their stamps have different clocks or units; correct the stamps, or omit a channel"
            )
        return RunRecording.of(self.source, self.between(begin_s, end_s).channels)

    @property
    def channels(self) -> Dict[str, Series]:
        series_by_name = {name: getattr(self, name) for name in CHANNELS}
        return {name: series for name, series in series_by_name.items() if series is not None}

    def between(self, begin_s: float, end_s: float) -> "RunRecording":
        """Return the recording between two times, both included. Channels with fewer than 2 samples
        are None; the box is not cut."""
        inside = {name: series.between(begin_s, end_s) for name, series in self.channels.items()}
        kept = {name: series for name, series in inside.items() if len(series.time_s) > 1}
        cut: Dict[str, Any] = {name: kept.get(name) for name in CHANNELS if name != "box"}
        return replace(self, **cut)

    @classmethod
    def of(cls, source: str, channels: Dict[str, Series]) -> "RunRecording":
        """Create a recording from channels with a common clock. Stamps are shifted to start at 0.
        Raises ``ResultsError`` for invalid stamps or values."""
        for name, series in channels.items():
            _check_series(f"{source}: {name}", series, CHANNELS[name])
        if not channels:
            raise ResultsError(f"{source}: has none of {', '.join(CHANNELS)}")
        zero = min(series.time_s[0] for series in channels.values())
        shifted: Dict[str, Any] = {
            name: Series(series.time_s - zero, series.values) for name, series in channels.items()
        }
        return cls(source, **shifted)


def _check_series(where: str, series: Series, width: int) -> None:
    if series.values.shape != (len(series.time_s), width):
        raise ResultsError(
            f"{where}: the shape of the values is {series.values.shape}, but "
            f"({len(series.time_s)}, {width}) is needed"
        )
    if len(series.time_s) < 2:
        raise ResultsError(f"{where}: {len(series.time_s)} samples, but at least 2 are needed")
    not_finite = np.flatnonzero(
        ~np.isfinite(np.column_stack([series.time_s, series.values])).all(1)
    )
    if len(not_finite):
        raise ResultsError(
            f"{where}: sample {not_finite[0] + 1} has a number that is not finite; remove it"
        )
    not_later = np.flatnonzero(np.diff(series.time_s) <= 0)
    if len(not_later):
        first = not_later[0]
        raise ResultsError(
            f"{where}: sample {first + 2} is not later than the previous one "
            f"({series.time_s[first]:.9g} "
            f"and {series.time_s[first + 1]:.9g} s); cut the recording there if its clock was "
            f"reset; of {len(not_later)} samples, remove those that repeat a stamp"
        )


def sort_samples(series: Series) -> Series:
    """Return a series sorted by stamp, without repeated stamps. It is unchanged if a sample is more
    than :data:`MAX_OUT_OF_ORDER_S` late, or if too many stamps are repeated."""
    late = np.maximum.accumulate(series.time_s) - series.time_s
    stamps, first = np.unique(series.time_s, return_index=True)
    repeated = len(series.time_s) - len(stamps)
    if not late.max(initial=0.0) <= MAX_OUT_OF_ORDER_S or repeated > MAX_REPEATED_SHARE * len(
        stamps
    ):
        return series
    return Series(stamps, series.values[first])


def check_gaps(recording: RunRecording) -> None:
    if recording.imu is None:
        return
    times = recording.imu.time_s
    gap = longest_gap(recording.imu)
    if gap is not None:
        raise ResultsError(
            f"{recording.source}: imu: the samples have a gap of {times[gap + 1] - times[gap]:.3g} "
            f"s after t = {times[gap]:.3f} s (sample rate {recording.imu.rate_hz:.0f} Hz); split "
            "the recording there into two repetitions, or specify 'segment_s' to omit incomplete "
            "segments"
        )


def longest_gap(series: Series) -> Optional[int]:
    """Return the index of the sample before the longest gap, or None without a loss of data."""
    gaps = np.diff(series.time_s)
    longest = int(np.argmax(gaps))
    return longest if gaps[longest] > LONGEST_GAP / series.rate_hz else None


def is_complete(series: Series, begin_s: float, end_s: float) -> bool:
    inner = series.between(begin_s, end_s).time_s
    if len(inner) < 2:
        return False
    longest = np.diff(np.concatenate([[begin_s], inner, [end_s]])).max()
    return bool(longest <= LONGEST_GAP / series.rate_hz)


LONGER = 1.05  # ratio of durations above which the cut of a recording is reported

RecordingsByCase = Mapping[str, Sequence[RunRecording]]
"""Repetitions by case, ``TERRAIN/MANEUVER`` or ``MANEUVER``."""


@dataclass(frozen=True)
class Length:
    """Common duration of the recordings of a case, and source of the shortest one."""

    duration_s: float
    shortest: str
    longest_s: float


@dataclass(frozen=True, eq=False)
class AlignedRecordings:
    """Recordings by entry and case, with one duration per case and one band. ``slowest`` is the
    source of the recording that limits the band, empty for the default band."""

    entries: Mapping[str, RecordingsByCase]
    lengths: Mapping[str, Length]
    band_hz: float
    slowest: str

    @property
    def notes(self) -> List[str]:
        sentences = [
            f"{case}: recordings are compared over {length.duration_s:.3g} s, the duration of the "
            f"shortest one, {length.shortest}."
            for case, length in self.lengths.items()
            if length.longest_s > LONGER * length.duration_s
        ]
        if self.slowest:
            sentences.append(
                f"Inertial samples are compared up to {self.band_hz:g} Hz instead of {BAND_HZ:g} "
                f"Hz, because the sensor of {self.slowest} is slower."
            )
        return sentences


def align_recordings(entries: Mapping[str, RecordingsByCase]) -> AlignedRecordings:
    """Cut all recordings to the duration of the shortest one of their case, and limit the band to
    that of the slowest sensor. Recordings without channels, such as those of cost, are
    unchanged."""
    # the range of a signal and the drift of a pose increase with the duration, the range also with
    # the band: longer recordings or a faster sensor would have a worse score
    by_case: Dict[str, List[RunRecording]] = {}
    band_hz, slowest = BAND_HZ, ""
    for recordings_by_case in entries.values():
        for case, recordings in recordings_by_case.items():
            by_case.setdefault(case, []).extend(run for run in recordings if run.channels)
            for run in recordings:
                if run.imu is not None and round(BAND_OF_RATE * run.imu.rate_hz, 1) < band_hz:
                    band_hz, slowest = round(BAND_OF_RATE * run.imu.rate_hz, 1), run.source
    lengths = {case: _common_length(runs) for case, runs in by_case.items() if runs}
    cut = {
        name: {
            case: tuple(
                replace(run.between(0.0, lengths[case].duration_s), band_hz=band_hz)
                if run.channels
                else run
                for run in runs
            )
            for case, runs in recordings_by_case.items()
        }
        for name, recordings_by_case in entries.items()
    }
    return AlignedRecordings(cut, lengths, band_hz, slowest)


def _common_length(recordings: Sequence[RunRecording]) -> Length:
    durations_s = [recording.duration_s for recording in recordings]
    shortest = durations_s.index(min(durations_s))
    return Length(durations_s[shortest], recordings[shortest].source, max(durations_s))
