"""Replay 1,000 stored failures: each must fail again, with the same trajectory, bit by bit.

    python3 benchmarks/failures.py --out DIR                # 1,000 collisions, embedded
    python3 benchmarks/failures.py --out DIR --count 50 --simulator kinematic

The planner `straight` drives in rooms of one box and one cylinder, one world per trial, until COUNT
trials have failed. Compares the outcome and the recorded trajectory of each failure with those of
its replay, in a new simulator per process. The same command continues an interrupted campaign. Exit
status 1 if a failure does not repeat.
"""

import argparse
import collections
import sys
from pathlib import Path

from pack import Replays, campaign_of, timed

import gz_testauto
from gz_testauto.processes import map_in_processes
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore


def failures(out):
    """Return the number of stored failures by outcome."""
    with ResultStore.read(CampaignDirectory(out)) as store:
        trials = store.results().trials
    failed = [one for one in trials if one.outcome.valid and not one.completed]
    return collections.Counter(one.outcome.value for one in failed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--simulator", default="embedded")
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    campaign = campaign_of(3 * arguments.count, 1)
    campaign["planners"] = ["straight"]
    campaign["worlds"]["obstacles"]["keep_out"] = [{"center": "start", "radius_m": 1.2}]
    timed(
        "campaign",
        lambda: gz_testauto.run(
            campaign,
            arguments.out,
            simulator=arguments.simulator,
            workers=arguments.workers,
            progress=False,
        ),
    )
    print(f"failures: {dict(failures(arguments.out))}", flush=True)
    parts = [(first, arguments.workers) for first in range(arguments.workers)]
    replays = Replays(arguments.out, failures=arguments.count)
    found = timed(
        "replays",
        lambda: sum(
            map_in_processes(replays, parts, arguments.workers, "replaying"),
            collections.Counter(),
        ),
    )
    print(f"failures with an identical replay: {found['identical']} of {found.total()}")
    for name in sorted(set(found) - {"identical"})[:10]:
        print(f"different: {name}")
    return int(found["identical"] != arguments.count)


if __name__ == "__main__":
    sys.exit(main())
