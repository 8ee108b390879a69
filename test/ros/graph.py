"""What the rostests share: waiting in wall time, messages kept, processes accounted for."""

import os
import threading
import time
import unittest
from pathlib import Path

import rospy

from gz_testauto.base.errors import MissingDependencyError
from gz_testauto.simulators.gazebo.installation import find_gazebo

MARK = "GZ_TESTAUTO_ROSTEST"
PATIENCE_S = 120.0


def await_true(condition, what, timeout_s=PATIENCE_S):
    """Return once the condition holds; fail the test that waits for ``what`` in vain."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {timeout_s:g} s in vain for {what}")
        time.sleep(0.02)


class Heard:
    """Every message of a topic, kept."""

    def __init__(self, topic, kind):
        self.messages = []
        self._lock = threading.Lock()
        self._subscriber = rospy.Subscriber(topic, kind, self._take)

    def _take(self, message):
        with self._lock:
            self.messages.append(message)

    @property
    def connected(self):
        return self._subscriber.get_num_connections() > 0

    @property
    def last(self):
        return self.messages[-1] if self.messages else None


def service(name, kind):
    rospy.wait_for_service(name, PATIENCE_S)
    return rospy.ServiceProxy(name, kind)


def require_gazebo():
    """Skip, with the reason, where there is no Gazebo; fail where there must be one."""
    try:
        find_gazebo()
    except MissingDependencyError as error:
        if os.environ.get("GZ_TESTAUTO_REQUIRE_GAZEBO") == "1":
            raise
        print(f"SKIPPED: {error}", flush=True)
        raise unittest.SkipTest(str(error)) from error


def marked_processes(mark):
    """Command lines of all living processes that were started with ``GZ_TESTAUTO_ROSTEST=mark``."""
    wanted = f"{MARK}={mark}".encode()
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
                if command:  # a zombie has none
                    found[int(entry.name)] = command
        except OSError:
            continue
    return found
