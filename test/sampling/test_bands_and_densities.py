"""Regions along the shortest path and densities of obstacles, whose areas are known on paper."""

import math
from pathlib import Path

import numpy as np
import pytest
import shapely

from gz_testauto.base.errors import PlacementError
from gz_testauto.sampling.placement import Placer
from gz_testauto.sampling.regions import spec_for_site
from gz_testauto.sampling.site import RequiredMission, Site
from gz_testauto.spec.loader import parse
from gz_testauto.spec.obstacles import ObstacleSpec
from gz_testauto.spec.regions import CIRCLE_SEGMENTS, union_of

SQUARE = "{rectangle: {x_m: [0, 10], y_m: [0, 10]}}"
BAND = "{along_path: {width_m: 2}}"
CORNER = RequiredMission((0.0, 0.0), (10.0, 10.0), 0.3, via=((10.0, 0.0),))


def spec_of(count, region, more=""):
    text = (
        f"{{obstacles: [{{type: sphere, radius_m: 0.1, count: {count}}}], region: {region}{more}}}"
    )
    return parse(text, ObstacleSpec, Path("forest.yaml"))


def count_of(count, region, site, more=""):
    count = spec_for_site(spec_of(count, region, more), site).obstacles[0].count
    return count.min, count.max


def buffered(points, width_m):
    return shapely.LineString(points).buffer(width_m / 2, quad_segs=CIRCLE_SEGMENTS)


@pytest.mark.parametrize(
    ("density", "more", "count"),
    [
        ("10", "", (9, 9)),
        ("[10, 20]", "", (9, 18)),
        ("{min: 0, max: 20}", "", (0, 18)),
        ("20", ", keep_out: [{rectangle: {x_m: [0, 3], y_m: [6, 10]}}]", (16, 16)),  # 78 m²
        ("[10, 20], min: 12, max: 15", "", (12, 15)),
    ],
)
def test_density_counts_the_region_outside_of_walls_and_keep_outs(density, more, count):
    # 10 m² of the wall are in the region of 100 m².
    site = Site((shapely.box(4, -7, 6, 5), shapely.box(20, 20, 30, 30)))
    assert count_of(f"{{per_100_m2: {density}}}", SQUARE, site, more) == count


def test_density_uses_the_region_of_its_entry():
    spec = spec_of("{per_100_m2: 50}, x_m: [8, 12], y_m: [0, 5]", SQUARE)
    assert spec_for_site(spec, Site()).obstacles[0].count.max == 5


def test_keep_out_around_the_goals_reduces_the_area_of_a_density():
    more = ", keep_out: [{center: goal, radius_m: 2}]"
    counts = count_of("{per_100_m2: 100}", SQUARE, Site((), CORNER), more)
    assert counts == (round(100 - 2 * math.pi),) * 2  # two quarters of a disc


def test_band_follows_the_path_to_all_goals():
    spec = spec_for_site(spec_of("3", BAND), Site((), CORNER))
    band = union_of(spec.region)
    expected = buffered([(0, 0), (10, 0), (10, 10)], 2.0)
    assert shapely.symmetric_difference(band, expected).area < 0.01
    assert band.area == pytest.approx(2 * 20 - 1 + math.pi * 1.25, rel=1e-3)
    assert count_of("{per_100_m2: [0, 100]}", BAND, Site((), CORNER)) == (0, round(band.area))


@pytest.mark.parametrize("margin_m", [0.0, 0.5])
def test_band_is_along_the_path_around_walls_with_the_margin_of_solvable(margin_m):
    wall = shapely.box(4, -50, 6, 3)
    mission = RequiredMission((0.0, 0.0), (10.0, 0.0), 0.5)
    spec = spec_of("3", BAND, f", solvable: {{margin_m: {margin_m}}}")
    band = union_of(spec_for_site(spec, Site((wall,), mission)).region)
    x, top = 5.0, 3 + 0.5 + margin_m + 1.0  # above the wall: radius, margin and half of the width
    assert shapely.intersects_xy(band, x, top - 0.02)
    assert not shapely.intersects_xy(band, x, top + 0.02)
    assert not shapely.intersects_xy(band, x, top - 2.02)


def test_path_that_encloses_an_area_leaves_it_free():
    ring = RequiredMission(
        (0.0, 0.0), (0.0, 1.0), 0.3, via=((10.0, 0.0), (10.0, 10.0), (0.0, 10.0))
    )
    band = union_of(spec_for_site(spec_of("3", BAND), Site((), ring)).region)
    assert not shapely.intersects_xy(band, 5, 5)
    assert len(band.interiors) == 1


def test_obstacles_in_a_band_are_near_the_path_and_the_same_for_the_same_numbers():
    site = Site((shapely.box(4, 0.5, 6, 2),), CORNER)
    spec = spec_for_site(spec_of("{per_100_m2: [20, 60]}", BAND), site)
    sets = [Placer(spec, site).place(np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert sets[0] == sets[1] != sets[2]
    path = shapely.LineString([(0, 0), (10, 0), (10, 10)])
    for obstacle in sets[0].obstacles:
        assert path.distance(shapely.Point(obstacle.pose.position[:2])) <= 1.0


def test_path_of_length_zero_has_a_disc_as_its_band():
    site = Site((), RequiredMission((1.0, 2.0), (1.0, 2.0), 0.3))
    band = union_of(spec_for_site(spec_of("3", BAND), site).region)
    assert band.area == pytest.approx(math.pi, rel=1e-3)


def test_specification_without_band_and_density_is_unchanged():
    spec = spec_of("[1, 3]", SQUARE)
    assert spec_for_site(spec, Site()) is spec


@pytest.mark.parametrize(
    ("count", "region", "site", "more", "problem"),
    [
        ("3", BAND, Site(), "", r"along_path needs a mission; set 'mission' with start"),
        ("3", BAND, Site((shapely.box(4, -9, 5, 9).boundary.buffer(99),), CORNER), "", "start"),
        (
            "3",
            BAND,
            Site((shapely.Point(0, 0).buffer(5).boundary.buffer(1),), CORNER),
            "",
            r"no path 0\.60 m wide .* even without obstacles; move start or goal",
        ),
        (
            "3",
            BAND,
            Site((), CORNER),
            ", keep_out: [{rectangle: {x_m: [-5, 15], y_m: [-5, 15]}}]",
            r"obstacles\[0\]: the region has no area outside of walls and keep_out; enlarge",
        ),
        (
            "{per_100_m2: 3}",
            SQUARE,
            Site((shapely.box(-1, -1, 11, 11),)),
            "",
            r"obstacles\[0\]: the region has no area outside of walls and keep_out; enlarge",
        ),
        ("{per_100_m2: 3}, name: a}, {type: box, count: 9999", SQUARE, Site(), "", "10002; .*max"),
    ],
)
def test_impossible_band_or_density_is_reported_with_a_remedy(count, region, site, more, problem):
    with pytest.raises(PlacementError, match=problem):
        spec_for_site(spec_of(count, region, more), site)
