"""Find the launch files of a navigation stack and their arguments."""

import os
import re
from pathlib import Path
from typing import Any, Dict, Iterator, Mapping, NamedTuple, Optional, Tuple, Union

from lxml import etree

from gz_testauto.base import resources
from gz_testauto.base.errors import ResourceError, SpecError
from gz_testauto.base.registry import unknown_name
from gz_testauto.base.xml_file import read_xml
from gz_testauto.spec.campaign import StackCampaignSpec
from gz_testauto.spec.stack import LaunchSpec, fill
from gz_testauto.trial.trial import Trial


class Launch(NamedTuple):
    """A launch file with arguments in the form ``name:=value``."""

    file: Path
    arguments: Tuple[str, ...]


def check_launches(spec: StackCampaignSpec) -> None:
    """Raise ``SpecError`` if a launch file is missing, or does not declare one of its arguments."""
    for location, launch, _ in launches_of(spec):
        check_launch(launch, location)


def check_launch(launch: LaunchSpec, location: str) -> None:
    arg_names = _declared_arguments(find_launch_file(launch, location))
    # roslaunch ignores an undeclared argument: two planners that differ only in it would run with
    # the same settings.
    for name in launch.args if arg_names is not None else ():
        if name not in arg_names:  # type: ignore[operator]
            raise SpecError(
                f"{location}.args: {unknown_name(f'argument of {launch.named}:', name, arg_names)}"
            )


def launch_files(spec: StackCampaignSpec) -> Tuple[Path, ...]:
    """Return the launch files of a campaign, each once. Raises ``SpecError`` if one is missing."""
    files = (find_launch_file(launch, location) for location, launch, _ in launches_of(spec))
    return tuple(dict.fromkeys(files))


def find_launch_file(launch: LaunchSpec, location: str) -> Path:
    """Return the path of a launch file, specified by its path or by package and name.

    Raises ``SpecError``, whose message starts with ``location``, if the file does not exist.
    """
    assert launch.file is not None
    if launch.package is None:
        return Path(launch.file)
    try:
        package = resources.resolve(f"package://{launch.package}", Path())
    except ResourceError as error:
        raise SpecError(f"{location}.package: {error}") from error
    for path in _candidates(package, launch.file):
        if os.path.isfile(path):
            return path
    names = sorted(path.name for path in package.rglob("*.launch"))
    raise SpecError(
        f"{location}.file: {unknown_name(f'launch file of {package}:', str(launch.file), names)}"
    )


def _candidates(package: Path, file: Union[str, Path]) -> Iterator[Path]:
    yield package / "launch" / file
    yield package / file
    yield from sorted(package.rglob(Path(file).name))  # takes long in a checkout


def fill_in(launch: LaunchSpec, location: str, values: Mapping[str, object]) -> Launch:
    """Return the launch file with its arguments, each placeholder ``{NAME}`` replaced by
    ``values[NAME]``. Raises the errors of :func:`find_launch_file`."""
    arguments = tuple(
        f"{name}:={fill(argument_text(value), values)}" for name, value in launch.args.items()
    )
    return Launch(find_launch_file(launch, location), arguments)


def placeholder_values(
    spec: StackCampaignSpec, trial: Trial, map_file: Path, logs: Path
) -> Dict[str, object]:
    start, goal = trial.mission.start, trial.mission.goals[-1]
    return {
        "world": str(trial.world.path),
        "world_name": trial.world.name,
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
        "planner": trial.planner.name,
        "trial": trial.label,
        "control_period": spec.control_period_s,
        "logs": logs,
    }


def launches_of(spec: StackCampaignSpec) -> Iterator[Tuple[str, LaunchSpec, Tuple[str, ...]]]:
    """Yield each launch file with its key in the campaign and the names of its planners."""
    planner_names = tuple(planner.name for planner in spec.planners)
    yield "stack.simulator", spec.stack.simulator, planner_names
    if spec.stack.robot is not None:
        yield "stack.robot", spec.stack.robot, planner_names
    for index, planner in enumerate(spec.planners):
        yield f"planners[{index}].launch", spec.navigation(planner), (planner.name,)


def _declared_arguments(file: Path) -> Optional[Dict[str, Any]]:
    """Return the ``<arg>`` elements of a launch file by name; None if it has ``pass_all_args``.

    Raises ``SpecError`` if it is no launch file, or if an included file does not exist.
    """
    try:
        root = read_xml(file)
    except (OSError, etree.XMLSyntaxError) as error:
        raise SpecError(f"{file}: the launch file cannot be read: {error}") from error
    if root.tag != "launch":
        raise SpecError(
            f"{file}:{root.sourceline}: the root element is <{root.tag}>, not <launch>; specify a "
            "launch file"
        )
    for include in root.iter("include"):
        included_file = _included_file(include, file)
        if included_file is not None and not os.path.isfile(included_file):
            raise SpecError(
                f"{file}:{include.sourceline}: the included file {included_file} is not found; "
                "correct its path"
            )
    if any(element.get("pass_all_args") == "true" for element in root.iter("include")):
        return None
    return {
        str(element.get("name")): element
        for element in root.iter("arg")
        if element.getparent() is not None and element.getparent().tag != "include"
    }


def _included_file(include: Any, file: Path) -> Optional[Path]:
    """Return the included file; None if it depends on arguments, or if a package is not found."""
    enclosing = (include, *include.iterancestors())
    if any({"if", "unless"} & {*element.keys()} for element in enclosing):
        return None
    text = (include.get("file") or "").replace("$(dirname)", str(file.parent))
    reference = re.match(r"\$\(find ([\w-]+)\)", text)
    try:
        if reference is not None:
            package = resources.resolve(f"package://{reference[1]}", Path())
            text = text.replace(reference[0], str(package))
    except ResourceError:
        return None  # roslaunch reports a missing package
    return None if "$(" in text or not os.path.isabs(text) else Path(text)


def argument_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
