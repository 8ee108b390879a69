"""From one campaign seed to the random numbers of each of its parts.

Owns the rule that makes world *i* depend on the seed and *i* alone: every part draws from a
generator of its own, addressed by what it is for and by its index, so that neither the number
of parts nor the order in which they are made changes any of them.
"""

import zlib
from typing import Union

import numpy as np


def child_generator(seed: int, *path: Union[int, str]) -> np.random.Generator:
    """The generator at ``path`` below ``seed``: ``child_generator(7, "world", 3)``.

    Words say what the numbers are for, integers >= 0 which one of several it is. Generators
    at different paths are independent; the same path always gives the same numbers. Seed 0
    is a seed. Raises ``ValueError`` for a negative seed or index.
    """
    key = []
    for part in path:
        number = zlib.crc32(part.encode("utf-8")) if isinstance(part, str) else int(part)
        if number < 0:
            raise ValueError(f"an index of a child generator is >= 0, not {number}")
        key.append(number)
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))
