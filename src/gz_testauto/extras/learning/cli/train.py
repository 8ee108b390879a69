"""Train a policy in the worlds of a campaign, by PPO.

ENV.yaml is a campaign with a key `environment` (docs/learning.md), which has the parameters of PPO.
The training needs Stable-Baselines3. The policy is DIR/policy.npz, for the planner `policy` of any
campaign, which does not need it. The same command continues an interrupted training.

With --record, a planner is recorded for imitation learning in place of a training. DIR is then a
file FILE.npz. For each control period, it has the observation vector that a policy would receive,
and the action that gives the planner's command.

examples:
  gz_testauto train config/learning/arena.yaml --out results/arena_policy
  gz_testauto train config/learning/walkers.yaml --start results/arena_policy --out results/walkers
  gz_testauto train config/learning/arena.yaml --record fgm_improved --worlds 50 --out drives.npz
"""

import argparse
import sys
from pathlib import Path
from typing import Any, Dict

from gz_testauto.base.errors import SpecError
from gz_testauto.cli.options import whole_number
from gz_testauto.extras.learning.demonstrations import cloned, record
from gz_testauto.extras.learning.episode import PreparedEnvironment
from gz_testauto.extras.learning.policies.files import write_policy
from gz_testauto.extras.learning.spec import EnvironmentCampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.spec.yaml_source import YamlSource
from gz_testauto.trial.outcome import Outcome

RECORDING = ("parameters", "worlds", "clone")
TRAINING = ("seed", "start")
"""Options that need, or exclude, the option --record."""

GROUP = ("planners", 3)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "environment", metavar="ENV", type=Path, help="YAML file of the environment"
    )
    parser.add_argument(
        "--out",
        required=True,
        type=Path,
        metavar="DIR",
        help="output directory, or with --record the output file",
    )
    parser.add_argument(
        "--seed", type=whole_number, metavar="N", help="seed of the training (default 0)"
    )
    parser.add_argument(
        "--start",
        type=Path,
        metavar="DIR",
        help="output directory of a finished training, whose policy is trained further",
    )
    recording = parser.add_argument_group("recording of a planner")
    recording.add_argument(
        "--record", metavar="PLANNER", help="record this planner in place of a training"
    )
    recording.add_argument(
        "--parameters",
        metavar="YAML",
        help="YAML mapping with parameters of the planner, such as '{lookahead_m: 2.0}'",
    )
    recording.add_argument(
        "--worlds", type=int, metavar="N", help="number of recorded worlds (default: all)"
    )
    recording.add_argument(
        "--clone",
        type=Path,
        metavar="POLICY",
        help="also fit a linear policy to the actions, and write it to this file",
    )


def run(arguments: argparse.Namespace) -> int:
    for name in RECORDING if arguments.record is None else TRAINING:
        if getattr(arguments, name) is not None:
            relation = "needs" if arguments.record is None else "cannot be used with"
            raise SpecError(f"--{name} {relation} the option --record")
    return _train(arguments) if arguments.record is None else _record_planner(arguments)


def _train(arguments: argparse.Namespace) -> int:
    from gz_testauto.extras.learning.training import Training, TrainingDirectory

    spec = load(arguments.environment, EnvironmentCampaignSpec)
    directory = TrainingDirectory(arguments.out)
    directory.require_fresh_or_begun()
    with directory.locked():
        directory.remove_unfinished()
        prepared = PreparedEnvironment(spec, directory.worlds)
        training = Training(prepared, directory, arguments.seed or 0, arguments.start)
        if training.finished:
            print(f"continues after iteration {training.finished}", file=sys.stderr)
        print(training.run(_print_iteration))
    return 0


def _print_iteration(entry: Dict[str, Any]) -> None:
    parts = [f"{count} {outcome}" for outcome, count in entry["outcomes"].items()]
    print(f"{entry['steps']} steps: {', '.join(parts)}", file=sys.stderr, flush=True)


def _record_planner(arguments: argparse.Namespace) -> int:
    if arguments.out.suffix != ".npz":
        raise SpecError(f"--out is {arguments.out}; it must end with .npz")
    parameters = YamlSource(arguments.parameters or "{}", "--parameters").data
    if not isinstance(parameters, dict):
        raise SpecError(f"--parameters is {arguments.parameters!r}; it must be a YAML mapping")
    folder = arguments.out.with_name(f"{arguments.out.stem}_worlds")
    prepared = PreparedEnvironment.of(arguments.environment, folder)
    world_count = len(prepared.campaign.worlds)
    recorded_count = world_count if arguments.worlds is None else arguments.worlds
    if not 1 <= recorded_count <= world_count:
        raise SpecError(f"--worlds is {recorded_count}; it must be from 1 to {world_count}")
    demonstrations = record(
        prepared, arguments.record, parameters, range(recorded_count), _print_trial
    )
    demonstrations.write(arguments.out)
    print(
        f"{arguments.out}: {len(demonstrations.actions)} control periods of {recorded_count} "
        f"trials, {int(demonstrations.reached.sum())} of which reached the goal"
    )
    if arguments.clone is not None:
        write_policy(arguments.clone, cloned(demonstrations), prepared.card("linear"))
        print(arguments.clone)
    return 0


def _print_trial(world: str, outcome: Outcome) -> None:
    print(f"{world}: {outcome.value}", file=sys.stderr, flush=True)
