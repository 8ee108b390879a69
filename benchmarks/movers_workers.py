"""Compare the results of campaigns with actors or sensors on several workers, and after SIGKILL.

    python3 benchmarks/movers_workers.py [--simulator gazebo] [--cases head_on,pile_up_20]
        [--worlds N] [--seconds S] [--workers 1,2,4]

Each campaign has actors with crossing paths, DynaBARN's obstacles, walkers, people in groups, or
all kinds of sensors with noise and delays. It runs with each number of workers. Then it runs with 2
workers, all of its processes receive SIGKILL after two trials, and the campaign is continued. The
outcomes and the arrays of all recordings, except wall times, must have the same bits. The case
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
from example import ROOT, numbers
from same_bits import DESCRIPTIONS, WALL

from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore

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
    dynabarn = create_dynabarn(worlds)
    meetings = {
        name: {**dynabarn, "name": name, "planners": ["fgm"], "actors": actors}
        for name, actors in MEETINGS.items()
    }
    return {
        **meetings,
        "dynabarn": dynabarn,
        "walkers": create_walkers(worlds),
        "people": create_people(worlds),
        "sensors": create_sensors(worlds),
    }


def create_dynabarn(worlds):
    """Return a campaign with cylinders of 1 m on random polynomials, as in DynaBARN."""
    names = [f"medium_{number:02d}" for number in range(worlds)]
    actors = {"count": 10, "order": [1, 3], "mean_speed_mps": [0.5, 1.0]}
    return {
        "name": "dynabarn_medium",
        "seed": 60,
        "simulator": "embedded",
        "worlds": {
            "directory": str(ROOT / "worlds"),
            "files": [{"file": "plain.world", "name": name} for name in names],
        },
        "robot": {
            "model": str(ROOT / "models" / "jackal_sized" / "model.sdf"),
            "start": {"x_m": -11.0, "y_m": 0.0},
            "max_linear_mps": 1.5,
            "max_angular_radps": 2.0,
            "max_linear_accel_mps2": 2.0,
        },
        "goal": {"x_m": 11.0, "y_m": 0.0},
        "planners": ["fgm", "dki_sst"],
        "tracking": {"prediction": "constant_velocity"},
        "limits": {"timeout_s": 90.0},
        "actors": [{"name": "mover", "behavior": "polynomial", **actors}],
    }


def create_walkers(worlds):
    file = ROOT / "config" / "walkers_campaign.yaml"
    data = yaml.safe_load(file.read_text())
    data["worlds"].update(
        base=str(ROOT / "worlds" / "arena.world"),
        obstacles=str(file.parent / data["worlds"]["obstacles"]),
        count=worlds,
    )
    return data


def create_sensors(worlds):
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


def create_people(worlds):
    data = yaml.safe_load((ROOT / "config" / "people" / "people_campaign.yaml").read_text())
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
    """Return the exit status of a campaign, and the text on standard error."""
    try:
        _, errors = process.communicate(timeout=TIMEOUT_S)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return process.returncode, errors


def kill_after(process, out, trials):
    """Kill all processes of a campaign after this number of trials. Return whether the campaign
    was still running."""
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
        for record in sorted(records, key=lambda record: record.trial):
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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulator", default="embedded")
    parser.add_argument("--worlds", type=int, default=4)
    parser.add_argument("--cases", default="")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--workers", type=numbers, default=[1, 2, 4])
    options = parser.parse_args()
    cases = campaigns(options.worlds)
    passed = True
    for name in options.cases.split(",") if options.cases else cases:
        with tempfile.TemporaryDirectory(prefix="movers-") as scratch:
            file = Path(scratch) / "campaign.yaml"
            if options.seconds:
                cases[name].setdefault("limits", {})["timeout_s"] = options.seconds
            file.write_text(yaml.safe_dump(cases[name]))
            check = check_rejection if name == "same_start" else check_bits
            passed &= check(name, file, options)
    return int(not passed)


def check_rejection(name, file, options):
    """Return whether a campaign is rejected since its actors overlap at the start."""
    status, errors = finish(start(file, file.parent / "1", options.simulator, 1))
    rejected = REJECTED in " ".join(errors.split()) and status == 2
    print(f"{name:12} {'rejected' if rejected else 'NOT REJECTED'}", flush=True)
    return rejected


def check_bits(name, file, options):
    """Return whether all results of a campaign have the same bits."""
    folders = [file.parent / str(count) for count in options.workers]
    for count, out in zip(options.workers, folders):
        finish(start(file, out, options.simulator, count))
    killed = file.parent / "killed"
    was_killed = kill_after(start(file, killed, options.simulator, 2), killed, 2)
    finish(start(file, killed, options.simulator, 2))
    digests, counts, overlaps_s = zip(*map(digest, (*folders, killed)))
    same = digests.count(digests[0])
    outcomes = ", ".join(f"{key} {number}" for key, number in sorted(counts[0].items()))
    print(
        f"{name:12} {sum(counts[0].values()):3} trials: {outcomes}; overlap up to "
        f"{overlaps_s[0]:.1f} s; same bits {same} of {len(digests)}"
        f"{'' if was_killed else ', but it finished before the kill'}",
        flush=True,
    )
    return same == len(digests) and was_killed


if __name__ == "__main__":
    sys.exit(main())
