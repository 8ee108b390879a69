"""Random generators for all parts of a campaign, from one seed.

Owns the rule by which world *i* depends only on the seed and *i*: every part has a separate
generator, addressed by its purpose and its index, so that neither the number of parts nor their
order changes any of them. All purposes below a campaign's seed are listed here.
"""

import zlib
from typing import Tuple, Union

import numpy as np

WORLD = "world"
"""The obstacles of a world; its index follows, and ``FIRST`` for its point in a sequence."""
FIRST = "first"
LATIN_HYPERCUBE = "lhs"
"""A block of a Latin hypercube; its number follows."""
SOBOL = "sobol"
TRIAL = 1
"""The simulator of a trial; the world's index and the repetition follow."""
PLANNER = "planner"
"""The planner of a trial, below the trial's seed; the robot's name and the number of goals before
this one follow."""
CONTROL_SAMPLE = 2
"""The control sample of a screening."""
ACTOR = "actor"
"""An actor of a trial; its entry's name, its number, the world's index and the repetition follow,
and 1 for its draws during the trial."""
TERM = "term"
"""A term of randomization; its name, the world's index and the repetition follow."""
PERFORMANCE = "performance"
"""The behaviors of a Scenic program in a trial; the world's index and the repetition follow."""
TRACKING = "tracking"
"""Noise of a tracked object; its name, the world's index, the repetition and the stamp in
microseconds follow."""
TERRAIN = "terrain"
"""A terrain to compare simulators on; its name follows."""
PROBE = "probe"
"""The probes of a terrain; its name follows."""
SCENARIO = "scenario"
"""Draws by Python in a Scenic program at its compilation."""


def child_generator(seed: int, *path: Union[int, str]) -> np.random.Generator:
    """Return the generator at ``path`` below ``seed``: ``child_generator(7, WORLD, 3)``.

    The first part of the path, a word or a number of this module, is the purpose; integers >= 0
    after it are indices. Generators at different paths are independent; the same path always gives
    the same numbers. Seed 0 is valid. Raises ``ValueError`` for a negative seed or index.
    """
    return np.random.Generator(np.random.PCG64(_sequence(seed, path)))


def child_seed(seed: int, *path: Union[int, str]) -> int:
    """Return the seed at ``path`` below ``seed`` for a generator of another library, in [0,
    2**31)."""
    return int(_sequence(seed, path).generate_state(1, np.uint32)[0] >> 1)


def _sequence(seed: int, path: Tuple[Union[int, str], ...]) -> np.random.SeedSequence:
    key = []
    for part in path:
        number = zlib.crc32(part.encode("utf-8")) if isinstance(part, str) else int(part)
        if number < 0:
            raise ValueError(f"an index of a child generator is >= 0, not {number}")
        key.append(number)
    return np.random.SeedSequence(seed, spawn_key=key)
