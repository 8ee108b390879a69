"""Recordings of several entries made alike: of one length in each case, in one band in all.

A range is an extreme value and a drift adds up: both grow with the length of the record, and the
range with its band. A simulator that was driven for longer, or whose sensor is faster, is not worse
for it.
"""

from dataclasses import dataclass, replace
from typing import Dict, List, Mapping, Optional, Sequence

from gz_testauto.extras.simulator_comparison.recordings.recording import (
    BAND_HZ,
    BAND_OF_RATE,
    RunRecording,
)

LONGER = 1.05
"""Recordings that are longer by this factor are worth a word."""

Entries = Mapping[str, Mapping[str, Sequence[RunRecording]]]
"""Repetitions by entry and case."""


@dataclass(frozen=True)
class Length:
    """That of all recordings of a case, the source of the one that has no more, and how long the
    longest was."""

    duration_s: float
    shortest: str
    longest_s: float


@dataclass(frozen=True, eq=False)
class AlignedRecordings:
    """Recordings by entry and case, with what they have in common. ``slowest`` is the source of the
    one whose sensor allows no wider band, empty where all allow the usual one."""

    entries: Entries
    lengths: Mapping[str, Length]
    band_hz: float
    slowest: str

    @property
    def notes(self) -> List[str]:
        """What a reader is to know of it, in sentences."""
        told = [
            f"{case}: all are compared over {length.duration_s:.3g} s, as long as the shortest, "
            f"{length.shortest}."
            for case, length in self.lengths.items()
            if length.longest_s > LONGER * length.duration_s
        ]
        if self.slowest:
            told.append(
                f"Inertial samples are compared up to {self.band_hz:g} Hz, not {BAND_HZ:g}: "
                f"{self.slowest} has no faster ones."
            )
        return told


def align_recordings(entries: Entries) -> AlignedRecordings:
    """Cut to the shortest of each case, in the band of the slowest sensor of all; recordings
    without channels, as those of a load, as they are."""
    every = [(case, one) for own in entries.values() for case in own for one in own[case]]
    lengths: Dict[str, Length] = {}
    band_hz, slowest = BAND_HZ, ""
    for case, one in every:
        if one.channels:
            lengths[case] = _shorter(lengths.get(case), one)
        if one.imu is not None and round(BAND_OF_RATE * one.imu.rate_hz, 1) < band_hz:
            band_hz, slowest = round(BAND_OF_RATE * one.imu.rate_hz, 1), one.source
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


def _shorter(length: Optional[Length], one: RunRecording) -> Length:
    lasts_s = one.duration_s
    if length is None:
        return Length(lasts_s, one.source, lasts_s)
    longest_s = max(length.longest_s, lasts_s)
    if lasts_s < length.duration_s:
        return Length(lasts_s, one.source, longest_s)
    return replace(length, longest_s=longest_s)
