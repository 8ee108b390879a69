"""From one campaign seed to the random numbers of each of its parts.

Owns the rule that makes world *i* depend on the seed and *i* alone: every part draws from a
generator of its own, addressed by what it is for and by its index, so that neither the number
of parts nor the order in which they are made changes any of them. All that numbers are drawn for
below a campaign's seed is listed here.
"""

import zlib
from typing import Tuple, Union

import numpy as np

WORLD = "world"
"""The obstacles of a world; its index follows, and ``FIRST`` for its place in a sequence."""
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
"""Which trials are taken into the control sample of a screening."""
ACTOR = "actor"
"""An actor of a trial; its entry's name, its number, the world's index and the repetition follow,
and 1 for what it draws while it acts."""
TERM = "term"
"""A term of randomization; its name, the world's index and the repetition follow."""
PERFORMANCE = "performance"
"""What a Scenic program's behaviors draw in a trial; the world's index and the repetition
follow."""
TRACKING = "tracking"
"""Noise of a tracked object; its name, the world's index, the repetition and the stamp in
microseconds follow."""
TERRAIN = "terrain"
"""A terrain to compare simulators on; its name follows."""
PROBE = "probe"
"""Where a terrain is probed; its name follows."""
SCENARIO = "scenario"
"""What a Scenic program draws by Python itself when it is compiled."""


def child_generator(seed: int, *path: Union[int, str]) -> np.random.Generator:
    """The generator at ``path`` below ``seed``: ``child_generator(7, WORLD, 3)``.

    The first part of the path, a word or a number of this module's, says what the numbers are
    for, integers >= 0 after it which one of several it is. Generators at different paths are
    independent; the same path always gives the same numbers. Seed 0 is a seed. Raises
    ``ValueError`` for a negative seed or index.
    """
    return np.random.Generator(np.random.PCG64(_sequence(seed, path)))


def child_seed(seed: int, *path: Union[int, str]) -> int:
    """The seed at ``path`` below ``seed`` for somebody else's generator, in [0, 2**31)."""
    return int(_sequence(seed, path).generate_state(1, np.uint32)[0] >> 1)


def _sequence(seed: int, path: Tuple[Union[int, str], ...]) -> np.random.SeedSequence:
    key = []
    for part in path:
        number = zlib.crc32(part.encode("utf-8")) if isinstance(part, str) else int(part)
        if number < 0:
            raise ValueError(f"an index of a child generator is >= 0, not {number}")
        key.append(number)
    return np.random.SeedSequence(seed, spawn_key=key)
