"""Show the drive, lidar, footprint and mass of a robot's model.

Also casts the lidar's rays in an empty world, and reports the rays that end on the robot itself.
--simulator also drives the robot on a plane, and compares its speeds with the commands. --image
writes a picture of the robot from above, with its x axis to the right. Changes nothing else.

Exit status: 0 if planners can drive the robot, 1 if it has no drive controller or no lidar, its
lidar mostly detects the robot, or its speeds differ from the commands by more than 10 %, and 2 if
the model cannot be read or would not move as commanded.

examples:
  gz_testauto robot models/wheelchair --image wheelchair.png
  gz_testauto robot campaign.yaml --simulator gazebo
"""

import argparse
import contextlib
import json
import math
import sys
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple

import numpy as np

from gz_testauto.base.disk import disk_errors, replaced_file
from gz_testauto.base.errors import SpecError
from gz_testauto.base.pose import Pose
from gz_testauto.base.sensors import Sensor
from gz_testauto.campaign.campaign_files import input_path
from gz_testauto.campaign.simulator import simulator_options, with_simulator
from gz_testauto.extras.robot_check.motion_check import (
    MeasuredMotion,
    measure_motions,
    motion_problems,
)
from gz_testauto.sampling.site import circumscribed_radius_m
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.drives import ackermann_parts
from gz_testauto.sdf.dynamics import read_mass_kg
from gz_testauto.sdf.robot import RobotModel, read_robot
from gz_testauto.sdf.robot_sensors import LidarDescription
from gz_testauto.simulators import open_simulator
from gz_testauto.simulators.embedded.own_body import OwnBodyScan, scan_own_body
from gz_testauto.spec.campaign import BuiltinCampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.trial.checks import lidar_notices, require_drivable
from gz_testauto.trial.testbed import read_body

GROUP = ("worlds", 5)
IMAGE_PX = 900  # width and height of the picture

MARGIN = 1.3  # half the width of the picture / largest coordinate of a drawn point


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model",
        type=input_path,
        metavar="MODEL",
        help="model file, model directory, or campaign file, whose robot is read with its keys; "
        "a path or a package:// URI",
    )
    parser.add_argument(
        "--lidar",
        action="append",
        metavar="NAME",
        help="name of the robot's lidar; needed if the robot has several ray sensors, of which "
        "A,B are merged",
    )
    parser.add_argument(
        "--image", type=Path, metavar="PNG", help="write a picture of the robot from above"
    )
    parser.add_argument(
        "--simulator",
        metavar="NAME",
        help="also drive the robot on a plane in this simulator, and compare its speed and yaw "
        "rate with the commands",
    )
    parser.add_argument("--json", action="store_true", help="print the results as a JSON object")


def run(arguments: argparse.Namespace) -> int:
    lidar = None if arguments.lidar is None else ",".join(arguments.lidar)
    robot, spec = _read(arguments.model, lidar)
    scan = scan_own_body(robot)
    problems = list(_problems(robot))
    facts = _facts(robot, scan)
    if arguments.simulator is not None and robot.drive is not None:
        motions = _measure_motions(robot, arguments.simulator, spec)
        facts["motion"] = {
            "simulator": arguments.simulator,
            "commands": [
                {
                    **motion.command._asdict(),
                    "measured_linear_mps": motion.linear_mps,
                    "measured_angular_radps": motion.angular_radps,
                }
                for motion in motions
            ],
        }
        steering = ackermann_parts(robot.sdf)
        problems += motion_problems(motions, robot.drive, arguments.simulator, steering)
    if arguments.json:
        print(json.dumps({**facts, "problems": problems}, indent=2))
    else:
        print("\n".join(_fact_lines(facts)))
    if arguments.image is not None:
        with disk_errors(arguments.image), replaced_file(arguments.image) as stream:
            _picture(robot, scan).save(stream, format="PNG")
        print(f"image: {arguments.image}", file=sys.stderr)
    for problem in problems:
        print(f"problem: {problem}", file=sys.stderr)
    return 1 if problems else 0


def _read(model: Path, lidar: Optional[str]) -> Tuple[RobotModel, Optional[BuiltinCampaignSpec]]:
    """Return the robot of a model, or the robot of a campaign file and the campaign."""
    if model.suffix not in (".yaml", ".yml"):
        return read_robot(model, lidar=lidar), None
    spec = load(model, BuiltinCampaignSpec)
    if lidar is not None:
        spec = spec.model_copy(update={"robot": spec.robot.model_copy(update={"lidar": lidar})})
    return read_body(spec), spec


def _measure_motions(
    robot: RobotModel, simulator: str, spec: Optional[BuiltinCampaignSpec]
) -> List[MeasuredMotion]:
    options, limits = {}, (math.inf, math.inf)
    if spec is not None:
        spec = with_simulator(spec, simulator)
        options = simulator_options(spec)
        limits = (spec.robot.max_linear_mps, spec.robot.max_angular_radps)
    with contextlib.closing(open_simulator(simulator, **options)) as opened_simulator:
        return measure_motions(opened_simulator, robot, limits)


def _problems(robot: RobotModel) -> Iterator[str]:
    for check in (require_drivable, lidar_notices):
        try:
            check(robot)  # type: ignore[operator]
        except SpecError as error:
            yield error.full


def _facts(robot: RobotModel, scan: Optional[OwnBodyScan]) -> Dict[str, Any]:
    """Return the properties of a robot as values of JSON, with units in the names."""
    corners = np.asarray(robot.footprint_m)
    document = SdfDocument.parse(robot.sdf, str(robot.path))
    assert document.model is not None, "read_robot ensures this"
    masses = [read_mass_kg(document, link) for link in document.model.iter("link")]
    facts: Dict[str, Any] = {"model": str(robot.path), "drive": None, "lidar": None, "imu": None}
    if robot.drive is not None:
        drive = robot.drive
        facts["drive"] = {
            "plugin": drive.plugin,
            "left_joints": list(drive.left_joints),
            "right_joints": list(drive.right_joints),
            "wheel_separation_m": drive.wheel_separation_m,
            "wheel_diameter_m": drive.wheel_diameter_m,
        }
    if robot.lidar is not None and scan is not None:
        facts["lidar"] = {
            **_lidar_facts(robot.lidar),
            "is_gpu_ray": robot.has_gpu_lidar,
            "rays_on_the_robot": scan.count,
            "rays_by_shape": dict(scan.rays),
        }
    facts["sensors"] = [_sensor_facts(sensor) for sensor in robot.sensors]
    if robot.imu is not None:
        imu = robot.imu
        facts["imu"] = {
            "name": f"{imu.link}::{imu.sensor}",
            "rate_hz": imu.update_rate_hz,
            **_pose_facts(imu.mount),
        }
    facts["footprint_m"] = corners.tolist()
    facts["circumscribed_radius_m"] = circumscribed_radius_m(robot.footprint_m)
    facts["height_m"] = list(robot.height_m)
    facts["mass_kg"], facts["links"] = math.fsum(masses), len(masses)
    return facts


def _lidar_facts(lidar: LidarDescription) -> Dict[str, Any]:
    return {
        "name": lidar.scoped_name,
        "rays": lidar.ray_count,
        "angles_rad": [lidar.angle_min_rad, lidar.angle_max_rad],
        "range_m": [lidar.range_min_m, lidar.range_max_m],
        "rate_hz": lidar.update_rate_hz,
        **_pose_facts(lidar.mount),
    }


def _sensor_facts(sensor: Sensor) -> Dict[str, Any]:
    facts: Dict[str, Any] = {
        "name": sensor.scoped_name,
        "kind": sensor.kind,
        "rate_hz": sensor.update_rate_hz,
        "topic": sensor.topic,
        "frame": sensor.frame,
        **_pose_facts(sensor.mount),
    }
    if sensor.kind == "contact":
        return {**facts, "collisions": list(sensor.collisions)}
    return {
        **facts,
        "rays": sensor.columns.samples * sensor.rows.samples,
        "columns": sensor.columns.samples,
        "rows": sensor.rows.samples,
        "angles_rad": list(sensor.columns[1:]),
        "vertical_angles_rad": list(sensor.rows[1:]),
        "range_m": [sensor.range_min_m, sensor.range_max_m],
    }


def _pose_facts(pose: Pose) -> Dict[str, Any]:
    return {"position_m": list(pose.position), "quaternion": list(pose.quaternion)}


def _fact_lines(facts: Dict[str, Any]) -> Iterator[str]:
    yield _line("model", facts["model"])
    drive = facts["drive"]
    yield _line("drive", "none" if drive is None else drive["plugin"])
    if drive is not None:
        yield _line("  left", ", ".join(drive["left_joints"]))
        yield _line("  right", ", ".join(drive["right_joints"]))
        separation_m, diameter_m = drive["wheel_separation_m"], drive["wheel_diameter_m"]
        yield _line("  wheels", f"separation {separation_m:.4g} m, diameter {diameter_m:.4g} m")
    lidar = facts["lidar"]
    yield from _sensor_lines("lidar", lidar)
    if lidar is not None:
        if lidar["is_gpu_ray"]:
            yield _line("  gpu_ray", "sees visuals in Gazebo, and collision shapes here")
        text = f"{lidar['rays_on_the_robot']} of {lidar['rays']} rays end on the robot itself"
        yield _line("  itself", text)
        for shape, count in lidar["rays_by_shape"].items():
            yield _line("", f"{count} on {shape}")
    for sensor in facts["sensors"]:
        yield from _sensor_lines(sensor["kind"], sensor)
    yield from _sensor_lines("imu", facts["imu"])
    (low_x, low_y), (high_x, high_y) = (
        ends(np.asarray(facts["footprint_m"]), axis=0) for ends in (np.min, np.max)
    )
    yield _line(
        "footprint", f"x {low_x:.3g} to {high_x:.3g} m, y {low_y:.3g} to {high_y:.3g} m, convex"
    )
    yield _line("  radius", f"{facts['circumscribed_radius_m']:.3g} m about the base frame")
    yield _line("height", "{:.3g} to {:.3g} m".format(*facts["height_m"]))
    yield _line("mass", f"{facts['mass_kg']:.4g} kg in {facts['links']} links")
    if "motion" in facts:
        yield _line("motion", f"in {facts['motion']['simulator']}, on a plane")
        for motion in facts["motion"]["commands"]:
            commanded = f"{motion['linear_mps']:.3g} m/s, {motion['angular_radps']:.3g} rad/s"
            speed, yaw_rate = (
                round(motion[f"measured_{kind}"], 3) + 0.0
                for kind in ("linear_mps", "angular_radps")
            )
            yield _line("", f"{commanded:<21} measured {speed:.3f} m/s, {yaw_rate:.3f} rad/s")


def _sensor_lines(kind: str, sensor: Optional[Dict[str, Any]]) -> Iterator[str]:
    if sensor is None:
        yield _line(kind, "none")
        return
    yield _line(kind, f"{sensor['name']}, {sensor['rate_hz']:g} Hz")
    if "rays" in sensor:
        low, high = map(math.degrees, sensor["angles_rad"])
        least_m, most_m = sensor["range_m"]
        rays = f"{sensor['rays']} from {low:.4g}° to {high:.4g}°, {least_m:g} to {most_m:g} m"
        if sensor.get("rows", 1) > 1:
            lowest, highest = map(math.degrees, sensor["vertical_angles_rad"])
            rays = (
                f"{sensor['columns']} × {sensor['rows']}, {low:.4g}° to {high:.4g}°, vertical "
                f"{lowest:.4g}° to {highest:.4g}°, {least_m:g} to {most_m:g} m"
            )
        yield _line("  rays", rays)
    for shape in sensor.get("collisions", ()):
        yield _line("  shape", shape)
    if "topic" in sensor:
        yield _line("  topic", f"{sensor['topic']}, frame {sensor['frame']}")
    pose = Pose(tuple(sensor["position_m"]), tuple(sensor["quaternion"]))
    position = ", ".join(f"{axis} {value:.3g}" for axis, value in zip("xyz", pose.position))
    ahead, up = pose.rotation[:, 0], pose.rotation[:, 2]
    facing = math.degrees(math.atan2(ahead[1], ahead[0]))
    tilt = math.degrees(math.acos(min(1.0, max(-1.0, float(up[2])))))
    yield _line("  pose", f"{position} m, x axis at {facing:.3g}°, tilt {tilt:.3g}°")


def _line(name: str, text: str) -> str:
    return f"{name:<10} {text}".rstrip()


def _picture(robot: RobotModel, scan: Optional[OwnBodyScan]) -> Any:
    """Return a picture (PIL image) of a robot from above: its footprint, the rays of its lidar, and
    the axes of the base frame."""
    from PIL import Image, ImageDraw

    corners = np.asarray(robot.footprint_m)
    hits = np.empty((0, 2))
    points = [corners]
    if robot.lidar is not None and scan is not None:
        mount, is_hit = robot.lidar.mount, np.isfinite(scan.ranges_m)
        angles, ranges_m = scan.angles_rad, np.where(is_hit, scan.ranges_m, 0.0)
        flat = np.stack([np.cos(angles), np.sin(angles), np.zeros(len(angles))], axis=1)
        directions = (flat @ mount.rotation.T)[:, :2]
        sensor = np.asarray(mount.position[:2])
        hits = sensor + directions[is_hit] * ranges_m[is_hit, None]
        points += [hits, sensor[None]]
    half_m = MARGIN * max(float(np.abs(group).max()) for group in points if group.size)
    scale = IMAGE_PX / 2 / half_m

    def to_pixels(points_m: np.ndarray) -> List[Tuple[float, float]]:
        return [(IMAGE_PX / 2 + scale * x, IMAGE_PX / 2 - scale * y) for x, y in points_m.tolist()]

    image = Image.new("RGB", (IMAGE_PX, IMAGE_PX), "white")
    draw = ImageDraw.Draw(image)
    draw.polygon(to_pixels(corners), fill="#d9e6f2", outline="#1f4e79")
    if robot.lidar is not None and scan is not None:
        ends = sensor + directions * np.where(is_hit, ranges_m, 2 * half_m)[:, None]
        for (start, end), hit in zip(
            (to_pixels(np.stack([sensor, ray_end])) for ray_end in ends), is_hit.tolist()
        ):
            draw.line([start, end], fill="#c00000" if hit else "#b7d7a8")
        for x, y in to_pixels(sensor[None]):
            draw.ellipse((x - 5, y - 5, x + 5, y + 5), fill="#38761d")
    for name, axis in (("x", (1.0, 0.0)), ("y", (0.0, 1.0))):
        arrow = np.array([(0.0, 0.0), axis]) * half_m / MARGIN / 2
        draw.line(to_pixels(arrow), fill="#1f4e79", width=3)
        draw.text(to_pixels(1.05 * arrow)[1], name, fill="#1f4e79")
    draw.text((10, 10), f"{robot.path}", fill="black")
    draw.text((10, 26), f"width of the picture: {2 * half_m:.3g} m; x to the right", fill="black")
    draw.text((10, 42), "green: rays of the lidar; red: rays on the robot", fill="black")
    return image
