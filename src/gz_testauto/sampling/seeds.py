"""Random generators for all parts of a campaign, which derive from one seed.

Every part has a separate generator, addressed by a path of its purpose and indices. So world *i*
depends only on the seed and *i*, and neither the number of parts nor their order changes any of
them. This module lists all purposes, each with the rest of its path.
"""

import zlib
from typing import Tuple, Union

import numpy as np

WORLD = "world"
"""The obstacles of a world. Rest of the path: world index; then ``FIRST`` for the first
proposals."""
FIRST = "first"
LATIN_HYPERCUBE = "lhs"
"""A block of a Latin hypercube. Rest of the path: number of the block."""
SOBOL = "sobol"
TRIAL = 1
"""The simulator of a trial. Rest of the path: world index, repetition."""
PLANNER = "planner"
"""The planner of a trial, below the trial's seed. Rest of the path: name of the robot, number of
goals before this one."""
CONTROL_SAMPLE = 2
"""The control sample of a screening."""
ACTOR = "actor"
"""An actor of a trial. Rest of the path: name of its entry, its number, world index, repetition;
then 1 for its draws during the trial."""
TERM = "term"
"""A term of randomization. Rest of the path: its name, world index, repetition."""
PERFORMANCE = "performance"
"""The behaviors of a Scenic program in a trial. Rest of the path: world index, repetition."""
TRACKING = "tracking"
"""Noise of a tracked object. Rest of the path: its name, world index, repetition, stamp in
microseconds."""
TERRAIN = "terrain"
"""A terrain for the comparison of simulators. Rest of the path: its name."""
PROBE = "probe"
"""The probes of a terrain. Rest of the path: its name."""
SCENARIO = "scenario"
"""Draws by Python in a Scenic program at its compilation."""


def child_generator(seed: int, *path: Union[int, str]) -> np.random.Generator:
    """Return the generator at ``path`` below ``seed``, such as ``child_generator(7, WORLD, 3)``.

    The first part of the path is the purpose, a word or number of this module. The other parts are
    names or indices >= 0. Generators at different paths are independent; the same path always gives
    the same numbers. Seed 0 is valid. Raises ``ValueError`` for a negative seed or index.
    """
    return np.random.Generator(np.random.PCG64(_sequence(seed, path)))


def child_seed(seed: int, *path: Union[int, str]) -> int:
    """Return the seed at ``path`` below ``seed``, in [0, 2**31), for a generator of another
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
