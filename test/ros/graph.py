"""Helpers of the rostests: waits in wall time, received messages, processes of a test, and the
interface of a running node."""

import contextlib
import os
import threading
import time
import unittest
from pathlib import Path

import rosgraph
import rospy

from gz_testauto.base.errors import MissingDependencyError
from gz_testauto.simulators.gazebo.installation import find_gazebo

MARK = "GZ_TESTAUTO_ROSTEST"
PATIENCE_S = 120.0
OF_ROSPY_AND_TF = ("~get_loggers", "~set_logger_level", "~tf2_frames")
"""Services that rospy and tf2_ros register for a node."""


def await_true(condition, what, timeout_s=PATIENCE_S):
    """Return when the condition holds; fail the test after the timeout."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not after {timeout_s:g} s")
        time.sleep(0.02)


class Heard:
    """All received messages of a topic."""

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
    """Skip the tests if Gazebo is not installed; fail if it is required."""
    try:
        find_gazebo()
    except MissingDependencyError as error:
        if os.environ.get("GZ_TESTAUTO_REQUIRE_GAZEBO") == "1":
            raise
        print(f"SKIPPED: {error}", flush=True)
        raise unittest.SkipTest(str(error)) from error


def marked_processes(mark):
    """Return pid and command of all running processes with ``GZ_TESTAUTO_ROSTEST=mark``."""
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


def assert_registered_as_declared(test, node, name, absent=(), planner="PLANNER"):
    """Compare the topics and services that a running node has registered at the master, and its
    parameters, with its declaration. ``absent`` are declared topics that need a condition;
    ``planner`` replaces PLANNER in declared names."""
    master = rosgraph.Master("/rostest")

    def resolved(names):
        named = (one.replace("PLANNER", planner) for one in names)
        return {rospy.names.resolve_name(one, caller_id=name) for one in named}

    def action_topics(actions, parts):
        return [f"{action.name}/{part}" for action in actions for part in parts]

    inputs, outputs = ("goal", "cancel"), ("status", "feedback", "result")
    published = [one.name for one in node.published if one.name not in absent]
    published += action_topics(node.served_actions, outputs)
    published += action_topics(node.used_actions, inputs)
    subscribed = [one.name for one in node.subscribed if one.name not in absent]
    subscribed += action_topics(node.served_actions, inputs)
    subscribed += action_topics(node.used_actions, outputs)
    declared = {
        "published": resolved(published),
        "subscribed": resolved(subscribed),
        "services": resolved(one.name for one in node.services),
    }
    of_rospy_and_tf = ({"/rosout"}, {"/clock"}, resolved(OF_ROSPY_AND_TF))

    def registered():
        state = master.getSystemState()
        names = ({entry for entry, users in part if name in users} for part in state)
        return dict(zip(declared, (own - other for own, other in zip(names, of_rospy_and_tf))))

    with contextlib.suppress(AssertionError):
        await_true(lambda: registered() == declared, "the declared interface", 10.0)
    test.assertEqual(registered(), declared)
    types = dict(master.getTopicTypes())
    for topic in (*node.published, *node.subscribed):
        if topic.name not in absent:
            test.assertEqual(types[resolved([topic.name]).pop()], topic.type, topic.name)
    known = {*node.parameters.model_fields, "identity", "error"}
    test.assertLessEqual(set(rospy.get_param(name, {})), known)
