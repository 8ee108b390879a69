"""Build the world that a robot saw in a bag, and a campaign.

The bag is of ROS 1 or ROS 2. It contains scans, tf or odometry with the poses of a localizer, and
goals with results. The window is by default that of the last goal that was not reached. Scans are
matched to the map. Surfaces that the map lacks become models named seen_NN. Moving objects become
tracks. The directory contains the world, campaign.yaml, tracks.csv if something moves, and
reconstruction.html.

example:
  gz_testauto world-from-bag field.bag --map maps/office.yaml --robot mine.sdf --out failure
  gz_testauto run failure/campaign.yaml --out results/failure
"""

import argparse
from pathlib import Path
from typing import List, Tuple

import numpy as np

from gz_testauto.base.disk import disk_errors, replace_file
from gz_testauto.base.pose import Pose2D
from gz_testauto.campaign.campaign_files import input_path
from gz_testauto.cli.options import add_robot_argument, robot_keys
from gz_testauto.extras.field.topics import BagContent, open_bag
from gz_testauto.grid.map_server import read_map_file

GROUP = ("worlds", 4)
SPEED_PERCENTILE = 99.5  # since single values of odometry can be wrong


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bag", metavar="BAG", type=Path, help="rosbag of ROS 1 or ROS 2")
    parser.add_argument(
        "--map",
        type=input_path,
        metavar="MAP",
        help="YAML file of map_server (default: the map in the bag)",
    )
    add_robot_argument(parser)
    parser.add_argument(
        "--out", required=True, type=Path, metavar="DIR", help="directory of the written files"
    )
    parser.add_argument(
        "--from",
        type=float,
        metavar="S",
        help="start of the window, in s since the start of the bag",
    )
    parser.add_argument("--to", type=float, metavar="S", help="end of the window")
    parser.add_argument(
        "--mount",
        nargs=3,
        type=float,
        metavar=("X", "Y", "YAW"),
        help="pose of the lidar in the base frame (m, m, rad), if tf lacks it",
    )
    parser.add_argument(
        "--start",
        nargs=3,
        type=float,
        metavar=("X", "Y", "YAW"),
        help="first pose of the robot in the map (m, m, rad), if the bag has no localizer",
    )
    parser.add_argument("--scan", metavar="TOPIC", help="topic of the scans, if there are several")
    parser.add_argument("--odom", metavar="TOPIC", help="topic of the odometry")
    parser.add_argument("--map-topic", metavar="TOPIC", help="topic of the map")


def run(arguments: argparse.Namespace) -> int:
    # These modules import SciPy and numba.
    from gz_testauto.extras.field.files import write_files
    from gz_testauto.extras.field.page import page_html
    from gz_testauto.extras.field.reconstruction import map_of_bag, reconstruct
    from gz_testauto.extras.field.window import select_window

    bag_path: Path = arguments.bag
    given_map = None if arguments.map is None else read_map_file(arguments.map)
    topics = {"scan": arguments.scan, "odom": arguments.odom, "map-topic": arguments.map_topic}
    with open_bag(bag_path, topics) as bag:
        content = bag.read_content()
        window = select_window(bag_path, content, getattr(arguments, "from"), arguments.to)
        map_file = map_of_bag(bag_path, content, given_map)
        scans = bag.read_scans(window.from_s, window.to_s)
    mount, start = (
        None if values is None else Pose2D(*values) for values in (arguments.mount, arguments.start)
    )
    rebuilt = reconstruct(bag_path, content, scans, window, map_file, mount, start)
    robot = robot_keys(arguments, tuple(rebuilt.rays.origin_m))
    limits, guesses = _limits(content)
    rebuilt = rebuilt._replace(guesses=[*rebuilt.guesses, *guesses])
    files = write_files(rebuilt, bag_path.name, arguments.out, robot, limits)
    with disk_errors(arguments.out):
        replace_file(files.page, page_html(rebuilt, bag_path.name).encode("utf-8"))
    print(f"{files.world}\n{files.campaign}")
    if rebuilt.tracks:
        print(files.tracks)
    if rebuilt.has_localizer:
        print(files.errors)
    print(f"{files.page}")
    duration_s = scans.times_s[-1] - scans.times_s[0]
    print(f"window {window.from_s:.1f} to {window.to_s:.1f} s: {window.reason}")
    print(
        f"{len(scans.times_s)} scans in {duration_s:.1f} s, median error "
        f"{100 * rebuilt.match.residual_m:.1f} cm; {100 * rebuilt.explained_share:.1f} % of the "
        "static returns are repeated within 5 cm"
    )
    print(
        f"{len(rebuilt.obstacles)} obstacles that the map lacks, {len(rebuilt.tracks)} moving "
        f"objects, {rebuilt.seen_m2:.0f} m² seen"
    )
    for guess in rebuilt.guesses:
        print(f"assumed: {guess}")
    return 0


def _limits(content: BagContent) -> Tuple[Tuple[float, float], List[str]]:
    """Return the largest linear and angular velocity (m/s, rad/s) of the bag, and assumptions."""
    accelerations = "accelerations and the tolerance of the goal are defaults"
    values, source = content.commands, "commands"
    if not len(values):
        values, source = content.odometry, "odometry"
    if not len(values):
        return (1.0, 1.5), [f"the bag has no odometry; velocities, {accelerations}"]
    linear, angular = np.nanpercentile(np.abs(values), SPEED_PERCENTILE, axis=0)
    limits = (round(float(linear), 2), round(float(angular), 2))
    return limits, [f"the limits of velocity are the largest of the {source}; {accelerations}"]
