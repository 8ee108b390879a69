"""docs/architecture.md names existing modules, and functions and classes that they define."""

import re
from pathlib import Path
from typing import Iterator

CHECKOUT = Path(__file__).resolve().parents[2]
SOURCE = CHECKOUT / "src" / "gz_testauto"
PAGE = (CHECKOUT / "docs" / "architecture.md").read_text("utf-8")
MODULE = r"`([a-z_]+/[\w/]+\.py)`"


def is_deleted(path: str) -> bool:
    """Return whether a path is in an extra that was deleted."""
    parts = path.split("/")
    return parts[0] == "extras" and not (SOURCE / "extras" / parts[1]).is_dir()


def missing_modules(page: str) -> Iterator[str]:
    for path in re.findall(MODULE, page):
        exists = (SOURCE / path).is_file() or (CHECKOUT / path).is_file()
        if "NAME" not in path and not is_deleted(path) and not exists:
            yield path


def missing_names(page: str) -> Iterator[str]:
    """Yield each name that its module does not define: of "`name` in `module`", of "`module`:
    `name`" and of a row of the walk, "| `module` | `name` |"."""
    pairs = [(path, name) for name, path in re.findall(rf"`(\w+)` in {MODULE}", page)]
    pairs += re.findall(rf"{MODULE}: `(\w+)`", page)
    pairs += re.findall(rf"^\| \d+\. [^|]*\| {MODULE} \| `(\w+)`", page, re.MULTILINE)
    for path, name in pairs:
        defined = rf"^\s*(?:(?:def|class) {name}\b|{name}(?:: | = ))"
        if (SOURCE / path).is_file() and not re.search(
            defined, (SOURCE / path).read_text("utf-8"), re.MULTILINE
        ):
            yield f"{path}: {name}"


def test_architecture_page_names_existing_modules_and_definitions():
    assert list(missing_modules(PAGE)) == []
    assert list(missing_names(PAGE)) == []


def test_check_of_the_architecture_page_detects_missing_names():
    page = "`Trial` in `trial/trial.py`, `walk` in `trial/plan.py`; `trial/gone.py`: `Trial`"
    page += "\n| 1. | `trial/trial.py` | `Trial` | a trial |\n| 2. | `trial/plan.py` | `gone` |"
    assert list(missing_modules(page)) == ["trial/gone.py"]
    assert list(missing_names(page)) == ["trial/plan.py: walk", "trial/plan.py: gone"]
