import dataclasses
from types import SimpleNamespace

from scripted import short_recording

from gz_testauto.trial.real_time_factor import low_factor_cause


def test_a_pace_just_below_the_limit_does_not_read_as_the_limit():
    recording = short_recording()
    slow = dataclasses.replace(recording, wall_time_s=recording.duration_s / 0.797)
    said = low_factor_cause(SimpleNamespace(least_real_time_factor=0.8), slow)
    assert said.startswith("real-time factor 0.79, below stack.min_real_time_factor = 0.8: ")
