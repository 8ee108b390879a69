"""A process that looks itself whether the one that it belongs to is still there.

For processes that others start, so that nothing can be put between: a kernel's signal at the
parent's death (PR_SET_PDEATHSIG) would come when the parent's *thread* ends that started us.
"""

import os
import threading
import time
from typing import Callable, Optional

POLL_S = 0.2


def on_parent_exit(owner: Optional[int], act: Callable[[], object]) -> None:
    """Call ``act``, in a thread of its own, once the parent process is not ``owner`` any more, or
    never was. None stands for an owner that is known to be gone."""

    def watch() -> None:
        while os.getppid() == owner:
            time.sleep(POLL_S)
        act()

    threading.Thread(target=watch, name="owner watch", daemon=True).start()
