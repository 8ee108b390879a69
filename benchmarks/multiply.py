"""Measure the speed of world generation relative to reading and writing the same files.

Generates worlds as in the paper (30 m x 30 m, 8 boxes, 8 cylinders, solvable), worlds of 50
obstacles, and one of 1,000 at the same density, with and without their difficulty. In the same run,
reads each generated file with lxml and writes it again. Prints milliseconds of CPU time per world,
and the ratios with their limits, which are for the worlds of the paper.

    python3 benchmarks/multiply.py [--count 500] [--fifty 2000] [--thousand 1]
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Dict, NamedTuple

from example import ROOT
from lxml import etree

from gz_testauto.spec.loader import load, parse
from gz_testauto.spec.obstacles import ObstacleSpec
from gz_testauto.worlds.multiply import multiply

CHECKED_LIMIT, PLAIN_LIMIT = 10.0, 3.0
"""Largest allowed ratios to parsing and writing, with and without the difficulty."""
M2_PER_OBSTACLE = 16.0

PLAIN_GROUND = """<sdf version="1.6">
  <world name="ground">
    <model name="ground"><static>true</static><link name="link"><collision name="collision">
      <geometry><plane><normal>0 0 1</normal><size>500 500</size></plane></geometry>
    </collision></link></model>
  </world>
</sdf>
"""

MANY = """
obstacles:
  - {{type: box, count: {half}, size_x_m: [0.3, 1.2], size_y_m: [0.3, 1.2]}}
  - {{type: cylinder, count: {half}, radius_m: [0.2, 0.5]}}
region: {{rectangle: {{x_m: [-{edge}, {edge}], y_m: [-{edge}, {edge}]}}}}
min_gap_m: 0.3
solvable: {{margin_m: 0.1}}
mission:
  start: [-{outside}, -{outside}]
  goal: [{outside}, {outside}]
  footprint_m: [[0.5, 0.3], [-0.5, 0.3], [-0.5, -0.3], [0.5, -0.3]]
"""


class Kind(NamedTuple):
    """A set of generated worlds: obstacles per world, and number of worlds."""

    obstacles: int
    count: int
    base: Path
    spec: ObstacleSpec


def create_kind(obstacles: int, count: int, scratch: Path) -> Kind:
    """Return a set of worlds on open ground with a constant density of obstacles."""
    base = scratch / "ground.world"
    base.write_text(PLAIN_GROUND)
    edge = round((obstacles * M2_PER_OBSTACLE) ** 0.5 / 2, 1)
    text = MANY.format(half=obstacles // 2, edge=edge, outside=edge + 3)
    return Kind(obstacles, count, base, parse(text, ObstacleSpec, scratch / "many.yaml"))


def parse_and_write(worlds, directory):
    directory.mkdir()
    for world in worlds:
        root = etree.fromstring(world.path.read_bytes())
        (directory / world.path.name).write_bytes(etree.tostring(root))


def processor_s(function, *arguments):
    """Return the CPU time (s) of a call, and its result."""
    began_s = time.process_time()
    result = function(*arguments)
    return time.process_time() - began_s, result


def measure(kind: Kind, scratch: Path) -> Dict[str, float]:
    plain = kind.spec.model_copy(update={"solvable": None, "mission": None, "keep_out": []})
    multiply(kind.base, kind.spec, 1, 1, scratch / "warm_up")  # compiles
    count = kind.count
    checked_s, worlds = processor_s(multiply, kind.base, kind.spec, count, 7, scratch / "checked")
    plain_s, _ = processor_s(multiply, kind.base, plain, count, 7, scratch / "plain")
    bare_s, _ = processor_s(parse_and_write, worlds, scratch / "bare")
    return {
        "obstacles": kind.obstacles,
        "worlds": count,
        "judged_ms": round(1000 * checked_s / count, 2),
        "plain_ms": round(1000 * plain_s / count, 2),
        "bare_ms": round(1000 * bare_s / count, 3),
        "judged_ratio": round(checked_s / bare_s, 1),
        "plain_ratio": round(plain_s / bare_s, 1),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=500, help="worlds of 16 (default 500)")
    parser.add_argument("--fifty", type=int, default=2000, help="worlds of 50 (default 2000)")
    parser.add_argument("--thousand", type=int, default=1, help="worlds of 1,000 (default 1)")
    arguments = parser.parse_args()
    figures = []
    with tempfile.TemporaryDirectory() as place:
        example = load(ROOT / "config" / "obstacles.yaml", ObstacleSpec)
        paper = Kind(16, arguments.count, ROOT / "worlds" / "arena.world", example)
        kinds = [
            paper,
            create_kind(50, arguments.fifty, Path(place)),
            create_kind(1000, arguments.thousand, Path(place)),
        ]
        for kind in kinds:
            if kind.count:
                scratch = Path(place) / str(kind.obstacles)
                scratch.mkdir()
                figures.append(measure(kind, scratch))
    print("".join(f"{name:>14}" for name in figures[0]))
    for row in figures:
        print("".join(f"{value:>14}" for value in row.values()))
    print(f"limits of the first: with difficulty {CHECKED_LIMIT:g}, plain {PLAIN_LIMIT:g}")


if __name__ == "__main__":
    main()
