"""Measure the time of a campaign's report by its number of trials, and of the plots of worlds.

Repeats the worlds and recordings of a finished campaign until the specified number of trials is
reached, and prints the table in a separate process for each number. Prints CPU seconds, and their
ratios to those of the smallest number. Then draws worlds with one process, and with one process
per processor. Prints wall seconds per world, which must be at most 0.1. The exit status is 1 if
the pictures have different pixels.

    python3 benchmarks/report_growth.py results/first [--trials 500,1000,2000,5000] [--plots 64]
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from example import numbers, print_figures
from PIL import Image
from report_page import repeat

from gz_testauto.report.plots import plot_worlds
from gz_testauto.report.sources import Source
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore, load_campaign


def processor_s(directory):
    """Return the CPU time (s) of one report."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "gz_testauto.cli.main", "report", str(directory)]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True, timeout=1800)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure_reports(finished, sizes, place):
    with ResultStore.read(finished) as store:
        planners = len(store.results().planners)
    taken_s = {}
    for trials in sizes:
        repeated = place / str(trials)
        repeat(finished, repeated, -(-trials // planners))
        processor_s(repeated)  # the first report also compiles
        taken_s[trials] = processor_s(repeated)
    least_s = taken_s[min(taken_s)]
    return {
        **{f"report_s_{trials}": round(value, 2) for trials, value in taken_s.items()},
        **{f"ratio_{trials}": round(value / least_s, 2) for trials, value in taken_s.items()},
    }


def measure_plots(finished, worlds, place):
    repeat(finished, place / "worlds", worlds)
    results = load_campaign(place / "worlds").results
    sources = [Source.of(place / "worlds", results.planners)]
    figures, pictures = {}, []
    for workers in (1, len(os.sched_getaffinity(0))):
        began_s = time.perf_counter()
        out = place / f"plots_{workers}"
        pictures.append(plot_worlds(sources, results, out, workers=workers))
        each_s = (time.perf_counter() - began_s) / worlds
        figures[f"plot_s_{workers}_processes"] = round(each_s, 3)
    figures["different_plots"] = sum(not same_pixels(*paths) for paths in zip(*pictures))
    return figures


def same_pixels(first, second):
    return np.array_equal(*(np.asarray(Image.open(path)) for path in (first, second)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path, help="results of a finished campaign")
    parser.add_argument("--trials", type=numbers, default=[500, 1000, 2000, 5000])
    parser.add_argument("--plots", type=int, default=64, help="worlds to draw (default 64)")
    arguments = parser.parse_args()
    finished = CampaignDirectory(arguments.directory)
    with tempfile.TemporaryDirectory(prefix="report_growth_") as place:
        figures = measure_reports(finished, arguments.trials, Path(place))
        figures.update(measure_plots(finished, arguments.plots, Path(place)))
    print_figures(figures)
    return int(figures["different_plots"] > 0)


if __name__ == "__main__":
    sys.exit(main())
