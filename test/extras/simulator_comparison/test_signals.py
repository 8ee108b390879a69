"""Signals of sensors with different rates, compared in one band."""

import numpy as np
import pytest
from synthetic import clock, drive

from gz_testauto.extras.simulator_comparison.measures.inertial import inertial
from gz_testauto.extras.simulator_comparison.recordings.recording import (
    RunRecording,
    Series,
    align_recordings,
)
from gz_testauto.extras.simulator_comparison.signals import RATE_HZ, find_delay, in_band


def tone(frequency_hz, rate_hz, duration_s=20.0):
    time_s = clock(duration_s, rate_hz)
    return Series(time_s, np.tile(np.sin(2 * np.pi * frequency_hz * time_s)[:, None], (1, 6)))


def amplitude(values):
    """Return the amplitude of a tone, without the ends of the recording."""
    return np.sqrt(2.0) * values[200:-200, 0].std()


@pytest.mark.parametrize("rate_hz", [50.0, 99.7, 200.0, 1000.0])
def test_signals_within_the_band_do_not_depend_on_the_sensor_rate(rate_hz):
    expected = amplitude(in_band(tone(15.0, RATE_HZ), 20.0))
    assert amplitude(in_band(tone(15.0, rate_hz), 20.0)) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("frequency_hz", [90.0, 205.0, 488.0])
def test_signals_above_the_band_cause_no_aliasing(frequency_hz):
    assert amplitude(in_band(tone(frequency_hz, 1000.0), 20.0)) < 0.005


def test_jitter_of_stamps_causes_no_oscillation():
    """Samples arrive in pairs, with a short gap between the two samples."""
    exact = tone(5.0, RATE_HZ)
    stamps = exact.time_s.copy()
    stamps[1::2] = stamps[::2][: len(stamps[1::2])] + 1e-5
    found = in_band(Series(stamps, exact.values), 20.0)
    assert np.abs(found).max() < 1.5


def test_short_recording_of_a_fast_sensor_is_filtered_at_both_ends():
    """The signal is a constant plus a tone above the band, of which only the constant remains."""
    series = tone(200.0, 1000.0, 2.0)
    found = in_band(Series(series.time_s, series.values + 3.0), 20.0)
    assert found == pytest.approx(3.0, abs=0.2)


def test_all_recordings_of_a_case_are_cut_to_the_shortest():
    def own(*durations):
        return tuple(drive(number, duration_s=one) for number, one in enumerate(durations))

    found = align_recordings(
        {
            "real": {"flat/a": own(10.0, 8.0), "flat/b": own(5.0)},
            "other": {"flat/a": own(4.0)},
        }
    )
    assert found.lengths["flat/a"].duration_s == pytest.approx(3.99)
    assert found.lengths["flat/a"].shortest == "drive 0"
    assert {len(one.imu.time_s) for one in found.entries["real"]["flat/a"]} == {400}
    assert len(found.entries["real"]["flat/b"][0].imu.time_s) == 500
    assert (found.band_hz, found.slowest) == (20.0, "")
    (note,) = found.notes
    assert note.startswith("flat/a: ") and "over 3.99 s" in note and "drive 0" in note


def test_slowest_sensor_limits_the_common_band():
    slow = RunRecording("slow", imu=tone(1.0, 30.0))
    found = align_recordings({"real": {"flat/a": (slow,)}, "other": {"flat/b": (drive(1),)}})
    assert found.band_hz == pytest.approx(12.0)
    assert found.slowest == "slow"
    (note,) = found.notes
    assert "12 Hz instead of 20 Hz" in note and "slow" in note
    for own in found.entries.values():
        for recordings in own.values():
            assert recordings[0].band_hz == pytest.approx(12.0)
    loud = RunRecording("loud", imu=tone(18.0, 100.0), band_hz=12.0)
    assert amplitude(inertial(loud)) < 0.1


def test_delay_beyond_the_limit_is_undetermined():
    time_s = np.arange(0.0, 12.0, 0.01)
    first, second = (np.sin(2 * np.pi * (time_s - delay_s) / 5.0) for delay_s in (0.0, 1.2))
    assert find_delay(first, second, 130) == 120
    assert find_delay(first, second, 100) is None
