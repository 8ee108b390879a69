import pytest

from gz_testauto.base.errors import SpecError
from gz_testauto.extras.scenic.convert import MARK, convert, convert_file


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ego = Fetch at 0 @ 0", "ego = new Fetch at 0 @ 0"),
        ("ego = Turtlebot3", "ego = new Turtlebot3"),
        ("FireHydrant", "new FireHydrant"),
        ("Waypoint behind ego by 3  # goal", "new Waypoint behind ego by 3  # goal"),
        ("things = [Box, Box at 1 @ 2]", "things = [new Box, new Box at 1 @ 2]"),
        ("    Car on road, facing 3 deg", "    new Car on road, facing 3 deg"),
        ("spot = OrientedPoint in area", "spot = new OrientedPoint in area"),
        ("return Box", "return new Box"),
        ("Car with heading 30 deg", "new Car facing 30 deg"),
        ("class A:\n    heading: 3 deg", "class A:\n    parentOrientation: 3 deg"),
        ("heading = 0", "heading = 0"),
        (
            "region = RectangularRegion(0 @ 0, 0, 1, 2)",
            "region = RectangularRegion(0 @ 0, 0, 1, 2)",
        ),
        ("x = WIDTH", "x = WIDTH"),
        ("class Truck(Car):\n    pass", "class Truck(Car):\n    pass"),
        ("ok = isinstance(x, Car)", "ok = isinstance(x, Car)"),
        ("# Car at 1 @ 2", "# Car at 1 @ 2"),
        ("s = 'Car at 1 @ 2'", "s = 'Car at 1 @ 2'"),
        ("ego = new Fetch", "ego = new Fetch"),
        ("from gzscenic.model import *", "from gzscenic.model import *"),
        ("x = True", "x = True"),
        ("Table = 3\ny = Table", "Table = 3\ny = Table"),
    ],
)
def test_a_line_of_scenic_2_is_converted_to_scenic_3(old, new):
    assert convert(old).text == new


@pytest.mark.parametrize(
    ("old", "remedy"),
    [
        ("cube.z = table.height + 1", "new ... on table"),
        ("table.allowCollisions = True", "with allowCollisions"),
        ("monitor Slow:\n    wait", "refers to time"),
        ("from gzscenic.base import *", "need no import"),
    ],
)
def test_an_unsupported_line_is_marked_and_reported_with_its_number(old, remedy):
    converted = convert(f"x = 1\n{old}", "old.scenic")
    marked = converted.text.split("\n")
    assert marked[1].startswith(MARK)
    assert remedy in marked[1]
    assert marked[2] == old.split("\n")[0]
    assert converted.notes[0].startswith("old.scenic:3: not converted:")


def test_converted_text_is_not_changed_by_a_second_conversion():
    once = convert("ego = Fetch at 0 @ 0\nWaypoint ahead of ego by 1\n").text
    assert convert(once).text == once


def test_an_existing_file_is_not_overwritten(tmp_path):
    old, new = tmp_path / "old.scenic", tmp_path / "new.scenic"
    old.write_text("Box\n")
    convert_file(old, new)
    assert new.read_text() == "new Box\n"
    with pytest.raises(SpecError, match="exists already"):
        convert_file(old, new)
