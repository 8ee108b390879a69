"""Terrains, and their world files for all simulators of this package.

Flat ground is a plane in the world file. Other ground is a height map from a gray image, at the
height of its lowest point, so that its middle is at the world's zero.
"""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Tuple, Union

import numpy as np
from scipy.interpolate import RegularGridInterpolator

from gz_testauto.base.disk import replace_file
from gz_testauto.base.errors import MissingDependencyError

LEVELS = 255  # highest level; 256 levels are the maximum of Gazebo's height maps


@dataclass(frozen=True, eq=False)
class Terrain:
    """A square of ground around the world's origin, the same in every simulator.

    ``heights_m`` (n, n) are the heights above the world's zero at n = 2^k + 1 points per side,
    which include the edges. Row 0 is at the greatest y, and column 0 at the least x. At the origin
    and around it the height is exactly 0. All heights are multiples of ``relief_m`` / 255.
    """

    name: str
    heights_m: np.ndarray
    size_m: float
    friction: float

    @property
    def relief_m(self) -> float:
        return float(np.ptp(self.heights_m))

    @property
    def lowest_m(self) -> float:
        """Height of the lowest point, 0 or negative."""
        return float(self.heights_m.min())

    @property
    def levels(self) -> np.ndarray:
        """8-bit gray image (n, n): 0 is the lowest point, 255 the highest."""
        if self.relief_m == 0.0:
            return np.zeros(self.heights_m.shape, np.uint8)
        share = (self.heights_m - self.lowest_m) / self.relief_m
        return np.rint(share * LEVELS).astype(np.uint8)

    @property
    def pixels(self) -> int:
        return len(self.heights_m)

    @property
    def pitch_m(self) -> float:
        return self.size_m / (self.pixels - 1)

    @property
    def x_m(self) -> np.ndarray:
        """Coordinates of the columns (n,), increasing."""
        return grid_m(self.size_m, self.pixels)

    @property
    def y_m(self) -> np.ndarray:
        """Coordinates of the rows (n,), decreasing."""
        return grid_m(self.size_m, self.pixels)[::-1]

    def height_m(
        self, x_m: Union[float, np.ndarray], y_m: Union[float, np.ndarray]
    ) -> Union[float, np.ndarray]:
        """Return the bilinearly interpolated height above the world's zero, NaN beyond the edge."""
        axis = grid_m(self.size_m, self.pixels)
        interpolate = RegularGridInterpolator(
            (axis, axis), self.heights_m[::-1], bounds_error=False, fill_value=np.nan
        )
        heights = interpolate(np.stack(np.broadcast_arrays(y_m, x_m), axis=-1))
        return float(heights[0]) if np.ndim(x_m) == 0 and np.ndim(y_m) == 0 else heights


def grid_m(size_m: float, pixels: int) -> np.ndarray:
    """Return the increasing coordinates (pixels,) of a grid along one axis; the middle is 0."""
    return (np.arange(pixels) - (pixels - 1) // 2) * (size_m / (pixels - 1))


def quantize(heights_m: np.ndarray) -> np.ndarray:
    """Return heights (n, n) rounded to 256 levels, and shifted so that the middle is exactly 0."""
    lowest, relief = float(heights_m.min()), float(np.ptp(heights_m))
    if relief == 0.0:
        return np.zeros_like(heights_m)
    levels = np.rint((heights_m - lowest) / relief * LEVELS)
    middle = len(levels) // 2
    return (levels - levels[middle, middle]) * (relief / LEVELS)


GRAVITY_MPS2 = 9.80665

Vector = Tuple[float, float, float]

MODEL = "terrain"

_WORLD = """<?xml version="1.0"?>
<sdf version="1.6">
  <world name="{name}">
    <physics name="bench" type="ode" default="true">
      <max_step_size>{step_s!r}</max_step_size>
      <real_time_factor>1</real_time_factor>
      <real_time_update_rate>{rate!r}</real_time_update_rate>
    </physics>
    <gravity>{gravity}</gravity>
    <scene>
      <ambient>0.5 0.5 0.5 1</ambient>
      <background>0.75 0.8 0.85 1</background>
      <shadows>false</shadows>
    </scene>
    <light name="sun" type="directional">
      <pose>0 0 10 0 0 0</pose>
      <cast_shadows>false</cast_shadows>
      <diffuse>0.8 0.8 0.8 1</diffuse>
      <specular>0.1 0.1 0.1 1</specular>
      <direction>-0.4 0.3 -0.9</direction>
    </light>
    <model name="{model}">
      <static>true</static>
      <link name="link">
        <collision name="collision">
          <geometry>{geometry}</geometry>
          <surface>
            <friction><ode><mu>{friction!r}</mu><mu2>{friction!r}</mu2></ode></friction>
          </surface>
        </collision>
        <visual name="visual">
          <cast_shadows>false</cast_shadows>
          <geometry>{geometry}</geometry>
        </visual>
      </link>
    </model>
  </world>
</sdf>
"""


def write_world(
    terrain: Terrain,
    folder: Path,
    step_s: float = 0.001,
    gravity_mps2: Vector = (0.0, 0.0, -GRAVITY_MPS2),
) -> Path:
    """Write ``NAME.world``, and ``NAME.png`` unless the terrain is flat; return the path of the
    world."""
    folder.mkdir(parents=True, exist_ok=True)
    geometry = (
        f"<plane><normal>0 0 1</normal><size>{terrain.size_m!r} {terrain.size_m!r}</size></plane>"
    )
    if terrain.relief_m > 0.0:
        image = folder.absolute() / f"{terrain.name}.png"
        replace_file(image, _gray_png(terrain))
        geometry = (
            f"<heightmap><uri>file://{image}</uri>"
            f"<size>{terrain.size_m!r} {terrain.size_m!r} {terrain.relief_m!r}</size>"
            f"<pos>0 0 {terrain.lowest_m!r}</pos></heightmap>"
        )
    world = _WORLD.format(
        name=terrain.name,
        model=MODEL,
        geometry=geometry,
        friction=terrain.friction,
        step_s=step_s,
        rate=1.0 / step_s,
        gravity=" ".join(map(repr, gravity_mps2)),
    )
    path = folder / f"{terrain.name}.world"
    replace_file(path, world.encode("utf-8"))
    return path


def _gray_png(terrain: Terrain) -> bytes:
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingDependencyError(
            f"writing terrain {terrain.name!r} needs Pillow; install it with python3 -m pip "
            "install pillow"
        ) from error
    content = io.BytesIO()
    Image.fromarray(terrain.levels).save(content, format="png")
    return content.getvalue()
