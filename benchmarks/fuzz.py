"""Read ten thousand damaged files as the commands do, and count the results.

Valid worlds, meshes, height maps, robots, models, obstacle specifications, campaigns, launch files,
maps, results directories, tables, recordings, bags, roads, environments, policies and packages are
damaged by a few edits each, which hypothesis draws from a seed. The groups ``services`` and
``services-gazebo`` send requests with extreme values to a running simulator node, which must still
step after each of them (``test/ros/service_requests.py``, 100 requests per case). Every case
runs in a separate process, forked from one that has imported everything, with 20 s of CPU time and
3 GB of address space in addition to those of the imports.

    python3 benchmarks/fuzz.py [--cases 10000] [--seed 1] [--groups map,report] [--keep DIR]

=========  ======================================================================================
ok         exit status 0
refused    exit status 2 and one line with the reason
traceback  a bug: an unexpected exception
hang       more than 20 s of CPU time, or 300 s without using CPU time
memory     more than 3 GB, or an exception for lack of memory
crash      ended by a signal
=========  ======================================================================================

Cases that are neither ok nor refused are kept in DIR, in a folder each, with input and output. The
exit status is then 1.
"""

import argparse
import contextlib
import io
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from fuzz_extras import EXTRA_GROUPS, write_extra_seeds
from fuzz_groups import GROUPS, warm_up, write_seeds
from hypothesis import HealthCheck, Phase, given, seed, settings
from rich.console import Console
from rich.table import Table

CPU_S = 20
WALL_S = 300
ROUND = 400
"""Number of cases of one round, which has cases of all groups."""
MEMORY_BYTES = 3 * 2**30
VERDICTS = ("ok", "refused", "traceback", "hang", "memory", "crash")
BAD = VERDICTS[2:]
ALL_GROUPS = (*GROUPS, *EXTRA_GROUPS)
TRACEBACK, OUT_OF_MEMORY = 70, 71


def run_case(call, directory):
    """Return the result, CPU time (s), peak memory (bytes) and output of one case."""
    began_s = time.monotonic()
    with open(directory / "output.txt", "wb") as output:
        child = os.fork()
        if child == 0:
            run_in_child(call, output.fileno())
        status, usage = wait_for(child, began_s)
    output_text = (directory / "output.txt").read_text(encoding="utf-8", errors="replace")
    cpu_s = usage.ru_utime + usage.ru_stime
    return verdict_of(status, output_text, cpu_s), cpu_s, usage.ru_maxrss * 1024, output_text


def run_in_child(call, output):
    """Run a case in this forked process, and exit."""
    status = TRACEBACK
    try:
        os.dup2(output, 1)
        os.dup2(output, 2)
        sys.stdout = io.TextIOWrapper(os.fdopen(1, "wb", 0), "utf-8", "surrogateescape")
        sys.stderr = io.TextIOWrapper(os.fdopen(2, "wb", 0), "utf-8", "surrogateescape")
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY_BYTES,) * 2)
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S + 5))
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
        status = call()
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else 1
    except MemoryError:
        traceback.print_exc()
        status = OUT_OF_MEMORY
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def wait_for(child, began_s):
    while True:
        pid, status, usage = os.wait4(child, os.WNOHANG)
        if pid:
            return status, usage
        if time.monotonic() - began_s > WALL_S:
            os.kill(child, signal.SIGKILL)
            return os.wait4(child, 0)[1:]
        time.sleep(0.002)


def verdict_of(status, output_text, cpu_s):
    if os.WIFSIGNALED(status):
        hung = os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL)
        return "hang" if hung else "crash"
    code = os.WEXITSTATUS(status)
    if code == OUT_OF_MEMORY or "MemoryError" in output_text:
        return "memory"
    if "Traceback (most recent call last)" in output_text:
        return "traceback"
    if code == 2 and output_text.strip():
        return "refused"
    return "ok" if code in (0, 1) else "traceback"


class Tally:
    """Counts of the results of cases, with a directory for the files of cases that failed."""

    def __init__(self, scratch, keep):
        self.scratch, self.keep = scratch, keep
        self.counts, self.cpu_s, self.memory = Counter(), Counter(), Counter()
        self.slowest, self.cases = Counter(), Counter()
        self.faults = Counter()

    def add(self, group, make, edits):
        number = self.cases[group]
        self.cases[group] += 1
        directory = self.scratch / f"{group}-{number:05d}"
        directory.mkdir()
        try:
            verdict, cpu_s, memory, output_text = run_case(make(directory, edits), directory)
            self.counts[f"{group}: {verdict}"] += 1
            self.cpu_s[group] += cpu_s
            self.slowest[group] = max(self.slowest[group], cpu_s)
            self.memory[group] = max(self.memory[group], memory)
            if verdict in BAD:
                last = output_text.strip().splitlines()[-1:] or [""]
                self.faults[f"{group}: {verdict}: {last[0][:150]}"] += 1
                (directory / "edits.txt").write_text(repr(edits), errors="backslashreplace")
                shutil.copytree(directory, self.keep / directory.name, dirs_exist_ok=True)
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def of(self, group):
        return [self.counts[f"{group}: {verdict}"] for verdict in VERDICTS]

    def total(self):
        return [sum(column) for column in zip(*map(self.of, self.cases))]


def run_group(group, cases, seed_, tally):
    @seed(seed_)
    @settings(
        max_examples=cases,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(group.edits)
    def add_case(edits):
        tally.add(group.name, group.make, edits)

    add_case()


def show(tally, seconds):
    table = Table(box=None, pad_edge=False)
    table.add_column("group")
    for heading in ("cases", *VERDICTS, "slowest s CPU", "most MB"):
        table.add_column(heading, justify="right")
    rows = [
        (group, cases, tally.of(group), tally.slowest[group], tally.memory[group])
        for group, cases in tally.cases.items()
    ]
    slowest_s, most = max(tally.slowest.values()), max(tally.memory.values())
    rows.append(("all", sum(tally.cases.values()), tally.total(), slowest_s, most))
    for group, cases, counts, cpu_s, memory in rows:
        table.add_row(group, *map(str, (cases, *counts)), f"{cpu_s:.1f}", f"{memory / 1e6:.0f}")
    console = Console(width=110, highlight=False, markup=False)
    console.print(table)
    console.print(f"{seconds:.0f} s, of which {sum(tally.cpu_s.values()):.0f} s CPU in the cases")
    for fault, times in tally.faults.most_common():
        console.print(f"{times} x {fault}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=10_000, help="of all groups together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--groups", default=",".join(group.name for group in ALL_GROUPS))
    parser.add_argument("--keep", type=Path, default=Path("fuzz-failures"))
    arguments = parser.parse_args()
    groups = [group for group in ALL_GROUPS if group.name in arguments.groups.split(",")]
    shares = sum(group.share for group in groups)
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gz_testauto_fuzz_") as scratch:
        seeds = Path(scratch) / "seeds"
        write_seeds(seeds)
        write_extra_seeds(seeds)
        warm_up(seeds, groups)
        tally = Tally(Path(scratch), arguments.keep)
        rounds = -(-arguments.cases // ROUND)
        for turn in range(rounds):
            for group in groups:
                share = arguments.cases * group.share / shares
                cases = round(share * (turn + 1) / rounds) - round(share * turn / rounds)
                if cases:
                    run_group(group, cases, f"{arguments.seed} {turn}", tally)
            counts = dict(zip(VERDICTS, tally.total()))
            print(f"{sum(tally.cases.values())} cases: {counts}", file=sys.stderr, flush=True)
    show(tally, time.monotonic() - began_s)
    return 1 if any(tally.total()[-len(BAD) :]) else 0


if __name__ == "__main__":
    sys.exit(main())
