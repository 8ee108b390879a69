"""The executor on launch files passes the conformance suite; they start this package's nodes."""

import os
import signal
import uuid

import pytest
from graph import MARK, marked_processes

from gz_testauto.ros.stack.executor import StackExecutor
from gz_testauto.testing.executor_conformance import ExecutorConformance

pytestmark = pytest.mark.ros

STACK = """
planners: [{name: straight, launch: {args: {plugin: straight}}}]
stack:
  run: warm
  simulator:
    package: gz_testauto
    file: simulator.launch
    args:
      simulator: embedded
      world: "{world}"
      robot_model: "{robot_model}"
      robot_name: "{robot}"
      start: "[{start_x}, {start_y}, {start_yaw}]"
      seed: "{seed}"
  navigation:
    package: gz_testauto
    file: planner.launch
    args: {map: "{map}", goal_tolerance_m: "{goal_tolerance}"}
  names:
    global_plan: [/planner/plan]
    planner_time: {topic: /planner/cycle_time, field: wall_time}
  max_real_time_factor: 2.0
  min_real_time_factor: 0.02
  max_truth_gap_s: 20.0
"""


class TestStack(ExecutorConformance):
    stochastic = ""
    cause = "the trial's process ended (killed by SIGKILL)"
    repeatable = False
    planners = STACK
    mark = uuid.uuid4().hex

    @pytest.fixture(autouse=True)
    def marked(self, monkeypatch):
        monkeypatch.setenv(MARK, self.mark)

    def make_executor(self, bed, directory):
        return StackExecutor(bed, directory)

    def harm(self):
        for pid, command in marked_processes(self.mark).items():
            if "-m gz_testauto.ros.session" in command and "subreaper.py" not in command:
                os.kill(pid, signal.SIGKILL)
                return True
        return False
