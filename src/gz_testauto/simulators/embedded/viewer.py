"""Show a simulation in the window of MuJoCo's viewer.

The window shows copies of model and state, so that no input in the window changes the trial.
"""

import copy
import os
import threading
from typing import Any, Set

import mujoco

from gz_testauto.base.errors import MissingDependencyError
from gz_testauto.simulators.embedded.engine import Engine

CLOSES_S = 10.0
"""Longest wall time (s) to wait until the window is closed."""


def require_display() -> None:
    """Raise ``MissingDependencyError`` if no display is available."""
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise MissingDependencyError(
            "MuJoCo's viewer needs a display, but DISPLAY and WAYLAND_DISPLAY are not set; over "
            "ssh, use ssh -X"
        )


class MujocoViewer:
    """The window of one simulator; it opens with the first state. If the user closes it, it stays
    closed."""

    def __init__(self) -> None:
        self._window: Any = None
        self._shown: Any = None
        self._model: Any = None
        self._data: Any = None
        self._threads: Set[threading.Thread] = set()

    def show(self, engine: Engine) -> None:
        """Show the state of an engine. A recompiled engine gets a new window."""
        if self._window is not None and not self._window.is_running():
            return
        if engine is not self._shown:
            self.close()
            self._open(engine)
        with self._window.lock():
            mujoco.mj_copyData(self._data, self._model, engine.data)
        self._window.sync()

    def _open(self, engine: Engine) -> None:
        import glfw  # opens libraries of the window system
        from mujoco import viewer

        if not glfw.init():  # MuJoCo would end the process
            raise MissingDependencyError(
                "MuJoCo's viewer cannot open the display "
                f"{os.environ.get('DISPLAY') or os.environ.get('WAYLAND_DISPLAY')!r}"
            )
        self._shown, self._model = engine, copy.copy(engine.model)
        self._data = mujoco.MjData(self._model)
        mujoco.mj_copyData(self._data, self._model, engine.data)
        before = set(threading.enumerate())
        self._window = viewer.launch_passive(
            self._model, self._data, show_left_ui=False, show_right_ui=False
        )
        self._threads = set(threading.enumerate()) - before

    def close(self) -> None:
        """Close the window. Idempotent."""
        if self._window is not None:
            self._window.close()
            self._window = None
            for thread in self._threads:  # one that runs at the exit of the process crashes it
                thread.join(CLOSES_S)
