"""Whether the simulator can open its window.

A window is an extra: where it cannot be had this is said once, and everything else goes on.
"""

import inspect
import os
from typing import Any, Dict

import rospy

from gz_testauto.base.errors import MissingDependencyError
from gz_testauto.simulators import SIMULATORS
from gz_testauto.simulators.gazebo.installation import find_gazebo


def window_options(simulator: str, wanted: bool) -> Dict[str, Any]:
    """The options with which a simulator opens its window; none, with a warning that says why,
    where it is wanted and cannot be had."""
    if not wanted:
        return {}
    try:
        _require_window(simulator)
    except MissingDependencyError as error:
        rospy.logwarn("no window: %s; going on without", error)
        return {}
    return {"gui": True}


def _require_window(simulator: str) -> None:
    if "gui" not in inspect.signature(SIMULATORS.get(simulator)).parameters:
        raise MissingDependencyError(f"the simulator {simulator} has none")
    if not os.environ.get("DISPLAY"):
        raise MissingDependencyError(
            "gui:=true needs a display and DISPLAY is not set (over ssh, try ssh -X)"
        )
    installation = find_gazebo()
    if installation.client is None:
        raise MissingDependencyError(f"there is no gzclient beside {installation.where}")
