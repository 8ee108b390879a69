"""Report installed and missing parts, and list all plug-ins.

Checks Python and the libraries, ROS 1, Gazebo 11, gazebo_ros, move_base, RViz and the display.
Optional parts are marked as not needed: without gazebo_ros the `simulator` node provides the same
topics and services, and without move_base the `planner` node provides the same action. Lists the
planners, simulators and metrics that a campaign can use, including those of other packages. Changes
nothing.

With CAMPAIGN, checks that campaign instead: its YAML file, robot and simulator, or the commands,
Python messages, files, packages, nodes and planner plug-ins that the launch files of its stack
need. Starts no process.

Exit status: 0 if no required part is missing, otherwise 1.

example:
  gz_testauto doctor
  gz_testauto doctor my_campaign.yaml
  gz_testauto doctor --json | jq '.[] | select(.found | not)'
"""

import argparse
import contextlib
import dataclasses
import importlib.util
import json
import os
import platform
import shutil
import sys
import textwrap
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Iterator, NamedTuple, Optional

from gz_testauto.base.errors import GzTestautoError
from gz_testauto.base.resources import share_directory
from gz_testauto.base.ros_packages import ros_packages
from gz_testauto.campaign.campaign_files import campaign_path

if TYPE_CHECKING:  # a missing library is reported instead of an error at the import
    from gz_testauto.spec.campaign import BuiltinCampaignSpec

GROUP = ("start", 7)
LIBRARIES = (
    "jinja2",
    "lxml",
    "mapbox_earcut",
    "mujoco",
    "numba",
    "numpy",
    "pillow",
    "protobuf",
    "pycollada",
    "pydantic",
    "pyyaml",
    "rich",
    "scipy",
    "shapely",
    "threadpoolctl",
    "trimesh",
    "xacro",
)
WIDTH = 80

BOOTSTRAP_BUILD = ".build"  # the catkin workspace of ./bootstrap in a checkout


class Remedies(NamedTuple):
    libraries: str
    gazebo: str
    ros: str
    gazebo_msgs: str


@dataclasses.dataclass(frozen=True)
class Finding:
    """The result of one check: the location of a part or, if it is missing, the effect and the
    remedy."""

    name: str
    found: bool
    detail: str
    needed: bool = True
    remedy: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "campaign",
        nargs="?",
        type=campaign_path,
        metavar="CAMPAIGN",
        help="YAML file of the campaign whose parts are checked (default: the installation)",
    )
    parser.add_argument("--json", action="store_true", help="print the results as a JSON list")


def run(arguments: argparse.Namespace) -> int:
    campaign = arguments.campaign
    findings = list(examine() if campaign is None else examine_campaign(campaign))
    if arguments.json:
        print(json.dumps([dataclasses.asdict(finding) for finding in findings], indent=2))
    else:
        print("\n".join(map(_finding_line, findings)))
    return 0 if all(finding.found for finding in findings if finding.needed) else 1


def examine() -> Iterator[Finding]:
    remedies = _remedies()
    yield Finding("Python", True, f"{platform.python_version()}, {sys.executable}")
    yield _check_libraries(remedies.libraries)
    yield from _check_gazebo(remedies.gazebo)
    yield _check_ros(remedies.ros)
    consequence = "campaigns with ROS nodes use these messages"
    yield _check_ros_package("gazebo_msgs", consequence, _uses_ros(), remedies.gazebo_msgs)
    yield _check_ros_package(
        "gazebo_ros", "the simulator node provides the same topics and services"
    )
    yield _check_ros_package("move_base", "the planner node provides the same action")
    yield _check_ros_package("rviz", "rviz:=true shows nothing")
    yield _check_display()
    yield from _list_plugins()


def examine_campaign(path: Path) -> Iterator[Finding]:
    from gz_testauto.base.registry import load_object
    from gz_testauto.cli.trust import require_trust_in_file
    from gz_testauto.spec.campaign import BuiltinCampaignSpec, CampaignSpec, StackCampaignSpec
    from gz_testauto.spec.loader import load
    from gz_testauto.trial.testbed import read_body

    try:
        spec = load(path, CampaignSpec)
        require_trust_in_file(path, spec)  # it can be of another author
        robot = read_body(spec)
    except GzTestautoError as error:
        yield Finding("campaign", False, error.full, remedy="correct the campaign file")
        return
    planners = ", ".join(planner.name for planner in spec.planners)
    yield Finding("campaign", True, f"{spec.name}, robot {robot.name}, planners {planners}")
    if isinstance(spec, BuiltinCampaignSpec):
        yield from _examine_builtin_parts(spec)
    if not isinstance(spec, StackCampaignSpec):
        return
    try:
        stack_needs = load_object("gz_testauto.ros.stack.preflight:stack_needs")
    except ImportError as error:
        yield Finding("ROS", False, f"no Python package {error.name}", remedy=_remedies().ros)
        return
    for need in stack_needs(spec):
        yield Finding(need.name, need.is_met, need.detail, need.is_required, need.remedy)


def _examine_builtin_parts(spec: "BuiltinCampaignSpec") -> Iterator[Finding]:
    from gz_testauto.base.parameters import check_parameters
    from gz_testauto.planners import PLANNERS
    from gz_testauto.simulators import check_options, chosen_simulator
    from gz_testauto.simulators.gazebo.installation import find_gazebo

    try:
        name = chosen_simulator(spec.simulator)
        check_options(name, spec.simulator_options)
        location = f", {find_gazebo().where}" if name == "gazebo" else ""
        yield Finding("simulator", True, name + location)
    except GzTestautoError as error:
        yield Finding("simulator", False, error.full, remedy="install it, or set another simulator")
    for planner in spec.planners:
        try:
            check_parameters(PLANNERS, planner.plugin, planner.parameters)
            yield Finding("planner", True, planner.name)
        except GzTestautoError as error:
            yield Finding("planner", False, error.full, remedy="correct the key 'planners'")


def _remedies() -> Remedies:
    workspace = _sourced_workspace()
    if workspace is not None:
        return Remedies(
            libraries="create the Python environment that docs/install.md describes under "
            f'"In a catkin workspace", and build {workspace.parent} with its PYTHON_EXECUTABLE',
            gazebo="install gazebo11, or set GZ_TESTAUTO_GAZEBO_ROOT to the directory of a copy",
            ros="source the setup.bash of a ROS 1 installation with rospy",
            gazebo_msgs="install ros-noetic-gazebo-msgs, or add gazebo_ros_pkgs (if that is not "
            f"possible, a link to overlay/gazebo_msgs of gz_testauto) to {workspace}, build the "
            "workspace, and source devel/setup.bash",
        )
    set_up = "run ./bootstrap setup in a checkout"
    is_checkout = False
    with contextlib.suppress(GzTestautoError):
        is_checkout = (share_directory() / "bootstrap").is_file()
    if is_checkout:
        return Remedies(f"{set_up}, or pip install .", set_up, set_up, set_up)
    setup = f"source the setup.bash of the catkin workspace that has gz_testauto, or {set_up} of it"
    return Remedies("pip install gz_testauto again", set_up, setup, setup)


def _sourced_workspace() -> Optional[Path]:
    for prefix in map(Path, filter(None, os.environ.get("CMAKE_PREFIX_PATH", "").split(":"))):
        with contextlib.suppress(OSError):
            sources = (prefix / ".catkin").read_text().split(";")
            if sources[0]:  # the marker file of an installed ROS is empty
                return None if prefix.parent.name == BOOTSTRAP_BUILD else Path(sources[0])
    return None


def _check_libraries(remedy: str) -> Finding:
    missing_names = [name for name in LIBRARIES if _installed_version(name) is None]
    if missing_names:
        return Finding(
            "libraries",
            False,
            f"missing: {', '.join(missing_names)}",
            remedy=remedy,
        )
    versions = ", ".join(
        f"{name} {_installed_version(name)}" for name in ("numpy", "scipy", "shapely")
    )
    return Finding("libraries", True, f"all {len(LIBRARIES)}, among them {versions}")


def _installed_version(distribution: str) -> Optional[str]:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _check_gazebo(remedy: str) -> Iterator[Finding]:
    from gz_testauto.simulators.gazebo.installation import find_gazebo

    no_window = "gui:=true opens no window"
    try:
        gazebo = find_gazebo()
    except GzTestautoError as error:
        consequence = f"campaigns run in the embedded simulator: {error}"
        yield Finding("Gazebo", False, consequence, needed=False, remedy=remedy)
        yield Finding("gzclient", False, no_window, needed=False)
        return
    yield Finding("Gazebo", True, f"{gazebo.version}, {gazebo.where}")
    detail = gazebo.client[-1] if gazebo.client else no_window
    yield Finding("gzclient", gazebo.client is not None, detail, needed=False)


def _uses_ros() -> bool:
    # the environment of a ROS installation or workspace is sourced, or its packages are found
    is_sourced = any(
        os.environ.get(name) for name in ("ROS_DISTRO", "ROS_ROOT", "ROS_PACKAGE_PATH")
    )
    has_workspace = _sourced_workspace() is not None
    return is_sourced or has_workspace or importlib.util.find_spec("rospy") is not None


def _check_ros(remedy: str) -> Finding:
    if importlib.util.find_spec("rospy") is None:
        detail = "gz_testauto run works; nodes and launch files do not"
        return Finding("ROS", False, detail, _uses_ros(), remedy)
    distribution = os.environ.get("ROS_DISTRO") or "not sourced: no ROS_DISTRO"
    launcher = shutil.which("roslaunch") or "no roslaunch on PATH"
    return Finding("ROS", True, f"{distribution}, {launcher}")


def _check_ros_package(
    name: str, consequence: str, needed: bool = False, remedy: str = ""
) -> Finding:
    with contextlib.suppress(KeyError):
        return Finding(name, True, str(ros_packages()[name]), needed)
    return Finding(name, False, consequence, needed, remedy)


def _check_display() -> Finding:
    display = os.environ.get("WAYLAND_DISPLAY") or os.environ.get("DISPLAY")
    detail = display or "no windows (gui:=, rviz:=); nothing else needs one"
    return Finding("display", display is not None, detail, needed=False)


def _list_plugins() -> Iterator[Finding]:
    with contextlib.suppress(ImportError):  # a missing library, which is reported above
        from gz_testauto.metrics.interface import METRICS
        from gz_testauto.planners import PLANNERS
        from gz_testauto.simulators import SIMULATORS

        for registry in (PLANNERS, SIMULATORS, METRICS):
            yield Finding(f"{registry.kind}s", True, ", ".join(registry.names()), needed=False)


def _finding_line(finding: Finding) -> str:
    # Only lists are wrapped, so that a command can be copied.
    if finding.found:
        return textwrap.fill(
            f"{finding.name:<12} yes  {finding.detail}",
            WIDTH,
            subsequent_indent=" " * 18,
            break_long_words=False,
            break_on_hyphens=False,
        )
    if finding.needed:
        remedy = f". To get it: {finding.remedy}" if finding.remedy else ""
        return f"{finding.name:<12} NO   {finding.detail}{remedy}"
    return f"{finding.name:<12} no   {finding.detail} (not needed)"
