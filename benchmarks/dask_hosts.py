"""Compare a campaign on a Dask cluster of two hosts with one host and with no cluster.

The hosts are network namespaces of this machine, connected by a pair of virtual Ethernet devices,
each limited to one processor. The example campaign runs embedded in this process, then with a
worker on the first host, then with one on each host; scheduler and campaign are on the first host.
Prints trials per minute from the first finished trial to the last, their ratio to one host, and the
number of trials with the same bits as in this process. Needs root, iproute2 and two processors.

    python3 benchmarks/dask_hosts.py [--worlds 30] [--json]
"""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import yaml
from example import ROOT, print_figures

PORT = 8786
ADDRESSES = ("10.213.77.1", "10.213.77.2")
STARTING_S = 15.0
"""Wall time (s) within which the scheduler and the workers must have joined."""
ENDING_TIMEOUT_S = 10.0


def ip(*words):
    subprocess.run(["ip", *words], check=True, timeout=30)


@contextlib.contextmanager
def two_hosts():
    """Create two network namespaces that can reach each other by ``ADDRESSES``, and return their
    names."""
    hosts = [f"gz_testauto_{os.getpid()}_{number}" for number in (1, 2)]
    try:
        for host in hosts:
            ip("netns", "add", host)
        ends = [f"gzt{os.getpid()}{letter}" for letter in "ab"]
        ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
        for host, end, address in zip(hosts, ends, ADDRESSES):
            ip("link", "set", end, "netns", host)
            ip("-n", host, "addr", "add", f"{address}/24", "dev", end)
            for device in ("lo", end):
                ip("-n", host, "link", "set", device, "up")
        yield hosts
    finally:
        for host in hosts:
            subprocess.run(["ip", "netns", "del", host], check=False, timeout=30)


def on(host, processor, *command):
    """Return the command line that runs a command in the network namespace of a host."""
    return ["ip", "netns", "exec", host, "taskset", "-c", str(processor), *command]


@contextlib.contextmanager
def running(command):
    """Run a process and its children until the end of the block."""
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(ENDING_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def campaign(worlds, place):
    """Write the example campaign with this number of worlds, and return the path of the file."""
    original = ROOT / "config" / "example_campaign.yaml"
    spec = yaml.safe_load(original.read_text())
    for name in ("base", "obstacles"):
        spec["worlds"][name] = str((original.parent / spec["worlds"][name]).resolve())
    spec["worlds"]["count"] = worlds
    path = place / "campaign.yaml"
    path.write_text(yaml.safe_dump(spec))
    return path


def run(path, out, *options, before=()):
    """Run a campaign and return its trials per minute, from the first finished trial to the last
    one."""
    command = [
        *(*before, sys.executable, "-m", "gz_testauto.cli.main", "run", str(path)),
        *("--simulator", "embedded", "--out", str(out), *options),
    ]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True, timeout=1800)
    ended = sorted(file.stat().st_mtime for file in (out / "trajectories").glob("*.npz"))
    return 60 * (len(ended) - 1) / (ended[-1] - ended[0])


def count_identical_trials(one, other):
    """Return the number of trials with identical results in two campaigns, without computing
    times."""
    same = 0
    for file in sorted((one / "trajectories").glob("*.npz")):
        with np.load(file) as a, np.load(other / "trajectories" / file.name) as b:
            names = [name for name in a.files if not name.startswith(("cycle", "wall"))]
            same += all(a[name].tobytes() == b[name].tobytes() for name in names)
    return same


def measure(arguments, place):
    """Return all measured values by name."""
    path = campaign(arguments.worlds, place)
    rates = {}
    run(path, place / "here", "--workers", "1")
    scheduler = f"tcp://{ADDRESSES[0]}:{PORT}"
    with two_hosts() as hosts, contextlib.ExitStack() as stack:
        first, second = sorted(os.sched_getaffinity(0))[:2]
        start = [sys.executable, "-m", "dask", "scheduler"]
        addresses = ("--host", ADDRESSES[0], "--port", str(PORT), "--no-dashboard")
        stack.enter_context(running(on(hosts[0], first, *start, *addresses)))
        for number, (host, processor) in enumerate(zip(hosts, (first, second)), 1):
            start = [sys.executable, "-m", "dask", "worker", scheduler, "--nthreads", "1"]
            options = ("--nworkers", "1", "--no-dashboard", "--local-directory", str(place))
            stack.enter_context(running(on(host, processor, *start, *options)))
            time.sleep(STARTING_S)
            out = place / f"hosts_{number}"
            rates[number] = run(path, out, "--scheduler", scheduler, before=on(hosts[0], first))
    return {
        "trials": 2 * arguments.worlds,
        **{f"trials_per_minute_hosts_{number}": round(rate, 1) for number, rate in rates.items()},
        "scaling_hosts_2": round(rates[2] / rates[1], 2),
        **{
            f"same_bits_hosts_{number}": count_identical_trials(
                place / "here", place / f"hosts_{number}"
            )
            for number in rates
        },
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worlds", type=int, default=30, help="default %(default)s")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dask_hosts_") as name:
        figures = measure(arguments, Path(name))
    print_figures(figures, arguments.json)
    return 0 if figures["same_bits_hosts_2"] == figures["trials"] else 1


if __name__ == "__main__":
    sys.exit(main())
