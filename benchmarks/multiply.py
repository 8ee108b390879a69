"""How fast worlds are multiplied, against the least that could be done.

Makes worlds of the paper's kind (30 m x 30 m, 8 boxes, 8 cylinders, solvable) and, in the same
run, reads each of the files made with lxml and writes it again: that is what it costs to have
these bytes go through an XML library at all. Prints both and their ratio.

    python3 benchmarks/multiply.py [--count 500] [--json]
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

from lxml import etree

from gz_testauto.spec.loader import load
from gz_testauto.spec.obstacles import ObstacleSpec
from gz_testauto.worlds.multiply import multiply

ROOT = Path(__file__).resolve().parents[1]


def bare_parse_and_write(worlds, directory):
    for world in worlds:
        root = etree.fromstring(world.path.read_bytes())
        (directory / world.path.name).write_bytes(etree.tostring(root))


def timed(function, *arguments):
    """Wall and processor seconds, and what came back."""
    wall, processor = time.perf_counter(), time.process_time()
    result = function(*arguments)
    return time.perf_counter() - wall, time.process_time() - processor, result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=500, help="worlds to make (default 500)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args()
    spec = load(ROOT / "config" / "obstacles.yaml", ObstacleSpec)
    base = ROOT / "worlds" / "arena.world"
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch) / "made"
        plain = spec.model_copy(update={"solvable": None, "drive": None, "keep_out": []})
        multiply(base, spec, 3, 1, Path(scratch) / "warm_up")
        wall_s, processor_s, worlds = timed(multiply, base, spec, arguments.count, 7, made)
        unjudged_s = timed(multiply, base, plain, arguments.count, 7, Path(scratch) / "plain")[1]
        copies = Path(scratch) / "copies"
        copies.mkdir()
        bare_s = timed(bare_parse_and_write, worlds, copies)[1]
        size = sum(world.path.stat().st_size for world in worlds)
    figures = {
        "worlds": arguments.count,
        "megabytes": round(size / 1e6, 2),
        "wall_s": round(wall_s, 2),
        "processor_s": round(processor_s, 2),
        "ms_per_world": round(1000 * processor_s / arguments.count, 2),
        "without_judging_s": round(unjudged_s, 2),
        "bare_lxml_s": round(bare_s, 2),
        "ratio": round(processor_s / bare_s, 1),
        "ratio_without_judging": round(unjudged_s / bare_s, 1),
    }
    if arguments.json:
        print(json.dumps(figures, indent=1))
        return
    for name, value in figures.items():
        print(f"{name:<24}{value:>10}")


if __name__ == "__main__":
    main()
