"""The user's simulator, robot and navigation, running for one trial or for several.

Owns their order of starting, what must be there before a goal is sent, and who of them has died.
Each is a :class:`~gz_testauto.ros.stack.part.Part`: a roslaunch with all that it started.
"""

import contextlib
import math
import time
from pathlib import Path
from typing import Callable, Dict, List, Mapping, Optional, Set, Tuple

import rospy

from gz_testauto.campaign.launches import Launch, fill_in, navigation_of, stack_of
from gz_testauto.campaign.preparation import PreparedCampaign
from gz_testauto.campaign.trials import Trial
from gz_testauto.errors import NavigatorError, SimulatorError
from gz_testauto.geometry import Pose2D
from gz_testauto.ros.services import is_served
from gz_testauto.ros.stack.part import Part
from gz_testauto.simulators.gazebo_ros.client import GazeboRosClient
from gz_testauto.spec.placeholders import PER_TRIAL
from gz_testauto.spec.stack import LaunchSpec

LOOK_S = 0.1
END_PATIENCE_S = 10.0
SERVICES = ("/gazebo/get_world_properties", "/gazebo/get_model_state")
START_WITHIN_M, START_WITHIN_RAD = 0.2, 0.2


class RunningStack:
    """Parts by name, in the order of their starting: roscore, simulator, robot, navigation."""

    def __init__(
        self, campaign: PreparedCampaign, logs: Path, core: Part, gazebo: GazeboRosClient
    ) -> None:
        self._gazebo = gazebo
        self._campaign = campaign
        self._stack = stack_of(campaign.spec)
        self._logs = logs
        self._parts: Dict[str, Part] = {"roscore": core}
        self._navigation: Optional[Launch] = None
        self._number = 0
        self._parameters: Set[str] = set()

    def require_alive(self) -> None:
        """Raise ``SimulatorError`` or ``NavigatorError`` with the cause when a part has ended
        or a node of it has died."""
        for name, part in self._parts.items():
            trouble = part.trouble()
            if trouble:
                raise (NavigatorError if name == "navigation" else SimulatorError)(trouble)

    def runs_navigation_of(self, trial: Trial, values: Mapping[str, object]) -> bool:
        """Whether the navigation that runs is what a trial's planner would be started as."""
        return self._navigation == self._wanted(trial, values)

    @property
    def simulating(self) -> bool:
        """Whether the simulator has been started."""
        return "simulator" in self._parts

    def start_simulator(self, values: Mapping[str, object]) -> None:
        """Start simulator and robot, and wait until the robot is in the world and time runs."""
        deadline = self._deadline()
        self._start("simulator", self._stack.simulator, values)
        for service in SERVICES:
            self._await(
                lambda service=service: is_served(service, LOOK_S),
                deadline,
                f"no service {service}: is it a Gazebo with gazebo_ros (or this package's "
                "simulator node) that stack.simulator starts?",
            )
        self._await(
            lambda: rospy.get_rostime() != rospy.Time(),
            deadline,
            "no time on /clock: is the simulation paused, or /use_sim_time false?",
        )
        if self._stack.robot is not None:
            self._start("robot", self._stack.robot, values)
        self._await(
            self._robot_is_there,
            deadline,
            f"no model {self._campaign.robot.name!r} in the world: spawn the robot by that name "
            "(the placeholder {robot}), or set robot.name to the name that it has",
        )

    def start_navigation(self, trial: Trial, values: Mapping[str, object]) -> bool:
        """Have the navigation of a trial's planner running; the one that runs stays where it
        would be started with the same arguments. Returns whether it was started."""
        if self.runs_navigation_of(trial, values):
            return False
        self.end_navigation()
        launch = navigation_of(self._stack, self._campaign.planner(trial))
        self._parameters = set(rospy.get_param_names())
        self._start("navigation", launch, values)
        self._navigation = self._wanted(trial, values)
        return True

    def end_navigation(self) -> None:
        """End the navigation, asked first, and take its parameters away: the next planner's
        launch must not find them."""
        part = self._parts.pop("navigation", None)
        self._navigation = None
        if part is not None:
            part.interrupt(END_PATIENCE_S)
            for name in set(rospy.get_param_names()) - self._parameters:
                with contextlib.suppress(KeyError):  # it went with a namespace above
                    rospy.delete_param(name)

    def await_true(self, condition: Callable[[], bool], otherwise: str) -> None:
        """Return once the condition holds; raise ``NavigatorError`` with ``otherwise`` after
        ``stack.start_timeout_s``, and what :meth:`require_alive` raises."""
        self._await(condition, self._deadline(), otherwise, NavigatorError)

    def require_start(self, trial: Trial, pose: Pose2D) -> None:
        """Raise ``SimulatorError`` unless the robot stands where the trial starts it."""
        start = self._campaign.spec.start_in(trial.world)
        away_m = start.distance_to(pose.x_m, pose.y_m)
        turned = abs(math.remainder(start.yaw_rad - pose.yaw_rad, 2 * math.pi))
        if away_m > START_WITHIN_M or turned > START_WITHIN_RAD:
            raise SimulatorError(
                f"the robot stands at ({pose.x_m:.2f}, {pose.y_m:.2f}, {pose.yaw_rad:.2f} rad) "
                f"and robot.start is ({start.x_m:.2f}, {start.y_m:.2f}, {start.yaw_rad:.2f} rad): "
                "have it spawned at {start_x}, {start_y}, {start_yaw}"
            )

    def _wanted(self, trial: Trial, values: Mapping[str, object]) -> Launch:
        """The navigation's launch, but for what differs from trial to trial anyway."""
        launch = navigation_of(self._stack, self._campaign.planner(trial))
        lasting = {**values, **dict.fromkeys(PER_TRIAL, "")}
        return fill_in(launch, "stack.navigation", lasting)

    def _start(self, name: str, launch: LaunchSpec, values: Mapping[str, object]) -> None:
        file, arguments = fill_in(launch, f"stack.{name}", values)
        self._number += 1
        self._parts[name] = Part(
            f"stack.{name} ({launch.named})",
            ["roslaunch", "--wait", str(file), *arguments],
            self._logs / f"{self._number:02d}_{name}.log",
            may_finish=name == "robot",
        )

    def _robot_is_there(self) -> bool:
        return self._campaign.robot.name in self._gazebo.model_names()

    def _deadline(self) -> float:
        return time.monotonic() + self._stack.start_timeout_s

    def _await(
        self,
        condition: Callable[[], bool],
        deadline: float,
        otherwise: str,
        error: type = SimulatorError,
    ) -> None:
        while True:
            self.require_alive()
            if condition():
                return
            if time.monotonic() > deadline:
                raise error(f"after {self._stack.start_timeout_s:g} s: {otherwise}{self._said()}")
            time.sleep(LOOK_S)

    def _said(self) -> str:
        """What the youngest part said last."""
        words: List[Tuple[str, Part]] = list(self._parts.items())
        return f" (the last of {words[-1][1].name}: {words[-1][1].last_words()})" if words else ""
