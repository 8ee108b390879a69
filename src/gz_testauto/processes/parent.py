"""Detect the exit of the parent process by polling.

Use it in processes that another library starts. The kernel's signal at the parent's death
(PR_SET_PDEATHSIG) is no alternative: it is sent when the *thread* ends that started the child.
"""

import os
import threading
import time
from typing import Callable, Optional

POLL_S = 0.2


def on_parent_exit(parent: Optional[int], act: Callable[[], object]) -> None:
    """Call ``act`` in a new thread as soon as the parent process is not ``parent``.

    Pass None if the parent is known to have exited already.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(POLL_S)
        act()

    threading.Thread(target=watch, name="parent watchdog", daemon=True).start()
