"""Random generators for all parts of a campaign, which derive from one seed.

Each part has a separate generator, which a path of a purpose and indices identifies. So a part
does not depend on the number or the order of the other parts. The elements of the path that follow
each purpose are listed here.
"""

import zlib
from typing import Tuple, Union

import numpy as np

WORLD = "world"
"""The obstacles of a world: world index, and ``FIRST`` for the first proposals."""
FIRST = "first"
LATIN_HYPERCUBE = "lhs"
"""A block of a Latin hypercube: number of the block."""
SOBOL = "sobol"
TRIAL = 1
"""The simulator of a trial: world index, repetition."""
PLANNER = "planner"
"""The planner of a trial, below the seed of the trial: name of the robot, number of goals that
precede the current goal."""
CONTROL_SAMPLE = 2
"""The control sample of a screening."""
ACTOR = "actor"
"""An actor of a trial: name of its entry, number, world index, repetition, and 1 for draws during
the trial."""
TERM = "term"
"""A term of the randomization: name of the term, world index, repetition."""
EFFECT = "effect"
"""An effect on one model in a trial: name of the effect, world index, repetition, name of the
model."""
HOOK = "hook"
"""A hook of another package: name of the hook, world index, repetition."""
PERFORMANCE = "performance"
"""The behaviors of a Scenic program in a trial: world index, repetition."""
LOCALIZATION = "localization"
"""The localization of a robot in a trial: name of the robot, world index, repetition, kind of
error."""
TRACKING = "tracking"
"""The noise of a tracked object: name of the object, world index, repetition, time stamp (µs)."""
TERRAIN = "terrain"
"""A terrain for the comparison of simulators: name of the terrain."""
PROBE = "probe"
"""The probes of a terrain: name of the terrain."""
LAYOUT = "layout"
"""The cells of a maze or a cave, below the number of the layout."""
PERTURBATION = "perturbation"
"""The small changes of a repeated trial: number of the repeat."""
TUNING = "tuning"
"""A candidate of a tuning: number of the candidate, ``TRAINING`` for the seed of the training
worlds, or ``SPLIT`` for the order of listed worlds."""
TRAINING, SPLIT = "training", "split"
BOUNDARY = "boundary"
"""The seed of a campaign at one value of a varied key: text of the value."""
SCENARIO = "scenario"
"""Random numbers that Python draws while a Scenic program is compiled."""


def child_generator(seed: int, *path: Union[int, str]) -> np.random.Generator:
    """Return the generator at ``path`` below ``seed``, such as ``child_generator(7, WORLD, 3)``.

    The path is a purpose of this module, followed by names or indices >= 0. Generators at different
    paths are independent. Raises ``ValueError`` for a negative seed or index.
    """
    return np.random.Generator(np.random.PCG64(_sequence(seed, path)))


def child_seed(seed: int, *path: Union[int, str]) -> int:
    """Return the seed at ``path`` below ``seed``, in [0, 2**31), for another library."""
    return int(_sequence(seed, path).generate_state(1, np.uint32)[0] >> 1)


def _sequence(seed: int, path: Tuple[Union[int, str], ...]) -> np.random.SeedSequence:
    key = []
    for part in path:
        number = zlib.crc32(part.encode("utf-8")) if isinstance(part, str) else int(part)
        if number < 0:
            raise ValueError(f"an index of a child generator must be >= 0, not {number}")
        key.append(number)
    return np.random.SeedSequence(seed, spawn_key=key)
