"""Kill processes of a campaign over ROS at random, and check the results.

campaign.launch runs in the embedded simulator on a separate ROS master. Repeatedly, one process
receives SIGKILL: simulator node, planner process, the shell that watches it, campaign node,
rosmaster or roslaunch. When the launch has ended, the same command is repeated. Finally the results
are compared with those of the same campaign without ROS and without kills, as in kill_storm.py.
From a sourced workspace::

    python benchmarks/ros_kills.py --kills 24 --worlds 12
"""

import argparse
import collections
import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

from example import print_figures
from kill_storm import compare_results

from gz_testauto.base import resources
from gz_testauto.processes import free_port

MARK = "GZ_TESTAUTO_ROS_KILLS"
VICTIMS = {
    "simulator node": "__name:=simulator",
    "planner process": "gz_testauto.ros.planner.node",
    "planner's watcher": "read -r _",
    "campaign node": "__name:=campaign",
    "rosmaster": "rosmaster --core",
    "roslaunch": "roslaunch gz_testauto campaign.launch",
}
STAYS = ("rosmaster --core", "/rosout/rosout")
GONE_S, IDLE_S = 60.0, 600.0


class Launch:
    """A launch of campaign.launch on one ROS master, which is repeated after each kill."""

    def __init__(self, campaign, out, log, temporary):
        self.mark = uuid.uuid4().hex
        self.command = ["roslaunch", "gz_testauto", "campaign.launch", "simulator:=embedded"]
        self.command += [f"campaign:={campaign}", f"out:={out}"]
        master = f"http://127.0.0.1:{free_port()}"
        self.environment = {
            **os.environ,
            MARK: self.mark,
            "TMPDIR": str(temporary),
            "ROS_MASTER_URI": master,
            "ROS_IP": "127.0.0.1",
        }
        self.log = log
        self.process = None
        self.statuses = collections.Counter()
        self.left = collections.Counter()

    def ensure(self):
        """Start the launch unless it is running."""
        if self.process is not None and self.process.poll() is None:
            return
        self.note_end()
        self.process = subprocess.Popen(
            self.command,
            env=self.environment,
            stdout=self.log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def note_end(self):
        """Wait until all processes of the launch have exited, and record those that have not."""
        if self.process is None:
            return
        self.statuses[self.process.wait(GONE_S + 60.0)] += 1
        self.process = None
        deadline = time.monotonic() + GONE_S
        while time.monotonic() < deadline and self.living(but_for=STAYS):
            time.sleep(0.2)
        for command in self.living().values():
            self.left[next((word for word in STAYS if word in command), command[:100])] += 1

    def living(self, but_for=()):
        """Return the command lines of the processes of the launch, by process number."""
        wanted, found = f"{MARK}={self.mark}".encode(), {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                if wanted not in (entry / "environ").read_bytes().split(b"\0"):
                    continue
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
            except OSError:
                continue
            if command and not any(word in command for word in but_for):
                found[int(entry.name)] = command
        return found

    def kill(self, victim):
        """Send SIGKILL to one process of the launch; return whether a process was found."""
        for pid, command in self.living().items():
            if VICTIMS[victim] in command:
                os.kill(pid, signal.SIGKILL)
                return True
        return False

    def drives(self):
        """Return whether a planner process runs, which starts last."""
        commands = " ".join(self.living().values())
        return all(VICTIMS[name] in commands for name in ("simulator node", "planner process"))

    def end(self):
        """End all remaining processes of the launch."""
        for pid in self.living():
            os.kill(pid, signal.SIGKILL)


def finished(out):
    """Return the trials in the store, in the order of the plan. The list is empty before the store
    exists. It is also empty after a writer was killed during a commit, until another process opens
    the store."""
    if not (out / "results.sqlite").is_file():
        return []
    place = f"file:{out / 'results.sqlite'}?mode=ro"
    with contextlib.closing(sqlite3.connect(place, uri=True, timeout=30)) as store:
        store.row_factory = sqlite3.Row
        with contextlib.suppress(sqlite3.OperationalError):
            return [dict(row) for row in store.execute("SELECT * FROM trials ORDER BY trial")]
    return []


def storm(launch, out, trials, kills, seconds, generator):
    """Kill processes until the number or the time limit is reached, then wait for the end."""
    done, begun_s = collections.Counter(), time.monotonic()
    order = [name for name in VICTIMS for _ in range(-(-kills // len(VICTIMS)))]
    generator.shuffle(order)
    changed_s, before = time.monotonic(), -1
    while len(finished(out)) < trials:
        launch.ensure()
        if order and time.monotonic() - begun_s < seconds and launch.drives():
            time.sleep(generator.uniform(1.0, 10.0))
            if launch.kill(order[-1]):
                victim = order.pop()
                done[victim] += 1
                print(f"{len(finished(out))} of {trials} done; killed {victim}", flush=True)
                if victim in ("campaign node", "rosmaster", "roslaunch"):
                    launch.process.wait(GONE_S + 60.0)
                else:
                    time.sleep(2.0)
        count = len(finished(out))
        if count != before:
            changed_s, before = time.monotonic(), count
        if time.monotonic() - changed_s > IDLE_S:
            sys.exit(f"no trial has ended for {IDLE_S:g} s; see {launch.log.name}")
        time.sleep(0.2)
    launch.note_end()
    return done


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=24)
    parser.add_argument("--worlds", type=int, default=12, help="worlds, with two planners each")
    parser.add_argument("--seconds", type=float, default=1800.0, help="no kill after that")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="ros_kills_"))
    smoke = resources.share_directory() / "config" / "smoke_campaign.yaml"
    text = smoke.read_text().replace("../worlds", str(smoke.parent.parent / "worlds"))
    text = text.replace("count: 2\n", f"count: {arguments.worlds}\n")
    text = text.replace("limits: {", f"limits: {{max_attempts: {arguments.kills + 3}, ")
    campaign = place / "storm.yaml"
    campaign.write_text(text)
    out, reference, trials = place / "out", place / "reference", 2 * arguments.worlds
    command = ["gz_testauto", "run", str(campaign), "--simulator", "embedded", "--workers", "1"]
    subprocess.run([*command, "--out", str(reference)], check=True, stdout=subprocess.DEVNULL)
    temporary = place / "tmp"
    temporary.mkdir()
    with (place / "launch.log").open("wb") as log:
        launch = Launch(campaign, out, log, temporary)
        try:
            generator = random.Random(arguments.seed)
            done = storm(launch, out, trials, arguments.kills, arguments.seconds, generator)
        finally:
            launch.end()
    figures = {
        "kills": sum(done.values()),
        "killed": dict(sorted(done.items())),
        "exit_statuses": dict(launch.statuses),
        **compare_results(reference, out),
        "repeated": sum(row["attempts"] > 1 for row in finished(out)),
        "processes_left": dict(launch.left),
        "files_left": sorted(path.name for path in temporary.iterdir()),
        "all_of_it": str(place),
    }
    print_figures(figures, as_json=False)


if __name__ == "__main__":
    main()
