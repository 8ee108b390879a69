"""A node exits after the roslaunch that started it, also during the node's start."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

LAUNCHER = """
import subprocess, sys, time
node = subprocess.Popen([sys.executable, "-c", sys.argv[1], "__log:=/dev/null"])
print(node.pid, flush=True)
time.sleep(600)
"""
NODE = """
import os, time
import gz_testauto.ros
print("up", flush=True)
{meanwhile}
from gz_testauto.ros.node import end_with_launcher
end_with_launcher()
time.sleep(600)
"""
KILLED_DURING_IMPORTS = "while os.getppid() == gz_testauto.ros.LAUNCHER_PID: time.sleep(0.01)"


@pytest.mark.parametrize(
    "meanwhile", ["", KILLED_DURING_IMPORTS], ids=["while it runs", "while it starts"]
)
def test_a_node_exits_when_its_roslaunch_is_killed(meanwhile):
    launcher = subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, NODE.format(meanwhile=meanwhile)],
        stdout=subprocess.PIPE,
        text=True,
    )
    node = int(launcher.stdout.readline())
    assert launcher.stdout.readline() == "up\n"
    launcher.kill()
    launcher.wait(60)
    deadline = time.monotonic() + 60.0
    while lives(node):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    launcher.stdout.close()


def lives(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1] not in ("Z", "X")
    except OSError:
        return False
