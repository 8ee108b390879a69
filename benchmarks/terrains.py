"""Draw the kinds of terrain, and check the ground of simulators.

Draws them from above, lit from the side, with heights along the x axis below; and probes each kind
in each specified simulator (:mod:`gz_testauto.extras.simulator_comparison.probe`).

    python3 benchmarks/terrains.py --picture docs/images/terrains.png
    python3 benchmarks/terrains.py embedded gazebo kinematic
"""

import argparse
import tempfile
from pathlib import Path
from typing import List

import numpy as np
from pydantic import TypeAdapter

from gz_testauto.extras.simulator_comparison.probe import probe_ground
from gz_testauto.extras.simulator_comparison.terrain import Terrain, TerrainSpec, make_terrain
from gz_testauto.simulators import open_simulator

KINDS = ("step", "bumps", "gravel", "iso8608", "fbm", "flat")


def terrains(seed: int) -> List[Terrain]:
    """Return one terrain of each kind with default values."""
    reader: TypeAdapter = TypeAdapter(TerrainSpec)
    specs = [reader.validate_python({"name": kind, "kind": kind}) for kind in KINDS]
    return [make_terrain(spec, seed) for spec in specs]


def draw(grounds: List[Terrain], path: Path) -> None:
    """Return a picture with one column for each kind of terrain except the flat one."""
    from matplotlib import pyplot
    from PIL import Image

    figure, (above, along) = pyplot.subplots(
        2, len(grounds), figsize=(13, 4.2), height_ratios=[3, 1.2], layout="constrained"
    )
    for terrain, plan, profile in zip(grounds, above, along):
        half = terrain.size_m / 2
        near = abs(terrain.x_m) <= 3.2
        down, across = np.gradient(terrain.heights_m, terrain.pitch_m)
        # the light comes from the upper left, 35° above the ground; down the image, y falls
        shade = (0.57 + 0.58 * (across + down)) / np.sqrt(1 + across**2 + down**2)
        plan.imshow(shade, cmap="gray", extent=(-half, half, -half, half), vmin=0, vmax=1.1)
        plan.set(xlim=(-3.2, 3.2), ylim=(-3.2, 3.2), title=terrain.name, xlabel="x, m")
        middle = terrain.heights_m[terrain.pixels // 2]
        profile.plot(terrain.x_m[near], 1000 * middle[near], linewidth=0.8, color="black")
        profile.set(xlim=(-3.2, 3.2), ylim=(-65, 105), xlabel="x, m")
        profile.grid(linewidth=0.3)
    above[0].set_ylabel("y, m")
    along[0].set_ylabel("height, mm")
    figure.get_layout_engine().set(h_pad=0.08)
    figure.savefig(path, dpi=72)
    with Image.open(path) as image:
        image.convert("RGB").quantize(24).save(path, optimize=True)


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("simulators", nargs="*", help="simulators whose ground is measured")
    parser.add_argument("--picture", type=Path, help="file of the picture")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    grounds = terrains(options.seed)
    if options.picture is not None:
        draw([terrain for terrain in grounds if terrain.relief_m > 0.0], options.picture)
    with tempfile.TemporaryDirectory() as folder:
        for name in options.simulators:
            with open_simulator(name) as simulator:
                for terrain in grounds:
                    probe = probe_ground(simulator, terrain, Path(folder))
                    print(
                        f"{name:10} {terrain.name:8} largest error {1000 * probe.worst_m:.3f} mm, "
                        f"friction {probe.friction}, expected {probe.expected_friction}: "
                        f"{probe.refusal or 'correct'}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
