"""World file of a terrain for Gazebo and all other simulators of this package.

The files are a gray image and a ``.world``. Flat ground is a plane, other ground a height map at
the height of its lowest point, so that its middle is at the world's zero.
"""

import io
from pathlib import Path
from typing import Tuple

from gz_testauto.base.disk import replace_file
from gz_testauto.base.errors import MissingDependencyError
from gz_testauto.extras.simulator_comparison.terrain.terrain import Terrain

GRAVITY_MPS2 = 9.80665

Vector = Tuple[float, float, float]

MODEL = "terrain"
"""Name of the ground's model."""

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
    """Write ``NAME.world``, and ``NAME.png`` unless the terrain is flat, into a folder that is
    created if necessary. Both friction coefficients of the ground are the terrain's; the physics
    step is ``step_s`` (s). Return the world's path. Raises ``OSError`` if a file cannot be
    written."""
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
            f"writing terrain {terrain.name!r} needs Pillow: python3 -m pip install pillow"
        ) from error
    content = io.BytesIO()
    Image.fromarray(terrain.levels).save(content, format="png")
    return content.getvalue()
