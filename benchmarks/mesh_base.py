"""Measure the cost of worlds whose base world has hundreds of meshes, and of reading these once.

Creates a base world of 600 models, each with one of 60 mesh files of 1,280 triangles (STL and
COLLADA). Runs an embedded campaign of two and of ten worlds of it, each in a separate process:
creating and checking the worlds, one trial in each, and writing the page. Prints the CPU time of
an additional world, the CPU time that is needed once per campaign, and the ratio of both. The ratio
falls if work is repeated for every world.

    python3 benchmarks/mesh_base.py [--models 600] [--json]
"""

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import trimesh
from example import print_figures
from multiply import PLAIN_GROUND

FILES = 60
FEW, MANY = 2, 10
SPACING_M = 2.0
LANE_M = 2.5
"""Width (m) of the strip without models on each side of the robot's path."""

CAMPAIGN = """
name: meshes
seed: 1
worlds: {{base: base.world, count: {count}, obstacles: obstacles.yaml}}
robot:
  model: package://gz_testauto/models/wheelchair/model.sdf
  start: {{x_m: -6.0, y_m: 0.0, yaw_rad: 0.0}}
goal: {{x_m: 6.0, y_m: 0.0, tolerance_m: 0.5}}
planners: [straight]
simulator: embedded
"""

OBSTACLES = """
obstacles: [{type: box, count: 4, size_x_m: [0.3, 0.5], size_y_m: [0.3, 0.5], size_z_m: 1.0}]
region: {rectangle: {x_m: [-4, 4], y_m: [-2, 2]}}
min_gap_m: 0.3
"""


def write_base(place, models):
    """Write a base world with stones on both sides of a lane."""
    names = []
    for number in range(FILES):
        stone = trimesh.creation.icosphere(subdivisions=3, radius=0.3)
        stone.vertices *= np.array([1.0 + 0.01 * number, 1.0, 1.5])
        stone.vertices[:, 2] += 0.45
        names.append(f"stone_{number}.{'dae' if number % 2 else 'stl'}")
        stone.export(place / names[-1])
    side = int(np.ceil(np.sqrt(2 * models)))
    steps = SPACING_M * (np.arange(side) - side / 2)
    places = [(x, y) for x in steps for y in steps if abs(y) > LANE_M][:models]
    assert len(places) == models, "the field is large enough"
    text = []
    for number, (x, y) in enumerate(places):
        mesh = f"<mesh><uri>file://{names[number % FILES]}</uri></mesh>"
        text.append(
            f'<model name="stone_{number}"><static>1</static><pose>{x} {y} 0 0 0 {number}</pose>'
            f'<link name="link"><collision name="c"><geometry>{mesh}</geometry></collision></link>'
            "</model>"
        )
    (place / "base.world").write_text(PLAIN_GROUND.replace("</world>", "".join(text) + "</world>"))
    (place / "obstacles.yaml").write_text(OBSTACLES)


def processor_s(place, count):
    """Return the CPU time of a campaign in ``count`` worlds, in a separate process."""
    campaign = place / f"{count}.yaml"
    campaign.write_text(CAMPAIGN.format(count=count))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [
            *(sys.executable, "-m", "gz_testauto.cli.main", "run", str(campaign)),
            *("--workers", "1", "--out", str(place / f"out_{count}")),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
        timeout=1800,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=600, help="of the base (default 600)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mesh_base_") as name:
        place = Path(name)
        write_base(place, arguments.models)
        few_s, many_s = processor_s(place, FEW), processor_s(place, MANY)
    each_s = (many_s - few_s) / (MANY - FEW)
    once_s = few_s - FEW * each_s
    figures = {
        "models": arguments.models,
        "a_world_s": round(each_s, 2),
        "once_s": round(once_s, 2),
        "once_over_a_world": round(once_s / each_s, 1),
    }
    print_figures(figures, arguments.json)


if __name__ == "__main__":
    main()
