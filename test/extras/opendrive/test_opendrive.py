"""Roads from OpenDRIVE files."""

import os
from pathlib import Path

import pytest

from gz_testauto.base.errors import SpecError
from gz_testauto.planners.global_plan import lanes_of
from gz_testauto.spec.loader import parse
from gz_testauto.spec.road import RoadSpec

pytest.importorskip("pyxodr", reason="needs pyxodr: pip install 'gz_testauto[opendrive]'")

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


def test_a_namespace_changes_no_lane(tmp_path):
    lanes = changed_town(tmp_path, ("<OpenDRIVE>", '<OpenDRIVE xmlns="http://asam.net/1.8">'))
    assert lanes == road("{opendrive: town.xodr, route: [1.0.-1]}").by_name


BORDERS = (
    ('<link><successor id="-1"/></link><width sOffset="0" a="3.5"', '<border sOffset="0" a="{}"'),
    ('<link/><width sOffset="0" a="3.0"', '<border sOffset="0" a="-6.5"'),
    ('<link/><width sOffset="0" a="2.0"', '<border sOffset="0" a="-8.5"'),
)


def test_lanes_with_borders_are_on_their_side_of_the_road(tmp_path):
    (old, new), *outer = BORDERS
    lanes = changed_town(tmp_path, (old, new.format(-3.5)), *outer)
    assert lanes["1.0.-1"].center_m[0] == pytest.approx((0.0, -1.75), abs=1e-6)
    assert lanes["1.0.-2"].center_m[0] == pytest.approx((0.0, -5.0), abs=1e-6)
    assert lanes["1.0.-2"].widths_m[0] == pytest.approx(3.0, abs=1e-6)


def test_a_lane_on_the_wrong_side_of_its_inner_border_is_rejected(tmp_path):
    (old, new), *outer = BORDERS
    with pytest.raises(SpecError, match=r"lane 1\.0\.-1 is on the wrong side"):
        changed_town(tmp_path, (old, new.format(3.5)), *outer)


def test_a_link_against_the_traffic_is_ignored_with_a_warning(tmp_path, caplog):
    lanes = changed_town(
        tmp_path,
        ('elementId="2" contactPoint="start"', 'elementId="2" contactPoint="end"'),
        ('<link><predecessor elementType="road" elementId="1" contactPoint="end"/></link>', ""),
    )
    assert lanes["1.0.-1"].successors == ()
    assert "2 links of lanes are ignored" in caplog.text
    assert "1.0.-1 to 2.0.-1" in caplog.text


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
        ("{opendrive: test_opendrive.py, route: [a]}", "pyxodr cannot read the file (Start tag"),
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


def test_file_on_which_pyxodr_fails_is_rejected(tmp_path):
    spiral = (
        '<spiral curvStart="0.01" curvEnd="0.010000000000000009"/>'  # constant, see pyxodr 0.1.3
    )
    file = tmp_path / "spiral.xodr"
    file.write_text(TOWN.read_text().replace("<line/>", spiral))
    with pytest.raises(SpecError, match="pyxodr cannot read the file"):
        road("{opendrive: spiral.xodr, route: [1.0.-1]}", file)


@pytest.mark.parametrize("length", ["41238898", "inf"])
def test_road_that_is_too_long_for_memory_is_rejected(tmp_path, length):
    file = tmp_path / "long.xodr"
    file.write_text(TOWN.read_text().replace('length="60"><line', f'length="{length}"><line'))
    with pytest.raises(SpecError, match=r"long\.xodr:6: .*100000 m") as refused:
        road("{opendrive: long.xodr, route: [1.0.-1]}", file)
    assert f"'length' {float(length):g}" in str(refused.value)


@pytest.mark.timeout(30)
def test_pipe_is_rejected_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe.xodr")
    with pytest.raises(SpecError, match=r"pipe\.xodr: cannot be read: .*not a regular file"):
        road("{opendrive: pipe.xodr, route: [1.0.-1]}", tmp_path / "campaign.yaml")
