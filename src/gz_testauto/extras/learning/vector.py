"""Several environments side by side, each in a process with a simulator of its own (extra ``rl``).

Gymnasium's ``AsyncVectorEnv`` does it; here is how its environments are made. ``observations`` come
from shared memory, one row for each environment, of which a step returns a copy; whoever wants the
buffer itself, as to move it to a GPU, gives ``copy=False`` and is done with it before the next
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
    """``count`` environments; arguments as of :class:`NavigationEnv`. ``autoreset`` says what comes
    after an episode's last step: ``NextStep`` and ``SameStep`` begin another then, ``Disabled``
    waits for ``reset(options={"reset_mask": ...})``. ``options`` are ``AsyncVectorEnv``'s.

    ``reset(seed=s)`` seeds environment ``i`` with ``s + i``. Raises ``SpecError``.
    """
    if count < 1:
        raise SpecError(f"count is {count}; it must be at least 1")
    prepared = PreparedEnvironment.of(environment, worlds)  # worlds are made once, before
    modes = {mode.value: mode for mode in AutoresetMode}
    mode = autoreset if isinstance(autoreset, AutoresetMode) else modes.get(autoreset)
    if mode is None:
        raise SpecError(f"autoreset is {autoreset!r}; there are {', '.join(sorted(modes))}")
    make = functools.partial(NavigationEnv, prepared)
    return AsyncVectorEnv([make] * count, context="spawn", autoreset_mode=mode, **options)
