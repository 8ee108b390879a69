"""Check the commands, packages and nodes that the launch files of a stack need, without a start."""

import importlib
import shutil
from typing import Dict, Iterator, List, Mapping, NamedTuple, Set, Tuple

from gz_testauto.base.errors import GzTestautoError
from gz_testauto.base.ros_packages import ros_packages
from gz_testauto.base.truncation import join_truncated
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
    "move_base_msgs",
    "nav_msgs",
    "rosgraph_msgs",
    "sensor_msgs",
    "std_srvs",
)


class Need(NamedTuple):
    """A part that a campaign needs; ``detail`` states its location, or the missing parts."""

    name: str
    is_met: bool
    detail: str
    remedy: str = ""
    is_required: bool = True


def stack_needs(spec: StackCampaignSpec) -> Iterator[Need]:
    yield _commands(spec)
    yield _modules()
    nodes: Dict[str, List[Tuple[str, str]]] = {}
    packages: Dict[str, str] = {}
    described: Set[str] = set()
    files = set()
    for where, launch, planners in launches_of(spec):
        try:
            check_launch(launch, where)
        except GzTestautoError as error:
            yield Need("launch files", False, error.full)
            continue
        for planner in planners:
            contents = LaunchContents(
                find_launch_file(launch, where), arguments_of(spec, launch, planner)
            )
            files.update(contents.files)
            for package in contents.missing_packages:
                packages.setdefault(package, where)
            described |= contents.missing_description_packages
            nodes.setdefault(where, []).extend(contents.nodes)
    if nodes:
        yield Need("launch files", True, f"{len(files)} input files")
    yield from _nodes(nodes, packages)
    if described:
        listed = join_truncated(sorted(described))
        detail = f"missing in conditions or macros of the robot description: {listed}"
        yield Need("xacro", False, detail, is_required=False)


def _commands(spec: StackCampaignSpec) -> Need:
    missing = [name for name in commands_of(spec) if shutil.which(name) is None]
    if missing:
        remedy = "; ".join(dict.fromkeys(map(remedy_for, missing)))
        return Need("ROS commands", False, f"not on PATH: {', '.join(missing)}", remedy)
    return Need("ROS commands", True, ", ".join(commands_of(spec)))


def _modules() -> Need:
    missing = []
    for name in MODULES:
        try:
            importlib.import_module(name)
        except ImportError:
            missing.append(name)
    if missing:
        remedy = "install or build these ROS packages, and source setup.bash of their workspace"
        return Need("ROS modules", False, f"missing in Python: {', '.join(missing)}", remedy)
    return Need("ROS modules", True, f"all {len(MODULES)}")


def _nodes(
    nodes_of: Dict[str, List[Tuple[str, str]]], packages: Mapping[str, str]
) -> Iterator[Need]:
    """Check packages and nodes.

    ``nodes_of`` and ``packages`` refer to launch files by their keys in the campaign.
    """
    from roslib.packages import find_node

    known, missing_packages = ros_packages(), dict(packages)
    missing_nodes: List[str] = []
    count = 0
    for where, nodes in nodes_of.items():
        for package, kind in dict.fromkeys(nodes):
            count += 1
            if package not in known:
                missing_packages.setdefault(package, where)
            elif not find_node(package, kind):
                missing_nodes.append(f"{package}/{kind} ({where})")
    remedy = "install or build the packages, and source setup.bash of their workspace"
    if missing_packages:
        listed = [f"{package} ({where})" for package, where in sorted(missing_packages.items())]
        yield Need("ROS packages", False, f"missing: {join_truncated(listed)}", remedy)
    else:
        yield Need("ROS packages", True, "all packages that the launch files name")
    if missing_nodes:
        text = f"not found: {join_truncated(missing_nodes)}"
        yield Need(
            "nodes", False, text, "correct the type in the launch file, or build its package"
        )
    else:
        yield Need("nodes", True, f"{count} nodes of the launch files")
