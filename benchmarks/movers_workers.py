#!/usr/bin/env python3
"""Compare the results of campaigns with actors or sensors on several workers, and after SIGKILL.

    python3 benchmarks/movers_workers.py [--simulator gazebo] [--cases head_on,pile_up_20]
        [--worlds N] [--seconds S] [--workers 1,2,4]

Each campaign has actors that meet, DynaBARN's obstacles, walkers, people in groups, or all kinds of
sensors with noise and delays. It runs with 1, 2, 4 workers. Then it runs with 2 workers, all of its
processes receive SIGKILL after two trials, and the campaign is continued. Prints for each case the
number of trials, the outcomes, the longest time for which actors overlapped, and how many of the
results have the same bits: outcomes and arrays of all recordings, except wall times. The case
``same_start`` must be rejected. With ``--seconds``, trials end after S seconds of simulated time.
"""

import argparse
import collections
import hashlib
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import yaml
from dynabarn import campaign as dynabarn
from same_bits import DESCRIPTIONS, WALL

from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore

ROOT = Path(__file__).resolve().parents[1]
TIMEOUT_S = 900.0
REJECTED = "overlap at the start"


def script(name, *waypoints_m, **keys):
    return {"name": name, "behavior": "script", "waypoints_m": list(waypoints_m), **keys}


def to_center(count):
    angles = np.arange(count) * 2 * math.pi / count
    return [
        script(f"p{number:02d}", [6 * math.cos(angle), 6 * math.sin(angle)], [0, 0])
        for number, angle in enumerate(angles)
    ]


MEETINGS = {
    "head_on": [
        script("a", [-6, 1.5], [6, 1.5]),
        script("b", [6, 1.5], [-6, 1.5]),
        script("c", [-6, -1.5], [6, -1.5], body={"size_m": [4.5, 1.8, 1.5], "mass_kg": 1200}),
        script("d", [6, -1.2], [-6, -1.2], body={"size_m": [4.5, 1.8, 1.5], "mass_kg": 1200}),
    ],
    "overtaking": [
        script("slow", [-6, 2], [6, 2], speed_mps=0.5),
        script("fast", [-8, 2.2], [8, 2.2], speed_mps=1.5),
    ],
    "pile_up_20": to_center(20),
    "same_start": [
        script("a", [0, 2], [6, 2]),
        script("b", [0, 2], [-6, 2]),
    ],
}


def campaigns(worlds):
    """Return the campaign of each case as data."""
    medium = dynabarn("medium", 60, worlds, "embedded", ["fgm", "dki_sst"])
    found = {
        name: {**medium, "name": name, "planners": ["fgm"], "actors": actors}
        for name, actors in MEETINGS.items()
    }
    found["dynabarn"] = medium
    file = ROOT / "config" / "walkers_campaign.yaml"
    walkers = yaml.safe_load(file.read_text())
    walkers["worlds"].update(
        base=str(ROOT / "worlds" / "arena.world"),
        obstacles=str(file.parent / walkers["worlds"]["obstacles"]),
        count=worlds,
    )
    found["walkers"] = walkers
    found["people"] = people(worlds)
    found["sensors"] = sensors(worlds)
    return found


def sensors(worlds):
    """Return a campaign with a planner that reads all kinds of sensors, and a merged lidar."""
    data = yaml.safe_load((ROOT / "config" / "sensors_campaign.yaml").read_text())
    data["worlds"].update(base=str(ROOT / "worlds" / "room.world"), count=worlds)
    data["robot"].update(
        model=str(ROOT / "models" / "service_robot" / "model.sdf"),
        lidar=["front_lidar", "rear_lidar"],
        sensor_delays_s={"camera": 0.1, "rear_lidar": 0.1, "front_lidar": 0.1},
    )
    names = ["camera", "lidar_3d", "sonar_left", "sonar_right", "bumper", "rear_lidar"]
    data["planners"][1]["parameters"]["sensors"] = names
    return data


def people(worlds):
    """Return the campaign with twenty people in groups, with one planner and few worlds."""
    file = ROOT / "config" / "people" / "people_campaign.yaml"
    data = yaml.safe_load(file.read_text())
    data["worlds"].update(base=str(ROOT / "worlds" / "arena.world"), count=worlds)
    return {**data, "planners": ["fgm_improved"]}


def start(file, out, simulator, workers):
    command = [sys.executable, "-m", "gz_testauto.cli.main", "run", str(file), "--out", str(out)]
    command += ["--simulator", simulator, "--workers", str(workers)]
    return subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(process):
    """Wait for a campaign. Return its status, and the text on standard error."""
    try:
        _, errors = process.communicate(timeout=TIMEOUT_S)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return process.returncode, errors


def kill_after(process, out, trials):
    """Kill all processes of a campaign when its results contain the given number of trials. Return
    whether the campaign was still running."""
    deadline_s = time.monotonic() + TIMEOUT_S
    while process.poll() is None and time.monotonic() < deadline_s:
        if len(list((out / "trajectories").glob("*.npz"))) >= trials:
            break
        time.sleep(0.05)
    killed = process.poll() is None
    if killed:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    return killed


def digest(out):
    """Return a hash of all outcomes and recordings, the outcomes, and the longest overlap (s)."""
    sums, outcomes, overlap_s = hashlib.sha256(), collections.Counter(), 0.0
    with ResultStore.read(CampaignDirectory(out)) as store:
        records = store.results().trials
        for record in sorted(records, key=lambda one: one.trial):
            outcomes[record.outcome.value] += 1
            overlap_s = max(overlap_s, (record.metrics or {}).get("objects_overlap_s") or 0.0)
            sums.update(f"{record.trial} {record.outcome.value} {record.detail}".encode())
    for path in sorted((out / "trajectories").glob("*.npz")):
        with np.load(path, allow_pickle=False) as stored:
            for key in sorted(stored.files):
                if not WALL.search(key) and key not in DESCRIPTIONS:
                    sums.update(key.encode() + stored[key].tobytes())
    return sums.hexdigest(), outcomes, overlap_s


def main():
    """Run the cases."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulator", default="embedded")
    parser.add_argument("--worlds", type=int, default=4)
    parser.add_argument("--cases", default="")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--workers", default="1,2,4")
    options = parser.parse_args()
    wrong = False
    known = campaigns(options.worlds)
    workers = [int(count) for count in options.workers.split(",")]
    for name in options.cases.split(",") if options.cases else known:
        with tempfile.TemporaryDirectory(prefix="movers-") as scratch:
            file = Path(scratch) / "campaign.yaml"
            if options.seconds:
                known[name].setdefault("limits", {})["timeout_s"] = options.seconds
            file.write_text(yaml.safe_dump(known[name]))
            status, errors = finish(start(file, Path(scratch) / "1", options.simulator, 1))
            if name == "same_start":
                rejected = REJECTED in " ".join(errors.split()) and status == 2
                print(f"{name:12} {'rejected' if rejected else 'NOT REJECTED'}", flush=True)
                wrong |= not rejected
                continue
            folders = [Path(scratch) / str(count) for count in workers]
            for count, out in list(zip(workers, folders))[1:]:
                status, errors = finish(start(file, out, options.simulator, count))
            killed = Path(scratch) / "killed"
            was_killed = kill_after(start(file, killed, options.simulator, 2), killed, 2)
            status, errors = finish(start(file, killed, options.simulator, 2))
            found = [digest(out) for out in (*folders, killed)]
            sums = [one[0] for one in found]
            same = sums.count(sums[0])
            outcomes = ", ".join(f"{key} {number}" for key, number in sorted(found[0][1].items()))
            print(
                f"{name:12} {sum(found[0][1].values()):3} trials: {outcomes}; overlap up to "
                f"{found[0][2]:.1f} s; same bits {same} of {len(sums)}"
                f"{'' if was_killed else ', but it ended before the kill'}",
                flush=True,
            )
            wrong |= same < len(sums) or not was_killed
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
