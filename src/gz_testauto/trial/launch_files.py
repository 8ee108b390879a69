"""The launch files of a campaign on a user's stack: found, checked and filled in per trial.

Owns the launch of a planner, the location of its file, and its arguments. An argument that a launch
file does not declare is an error, since roslaunch would ignore it and both planners would run with
the same settings. :mod:`gz_testauto.ros.stack` starts them.
"""

import os
from pathlib import Path
from typing import Any, Dict, Iterator, Mapping, NamedTuple, Optional, Tuple

from lxml import etree

from gz_testauto.base import resources
from gz_testauto.base.errors import ResourceError, SpecError
from gz_testauto.base.registry import unknown_name
from gz_testauto.base.xml_file import read_xml
from gz_testauto.spec.campaign import StackCampaignSpec
from gz_testauto.spec.placeholders import fill
from gz_testauto.spec.stack import LaunchSpec
from gz_testauto.trial.launch_contents import files_of
from gz_testauto.trial.plan import Trial
from gz_testauto.trial.setup import PreparedStack


class Launch(NamedTuple):
    """A launch file with its arguments as ``name:=value``, ready for roslaunch."""

    file: Path
    arguments: Tuple[str, ...]


def check_launches(spec: StackCampaignSpec) -> None:
    """Raise ``SpecError`` for a missing launch file or an unknown argument."""
    for where, launch in _launches(spec):
        file = find_launch_file(launch, where)
        declared = _declared_arguments(file)
        for name in launch.args if declared is not None else ():
            if name not in declared:  # type: ignore[operator]
                raise SpecError(
                    f"{where}.args: {unknown_name(f'argument of {launch.named}:', name, declared)}"
                )


def launch_inputs(spec: StackCampaignSpec) -> Dict[str, Path]:
    """Return the launch files that a campaign names by package, and the files that all of its
    launch files need; the others are fields of the campaign."""
    inputs: Dict[str, Path] = {}
    for where, launch in _launches(spec):
        file = find_launch_file(launch, where)
        if launch.package is not None:
            inputs[f"launch {launch.named}"] = file
        arguments = {name: _argument_text(value) for name, value in launch.args.items()}
        for name, path in files_of(file, arguments).items():
            inputs[f"{where} brings {name}"] = path
    return inputs


def launch_files(spec: StackCampaignSpec) -> Tuple[Path, ...]:
    """Return every launch file of the campaign's trials, once. Raises ``SpecError``."""
    found = (find_launch_file(launch, where) for where, launch in _launches(spec))
    return tuple(dict.fromkeys(found))


def find_launch_file(launch: LaunchSpec, where: str) -> Path:
    """Return the path of a launch file. Raises ``SpecError``, which starts with ``where``, if it
    does not exist."""
    assert launch.file is not None
    if launch.package is None:
        return Path(launch.file)
    try:
        package = resources.resolve(f"package://{launch.package}", Path())
    except ResourceError as error:
        raise SpecError(
            f"{where}.package: {error}; install or build it, and source its workspace's setup.bash "
            "in this shell"
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
    """Return the launch of one trial."""
    arguments = tuple(
        f"{name}:={fill(_argument_text(value), values)}" for name, value in launch.args.items()
    )
    return Launch(find_launch_file(launch, where), arguments)


def placeholder_values(
    campaign: PreparedStack, trial: Trial, map_file: Path, logs: Path
) -> Dict[str, object]:
    """Return the values of all placeholders in one trial."""
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
    """Yield every launch that a trial can need, with its place in the campaign."""
    yield "stack.simulator", spec.stack.simulator
    if spec.stack.robot is not None:
        yield "stack.robot", spec.stack.robot
    for index, planner in enumerate(spec.planners):
        yield f"planners[{index}].launch", spec.navigation(planner)


def _declared_arguments(file: Path) -> Optional[Dict[str, Any]]:
    """Return the arguments that a launch file declares; None if it passes all arguments on."""
    try:
        root = read_xml(file)
    except (OSError, etree.XMLSyntaxError) as error:
        raise SpecError(f"{file}: cannot be read as a launch file: {error}") from error
    if any(element.get("pass_all_args") == "true" for element in root.iter("include")):
        return None
    return {
        str(element.get("name")): element
        for element in root.iter("arg")
        if element.getparent() is not None and element.getparent().tag != "include"
    }


def _argument_text(value: object) -> str:
    """Return the value as roslaunch reads it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
