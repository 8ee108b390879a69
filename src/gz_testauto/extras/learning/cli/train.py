"""Train a policy in the worlds of a campaign, by CMA-ES.

ENV.yaml is a campaign with a key `environment` (docs/learning.md). The policy is DIR/policy.npz,
for the planner `policy` of any campaign. The same command goes on where it was interrupted.

example:
  gz_testauto train config/learning/arena.yaml --out results/arena_policy --workers 2
"""

import argparse
import sys
from pathlib import Path
from typing import Optional, Union

from gz_testauto.base.errors import SpecError
from gz_testauto.extras.learning.episode import PreparedEnvironment
from gz_testauto.extras.learning.selection import Portion
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
    parser.add_argument("environment", metavar="ENV", type=Path, help="the environment's YAML")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="where to write")
    parser.add_argument("--seed", type=int, default=default.seed, help="of the search (default 0)")
    parser.add_argument(
        "--steps",
        type=int,
        default=default.steps,
        metavar="N",
        help=f"control periods to drive at most (default {default.steps})",
    )
    parser.add_argument(
        "--kind", default=default.kind, help="mirrored (default), linear or perceptron"
    )
    parser.add_argument(
        "--population",
        type=int,
        default=default.population,
        metavar="N",
        help=f"candidates of a generation (default {default.population})",
    )
    parser.add_argument(
        "--episodes",
        type=int,
        default=default.episodes,
        metavar="N",
        help=f"worlds that each drives, the better half twice (default {default.episodes})",
    )
    parser.add_argument(
        "--sigma",
        type=float,
        default=default.sigma,
        help=f"how far the first candidates spread (default {default.sigma:g})",
    )
    parser.add_argument(
        "--selection",
        type=float,
        default=default.selection,
        metavar="SHARE",
        help="of the steps, to choose among the last generations' means with; 0: takes the last "
        f"(default {default.selection:g})",
    )
    parser.add_argument(
        "--eval-worlds",
        type=int,
        default=default.judged,
        metavar="N",
        help="judge every generation in N worlds of environment.held_out (default 0: do not)",
    )
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes (default 1)")


def run(arguments: argparse.Namespace) -> int:
    """Train the policy and print its path; report progress on standard error."""
    if arguments.workers < 1:
        raise SpecError(f"--workers is {arguments.workers}; it must be at least 1")
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
        raise SpecError(f"{arguments.environment}: --eval-worlds needs environment.held_out")
    options = TrainingOptions(
        seed=arguments.seed,
        steps=arguments.steps,
        kind=arguments.kind,
        population=arguments.population,
        episodes=arguments.episodes,
        sigma=arguments.sigma,
        selection=arguments.selection,
        judged=arguments.eval_worlds,
    )
    training = Training(prepared, held_out, options, directory)
    if training.generations:
        print(f"goes on after generation {training.generations[-1].number}", file=sys.stderr)
    path = training.run(arguments.workers, _tell)
    print(path)
    return 0


def _held_out(spec: EnvironmentCampaignSpec, folder: Path) -> Optional[PreparedEnvironment]:
    """Return the held-out worlds with the other settings of the environment; None if the
    environment specifies none."""
    file = spec.environment.held_out
    if file is None:
        return None
    judged = load(file, BuiltinCampaignSpec)
    taken = ("seed", "worlds", "robot", "goal", "limits", "actors", "randomize", "global_plan")
    update = {name: getattr(judged, name) for name in taken}
    return PreparedEnvironment(spec.model_copy(update=update), folder)


def _tell(done: Union[Generation, Portion]) -> None:
    said = _said_portion(done) if isinstance(done, Portion) else _said_generation(done)
    print(said, file=sys.stderr, flush=True)


def _said_portion(portion: Portion) -> str:
    means = ", ".join(map(str, portion.means))
    return f"chooses among the means of {means}: {portion.steps} steps"


def _said_generation(generation: Generation) -> str:
    judged = "" if generation.held_out is None else f", held out {100 * generation.held_out:.0f} %"
    left_out = f", {generation.invalid} episodes invalid" if generation.invalid else ""
    best = generation.worth[generation.ranking[0]]
    return (
        f"generation {generation.number}: {generation.steps} steps, best candidate {best:.2f}, "
        f"candidates reached {100 * generation.reached:.0f} %{judged}{left_out}"
    )
