"""Several environments in parallel, each in a process with its own simulator (extra ``learning``).

This module creates the environments for Gymnasium's ``AsyncVectorEnv``. ``observations`` are in
shared memory, one row for each environment, and a step returns a copy. To get the buffer without a
copy, for example to move it to a GPU, set ``copy=False`` and finish reading it before the next
step.
"""

import functools
from pathlib import Path
from typing import Any, Union

from gymnasium.vector import AsyncVectorEnv, AutoresetMode

from gz_testauto.base.errors import SpecError
from gz_testauto.extras.learning.episode import PreparedEnvironment
from gz_testauto.extras.learning.navigation import NavigationEnv


def vector_env(
    environment: Union[str, Path, PreparedEnvironment],
    count: int,
    autoreset: Union[str, AutoresetMode] = AutoresetMode.NEXT_STEP,
    worlds: Union[str, Path, None] = None,
    **options: Any,
) -> AsyncVectorEnv:
    """Return ``count`` environments; arguments as in :class:`NavigationEnv`.

    ``autoreset`` specifies the reset after an episode's last step: ``NextStep`` and ``SameStep``
    start another episode then, ``Disabled`` waits for ``reset(options={"reset_mask": ...})``.
    ``options`` are those of ``AsyncVectorEnv``.

    ``reset(seed=s)`` seeds environment ``i`` with ``s + i``. Raises ``SpecError``.
    """
    if count < 1:
        raise SpecError(f"count is {count}; it must be at least 1")
    prepared = PreparedEnvironment.of(environment, worlds)  # worlds are generated once, before
    modes = {mode.value: mode for mode in AutoresetMode}
    mode = autoreset if isinstance(autoreset, AutoresetMode) else modes.get(autoreset)
    if mode is None:
        raise SpecError(f"autoreset is {autoreset!r}; it must be {', '.join(sorted(modes))}")
    make = functools.partial(NavigationEnv, prepared)
    return AsyncVectorEnv([make] * count, context="spawn", autoreset_mode=mode, **options)
