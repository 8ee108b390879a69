"""Skip the tests with the markers ``gazebo``, ``gazebo_ros`` and ``ros`` where it is missing.

``GZ_TESTAUTO_REQUIRE_GAZEBO=1``, ``..._GAZEBO_ROS=1`` and ``..._ROS=1`` turn the skip into a
failure, for machines that must have it. ``./bootstrap test`` sets the last.

Property tests draw the same examples in each run and have no deadline, so that neither chance nor
load decides; ``--hypothesis-profile=search`` draws new ones.
"""

import gc
import importlib.util
import os

import pytest
from hypothesis import HealthCheck, settings

from gz_testauto.base.errors import MissingDependencyError

pytest_plugins = ("scripted",)

settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("steady", settings.get_profile("search"), derandomize=True)
settings.load_profile("steady")


def gazebo_lacks():
    """Return the reason why Gazebo is missing; empty if it is installed."""
    from gz_testauto.simulators.gazebo.installation import find_gazebo

    try:
        find_gazebo()
    except MissingDependencyError as error:
        return str(error)
    return ""


def ros_lacks():
    """Return the reason why ROS or the messages are missing; empty if they are installed."""
    for module in ("rospy", "gazebo_msgs", "gz_testauto.msg"):
        if importlib.util.find_spec(module) is None:
            return f"no {module} to import: run ./bootstrap exec pytest"
    return ""


def gazebo_ros_lacks():
    """Return the reason why gazebo_ros or its plugins are missing; empty if they are installed."""
    try:
        import rospkg
    except ImportError as error:
        return f"no ROS here: {error}"
    try:
        for package in ("gazebo_ros", "gazebo_plugins"):
            rospkg.RosPack().get_path(package)
    except rospkg.ResourceNotFound:
        return (
            f"no ROS package {package} here: install ros-noetic-gazebo-ros-pkgs; where there is "
            "none, test/ros/gazebo_ros.test runs the same against our simulator node"
        )
    return ros_lacks()


# The modules and the collected tests live until the end. Without this, each full garbage collection
# visits them again, mostly while a test parses source files.
def pytest_collection_finish():
    gc.collect()
    gc.freeze()


# Run last, after deselection: a selection without Gazebo then starts no Gazebo to read its version.
@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    for mark, variable, lacks in (
        ("gazebo", "GZ_TESTAUTO_REQUIRE_GAZEBO", gazebo_lacks),
        ("gazebo_ros", "GZ_TESTAUTO_REQUIRE_GAZEBO_ROS", gazebo_ros_lacks),
        ("ros", "GZ_TESTAUTO_REQUIRE_ROS", ros_lacks),
    ):
        marked = [item for item in items if item.get_closest_marker(mark)]
        reason = lacks() if marked else ""
        if reason and os.environ.get(variable) == "1":
            raise pytest.UsageError(f"{variable}=1, but {reason}")
        for item in marked if reason else ():
            item.add_marker(pytest.mark.skip(reason=reason))
