"""The roslaunch and rosservice commands of the documents, compared with launch files and services.

The rostests run these services, and ``test_tutorial.py`` runs the commands that need no ROS.
"""

import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from gz_testauto.ros.obstacles import interface

CHECKOUT = Path(__file__).resolve().parents[2]
PAGES = [*CHECKOUT.glob("*.md"), *sorted((CHECKOUT / "docs").rglob("*.md"))]
COMMAND = re.compile(r"^(roslaunch gz_testauto|rosservice call /obstacle_spawner/)(.*)$", re.M)


def commands_in(text):
    """Return the commands in the blocks of code of a page, each as a list of words."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    codes = (code.replace("\\\n", " ") for language, code in blocks if language in ("", "sh"))
    lines = (match[0] for code in codes for match in COMMAND.finditer(code))
    return [shlex.split(line, comments=True) for line in lines]


def unknown_arguments(file, assignments):
    """Return the names of ``NAME:=VALUE`` that a launch file of this package does not declare."""
    folders = ("launch", "config")  # roslaunch searches the whole package
    path = next(path for folder in folders for path in (CHECKOUT / folder).rglob(file))
    declared = {arg.get("name") for arg in ElementTree.parse(str(path)).iter("arg")}
    return {text.split(":=")[0] for text in assignments} - declared


def unknown_fields(name, request):
    """Return the fields of a request that the spawner's service ``name`` does not have."""
    services = {service.name: service.type for service in interface.SPAWNER.services}
    kind = services[f"~{name}"].split("/")[1]
    declaration = (CHECKOUT / "srv" / f"{kind}.srv").read_text("utf-8").split("---")[0]
    fields = set(re.findall(r"^[\w/\[\]]+ +(\w+)", declaration, re.MULTILINE))
    if not isinstance(request, dict):  # the only field, without its name
        return set() if len(fields) == 1 else {request}
    return {*request} - fields


def faults(words):
    if words[0] == "roslaunch":
        return unknown_arguments(words[2], words[3:])
    request = yaml.safe_load(" ".join(words[3:])) if words[3:] else {}
    return unknown_fields(words[2].rpartition("/")[2], request)


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if commands_in(page.read_text("utf-8"))],
    ids=lambda page: page.stem,
)
def test_ros_commands_name_existing_launch_files_arguments_services_and_fields(page):
    for words in commands_in(page.read_text("utf-8")):
        assert faults(words) == set(), words


def test_misspelled_arguments_and_fields_are_detected():
    text = (
        "```\nroslaunch gz_testauto simulator.launch wrld:=a\n"
        'rosservice call /obstacle_spawner/spawn "{spec: obstacles, sed: 3}"\n```\n'
    )
    assert [faults(words) for words in commands_in(text)] == [{"wrld"}, {"sed"}]
