"""The robot of a bench, as passed to the simulators.

Its IMU measures in every physics step, so that means over 10 ms can be computed for any rate in the
model. A simulator whose samples are means is sampled every 10 ms.
"""

from dataclasses import replace
from typing import Tuple

from lxml import etree

from gz_testauto.base.errors import SpecError
from gz_testauto.base.xml_file import parse_xml
from gz_testauto.extras.simulator_comparison.maneuvers import BenchRobotSpec
from gz_testauto.sdf.robot import RobotModel, read_robot

EVERY_STEP = 0.0
"""Update rate in SDF of a sensor that measures in every physics step."""


def read_bench_robot(
    spec: BenchRobotSpec, count: int = 1, always: bool = True
) -> Tuple[RobotModel, ...]:
    """Return ``count`` copies of the robot with different names; with ``always`` the IMU measures
    in every step. Raises ``SpecError`` for a robot without IMU or drive plug-in, and
    ``SdfError``."""
    names = [spec.name, *(f"{spec.name}_{number}" for number in range(2, count + 1))]
    robots = tuple(read_robot(spec.model, name) for name in names)
    for lacking, what in (("imu", "IMU (<sensor type='imu'>)"), ("drive", "drive plugin")):
        if getattr(robots[0], lacking) is None:
            raise SpecError(f"robot.model: {robots[0].path} has no {what}; add one")
    return tuple(map(_measuring_always, robots)) if always else robots


def _measuring_always(robot: RobotModel) -> RobotModel:
    assert robot.imu is not None, "validated before"
    root = parse_xml(robot.sdf.encode("utf-8"))
    for sensor in root.iter("sensor"):
        if sensor.get("type") == "imu" and sensor.get("name") == robot.imu.sensor:
            rate = sensor.find("update_rate")
            rate = etree.SubElement(sensor, "update_rate") if rate is None else rate
            rate.text = str(EVERY_STEP)
    sdf = etree.tostring(root, encoding="unicode")
    return replace(robot, sdf=sdf, imu=replace(robot.imu, update_rate_hz=EVERY_STEP))
