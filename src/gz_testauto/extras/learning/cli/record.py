"""Record a planner in an environment, for imitation learning.

FILE.npz has, for each control period, the observation vector that a policy would receive, and the
action that gives the planner's command (docs/learning.md).

example:
  gz_testauto record config/learning/arena.yaml --planner fgm_improved --worlds 50 --out drives.npz
"""

import argparse
import sys
from pathlib import Path

from gz_testauto.base.errors import SpecError
from gz_testauto.extras.learning.demonstrations import cloned, record
from gz_testauto.extras.learning.episode import PreparedEnvironment
from gz_testauto.extras.learning.policies.files import write_policy
from gz_testauto.spec.yaml_source import YamlSource
from gz_testauto.trial.outcome import Outcome


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options to the parser."""
    parser.add_argument(
        "environment", metavar="ENV", type=Path, help="YAML file of the environment"
    )
    parser.add_argument("--planner", required=True, metavar="NAME", help="planner to record")
    parser.add_argument(
        "--parameters",
        default="{}",
        metavar="YAML",
        help="YAML mapping with parameters of the planner, such as '{lookahead_m: 2.0}'",
    )
    parser.add_argument("--worlds", type=int, metavar="N", help="number of worlds (default: all)")
    parser.add_argument("--out", required=True, type=Path, metavar="FILE", help="output file")
    parser.add_argument(
        "--clone",
        type=Path,
        metavar="POLICY",
        help="also fit a linear policy to the actions, and write it to this file",
    )


def run(arguments: argparse.Namespace) -> int:
    """Record the trials of a planner, and print a summary of the written file."""
    if arguments.out.suffix != ".npz":
        raise SpecError(f"--out is {arguments.out}; it must end with .npz")
    parameters = YamlSource(arguments.parameters, "--parameters").data
    if not isinstance(parameters, dict):
        raise SpecError(f"--parameters is {arguments.parameters!r}; it must be a YAML mapping")
    folder = arguments.out.with_name(f"{arguments.out.stem}_worlds")
    prepared = PreparedEnvironment.of(arguments.environment, folder)
    there = len(prepared.campaign.worlds)
    count = there if arguments.worlds is None else arguments.worlds
    if not 1 <= count <= there:
        raise SpecError(f"--worlds is {count}; it must be from 1 to {there}")
    found = record(prepared, arguments.planner, parameters, range(count), _report)
    found.write(arguments.out)
    print(
        f"{arguments.out}: {len(found.actions)} control periods of {count} trials, "
        f"{int(found.reached.sum())} of which reached the goal"
    )
    if arguments.clone is not None:
        write_policy(arguments.clone, cloned(found), prepared.card("linear"))
        print(arguments.clone)
    return 0


def _report(world: str, outcome: Outcome) -> None:
    print(f"{world}: {outcome.value}", file=sys.stderr, flush=True)
