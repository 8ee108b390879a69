"""Recordings that are read from files."""

import csv
import json
import os
import re
from decimal import Decimal

import numpy as np
import pytest
import yaml
from bags import EPOCH, as_bag
from synthetic import drive

from gz_testauto.base.errors import ResultsError
from gz_testauto.cli.main import main
from gz_testauto.extras.simulator_comparison.recordings.bag_file import read_topics
from gz_testauto.extras.simulator_comparison.recordings.csv_file import (
    read_columns,
    write_channels,
)
from gz_testauto.extras.simulator_comparison.recordings.read import read_recordings
from gz_testauto.extras.simulator_comparison.recordings.spec import RecordingSpec
from gz_testauto.extras.simulator_comparison.spec import BenchSpec
from gz_testauto.spec.loader import load


def speeding(time_s):
    return 0.5 + 0.2 * np.sin(0.9 * time_s)


def as_csv(recording, folder):
    return {name: str(path) for name, path in write_channels(recording, folder).items()}


def test_recording_is_read_with_the_specified_units_axes_and_columns(tmp_path):
    recording = drive(1, noise=0.1)
    imu = recording.imu
    path = tmp_path / "imu.csv"
    with open(path, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["note", "stamp", "gx", "gy", "gz", "fx", "fy", "fz"])
        for time_s, (wx, wy, wz, ax, ay, az) in zip(imu.time_s.tolist(), imu.values.tolist()):
            turned = np.degrees([wx, -wy, -wz])
            force = np.array([ax, -ay, -az]) / 9.80665
            stamp = (EPOCH + Decimal(repr(round(time_s, 6)))) * 10**9
            rows.writerow(["", int(stamp), *turned.tolist(), *force.tolist()])
    spec = RecordingSpec.model_validate(
        {
            "imu": {
                "columns": {
                    "time": "stamp",
                    "angular": ["gx", "gy", "gz"],
                    "linear": ["fx", "fy", "fz"],
                },
                "units": {"time": "ns", "angular": "deg/s", "linear": "g"},
                "axes": ["x", "-y", "-z"],
            },
            "cases": {"straight": [path]},
        }
    )
    (read,) = read_recordings(spec)["straight"]
    assert read.imu.time_s == pytest.approx(imu.time_s, abs=1e-9)
    assert read.imu.values == pytest.approx(imu.values, abs=1e-9)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("t,wx\n0,1\n", r"imu.csv:1: unknown column 'time_s'"),
        ("", r"imu.csv:1: unknown column 'time_s'"),
        ("time_s,{}\n0,1,2,3,4,5\n", r"imu.csv:2: .* 6 columns, .* 7"),
        ("time_s,{}\n0,1,2,3,4,5,x\n", r"imu.csv:2: .* not a number"),
        ("time_s,{}\n", r"imu.csv: .* no samples"),
    ],
)
def test_csv_files_with_invalid_contents_are_rejected(tmp_path, text, says):
    columns = "wx_radps,wy_radps,wz_radps,ax_mps2,ay_mps2,az_mps2"
    (tmp_path / "imu.csv").write_text(text.format(columns))
    spec = RecordingSpec.model_validate({"cases": {"straight": [tmp_path / "imu.csv"]}})
    with pytest.raises(ResultsError, match=says):
        read_recordings(spec)


def test_an_invalid_bag_and_a_missing_topic_are_rejected(tmp_path):
    recording = drive(1, speed_mps=speeding, noise=0.1)
    bag = as_bag(recording, tmp_path / "one.bag", "ROS 1")

    def read(path, **imu):
        drives = {"straight": [path]}
        read_recordings(RecordingSpec.model_validate({"imu": imu, "cases": drives}))

    with pytest.raises(ResultsError, match=r"unknown topic '/imu'.*Known: /imu/data, /pose"):
        read(tmp_path / "one.bag", topic="/imu")
    with pytest.raises(ResultsError, match=r"/pose .* geometry_msgs/msg/PoseStamped, but imu"):
        read(tmp_path / "one.bag", topic="/pose")
    with pytest.raises(ResultsError, match=r"is a rosbag; .* 'imu.topic'"):
        read(tmp_path / "one.bag")
    (tmp_path / "cut.bag").write_bytes((tmp_path / "one.bag").read_bytes()[:5000])
    with pytest.raises(ResultsError, match=r"cut.bag: .* cannot be read as a rosbag"):
        read(tmp_path / "cut.bag", topic="/imu/data")
    assert bag


@pytest.mark.parametrize(
    ("heading", "line", "named"),
    [
        ("# a comment\n# t x y qx qy qz qw\n", "{t} {x} {y} 0 0 {qz} {qw}\n", ["t", "x", "y"]),
        ("", "{t} {x} {y} 0 0 {qz} {qw}\n", ["1", "2", "3"]),
        ("#t,x,y,qx,qy,qz,qw\n", "{t},{x},{y},0,0,{qz},{qw}\n", ["#t", "x", "y"]),
        ("t; x; y; qx; qy; qz; qw\n", "{t};{x};{y};0;0;{qz};{qw}\n", ["t", "x", "y"]),
        ("t\tx\ty\tqx\tqy\tqz\tqw\n", "{t}\t{x}\t{y}\t0\t0\t{qz}\t{qw}\n", ["t", "x", "y"]),
        ("t,x,y,qx,qy,qz,qw\n", "{t},,,,,,\n{t},{x},{y},0,0,{qz},{qw}\n", ["t", "x", "y"]),
    ],
)
def test_trajectory_files_with_any_separator_are_read(tmp_path, heading, line, named):
    """Columns are separated by commas, semicolons, tabs or spaces. A comment or no line names them.
    Rows of other channels are in between."""
    recording = drive(1, duration_s=2.0, speed_mps=speeding)
    way = recording.odometry
    path = tmp_path / "way.txt"
    lines = [
        line.format(t=EPOCH + Decimal(repr(t)), x=x, y=y, qz=np.sin(yaw / 2), qw=np.cos(yaw / 2))
        for t, (x, y, yaw) in zip(way.time_s.tolist(), way.values.tolist())
    ]
    path.write_text(heading + "".join(lines))
    turned = ["4", "5", "6", "7"] if named[0] == "1" else ["qx", "qy", "qz", "qw"]
    columns = {**dict(zip(("time", "x", "y"), named)), "quaternion": turned}
    spec = {"imu": None, "odometry": {"columns": columns}, "cases": {"straight": [path]}}
    (read,) = read_recordings(RecordingSpec.model_validate(spec))["straight"]
    assert read.odometry.time_s == pytest.approx(way.time_s, abs=1e-9)
    assert read.odometry.values == pytest.approx(way.values, abs=1e-9)


def test_odometry_in_a_file_with_all_channels_is_read_without_a_setting(tmp_path):
    recording = drive(1, duration_s=2.0, speed_mps=speeding)
    channels = recording.imu, recording.odometry
    table = np.column_stack([recording.imu.time_s, *(one.values for one in channels)])
    heading = "time_s,wx_radps,wy_radps,wz_radps,ax_mps2,ay_mps2,az_mps2,x_m,y_m,yaw_rad"
    path, inertial_only = tmp_path / "all.csv", tmp_path / "imu.csv"
    np.savetxt(path, table, delimiter=",", header=heading, comments="")
    np.savetxt(inertial_only, table[:, :7], delimiter=",", header=heading[:-16], comments="")
    spec = RecordingSpec.model_validate({"cases": {"a": [path], "b": [inertial_only]}})
    read = read_recordings(spec)
    assert read["a"][0].odometry.values == pytest.approx(recording.odometry.values, abs=1e-12)
    assert read["b"][0].odometry is None


def test_samples_that_are_out_of_order_are_sorted(tmp_path):
    recording = drive(1, noise=0.1)
    files = as_csv(recording, tmp_path)
    heading, *rows = (tmp_path / "imu.csv").read_text().splitlines(keepends=True)
    rows[10], rows[12] = rows[12], rows[10]
    (tmp_path / "imu.csv").write_text("".join([heading, *rows[:50], rows[49], *rows[50:]]))
    spec = RecordingSpec.model_validate({"cases": {"straight": [files]}})
    (read,) = read_recordings(spec)["straight"]
    assert np.array_equal(read.imu.values, recording.imu.values)
    (tmp_path / "imu.csv").write_text("".join([heading, *rows[500:], *rows[:500]]))
    with pytest.raises(
        ResultsError, match=r"imu.csv: imu: sample 501 is not later than .* clock was"
    ):
        read_recordings(spec)


def test_left_handed_axes_are_rejected():
    with pytest.raises(ValueError, match=r"left-handed; .* x, -z, y"):
        RecordingSpec.model_validate({"imu": {"axes": ["x", "z", "y"]}, "cases": {"a": ["b.csv"]}})


def test_a_long_recording_is_cut_into_complete_segments(tmp_path):
    recording = drive(1, duration_s=20.0, speed_mps=speeding, noise=0.1)
    files = as_csv(recording, tmp_path / "whole")
    rows = (tmp_path / "whole" / "imu.csv").read_text().splitlines(keepends=True)
    (tmp_path / "whole" / "imu.csv").write_text("".join(rows[:701] + rows[801:]))  # 1 s is lost

    def read(**more):
        drives = {"flat/weave": [files]}
        spec = {"imu": {}, "odometry": {}, "cases": drives, **more}
        return read_recordings(RecordingSpec.model_validate(spec))["flat/weave"]

    with pytest.raises(ResultsError, match=r"gap of 1\.01 s after t = 6\.990 s.* 'segment_s'"):
        read()
    pieces = read(segment_s=5)
    assert [piece.source.split(" from ")[1] for piece in pieces] == ["0 s", "10 s"]
    assert all(piece.imu.time_s[0] == 0.0 for piece in pieces)
    assert pieces[1].imu.values[0].tolist() == recording.imu.values[1000].tolist()
    assert pieces[1].odometry.values[0].tolist() == recording.odometry.values[1000].tolist()
    some = read(segment_s=1, max_segments=3)
    assert [piece.source.split(" from ")[1] for piece in some] == ["0 s", "9 s", "18 s"]
    with pytest.raises(ResultsError, match=r"contains no segment of 100 s without a loss of data"):
        read(segment_s=100)


def bench_file(folder, **changes):
    files = [as_csv(drive(i, noise=0.1, speed_mps=speeding), folder / str(i)) for i in range(8)]
    channels = {"imu": {}, "odometry": {}}
    features = {"free": True, "source": "its page", "date": "2026-11-01"}
    data = {
        "name": "bench",
        "entries": [
            {"name": "real", "recording": {**channels, "cases": {"flat/weave": files[:4]}}},
            {
                "name": "other",
                "recording": {**channels, "cases": {"flat/weave": files[4:]}},
                "features": features,
            },
            {"name": "told", "published": {"imu_linear_error": 5.0}, "features": features},
        ],
        "reference": "real",
        "reference_is_robot": True,
        "weights": {"free": 1, "imu_linear_error": 2, "pose_drift": 1},
        **changes,
    }
    file = folder / "bench.yaml"
    file.write_text(yaml.safe_dump(data))
    return file


@pytest.mark.slow
def test_compare_prints_and_writes_its_findings(tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["simulators", "compare", str(bench_file(tmp_path)), "--out", str(out)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "with recordings of the robot real." in said
    assert "ties with the reference" in said
    assert "pose_drift does not count, because it is unknown for told." in said
    data = json.loads((out / "findings.json").read_text())
    assert data["ranking"]["winner"] == "other"
    entry = data["measures"]["imu_linear_error"]["entries"]["other"]
    assert entry["low"] <= entry["value"] <= entry["high"]
    rows = list(csv.DictReader((out / "measures.csv").open()))
    assert {"imu_linear_error", "pose_drift"} <= {row["measure"] for row in rows}
    page = (out / "report.html").read_text()
    assert "<script" not in page
    assert "other is the winner" in page and "flat/weave" in page


@pytest.mark.slow
def test_baseline_is_measured_and_not_ranked(tmp_path, capsys):
    shaken = [as_csv(drive(i, noise=0.8, speed_mps=speeding), tmp_path / f"s{i}") for i in range(4)]
    data = yaml.safe_load(bench_file(tmp_path).read_text())
    data["entries"][2] = {
        "name": "shaken",
        "recording": {"imu": {}, "odometry": {}, "cases": {"flat/weave": shaken}},
    }
    file = tmp_path / "with_baseline.yaml"

    def said(baseline):
        file.write_text(yaml.safe_dump({**data, "baseline": baseline}))
        assert main(["simulators", "compare", str(file), "--out", str(tmp_path / baseline)]) == 0
        ranking = json.loads((tmp_path / baseline / "findings.json").read_text())["ranking"]
        return " ".join(capsys.readouterr().out.split()), list(ranking["entries"])

    text, ranked = said("shaken")
    assert ranked == ["other"]
    assert "shaken is not ranked: it is the baseline." in text
    assert "baseline shaken in all measures: other." in text
    text, ranked = said("other")
    assert ranked == ["shaken"]
    (behind,) = re.findall(
        r"shaken is not closer .* baseline other in these measures: ([a-z_, ]+)\.", text
    )
    assert {"imu_linear_error", "vertical_wasserstein"} <= set(behind.split(", "))


@pytest.mark.slow
def test_comparison_without_a_real_robot_states_agreement(tmp_path, capsys):
    file = bench_file(tmp_path, reference_is_robot=False)
    assert main(["simulators", "compare", str(file), "--out", str(tmp_path / "out")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "They state agreement with it, not accuracy." in said


def test_an_imported_recording_has_the_same_values(tmp_path, capsys):
    file = bench_file(tmp_path)
    out = tmp_path / "imported"
    assert main(["simulators", "import", str(file), "real", "--out", str(out)]) == 0
    spec = load(file, BenchSpec).entry("real").recording
    folder = out / "flat" / "weave" / "0"
    again = {"imu": folder / "imu.csv", "odometry": folder / "odometry.csv"}
    copied = spec.model_copy(update={"cases": {"flat/weave": (again,)}})
    (read,), first = read_recordings(copied)["flat/weave"], read_recordings(spec)["flat/weave"][0]
    assert np.array_equal(read.imu.values, first.imu.values)
    assert np.array_equal(read.odometry.time_s, first.odometry.time_s)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"reference": "reel"}, r"reference: unknown name 'reel'; did you mean 'real'"),
        ({"reference": "told"}, r"reference: told has no recording"),
        ({"weights": {"speed": 1}}, r"weights: unknown name 'speed'"),
        ({"weights": {"free": 0}}, r"weights: all are 0"),
        ({"weights": {"free": -1}}, r"weights.free is -1; it must be >= 0"),
        ({"entries": [{"name": "a"}, {"name": "a"}]}, r"entries: a appears more than once"),
    ],
)
def test_inconsistent_comparison_is_rejected(tmp_path, capsys, changes, says):
    file = bench_file(tmp_path, **changes)
    assert main(["simulators", "compare", str(file), "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert str(file) in error
    assert re.search(says, error), error


@pytest.mark.timeout(30)
def test_pipes_are_rejected_without_waiting(tmp_path):
    for name in ("pipe.csv", "pipe.bag"):
        os.mkfifo(tmp_path / name)
    with pytest.raises(ResultsError, match=r"pipe\.csv: cannot be read: .*not a regular file"):
        read_columns(tmp_path / "pipe.csv", "time_s", ["x_m"])
    with pytest.raises(ResultsError, match=r"pipe\.bag: cannot be read: .*not a regular file"):
        read_topics(tmp_path / "pipe.bag", {"odometry": "/odom"})


def test_file_for_a_channel_without_a_key_is_rejected(tmp_path):
    files = as_csv(drive(1, speed_mps=speeding), tmp_path)
    spec = RecordingSpec.model_validate({"imu": {}, "cases": {"straight": [files]}})
    with pytest.raises(ResultsError, match=r"odometry\.csv: .* channel 'odometry'.*odometry: \{\}"):
        read_recordings(spec)


@pytest.mark.parametrize("stamp", ["nan", "inf", "-inf", "1e999999999", "sNaN"])
def test_time_that_is_not_finite_is_rejected_with_its_line(tmp_path, stamp):
    (tmp_path / "odometry.csv").write_text(f"time_s,x_m\n0.0,1\n{stamp},2\n")
    with pytest.raises(ResultsError, match=rf"odometry\.csv:3: .*{stamp}"):
        read_columns(tmp_path / "odometry.csv", "time_s", ["x_m"])
