"""The processes of a stack: the launch files of simulator, robot and navigation."""

import contextlib
import dataclasses
import functools
import math
import time
from pathlib import Path
from typing import AbstractSet, Callable, Dict, FrozenSet, Mapping, Optional, Sequence, Set

import rospy

from gz_testauto.base.disk import read_file
from gz_testauto.base.errors import (
    ConfigurationError,
    GzTestautoError,
    NavigatorError,
    SimulatorError,
)
from gz_testauto.base.pose import Pose2D
from gz_testauto.ros.graph import is_served
from gz_testauto.ros.launched_process import LaunchedProcess
from gz_testauto.ros.stack.requirements import Requirement, RequirementTimeout
from gz_testauto.simulators.gazebo_ros.client import GazeboRosClient
from gz_testauto.simulators.gazebo_ros.connection import ServiceTimeoutError
from gz_testauto.spec.stack import PER_TRIAL, LaunchSpec
from gz_testauto.trial.launch_files import Launch, fill_in
from gz_testauto.trial.testbed import StackTestBed
from gz_testauto.trial.trial import Trial

POLL_S = 0.1
EXIT_TIMEOUT_S = 10.0
FAILURE_WINDOW_S = 2.0  # wall time after an error in which roslaunch can report a node that died
SERVICES = ("/gazebo/get_world_properties", "/gazebo/get_model_state")
START_WITHIN_M, START_WITHIN_RAD = 0.2, 0.2
# file in the logs of a trial with new error signatures of its successful start, one per line
USUAL_MESSAGES = "usual_messages.txt"
SAME_SHARE = 1e-3


class LaunchedStack:
    def __init__(
        self, bed: StackTestBed, logs: Path, core: LaunchedProcess, gazebo: GazeboRosClient
    ) -> None:
        self._gazebo = gazebo
        self._bed = bed
        self._stack = bed.spec.stack
        self._logs = logs
        self._parts: Dict[str, LaunchedProcess] = {"roscore": core}
        self._navigation: Optional[Launch] = None
        self._number = 0
        self._parameters: Set[str] = set()
        self._models: AbstractSet[str] = frozenset()
        self._silence = ""
        self._usual = _usual_messages(logs.parent)
        self._has_stored_usual = False

    def require_alive(self) -> None:
        """Raise ``SimulatorError`` or ``NavigatorError`` if a launch file or node has exited.

        Raises ``ConfigurationError`` for an invalid launch file.
        """
        for name, part in self._parts.items():
            failure = part.failure()
            if failure and part.launch_file_is_invalid():
                raise ConfigurationError(failure)
            if failure:
                raise (NavigatorError if name == "navigation" else SimulatorError)(failure)

    def runs_navigation_of(self, trial: Trial, values: Mapping[str, object]) -> bool:
        return self._navigation == self._navigation_launch(trial, values)

    @property
    def simulating(self) -> bool:
        return "simulator" in self._parts

    def start_simulator(self, values: Mapping[str, object], world_models: AbstractSet[str]) -> None:
        """Start simulator and robot; wait until the robot is in the world and time advances.

        ``values`` are those of placeholders in launch files. ``world_models`` are the names of the
        models in the world file.
        """
        self._start_part("simulator", self._stack.simulator, values)
        for service in SERVICES:
            self._await(
                Requirement(
                    functools.partial(is_served, service, POLL_S),
                    f"no service {service}",
                    "does stack.simulator start a Gazebo with gazebo_ros (or this package's "
                    "simulator node)?",
                )
            )
        self._await(
            Requirement(
                lambda: rospy.get_rostime() != rospy.Time(),
                "no time on /clock",
                "is the simulation paused?",
            )
        )
        if self._stack.robot is not None:
            self._start_part("robot", self._stack.robot, values)
        self._await_robot(world_models)
        if self._stack.max_real_time_factor is not None:
            self._limit_real_time_factor(self._stack.max_real_time_factor)

    def _limit_real_time_factor(self, factor: float) -> None:
        physics = self._gazebo.physics()
        if physics.step_size_s <= 0.0:
            raise SimulatorError(
                f"the simulator reports a physics step of {physics.step_size_s:g} s, so its "
                "real-time factor cannot be limited; remove stack.max_real_time_factor"
            )
        rate_hz = factor / physics.step_size_s
        if abs(physics.max_update_rate_hz - rate_hz) > SAME_SHARE * rate_hz:
            self._gazebo.set_physics(dataclasses.replace(physics, max_update_rate_hz=rate_hz))

    def _await_robot(self, world_models: AbstractSet[str]) -> None:
        name = self._bed.robot.name
        self._await(
            Requirement(
                lambda: name in self._model_names(),
                f"no model {name!r} in the world",
                "spawn the robot with that name (the placeholder {robot}), or set robot.name to "
                "its name",
                kind="other models than the world file's",
                name=name,
                existing=lambda: sorted(self._models - world_models),
            )
        )

    def _model_names(self) -> AbstractSet[str]:
        """Return the names of the models, or the last known names if Gazebo does not respond."""
        try:
            self._models, self._silence = self._gazebo.model_names(), ""
        except ServiceTimeoutError as error:  # for example while it loads a robot
            self._silence = f"{error}; "
        return self._models

    def start_navigation(self, trial: Trial, values: Mapping[str, object]) -> None:
        if self.runs_navigation_of(trial, values):
            return
        self.end_navigation()
        launch = self._bed.navigation(trial)
        self._parameters = set(rospy.get_param_names())
        self._start_part("navigation", launch, values)
        self._navigation = self._navigation_launch(trial, values)

    def store_usual_messages(self) -> None:
        """Store the errors that were logged in a successful start. They are omitted from the
        messages of later failures."""
        if self._has_stored_usual:
            return
        self._has_stored_usual = True
        signatures = set().union(*(part.error_signatures() for part in self._parts.values()))
        new_signatures = sorted(signatures - self._usual)
        if new_signatures:
            (self._logs / USUAL_MESSAGES).write_text(
                "\n".join(new_signatures) + "\n", encoding="utf-8"
            )

    def end_navigation(self) -> None:
        """Stop the navigation with SIGINT, and delete the parameters that it has set."""
        part = self._parts.pop("navigation", None)
        self._navigation = None
        if part is not None:
            part.interrupt(EXIT_TIMEOUT_S)
            # They would affect the next planner.
            for name in set(rospy.get_param_names()) - self._parameters:
                with contextlib.suppress(KeyError):  # deleted with its namespace
                    rospy.delete_param(name)

    def await_requirements(
        self, requirements: Sequence[Requirement], further_fault: Callable[[], str] = str
    ) -> None:
        """Wait until the conditions of all requirements hold.

        Raises ``NavigatorError`` after the timeout, with the text of ``further_fault``,
        ``ConfigurationError`` if a name is wrong, and the errors of :meth:`require_alive`.
        """
        self._await(*requirements, error=NavigatorError, further_fault=further_fault)

    def raise_process_failure(self, error: GzTestautoError) -> None:
        """Wait up to :data:`FAILURE_WINDOW_S` for the death of a process, which can have caused
        ``error``. If a process died, raise the error of :meth:`require_alive` with both texts."""
        deadline = time.monotonic() + FAILURE_WINDOW_S
        while True:
            try:
                self.require_alive()
            except (SimulatorError, NavigatorError) as died:
                if died.full in error.full:
                    return
                raise type(died)(f"{died.full}; detected by: {error.full}") from error
            if time.monotonic() > deadline:
                return
            time.sleep(POLL_S)

    def require_start(self, trial: Trial, pose: Pose2D) -> None:
        start = trial.mission.start
        away_m = start.distance_to(pose.x_m, pose.y_m)
        turn_rad = abs(math.remainder(start.yaw_rad - pose.yaw_rad, 2 * math.pi))
        if away_m > START_WITHIN_M or turn_rad > START_WITHIN_RAD:
            raise SimulatorError(
                f"the robot is at ({pose.x_m:.2f}, {pose.y_m:.2f}, {pose.yaw_rad:.2f} rad) "
                f"but robot.start is ({start.x_m:.2f}, {start.y_m:.2f}, {start.yaw_rad:.2f} rad); "
                "spawn it at {start_x}, {start_y}, {start_yaw}"
            )

    def _navigation_launch(self, trial: Trial, values: Mapping[str, object]) -> Launch:
        """Return the launch file of the navigation and its arguments, to compare two trials. The
        placeholders of a single trial are empty."""
        launch = self._bed.navigation(trial)
        constant_values = {**values, **dict.fromkeys(PER_TRIAL, "")}
        return fill_in(launch, "stack.navigation", constant_values)

    def _start_part(self, name: str, launch: LaunchSpec, values: Mapping[str, object]) -> None:
        file, arguments = fill_in(launch, f"stack.{name}", values)
        self._number += 1
        self._parts[name] = LaunchedProcess(
            f"stack.{name} ({launch.named})",
            ["roslaunch", "--wait", str(file), *arguments],
            self._logs / f"{self._number:02d}_{name}.log",
            may_exit=name == "robot",
            usual=self._usual,
        )

    def _await(
        self,
        *requirements: Requirement,
        error: type = SimulatorError,
        further_fault: Callable[[], str] = str,
    ) -> None:
        timeouts = [
            RequirementTimeout(requirement, self._stack.start_timeout_s)
            for requirement in requirements
        ]
        while True:
            self.require_alive()
            self._require_simulated_time()
            timeouts = [timeout for timeout in timeouts if not timeout.requirement.condition()]
            if not timeouts:
                return
            not_found = list(self._parts.values())[-1].node_not_found()
            expired = [timeout for timeout in timeouts if timeout.has_expired(bool(not_found))]
            if expired:
                missing = [
                    timeout
                    for timeout in timeouts
                    if timeout in expired or timeout.is_under_another_name
                ]
                # Without a node, further names can be missing because of it.
                further_text = "" if not_found else further_fault()
                raise self._missing_error(missing, not_found, further_text, error)
            time.sleep(POLL_S)

    def _missing_error(
        self, limits: Sequence[RequirementTimeout], not_found: str, further_text: str, error: type
    ) -> GzTestautoError:
        youngest = list(self._parts.values())[-1]
        cause = f"{youngest.name}: {not_found}; " if not_found else ""
        messages = [limit.requirement.message() for limit in limits]
        text = "; and ".join([*messages, *([further_text] if further_text else [])])
        is_wrong = not_found or any(limit.is_under_another_name for limit in limits)
        kind = ConfigurationError if is_wrong else error
        excerpt = youngest.log_excerpt(excluding=not_found, only_errors=bool(is_wrong))
        waited_s = limits[0].waited_s
        is_shortened = not_found and waited_s < self._stack.start_timeout_s
        share = " (a quarter of stack.start_timeout_s without this node)" if is_shortened else ""
        fault: GzTestautoError = kind(
            f"{self._silence}{cause}after {waited_s:.0f} s{share} {text}"
            + (f" (from {youngest.name}: {excerpt})" if excerpt else "")
        )
        return fault

    def _require_simulated_time(self) -> None:
        if not rospy.get_param("/use_sim_time", True):
            parts = list(self._parts.values())
            # roslaunch lists the parameters that it sets.
            setters = [part.name for part in parts if part.log_contains("* /use_sim_time: False")]
            culprit = (setters or [parts[-1].name])[0]
            raise ConfigurationError(
                f"{culprit} has set /use_sim_time to false, but a stack must use simulated time; "
                "pass use_sim_time:=true, or remove the parameter"
            )


def _usual_messages(all_logs: Path) -> FrozenSet[str]:
    texts = (read_file(path).decode("utf-8") for path in all_logs.glob(f"*/{USUAL_MESSAGES}"))
    return frozenset(line for text in texts for line in text.splitlines())
