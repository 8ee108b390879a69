"""Write a world whose walls are the occupied cells of a map.

Each rectangle of cells becomes a box of one static model, so that the map of the world has the same
occupied cells as the original map.
"""

import math
from typing import Sequence, Tuple

from gz_testauto.grid.map_server import MapFile
from gz_testauto.grid.occupancy import CellRectangle

WALLS = "map_walls"  # name of the model with the walls

_WORLD = """<?xml version="1.0"?>
<!-- Written by gz_testauto world-from-map from {source}. -->
<sdf version="1.6">
  <world name="default">
    <physics name="one_millisecond" type="ode" default="true">
      <max_step_size>0.001</max_step_size>
      <real_time_factor>1</real_time_factor>
      <real_time_update_rate>1000</real_time_update_rate>
    </physics>
    <gravity>0 0 -9.8</gravity>
    <scene><ambient>0.5 0.5 0.5 1</ambient><shadows>false</shadows></scene>
    <light name="sun" type="directional">
      <pose>0 0 10 0 0 0</pose>
      <diffuse>0.8 0.8 0.8 1</diffuse>
      <direction>-0.4 0.3 -0.9</direction>
    </light>
    <model name="ground_plane">
      <static>true</static>
      <pose>{center} 0 0 0 0</pose>
      <link name="link">
        <collision name="collision">
          <geometry><plane><normal>0 0 1</normal><size>{side} {side}</size></plane></geometry>
          <surface><friction><ode><mu>100</mu><mu2>50</mu2></ode></friction></surface>
        </collision>
        <visual name="visual">
          <geometry><plane><normal>0 0 1</normal><size>{side} {side}</size></plane></geometry>
          <material><diffuse>0.85 0.83 0.78 1</diffuse></material>
        </visual>
      </link>
    </model>
    <model name="{walls}">
      <static>true</static>
      <pose>{origin} 0 0 0 {yaw}</pose>
      <link name="link">
{boxes}
      </link>
    </model>
  </world>
</sdf>
"""

_BOX = """        <{kind} name="{kind}_{number}">
          <pose>{x!r} {y!r} {z!r} 0 0 0</pose>
          <geometry><box><size>{size_x!r} {size_y!r} {size_z!r}</size></box></geometry>{more}
        </{kind}>"""
_MATERIAL = "\n          <material><diffuse>0.6 0.6 0.63 1</diffuse></material>"


def world_text(
    map_file: MapFile, walls: Sequence[CellRectangle], height_m: float, source: str
) -> str:
    """Return the text of a world file with a box of ``height_m`` for each of ``walls``. ``source``
    is the name of the map in a comment."""
    cell_m, (x_m, y_m, yaw_rad) = map_file.resolution_m, map_file.origin
    boxes = []
    for number, wall in enumerate(walls):
        box = {
            "number": number,
            "x": (wall.column + wall.columns / 2) * cell_m,
            "y": (wall.row + wall.rows / 2) * cell_m,
            "z": height_m / 2,
            "size_x": wall.columns * cell_m,
            "size_y": wall.rows * cell_m,
            "size_z": height_m,
        }
        boxes.append(_BOX.format(kind="collision", more="", **box))
        boxes.append(_BOX.format(kind="visual", more=_MATERIAL, **box))
    rows, columns = map_file.occupied.shape
    center_x_m, center_y_m = center_of(map_file, rows / 2 - 0.5, columns / 2 - 0.5)
    return _WORLD.format(
        source=source.replace("--", "- -"),
        center=f"{center_x_m!r} {center_y_m!r}",
        side=repr(math.hypot(rows, columns) * cell_m),
        walls=WALLS,
        origin=f"{x_m!r} {y_m!r}",
        yaw=repr(yaw_rad),
        boxes="\n".join(boxes),
    )


def center_of(map_file: MapFile, row: float, column: float) -> Tuple[float, float]:
    """Return the position (m, world frame) of the center of a cell."""
    x_m, y_m, yaw_rad = map_file.origin
    along_m, across_m = (column + 0.5) * map_file.resolution_m, (row + 0.5) * map_file.resolution_m
    cos, sin = math.cos(yaw_rad), math.sin(yaw_rad)
    return (
        x_m + cos * along_m - sin * across_m,
        y_m + sin * along_m + cos * across_m,
    )
