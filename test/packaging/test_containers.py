"""The system packages of the container images are those of ./bootstrap."""

import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree

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
    messages = set() if is_noetic else message_packages() - {"python3-move-base-msgs"}
    found = set().union(*packages_of_stages(dockerfile))
    assert found - COMPILER - messages == expected


def message_packages():
    """Return Debian's Python packages of the messages that this package and its overlay use."""
    manifests = (CHECKOUT / "package.xml", CHECKOUT / "overlay" / "gazebo_msgs" / "package.xml")
    used = {
        element.text
        for manifest in manifests
        for element in ElementTree.parse(str(manifest)).getroot()
        if element.tag.endswith("depend") and re.search("_(msgs|srvs)$", element.text)
    }
    assert {"sensor_msgs", "trajectory_msgs"} <= used
    return {f"python3-{name.replace('_', '-')}" for name in used - {"gazebo_msgs"}}


def test_debian_image_has_the_messages_of_all_nodes():
    """The build stage has them as dependencies of ros-core-python-dev."""
    build, final = packages_of_stages("debian.Dockerfile")
    assert message_packages() <= final
    assert final - message_packages() < build
