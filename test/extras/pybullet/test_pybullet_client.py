"""The error without PyBullet, and the options of the simulator."""

import re
import sys

import pytest

from gz_testauto.base.errors import MissingDependencyError, SpecError
from gz_testauto.base.installation import install_command
from gz_testauto.extras.pybullet import client
from gz_testauto.simulators import open_simulator


@pytest.mark.parametrize(
    ("newest", "remedy"),
    [
        ((9, 0), re.escape(install_command("pybullet"))),
        ((3, 0), "published for Python 3.8 to 3.11"),
    ],
)
def test_missing_pybullet_error_contains_the_remedy_for_this_python_version(
    monkeypatch, newest, remedy
):
    monkeypatch.setitem(sys.modules, "pybullet", None)
    monkeypatch.setattr(client, "NEWEST_PYTHON", newest)
    with pytest.raises(MissingDependencyError, match=f"'pybullet' needs PyBullet.*{remedy}"):
        open_simulator("pybullet")


@pytest.mark.parametrize("step_s", [0.0, -0.001, 0.05])
def test_physics_step_out_of_range_is_rejected(step_s):
    with pytest.raises(SpecError, match=r"step_s must be above 0 and at most 0\.02"):
        open_simulator("pybullet", step_s=step_s)
