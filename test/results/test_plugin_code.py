"""The modules of a package of a user on which a plug-in depends."""

import sys
import types

import pytest

from gz_testauto.planners import PLANNERS
from gz_testauto.results import inputs
from gz_testauto.results.inputs import modules_of

FILES = {
    "__init__": "from my_nav.unrelated import ALL\n",
    "unrelated": "ALL = 1\n",
    "geometry": "import os\nimport my_nav.deep.core as core\n",
    "tables": "from my_nav.geometry import core\n",
    "broken": "def (",
    "deep/__init__": "",
    "deep/core": "def missing():\n    import my_nav.none, my_nav_other.module\n",
    "planners/__init__": "",
    "planners/steer": "",
    "planners/optional": "",
    "planners/mine": """
import math
from my_nav.geometry import core
from .. import tables
from numpy import array

class Mine:
    def plan(self):
        from . import steer
        from .optional import speed
        import my_nav.broken
""",
}
EXPECTED = ("broken", "deep.core", "geometry", "planners.optional", "planners.steer", "tables")


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Return the folder of the package ``my_nav``, which the test can import."""
    for name, text in FILES.items():
        path = tmp_path / "my_nav" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "my_nav" / "planners" / "steer.py").unlink()
    (tmp_path / "my_nav" / "planners" / "steer.so").write_bytes(b"compiled")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path / "my_nav"
    for name in [one for one in sys.modules if one.partition(".")[0] == "my_nav"]:
        del sys.modules[name]


def mine(package, text=None):
    if text is not None:
        (package / "planners" / "mine.py").write_text(text)
    import my_nav.planners.mine

    return my_nav.planners.mine.Mine


def test_imported_modules_of_the_package_are_found_directly_and_indirectly(package):
    found = modules_of(mine(package))
    assert tuple(found) == tuple(f"my_nav.{name}" for name in EXPECTED)
    assert found["my_nav.deep.core"] == package / "deep" / "core.py"
    assert found["my_nav.planners.steer"].name == "steer.so"


def test_value_of_a_package_depends_on_its_init_file(package):
    found = modules_of(mine(package, "from my_nav import ALL\nclass Mine: pass\n"))
    assert tuple(found) == ("my_nav", "my_nav.unrelated")


def test_relative_import_of_an_init_file_is_relative_to_its_package(package):
    (package / "deep" / "__init__.py").write_text("from . import core\n")
    found = modules_of(mine(package, "import my_nav.deep\nclass Mine: pass\n"))
    assert tuple(found) == ("my_nav.deep", "my_nav.deep.core")


def test_base_class_in_the_package_is_found(package):
    text = "import my_nav.unrelated as u\nBase = type('Base', (), {'__module__': u.__name__})\n"
    assert tuple(modules_of(mine(package, text + "class Mine(Base): pass\n"))) == (
        "my_nav.unrelated",
    )


def test_plugin_of_this_package_depends_on_the_modules_in_its_folder():
    found = modules_of(PLANNERS.get("fgm"))
    assert "gz_testauto.planners.following" in found
    assert all(name.startswith("gz_testauto.planners.") for name in found)


def test_plugin_outside_of_a_package_has_no_further_modules():
    assert modules_of(type("Alone", (), {"__module__": "script"})) == {}
    assert modules_of(type("Unknown", (), {"__module__": "no_such_package.module"})) == {}


def test_a_plugin_of_a_script_without_a_known_file_has_no_hash(monkeypatch):
    monkeypatch.setitem(sys.modules, "__main__", types.ModuleType("__main__"))
    plugin = type("Away", (), {"__module__": "__main__"})
    registry = types.SimpleNamespace(get=lambda name: plugin)
    assert inputs._code_hashes("code of planner ", registry, ["away"]) == {}
