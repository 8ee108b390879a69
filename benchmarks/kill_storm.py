"""Kill processes of a campaign at random, continue it, and check the results.

Runs a campaign without kills, and the same campaign with kills: at random moments, drawn from a
seed, KILL, TERM or INT is sent to the runner, a worker, a gzserver or the process that watches it.
Whenever the command has ended, it is repeated. If the campaign is finished before all kills, it
runs in another directory. Then each result is compared with that without kills, byte by byte: rows
of the database without wall times, and every array of every recording without cycle times and wall
time. Prints lost, doubled, different and invalid trials, and remaining processes and files.

    python3 benchmarks/kill_storm.py [--campaign FILE] [--simulator embedded] [--worlds 20]
                                     [--kills 60] [--json]
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
from example import ROOT, numbers, print_figures

from gz_testauto.campaign.simulator import with_simulator
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load

SIGNALS = {"KILL": signal.SIGKILL, "TERM": signal.SIGTERM, "INT": signal.SIGINT}
MARK = "GZ_TESTAUTO_KILL_STORM"
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
LEFT_S = 30.0
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
        done = []
        while self._kills_left > 0:
            out = self._place / f"killed-{len(done)}"
            while self._run_once(out) not in (0, 1):
                if sum(self.statuses.values()) > 5 * self._arguments.kills + 5:
                    raise SystemExit(f"no end after {sum(self.statuses.values())} starts")
            done.append(out)
        return done

    @property
    def files_left(self):
        """Return remaining temporary and Gazebo directories, except those that also remain after
        a run without kills."""
        return sorted(set(self._files()) - self._undisturbed_files)

    def _files(self):
        places = (self._temporary.iterdir(), (self._home / ".gazebo").glob("server-*"))
        return [str(path) for found in places for path in found]

    @property
    def _kills_left(self):
        return self._arguments.kills - sum(self.killed.values())

    def _run_once(self, out):
        mark = uuid.uuid4().hex
        status = self._run_and_kill(out, mark)
        self.statuses[status] += 1
        self.processes_left += wait_until_gone(mark)
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
                name = self._generator.choice(self._arguments.signals)
                drawn_s = time.monotonic()
            found = processes_of(role, runner, mark)
            if found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(self._generator.choice(found)), SIGNALS[name])
                    self.killed[f"{role} {name}"] += 1
                return
            time.sleep(0.1)


def processes_of(role, runner, mark):
    """Return the process numbers of a role."""
    if role == "runner":
        return [runner.pid]
    found = dict(marked(mark))
    return [pid for pid in found if pid != runner.pid and role_of(found[pid]) == role]


def role_of(command):
    """Return the role of a process by its command line; empty for none of :data:`ROLES`."""
    return next((role for role, word in ROLES if word in command), "")


def marked(mark):
    """Return process number and command line of all running processes with ``mark`` in their
    environment."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes():
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
                yield int(folder.name), command.decode(errors="replace")


def wait_until_gone(mark):
    """Return the processes with ``mark`` that still run after the timeout."""
    deadline_s = time.monotonic() + LEFT_S
    while list(marked(mark)) and time.monotonic() < deadline_s:
        time.sleep(0.2)
    return list(marked(mark))


def what_is_in(out):
    """Return the rows of a directory's database by trial, without wall times, and all
    trajectories."""
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


def same_arrays(one, other):
    """Return whether two recordings have the same bytes except wall times."""
    with np.load(one) as here, np.load(other) as there:
        return set(here.files) == set(there.files) and all(
            here[name].dtype == there[name].dtype
            and here[name].shape == there[name].shape
            and here[name].tobytes() == there[name].tobytes()
            for name in here.files
            if name not in WALL_TIMES
        )


def causes(attempts):
    """Return the number of attempts by cause."""
    return dict(collections.Counter(attempt.cause[:80] for attempt in attempts))


def compare_results(undisturbed, killed):
    """Compare the results with those without kills."""
    expected, undisturbed_rows, _ = what_is_in(undisturbed)
    results, rows, damage = what_is_in(killed)
    different = []
    for trial, (row,) in undisturbed_rows.items():
        if rows[trial] and rows[trial][0] != row:
            different.append(trial)
    for record in results.trials:
        if record.trajectory:
            files = [out / "trajectories" / record.trajectory for out in (undisturbed, killed)]
            if not same_arrays(*files) and record.trial not in different:
                different.append(record.trial)
    kept = {record.trajectory for record in results.trials} - {""}
    found = {path.name for path in (killed / "trajectories").iterdir()}
    entries = (killed / "campaign.log").read_text(encoding="utf-8").count("Simulation Started!")
    return {
        "trials": f"{len(results.trials)} of {expected.planned}",
        "lost": sum(not rows[trial] for trial in undisturbed_rows),
        "double": sum(len(found) > 1 for found in rows.values()),
        "different": sorted(set(different)),
        "invalid": [f"{record.trial}: {record.detail}" for record in results.invalid],
        "invalid_attempts": causes(results.invalid_attempts),
        "worker_deaths": causes(results.worker_deaths),
        "entries_of_the_log": entries,
        "trajectories_too_many": sorted(found - kept),
        "trajectories_too_few": sorted(kept - found),
        "other_files": sorted(
            str(path.relative_to(killed))
            for path in killed.rglob("*")
            if ".partial" in path.name or path.name.startswith(".worlds")
        ),
        "database": damage,
    }


def measure(arguments, place):
    spec = load(arguments.campaign, CampaignSpec)
    source = spec.worlds.model_copy(update={"count": arguments.worlds})
    spec = with_simulator(spec, arguments.simulator).model_copy(update={"worlds": source})
    campaign = place / "campaign.yaml"
    campaign.write_text(spec.model_dump_json(exclude_none=True), encoding="utf-8")  # JSON is YAML
    command = ["gz_testauto", "run", str(campaign), "--workers", str(arguments.workers), "--out"]
    generator = np.random.default_rng(arguments.seed)
    storm = Storm(command, place, generator, arguments)
    print("in peace", file=sys.stderr, flush=True)
    storm.run_without_kills(place / "undisturbed")
    print("in the storm", file=sys.stderr, flush=True)
    began_s = time.monotonic()
    done = storm.run_with_kills()
    wall_s = time.monotonic() - began_s
    return {
        "kills": sum(storm.killed.values()),
        "killed": dict(sorted(storm.killed.items())),
        "exit_statuses": dict(sorted(storm.statuses.items())),
        "wall_s": round(wall_s),
        "campaigns": [compare_results(place / "undisturbed", out) for out in done],
        "processes_left": storm.processes_left,
        "files_left": storm.files_left,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--campaign",
        type=Path,
        default=ROOT / "config" / "smoke_campaign.yaml",
        help="of a base world (default: config/smoke_campaign.yaml)",
    )
    parser.add_argument("--simulator", default="embedded", help="embedded (default) or gazebo")
    parser.add_argument("--worlds", type=int, default=20, help="worlds, two trials each (20)")
    parser.add_argument("--workers", type=int, default=2, help="workers (default 2)")
    parser.add_argument("--kills", type=int, default=60, help="kills (default 60)")
    parser.add_argument("--seed", type=int, default=0, help="of the choice of kills (default 0)")
    parser.add_argument(
        "--every", type=numbers, default=[3, 8], help="shortest,longest time between kills (3,8 s)"
    )
    parser.add_argument(
        "--signals",
        type=lambda text: text.split(","),
        default=["KILL", "KILL", "TERM", "INT"],
        help="signals, as often as they are named (default KILL,KILL,TERM,INT)",
    )
    parser.add_argument("--out", type=Path, help="keep all in this new directory")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args()
    with contextlib.ExitStack() as stack:
        place = arguments.out or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        place.mkdir(parents=True, exist_ok=True)
        figures = measure(arguments, place.absolute())
    for number, campaign in enumerate([] if arguments.json else figures.pop("campaigns")):
        figures.update({f"campaign_{number}_{name}": value for name, value in campaign.items()})
    print_figures(figures, arguments.json)


if __name__ == "__main__":
    main()
