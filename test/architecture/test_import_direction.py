"""Modules import only from the folders that ``docs/architecture.md`` allows."""

import ast
import re
from functools import lru_cache
from pathlib import Path
from typing import Dict, Iterator, Set, Tuple

import pytest
from source_trees import walk

SOURCE = Path(__file__).resolve().parents[2] / "src" / "gz_testauto"
MODULES = sorted(SOURCE.rglob("*.py"))

# From the ground up. A part imports from lower layers; from its own layer where that is PEERS.
LAYERS = (
    {"base", "geometry", "processes"},
    {"spec"},
    {"grid", "sdf"},
    {"sampling"},
    {"worlds"},
    {"simulators", "planners", "metrics"},
    {"actors"},
    {"randomization"},
    {"trial"},
    {"results"},
    {"analysis"},
    {"workers"},
    {"campaign"},
    {"report"},
    {"cli", "ros"},
    {"notebook"},
    {"extras"},
)
PEERS = (LAYERS[0], LAYERS[2])
TESTING = "testing"  # shipped to users who write adaptors: imports anything, imported by none

NEED_ROS = {"actionlib", "rosgraph", "roslaunch", "rosmsg", "rospy", "rosservice", "tf2_ros"}
MAY_IMPORT_ROS = (
    "base/ros_messages",
    "ros/",
    "testing/",
    "simulators/gazebo_ros/",
    "extras/gate/node",
    "extras/localization/node",
)

ADAPTORS = tuple(
    f"simulators/{path.parent.name}/" for path in (SOURCE / "simulators").glob("*/__init__.py")
)
"""Simulators; code that two of them use belongs to a folder below."""

REFERENCE = re.compile(r"gz_testauto(\.\w+)+:\w+")
"""A name that a registry or ``load_object`` imports; in other code it would hide an import."""

WITHOUT_SUBJECT = {"common", "helper", "helpers", "misc", "util", "utilities", "utils"}


@lru_cache(maxsize=None)
def imports_of(path: Path) -> Tuple[str, ...]:
    """Return the full names of a module's imports, those inside functions included."""
    return tuple(_imports_of(ast.parse(path.read_text(encoding="utf-8")), path))


def _imports_of(tree: ast.AST, path: Path) -> Iterator[str]:
    for node in walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: import by full name"
            for alias in node.names:
                yield f"{node.module}.{alias.name}"


def part_of(path: Path) -> str:
    """The folder or top-level module that a file belongs to."""
    return path.relative_to(SOURCE).parts[0].replace(".py", "")


def parts_imported(path: Path) -> Set[str]:
    """The parts of this package that a module imports; generated messages are none."""
    names = (name.split(".") for name in imports_of(path) if name.startswith("gz_testauto."))
    return {name[1] for name in names} - {"msg", "srv", "__version__", "BITS_VERSION"}


def allowed(part: str) -> Set[str]:
    """The parts that ``part`` may import."""
    for height, layer in enumerate(LAYERS):
        if part in layer:
            below = set().union(*LAYERS[:height])
            return below | {part} | (layer if layer in PEERS else set())
    raise AssertionError(f"src/gz_testauto/{part} has no place in LAYERS: give it one")


def module_of(path: Path) -> str:
    """The full name of a module; of ``__init__.py`` the package's."""
    name = ".".join(("gz_testauto", *path.relative_to(SOURCE).with_suffix("").parts))
    return name[: -len(".__init__")] if path.stem == "__init__" else name


def modules_imported() -> Dict[str, Set[str]]:
    """For every module the modules of this package that it imports."""
    known = {module_of(path) for path in MODULES}
    return {
        module_of(path): {
            name if name in known else name.rpartition(".")[0] for name in imports_of(path)
        }
        & known
        for path in MODULES
    }


def where(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def ros_imports(path: Path) -> Set[str]:
    """Return the imports of a module that need ROS."""
    return {
        name
        for name in imports_of(path)
        if name.split(".")[0] in NEED_ROS
        or name.split(".")[0].endswith("_msgs")
        or name.startswith(("std_srvs", "gz_testauto.msg", "gz_testauto.srv"))
    }


@pytest.mark.slow
def test_modules_import_only_from_allowed_folders():
    inside = [path for path in MODULES if part_of(path) not in {"__init__", TESTING}]
    assert inside
    too_high = {where(path): parts_imported(path) - allowed(part_of(path)) for path in inside}
    assert {path: parts for path, parts in too_high.items() if parts} == {}


@pytest.mark.slow
def test_modules_have_no_circular_imports():
    left = modules_imported()
    assert len(left) == len(MODULES)
    while free := {name for name, imported in left.items() if not imported & set(left)}:
        left = {name: imported for name, imported in left.items() if name not in free}
    circles = {name: imported & set(left) for name, imported in left.items()}
    assert circles == {}


@pytest.mark.slow
def test_simulators_do_not_import_each_other():
    folders = {f"gz_testauto.{folder[:-1].replace('/', '.')}": folder for folder in ADAPTORS}
    assert "simulators/gazebo_ros/" in ADAPTORS
    across = {
        f"{where(path)} imports {name}"
        for path in MODULES
        for name in imports_of(path)
        for package, folder in folders.items()
        if where(path).startswith(ADAPTORS)
        and f"{name}.".startswith(f"{package}.")
        and not where(path).startswith(folder)
    }
    assert across == set()


@pytest.mark.slow
def test_only_registries_and_load_object_import_by_a_string():
    by_string = {
        where(path)
        for path in MODULES
        for node in walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and REFERENCE.fullmatch(node.value)
    }
    assert "planners/__init__.py" in by_string
    hidden = {
        name
        for name in by_string
        if not re.search(r"Registry\(|load_object\(", (SOURCE / name).read_text("utf-8"))
    }
    assert hidden == set()


@pytest.mark.slow
def test_ros_is_imported_only_in_the_ros_modules():
    elsewhere = {
        where(path): ros_imports(path)
        for path in MODULES
        if not where(path).startswith(MAY_IMPORT_ROS)
    }
    assert {path: names for path, names in elsewhere.items() if names} == {}


def test_no_module_has_a_generic_name():
    assert [where(path) for path in MODULES if path.stem in WITHOUT_SUBJECT] == []


def test_every_folder_with_modules_is_a_package():
    folders = {path.parent for path in MODULES}
    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []
