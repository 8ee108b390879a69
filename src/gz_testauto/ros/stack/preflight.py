"""Check the commands, files, packages, nodes and planner plug-ins that the launch files of a stack
need, without a start."""

import contextlib
import importlib
import shutil
from pathlib import Path
from typing import Dict, Iterator, List, Mapping, NamedTuple, Set, Tuple

from lxml import etree

from gz_testauto.base.errors import GzTestautoError
from gz_testauto.base.registry import unknown_name
from gz_testauto.base.ros_packages import read_manifest, ros_packages
from gz_testauto.base.truncation import join_truncated
from gz_testauto.base.xml_file import read_xml
from gz_testauto.ros.stack.executor import commands_of, remedy_for
from gz_testauto.ros.stack.launch_contents import LaunchContents, arguments_of
from gz_testauto.spec.campaign import StackCampaignSpec
from gz_testauto.trial.launch_files import check_launch, find_launch_file, launches_of

MODULES = (
    "rospy",
    "tf2_ros",
    "actionlib_msgs",
    "gazebo_msgs",
    "geometry_msgs",
    "gz_testauto.msg",
    "move_base_msgs",
    "nav_msgs",
    "rosgraph_msgs",
    "sensor_msgs",
    "std_msgs",
    "std_srvs",
    "tf2_msgs",
    "trajectory_msgs",
    "visualization_msgs",
)


class Need(NamedTuple):
    """A part that a campaign needs; ``detail`` states its location, or the missing parts."""

    name: str
    is_met: bool
    detail: str
    remedy: str = ""
    is_required: bool = True


def stack_needs(spec: StackCampaignSpec) -> Iterator[Need]:
    yield _check_commands(spec)
    yield _check_modules()
    nodes: Dict[str, List[Tuple[str, str]]] = {}
    packages: Dict[str, str] = {}
    package_names: Set[str] = set()
    missing_files: Dict[str, str] = {}
    planner_names: Dict[str, str] = {}
    files = set()
    for location, launch, planners in launches_of(spec):
        try:
            check_launch(launch, location)
        except GzTestautoError as error:
            yield Need("launch files", False, error.full)
            continue
        for planner in planners:
            contents = LaunchContents(
                find_launch_file(launch, location), arguments_of(spec, launch, planner)
            )
            files.update(contents.files)
            for package in contents.missing_packages:
                packages.setdefault(package, location)
            package_names |= contents.missing_description_packages
            for file in contents.missing_files:
                missing_files.setdefault(file, location)
            for parameter, name in contents.planners.items():
                planner_names.setdefault(name, f"{location}: {parameter}")
            nodes.setdefault(location, []).extend(contents.nodes)
    if missing_files:
        text = join_truncated([f"{file} ({location})" for file, location in missing_files.items()])
        yield Need("launch files", False, f"not found: {text}", "correct the launch file")
    elif nodes:
        yield Need("launch files", True, f"{len(files)} input files")
    yield from _check_nodes(nodes, packages)
    if planner_names:
        yield _check_planners(planner_names)
    if package_names:
        package_list = join_truncated(sorted(package_names))
        detail = f"missing in conditions or macros of the robot description: {package_list}"
        yield Need("xacro", False, detail, is_required=False)


def _check_commands(spec: StackCampaignSpec) -> Need:
    missing_commands = [name for name in commands_of(spec) if shutil.which(name) is None]
    if missing_commands:
        remedy = "; ".join(dict.fromkeys(map(remedy_for, missing_commands)))
        return Need("ROS commands", False, f"not on PATH: {', '.join(missing_commands)}", remedy)
    return Need("ROS commands", True, ", ".join(commands_of(spec)))


def _check_modules() -> Need:
    missing_modules = []
    for name in MODULES:
        try:
            importlib.import_module(name)
        except ImportError:
            missing_modules.append(name)
    if missing_modules:
        names = [name.replace("_", "-") for name in missing_modules if "." not in name]
        debian = " ".join(f"python3-{name}" for name in names) or "none"
        remedy = (
            f"install these ROS packages (Debian: {debian}), or build them, and source setup.bash "
            "of their workspace"
        )
        return Need(
            "ROS modules", False, f"missing in Python: {', '.join(missing_modules)}", remedy
        )
    return Need("ROS modules", True, f"all {len(MODULES)}")


def _check_nodes(
    nodes_of: Dict[str, List[Tuple[str, str]]], packages: Mapping[str, str]
) -> Iterator[Need]:
    from roslib.packages import find_node

    known_packages, missing_packages = ros_packages(), dict(packages)
    missing_nodes: List[str] = []
    node_count = 0
    for location, nodes in nodes_of.items():
        for package, kind in dict.fromkeys(nodes):
            node_count += 1
            if package not in known_packages:
                missing_packages.setdefault(package, location)
            elif not find_node(package, kind):
                missing_nodes.append(f"{package}/{kind} ({location})")
    remedy = "install or build the packages, and source setup.bash of their workspace"
    if missing_packages:
        package_list = [
            f"{package} ({location})" for package, location in sorted(missing_packages.items())
        ]
        yield Need("ROS packages", False, f"missing: {join_truncated(package_list)}", remedy)
    else:
        yield Need("ROS packages", True, "all packages that the launch files name")
    if missing_nodes:
        text = f"not found: {join_truncated(missing_nodes)}"
        yield Need(
            "nodes", False, text, "correct the type in the launch file, or build its package"
        )
    else:
        yield Need("nodes", True, f"{node_count} nodes of the launch files")


def _check_planners(location_of: Mapping[str, str]) -> Need:
    declared_names = _declared_planners()
    missing = [
        f"{location}: {unknown_name('plug-in', name, declared_names)}"
        for name, location in location_of.items()
        if name not in declared_names
    ]
    if missing:
        remedy = "correct the name, or install or build its package and source its setup.bash"
        return Need("plug-ins", False, "; ".join(missing), remedy)
    return Need("plug-ins", True, ", ".join(location_of))


def _declared_planners() -> Set[str]:
    """Return the names of the planner plug-ins of move_base that installed packages declare."""
    names: Set[str] = set()
    for folder in ros_packages().values():
        with contextlib.suppress(OSError, etree.XMLSyntaxError):
            for export in read_manifest(folder).iterfind("export/nav_core"):
                file = Path(export.get("plugin", "").replace("${prefix}", str(folder)))
                for plugin in read_xml(file).iter("class"):
                    names.add(plugin.get("name") or plugin.get("type") or "")
    return names
