"""Roads from OpenDRIVE files."""

import math
import os
from pathlib import Path

import numpy as np
import pytest
import shapely

from gz_testauto.base.errors import SpecError
from gz_testauto.planners.global_plan import lanes_of
from gz_testauto.spec.loader import parse
from gz_testauto.spec.road import RoadSpec

TOWN = Path(__file__).with_name("town.xodr")
"""60 m straight east with one lane to the west and two to the east and a sidewalk, then a quarter
turn of 30 m to the left."""


def road(text, source=TOWN):
    return parse(text, RoadSpec, source)


def test_imported_lanes_have_the_direction_of_their_traffic():
    lanes = road("{opendrive: town.xodr, route: [1.0.-1, 2.0.-1]}").by_name
    assert sorted(lanes) == ["1.0.-1", "1.0.-2", "1.0.1", "2.0.-1", "2.0.1"]
    east, outer, west = lanes["1.0.-1"], lanes["1.0.-2"], lanes["1.0.1"]
    assert (east.left, east.right, east.successors) == ("1.0.1", "1.0.-2", ("2.0.-1",))
    assert (outer.left, outer.right, outer.successors) == ("1.0.-1", None, ())
    assert (west.left, west.right, west.successors) == ("1.0.-1", None, ())
    assert east.center_m[0] == pytest.approx((0.0, -1.75), abs=1e-6)
    assert west.center_m[0] == pytest.approx((60.0, 1.75), abs=1e-6)
    assert east.widths_m == pytest.approx([3.5] * len(east.center_m), abs=1e-6)
    assert outer.widths_m[0] == pytest.approx(3.0, abs=1e-6)
    turn = lanes["2.0.-1"]
    assert turn.center_m[-1] == pytest.approx((91.75, 30.0), abs=0.02)
    for x_m, y_m in turn.center_m:
        assert ((x_m - 60) ** 2 + (y_m - 30) ** 2) ** 0.5 == pytest.approx(31.75, abs=0.02)
    assert lanes["2.0.1"].successors == ("1.0.1",)


def changed_town(tmp_path, *changes):
    text = TOWN.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    file = tmp_path / "changed.xodr"
    file.write_text(text)
    return road("{opendrive: changed.xodr, route: [1.0.-1]}", file).by_name


def test_a_namespace_and_elements_of_another_change_no_lane(tmp_path):
    root = '<OpenDRIVE xmlns="http://asam.net/1.8" xmlns:v="http://vendor.org">'
    width = '<width sOffset="0" a="3.0" b="0" c="0" d="0"/>'
    other = '<v:width sOffset="0" a="9" b="0" c="0" d="0"/>'
    lanes = changed_town(tmp_path, ("<OpenDRIVE>", root), (width, width + other))
    assert lanes == road("{opendrive: town.xodr, route: [1.0.-1]}").by_name


BORDERS = (
    (
        '<link><successor id="-1"/></link><width sOffset="0" a="3.5"',
        '<border sOffset="0" a="-3.5"/><border sOffset="30" a="{}"',
    ),
    ('<link/><width sOffset="0" a="3.0"', '<border sOffset="0" a="-6.5"'),
    ('<link/><width sOffset="0" a="2.0"', '<border sOffset="0" a="-8.5"'),
)


def test_lanes_with_borders_are_on_their_side_of_the_road(tmp_path):
    (old, new), *outer = BORDERS
    lanes = changed_town(tmp_path, (old, new.format(-3.5)), *outer)
    assert lanes["1.0.-1"].center_m[0] == pytest.approx((0.0, -1.75), abs=1e-6)
    assert lanes["1.0.-2"].center_m[0] == pytest.approx((0.0, -5.0), abs=1e-6)
    assert lanes["1.0.-2"].widths_m[0] == pytest.approx(3.0, abs=1e-6)


def test_a_lane_partly_on_the_wrong_side_of_its_inner_border_is_rejected(tmp_path):
    (old, new), *outer = BORDERS
    with pytest.raises(SpecError, match=r":10: lane 1\.0\.-1 is on the wrong side .* s = 30\.0 m"):
        changed_town(tmp_path, (old, new.format(2.0)), *outer)


def test_a_link_against_the_traffic_is_ignored_with_a_warning(tmp_path, caplog):
    lanes = changed_town(
        tmp_path,
        ('elementId="2" contactPoint="start"', 'elementId="2" contactPoint="end"'),
        ('<link><predecessor elementType="road" elementId="1" contactPoint="end"/></link>', ""),
    )
    assert lanes["1.0.-1"].successors == ()
    assert "1 links of lanes are ignored" in caplog.text
    assert "1.0.-1 to 2.0.-1" in caplog.text


@pytest.mark.parametrize(
    ("old", "new", "link"),
    [
        ('successor id="-1"', 'successor id="-7"', "1.0.-1 to 2.0.-7"),
        ('predecessor id="-1"', 'predecessor id="-7"', "2.0.-1 to 1.0.-7"),
        ('elementId="1"', 'elementId="9"', "2.0.-1 to 9.0.-1"),
    ],
)
def test_a_link_to_a_missing_lane_is_ignored_with_a_warning(tmp_path, caplog, old, new, link):
    assert changed_town(tmp_path, (old, new))["1.0.-1"].successors == ("2.0.-1",)
    assert link in caplog.text


def test_a_route_of_imported_lanes_is_joined():
    joined, *beside = lanes_of(road("{opendrive: town.xodr, route: [1.0.-1, 2.0.-1]}"))
    assert joined.center_m[-1] == pytest.approx((91.75, 30.0), abs=0.02)
    assert len(beside) == 3  # the second lane to the east, and both oncoming lanes
    walk = road("{opendrive: town.xodr, lane_types: sidewalk, route: [1.0.-3]}")
    assert list(walk.by_name) == ["1.0.-3"]


def neighbors(tmp_path, *marks, rule="RHT"):
    """Return the neighbors (left, right) of the lanes -1 and 1 on a road whose center lane has
    these road marks."""
    text = TOWN.read_text().replace(" junction=", f' rule="{rule}" junction=')
    center = '<center><lane id="0" type="none" level="false"'
    marked = "".join(f'<roadMark sOffset="{place}" {mark}/>' for place, mark in enumerate(marks))
    file = tmp_path / "marked.xodr"
    file.write_text(text.replace(f"{center}/>", f"{center}>{marked}</lane>", 1))
    lanes = road("{opendrive: marked.xodr, route: [1.0.-1]}", file).by_name
    return [(lanes[name].left, lanes[name].right) for name in ("1.0.-1", "1.0.1")]


@pytest.mark.parametrize(
    ("marks", "east", "west"),
    [
        (['type="broken"'], "1.0.1", "1.0.-1"),
        (['type="broken" laneChange="both"'], "1.0.1", "1.0.-1"),
        (['type="solid" laneChange="none"'], None, None),
        (['type="broken solid" laneChange="increase"'], "1.0.1", None),
        (['type="solid broken" laneChange="decrease"'], None, "1.0.-1"),
        (['type="solid" laneChange="none"', 'type="broken"'], "1.0.1", "1.0.-1"),
    ],
)
def test_oncoming_lane_is_a_neighbor_if_the_road_marks_allow_it(tmp_path, marks, east, west):
    assert neighbors(tmp_path, *marks) == [(east, "1.0.-2"), (west, None)]


def test_oncoming_lane_is_on_the_right_in_left_hand_traffic(tmp_path):
    assert neighbors(tmp_path, rule="LHT") == [("1.0.-2", "1.0.1"), (None, "1.0.-1")]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{opendrive: none.xodr, route: [a]}", "file not found"),
        (
            "{opendrive: test_opendrive.py, route: [a]}",
            "test_opendrive.py: cannot be read: Start tag",
        ),
        (
            "{opendrive: town.xodr, lane_types: [rail], route: [a]}",
            "the types in the file are driving, sidewalk",
        ),
        ("{opendrive: town.xodr, route: [1.0.-3]}", "unknown lane '1.0.-3'"),
        ("{opendrive: town.xodr, route: [2.0.-1, 1.0.-1]}", "not a successor of"),
        ("{opendrive: town.xodr, lanes: [], route: [a]}", "remove lanes"),
    ],
)
def test_an_invalid_opendrive_road_is_rejected(text, says):
    with pytest.raises(SpecError) as refused:
        road(text)
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            'length="60"><line',
            'length="41238898"><line',
            r":6: .*100000 m, .* 'length' 4\.12389e\+07",
        ),
        ('length="60"><line', 'length="inf"><line', r":6: the attribute 'length' .* is 'inf'"),
        ('hdg="0" ', "", r":6: the attribute 'hdg' of <geometry> .* is missing"),
        ('geometry s="0" x="0"', 'geometry s="10" x="0"', r":6: the first .* starts at s = 10"),
        ('laneSection s="0"', 'laneSection s="1e12"', r":7: section 0 .* length of -1e\+12 m"),
        ("<line/>", "<bezier/>", r":6: a <geometry> needs one of line, arc"),
        ('a="3.5"', 'a="3,5"', r":8: the attribute 'a' of <width> .* is '3,5'"),
        ('laneSection s="0"', 'laneSection s="0" singleSide="true"', r":7: .* singleSide"),
        (
            'type="driving"',
            'type="driving" direction="reversed"',
            r":8: lane 1\.0\.-?1 .* 'reversed'",
        ),
        (
            'width sOffset="0" a="3.0"',
            'width sOffset="20" a="3.0"',
            r":11: lane 1\.0\.-2 has no width",
        ),
        ('<width sOffset="0" a="3.0" b="0" c="0" d="0"/>', "", r":11: lane 1\.0\.-2 has no width"),
        ('lane id="-2"', 'lane id="-1"', r":11: lane 1\.0\.-1 .* its ID must be -2"),
        ('lane id="-3"', 'lane id="-4"', r":12: lane 1\.0\.-4 .* its ID must be -3"),
        ('lane id="-3"', 'lane id="-3.5"', r":12: lane 1\.0\.-3 .* its ID must be -3"),
        ('lane id="-3"', 'lane id="3"', r":12: lane 1\.0\.3 .* its ID must be -3"),
        ('id="2" junction="-1"', 'id="1" junction="-1"', r":\d+: two roads have the ID '1'"),
        ('successor id="1"', 'successor id="x"', r":8: the attribute 'id' of <successor>"),
    ],
)
def test_an_invalid_element_is_rejected_with_its_line(tmp_path, old, new, says):
    with pytest.raises(SpecError, match=r"changed\.xodr" + says):
        changed_town(tmp_path, (old, new))


@pytest.mark.timeout(30)
def test_pipe_is_rejected_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe.xodr")
    with pytest.raises(SpecError, match=r"pipe\.xodr: cannot be read: .*not a regular file"):
        road("{opendrive: pipe.xodr, route: [1.0.-1]}", tmp_path / "campaign.yaml")


def drawn_road(rng):
    """Return the XML of a road, and points at the centers and widths of its lanes by name.

    They are computed with sums over steps of 1 mm, in place of integrals.
    """
    lengths = rng.uniform(5, 30, size=3)
    curvatures = [0.0, float(rng.uniform(-0.05, 0.05)), 0.0]
    curves = [
        "<line/>",
        f'<arc curvature="{curvatures[1]!r}"/>',
        f'<spiral curvStart="{curvatures[1]!r}" curvEnd="0"/>',
    ]
    s = np.arange(0, lengths.sum(), 0.001)
    ends = np.cumsum(lengths)
    curvature = np.interp(
        s, [ends[0], ends[0] + 1e-9, ends[1], ends[2]], [0, *curvatures[1:2] * 2, 0]
    )
    headings = (
        0.3 + np.concatenate([[0.0], np.cumsum(curvature[:-1] + np.diff(curvature) / 2)]) / 1000
    )
    middle = (headings[1:] + headings[:-1]) / 2
    steps = np.stack([np.cos(middle), np.sin(middle)], axis=1) / 1000
    points = np.array([1.0, -2.0]) + np.concatenate([np.zeros((1, 2)), np.cumsum(steps, axis=0)])
    geometries = []
    for start, length, curve in zip([0, *ends[:-1]], lengths, curves):
        at = round(start * 1000)
        x, y = points[at]
        geometries.append(
            f'<geometry s="{start}" x="{x}" y="{y}" hdg="{headings[at]}" length="{length}">'
            f"{curve}</geometry>"
        )
    split = float(rng.uniform(5, ends[2] - 5))
    shift = [float(value) for value in rng.uniform(-2, 2, size=2)]
    offsets = np.where(s < split, shift[0], shift[1])
    left_hand, expected, sections = bool(rng.integers(2)), {}, []
    for index, (begin, end) in enumerate([(0.0, split), (split, ends[2])]):
        chosen = (s >= begin) & (s < end)
        normals = np.stack([-np.sin(headings), np.cos(headings)], axis=1)[chosen]
        sides = {"left": "", "right": ""}
        for side, sign in (("left", 1), ("right", -1)):
            inner, by_borders = offsets[chosen], bool(rng.integers(2))
            for number in range(1, int(rng.integers(1, 4)) + 1):
                width, growth = float(rng.uniform(2.5, 4)), float(rng.uniform(-0.01, 0.01))
                outer = inner + sign * (width + growth * (s[chosen] - begin))
                name, lane = f"7.{index}.{sign * number}", sign * number
                if by_borders:
                    edge = (outer - offsets[chosen])[[0, -1]]
                    slope = (edge[1] - edge[0]) / (s[chosen][-1] - begin)
                    shape = f'<border sOffset="0" a="{edge[0]}" b="{slope}"/>'
                else:
                    shape = f'<width sOffset="0" a="{width}" b="{growth}"/>'
                sides[side] += f'<lane id="{lane}" type="driving">{shape}</lane>'
                center = points[chosen] + ((inner + outer) / 2)[:, None] * normals
                way = -1 if (lane > 0) != left_hand else 1
                expected[name] = (center[::way], abs(outer - inner)[::way])
                inner = outer
        sections.append(
            f'<laneSection s="{begin}"><left>{sides["left"]}</left>'
            f'<center><lane id="0"/></center><right>{sides["right"]}</right></laneSection>'
        )
    rule = "LHT" if left_hand else "RHT"
    return (
        f'<OpenDRIVE><road id="7" rule="{rule}" length="{ends[2]}"><planView>{"".join(geometries)}'
        f'</planView><lanes><laneOffset s="0" a="{shift[0]}"/>'
        f'<laneOffset s="{split}" a="{shift[1]}"/>{"".join(sections)}</lanes></road></OpenDRIVE>'
    ), expected


@pytest.mark.parametrize("seed", range(20))
def test_drawn_lanes_lie_where_sums_over_small_steps_place_them(tmp_path, seed):
    text, expected = drawn_road(np.random.default_rng(seed))
    (tmp_path / "drawn.xodr").write_text(text)
    lanes = road("{opendrive: drawn.xodr, route: [7.0.1]}", tmp_path / "campaign.yaml").by_name
    assert sorted(lanes) == sorted(expected)
    for name, (center, widths) in expected.items():
        line = shapely.LineString(lanes[name].center_m)
        assert shapely.distance(line, shapely.points(center[::50])).max() < 0.03, name
        assert math.dist(lanes[name].center_m[0], center[0]) < 0.02
        assert math.dist(lanes[name].center_m[-1], center[-1]) < 0.02
        assert lanes[name].widths_m[0] == pytest.approx(widths[0], abs=0.01)
        assert lanes[name].widths_m[-1] == pytest.approx(widths[-1], abs=0.01)
