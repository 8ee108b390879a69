"""Measure the memory of gzserver over the trials of a campaign.

Gazebo 11 keeps a part of each robot that it deletes, so that gzserver grows with each trial. The
simulator replaces the server after ``trials_per_server`` trials (25). Runs short trials, samples
the resident memory of gzserver, and prints the largest value. The exit status
is 1 if the largest value exceeds ``--most-mb``.

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

from example import ROOT

MARK = "GZ_TESTAUTO_MEMORY"


def server_memory_mb(mark):
    """Return the resident memory (MB) of each gzserver with ``mark`` in its environment."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            marked = f"{MARK}={mark}".encode() in (folder / "environ").read_bytes()
            parts = (folder / "cmdline").read_bytes().split(b"\0")
            is_server = any(part.rpartition(b"/")[2].startswith(b"gzserver") for part in parts)
            if marked and is_server and not parts[0].endswith((b"/sh", b"python3")):
                pages = int((folder / "statm").read_text().split()[1])
                found[int(folder.name)] = pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worlds", type=int, default=30, help="worlds, two trials each (30)")
    parser.add_argument("--most-mb", type=float, default=1500.0, help="largest allowed memory")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        text = (ROOT / "config" / "smoke_campaign.yaml").read_text()
        text = text.replace("\n  count: 2\n", f"\n  count: {arguments.worlds}\n")
        text = text.replace("timeout_s: 30.0", "timeout_s: 1.0").replace("../", f"{ROOT}/")
        campaign = Path(place) / "campaign.yaml"
        campaign.write_text(text)
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
