"""Kill processes of a campaign at random, continue it, and check the results.

Runs the smoke campaign without kills, and again with kills: at random moments, drawn from a seed,
KILL, TERM or INT is sent to the runner, a worker, a gzserver or the process that watches it. After
the command has stopped, it is repeated. If the campaign is finished before all kills, it runs in
another directory. Then each result is compared with that without kills, byte by byte, except wall
times. Prints lost, doubled, different and invalid trials, and remaining processes and files.

    python3 benchmarks/kill_storm.py [--simulator embedded] [--worlds 20] [--kills 60]
                                     [--every 3,8] [--seed 0] [--out DIR]
"""

import argparse
import collections
import contextlib
import math
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

import numpy as np
from example import numbers, print_figures, write_smoke_campaign

from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore

SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
"""The signals, as often as they are listed."""
MARK = "GZ_TESTAUTO_BENCHMARK"
"""Environment variable that marks the processes of a campaign."""
ROLES = (
    ("worker", "multiprocessing.spawn"),
    ("tracker", "multiprocessing.resource_tracker"),
    ("watcher", "exec 3<&0"),
    ("gzserver", "gzserver"),
)
WALL_TIMES = ("cycle_time_s", "cycle_cpu_s", "wall_time_s")
WALL_METRICS = ("cycle_", "real_time_factor")
WAIT_FOR_ROLE_S = 3.0
"""Wall time (s) of waiting for a process of the drawn role. A resource tracker that was killed
starts again only with the runner."""
EXIT_TIMEOUT_S = 30.0
"""Wall time (s) within which all child processes must exit after the runner."""


class Storm:
    """A campaign that is killed and continued, with its results in subdirectories of ``place``."""

    def __init__(self, command, place, generator, arguments):
        self._command = command
        self._generator = generator
        self._arguments = arguments
        self._place = place
        self._temporary = place / "tmp"
        self._home = place / "home"
        for folder in (self._temporary, self._home):
            folder.mkdir(parents=True)
        self.killed = collections.Counter()
        self.statuses = collections.Counter()
        self.processes_left = []

    def run_without_kills(self, out):
        """Run the campaign once without kills; its remaining files are ignored later."""
        if self._run_and_kill(out, uuid.uuid4().hex, kill=False) != 0:
            raise SystemExit(f"the campaign fails by itself; see {self._place / 'log'}")
        self._undisturbed_files = set(self._files())

    def run_with_kills(self):
        """Kill and continue the campaign until all kills are done. Return the directories, each
        with a finished campaign."""
        directories = []
        while self._kills_left > 0:
            out = self._place / f"killed-{len(directories)}"
            while self._run_once(out) not in (0, 1):
                if sum(self.statuses.values()) > 5 * self._arguments.kills + 5:
                    raise SystemExit(f"not finished after {sum(self.statuses.values())} starts")
            directories.append(out)
        return directories

    @property
    def files_left(self):
        """Return remaining temporary and Gazebo directories, except those that also remain after
        a run without kills."""
        return sorted(set(self._files()) - self._undisturbed_files)

    def _files(self):
        return [
            *map(str, self._temporary.iterdir()),
            *map(str, self._home.glob(".gazebo/server-*")),
        ]

    @property
    def _kills_left(self):
        return self._arguments.kills - sum(self.killed.values())

    def _run_once(self, out):
        mark = uuid.uuid4().hex
        status = self._run_and_kill(out, mark)
        self.statuses[status] += 1
        self.processes_left += wait_until_gone(mark, EXIT_TIMEOUT_S).items()
        print(f"{sum(self.killed.values())} kills, status {status}", file=sys.stderr, flush=True)
        return status

    def _run_and_kill(self, out, mark, kill=True):
        cache = os.environ.get("XDG_CACHE_HOME", str(Path("~/.cache").expanduser()))
        environment = {**os.environ, MARK: mark, "TMPDIR": str(self._temporary)}
        environment.update(HOME=str(self._home), XDG_CACHE_HOME=cache)
        command = [*self._command, str(out)]
        with open(self._place / "log", "ab") as log:
            runner = subprocess.Popen(
                command, env=environment, stdout=log, stderr=log, start_new_session=True
            )
            while kill and self._kills_left > 0:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    return runner.wait(self._generator.uniform(*self._arguments.every))
                self._kill_one(runner, mark)
            return runner.wait()

    def _kill_one(self, runner, mark):
        """Kill a process of a drawn role; if none starts in time, draw another role."""
        roles = ["runner", *(role for role, _ in ROLES)]
        if self._arguments.simulator != "gazebo":
            roles = [role for role in roles if role not in ("watcher", "gzserver")]
        drawn_s = -math.inf
        while runner.poll() is None:
            if time.monotonic() - drawn_s > WAIT_FOR_ROLE_S:
                role = self._generator.choice(roles)
                number = signal.Signals(self._generator.choice(SIGNALS))
                drawn_s = time.monotonic()
            pids = processes_of(role, runner, mark)
            if pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(self._generator.choice(pids)), number)
                    self.killed[f"{role} {number.name[3:]}"] += 1
                return
            time.sleep(0.1)


def processes_of(role, runner, mark):
    """Return the process numbers of a role."""
    if role == "runner":
        return [runner.pid]
    commands = marked(mark)
    return [pid for pid in commands if pid != runner.pid and role_of(commands[pid]) == role]


def role_of(command):
    """Return the role of a process by its command line; empty for none of :data:`ROLES`."""
    return next((role for role, text in ROLES if text in command), "")


def marked(mark):
    """Return the command lines of all running processes with ``mark`` in their environment, by
    process number."""
    commands = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
                commands[int(folder.name)] = command.decode(errors="replace").strip()
    return {pid: command for pid, command in commands.items() if command}


def wait_until_gone(mark, timeout_s, ignored=()):
    """Return the processes with ``mark`` that still run after the timeout. Do not wait for those
    whose command line contains a text of ``ignored``."""
    deadline_s = time.monotonic() + timeout_s
    while time.monotonic() < deadline_s:
        commands = marked(mark).values()
        if all(any(text in command for text in ignored) for command in commands):
            break
        time.sleep(0.2)
    return marked(mark)


def read_results(out):
    """Return the results in a directory, its rows by trial without wall times, and the errors of
    the database."""
    directory = CampaignDirectory(out)
    with ResultStore.read(directory) as store:
        results = store.results()
    with contextlib.closing(sqlite3.connect(str(directory.results))) as connection:
        damage = [row[0] for row in connection.execute("PRAGMA integrity_check")]
    rows = collections.defaultdict(list)
    for record in results.trials:
        metrics = {
            name: np.float64(value).tobytes()
            for name, value in record.metrics.items()
            if not name.startswith(WALL_METRICS)
        }
        identity = (record.world, record.planner, record.repetition, record.seed)
        rows[record.trial].append((identity, record.outcome, record.detail, metrics))
    return results, rows, damage


def read_arrays(path):
    """Return type, shape and bytes of the arrays of a recording, except wall times."""
    with np.load(path) as arrays:
        return {
            name: (arrays[name].dtype, arrays[name].shape, arrays[name].tobytes())
            for name in arrays.files
            if name not in WALL_TIMES
        }


def causes(attempts):
    """Return the number of attempts by cause."""
    return dict(collections.Counter(attempt.cause[:80] for attempt in attempts))


def compare_results(undisturbed, killed):
    """Compare the results with those without kills."""
    expected, expected_rows, _ = read_results(undisturbed)
    results, rows, damage = read_results(killed)
    different = {trial for trial, row in expected_rows.items() if rows[trial][:1] not in ([], row)}
    for record in results.trials:
        if record.trajectory:
            paths = [out / "trajectories" / record.trajectory for out in (undisturbed, killed)]
            if read_arrays(paths[0]) != read_arrays(paths[1]):
                different.add(record.trial)
    recorded = {record.trajectory for record in results.trials} - {""}
    files = {path.name for path in (killed / "trajectories").iterdir()}
    entries = (killed / "campaign.log").read_text(encoding="utf-8").count("Simulation Started!")
    return {
        "trials": f"{len(results.trials)} of {expected.planned}",
        "lost": sum(not rows[trial] for trial in expected_rows),
        "double": sum(len(copies) > 1 for copies in rows.values()),
        "different": sorted(different),
        "invalid": [f"{record.trial}: {record.detail}" for record in results.invalid],
        "invalid_attempts": causes(results.invalid_attempts),
        "worker_deaths": causes(results.worker_deaths),
        "entries_of_the_log": entries,
        "trajectories_too_many": sorted(files - recorded),
        "trajectories_too_few": sorted(recorded - files),
        "other_files": sorted(
            str(path.relative_to(killed))
            for path in killed.rglob("*")
            if ".partial" in path.name or path.name.startswith(".worlds")
        ),
        "database": damage,
    }


def measure(arguments, place):
    campaign = write_smoke_campaign(place, arguments.worlds)
    command = ["gz_testauto", "run", str(campaign), "--simulator", arguments.simulator]
    command += ["--workers", "2", "--out"]
    storm = Storm(command, place, np.random.default_rng(arguments.seed), arguments)
    print("without kills", file=sys.stderr, flush=True)
    storm.run_without_kills(place / "undisturbed")
    began_s = time.monotonic()
    directories = storm.run_with_kills()
    wall_s = time.monotonic() - began_s
    figures = {
        "kills": sum(storm.killed.values()),
        "killed": dict(sorted(storm.killed.items())),
        "exit_statuses": dict(sorted(storm.statuses.items())),
        "wall_s": round(wall_s),
        "processes_left": storm.processes_left,
        "files_left": storm.files_left,
    }
    for number, out in enumerate(directories):
        comparison = compare_results(place / "undisturbed", out)
        figures.update({f"campaign_{number}_{name}": value for name, value in comparison.items()})
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulator", default="embedded", help="embedded (default) or gazebo")
    parser.add_argument("--worlds", type=int, default=20, help="worlds, two trials each (20)")
    parser.add_argument("--kills", type=int, default=60, help="kills (default 60)")
    parser.add_argument("--seed", type=int, default=0, help="of the choice of kills (default 0)")
    parser.add_argument(
        "--every", type=numbers, default=[3, 8], help="shortest,longest time between kills (3,8 s)"
    )
    parser.add_argument("--out", type=Path, help="keep all files in this new directory")
    arguments = parser.parse_args()
    with contextlib.ExitStack() as stack:
        place = arguments.out or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        place.mkdir(parents=True, exist_ok=True)
        print_figures(measure(arguments, place.absolute()))


if __name__ == "__main__":
    main()
