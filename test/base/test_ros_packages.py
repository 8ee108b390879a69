import os
from pathlib import Path

import pytest

from gz_testauto.base import resources
from gz_testauto.base.errors import ResourceError
from gz_testauto.base.registry import Registry
from gz_testauto.base.ros_packages import ros_packages

rospkg = pytest.importorskip("rospkg")

PACKAGE = """<package format="3"><name>{name}</name><version>0.0.0</version>
<export><gz_testauto planners="gz_testauto.planners.straight:StraightPlanner"/></export>
</package>"""


def add_package(place, name, text=PACKAGE):
    place.mkdir(parents=True)
    (place / "package.xml").write_text(text.format(name=name))
    return place


@pytest.fixture
def search(monkeypatch):
    """Sets the directories in which packages are searched."""

    def set_places(*places):
        monkeypatch.delenv("ROS_ROOT", raising=False)
        monkeypatch.setenv("ROS_PACKAGE_PATH", os.pathsep.join(map(str, places)))

    return set_places


def test_ros_package_is_found_or_reported_by_name(tmp_path, search):
    known = add_package(tmp_path / "src" / "folder", "known")
    search(tmp_path)
    found = resources.resolve("package://known/worlds/a.world", Path("/"))
    assert found == known / "worlds" / "a.world"
    with pytest.raises(ResourceError, match="ROS package 'unknown' was not found"):
        resources.resolve("package://unknown/a", Path("/"))


def test_packages_are_those_of_rospkg(tmp_path, search):
    add_package(tmp_path / "one" / "a", "a")
    add_package(tmp_path / "two" / "a", "a")
    add_package(tmp_path / "two" / "b", "b")
    add_package(tmp_path / "two" / "b" / "inner", "inner")
    add_package(tmp_path / "two" / ".hidden" / "c", "c")
    add_package(tmp_path / "two" / "ignored", "d")
    (tmp_path / "two" / "ignored" / "CATKIN_IGNORE").touch()
    (tmp_path / "two" / "leaf" / "e").mkdir(parents=True)
    (tmp_path / "two" / "leaf" / "rospack_nosubdirs").touch()
    add_package(tmp_path / "two" / "leaf" / "f", "f")
    (tmp_path / "two" / "old").mkdir()
    (tmp_path / "two" / "old" / "manifest.xml").write_text("<package/>")
    search(tmp_path / "one", tmp_path / "two", tmp_path / "missing")
    of_rospkg = rospkg.RosPack()
    expected = {name: Path(of_rospkg.get_path(name)) for name in of_rospkg.list()}
    assert dict(ros_packages()) == expected
    assert {"a", "b", "old"} <= set(expected) and expected["a"] == tmp_path / "one" / "a"


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (PACKAGE[:50], "package.xml"),
        ("", "empty"),
        ("<package><name/></package>", "the element <name> is missing"),
        ("\0\1", "package.xml"),
        (None, "not a regular file"),
    ],
)
def test_damaged_neighbor_is_named_and_skipped(tmp_path, search, caplog, text, cause):
    broken = tmp_path / "broken" / "package.xml"
    broken.parent.mkdir()
    os.mkfifo(broken) if text is None else broken.write_text(text)
    add_package(tmp_path / "sound", "sound")
    search(tmp_path)
    assert ros_packages()["sound"] == tmp_path / "sound"
    registry = Registry("planner", {})
    assert "StraightPlanner" in registry.names()
    (warning,) = [one.getMessage() for one in caplog.records]
    assert str(broken) in warning and cause in warning and "skipped" in warning
