"""Find the launch files of a navigation stack, their arguments and their input files.

An argument that a launch file does not declare is an error: roslaunch would ignore it, and two
planners that differ only in this argument would run with the same settings.
:mod:`gz_testauto.ros.stack` starts the launch files.

The input files of a launch file are the files in ``<include>``, ``<rosparam>``, ``<param>`` and
node arguments, and the includes of xacro and URDF files. ``$(find)``, ``$(arg)``, ``$(env)``,
``$(optenv)`` and ``$(dirname)`` are replaced as in roslaunch; ``$(eval)`` and ``$(anon)`` are not.
Files that only the started programs open, and files for visualization, are not listed. The
conditions ``if`` and ``unless`` of elements are ignored.
"""

import contextlib
import functools
import os
import re
import shlex
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from lxml import etree

from gz_testauto.base import resources
from gz_testauto.base.errors import ResourceError, SpecError
from gz_testauto.base.registry import unknown_name
from gz_testauto.base.xml_file import read_xml
from gz_testauto.spec.campaign import StackCampaignSpec
from gz_testauto.spec.stack import LaunchSpec, fill
from gz_testauto.trial.plan import Trial
from gz_testauto.trial.setup import PreparedStack

Arguments = Mapping[str, str]

_FOLLOWED_SUFFIXES = {".launch", ".xml", ".xacro", ".urdf"}
_DISPLAY_SUFFIXES = {".rviz"}
_LARGEST_READ_B = 2_000_000
"""Largest file (bytes) that is searched for includes."""
_REFERENCE = re.compile(r"\$\((find|arg|env|optenv|dirname)\s*([^()\s]*)\s*([^()]*)\)")
_UNSOLVED = re.compile(r"\$\(|\$\{")
_DEPTH = 20


class Launch(NamedTuple):
    """A launch file with its arguments in the form ``name:=value`` that roslaunch expects."""

    file: Path
    arguments: Tuple[str, ...]


def check_launches(spec: StackCampaignSpec) -> None:
    """Raise ``SpecError`` if a launch file is missing, or does not declare one of its arguments."""
    for where, launch in _launches(spec):
        file = find_launch_file(launch, where)
        declared = _declared_arguments(file)
        for name in launch.args if declared is not None else ():
            if name not in declared:  # type: ignore[operator]
                raise SpecError(
                    f"{where}.args: {unknown_name(f'argument of {launch.named}:', name, declared)}"
                )


def launch_inputs(spec: StackCampaignSpec) -> Dict[str, Path]:
    """Return the launch files that are in ROS packages, and the input files of all launch files.

    Launch files that the campaign names by path are not included.
    """
    inputs: Dict[str, Path] = {}
    for where, launch in _launches(spec):
        file = find_launch_file(launch, where)
        if launch.package is not None:
            inputs[f"launch {launch.named}"] = file
        arguments = {name: _argument_text(value) for name, value in launch.args.items()}
        for name, path in files_of(file, arguments).items():
            inputs[f"{where} needs {name}"] = path
    return inputs


def launch_files(spec: StackCampaignSpec) -> Tuple[Path, ...]:
    """Return all launch files of the campaign, each once. Raises ``SpecError`` if one is
    missing.
    """
    found = (find_launch_file(launch, where) for where, launch in _launches(spec))
    return tuple(dict.fromkeys(found))


def find_launch_file(launch: LaunchSpec, where: str) -> Path:
    """Return the path of a launch file.

    Raises ``SpecError`` if the file does not exist; ``where`` is the start of its message.
    """
    assert launch.file is not None
    if launch.package is None:
        return Path(launch.file)
    try:
        package = resources.resolve(f"package://{launch.package}", Path())
    except ResourceError as error:
        raise SpecError(
            f"{where}.package: {error}; install or build the package, and source setup.bash of its "
            "workspace in this shell"
        ) from error
    elsewhere = sorted(package.rglob(Path(launch.file).name))
    for path in (package / "launch" / launch.file, package / launch.file, *elsewhere):
        if os.path.isfile(path):
            return path
    known = sorted(path.name for path in package.rglob("*.launch"))
    raise SpecError(
        f"{where}.file: {unknown_name(f'launch file of {package}:', str(launch.file), known)}"
    )


def fill_in(launch: LaunchSpec, where: str, values: Mapping[str, object]) -> Launch:
    """Return a launch file with its arguments for one trial, in which ``values`` replace
    placeholders.
    """
    arguments = tuple(
        f"{name}:={fill(_argument_text(value), values)}" for name, value in launch.args.items()
    )
    return Launch(find_launch_file(launch, where), arguments)


def placeholder_values(
    campaign: PreparedStack, trial: Trial, map_file: Path, logs: Path
) -> Dict[str, object]:
    """Return the values for one trial of all placeholders that launch arguments can contain."""
    spec = campaign.spec
    start = campaign.missions.start_in(trial.world)
    goal = campaign.missions.goals_in(trial.world)[-1]
    return {
        "world": str(campaign.world(trial).path),
        "world_name": trial.world,
        "map": map_file,
        "start_x": start.x_m,
        "start_y": start.y_m,
        "start_yaw": start.yaw_rad,
        "goal_x": goal.x_m,
        "goal_y": goal.y_m,
        "goal_yaw": goal.yaw_rad,
        "goal_tolerance": spec.goal.tolerance_m,
        "seed": trial.seed,
        "robot": spec.robot.name,
        "robot_model": spec.robot.model or "",
        "planner": trial.planner,
        "trial": trial.label,
        "control_period": spec.control_period_s,
        "logs": logs,
    }


def _launches(spec: StackCampaignSpec) -> Iterator[Tuple[str, LaunchSpec]]:
    """Yield the launch files of all trials, each with its key in the campaign."""
    yield "stack.simulator", spec.stack.simulator
    if spec.stack.robot is not None:
        yield "stack.robot", spec.stack.robot
    for index, planner in enumerate(spec.planners):
        yield f"planners[{index}].launch", spec.navigation(planner)


def _declared_arguments(file: Path) -> Optional[Dict[str, Any]]:
    """Return the arguments that a launch file declares; None if it has ``pass_all_args``."""
    try:
        root = read_xml(file)
    except (OSError, etree.XMLSyntaxError) as error:
        raise SpecError(f"{file}: the launch file cannot be read: {error}") from error
    if any(element.get("pass_all_args") == "true" for element in root.iter("include")):
        return None
    return {
        str(element.get("name")): element
        for element in root.iter("arg")
        if element.getparent() is not None and element.getparent().tag != "include"
    }


def _argument_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def files_of(launch: Path, arguments: Arguments) -> Dict[str, Path]:
    """Return all input files of a launch file, by name, if it is called with ``arguments``.

    The name of a file consists of its ROS package and the path in the package; outside of packages,
    it is the file name. It therefore does not depend on the location of the package. Missing files,
    and files that are not valid XML, are omitted; roslaunch reports them.
    """
    found: List[Path] = []
    _follow(launch, arguments, found, _DEPTH)
    named: Dict[str, Path] = {}
    for path in found:
        name, number = _name(path), 1
        while named.get(name, path) != path:
            number += 1
            name = f"{_name(path)} ({number})"
        named[name] = path
    return named


def _follow(file: Path, given: Arguments, found: List[Path], depth: int) -> None:
    if file.stat().st_size > _LARGEST_READ_B or depth == 0:
        return
    try:
        root = read_xml(file)
    except (OSError, etree.XMLSyntaxError):
        return
    scope = dict(given)
    for element in root.iter(etree.Element):
        if element.tag == "arg" and element.getparent().tag != "include":
            text = element.get("value") or element.get("default")
            value = None if text is None else _replaced(text, scope, file)
            if value is not None and (element.get("value") or element.get("name") not in scope):
                scope[str(element.get("name"))] = value
            continue
        passed = _passed(element, scope, file) if element.tag == "include" else {}
        for path in _named_by(element, scope, file):
            if path not in found and path.suffix not in _DISPLAY_SUFFIXES:
                found.append(path)
                if path.suffix in _FOLLOWED_SUFFIXES:
                    _follow(path, passed, found, depth - 1)


def _passed(include: "etree._Element", scope: Arguments, file: Path) -> Arguments:
    passed = dict(scope) if include.get("pass_all_args") == "true" else {}
    for argument in include.iterchildren("arg"):
        value = _replaced(argument.get("value") or argument.get("default") or "", scope, file)
        if value is not None:
            passed[str(argument.get("name"))] = value
    return passed


def _named_by(element: "etree._Element", scope: Arguments, file: Path) -> Iterator[Path]:
    for text in element.attrib.values():
        value = _replaced(str(text), scope, file)
        for word in _words(value or ""):
            path = _path_in(word)
            if path is not None and os.path.isfile(path):
                yield path.resolve()


def _words(text: str) -> Iterator[str]:
    """Yield ``text``, each of its words, and the value of each word of the form ``name:=value``."""
    yield text
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    for word in words:
        yield word
        yield word.rpartition(":=")[2]


def _path_in(word: str) -> Optional[Path]:
    if word.startswith("package://"):
        name, _, inside = word[len("package://") :].partition("/")
        directory = _package(name, os.environ.get("ROS_PACKAGE_PATH", ""))
        return Path(directory) / inside if directory else None
    word = word[len("file://") :] if word.startswith("file://") else word
    return Path(word) if word.startswith("/") and "\0" not in word and len(word) < 4096 else None


@functools.lru_cache(maxsize=None)
def _package(name: str, package_path: str) -> str:
    """Return the directory of a ROS package; empty if the package does not exist.

    The result is cached, since a search of ``package_path`` is slow.
    """
    try:
        return str(resources.resolve(f"package://{name}", Path()))
    except ResourceError:
        return ""


def _replaced(text: str, scope: Arguments, file: Path) -> Optional[str]:
    """Return the text with all substitutions replaced; None if a substitution has no value."""

    def value_of(match: "re.Match[str]") -> str:
        kind, name, rest = match.groups()
        if kind == "find":
            return _package(name, os.environ.get("ROS_PACKAGE_PATH", "")) or match.group()
        if kind == "arg":
            return scope.get(name, match.group())
        if kind == "dirname":
            return str(file.parent)
        return os.environ.get(name, rest if kind == "optenv" else match.group())

    replaced = _REFERENCE.sub(value_of, text)
    return None if _UNSOLVED.search(replaced) else replaced


def _name(path: Path) -> str:
    for directory in path.parents:
        manifest = directory / "package.xml"
        if os.path.isfile(manifest):
            with contextlib.suppress(OSError, etree.XMLSyntaxError):
                package = (read_xml(manifest).findtext("name") or directory.name).strip()
                return str(Path(package) / path.relative_to(directory))
    return path.name
