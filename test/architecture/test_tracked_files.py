"""Holds what must not be in a committed file, paths of the machine it was written on, and what
test modules must be called."""

import collections
import re
import subprocess
from pathlib import Path
from typing import List

CHECKOUT = Path(__file__).resolve().parents[2]
# The brackets keep the expression from finding itself.
HOME_DIRECTORY = re.compile(r"(?<![\w.~}-])/(?:[h]ome|[r]oot|[U]sers)/\w")


def tracked_files() -> List[Path]:
    """Return the files that git tracks; without git, all files except generated ones."""
    if not (CHECKOUT / ".git").exists():
        generated = {".build", "build", "results", "__pycache__"}
        return [path for path in CHECKOUT.rglob("*") if not generated & set(path.parts)]
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z"],
        cwd=CHECKOUT,
        check=True,
        stdout=subprocess.PIPE,
    )
    return [CHECKOUT / name for name in listed.stdout.decode().split("\0") if name]


def tracked_text_files() -> List[Path]:
    return [path for path in tracked_files() if path.is_file() and b"\0" not in path.read_bytes()]


def lines_with(pattern: "re.Pattern[str]") -> List[str]:
    return [
        f"{path.relative_to(CHECKOUT)}:{number}: {line.strip()}"
        for path in tracked_text_files()
        for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1)
        if pattern.search(line)
    ]


def test_no_file_contains_the_path_of_a_home_directory():
    assert lines_with(HOME_DIRECTORY) == []


def test_no_file_contains_the_path_of_this_checkout():
    assert lines_with(re.compile(r"(?<![\w.~}$/])" + re.escape(str(CHECKOUT)) + r"\b")) == []


def test_names_of_test_modules_are_unique():
    """pytest imports test modules and their helpers by name, without the folder."""
    paths = [path for path in tracked_files() if CHECKOUT / "test" in path.parents]
    names = [path.name for path in paths if path.suffix == ".py" and path.name != "conftest.py"]
    assert not [name for name, times in collections.Counter(names).items() if times > 1]
