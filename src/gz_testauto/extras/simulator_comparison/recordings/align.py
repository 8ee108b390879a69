"""Alignment of the recordings of several entries: one duration per case and one band for all.

A range is an extreme value and a drift accumulates: both grow with the duration of a recording, and
the range with its band. Without alignment, a simulator with longer recordings or a faster sensor
would score worse.
"""

from dataclasses import dataclass, replace
from typing import Dict, List, Mapping, Sequence

from gz_testauto.extras.simulator_comparison.recordings.recording import (
    BAND_HZ,
    BAND_OF_RATE,
    RunRecording,
)

LONGER = 1.05
"""Recordings that are longer by this factor are reported."""

Entries = Mapping[str, Mapping[str, Sequence[RunRecording]]]
"""Repetitions by entry and case."""


@dataclass(frozen=True)
class Length:
    """Common duration of the recordings of a case, the source of the shortest, and the longest
    duration."""

    duration_s: float
    shortest: str
    longest_s: float


@dataclass(frozen=True, eq=False)
class AlignedRecordings:
    """Recordings by entry and case, with their common properties. ``slowest`` is the source of the
    recording whose sensor limits the band, empty if all allow the default one."""

    entries: Entries
    lengths: Mapping[str, Length]
    band_hz: float
    slowest: str

    @property
    def notes(self) -> List[str]:
        """Sentences for the report."""
        sentences = [
            f"{case}: all are compared over {length.duration_s:.3g} s, as long as the shortest, "
            f"{length.shortest}."
            for case, length in self.lengths.items()
            if length.longest_s > LONGER * length.duration_s
        ]
        if self.slowest:
            sentences.append(
                f"Inertial samples are compared up to {self.band_hz:g} Hz, not {BAND_HZ:g}: "
                f"{self.slowest} has a slower sensor."
            )
        return sentences


def align_recordings(entries: Entries) -> AlignedRecordings:
    """Cut all recordings to the shortest of each case, and limit the band to that of the slowest
    sensor. Recordings without channels, such as those of cost, are unchanged."""
    by_case: Dict[str, List[RunRecording]] = {}
    band_hz, slowest = BAND_HZ, ""
    for own in entries.values():
        for case, recordings in own.items():
            by_case.setdefault(case, []).extend(one for one in recordings if one.channels)
            for one in recordings:
                if one.imu is not None and round(BAND_OF_RATE * one.imu.rate_hz, 1) < band_hz:
                    band_hz, slowest = round(BAND_OF_RATE * one.imu.rate_hz, 1), one.source
    lengths = {case: _common_length(found) for case, found in by_case.items() if found}
    cut = {
        name: {
            case: tuple(
                replace(one.between(0.0, lengths[case].duration_s), band_hz=band_hz)
                if one.channels
                else one
                for one in own[case]
            )
            for case in own
        }
        for name, own in entries.items()
    }
    return AlignedRecordings(cut, lengths, band_hz, slowest)


def _common_length(recordings: Sequence[RunRecording]) -> Length:
    durations_s = [one.duration_s for one in recordings]
    shortest = durations_s.index(min(durations_s))
    return Length(durations_s[shortest], recordings[shortest].source, max(durations_s))
