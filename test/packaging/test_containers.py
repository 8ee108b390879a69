"""The system packages of the container images are those of ./bootstrap."""

import re
import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
NOT_IN_IMAGES = {"git", "libgl1", "libglib2.0-0"}
"""git is for a checkout; the libraries are for Scenic, see the build argument PACKAGES."""
COMPILER = {"python3-dev"}
"""Only for a library without a wheel."""


def packages_of_bootstrap(is_noetic):
    """Return the names of the packages that ./bootstrap installs on a machine without Gazebo."""
    commands = "required_packages; gazebo_packages"
    condition = f"for_noetic() {{ return {int(not is_noetic)}; }}; have_gazebo() {{ return 1; }}"
    printed = subprocess.run(
        ["bash", "-c", f'source "{CHECKOUT / "bootstrap"}"; {condition}; {commands}'],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return set(printed.stdout.split())


def packages_of_stages(dockerfile):
    """Return the names of the packages that each stage of a Dockerfile installs."""
    text = (CHECKOUT / "docker" / dockerfile).read_text().replace("\\\n", " ")
    lists = re.findall(r"apt-get install --yes --no-install-recommends(.*?)&&", text)
    assert len(lists) == 2
    return [{name for name in one.split() if not name.startswith("$")} for one in lists]


@pytest.mark.parametrize(
    ("dockerfile", "is_noetic", "of_base_image"),
    [("debian.Dockerfile", False, set()), ("noetic.Dockerfile", True, {"ros-noetic-ros-base"})],
)
def test_image_installs_the_system_packages_of_bootstrap(dockerfile, is_noetic, of_base_image):
    expected = packages_of_bootstrap(is_noetic) - NOT_IN_IMAGES - of_base_image
    assert set().union(*packages_of_stages(dockerfile)) - COMPILER == expected


def test_debian_image_runs_with_packages_that_its_build_stage_had():
    build, final = packages_of_stages("debian.Dockerfile")
    assert final < build
