"""Agreement of all sensors of a robot in Gazebo and in the embedded simulator."""

from dataclasses import replace

import embedded_scenes as scenes
import numpy as np
import pytest

from gz_testauto.base.pose import Pose2D
from gz_testauto.base.resources import share_directory
from gz_testauto.sdf.robot import read_robot
from gz_testauto.simulators.embedded import EmbeddedSimulator
from gz_testauto.simulators.gazebo import GazeboSimulator
from gz_testauto.simulators.interface import Scene

pytestmark = pytest.mark.gazebo

CYLINDER = "<cylinder><radius>0.4</radius><length>1.2</length></cylinder>"
SPHERE = "<sphere><radius>0.5</radius></sphere>"


def test_ranges_of_all_sensors_agree_within_a_millimeter(tmp_path):
    world = scenes.write_world(
        tmp_path,
        scenes.model("tilted", "<box><size>1 2 1.5</size></box>", "3 -1 0.7 0.2 0.3 0.4"),
        scenes.model("post", CYLINDER, "-2 1.5 0.6 0 0 0"),
        scenes.model("ball", SPHERE, "1.5 1.8 0.5 0 0 0"),
    )
    robot = read_robot(share_directory() / "models" / "service_robot", lidar="front_lidar")
    sensors = tuple(
        replace(one, noise_m=(0.0, 0.0)) for one in robot.sensors if one.kind != "contact"
    )
    scene = Scene(world, robot, Pose2D(0.1, 0.2, 0.3), 1, sensors=sensors)
    found = []
    for make in (EmbeddedSimulator, GazeboSimulator):
        with make() as simulator:
            readings = simulator.load(scene).snapshot().sensors
            found.append({name: one.ranges_m for name, one in readings.items()})
    first, second = found
    for name, ranges in first.items():
        with np.errstate(invalid="ignore"):
            difference = np.abs(ranges - second[name])
        difference[np.isinf(ranges) & np.isinf(second[name])] = 0.0
        share = float((~(difference < 0.001)).mean())
        assert share <= 0.005, f"{100 * share:.2f} % of the ranges of {name} differ"
        assert np.isfinite(ranges).mean() > 0.05 or ranges.size == 1, f"{name} detects nothing"
