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
def test_points_lie_in_the_region(name, first, second):
    point = RegionSampler(REGIONS[name]).point(first, second)
    assert REGIONS[name].distance(shapely.Point(point)) < 1e-9


@pytest.mark.parametrize("name", sorted(REGIONS))
def test_equal_areas_get_equally_many_points(name):
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


def test_region_without_area_is_refused():
    with pytest.raises(ValueError, match="no area"):
        RegionSampler(shapely.Polygon())
