"""Pack a campaign, unpack it in another folder, and replay all of its trials.

    ./bootstrap exec python3 benchmarks/pack.py                       # 1,000 trials, embedded
    ./bootstrap exec python3 benchmarks/pack.py --simulator kinematic --worlds 10 --repetitions 50

The campaign `smoke` runs with more worlds or repetitions and two planners. Its directory is packed
and then removed, so that only the pack remains. The script prints whether the output of
`report --json` and `report --csv` has the same bytes, and how many of the replayed trials have the
same outcome and the same trajectory, bit by bit. Each trial is replayed by the function of
`gz_testauto replay`, one executor for all trials of a process. Exit status 1 if anything differs.
"""

import argparse
import collections
import contextlib
import io
import shutil
import sys
import tempfile
import time
from pathlib import Path

import yaml

import gz_testauto
from gz_testauto.analysis.repeatability import compare_recordings
from gz_testauto.base.resources import share_directory
from gz_testauto.campaign.resume import open_for_replay
from gz_testauto.campaign.simulator import chosen_executor
from gz_testauto.cli.main import main as command
from gz_testauto.cli.trust import require_trust
from gz_testauto.extras.pack.archive import pack, unpack
from gz_testauto.processes import map_in_processes
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore


def campaign_of(worlds, repetitions):
    """Return the keys of the campaign."""
    share = share_directory()
    campaign = yaml.safe_load((share / "config" / "smoke_campaign.yaml").read_text())
    campaign["worlds"].update(base=str(share / "worlds" / "room.world"), count=worlds)
    return {**campaign, "repetitions": repetitions}


def printed(*arguments):
    """Return the standard output of a command."""
    with contextlib.redirect_stdout(io.StringIO()) as output:
        assert command(list(map(str, arguments))) == 0
    return output.getvalue()


class Replays:
    """A picklable callable that replays a part of the trials of a results directory: all, or only
    the first failures."""

    def __init__(self, directory, failures=None):
        self._directory, self._failures = directory, failures

    def __call__(self, part):
        """Return the number of trials by result; ``part`` is the first index and the stride."""
        first, stride = part
        directory = CampaignDirectory(self._directory)
        counts = collections.Counter()
        with ResultStore.read(directory) as store:
            campaign = open_for_replay(directory, store, require_trust)
            records = {record.trial: record for record in store.results().trials}
            trials = campaign.trials
            if self._failures is not None:
                failed = [t for t in trials if not records[t.index].completed]
                trials = [t for t in failed if records[t.index].outcome.valid][: self._failures]
            executor = chosen_executor(campaign.spec, directory.path)(campaign)
            executor.open()
            try:
                for trial in trials[first::stride]:
                    record = records[trial.index]
                    result = executor.execute(trial, lambda: False)
                    same = compare_recordings(store.trajectory(record), result.recording)
                    is_equal = same.identical and result.outcome is record.outcome
                    counts["identical" if is_equal else f"{trial.world} {trial.planner}"] += 1
            finally:
                executor.close()
        return counts


def timed(name, function, *arguments):
    """Call a function, print its wall time, and return its value."""
    start = time.monotonic()
    value = function(*arguments)
    print(f"{name}: {time.monotonic() - start:.1f} s", flush=True)
    return value


def main():
    """Print the comparison; return 1 if the copy has different results."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--worlds", type=int, default=500)
    parser.add_argument("--repetitions", type=int, default=1)
    parser.add_argument("--simulator", default="embedded")
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        out, file = Path(place) / "first" / "results", Path(place) / "results.zip"
        copy = Path(place) / "second" / "copy"
        timed(
            "campaign",
            lambda: gz_testauto.run(
                campaign_of(arguments.worlds, arguments.repetitions),
                out,
                simulator=arguments.simulator,
                workers=arguments.workers,
                progress=False,
            ),
        )
        texts = [printed("report", out, option, *more) for option, *more in REPORTS]
        size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
        files = timed("pack", pack, out, file)
        shutil.rmtree(out.parent)
        print(
            f"directory {size / 1e6:.1f} MB, pack {file.stat().st_size / 1e6:.1f} MB, {files} files"
        )
        timed("unpack", unpack, file, copy)
        equal = [
            texts[index] == printed("report", path, option, *more)
            for path in (copy, file)
            for index, (option, *more) in enumerate(REPORTS)
        ]
        print(f"reports with the same bytes: {sum(equal)} of {len(equal)}")
        parts = [(first, arguments.workers) for first in range(arguments.workers)]
        found = timed(
            "replays",
            lambda: sum(
                map_in_processes(Replays(copy), parts, arguments.workers, "replaying"),
                collections.Counter(),
            ),
        )
    planned = 2 * arguments.worlds * arguments.repetitions
    print(f"identical replays: {found['identical']} of {planned}")
    for name in sorted(set(found) - {"identical"})[:10]:
        print(f"different: {name}")
    return int(found["identical"] != planned or not all(equal))


REPORTS = (("--json",), ("--csv", "-"))


if __name__ == "__main__":
    sys.exit(main())
