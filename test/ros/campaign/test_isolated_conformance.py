"""Conformance of the executor with a separate ROS master; the suite kills its simulator node."""

import os
import signal
import uuid

import pytest
from graph import MARK, marked_processes

pytest.importorskip("rospy")

from gz_testauto.ros.campaign.isolated_executor import IsolatedNodesExecutor
from gz_testauto.testing.executor_conformance import ExecutorConformance

pytestmark = [pytest.mark.ros, pytest.mark.slow]
PARAMETERS = {
    "simulator": "embedded",
    "real_time_factor": "lockstep",
    "command_timeout": 30.0,
    "start_timeout": 60.0,
}


class TestIsolatedNodes(ExecutorConformance):
    cause = "the simulator node ended (killed by SIGKILL)"
    mark = uuid.uuid4().hex

    @pytest.fixture(autouse=True)
    def marked(self, monkeypatch):
        monkeypatch.setenv(MARK, self.mark)

    def make_executor(self, bed, directory):
        return IsolatedNodesExecutor(bed, directory, PARAMETERS)

    def make_broken_executor(self, bed, directory):
        return IsolatedNodesExecutor(bed, directory, {**PARAMETERS, "simulator": "gazeboo"})

    def harm(self):
        for pid, command in marked_processes(self.mark).items():
            if "-m gz_testauto.ros.simulator.node" in command and "subreaper" not in command:
                os.kill(pid, signal.SIGKILL)
                return True
        return False
