"""The window of the embedded simulator, with a fake of MuJoCo's viewer."""

import contextlib
import sys
from types import SimpleNamespace

import mujoco
import pytest

from gz_testauto.base.errors import MissingDependencyError
from gz_testauto.simulators.embedded.simulator import EmbeddedSimulator, MujocoViewer

XML = '<mujoco><worldbody><body><freejoint/><geom size="0.1"/></body></worldbody></mujoco>'


class Window:
    def __init__(self, model, data):
        self.model, self.data, self.open, self.synced = model, data, True, 0

    def is_running(self):
        return self.open

    def lock(self):
        return contextlib.nullcontext()

    def sync(self):
        self.synced += 1

    def close(self):
        self.open = False


@pytest.fixture
def windows(monkeypatch):
    """The windows that were opened, in order."""
    opened = []

    def launch_passive(model, data, **options):
        opened.append(Window(model, data))
        return opened[-1]

    fake = SimpleNamespace(launch_passive=launch_passive)
    monkeypatch.setitem(sys.modules, "glfw", SimpleNamespace(init=lambda: True))
    monkeypatch.setitem(sys.modules, "mujoco.viewer", fake)
    monkeypatch.setattr(mujoco, "viewer", fake, raising=False)
    return opened


def engine():
    model = mujoco.MjModel.from_xml_string(XML)
    return SimpleNamespace(model=model, data=mujoco.MjData(model))


def test_window_shows_each_state_and_cannot_change_it(windows):
    shown, viewer = engine(), MujocoViewer()
    viewer.show(shown)
    shown.data.qpos[0] = 2.0
    viewer.show(shown)
    [window] = windows
    assert window.data.qpos[0] == 2.0 and window.synced == 2
    window.data.qpos[0] = 9.0
    window.model.opt.gravity[2] = 5.0
    assert shown.data.qpos[0] == 2.0 and shown.model.opt.gravity[2] == -9.81


def test_recompiled_engine_gets_a_new_window(windows):
    viewer = MujocoViewer()
    viewer.show(engine())
    viewer.show(engine())
    assert [window.open for window in windows] == [False, True]


def test_window_that_the_user_closed_stays_closed(windows):
    viewer = MujocoViewer()
    viewer.show(engine())
    windows[0].open = False
    viewer.show(engine())
    assert len(windows) == 1 and windows[0].synced == 1


def test_display_that_cannot_be_opened_is_an_error(windows, monkeypatch):
    monkeypatch.setitem(sys.modules, "glfw", SimpleNamespace(init=lambda: False))
    monkeypatch.setenv("DISPLAY", ":77")
    with pytest.raises(MissingDependencyError, match="':77'"):
        MujocoViewer().show(engine())


def test_window_without_a_display_is_rejected(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    with pytest.raises(MissingDependencyError, match="DISPLAY"):
        EmbeddedSimulator(gui=True)
