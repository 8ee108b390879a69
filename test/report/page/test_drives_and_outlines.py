import dataclasses

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from scripted import short_recording

from gz_testauto.metrics.recording import PLAN_SERIES, TF_SERIES
from gz_testauto.report.page import encoding
from gz_testauto.report.page.encoding import ShapeTable, thinned_trajectory


def decoded(numbers):
    return np.cumsum(numbers) / 1000


def wandering(seed, samples=400):
    generator = np.random.default_rng(seed)
    time_s = 0.05 * np.arange(samples)
    rate = np.cumsum(generator.normal(0, 0.1, samples))
    yaw = np.cumsum(rate) * 0.05
    speed = np.abs(np.sin(time_s)) + generator.normal(0, 0.01, samples)
    x, y = np.cumsum(speed * np.cos(yaw)) * 0.05, np.cumsum(speed * np.sin(yaw)) * 0.05
    return dataclasses.replace(
        short_recording(),
        time_s=time_s,
        pose=np.column_stack([x, y, np.angle(np.exp(1j * yaw))]),
        twist=np.column_stack([speed, 0 * speed, rate]),
        command=np.full((samples, 2), np.nan),
        clearance_m=np.abs(np.cumsum(generator.normal(0, 0.05, samples))),
    )


@pytest.mark.slow
@given(st.integers(0, 1000))
def test_a_thinned_trajectory_differs_from_the_recording_by_its_tolerances_at_most(seed):
    recording = wandering(seed)
    drive = thinned_trajectory(recording)
    time_s, x, y, yaw = map(decoded, drive["path"])
    rounding = 0.0011  # of values, and of times in ms at up to 1 m/s
    columns = (
        (x, recording.pose[:, 0], encoding.POSITION_M),
        (y, recording.pose[:, 1], encoding.POSITION_M),
        (yaw, np.unwrap(recording.pose[:, 2]), encoding.YAW_RAD),
    )
    for kept, true, tolerance in columns:
        off = np.abs(np.interp(recording.time_s, time_s, kept) - true)
        assert off.max() <= tolerance + rounding
    for name, true, tolerance in (
        ("clearance", recording.clearance_m, encoding.CLEARANCE_M),
        ("speed", np.abs(recording.twist[:, 0]), encoding.SPEED_MPS),
        ("yaw_rate", recording.twist[:, 2], encoding.YAW_RATE_RADPS),
    ):
        kept_s, kept = map(decoded, drive[name])
        off = np.abs(np.interp(recording.time_s, kept_s, kept) - true)
        assert off.max() <= tolerance + rounding


def test_a_straight_drive_at_one_speed_is_two_samples():
    drive = thinned_trajectory(short_recording())
    assert drive["path"] == [[0, 1900], [0, 1900], [0, 0], [0, 0]]
    assert drive["speed"] == [[0, 1900], [1000, 0]]


@pytest.mark.parametrize("hole", [np.inf, np.nan])
def test_an_unknown_clearance_is_omitted(hole):
    clearance = np.full(20, hole)
    nowhere = dataclasses.replace(short_recording(), clearance_m=clearance)
    assert thinned_trajectory(nowhere)["clearance"] == [[], []]


def test_equal_shapes_at_several_positions_are_stored_once():
    shapes = ShapeTable()
    box = shapely.box(0, 0, 0.5, 0.25)
    places = [(1.0, 2.0), (-3.0, 0.001), (7.0, 8.0)]
    moved = [shapely.affinity.translate(box, *place) for place in places]
    placed = shapes.place(moved)
    assert len(shapes.shapes) == 1
    assert placed == [0, 1000, 2000, 0, -3000, 1, 0, 7000, 8000]


def test_a_drawn_outline_covers_the_area_of_the_obstacle():
    shapes = ShapeTable()
    disc = shapely.Point(2, 3).buffer(0.4, quad_segs=32)
    yard = shapely.box(0, 0, 4, 4).difference(shapely.box(1, 1, 3, 3))
    placed = shapes.place([disc, shapely.MultiPolygon([yard])])
    assert shapes.shapes[0] == {"r": 400} and placed[:3] == [0, 2000, 3000]
    outer, inner = (np.reshape(ring, (-1, 2)) / 1000 for ring in shapes.shapes[1]["p"])
    drawn = shapely.Polygon(outer, [inner])
    assert drawn.symmetric_difference(yard).area < 1e-9


def test_pose_in_tf_and_plans_of_a_stack_are_encoded():
    recording = short_recording()
    assert not {"tf", "plans"} & set(thinned_trajectory(recording))
    poses = np.add(recording.pose, (0.1, 0.0, 0.0))
    poses[-1] = np.nan
    plans = np.array([(0.0, 0.0, 0.0), (0.0, 2.0, 0.0), (0.0, 2.0, 3.0), (0.5, 1.0, 1.0)])
    series = {
        **recording.series,
        TF_SERIES: poses,
        PLAN_SERIES["global"]: plans.astype(np.float32),
        PLAN_SERIES["local"]: np.zeros((0, 3), np.float32),
    }
    drive = thinned_trajectory(dataclasses.replace(recording, series=series))
    times, xs = (np.cumsum(values) / 1000 for values in drive["tf"][:2])
    assert times[-1] == pytest.approx(recording.time_s[-2])
    assert xs[0] == pytest.approx(recording.pose[0, 0] + 0.1)
    assert list(drive["plans"]) == ["global"]
    times, counts, xs, ys = drive["plans"]["global"]
    assert (np.cumsum(times).tolist(), counts) == ([0, 500], [3, 1])
    assert np.cumsum([xs, ys], axis=1).T.tolist() == [[0, 0], [2000, 0], [2000, 3000], [1000, 1000]]
