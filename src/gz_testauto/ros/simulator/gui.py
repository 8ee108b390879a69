"""The window of a simulator, which is optional: without one the node logs a warning and runs."""

import inspect
import os
from typing import Any, Dict

import rospy

from gz_testauto.base.errors import MissingDependencyError
from gz_testauto.simulators import SIMULATORS
from gz_testauto.simulators.gazebo.installation import find_gazebo


def window_options(simulator: str, wanted: bool) -> Dict[str, Any]:
    """Return the options with which a simulator opens its window; empty if it is not wanted, or,
    with a warning, if it is not available."""
    if not wanted:
        return {}
    try:
        _require_window(simulator)
    except MissingDependencyError as error:
        rospy.logwarn("no window: %s; the simulator runs without it", error)
        return {}
    return {"gui": True}


def _require_window(simulator: str) -> None:
    if "gui" not in inspect.signature(SIMULATORS.get(simulator)).parameters:
        raise MissingDependencyError(f"the simulator {simulator} has no window")
    if not os.environ.get("DISPLAY"):
        raise MissingDependencyError(
            "gui:=true needs a display and DISPLAY is not set (over ssh, try ssh -X)"
        )
    installation = find_gazebo()
    if installation.client is None:
        raise MissingDependencyError(f"gzclient not found next to {installation.where}")
