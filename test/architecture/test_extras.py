"""Each extra can be deleted with its page, and imports another one only if it declares that."""

import re

import pytest
from test_import_direction import SOURCE, imports_of
from without_extras import GUIDES

CHECKOUT = SOURCE.parents[1]
EXTRAS = sorted(path.parent for path in (SOURCE / "extras").glob("*/__init__.py"))
PYPROJECT = (CHECKOUT / "pyproject.toml").read_text("utf-8")


def pip_extras(pyproject):
    """Return the requirements of each pip extra in the text of a ``pyproject.toml``."""
    section = re.split(r"^\[", pyproject.split("optional-dependencies]\n")[1], flags=re.MULTILINE)[
        0
    ]
    parts = re.split(r"^(\w+) = ", re.sub("#.*", "", section), flags=re.MULTILINE)[1:]
    return {name: re.findall(r'"([^"]+)"', text) for name, text in zip(parts[::2], parts[1::2])}


def declared(pyproject, extra):
    """Return the extras that an extra declares to import: the pip extra ``a`` with
    ``gz_testauto[b]`` declares that ``a`` imports ``b``."""
    own = [text for text in pip_extras(pyproject)[extra] if text.startswith("gz_testauto[")]
    return {name for text in own for name in re.findall(r"[\w]+", text.partition("[")[2])}


def imported(folder):
    """Return the other extras that the modules in a folder import, those in functions included."""
    names = (name.split(".") for path in folder.rglob("*.py") for name in imports_of(path))
    return {
        name[2] for name in names if name[:2] == ["gz_testauto", "extras"] and len(name) > 2
    } - {folder.name}


@pytest.mark.slow
def test_an_extra_imports_another_only_if_its_pip_extra_requires_that():
    undeclared = {
        path.name: imported(path) - declared(PYPROJECT, path.name)
        for path in EXTRAS
        if path.name in pip_extras(PYPROJECT)
    }
    assert {name: others for name, others in undeclared.items() if others} == {}


@pytest.mark.parametrize("folder", EXTRAS, ids=lambda folder: folder.name)
def test_each_extra_has_a_pip_extra_and_a_page(folder):
    assert folder.name in pip_extras(PYPROJECT)
    assert (CHECKOUT / "docs" / f"{GUIDES.get(folder.name, folder.name)}.md").is_file()


def test_import_of_an_undeclared_extra_is_detected(tmp_path):
    (folder := tmp_path / "one").mkdir()
    (folder / "module.py").write_text(
        "from gz_testauto.extras.one.other import a\n"
        "def later():\n    from gz_testauto.extras.two import b\n"
    )
    assert imported(folder) == {"two"}
    pyproject = (
        '[project.optional-dependencies]\none = ["x>=1", "gz_testauto[two, three]"] # reason\n'
        'two = [\n    "y", # reason\n]\nthree = []\n'
    )
    assert declared(pyproject, "one") == {"two", "three"}
    assert declared(pyproject, "two") == set()
