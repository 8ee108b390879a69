"""Builds the Python package for catkin and for pip.

Names, dependencies and bounds stand in ``pyproject.toml``, which pip reads. What catkin reads
(packages, version, command) stands here, because catkin interrogates ``setup()`` and knows
nothing of ``pyproject.toml``; what both need stands here only.
"""

import os
from pathlib import Path
from xml.etree import ElementTree

from setuptools import find_packages, setup

ROOT = Path(__file__).resolve().parent
SHARED_FOLDERS = ("config", "examples", "models", "worlds")
OF_NOTEBOOKS = {".ipynb_checkpoints", "results"}  # folders that notebooks create in examples


def version() -> str:
    """Return the version that ``package.xml`` states; catkin insists on that one."""
    return str(ElementTree.parse(str(ROOT / "package.xml")).findtext("version"))


def data_inside_package() -> "list[str]":
    """Return files beside the modules that are no modules, relative to the package."""
    package = ROOT / "src" / "gz_testauto"
    return sorted(
        str(path.relative_to(package))
        for path in package.rglob("*")
        if path.is_file() and path.suffix != ".py" and "__pycache__" not in path.parts
    )


def shared_files() -> "list[tuple[str, list[str]]]":
    """Return models, worlds, configuration and notebooks for ``share/gz_testauto`` of the prefix.

    Empty under catkin: there ``CMakeLists.txt`` installs them, to that same place.
    """
    if "CATKIN_BINARY_DIR" in os.environ:
        return []
    folders = {}
    for top in SHARED_FOLDERS:
        for path in sorted((ROOT / top).rglob("*")):
            relative = path.relative_to(ROOT)
            if path.is_file() and not OF_NOTEBOOKS & set(relative.parts):
                folders.setdefault(f"share/gz_testauto/{relative.parent}", []).append(str(relative))
    return sorted(folders.items())


setup(
    name="gz_testauto",
    version=version(),
    license="BSD-3-Clause",  # no form in pyproject.toml suits all releases of setuptools
    package_dir={"": "src"},
    packages=find_packages("src"),
    package_data={"gz_testauto": data_inside_package()},
    data_files=shared_files(),
    scripts=["scripts/gz_testauto"],
)
