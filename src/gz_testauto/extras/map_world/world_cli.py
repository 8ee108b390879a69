"""Convert a map of map_server to a world and a campaign.

Occupied cells become walls. Cells with an unknown state become walls too, so that neither robots
nor obstacles are there. The map of the world, which `gz_testauto map` computes with the bounds and
the resolution that are printed, is equal to the given map in all known cells, unless it is rotated.

The campaign has a distant start and goal, and random obstacles along the path between them. With
--missions, it has that many drawn starts and goals in the whole map instead, without obstacles.

example:
  gz_testauto world-from-map maps/office.yaml --out office
  gz_testauto world-from-map maps/office.yaml --missions 50 --robot models/mine.sdf --out office
  gz_testauto run office/campaign.yaml --out results/office
"""

import argparse
import json
import re
from pathlib import Path

import numpy as np

from gz_testauto.base.disk import disk_errors, make_directory, write_new_files
from gz_testauto.base.errors import SpecError
from gz_testauto.campaign.campaign_files import input_path
from gz_testauto.cli.options import add_robot_argument, robot_keys
from gz_testauto.extras.map_world.distant_ends import find_mission
from gz_testauto.grid.map_server import read_map_file
from gz_testauto.grid.occupancy import rectangles_of
from gz_testauto.worlds.map_walls import center_of, world_text

GROUP = ("worlds", 3)
RADIUS_M = 0.5
MOST_BOXES = 20_000  # Gazebo needs minutes to load more

_CAMPAIGN = """\
# Random obstacles in the map {source}. Change the robot, start, goal and obstacles as required.

name: {name}
seed: 1

worlds:
  base: {world}
  obstacles:
    obstacles:
      - type: box
        count: {{per_100_m2: [0, 6]}}
        size_x_m: [0.3, 0.6]
        size_y_m: [0.3, 0.6]
        size_z_m: 1.0
      - {{type: cylinder, count: {{per_100_m2: [0, 6]}}, radius_m: [0.15, 0.3], length_m: 1.0}}
    region: {{along_path: {{width_m: 3.0}}}}
    keep_out:
      - {{center: start, radius_m: 1.0}}
      - {{center: goal, radius_m: 1.0}}
    min_gap_m: 0.2
    solvable: {{margin_m: 0.05}}
    max_tries: 20000
  count: 20

robot:
  {robot}
  start: {{x_m: {start[0]:.3f}, y_m: {start[1]:.3f}, yaw_rad: {start[2]:.3f}}}
  max_linear_mps: 1.0

goal: {{x_m: {goal[0]:.3f}, y_m: {goal[1]:.3f}, tolerance_m: 0.3}}

planners: [dwa]

limits: {{timeout_s: 300.0}}
"""

_CAMPAIGN_OF_MISSIONS = """\
# Missions in the map {source}. Change the robot, planners and missions as required.

name: {name}
seed: 1

worlds:
  directory: .
  files: [{world}]
  # each with a start and a goal, drawn by the seed
  missions: {{count: {missions}, path_m: [2, 1000]{clearance}}}

robot:
  {robot}
  max_linear_mps: 1.0

goal: {{tolerance_m: 0.3}}

planners: [dwa]

limits: {{timeout_s: 300.0}}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "map", metavar="MAP", type=input_path, help="YAML file of map_server, or its package:// URI"
    )
    parser.add_argument(
        "--out",
        required=True,
        type=Path,
        metavar="DIR",
        help="directory to which the world and campaign.yaml are written",
    )
    parser.add_argument(
        "--height",
        type=float,
        default=2.0,
        metavar="M",
        help="height of the walls in m (default: %(default)s)",
    )
    parser.add_argument(
        "--unknown",
        choices=("wall", "free"),
        default="wall",
        help="what cells with an unknown state become (default: %(default)s)",
    )
    parser.add_argument(
        "--radius",
        type=float,
        metavar="M",
        help=f"least distance in m of the start, the goal and the path between them from walls "
        f"(default: {RADIUS_M}; with --missions, of starts and goals only, and the default depends "
        "on the robot)",
    )
    add_robot_argument(parser)
    parser.add_argument(
        "--missions", type=int, metavar="N", help="draw N missions in the whole map"
    )


def run(arguments: argparse.Namespace) -> int:
    radius_m = RADIUS_M if arguments.radius is None else arguments.radius
    for option, value in (("--height", arguments.height), ("--radius", radius_m)):
        if not 0 < value < float("inf"):
            raise SpecError(f"{option} is {value:g}; it must be finite and greater than 0")
    path: Path = arguments.map
    map_file = read_map_file(path)
    walls = (
        map_file.occupied | map_file.unknown if arguments.unknown == "wall" else map_file.occupied
    )
    rectangles = sorted(rectangles_of(walls))
    boxes = len(rectangles)
    if boxes > MOST_BOXES:
        raise SpecError(
            f"{path}: the walls need {boxes} boxes, more than {MOST_BOXES}; remove single occupied "
            "pixels from the image, or use a coarser resolution"
        )
    mission = find_mission(map_file, ~walls, radius_m)
    if mission is None:
        raise SpecError(
            f"{path}: no free area is {2 * radius_m:g} m wide; lower --radius, or correct "
            "the thresholds of the map"
        )
    out: Path = arguments.out
    world, campaign = out / f"{path.stem}.world", out / "campaign.yaml"
    free_m2 = float(np.count_nonzero(~walls)) * map_file.resolution_m**2
    text = (_CAMPAIGN if arguments.missions is None else _CAMPAIGN_OF_MISSIONS).format(
        source=path.name,
        name="map_" + re.sub(r"[^A-Za-z0-9_]", "_", path.stem),
        world=json.dumps(world.name, ensure_ascii=False),
        start=mission.start,
        goal=mission.goal,
        robot=robot_keys(arguments),
        missions=arguments.missions,
        clearance="" if arguments.radius is None else f", clearance_m: {arguments.radius:g}",
    )
    with disk_errors(out):
        make_directory(out)
        content = world_text(map_file, rectangles, arguments.height, path.name)
        write_new_files({world: content.encode("utf-8"), campaign: text.encode("utf-8")})
    rows, columns = walls.shape
    print(f"{world}\n{campaign}")
    print(
        f"{columns} x {rows} cells of {map_file.resolution_m:g} m; "
        f"{100 * map_file.occupied.mean():.1f} % occupied, "
        f"{100 * map_file.unknown.mean():.1f} % unknown"
    )
    reach = (
        f"; the center of a disc with a radius of {radius_m:g} m (--radius) can reach "
        f"{mission.area_m2:.0f} m²"
    )
    print(
        f"{boxes} boxes, {free_m2:.0f} m² of free area"
        + (reach if arguments.missions is None else "")
    )
    ends = [(row - 0.5, column - 0.5) for row in (0, rows) for column in (0, columns)]
    xs, ys = zip(*(center_of(map_file, *end) for end in ends))
    yaw_rad = map_file.origin[2]
    rotated = f" around the map, which is rotated by {yaw_rad:g} rad" if yaw_rad else ""
    print(f"bounds {min(xs):g} {min(ys):g} {max(xs):g} {max(ys):g}{rotated}")
    return 0
