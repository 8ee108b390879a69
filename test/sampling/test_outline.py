"""Outlines of obstacles, with lengths and areas known on paper."""

import math

import numpy as np
import pytest
import shapely
from frozen_data import mutable_dataclasses

from gz_testauto import sampling
from gz_testauto.sampling.outline import Outline, cores_and_radii

WIDENED = Outline(shapely.box(-1, -2, 1, 2), 0.5)
RING = Outline(shapely.box(-3, -3, 3, 3).difference(shapely.box(-1, -1, 1, 1)))


def test_disc_outline_has_the_area_and_radii_of_a_circle():
    disc = Outline.disc(0.3, 0.4, 2.0)
    assert disc.is_disc
    assert disc.area_m2 == pytest.approx(4 * math.pi)
    assert disc.reach_m == pytest.approx(2.5)
    assert disc.inner_m == pytest.approx(1.5)
    assert disc.extent_m == (0.3, 0.4)
    assert Outline.disc(3.0, 4.0, 1.0).inner_m == 0.0
    assert disc.polygon.area == pytest.approx(4 * math.pi, rel=2e-3)


def test_box_outline_has_the_area_and_radii_of_a_rectangle():
    box = Outline.box(2.0, 4.0)
    assert not box.is_disc
    assert box.area_m2 == 8.0
    assert box.reach_m == pytest.approx(math.sqrt(5.0))
    assert box.inner_m == 1.0
    assert box.extent_m == (1.0, 2.0)
    assert box.polygon.bounds == (-1.0, -2.0, 1.0, 2.0)
    assert Outline(shapely.box(1, 1, 2, 3)).inner_m == 0.0
    assert Outline(shapely.box(1, 1, 2, 3)).extent_m == (2.0, 3.0)


def test_a_widened_box_has_round_corners():
    assert WIDENED.area_m2 == pytest.approx(8.0 + 12.0 * 0.5 + math.pi * 0.25, rel=1e-3)
    assert WIDENED.reach_m == pytest.approx(math.sqrt(5.0) + 0.5)
    assert WIDENED.inner_m == pytest.approx(1.5)


def test_a_ring_has_no_corners_and_contains_no_circle_around_the_origin():
    assert RING.corners is None
    assert not RING.is_disc
    assert RING.area_m2 == 32.0
    assert RING.reach_m == pytest.approx(math.hypot(3.0, 3.0))
    assert RING.inner_m == 0.0
    moved = RING.moved(10.0, 0.0, math.pi / 2)
    assert moved.core.bounds == pytest.approx((7.0, -3.0, 13.0, 3.0))
    assert not moved.is_disc


def test_an_outline_without_a_radius_has_the_shape_of_its_core():
    sheet = Outline(shapely.LineString([(0, 0), (3, 4)]))
    assert sheet.polygon.length == 5.0
    assert sheet.area_m2 == 0.0


def test_an_empty_outline_is_not_a_disc():
    assert not Outline(shapely.Polygon()).is_disc
    assert Outline(shapely.Polygon()).extent_m == (0.0, 0.0)


def test_scaled_outline_has_a_moved_center_and_a_radius_scaled_as_x():
    disc = Outline.disc(1.0, 2.0, 0.5).scaled(2.0, 3.0)
    assert (disc.core.x, disc.core.y, disc.radius_m) == (2.0, 6.0, 1.0)
    assert disc.is_disc
    assert Outline.box(2.0, 4.0).scaled(2.0, 0.5).core.bounds == (-2.0, -1.0, 2.0, 1.0)


def test_moved_outline_is_rotated_about_the_origin_and_then_translated():
    box = Outline.box(2.0, 4.0).moved(10.0, 20.0, math.pi / 2)
    assert box.core.bounds == pytest.approx((8.0, 19.0, 12.0, 21.0))
    disc = Outline.disc(1.0, 0.0, 0.5).moved(3.0, 0.0, math.pi / 2)
    assert (disc.core.x, disc.core.y) == pytest.approx((3.0, 1.0))
    assert disc.radius_m == 0.5


def test_distances_between_outlines_are_between_edges_and_not_negative():
    one, other = Outline.disc(0.0, 0.0, 1.0), Outline.disc(3.0, 4.0, 1.5)
    assert one.distance_m(other) == pytest.approx(2.5)
    assert one.distance_m(Outline.disc(1.0, 0.0, 1.0)) == 0.0
    assert WIDENED.distance_m(Outline.disc(3.0, 0.0, 0.25)) == pytest.approx(1.25)


def test_outlines_become_arrays_of_cores_and_radii():
    cores, radii = cores_and_radii([WIDENED, Outline.disc(0.0, 0.0, 2.0)])
    assert [core.geom_type for core in cores] == ["Polygon", "Point"]
    assert np.array_equal(radii, [0.5, 2.0])
    assert [len(array) for array in cores_and_radii([])] == [0, 0]


def test_dataclasses_of_the_package_are_frozen():
    assert mutable_dataclasses(sampling) == []
