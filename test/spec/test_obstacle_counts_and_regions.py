"""Densities and regions along the path in an obstacle specification, and their errors."""

from pathlib import Path

import pytest

from gz_testauto.base.errors import SpecError
from gz_testauto.spec.actors import ActorSpec
from gz_testauto.spec.loader import parse
from gz_testauto.spec.obstacles import ObstacleSpec

TEXT = """obstacles:
  - type: box
    count: {count}
region:
  {region}
"""
BAND = "{along_path: {width_m: 2}}"


def spec_of(count="3", region=BAND):
    return parse(TEXT.format(count=count, region=region), ObstacleSpec, Path("f.yaml"))


@pytest.mark.parametrize(
    ("density", "support"),
    [("3", (3, 3)), ("[0, 2.5]", (0, 2.5)), ("{min: 1, max: 2}", (1, 2))],
)
def test_density_is_a_number_or_a_range(density, support):
    count = spec_of(f"{{per_100_m2: {density}}}").obstacles[0].count
    assert count.per_100_m2.support == support


def test_band_and_other_regions_can_be_combined():
    band, circle = spec_of(region=f"[{BAND}, {{circle: {{x_m: 0, y_m: 0, radius_m: 1}}}}]").region
    assert (band.along_path.width_m, circle.circle.radius_m) == (2.0, 1.0)
    with pytest.raises(SpecError, match=r"along_path needs a base world and a mission"):
        _ = band.geometry


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"count": "{per_100_m2: -2}"}, "f.yaml:3: obstacles[0].count.per_100_m2 is -2; it must"),
        ({"count": "{per_100_m2: [-2, 1]}"}, "f.yaml:3: obstacles[0].count.per_100_m2 can be -2;"),
        (
            {"count": "{per_100_m2: [4, 3]}"},
            "f.yaml:3: obstacles[0].count.per_100_m2: min 4.0 is greater than max 3.0",
        ),
        (
            {"count": "{per_100_m2: [1, 2, 3]}"},
            "f.yaml:3: obstacles[0].count.per_100_m2 is [1, 2, 3]; it must be a number, [min, max]",
        ),
        (
            {"count": "{per_100_m2: 1, min: 4, max: 2}"},
            "f.yaml:3: obstacles[0].count: min 4 is greater than max 2",
        ),
        (
            {"count": "many"},
            'f.yaml:3: obstacles[0].count is "many"; it must be a whole number, [min, max], '
            "{min, max} or {per_100_m2}",
        ),
        ({"region": "{along_path: {width_m: 0}}"}, "f.yaml:5: region.along_path.width_m is 0; it"),
        ({"region": "{along_path: 3}"}, "f.yaml:5: region.along_path is 3; it must be a mapping"),
        ({"region": "{along_path: {}}"}, "f.yaml:5: region.along_path.width_m is missing"),
        ({"region": "{along: {width_m: 3}}"}, "f.yaml:5: region: unknown key 'along'."),
    ],
)
def test_invalid_density_or_band_is_reported_with_file_line_and_field(changes, error):
    with pytest.raises(SpecError) as raised:
        spec_of(**changes)
    assert error in str(raised.value)


def test_parts_of_a_group_have_no_density():
    with pytest.raises(SpecError, match=r"parts\[0\]\.count is random; it must be constant"):
        parse(
            "obstacles: [{type: group, count: 1, parts: [{type: box, count: {per_100_m2: 3}}]}]\n"
            f"region: {BAND}",
            ObstacleSpec,
            Path("f.yaml"),
        )


def test_density_without_a_smallest_number_has_no_largest_distance():
    text = """obstacles:
  - {{type: box, name: table, count: {{per_100_m2: 3{min}}}}}
  - {{type: box, name: bin, count: 1, distance_m: {{table: [0.1, 0.5]}}}}
region: {{along_path: {{width_m: 2}}}}"""
    assert parse(text.format(min=", min: 1"), ObstacleSpec, Path("f.yaml"))
    with pytest.raises(
        SpecError, match=r"a world can have no 'table'; set its count to at least 1"
    ):
        parse(text.format(min=""), ObstacleSpec, Path("f.yaml"))


def test_regions_of_actors_have_no_band():
    actor = f"{{name: a, behavior: wander, region: {BAND}, speed_mps: 1}}"
    with pytest.raises(SpecError, match=r"unknown key 'along_path'"):
        parse(actor, ActorSpec, Path("f.yaml"))
