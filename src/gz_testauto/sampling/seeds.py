"""Random generators for all parts of a campaign, which derive from one seed.

Each part has a separate generator, which a path of a purpose and indices identifies. So a part
does not depend on the number or the order of the other parts. The elements of the path that follow
each purpose are listed here.
"""

import zlib
from typing import Tuple, Union

import numpy as np

WORLD = "world"  # the obstacles of a world: world index, and ``FIRST`` for the first proposals
FIRST = "first"
MISSION = "mission"  # a mission: index of the world file, number of the mission in it
LATIN_HYPERCUBE = "lhs"  # a block of a Latin hypercube: number of the block
SOBOL = "sobol"
TRIAL = 1  # the simulator of a trial: world index, repetition
# The planner of a trial, derived from the seed of the trial: name of the robot, number of goals
# that precede the current goal.
PLANNER = "planner"
CONTROL_SAMPLE = 2  # the control sample of a screening
# An actor of a trial: name of its entry, number, world index, repetition, and 1 for draws during
# the trial.
ACTOR = "actor"
TERM = "term"  # a term of the randomization: name of the term, world index, repetition
# An effect on one model in a trial: name of the effect, world index, repetition, name of the model.
EFFECT = "effect"
HOOK = "hook"  # a hook of another package: name of the hook, world index, repetition
PERFORMANCE = "performance"  # the behaviors of a Scenic program in a trial: world index, repetition
# The localization of a robot in a trial: name of the robot, world index, repetition, kind of error.
LOCALIZATION = "localization"
# The noise of a tracked object: name of the object, world index, repetition, time stamp (µs).
TRACKING = "tracking"
TERRAIN = "terrain"  # a terrain for the comparison of simulators: name of the terrain
PROBE = "probe"  # the probes of a terrain: name of the terrain
LAYOUT = "layout"  # the cells of a maze or a cave, derived from the number of the layout
PERTURBATION = "perturbation"  # the small changes of a repeated trial: number of the repeat
# A candidate of a tuning: number of the candidate, ``TRAINING`` for the seed of the training
# worlds, or ``SPLIT`` for the order of listed worlds.
TUNING = "tuning"
TRAINING, SPLIT = "training", "split"
BOUNDARY = "boundary"  # the seed of a campaign at one value of a varied key: text of the value
SCENARIO = "scenario"  # random numbers that Python draws while a Scenic program is compiled


def child_generator(seed: int, *path: Union[int, str]) -> np.random.Generator:
    """Return the generator at ``path`` below ``seed``, such as ``child_generator(7, WORLD, 3)``.

    The path is a purpose of this module, followed by names or indices >= 0. Generators at different
    paths are independent. Raises ``ValueError`` for a negative seed or index.
    """
    return np.random.Generator(np.random.PCG64(_seed_sequence(seed, path)))


def child_seed(seed: int, *path: Union[int, str]) -> int:
    """Return the seed at ``path`` below ``seed``, in [0, 2**31), for another library."""
    return int(_seed_sequence(seed, path).generate_state(1, np.uint32)[0] >> 1)


def _seed_sequence(seed: int, path: Tuple[Union[int, str], ...]) -> np.random.SeedSequence:
    key = []
    for part in path:
        number = zlib.crc32(part.encode("utf-8")) if isinstance(part, str) else int(part)
        if number < 0:
            raise ValueError(f"an index of a child generator must be >= 0, not {number}")
        key.append(number)
    return np.random.SeedSequence(seed, spawn_key=key)
