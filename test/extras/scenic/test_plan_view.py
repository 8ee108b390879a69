"""The picture of a scene is readable, also with many objects."""

import itertools

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="the picture needs matplotlib, which Scenic brings")

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from gz_testauto.extras.scenic.names import SceneName
from gz_testauto.extras.scenic.plan_view import LARGE_SIDE_INCHES, _write_labels, short_name

pytestmark = pytest.mark.slow


def written(labels):
    """The boxes (pixels) of the names that are written, the frame's, and how many are left out."""
    figure = Figure(figsize=(LARGE_SIDE_INCHES, LARGE_SIDE_INCHES), dpi=100)
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_axes((0.09, 0.07, 0.88, 0.87))
    axes.set(xlim=(0, 30), ylim=(0, 30))
    canvas.draw()
    left_out = _write_labels(axes, labels)
    boxes = [text.get_window_extent(canvas.get_renderer()) for text in axes.texts]
    return boxes, axes.get_window_extent(canvas.get_renderer()), left_out


def test_a_hundred_names_in_a_plan_view_do_not_overlap():
    places = np.random.default_rng(1).uniform(0, 30, (100, 2))
    boxes, frame, left_out = written(
        [(f"cafe_table_{number}", x, y) for number, (x, y) in enumerate(places)]
    )
    assert left_out <= 5
    assert len(boxes) == 100 - left_out
    for one, other in itertools.combinations(boxes, 2):
        assert not one.padded(-0.5).overlaps(other.padded(-0.5))
    for box in boxes:
        assert frame.x0 <= box.x0 and box.x1 <= frame.x1
        assert frame.y0 <= box.y0 and box.y1 <= frame.y1


def test_names_omitted_from_a_plan_view_are_counted():
    boxes, _, left_out = written([("crate", 15.0, 15.0)] * 100)
    assert left_out == 100 - len(boxes)
    assert 5 < len(boxes) < 25


def test_a_plan_view_shows_the_short_name_of_a_drawn_object():
    assert short_name(SceneName("obstacle_waypoint_0", "waypoint", True)) == "waypoint_0"
    assert short_name(SceneName("wall_0", "wall", False)) == "wall_0"
