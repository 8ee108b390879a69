"""Random generators for all parts of a campaign, which derive from one seed.

Each part has a separate generator, which is identified by a path of a purpose and indices. World
*i* therefore depends only on the seed and *i*. Neither the number of parts nor their order changes
the random numbers of a part. This module lists all purposes, and the elements of the path that
follow each purpose.
"""

import zlib
from typing import Tuple, Union

import numpy as np

WORLD = "world"
"""Purpose: the obstacles of a world. The path continues with the world index, and with ``FIRST``
for the first proposals."""
FIRST = "first"
LATIN_HYPERCUBE = "lhs"
"""Purpose: a block of a Latin hypercube. The path continues with the number of the block."""
SOBOL = "sobol"
TRIAL = 1
"""Purpose: the simulator of a trial. The path continues with the world index and the repetition."""
PLANNER = "planner"
"""Purpose: the planner of a trial, below the seed of the trial. The path continues with the name of
the robot, and the number of goals that precede the current goal."""
CONTROL_SAMPLE = 2
"""Purpose: the control sample of a screening."""
ACTOR = "actor"
"""Purpose: an actor of a trial. The path continues with the name of its entry, its number, the
world index and the repetition. It ends with 1 for draws during the trial."""
TERM = "term"
"""Purpose: a term of the randomization. The path continues with the name of the term, the world
index and the repetition."""
EFFECT = "effect"
"""Purpose: an effect on one model in a trial. The path continues with the name of the effect, the
world index, the repetition and the name of the model."""
HOOK = "hook"
"""Purpose: a hook of another package. The path continues with the name of the hook, the world index
and the repetition."""
PERFORMANCE = "performance"
"""Purpose: the behaviors of a Scenic program in a trial. The path continues with the world index
and the repetition."""
LOCALIZATION = "localization"
"""Purpose: the localization of a robot in a trial. The path continues with the name of the robot,
the world index, the repetition, and the kind of error."""
TRACKING = "tracking"
"""Purpose: the noise of a tracked object. The path continues with the name of the object, the world
index, the repetition, and the time stamp in microseconds."""
TERRAIN = "terrain"
"""Purpose: a terrain for the comparison of simulators. The path continues with the name of the
terrain."""
PROBE = "probe"
"""Purpose: the probes of a terrain. The path continues with the name of the terrain."""
LAYOUT = "layout"
"""Purpose: the cells of a maze or a cave, below the number of the layout."""
PERTURBATION = "perturbation"
"""Purpose: the small changes of a repeated trial. The path continues with the number of the
repeat."""
TUNING = "tuning"
"""Purpose: a candidate of a tuning. The path continues with the number of the candidate, with
``TRAINING`` for the seed of the training worlds, or with ``SPLIT`` for the order of listed
worlds."""
TRAINING, SPLIT = "training", "split"
BOUNDARY = "boundary"
"""Purpose: the seed of a campaign at one value of a varied key. The path continues with the text of
the value."""
SCENARIO = "scenario"
"""Purpose: random numbers that Python draws while a Scenic program is compiled."""


def child_generator(seed: int, *path: Union[int, str]) -> np.random.Generator:
    """Return the generator at ``path`` below ``seed``, such as ``child_generator(7, WORLD, 3)``.

    The first element of the path is a purpose, which this module defines as a word or a number. The
    other elements are names, or indices >= 0. Generators at different paths are independent, and
    the same path always results in the same numbers. Seed 0 is valid. Raises ``ValueError`` for a
    negative seed or index.
    """
    return np.random.Generator(np.random.PCG64(_sequence(seed, path)))


def child_seed(seed: int, *path: Union[int, str]) -> int:
    """Return the seed at ``path`` below ``seed``, in [0, 2**31), for a random generator of another
    library."""
    return int(_sequence(seed, path).generate_state(1, np.uint32)[0] >> 1)


def _sequence(seed: int, path: Tuple[Union[int, str], ...]) -> np.random.SeedSequence:
    key = []
    for part in path:
        number = zlib.crc32(part.encode("utf-8")) if isinstance(part, str) else int(part)
        if number < 0:
            raise ValueError(f"an index of a child generator must be >= 0, not {number}")
        key.append(number)
    return np.random.SeedSequence(seed, spawn_key=key)
