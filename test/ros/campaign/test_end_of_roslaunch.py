"""The end of a successful campaign, which stops the roslaunch that has started the node."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.ros

LAUNCHER = """
import signal, subprocess, sys
node = subprocess.Popen([sys.executable, "-c", sys.argv[1]], start_new_session=True)
try:
    node.wait(timeout=60)
    print("the node exited first")
except KeyboardInterrupt:
    node.terminate()
    node.wait(timeout=60)
    print("stopped like Ctrl-C")
"""
NODE = "from gz_testauto.ros.campaign import node; node._stop_roslaunch()"


@pytest.mark.parametrize(
    "name, expected",
    [("roslaunch", "stopped like Ctrl-C"), ("rostest", "the node exited first")],
)
def test_only_roslaunch_is_stopped_after_a_successful_campaign(tmp_path, name, expected):
    launcher = tmp_path / name
    launcher.write_text(LAUNCHER)
    done = subprocess.run(
        [sys.executable, str(launcher), NODE], stdout=subprocess.PIPE, text=True, timeout=120
    )
    assert done.stdout.strip() == expected
