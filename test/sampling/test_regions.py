import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from gz_testauto.sampling.regions import RegionSampler

REGIONS = {
    "rectangle": shapely.box(-1, 2, 3, 4),
    "triangle": shapely.Polygon([(0, 0), (4, 0), (1, 3)]),
    "with a hole": shapely.box(0, 0, 4, 4).difference(shapely.box(1, 1, 3, 2)),
    "in two pieces": shapely.union_all([shapely.box(0, 0, 1, 1), shapely.box(3, 5, 5, 6)]),
    "overlapping": shapely.union_all([shapely.box(0, 0, 2, 2), shapely.box(1, 1, 3, 3)]),
    "disc": shapely.Point(1, 1).buffer(2),
    "one above the other": shapely.union_all([shapely.box(0, 0, 2, 1), shapely.box(1, 3, 4, 4)]),
}
UNIT = st.floats(0, 1, exclude_max=True)


@settings(max_examples=200)
@given(st.sampled_from(sorted(REGIONS)), UNIT, UNIT)
def test_random_points_of_a_region_are_in_the_region(name, first, second):
    point = RegionSampler(REGIONS[name]).point(first, second)
    assert REGIONS[name].distance(shapely.Point(point)) < 1e-9


@pytest.mark.parametrize("name", sorted(REGIONS))
def test_equal_areas_of_a_region_have_equally_many_points(name):
    region, n = REGIONS[name], 60
    sampler = RegionSampler(region)
    assert sampler.area_m2 == pytest.approx(region.area)
    centers = (np.arange(n) + 0.5) / n
    found = shapely.points([sampler.point(u, v) for u in centers for v in centers])
    x_min, y_min, x_max, y_max = region.bounds
    for x in np.linspace(x_min, x_max, 4)[:-1]:
        for y in np.linspace(y_min, y_max, 4)[:-1]:
            part = shapely.box(x, y, x + (x_max - x_min) / 3, y + (y_max - y_min) / 3)
            share = shapely.intersects(part, found).mean()
            assert share == pytest.approx(part.intersection(region).area / region.area, abs=0.02)


def test_a_region_without_area_is_rejected():
    with pytest.raises(ValueError, match="no area"):
        RegionSampler(shapely.Polygon())


@pytest.mark.parametrize(
    ("region", "numbers", "point"),
    [
        (shapely.box(-1, 2, 3, 4), (0.25, 0.5), (0.0, 3.0)),
        (shapely.box(-1, 2, 3, 4), (0.0, 0.0), (-1.0, 2.0)),
        # the area to the left of x is 2 x - x²/2, and the chord at x = 1 is 1 m long
        (shapely.Polygon([(0, 0), (2, 0), (0, 2)]), (0.75, 0.5), (1.0, 0.5)),
        (REGIONS["in two pieces"], (1 / 6, 0.25), (0.5, 0.25)),
        (REGIONS["in two pieces"], (2 / 3, 0.5), (4.0, 5.5)),
        (
            shapely.union_all([shapely.box(0, 0, 2, 1), shapely.box(0, 3, 2, 4)]),
            (0.5, 0.25),
            (1, 0.5),
        ),
        (
            shapely.union_all([shapely.box(0, 0, 2, 1), shapely.box(0, 3, 2, 4)]),
            (0.5, 0.75),
            (1, 3.5),
        ),
        (REGIONS["with a hole"], (0.5, 0.5), (None, None)),
    ],
)
def test_point_of_a_region_is_determined_by_two_numbers(region, numbers, point):
    x, y = RegionSampler(region).point(*numbers)
    if point == (None, None):
        left = region.intersection(shapely.box(0, 0, x, 4)).area
        assert left == pytest.approx(0.5 * region.area)
        return
    assert (x, y) == pytest.approx(point, abs=1e-9)


@pytest.mark.parametrize("name", sorted(REGIONS))
def test_first_number_of_a_point_is_the_share_of_the_area_to_its_left(name):
    region = REGIONS[name]
    sampler = RegionSampler(region)
    for first in (0.0, 0.1, 0.37, 0.5, 0.83, 0.999):
        x, y = sampler.point(first, 0.3)
        line = shapely.LineString([(x, -9.0), (x, 9.0)])
        left = region.intersection(shapely.box(-9, -9, x, 9)).area
        assert left == pytest.approx(first * region.area, abs=1e-6)
        below = region.intersection(shapely.LineString([(x, -9.0), (x, y)])).length
        assert below == pytest.approx(0.3 * region.intersection(line).length, abs=1e-5)
