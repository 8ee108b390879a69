"""Files of recorded tracks, and the errors for invalid files."""

import json

import numpy as np
import pytest

from gz_testauto.base.errors import SpecError
from gz_testauto.extras.people import tracks
from gz_testauto.extras.people.tracks import read_tracks

CSV = "time,id,x,y\n0,7,1,2\n0.5,a,0,0\n0.5,7,2,2\n1,a,0,1\n"


def read(tmp_path, name, text, frame_rate_hz=None, scale=1.0, max_speed_mps=5.0):
    path = tmp_path / name
    path.write_text(text)
    return read_tracks(path, frame_rate_hz, scale, max_speed_mps)


def as_lists(read_tracks):
    return [(one.id, one.time_s.tolist(), one.points_m.tolist()) for one in read_tracks]


def test_csv_has_one_track_for_each_id(tmp_path):
    assert as_lists(read(tmp_path, "t.csv", CSV)) == [
        ("7", [0.0, 0.5], [[1.0, 2.0], [2.0, 2.0]]),
        ("a", [0.5, 1.0], [[0.0, 0.0], [0.0, 1.0]]),
    ]


def test_rows_can_have_any_order(tmp_path):
    head, *rows = CSV.splitlines()
    text = "\n".join([head, *rows[::-1]])
    assert sorted(as_lists(read(tmp_path, "t.csv", text))) == as_lists(read(tmp_path, "u.csv", CSV))


def test_headings_have_no_jumps(tmp_path):
    text = "time,id,x,y,heading\n0,1,0,0,3.1\n1,1,0,0,-3.1\n"
    (track,) = read(tmp_path, "t.csv", text)
    assert track.yaw_rad == pytest.approx([3.1, 2 * np.pi - 3.1])


@pytest.mark.parametrize("as_arrays", [False, True])
def test_json_has_the_columns_of_csv(tmp_path, as_arrays):
    names = ["time", "id", "x", "y"]
    rows = [[0, 7, 1, 2], [0.5, "a", 0, 0], [0.5, 7, 2, 2], [1, "a", 0, 1]]
    content = [dict(zip(names, row)) for row in rows]
    if as_arrays:
        content = {name: list(column) for name, column in zip(names, zip(*rows))}
    found = read(tmp_path, "t.json", json.dumps(content))
    assert as_lists(found) == as_lists(read(tmp_path, "t.csv", CSV))


@pytest.mark.parametrize(
    "text",
    [
        "# frame id x y\n0 1 1.0 2.0\n\n10\t1\t2.0\t3.0\n",
        " 0.0e+00 1.0000000e+00 1.0 9 2.0 5 5 5\n 1.0e+01 1.0000000e+00 2.0 9 3.0 5 5 5\n",
    ],
)
def test_text_files_of_eth_and_ucy_have_frames(tmp_path, text):
    found = read(tmp_path, "obsmat.txt", text, frame_rate_hz=25.0, scale=0.5)
    assert as_lists(found) == [("1", [0.0, 0.4], [[0.5, 1.0], [1.0, 1.5]])]


ROWS = "0,1,0,0\n1,1,1,0\n"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.csv", "", r"t\.csv:1: the columns are missing; they must be time,id,x,y or time"),
        ("t.csv", "time,id,x\n0,1,2\n", r"t\.csv:1: the columns are time,id,x; they must be"),
        ("t.csv", "time,id,x,y\n", r"t\.csv: the file has no samples; use another file"),
        (
            "t.csv",
            f"time,id,x,y\n{ROWS}2,1,2\n",
            r"t\.csv:4: the row has 3 columns, but .* correct",
        ),
        ("t.csv", f"time,id,x,y\n{ROWS}2,1,nan,0\n", r"t\.csv:4: x is 'nan'; it must be a number"),
        ("t.csv", f"time,id,x,y\n{ROWS}2,1,,0\n", r"t\.csv:4: x is ''; it must be a number"),
        ("t.csv", f"time,id,x,y\n{ROWS}1.7e9,1,2,0\n", r"t\.csv:4: time is '1\.7e9'; .* subtract"),
        ("t.csv", f"time,id,x,y\n{ROWS}2,,2,0\n", r"t\.csv:4: id is ''; it must be a text"),
        (
            "t.csv",
            f"time,id,x,y\n{ROWS}1,1,2,0\n",
            r"t\.csv:4: the track '1' has a second sample at the time 1 s; remove one",
        ),
        (
            "t.csv",
            f"time,id,x,y\n{ROWS}2,1,7,0\n",
            r"t\.csv:4: the track '1' moves 6\.00 m in 1 s, faster than 'max_speed_mps', 5 m/s; ",
        ),
        (
            "t.csv",
            f"time,id,x,y\n{ROWS}2,b,7,0\n3,c,7,0\n",
            r"t\.csv:4: the track 'b' has only one sample, as 1 others; remove such tracks: b, c$",
        ),
        ("t.json", "{", r"t\.json: the file is not JSON: .* line 1"),
        ("t.json", "3", r"t\.json: the file must have an array of objects"),
        (
            "t.json",
            '[{"time": 0, "id": 1, "x": 0}]',
            r"t\.json: sample 1: the columns are time,id,x",
        ),
        ("t.json", '{"time": [0], "id": [1], "x": [], "y": [1]}', r"must be arrays of one length"),
        (
            "t.json",
            '[{"time": 0, "id": 1, "x": NaN, "y": 0}]',
            r"t\.json: sample 1: x is 'nan'; it must be a number",
        ),
        (
            "t.json",
            '[{"time": 0, "id": [1], "x": 0, "y": 0}]',
            r"sample 1: id is \[1\]; it must be",
        ),
        (
            "t.txt",
            "0 1 2\n",
            r"t\.txt:1: the row has 3 columns; they must be frame id x y or frame",
        ),
        ("t.txt", "0 1 2 3\n1 1 2\n", r"t\.txt:2: the row has 3 columns, but the first row has 4"),
        ("t.txt", "0 1 2 3\n1 p 2 3\n", r"t\.txt:2: id is 'p'; it must be a number"),
    ],
)
def test_invalid_files_are_rejected_with_file_line_and_remedy(tmp_path, name, text, message):
    with pytest.raises(SpecError, match=message):
        read(tmp_path, name, text, 25.0 if name == "t.txt" else None)


def test_frames_need_a_rate_and_times_need_none(tmp_path):
    with pytest.raises(SpecError, match=r"t\.txt: .* has frames; add 'frame_rate_hz'"):
        read(tmp_path, "t.txt", "0 1 0 0\n")
    with pytest.raises(SpecError, match=r"t\.csv: the file has times .* remove 'frame_rate_hz'"):
        read(tmp_path, "t.csv", CSV, frame_rate_hz=25.0)


def test_missing_and_huge_files_are_rejected(tmp_path, monkeypatch):
    with pytest.raises(SpecError, match=r"none\.csv: cannot be read: No such file"):
        read_tracks(tmp_path / "none.csv", None, 1.0, 5.0)
    monkeypatch.setattr(tracks, "MOST_BYTES", 10)
    with pytest.raises(SpecError, match=r"t\.csv: the file has .* MB; keep fewer tracks"):
        read(tmp_path, "t.csv", CSV)
