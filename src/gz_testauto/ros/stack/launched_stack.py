"""The user's simulator, robot and navigation, running for one trial or for several.

Owns their order of starting, what must be there before a goal is sent, and who of them has died.
Each is a :class:`~gz_testauto.ros.launched_process.LaunchedProcess`: a roslaunch with all
that it started.
"""

import contextlib
import functools
import math
import time
from pathlib import Path
from typing import AbstractSet, Dict, Mapping, Optional, Set

import rospy

from gz_testauto.base.errors import GzTestautoError, NavigatorError, SimulatorError
from gz_testauto.base.pose import Pose2D
from gz_testauto.ros.launched_process import LaunchedProcess
from gz_testauto.ros.services import is_served
from gz_testauto.ros.stack.requirements import Awaited, Patience
from gz_testauto.simulators.gazebo_ros.client import GazeboRosClient
from gz_testauto.simulators.gazebo_ros.connection import ServiceSilent
from gz_testauto.spec.placeholders import PER_TRIAL
from gz_testauto.spec.stack import LaunchSpec
from gz_testauto.trial.launch_files import Launch, fill_in
from gz_testauto.trial.plan import Trial
from gz_testauto.trial.setup import PreparedStack

POLL_S = 0.1
END_PATIENCE_S = 10.0
BLAME_S = 2.0
"""Wall time after an error in which roslaunch may tell of a node that died."""
SERVICES = ("/gazebo/get_world_properties", "/gazebo/get_model_state")
START_WITHIN_M, START_WITHIN_RAD = 0.2, 0.2


class LaunchedStack:
    """Parts by name, in the order of their starting: roscore, simulator, robot, navigation."""

    def __init__(
        self, campaign: PreparedStack, logs: Path, core: LaunchedProcess, gazebo: GazeboRosClient
    ) -> None:
        self._gazebo = gazebo
        self._campaign = campaign
        self._stack = campaign.spec.stack
        self._logs = logs
        self._parts: Dict[str, LaunchedProcess] = {"roscore": core}
        self._navigation: Optional[Launch] = None
        self._number = 0
        self._parameters: Set[str] = set()
        self._models: AbstractSet[str] = frozenset()
        self._silence = ""

    def require_alive(self) -> None:
        """Raise ``SimulatorError`` or ``NavigatorError`` with the cause when a part has ended
        or a node of it has died."""
        for name, part in self._parts.items():
            failure = part.failure()
            if failure:
                raise (NavigatorError if name == "navigation" else SimulatorError)(failure)

    def runs_navigation_of(self, trial: Trial, values: Mapping[str, object]) -> bool:
        """Whether the navigation that runs is what a trial's planner would be started as."""
        return self._navigation == self._wanted(trial, values)

    @property
    def simulating(self) -> bool:
        """Whether the simulator has been started."""
        return "simulator" in self._parts

    def start_simulator(self, values: Mapping[str, object], of_world: AbstractSet[str]) -> None:
        """Start simulator and robot, and wait until the robot is in the world and time runs.
        ``of_world``: names of the models that the world file has."""
        self._start("simulator", self._stack.simulator, values)
        for service in SERVICES:
            self._await(
                Awaited(
                    functools.partial(is_served, service, POLL_S),
                    f"no service {service}",
                    "does stack.simulator start a Gazebo with gazebo_ros (or this package's "
                    "simulator node)?",
                )
            )
        self._await(
            Awaited(
                lambda: rospy.get_rostime() != rospy.Time(),
                "no time on /clock",
                "is the simulation paused?",
            )
        )
        if self._stack.robot is not None:
            self._start("robot", self._stack.robot, values)
        self._await_robot(of_world)

    def _await_robot(self, of_world: AbstractSet[str]) -> None:
        name = self._campaign.robot.name
        self._await(
            Awaited(
                lambda: name in self._model_names(),
                f"no model {name!r} in the world",
                "spawn the robot by that name (the placeholder {robot}), or set robot.name to the "
                "name that it has",
                kind="other models than the world file's",
                name=name,
                there=lambda: sorted(self._models - of_world),
            )
        )

    def _model_names(self) -> AbstractSet[str]:
        """The models in the world, as last known while the simulator answers nobody: gazebo_ros
        does not until the robot that it spawns has been loaded."""
        try:
            self._models, self._silence = self._gazebo.model_names(), ""
        except ServiceSilent as error:
            self._silence = f"{error}; "
        return self._models

    def start_navigation(self, trial: Trial, values: Mapping[str, object]) -> None:
        """Have the navigation of a trial's planner running; the one that runs stays where it
        would be started with the same arguments."""
        if self.runs_navigation_of(trial, values):
            return
        self.end_navigation()
        launch = self._campaign.navigation(trial)
        self._parameters = set(rospy.get_param_names())
        self._start("navigation", launch, values)
        self._navigation = self._wanted(trial, values)

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

    def await_offered(self, awaited: Awaited) -> None:
        """Return once the stack offers it; raise ``NavigatorError`` when it does not come, and
        what :meth:`require_alive` raises."""
        self._await(awaited, NavigatorError)

    def blame(self, error: GzTestautoError) -> None:
        """Raise what :meth:`require_alive` does where a process died shortly before or after an
        error that it may have caused. Returns where none has."""
        deadline = time.monotonic() + BLAME_S
        while True:
            try:
                self.require_alive()
            except (SimulatorError, NavigatorError) as died:
                if died.full in error.full:
                    return
                raise type(died)(f"{died.full}; seen by: {error.full}") from error
            if time.monotonic() > deadline:
                return
            time.sleep(POLL_S)

    def require_start(self, trial: Trial, pose: Pose2D) -> None:
        """Raise ``SimulatorError`` unless the robot stands where the trial starts it."""
        start = self._campaign.missions.start_in(trial.world)
        away_m = start.distance_to(pose.x_m, pose.y_m)
        turned = abs(math.remainder(start.yaw_rad - pose.yaw_rad, 2 * math.pi))
        if away_m > START_WITHIN_M or turned > START_WITHIN_RAD:
            raise SimulatorError(
                f"the robot is at ({pose.x_m:.2f}, {pose.y_m:.2f}, {pose.yaw_rad:.2f} rad) "
                f"and robot.start is ({start.x_m:.2f}, {start.y_m:.2f}, {start.yaw_rad:.2f} rad): "
                "have it spawned at {start_x}, {start_y}, {start_yaw}"
            )

    def _wanted(self, trial: Trial, values: Mapping[str, object]) -> Launch:
        """The navigation's launch, but for what differs from trial to trial anyway."""
        launch = self._campaign.navigation(trial)
        lasting = {**values, **dict.fromkeys(PER_TRIAL, "")}
        return fill_in(launch, "stack.navigation", lasting)

    def _start(self, name: str, launch: LaunchSpec, values: Mapping[str, object]) -> None:
        file, arguments = fill_in(launch, f"stack.{name}", values)
        self._number += 1
        self._parts[name] = LaunchedProcess(
            f"stack.{name} ({launch.named})",
            ["roslaunch", "--wait", str(file), *arguments],
            self._logs / f"{self._number:02d}_{name}.log",
            may_exit=name == "robot",
        )

    def _await(self, awaited: Awaited, error: type = SimulatorError) -> None:
        patience = Patience(awaited, self._stack.start_timeout_s)
        while True:
            self.require_alive()
            self._require_simulated_time()
            if awaited.condition():
                return
            youngest = list(self._parts.values())[-1]
            refused = youngest.node_not_found()
            if patience.is_over(will_not_come=bool(refused)):
                cause = f"{youngest.name}: {refused}; " if refused else ""
                raise error(
                    f"{self._silence}{cause}after {patience.waited_s:.0f} s {awaited.message()} "
                    f"(from {youngest.name}: {youngest.log_excerpt(excluding=refused)})"
                )
            time.sleep(POLL_S)

    def _require_simulated_time(self) -> None:
        if not rospy.get_param("/use_sim_time", True):
            parts = list(self._parts.values())
            # roslaunch lists what it sets.
            setters = [part.name for part in parts if part.log_contains("* /use_sim_time: False")]
            culprit = (setters or [parts[-1].name])[0]
            raise SimulatorError(
                f"{culprit} has set /use_sim_time to false, and nothing of a stack can run on "
                "wall time: give it use_sim_time:=true, or leave the parameter out"
            )
