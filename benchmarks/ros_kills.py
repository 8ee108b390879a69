"""Kill processes of a campaign over ROS at random, and check the results.

campaign.launch runs in the embedded simulator on a separate ROS master. Repeatedly, one process
receives SIGKILL: simulator node, planner process, the shell that watches it, campaign node,
rosmaster or roslaunch. After the launch has stopped, the same command is repeated. Finally the
results are compared with those of the same campaign without ROS and without kills.

    python3 benchmarks/ros_kills.py --kills 24 --worlds 12
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

from example import print_figures, write_smoke_campaign
from kill_storm import MARK, compare_results, marked, wait_until_gone

from gz_testauto.processes import free_port

VICTIMS = {
    "simulator node": "__name:=simulator",
    "planner process": "gz_testauto.ros.planner.node",
    "planner's watcher": "read -r _",
    "campaign node": "__name:=campaign",
    "rosmaster": "rosmaster --core",
    "roslaunch": "roslaunch gz_testauto campaign.launch",
}
REMAINING = ("rosmaster --core", "/rosout/rosout")
"""Processes that remain after roslaunch was killed."""
EXIT_TIMEOUT_S, TRIAL_TIMEOUT_S = 60.0, 600.0


class Launch:
    """A launch of campaign.launch on one ROS master, which is repeated after each kill."""

    def __init__(self, campaign, out, log, temporary):
        self.mark = uuid.uuid4().hex
        self.command = ["roslaunch", "gz_testauto", "campaign.launch", "simulator:=embedded"]
        self.command += [f"campaign:={campaign}", f"out:={out}"]
        self.environment = {
            **os.environ,
            MARK: self.mark,
            "TMPDIR": str(temporary),
            "ROS_MASTER_URI": f"http://127.0.0.1:{free_port()}",
            "ROS_IP": "127.0.0.1",
        }
        self.log = log
        self.process = None
        self.statuses = collections.Counter()
        self.remaining = collections.Counter()

    def start(self):
        """Start the launch unless it is running."""
        if self.process is not None and self.process.poll() is None:
            return
        self.wait()
        self.process = subprocess.Popen(
            self.command,
            env=self.environment,
            stdout=self.log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def wait(self):
        """Wait until all processes of the launch have exited, and count those that have not."""
        if self.process is None:
            return
        self.statuses[self.process.wait(EXIT_TIMEOUT_S + 60.0)] += 1
        self.process = None
        for command in wait_until_gone(self.mark, EXIT_TIMEOUT_S, ignored=REMAINING).values():
            name = next((text for text in REMAINING if text in command), command[:100])
            self.remaining[name] += 1

    def kill(self, victim):
        """Send SIGKILL to one process of the launch; return whether it was running."""
        for pid, command in marked(self.mark).items():
            if VICTIMS[victim] in command:
                os.kill(pid, signal.SIGKILL)
                return True
        return False

    def is_complete(self):
        """Return whether the simulator node and a planner process run, which starts last."""
        commands = " ".join(marked(self.mark).values())
        return all(VICTIMS[name] in commands for name in ("simulator node", "planner process"))

    def kill_all(self):
        for pid in marked(self.mark):
            os.kill(pid, signal.SIGKILL)


def finished_trials(out):
    """Return the trials in the store. The list is empty before the store exists, and after a writer
    was killed during a commit, until another process opens the store."""
    if not (out / "results.sqlite").is_file():
        return []
    place = f"file:{out / 'results.sqlite'}?mode=ro"
    with contextlib.closing(sqlite3.connect(place, uri=True, timeout=30)) as store:
        store.row_factory = sqlite3.Row
        with contextlib.suppress(sqlite3.OperationalError):
            return [dict(row) for row in store.execute("SELECT * FROM trials ORDER BY trial")]
    return []


def storm(launch, out, trials, kills, seconds, generator):
    """Kill processes until the number or the time limit is reached, and finish the campaign."""
    killed, began_s = collections.Counter(), time.monotonic()
    victims = [name for name in VICTIMS for _ in range(-(-kills // len(VICTIMS)))]
    generator.shuffle(victims)
    changed_s, previous = time.monotonic(), -1
    while len(finished_trials(out)) < trials:
        launch.start()
        if victims and time.monotonic() - began_s < seconds and launch.is_complete():
            time.sleep(generator.uniform(1.0, 10.0))
            if launch.kill(victims[-1]):
                victim = victims.pop()
                killed[victim] += 1
                count = len(finished_trials(out))
                print(f"{count} of {trials} finished; killed {victim}", flush=True)
                if victim in ("campaign node", "rosmaster", "roslaunch"):
                    launch.process.wait(EXIT_TIMEOUT_S + 60.0)
                else:
                    time.sleep(2.0)
        count = len(finished_trials(out))
        if count != previous:
            changed_s, previous = time.monotonic(), count
        if time.monotonic() - changed_s > TRIAL_TIMEOUT_S:
            sys.exit(f"no trial finished within {TRIAL_TIMEOUT_S:g} s; see {launch.log.name}")
        time.sleep(0.2)
    launch.wait()
    return killed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=24)
    parser.add_argument("--worlds", type=int, default=12, help="worlds, with two planners each")
    parser.add_argument("--seconds", type=float, default=1800.0, help="no kill after that")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="ros_kills_"))
    attempts = arguments.kills + 3
    campaign = write_smoke_campaign(place, arguments.worlds, max_attempts=attempts)
    out, reference, trials = place / "out", place / "reference", 2 * arguments.worlds
    command = ["gz_testauto", "run", str(campaign), "--simulator", "embedded", "--workers", "1"]
    subprocess.run([*command, "--out", str(reference)], check=True, stdout=subprocess.DEVNULL)
    temporary = place / "tmp"
    temporary.mkdir()
    with (place / "launch.log").open("wb") as log:
        launch = Launch(campaign, out, log, temporary)
        try:
            generator = random.Random(arguments.seed)
            killed = storm(launch, out, trials, arguments.kills, arguments.seconds, generator)
        finally:
            launch.kill_all()
    figures = {
        "kills": sum(killed.values()),
        "killed": dict(sorted(killed.items())),
        "exit_statuses": dict(launch.statuses),
        **compare_results(reference, out),
        "repeated": sum(row["attempts"] > 1 for row in finished_trials(out)),
        "processes_left": dict(launch.remaining),
        "files_left": sorted(path.name for path in temporary.iterdir()),
        "directory": str(place),
    }
    print_figures(figures)


if __name__ == "__main__":
    main()
