"""One recorded drive, whatever it was recorded from.

Owns the channels with their units and frames: x forward, y left, z up (REP 103), SI, seconds since
the first stamp of any channel. What cannot be (stamps that go back, numbers that are none) is
refused here; whether axes and gravity are plausible is asked in
:mod:`~gz_testauto.extras.simulator_comparison.recordings.plausible`.
"""

from dataclasses import dataclass, replace
from typing import Dict, Optional

import numpy as np

from gz_testauto.base.errors import ResultsError

CHANNELS = {"imu": 6, "odometry": 3, "wheels": 2, "command": 2, "box": 2}
"""Columns: angular velocity (rad/s) and specific force (m/s²), x y z each, which at rest is
(0, 0, 9.81); x, y (m), yaw (rad); speeds of the left and of the right wheels (m/s); forward speed
(m/s) and yaw rate (rad/s) that were commanded; x, y (m) of a box that is pushed."""

MEASURED = ("imu", "odometry")
"""Channels that measures are computed of; the others tell whether these are plausible."""

LONGEST_GAP = 20.0
"""Of an IMU, in its period: a longer one is a loss of data."""

BAND_HZ = 20.0
"""In which inertial samples are compared, unless one of the sensors is slower: above, its mounting
speaks."""

BAND_OF_RATE = 0.4
"""The band of a slower sensor, in its rate: below half of it, at which no low-pass is perfect."""

MAX_OUT_OF_ORDER_S = 0.5
"""Samples that are later than this in a file are of a clock that was set back."""

MAX_REPEATED_SHARE = 0.02
"""Share of samples whose stamp another has, as rounding makes them."""

_AT_A_TIME = 10
_SAME_S = 1e-9
"""Stamps that are less apart are one."""


@dataclass(frozen=True, eq=False)
class Series:
    """A channel: ``values`` (n, k) at ``time_s`` (n,)."""

    time_s: np.ndarray
    values: np.ndarray

    @property
    def rate_hz(self) -> float:
        """Samples per second: the median over ten at a time, so that neither stamps that come in
        bursts nor a loss of data count."""
        many = min(_AT_A_TIME, len(self.time_s) - 1)
        return float(many / np.median(self.time_s[many:] - self.time_s[:-many]))

    def between(self, begin_s: float, end_s: float) -> "Series":
        """Its samples from ``begin_s`` on and not after ``end_s``."""
        first = np.searchsorted(self.time_s, begin_s - _SAME_S)
        last = np.searchsorted(self.time_s, end_s + _SAME_S)
        return Series(self.time_s[first:last], self.values[first:last])


@dataclass(frozen=True)
class SimulatorCost:
    """What a simulated drive cost: simulated and wall seconds, and CPU seconds and resident memory
    (bytes) of all processes of the simulator, without what records. ``others`` is the share of the
    machine's processors that was used by others meanwhile."""

    simulated_s: float
    wall_s: float
    cpu_s: float
    memory_bytes: float
    others: float = 0.0


@dataclass(frozen=True, eq=False)
class RunRecording:
    """A drive; ``source`` is a file, or a simulator with a repetition, for messages. Channels that
    were not recorded are None. ``half_step`` is the same drive, from the same start, in the same
    simulator at half its physics step."""

    source: str
    imu: Optional[Series] = None
    odometry: Optional[Series] = None
    wheels: Optional[Series] = None
    command: Optional[Series] = None
    box: Optional[Series] = None
    load: Optional[SimulatorCost] = None
    half_step: Optional["RunRecording"] = None
    band_hz: float = BAND_HZ
    """Up to which its inertial samples are compared."""

    @property
    def duration_s(self) -> float:
        """Until the first end of a channel that measures are computed of."""
        return float(min(series.time_s[-1] for series in self._measured.values()))

    @property
    def _measured(self) -> Dict[str, Series]:
        """IMU and odometry; all others where there are neither, for those may be sparse."""
        channels = self.channels
        return {name: channels[name] for name in MEASURED if name in channels} or channels

    def common_interval(self) -> "RunRecording":
        """What lies from when IMU and odometry have both begun to when one of them ends. Raises
        ``ResultsError`` where that is nothing."""
        begin = max(self._measured, key=lambda name: self._measured[name].time_s[0])
        end = min(self._measured, key=lambda name: self._measured[name].time_s[-1])
        begin_s, end_s = self._measured[begin].time_s[0], self._measured[end].time_s[-1]
        if end_s <= begin_s:
            raise ResultsError(
                f"{self.source}: {begin} begins {begin_s - end_s:.3g} s after {end} ends: their "
                "stamps are of two clocks or in two units; mend them, or leave one of the two out"
            )
        return RunRecording.of(self.source, self.between(begin_s, end_s).channels)

    @property
    def channels(self) -> Dict[str, Series]:
        """Those that there are, by name."""
        found = {name: getattr(self, name) for name in CHANNELS}
        return {name: series for name, series in found.items() if series is not None}

    def between(self, begin_s: float, end_s: float) -> "RunRecording":
        """What lies from ``begin_s`` on and not after ``end_s``, at the stamps that it has.
        Channels with fewer than 2 samples there are None."""
        found = {name: series.between(begin_s, end_s) for name, series in self.channels.items()}
        kept = {name: series for name, series in found.items() if len(series.time_s) > 1}
        return replace(
            self,
            imu=kept.get("imu"),
            odometry=kept.get("odometry"),
            wheels=kept.get("wheels"),
            command=kept.get("command"),
        )

    @classmethod
    def of(cls, source: str, channels: Dict[str, Series]) -> "RunRecording":
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
        return cls(
            source,
            shifted.get("imu"),
            shifted.get("odometry"),
            shifted.get("wheels"),
            shifted.get("command"),
            shifted.get("box"),
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
        raise ResultsError(
            f"{where}: sample {strange[0] + 1} has a number that is not finite; take it out"
        )
    back = np.flatnonzero(np.diff(series.time_s) <= 0)
    if len(back):
        first = back[0]
        raise ResultsError(
            f"{where}: sample {first + 2} is not after the one before ({series.time_s[first]:.9g} "
            f"and {series.time_s[first + 1]:.9g} s); cut the recording there if its clock was set "
            f"back; of {len(back)} such samples, take out those that repeat a stamp"
        )


def sort_samples(series: Series) -> Series:
    """Its samples in the order of their stamps, where they only overtook each other on their way
    into the file, and the first of those with one stamp, where these are few."""
    late = np.maximum.accumulate(series.time_s) - series.time_s
    stamps, first = np.unique(series.time_s, return_index=True)
    repeated = len(series.time_s) - len(stamps)
    if not late.max(initial=0.0) <= MAX_OUT_OF_ORDER_S or repeated > MAX_REPEATED_SHARE * len(
        stamps
    ):
        return series
    return Series(stamps, series.values[first])


def check_gaps(recording: RunRecording) -> None:
    """Raise ``ResultsError`` where the IMU lost data."""
    if recording.imu is None:
        return
    times = recording.imu.time_s
    gap = longest_gap(recording.imu)
    if gap is not None:
        raise ResultsError(
            f"{recording.source}: imu: nothing for {times[gap + 1] - times[gap]:.3g} s after "
            f"{times[gap]:.3f} s, at {recording.imu.rate_hz:.0f} Hz; cut the recording there into "
            "two repetitions, or give segment_s, with which pieces that lack something are left out"
        )


def longest_gap(series: Series) -> Optional[int]:
    """The sample after which data were lost for longest; None where none were."""
    gaps = np.diff(series.time_s)
    longest = int(np.argmax(gaps))
    return longest if gaps[longest] > LONGEST_GAP / series.rate_hz else None


def is_complete(series: Series, begin_s: float, end_s: float) -> bool:
    """Whether it has samples from begin to end without a loss of data."""
    inner = series.between(begin_s, end_s).time_s
    if len(inner) < 2:
        return False
    longest = np.diff(np.concatenate([[begin_s], inner, [end_s]])).max()
    return bool(longest <= LONGEST_GAP / series.rate_hz)
