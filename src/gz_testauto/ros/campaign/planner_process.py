"""Planner nodes as child processes of the campaign node.

All use the robot's global topics, and each serves ``move_base`` in the namespace of its planner.
"""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Sequence

import rospy

from gz_testauto.base.errors import NavigatorError
from gz_testauto.processes import start_with_watchdog
from gz_testauto.ros.move_base import MoveBaseClient
from gz_testauto.ros.planner.interface import PlannerParameters
from gz_testauto.trial.executor import StopRequest, TrialStopped

ROBOT_TOPICS = ("cmd_vel", "odom", "scan", "map", "road")
END_GRACE_S = 2.0
LOG_LINES_SHOWN = 4


class PlannerProcess:
    def __init__(
        self,
        name: str,
        parameters: PlannerParameters,
        log_directory: Path,
        answer_timeout_s: float,
        sensor_topics: Sequence[str] = (),
    ) -> None:
        """Start the node, which must acknowledge or cancel a goal within ``answer_timeout_s``."""
        self.name = name
        self.node = f"/{name}/planner"
        self.log_file = log_directory / f"planner_{name}.log"
        rospy.set_param(self.node, parameters.model_dump(mode="json", exclude_none=True))
        log_directory.mkdir(parents=True, exist_ok=True)
        remappings = [f"{topic}:=/{topic.lstrip('/')}" for topic in (*ROBOT_TOPICS, *sensor_topics)]
        remappings.append("objects:=/simulator/objects")
        self._process = start_with_watchdog(
            [
                *(sys.executable, "-m", "gz_testauto.ros.planner.node"),
                *(f"__ns:=/{name}", "__name:=planner", *remappings),
            ],
            {**os.environ, "PYTHONUNBUFFERED": "1"},  # so that a killed node's log is complete
            self.log_file,
        )
        self.move_base = MoveBaseClient(f"/{name}/move_base", answer_timeout_s)

    def await_server(self, timeout_s: float, should_stop: StopRequest) -> None:
        """Wait until the action server of the node is connected.

        Raises ``NavigatorError`` if this fails, and ``TrialStopped`` if a stop was requested.
        """
        deadline = time.monotonic() + timeout_s
        while not self.move_base.connected:
            self.require_alive()
            if should_stop():
                raise TrialStopped
            if time.monotonic() > deadline:
                raise NavigatorError(f"{self.node} did not serve its action within {timeout_s:g} s")
            time.sleep(0.02)

    def require_alive(self) -> None:
        """Raise ``NavigatorError`` with the end of the log if the node has exited."""
        status = self._process.poll()
        if status is not None:
            raise NavigatorError(f"{self.node} ended with status {status}: {self._last_lines()}")

    def seed(self, seed: int) -> None:
        rospy.set_param(f"{self.node}/seed", seed)

    def close(self) -> None:
        """Stop the node by SIGTERM, so that it unregisters, then by SIGKILL."""
        self.move_base.close()
        self._process.request_exit(signal.SIGTERM, END_GRACE_S)
        self._process.kill()

    def _last_lines(self) -> str:
        try:
            lines = self.log_file.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            lines = []
        return " | ".join(lines[-LOG_LINES_SHOWN:]) or f"nothing in {self.log_file}"
