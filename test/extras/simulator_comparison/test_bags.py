"""The same recording, read from a rosbag and from CSV files."""

import numpy as np
import pytest
from bags import KINDS, READ, as_bag
from synthetic import drive

from gz_testauto.extras.simulator_comparison.findings import evaluate_bench
from gz_testauto.extras.simulator_comparison.recordings.csv_file import write_channels
from gz_testauto.extras.simulator_comparison.recordings.read import read_recordings
from gz_testauto.extras.simulator_comparison.recordings.recording import RunRecording, Series
from gz_testauto.extras.simulator_comparison.recordings.spec import RecordingSpec
from gz_testauto.extras.simulator_comparison.report.export import findings_to_json
from gz_testauto.extras.simulator_comparison.spec import BenchSpec


def speeding(time_s):
    return 0.5 + 0.2 * np.sin(0.9 * time_s)


def with_all_channels(seed):
    recording = drive(seed, duration_s=5.0, speed_mps=speeding, noise=0.1)
    time_s, turned = recording.imu.time_s[::5], recording.imu.values[::5, 2]
    speed = speeding(time_s)
    wheels = np.column_stack([speed - 0.25 * turned, speed + 0.25 * turned])
    channels = {
        **recording.channels,
        "wheels": Series(time_s, wheels),
        "command": Series(time_s, np.column_stack([speed, turned])),
    }
    return RunRecording.of(f"drive {seed}", channels)


def numbers(data, where=""):
    """Return all numbers in nested results by their position; None is included."""
    if isinstance(data, dict):
        return {k: v for key in data for k, v in numbers(data[key], f"{where}/{key}").items()}
    if isinstance(data, list):
        return numbers(dict(enumerate(data)), where)
    return {} if isinstance(data, str) else {where: data}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_bag_and_csv_files_of_one_run_give_equal_measures(tmp_path, kind):
    recordings = [with_all_channels(seed) for seed in range(4)]
    ending = ".bag" if kind == "ROS 1" else ""
    bags = [as_bag(one, tmp_path / f"bag_{i}{ending}", kind) for i, one in enumerate(recordings)]
    written = [write_channels(one, tmp_path / str(i)) for i, one in enumerate(recordings)]
    files = [{name: str(path) for name, path in one.items()} for one in written]
    plain = {channel: {} for channel in READ}
    found = []
    for channels, drives in ((READ, bags), (plain, files)):
        entries = [
            {"name": "real", "recording": {**channels, "cases": {"flat/rest": drives[:2]}}},
            {"name": "other", "recording": {**channels, "cases": {"flat/rest": drives[2:]}}},
        ]
        bench = {"name": "b", "entries": entries, "reference": "real", "reference_is_robot": True}
        weights = {"imu_linear_error": 1, "pose_drift": 1}
        spec = BenchSpec.model_validate({**bench, "weights": weights})
        data = findings_to_json(evaluate_bench(spec))
        found.append(numbers({key: data[key] for key in ("ranking", "measures", "band_hz")}))
    assert found[0].keys() == found[1].keys()
    assert sum(value is not None for value in found[0].values()) > 60
    for where, value in found[0].items():
        expected = found[1][where]
        same = (
            value is expected
            if value is None or expected is None
            else (abs(value - expected) <= 1e-9)
        )
        assert same, (where, value, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_all_channels_of_a_bag_are_read_with_the_written_values(tmp_path, kind):
    recording = with_all_channels(1)
    bag = as_bag(recording, tmp_path / ("one.bag" if kind == "ROS 1" else "one"), kind)
    (read,) = read_recordings(RecordingSpec.model_validate({**READ, "cases": {"a/b": [bag]}}))[
        "a/b"
    ]
    for channel, series in recording.channels.items():
        again = read.channels[channel]
        assert again.time_s == pytest.approx(series.time_s, abs=1e-9)
        assert again.values == pytest.approx(series.values, abs=1e-12)
