"""Measure the CPU time of a campaign's report by its number of trials.

Repeats the worlds and recordings of a finished campaign until the specified number of trials is
reached, and prints the table in a separate process for each number. Prints CPU seconds, and their
ratios to those of the smallest number.

    python3 benchmarks/report_growth.py results/first [--trials 500,1000,2000,5000] [--json]
"""

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from example import numbers, print_figures
from report_page import repeat

from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore


def processor_s(directory):
    """Return the CPU time (s) of one report."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "gz_testauto.cli.main", "report", str(directory)]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True, timeout=1800)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path, help="results of a finished campaign")
    parser.add_argument("--trials", type=numbers, default=[500, 1000, 2000, 5000])
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args()
    finished = CampaignDirectory(arguments.directory)
    with ResultStore.read(finished) as store:
        planners = len(store.results().planners)
    seen = {}
    with tempfile.TemporaryDirectory(prefix="report_growth_") as place:
        for trials in arguments.trials:
            many = Path(place) / str(trials)
            repeat(finished, many, -(-trials // planners))
            processor_s(many)  # what only the first reading costs, such as compiling
            seen[trials] = processor_s(many)
    least = seen[min(seen)]
    figures = {f"report_s_{trials}": round(taken_s, 2) for trials, taken_s in seen.items()}
    figures.update({f"ratio_{n}": round(taken_s / least, 2) for n, taken_s in seen.items()})
    print_figures(figures, arguments.json)


if __name__ == "__main__":
    main()
