"""Ask for permission to run the programs that results name, since results can be those of another
author."""

import argparse
import sys
from pathlib import Path
from typing import Dict, Iterator, Sequence

from gz_testauto.base.errors import ResultsError
from gz_testauto.base.escaping import escape_text
from gz_testauto.campaign.world_plugins import plugin_counts, runs_plugins
from gz_testauto.planners import planner_origin
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.sdf.robot_files import runs_xacro
from gz_testauto.spec.campaign import BuiltinCampaignSpec, CampaignSpec, StackCampaignSpec
from gz_testauto.trial.launch_files import launch_files
from gz_testauto.worlds.source import specified_files, world_source

TRUST = (
    "run the programs that the results name, such as launch files, policies that contain "
    "programs, xacro files and plugins of worlds, without confirmation"
)


def add_trust_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--trust", action="store_true", help=TRUST)


def require_trust(
    campaigns: Sequence[CampaignSpec],
    worlds: Sequence[Path] = (),
    is_trusted: bool = False,
    option: str = "--trust",
) -> None:
    """Ask the user for permission to run the programs that stored campaigns name.

    Raises ``ResultsError`` without the permission, unless there are no programs or ``is_trusted``
    is true. ``option`` grants the permission; if it is the parameter of a node, such as ``~trust``,
    no question is printed.
    """
    programs: Dict[str, None] = {}
    for spec in () if is_trusted else campaigns:
        programs.update(dict.fromkeys(map(escape_text, _programs(spec, worlds))))
    if not programs:
        return
    program_list = "\n  ".join(["the trials of these results run programs:", *programs])
    if sys.stdin is not None and sys.stdin.isatty() and option.startswith("--"):
        print(f"{program_list}\nRun them? [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() in ("y", "yes"):
            return
        raise ResultsError("no trial was run, because you did not confirm it")
    raise ResultsError(f"{program_list}\nno trial was run; use {option} if you trust their author")


def require_trust_in_file(path: Path, spec: CampaignSpec, is_trusted: bool = False) -> None:
    """Call :func:`require_trust` if ``path``, the file of ``spec``, is that of stored results."""
    file = path.resolve()
    results = CampaignDirectory(file.parent)
    if results.is_begun and results.campaign == file:
        require_trust([spec], is_trusted=is_trusted)


def _programs(spec: CampaignSpec, worlds: Sequence[Path]) -> Iterator[str]:
    """Yield each program that the trials run, except installed plug-ins."""
    if isinstance(spec, StackCampaignSpec):
        for file in launch_files(spec):
            yield f"launch file {file}, and the programs that it starts"
    if isinstance(spec, BuiltinCampaignSpec):
        planners = [(planner.plugin, planner.parameters) for planner in spec.planners]
        planners += [(robot.planner, robot.parameters) for robot in spec.robots if robot.planner]
        policies = {
            file
            for name, parameters in planners
            for file in planner_origin(name, **parameters).runs
        }
        for file in sorted(policies):
            yield f"policy {file}, which is read with pickle"
    models = [spec.robot.model, *(robot.model for robot in spec.robots)]
    models += [actor.model for actor in spec.actors]
    models += [] if spec.worlds.source is not None else specified_files(spec)
    if spec.worlds.directory is not None:  # also those after worlds.count are expanded
        models += sorted(Path(spec.worlds.directory).glob("*.xacro"))
    models += [] if spec.worlds.obstacles is None else spec.worlds.obstacles.files
    for file in dict.fromkeys(model for model in models if model and runs_xacro(model)):
        yield f"xacro file {file}"
    if spec.worlds.xacro is not None:
        yield f"xacro files in {spec.worlds.base or spec.worlds.directory}"
    source = world_source(spec)
    for file in () if source is None else source.programs():
        yield f"scenario {file}"
    if runs_plugins(spec):
        for name, plugin_count in plugin_counts(worlds).most_common():
            yield f"plugin {name} in {plugin_count} world{'' if plugin_count == 1 else 's'}"
