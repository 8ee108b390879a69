"""What a warm stack does where it cannot be made ready for the next trial."""

from types import SimpleNamespace

import pytest

pytest.importorskip("rospy")

from gz_testauto.errors import SimulatorError
from gz_testauto.ros.stack import drive
from gz_testauto.ros.stack.drive import StackDrive
from gz_testauto.ros.stack.session import CannotSwap


def test_a_model_that_does_not_go_to_its_place_is_a_reason_to_start_anew_and_no_lost_attempt(
    monkeypatch,
):
    def stay(trial, values):
        raise SimulatorError("still elsewhere after being placed: obstacle_cylinder_1")

    warm = StackDrive.__new__(StackDrive)
    warm._running = SimpleNamespace(simulating=True)
    warm._campaign = warm._stack = warm._logs = None
    warm._map, warm._put_back = lambda trial: None, stay
    monkeypatch.setattr(drive, "placeholder_values", lambda *arguments: {})
    with pytest.raises(CannotSwap, match="still elsewhere after being placed"):
        warm._prepare(None)
