"""Measure the time of drawing a world, in one process and in parallel processes.

Repeats the worlds and recordings of a finished campaign until the specified number of worlds is
reached, and draws them all: once in this process, once in one process per processor. Prints seconds
per world of both, and whether the pictures have the same pixels. The limit is 0.1 s per world.

    python3 benchmarks/plots.py results/first [--worlds 64] [--workers N]
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image
from report_page import repeat

from gz_testauto.report.plots import plot_worlds
from gz_testauto.report.sources import Source
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import load_campaign

LIMIT_S = 0.1


def main() -> int:
    """Draw the worlds in one process and in parallel processes, and compare the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path, help="results of a finished campaign")
    parser.add_argument("--worlds", type=int, default=64, help="default: %(default)s")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="plots_") as place:
        many = Path(place) / "many"
        repeat(CampaignDirectory(arguments.directory), many, arguments.worlds)
        results = load_campaign(many).results
        sources = [Source.of(many, results.planners)]
        drawn = {}
        for workers in (1, arguments.workers):
            began = time.perf_counter()
            drawn[workers] = plot_worlds(
                sources, results, Path(place) / str(workers), workers=workers
            )
            each_s = (time.perf_counter() - began) / arguments.worlds
            print(f"{workers} processes: {each_s:.3f} s a world (limit {LIMIT_S:g})")
        pairs = zip(*drawn.values()) if len(drawn) == 2 else []
        differing = [one.name for one, other in pairs if not same_pixels(one, other)]
    print(f"{len(differing)} pictures differ", *differing[:3])
    return 1 if differing else 0


def same_pixels(one: Path, other: Path) -> bool:
    """Return whether two pictures have the same pixels."""
    return bool(np.array_equal(*(np.asarray(Image.open(path)) for path in (one, other))))


if __name__ == "__main__":
    sys.exit(main())
