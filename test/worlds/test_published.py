"""Published numbers of worlds, records of worlds, and bounds of maps."""

from types import SimpleNamespace

import numpy as np
import pytest
from frozen_data import mutable_dataclasses

from gz_testauto import worlds
from gz_testauto.base.errors import SpecError
from gz_testauto.base.pose import Pose2D
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.scene import read_scene
from gz_testauto.spec.worlds import PATH_M, PublishedSpec
from gz_testauto.worlds.published import PublishedNumbers
from gz_testauto.worlds.record import WorldRecord, unmeasured_in, unmeasured_notice
from gz_testauto.worlds.source import Mission
from gz_testauto.worlds.static_map import bounds_of, heights_m, map_of

START, GOAL = Pose2D(0.0, 0.0, 0.0), Pose2D(6.0, 4.0, 0.0)


def published_numbers(world="world_3", path=None, goals=(GOAL,), **published):
    spec = SimpleNamespace(worlds=SimpleNamespace(published=published))
    missions = SimpleNamespace(of=lambda name: Mission(START, goals))
    return PublishedNumbers(spec, missions).of(world, path)


@pytest.mark.parametrize("suffix", ["npy", "txt"])
def test_the_length_of_a_published_path_includes_start_points_and_goal(tmp_path, suffix):
    points = np.array([[1.0, 2.0], [4.0, 2.0]])  # cells of 1 m, from (2, 2): (3, 4) and (6, 4)
    path = tmp_path / f"path_3.{suffix}"
    (np.save if suffix == "npy" else np.savetxt)(path, points)
    source = PublishedSpec(points=f"path_{{number}}.{suffix}", cell_m=1.0, origin_m=(2.0, 2.0))
    half = PublishedSpec(points=f"path_{{number}}.{suffix}", cell_m=0.5, origin_m=(4.0, 3.0))
    found = published_numbers(path=tmp_path / "world_3.world", length=source, half=half)
    assert found == {
        "length": pytest.approx(5.0 + 3.0),
        "half": pytest.approx(np.hypot(4.5, 4.0) + 1.5),
    }
    with pytest.raises(SpecError, match=r"^worlds\.published\.length: .* world_3 has 2 goals"):
        published_numbers(path=tmp_path / "world_3.world", goals=(GOAL, GOAL), length=source)
    with pytest.raises(SpecError, match=r"world\.world"):
        published_numbers(path=tmp_path / "world.world", length=source)


@pytest.mark.parametrize("points", [[[1.0, 2.0, 3.0]], [[np.nan, 1.0]], [1.0, 2.0]])
def test_points_without_two_finite_coordinates_are_rejected(tmp_path, points):
    np.save(tmp_path / "p.npy", np.array(points))
    source = PublishedSpec(points="p.npy", cell_m=1.0, origin_m=(0.0, 0.0))
    with pytest.raises(SpecError, match=r"^worlds\.published\.length: .*p\.npy"):
        published_numbers(path=tmp_path / "world_3.world", length=source)


@pytest.mark.parametrize(
    ("text", "value"), [("level=3.5;", 3.5), ("level= hard ;", "hard"), ("level=nan;", "nan")]
)
def test_a_published_number_is_read_from_the_text_of_a_world_file(tmp_path, text, value):
    path = tmp_path / "w.world"
    path.write_text(f"<!-- {text} -->")
    source = PublishedSpec(match="level=(.*?);")
    assert published_numbers(path=path, level=source) == {"level": value}
    with pytest.raises(SpecError, match=r"^worlds\.published\.level: .*grade=.*w\.world"):
        published_numbers(path=path, level=PublishedSpec(match="grade=(.*)"))


def test_a_published_number_is_read_from_the_row_of_a_world_in_a_table(tmp_path):
    (tmp_path / "t.csv").write_text("world,hard\nw1,0.5\nw2.world,x\nw3\n")
    source = PublishedSpec(table=tmp_path / "t.csv", column="hard")
    for name, value in (("w1", 0.5), ("w2", "x")):
        assert published_numbers(path=tmp_path / f"{name}.world", hard=source) == {"hard": value}
    for name in ("w3", "w4"):
        with pytest.raises(SpecError, match=rf"t\.csv .* {name} .*: world, hard$"):
            published_numbers(path=tmp_path / f"{name}.world", hard=source)


def world(index, *unmeasured, **published):
    return WorldRecord(index, f"w{index}", None, "", published=published, unmeasured=unmeasured)


def test_elements_without_clearance_are_counted_by_world():
    several = [world(0, "crowd", "cloud", "crowd"), world(1, "crowd")]
    assert unmeasured_in(several) == ["crowd (in 2 worlds)", "cloud (in 1 world)"]
    assert unmeasured_notice([world(0)]) == ""
    assert unmeasured_notice(several).endswith(": crowd (in 2 worlds), cloud (in 1 world)")
    six = unmeasured_notice([world(0, *"abcdef")])
    assert six.endswith("e (in 1 world), and 1 more")
    twelve = unmeasured_notice([world(0, *"abcdefghijkl")])
    assert twelve.endswith("e (in 1 world), and 7 more")
    assert "more" not in unmeasured_notice([world(0, *"abcde")])


def test_text_is_not_a_published_path_length():
    assert world(0, **{PATH_M: 7.5}).published_path_m == 7.5
    assert world(0, **{PATH_M: "far"}).published_path_m is None
    assert world(0).published_path_m is None


BOX = (
    '<model name="{}"><pose>{} {} {} 0 0 0</pose><link name="l"><collision name="c"><geometry>'
    "<box><size>1 2 0.5</size></box></geometry></collision></link></model>"
)


def scene(*boxes):
    models = "".join(BOX.format(*box) for box in boxes)
    text = f'<sdf version="1.6"><world name="w">{models}</world></sdf>'
    return read_scene(SdfDocument.parse(text, "w.world"))


def test_the_bounds_of_a_map_have_a_margin_of_two_cells():
    two = scene(("crate", 1, 2, 0.5), ("obstacle_box_0", 5, -3, 0.5))
    assert bounds_of(two, 0.1) == pytest.approx((0.3, -4.2, 5.7, 3.2))
    assert bounds_of(two, 0.25) == (0.0, -4.5, 6.0, 3.5)


def test_the_bounds_of_a_map_include_areas_outside_of_the_models():
    one = scene(("crate", 0, 0, 0.5))
    alone = bounds_of(one, 0.5)
    assert alone == (-1.5, -2.0, 1.5, 2.0)
    assert bounds_of(one, 0.5, {"goal": (0.0, 0.0, 0.5, 1.0)}, 3.0) == alone
    assert bounds_of(one, 0.5, {"goal": (4.0, 0.0, 4.0, 0.0)}, 3.0) == (-1.5, -4.0, 8.0, 4.0)
    assert bounds_of(scene(), 0.5, {"goal": (4.0, 0.0, 4.0, 0.0)}, 1.0) == (2.0, -2.0, 6.0, 2.0)


def test_the_number_of_cells_of_a_map_is_limited():
    one = scene(("crate", 0, 0, 0.5))  # 1 m by 2 m
    assert bounds_of(one, 0.5, most_cells=8.0)
    with pytest.raises(SpecError, match="model crate reaches 1 m"):
        bounds_of(one, 0.5, most_cells=7.0)
    # By default, a square of 1 km with cells of 0.1 m is the limit.
    assert bounds_of(one, 0.1, {"area": (0.0, 0.0, 999.5, 999.0)})
    with pytest.raises(SpecError, match=r"more than 1e\+08 cells"):
        bounds_of(one, 0.1, {"area": (0.0, 0.0, 999.5, 999.1)})
    for bounds in ((0.0, 0.0, 1e5 + 1, 0.5), (0.0, 0.0, 0.5, 1e5 + 1), (0.0, 0.0, 2e4, 2e4)):
        with pytest.raises(SpecError, match="smaller bounds"):
            map_of(one, 1.0, bounds=bounds)


def test_the_heights_of_a_world_exclude_random_obstacles():
    models = scene(("crate", 0, 0, 0.5), ("shelf", 3, 0, 2.0), ("obstacle_box_0", 5, 0, 9.0))
    assert heights_m(models) == (0.25, 2.25)
    assert heights_m(scene(("obstacle_box_0", 5, 0, 9.0))) == (0.0, 0.0)


def test_records_of_worlds_cannot_be_changed():
    assert mutable_dataclasses(worlds) == []
