"""Recordings of several entries made alike: of one length in each case, in one band in all.

A range is an extreme value and a drift adds up: both grow with the length of the record, and the
range with its band. A simulator that was driven for longer, or whose sensor is faster, is not worse
for it.
"""

from dataclasses import dataclass, replace
from typing import Dict, Mapping, Sequence

from gz_testauto.fidelity.recordings.recording import BAND_HZ, BAND_OF_RATE, Recording

Entries = Mapping[str, Mapping[str, Sequence[Recording]]]
"""Repetitions by entry and case."""


@dataclass(frozen=True)
class Length:
    """That of all recordings of a case, and the source of the one that has no more."""

    duration_s: float
    shortest: str


@dataclass(frozen=True, eq=False)
class Alike:
    """Recordings by entry and case, with what they have in common. ``slowest`` is the source of the
    one whose sensor allows no wider band, empty where all allow the usual one."""

    entries: Entries
    lengths: Mapping[str, Length]
    band_hz: float
    slowest: str


def made_alike(entries: Entries) -> Alike:
    """Cut to the shortest of each case, in the band of the slowest sensor of all; recordings
    without channels, as those of a load, as they are."""
    every = [(case, one) for own in entries.values() for case in own for one in own[case]]
    lengths: Dict[str, Length] = {}
    band_hz, slowest = BAND_HZ, ""
    for case, one in every:
        if one.channels and (case not in lengths or one.duration_s < lengths[case].duration_s):
            lengths[case] = Length(one.duration_s, one.source)
        if one.imu is not None and BAND_OF_RATE * one.imu.rate_hz < 0.999 * band_hz:
            band_hz, slowest = BAND_OF_RATE * one.imu.rate_hz, one.source
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
    return Alike(cut, lengths, band_hz, slowest)
