"""The gap array and the gap center angle, against values worked out by hand."""

import math

import numpy as np
import pytest

from gz_testauto.base.elementary import arcsin, arctan2
from gz_testauto.planners.fgm import Gap, find_gaps, median_angle

HALF_CIRCLE = math.pi


def at(distance_m, bearing_deg):
    bearing = math.radians(bearing_deg)
    return (distance_m * math.cos(bearing), distance_m * math.sin(bearing))


def test_gap_center_equals_values_computed_by_hand():
    # Sezer & Gokasan (2012): d1 = 2 m at φ1 = 45° right, d2 = 1 m at φ2 = 45° left. The median
    # ends at the middle of (√2, -√2) and (√½, √½): (3√2/4, -√2/4), so its direction is
    # atan(-1/3) = -18.4349°.
    gap = Gap(right_rad=-math.pi / 4, left_rad=math.pi / 4, right_m=2.0, left_m=1.0)
    assert gap.center_rad == pytest.approx(math.atan(-1 / 3), abs=1e-12)


def test_gap_center_equals_the_formula_of_the_paper():
    d1, d2, phi1, phi2 = 3.1, 1.7, math.radians(20), math.radians(50)
    total = phi1 + phi2
    length = math.sqrt(d1**2 + d2**2 + 2 * d1 * d2 * math.cos(total))
    expected = math.acos((d1 + d2 * math.cos(total)) / length) - phi1
    assert Gap(-phi1, phi2, d1, d2).center_rad == pytest.approx(expected, abs=1e-12)


def test_gap_center_of_equally_distant_borders_is_the_bisector():
    assert Gap(-0.2, 0.8, 2.5, 2.5).center_rad == pytest.approx(0.3)


def test_gap_center_of_opposite_borders_is_the_bisector():
    assert median_angle(1.0, 3.0, math.pi) == pytest.approx(math.pi / 2)
    assert median_angle(1.0, 3.0, 1.5 * math.pi) == pytest.approx(0.75 * math.pi)


def test_n_obstacles_leave_n_plus_one_gaps():
    points = np.array([at(2.0, -60), at(2.0, 0), at(2.0, 60)])
    gaps = find_gaps(points, radius_m=0.5, horizon_m=5.0, field_of_view_rad=HALF_CIRCLE)
    assert len(gaps) == 4
    assert [gap.right_rad for gap in gaps] == sorted(gap.right_rad for gap in gaps)


def test_borders_are_the_tangents_to_the_enlarged_obstacles():
    # A circle of 1 m at 2 m hides arcsin(1/2) = 30° on each side; the tangent is √3 m long.
    points = np.array([at(2.0, -60), at(2.0, 60)])
    gaps = find_gaps(points, radius_m=1.0, horizon_m=5.0, field_of_view_rad=HALF_CIRCLE)
    assert len(gaps) == 1
    assert gaps[0].right_rad == pytest.approx(math.radians(-30))
    assert gaps[0].left_rad == pytest.approx(math.radians(30))
    assert gaps[0].right_m == pytest.approx(math.sqrt(3))
    assert gaps[0].left_m == pytest.approx(math.sqrt(3))


def test_borders_that_differ_by_rounding_leave_no_gap():
    # Each circle of 1 m at 2 m hides 60°; the three touch at ±30° and at the edges of the view.
    for turn in (0.0, 1e-13, -1e-13):
        points = np.array([at(2.0, bearing + turn) for bearing in (-60, 0, 60)])
        assert find_gaps(points, 1.0, horizon_m=5.0, field_of_view_rad=HALF_CIRCLE) == []


def test_overlapping_obstacles_leave_no_gap_between_them():
    # The near circle hides -30°..30°, the far one behind it -5.7°..5.7° about 0°.
    points = np.array([at(2.0, 0), at(10.0, 0)])
    gaps = find_gaps(points, radius_m=1.0, horizon_m=20.0, field_of_view_rad=HALF_CIRCLE)
    assert len(gaps) == 2
    assert gaps[1].right_rad == pytest.approx(math.radians(30))
    assert gaps[1].right_m == pytest.approx(math.sqrt(3))


def test_border_at_the_edge_of_view_has_the_distance_of_the_other_border():
    (right, left) = find_gaps(np.array([at(2.0, 0)]), 1.0, 5.0, HALF_CIRCLE)
    assert right.right_rad == pytest.approx(-math.pi / 2)
    assert right.right_m == right.left_m == pytest.approx(math.sqrt(3))
    assert right.center_rad == pytest.approx(math.radians(-60))
    assert left.center_rad == pytest.approx(math.radians(60))


def test_empty_view_is_one_gap():
    (gap,) = find_gaps(np.empty((0, 2)), 0.5, 4.0, HALF_CIRCLE)
    assert gap.width_rad == pytest.approx(HALF_CIRCLE)
    assert gap.center_rad == pytest.approx(0.0)


def test_points_beyond_the_horizon_are_ignored():
    assert len(find_gaps(np.array([at(5.0, 0)]), 0.5, 4.0, HALF_CIRCLE)) == 1


def test_circle_around_the_robot_hides_half_of_all_directions():
    (gap,) = find_gaps(np.array([at(0.3, 90)]), 0.5, 4.0, HALF_CIRCLE)
    assert gap.right_rad == pytest.approx(-math.pi / 2)
    assert gap.left_rad == pytest.approx(0.0, abs=1e-9)


def test_obstacle_behind_extends_into_a_wide_field_of_view_on_both_sides():
    # At 180° and hiding ±90°: of a 270° view only the front half is left.
    (gap,) = find_gaps(np.array([at(0.4, 180)]), 0.5, 4.0, 1.5 * math.pi)
    assert gap.right_rad == pytest.approx(-math.pi / 2)
    assert gap.left_rad == pytest.approx(math.pi / 2)


def test_surrounded_robot_has_no_gap():
    ring = np.array([at(1.0, bearing) for bearing in range(-180, 180, 10)])
    assert find_gaps(ring, 0.5, 4.0, HALF_CIRCLE) == []


def test_nearest_direction_in_a_gap_keeps_the_inset_or_is_the_bisector():
    gap = Gap(0.2, 1.0, 2.0, 2.0)
    assert gap.nearest(-1.0) == pytest.approx(0.2)
    assert gap.nearest(0.5) == pytest.approx(0.5)
    assert gap.nearest(2.0, inset_rad=0.1) == pytest.approx(0.9)
    assert gap.nearest(-1.0, inset_rad=5.0) == pytest.approx(0.6)


def test_compiled_gaps_equal_vectorized_gaps_bit_by_bit():
    generator = np.random.default_rng(3)
    for _ in range(40):
        count = int(generator.integers(0, 60))
        points = generator.uniform(-5.0, 5.0, (count, 2))
        radius, view = generator.uniform(0.1, 0.8), generator.uniform(1.0, 6.0)
        found = [
            (g.right_rad, g.left_rad, g.right_m, g.left_m)
            for g in find_gaps(points, radius, 4.0, view)
        ]
        assert found == gaps_by_numpy(points, radius, 4.0, view / 2)


def gaps_by_numpy(points, radius, horizon, half_view):
    distance = np.hypot(points[:, 0], points[:, 1])
    near = distance < horizon
    distance, bearing = distance[near], arctan2(points[near, 1], points[near, 0])
    half = arcsin(np.minimum(1.0, radius / np.maximum(distance, 1e-9)))
    border = np.sqrt(np.maximum(distance**2 - radius**2, 0.0))
    wraps = half + np.abs(bearing) > math.pi
    turned = bearing[wraps] - np.copysign(2 * math.pi, bearing[wraps])
    right = np.concatenate([bearing - half, turned - half[wraps]])
    left = np.concatenate([bearing + half, turned + half[wraps]])
    border = np.concatenate([border, border[wraps]])
    seen = (left > -half_view) & (right < half_view)
    right, left, border = right[seen], left[seen], border[seen]
    if not len(right):
        return [(-half_view, half_view, horizon, horizon)]
    order = np.argsort(right, kind="stable")
    right, left, border = right[order], left[order], border[order]
    reach = np.maximum.accumulate(left)
    holder = np.maximum.accumulate(np.where(left == reach, np.arange(len(left)), 0))
    gaps = []
    if right[0] > -half_view:
        gaps.append((-half_view, right[0], border[0], border[0]))
    for i in np.flatnonzero(right[1:] > reach[:-1]):
        gaps.append((reach[i], right[i + 1], border[holder[i]], border[i + 1]))
    if reach[-1] < half_view:
        gaps.append((reach[-1], half_view, border[holder[-1]], border[holder[-1]]))
    return [gap for gap in gaps if gap[1] - gap[0] > 1e-9]
