"""Train a policy in the worlds of a campaign, by CMA-ES.

ENV.yaml is a campaign with a key `environment` (docs/learning.md). The policy is DIR/policy.npz,
for the planner `policy` of any campaign. The same command continues an interrupted training.

example:
  gz_testauto train config/learning/arena.yaml --out results/arena_policy
"""

import argparse
import sys
from dataclasses import fields
from pathlib import Path
from typing import Optional, Union

from gz_testauto.base.errors import SpecError
from gz_testauto.cli.workers import processors, worker_count
from gz_testauto.extras.learning.episode import PreparedEnvironment
from gz_testauto.extras.learning.selection import SelectionBatch
from gz_testauto.extras.learning.spec import EnvironmentCampaignSpec
from gz_testauto.extras.learning.training import (
    Generation,
    Training,
    TrainingDirectory,
    TrainingOptions,
)
from gz_testauto.spec.campaign import BuiltinCampaignSpec
from gz_testauto.spec.loader import load


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options to the parser."""
    default = TrainingOptions()
    parser.add_argument(
        "environment", metavar="ENV", type=Path, help="YAML file of the environment"
    )
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="output directory")
    parser.add_argument(
        "--seed", type=int, default=default.seed, help="seed of the training (default 0)"
    )
    parser.add_argument(
        "--steps",
        type=int,
        default=default.steps,
        metavar="N",
        help=f"largest number of control periods of the training (default {default.steps})",
    )
    parser.add_argument(
        "--kind",
        default=default.kind,
        help="kind of policy: mirrored (default), linear or perceptron",
    )
    parser.add_argument(
        "--population",
        type=int,
        default=default.population,
        metavar="N",
        help=f"number of candidates in each generation (default {default.population})",
    )
    parser.add_argument(
        "--episodes",
        type=int,
        default=default.episodes,
        metavar="N",
        help=(
            "number of worlds in which each candidate runs; the better half of the candidates "
            "runs in as many other worlds "
            f"(default {default.episodes})"
        ),
    )
    parser.add_argument(
        "--sigma",
        type=float,
        default=default.sigma,
        help="standard deviation of the weights in the first generation (default "
        f"{default.sigma:g})",
    )
    parser.add_argument(
        "--selection",
        type=float,
        default=default.selection,
        metavar="SHARE",
        help="share of the steps in which the policy is selected among the means of the last "
        f"generations; with 0 the policy is the last mean (default {default.selection:g})",
    )
    parser.add_argument(
        "--eval-worlds",
        type=int,
        default=default.eval_worlds,
        metavar="N",
        help=(
            "evaluate the mean of each generation in N worlds of environment.held_out (default "
            "0: no evaluation)"
        ),
    )
    parser.add_argument(
        "--workers",
        type=worker_count,
        default=processors(),
        metavar="N",
        help="number of parallel processes; the policy does not depend on it (default: number of "
        "processors, here %(default)s)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Train the policy and print its path; report progress on standard error."""
    spec = load(arguments.environment, EnvironmentCampaignSpec)
    directory = TrainingDirectory(arguments.out)
    directory.require_fresh_or_begun()
    with directory.locked():
        directory.remove_unfinished()
        return _train(arguments, spec, directory)


def _train(
    arguments: argparse.Namespace, spec: EnvironmentCampaignSpec, directory: TrainingDirectory
) -> int:
    prepared = PreparedEnvironment(spec, directory.worlds)
    held_out = _held_out(spec, directory.held_out)
    if arguments.eval_worlds and held_out is None:
        raise SpecError(
            f"{arguments.environment}: --eval-worlds needs the key environment.held_out; add the "
            "key, or "
            "omit the option"
        )
    names = (field.name for field in fields(TrainingOptions))
    options = TrainingOptions(**{name: getattr(arguments, name) for name in names})
    training = Training(prepared, held_out, options, directory)
    if training.generations:
        print(f"continues after generation {training.generations[-1].number}", file=sys.stderr)
    path = training.run(arguments.workers, _report)
    print(path)
    return 0


def _held_out(spec: EnvironmentCampaignSpec, folder: Path) -> Optional[PreparedEnvironment]:
    """Return the environment with its held-out worlds in place of the training worlds, or None if
    the environment specifies no held-out worlds."""
    file = spec.environment.held_out
    if file is None:
        return None
    held_out = load(file, BuiltinCampaignSpec)
    keys = ("seed", "worlds", "robot", "goal", "limits", "actors", "randomize", "global_plan")
    update = {name: getattr(held_out, name) for name in keys}
    return PreparedEnvironment(spec.model_copy(update=update), folder)


def _report(done: Union[Generation, SelectionBatch]) -> None:
    text = _batch_text(done) if isinstance(done, SelectionBatch) else _generation_text(done)
    print(text, file=sys.stderr, flush=True)


def _batch_text(batch: SelectionBatch) -> str:
    means = ", ".join(map(str, batch.means))
    return f"selection among the means of generations {means}: {batch.steps} steps"


def _generation_text(generation: Generation) -> str:
    held_out = (
        "" if generation.held_out is None else f", held out {100 * generation.held_out:.0f} %"
    )
    invalid = f", {generation.invalid} episodes invalid" if generation.invalid else ""
    best = generation.rewards[generation.ranking[0]]
    return (
        f"generation {generation.number}: {generation.steps} steps, best candidate {best:.2f}, "
        f"candidates reached {100 * generation.reached:.0f} %{held_out}{invalid}"
    )
