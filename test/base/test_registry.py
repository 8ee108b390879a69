import pytest

from gz_testauto.base.errors import MissingDependencyError, UnknownNameError
from gz_testauto.base.registry import Registry


@pytest.fixture
def registry():
    return Registry("planner", {"fgm": "collections:OrderedDict", "gone": "no_such_module:Thing"})


def test_a_builtin_is_imported_when_asked_for(registry):
    from collections import OrderedDict

    assert registry.get("fgm") is OrderedDict


def test_an_unknown_name_says_what_was_meant(registry):
    with pytest.raises(UnknownNameError) as caught:
        registry.get("fmg")
    assert str(caught.value) == "unknown planner 'fmg'; did you mean 'fgm'? Known: fgm, gone"


def test_a_plugin_that_cannot_be_imported_is_a_missing_dependency(registry):
    with pytest.raises(MissingDependencyError, match=r"planner 'gone' cannot be loaded: .*no_such"):
        registry.get("gone")


def test_a_registered_plugin_is_found_and_its_name_is_taken(registry):
    registry.register("mine", int)
    assert registry.get("mine") is int
    with pytest.raises(ValueError, match="already registered"):
        registry.register("mine", float)


def test_an_entry_point_of_another_package_is_found(registry, tmp_path, monkeypatch):
    package = tmp_path / "other-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text(
        "[gz_testauto.planners]\nborrowed = decimal:Decimal\nfgm = decimal:Decimal\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    from collections import OrderedDict
    from decimal import Decimal

    assert registry.get("borrowed") is Decimal
    assert registry.get("fgm") is OrderedDict, "a built-in is not displaced"


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """ROS packages, each with a module that it exports as planners."""
    pytest.importorskip("rospkg", reason="ROS package exports need rospkg")

    def package(name, content):
        export = f'<gz_testauto planners="{name}_mod:P"/>' if content else ""
        (tmp_path / "ros" / name).mkdir(parents=True)
        (tmp_path / "ros" / name / "package.xml").write_text(
            f'<package format="3"><name>{name}</name><version>1.0.0</version>'
            f"<description>d</description><maintainer email='a@b.cc'>m</maintainer>"
            f"<license>BSD</license><depend>gz_testauto</depend><export>{export}</export></package>"
        )
        (tmp_path / f"{name}_mod.py").write_text(content)

    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "ros"))
    monkeypatch.syspath_prepend(str(tmp_path))
    return package


def test_an_export_of_another_ros_package_is_found(registry, workspace):
    workspace("theirs", "P = {'roslike': complex}\n")
    assert registry.get("roslike") is complex


@pytest.mark.parametrize(
    "content, cause",
    [
        ("import no_such_module\n", "No module named 'no_such_module'"),
        ("P = 1 / 0\n", "ZeroDivisionError: division by zero"),
        ("Q = {}\n", "AttributeError: module 'broken_{}_mod' has no attribute 'P'"),
    ],
    ids=["import", "raises", "attribute"],
)
def test_a_broken_package_keeps_nobody_from_the_others(
    registry, workspace, request, content, cause
):
    name = f"broken_{request.node.callspec.id}"
    workspace(name, content)
    workspace("theirs", "P = {'roslike': complex}\n")
    assert registry.get("roslike") is complex
    with pytest.raises(UnknownNameError) as caught:
        registry.get("unheard")
    assert f"{name}/package.xml exports planners that cannot be loaded" in str(caught.value)
    assert cause.format(request.node.callspec.id) in str(caught.value)
