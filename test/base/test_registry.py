import sys

import pytest

from gz_testauto.base import registry as registries
from gz_testauto.base.errors import MissingDependencyError, PluginError, UnknownNameError
from gz_testauto.base.registry import Registry


@pytest.fixture(autouse=True)
def extras(tmp_path, monkeypatch):
    monkeypatch.setattr(registries, "EXTRAS", tmp_path / "extras")
    registries.extra_plugins.cache_clear()
    yield tmp_path / "extras"
    registries.extra_plugins.cache_clear()


@pytest.fixture
def registry():
    return Registry("planner", {"fgm": "collections:OrderedDict", "gone": "no_such_module:Thing"})


def test_builtin_is_imported_when_it_is_requested(registry):
    from collections import OrderedDict

    assert registry.get("fgm") is OrderedDict


def test_unknown_name_is_rejected_with_the_most_similar_name(registry):
    with pytest.raises(UnknownNameError) as caught:
        registry.get("fmg")
    message = str(caught.value)
    assert message.startswith("unknown planner 'fmg'")
    assert "'fgm'?" in message
    assert message.endswith("fgm, gone")


def test_unknown_name_without_similar_name_is_rejected_with_the_python_in_use(registry):
    with pytest.raises(UnknownNameError) as raised:
        registry.get("sectors")
    assert f"install that package for the Python in use ({sys.executable})" in raised.value.full


def test_missing_module_of_a_builtin_is_a_missing_dependency(registry):
    with pytest.raises(MissingDependencyError, match=r"planner 'gone' cannot be loaded: .*no_such"):
        registry.get("gone")


@pytest.mark.parametrize(
    "content, error",
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("from decimal import Planner", "ImportError: cannot import name 'Planner'"),
        ("def (", "SyntaxError: invalid syntax"),
        ("", "AttributeError: module 'plugin_{}_mod' has no attribute 'P'"),
    ],
    ids=["raises", "import", "syntax", "attribute"],
)
def test_exception_of_a_plugin_module_is_reported_with_type_and_file(
    tmp_path, monkeypatch, request, content, error
):
    name = f"plugin_{request.node.callspec.id}_mod"
    (tmp_path / f"{name}.py").write_text(content)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(PluginError) as caught:
        Registry("planner", {"mine": f"{name}:P"}).get("mine")
    message = str(caught.value)
    assert message.startswith("planner 'mine' cannot be loaded: ")
    assert error.format(request.node.callspec.id) in message
    if content:
        assert f"{name}.py" in message
    assert type(caught.value.__cause__).__name__ in error


def test_missing_module_that_a_plugin_imports_is_a_missing_dependency(tmp_path, monkeypatch):
    (tmp_path / "needing_mod.py").write_text("import no_such_library\nP = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(MissingDependencyError, match=r"planner 'mine'.*'no_such_library'"):
        Registry("planner", {"mine": "needing_mod:P"}).get("mine")


def test_error_of_this_package_in_a_plugin_propagates_unchanged(tmp_path, monkeypatch):
    (tmp_path / "refusing_mod.py").write_text(
        "from gz_testauto.base.errors import MissingDependencyError\n"
        "raise MissingDependencyError('install it')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(MissingDependencyError, match=r"^install it$"):
        Registry("planner", {"mine": "refusing_mod:P"}).get("mine")


def test_registered_plugin_is_found_and_its_name_cannot_be_registered_again(registry):
    registry.register("mine", int)
    assert registry.get("mine") is int
    with pytest.raises(ValueError, match="already registered"):
        registry.register("mine", float)


def test_entry_point_of_another_package_is_found(registry, tmp_path, monkeypatch):
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
    assert registry.get("fgm") is OrderedDict, "a built-in is not replaced"


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """Return a function that creates a ROS package with a module of planners."""
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


def test_export_of_another_ros_package_is_found(registry, workspace):
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
def test_broken_package_does_not_affect_the_plugins_of_other_packages(
    registry, workspace, request, content, cause
):
    name = f"broken_{request.node.callspec.id}"
    workspace(name, content)
    workspace("theirs", "P = {'roslike': complex}\n")
    assert registry.get("roslike") is complex
    with pytest.raises(UnknownNameError) as caught:
        registry.get("unknown")
    assert f"{name}/package.xml" in str(caught.value)
    assert cause.format(request.node.callspec.id) in str(caught.value)


def extra(folder, declaration):
    (folder / "mine").mkdir(parents=True)
    (folder / "mine" / "entry_points.txt").write_text(declaration)


def test_plugin_of_an_extra_is_found_through_its_entry_points_file(extras):
    planners = "[gz_testauto.planners]\nPlan = decimal:Decimal\n"
    extra(extras, planners + "[gz_testauto.verbs]\nv = cgi:v\n")
    from decimal import Decimal

    registry = Registry("planner", {})
    assert registry.get("Plan") is Decimal
    assert "v" not in registry.names()


def test_missing_dependency_of_an_extra_is_reported_with_the_pip_command(extras):
    extra(extras, "[gz_testauto.planners]\nplan = no_such_module:Thing\n")
    with pytest.raises(MissingDependencyError, match=r"pip install '.*\[mine\]'"):
        Registry("planner", {}).get("plan")


def test_library_missing_while_a_plugin_runs_is_reported_with_the_pip_command(extras):
    extra(extras, "[gz_testauto.verbs]\nv = cgi:v\n")
    expected = pytest.raises(MissingDependencyError, match=r"pip install '.*\[mine\]'")
    with expected, Registry("verb", {}).requiring("v"):
        raise ModuleNotFoundError("No module named 'x'", name="x")


def test_outline_of_a_module_is_the_first_line_of_its_docstring_and_a_constant():
    registry = Registry("verb", {"json": "json.decoder", "pickle": "pickle"})
    assert registry.outline("json", "GROUP") == ("Implementation of JSONDecoder", None)
    text, constant = registry.outline("pickle", "format_version")
    assert text == "Create portable serialized representations of Python objects." and constant
