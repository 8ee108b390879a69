"""Measure the memory of gzserver over the trials of a campaign.

Gazebo 11 keeps a part of each robot that it deletes, so that gzserver grows with each trial. The
simulator replaces the server after ``trials_per_server`` trials (25). Runs short trials, and prints
the largest resident memory of gzserver. The exit status is 1 if it exceeds ``--most-mb``.

    python3 benchmarks/gzserver_memory.py [--worlds 30] [--most-mb 1500]
"""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from example import write_smoke_campaign
from kill_storm import MARK, marked


def server_memory_mb(mark):
    """Return the resident memory (MB) of each gzserver with ``mark`` in its environment."""
    memory_mb = {}
    for pid, command in marked(mark).items():
        program, *words = command.split()
        is_server = any(Path(word).name.startswith("gzserver") for word in (program, *words))
        if is_server and not program.endswith(("/sh", "python3")):
            with contextlib.suppress(OSError):
                pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
                memory_mb[pid] = pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    return memory_mb


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worlds", type=int, default=30, help="worlds, two trials each (30)")
    parser.add_argument("--most-mb", type=float, default=1500.0, help="largest allowed memory")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        campaign = write_smoke_campaign(Path(place), arguments.worlds, timeout_s=1.0)
        out = Path(place) / "out"
        command = ["gz_testauto", "run", str(campaign), "--out", str(out)]
        command += ["--workers", "1", "--simulator", "gazebo"]
        samples = {}
        with open(Path(place) / "log", "wb") as log:
            environment = {**os.environ, MARK: place}
            runner = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
            while runner.poll() is None:
                for pid, memory_mb in server_memory_mb(place).items():
                    samples.setdefault(pid, []).append(memory_mb)
                time.sleep(0.5)
        trials = len(list((out / "trajectories").glob("*.npz")))
    most_mb = max(max(values) for values in samples.values())
    print(f"{trials} trials, {len(samples)} servers, largest memory {most_mb:.0f} MB")
    return 0 if runner.returncode in (0, 1) and most_mb <= arguments.most_mb else 1


if __name__ == "__main__":
    sys.exit(main())
