"""Write the map of a base world as map_server's image and YAML.

The map is the static map of a global planner: it contains the collision shapes
of the world at the height of the lidar, without the random obstacles. Cells
outside the walls are unknown.

example:
  gz_testauto map worlds/arena.world --resolution 0.05 --out maps
  rosrun map_server map_server maps/arena.yaml
"""

import argparse
import json
import math
from pathlib import Path
from typing import List, Optional

import numpy as np

from gz_testauto.base.errors import SpecError
from gz_testauto.campaign.campaign_files import input_path
from gz_testauto.cli.multiply import add_allow_missing, compile_pattern, print_repairs
from gz_testauto.grid.map_server import MAX_RESOLUTION_M, write_map
from gz_testauto.sdf.includes import read_world
from gz_testauto.sdf.robot import read_robot
from gz_testauto.sdf.scene import read_scene
from gz_testauto.spec.worlds import name_of_world
from gz_testauto.worlds.static_map import (
    DEFAULT_HEIGHT_M,
    Bounds,
    heights_m,
    map_of,
    unknown_outside,
)

GROUP = ("worlds", 2)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "base", metavar="BASE", type=input_path, help="world file, or its package:// URI"
    )
    parser.add_argument(
        "--resolution",
        type=float,
        default=0.05,
        metavar="M",
        help="size of a grid cell in m (default: 0.05)",
    )
    parser.add_argument(
        "--out",
        required=True,
        type=Path,
        metavar="DIR",
        help="directory to which the map files are written",
    )
    parser.add_argument(
        "--name", metavar="NAME", help="base name of the generated files (default: name of BASE)"
    )
    height = parser.add_mutually_exclusive_group()
    height.add_argument(
        "--height",
        type=float,
        metavar="M",
        help="height above the ground at which the map shows obstacles, in m (default: "
        f"{DEFAULT_HEIGHT_M:g})",
    )
    height.add_argument(
        "--robot",
        type=input_path,
        metavar="SDF",
        help="robot model whose lidar determines the height",
    )
    parser.add_argument(
        "--lidar",
        metavar="NAME",
        help="name of the robot's lidar; needed if the robot has several ray sensors",
    )
    parser.add_argument(
        "--bounds",
        type=float,
        nargs=4,
        metavar=("X_MIN", "Y_MIN", "X_MAX", "Y_MAX"),
        help="area of the map in m (default: area of all models in BASE)",
    )
    parser.add_argument(
        "--pattern",
        metavar="REGEX",
        help="regular expression; a model is omitted if it matches the full name (default: random "
        "obstacles)",
    )
    parser.add_argument(
        "--repair", action="store_true", help="correct XML errors that Gazebo accepts"
    )
    add_allow_missing(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(arguments: argparse.Namespace) -> int:
    if not 0 < arguments.resolution <= MAX_RESOLUTION_M:
        raise SpecError(
            f"--resolution is {arguments.resolution:g}; it must be greater than 0 and at most "
            f"{MAX_RESOLUTION_M:g} m"
        )
    height = _choose_height_m(arguments.height, arguments.robot, arguments.lidar)
    bounds = _require_bounds(arguments.bounds)
    scene = read_scene(
        read_world(arguments.base, arguments.repair),
        repair=arguments.repair,
        allow_missing=arguments.allow_missing,
    )
    pattern = compile_pattern(arguments.pattern)
    grid = map_of(scene, arguments.resolution, height, pattern, bounds)
    print_repairs(scene)
    if bounds is None and not grid.occupied.any():
        low_m, high_m = heights_m(scene, pattern)
        raise SpecError(
            f"{arguments.base}: no collision shape is {height:g} m above the ground, so the map "
            f"would be empty; set --height to the height of walls (the shapes are between "
            f"{low_m:.2f} and {high_m:.2f} m), or set --bounds"
        )
    unknown_cells = unknown_outside(grid)
    name = arguments.name or name_of_world(arguments.base.name)
    description, image = write_map(grid, arguments.out, name, unknown_cells)
    rows, columns = grid.occupied.shape
    share = {
        "occupied": float(grid.occupied.mean()),
        "unknown": 0.0 if unknown_cells is None else float(np.mean(unknown_cells)),
    }
    if arguments.json:
        facts = {"yaml": str(description), "image": str(image), "height_m": height}
        print(json.dumps({**facts, "rows": rows, "columns": columns, **share}, indent=1))
        return 0
    print(f"{description}\n{image}")
    print(
        f"{columns} x {rows} cells of {grid.resolution_m:g} m, {height:g} m above the ground\n"
        f"origin ({grid.origin_x_m:g}, {grid.origin_y_m:g}), "
        f"{100 * share['occupied']:.1f} % occupied, {100 * share['unknown']:.1f} % unknown"
    )
    return 0


def _require_bounds(values: Optional[List[float]]) -> Optional[Bounds]:
    if values is None:
        return None
    x_min, y_min, x_max, y_max = values
    if not (-math.inf < x_min < x_max < math.inf and -math.inf < y_min < y_max < math.inf):
        raise SpecError("--bounds must be finite numbers with X_MIN < X_MAX and Y_MIN < Y_MAX")
    return x_min, y_min, x_max, y_max


def _choose_height_m(
    height_m: Optional[float], robot: Optional[Path], name: Optional[str]
) -> float:
    if robot is None:
        height = DEFAULT_HEIGHT_M if height_m is None else height_m
        if not math.isfinite(height):
            raise SpecError(f"--height is {height:g}; it must be finite")
        return height
    lidar = read_robot(robot, lidar=name).lidar
    if lidar is None:
        raise SpecError(f"{robot}: the robot has no planar lidar; use --height instead")
    return lidar.mount.position[2]
