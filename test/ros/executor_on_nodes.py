"""Conformance of the executor over ROS, on the master at ``ROS_MASTER_URI``.

The simulator node runs with time held for the planner. The executor starts planner nodes, of which
the suite kills one.
"""

import os
import signal
import uuid

import pytest
from graph import MARK, marked_processes

from gz_testauto.ros.campaign import executor as executor_module
from gz_testauto.ros.campaign.executor import RosTrialExecutor
from gz_testauto.testing.executor_conformance import ExecutorConformance


class TestOverRos(ExecutorConformance):
    mark = uuid.uuid4().hex

    @pytest.fixture(autouse=True)
    def marked(self, monkeypatch):
        self.monkeypatch = monkeypatch
        monkeypatch.setenv(MARK, self.mark)

    def make_executor(self, bed, directory):
        return RosTrialExecutor(bed, directory, lambda: False)

    def make_broken_executor(self, bed, directory):
        self.monkeypatch.setattr(executor_module, "SERVER_TIMEOUT_S", 0.5)
        self.monkeypatch.setattr(executor_module, "SIMULATOR", "/not_there")
        return self.make_executor(bed, directory)

    def harm(self):
        for pid, command in marked_processes(self.mark).items():
            if "__name:=planner" in command and not command.startswith("/bin/sh"):
                os.kill(pid, signal.SIGKILL)
                return True
        return False
