"""Execution of trials on a running stack, in the process of a session.

The monitor receives the ground truth of the simulator once per control period.
"""

import dataclasses
import time
from pathlib import Path
from typing import Dict, Iterator, Mapping, Optional, Sequence, Tuple

import numpy as np
import rospy
from geometry_msgs.msg import Twist

from gz_testauto.base.errors import ConfigurationError, NavigatorError, SceneError, SimulatorError
from gz_testauto.base.observation import ModelState, Snapshot
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.base.registry import unknown_name
from gz_testauto.base.truncation import join_truncated
from gz_testauto.grid.map_server import write_map
from gz_testauto.metrics.recording import TF_SERIES
from gz_testauto.planners.interface import PlannerAborted
from gz_testauto.ros.launched_process import LaunchedProcess
from gz_testauto.ros.master import master_faults
from gz_testauto.ros.move_base import MoveBaseClient
from gz_testauto.ros.session import ProgressCallback, SessionRestartError
from gz_testauto.ros.stack.costmap_check import CostmapCheck
from gz_testauto.ros.stack.goal_tolerance import (
    LOCALIZER_ERROR_M,
    PARAMETER,
    move_base_parameters,
    recovery_warning,
    tolerance_warning,
    tolerances_in,
)
from gz_testauto.ros.stack.ground_truth import GroundTruth, require_max_gap
from gz_testauto.ros.stack.launched_stack import LaunchedStack
from gz_testauto.ros.stack.localization import EstimatedPoses, Localization
from gz_testauto.ros.stack.requirements import (
    ActionNode,
    Requirement,
    move_base_actions,
    required_topic,
    topics_of,
)
from gz_testauto.ros.stack.running_world import RunningWorld
from gz_testauto.ros.stack.topic_monitor import StackMonitor
from gz_testauto.ros.stack.trial_bag import TrialBag
from gz_testauto.ros.stack.world_update import WorldUpdater
from gz_testauto.ros.tracked_objects import TrafficPublisher
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.simulators.gazebo_ros.client import GazeboRosClient
from gz_testauto.simulators.interface import Scene, Simulation
from gz_testauto.trial.actors import TrialActors, pushed_links
from gz_testauto.trial.executor import TrialResult, scene_faults
from gz_testauto.trial.launch_files import placeholder_values
from gz_testauto.trial.localization import ARRIVED_GRACE_S, localization_errors
from gz_testauto.trial.monitor import TrialMonitor
from gz_testauto.trial.recorder import CycleTimes
from gz_testauto.trial.static_maps import MapInputs
from gz_testauto.trial.termination import TrialEnd
from gz_testauto.trial.testbed import StackTestBed
from gz_testauto.trial.trial import Trial

# simulated time to wait for scans of the new world, before and after costmaps are cleared
SETTLE_S = 1.0

CHECK_INTERVAL_S = 0.25  # wall time between two checks of the stack's processes


class StackTrialRunner:
    """A runner of the trials of a stack on one ROS master.

    ``report`` is called repeatedly with the current activity: a session without progress reports
    counts as hung.
    """

    def __init__(
        self,
        bed: StackTestBed,
        logs: Path,
        bags: Path,
        home: Path,
        core: LaunchedProcess,
        report: ProgressCallback,
    ) -> None:
        self._bed = bed
        self._stack = bed.spec.stack
        self._logs, self._bags, self._home = logs, bags, home
        self._report = report
        names = self._stack.names
        self._gazebo = gazebo = GazeboRosClient(answer_timeout_s=bed.spec.limits.stall_timeout_s)
        self._running = LaunchedStack(bed, logs, core, gazebo)
        self._truth = GroundTruth(gazebo, names.contacts)
        self._localization = Localization(self._stack)
        self._estimated_poses = EstimatedPoses(self._localization)
        self._move_base = MoveBaseClient(
            names.action, self._stack.start_timeout_s / 4, self._stack.frames.map, names.recovery
        )
        self._stack_monitor = StackMonitor(self._stack, self._localization)  # the last subscriber
        self._costmap = CostmapCheck(bed, self._localization)
        self._updater = WorldUpdater(gazebo, report)
        self._halt = rospy.Publisher(names.cmd_vel, Twist, queue_size=1)
        self._traffic = TrafficPublisher(bed)
        self._maps: Dict[MapInputs, Path] = {}
        self._node: Optional[ActionNode] = None
        self._notices: Tuple[str, ...] = ()
        self._rest_m = 0.0
        self._seen_s = 0.0
        self._checked_s = 0.0

    def execute(self, trial: Trial) -> TrialResult:
        actors = self._bed.actors(trial)
        monitor = self._bed.monitor(trial, actors.all_models)
        try:
            with scene_faults(repeatable=False):
                return self._run(trial, monitor, actors)
        finally:
            actors.close()

    def _run(self, trial: Trial, monitor: TrialMonitor, actors: TrialActors) -> TrialResult:
        try:
            with master_faults():
                self._prepare(trial, monitor, actors)
                self._running.store_usual_messages()
                result = self._drive_recorded(trial, monitor, actors)
        except (SessionRestartError, SceneError):
            raise
        except (SimulatorError, NavigatorError) as error:
            self._report("checking whether a process died")
            self._running.raise_process_failure(error)
            raise
        return actors.complete(result)

    def _drive(self, trial: Trial, monitor: TrialMonitor, actors: TrialActors) -> TrialResult:
        self._report("sending the goal")
        self._truth.begin()
        world = self._running_world(trial, actors)
        simulation = actors.simulation(world, self._bed.robot.name)
        first = simulation.snapshot()
        self._traffic.publish(first)
        self._stack_monitor.begin(first.time_s)
        self._estimated_poses.begin()
        self._estimated_poses.add(first.time_s)
        self._seen_s = began_s = time.monotonic()
        self._move_base.begin(monitor.goal)
        verdict = self._run_until_verdict(monitor, first, simulation)
        wall_s = self._seen_s - began_s  # until the last snapshot, since a planner can abort later
        self._report("ending the goal")  # after an error, all processes are ended
        self._end_goal()
        if self._bed.spec.changes_worlds or actors.all_models:
            world.rest([model.name for model in actors.all_models])
        return self._result(monitor, verdict, wall_s)

    def _running_world(self, trial: Trial, actors: TrialActors) -> RunningWorld:
        bed, robot = self._bed, self._bed.robot
        world = trial.world
        obstacles = bed.obstacles(world).initial_states
        return RunningWorld(
            self._gazebo,
            self._truth,
            Scene(
                world.path,
                robot if isinstance(robot, RobotModel) else None,
                trial.mission.start,
                models=actors.models,
            ),
            robot.name,
            (*obstacles, *(model.name for model in actors.all_models)),
            bed.spec.control_period_s,
            bed.spec.limits.stall_timeout_s,
            self._check_progress,
            self._pushed_links(),
        )

    def _pushed_links(self) -> Tuple[str, ...]:
        """Return the scoped names of the robot's links to which the campaign applies forces. The
        result is empty if the robot has a model file. Raises ``ConfigurationError`` if a link does
        not exist."""
        robot = self._bed.robot
        links = pushed_links(self._bed.spec, robot.name)
        if not links or isinstance(robot, RobotModel):
            return ()
        existing = self._gazebo.links_of([robot.name]).get(robot.name, ())
        for name in links:
            if name not in existing:
                raise ConfigurationError(
                    f"push: {unknown_name('link of the robot', name, existing)}; Gazebo joins "
                    "links that are connected by fixed joints"
                )
        return links

    def _check_progress(self) -> None:
        self._move_base.check_status()
        if time.monotonic() - self._checked_s > CHECK_INTERVAL_S:
            self._checked_s = time.monotonic()
            self._running.require_alive()
            self._report("driving")

    def _drive_recorded(
        self, trial: Trial, monitor: TrialMonitor, actors: TrialActors
    ) -> TrialResult:
        spec = self._stack.bag
        if spec is None:
            return self._drive(trial, monitor, actors)
        self._report("starting rosbag")
        log_file = self._logs / f"rosbag_{trial.label}.log"
        bag = TrialBag(spec, self._bags, trial.label, log_file, self._stack.start_timeout_s)
        has_reached = False
        try:
            result = self._drive(trial, monitor, actors)
            has_reached = result.outcome.success
            return result
        finally:
            self._report("stopping rosbag")
            bag.end(has_reached)

    def _prepare(self, trial: Trial, monitor: TrialMonitor, actors: TrialActors) -> None:
        running_stack, stack = self._running, self._stack
        values = placeholder_values(
            self._bed.spec, trial, self._write_static_map(trial), self._logs
        )
        warm = running_stack.simulating
        if warm:
            try:
                self._reset(trial, values)
                self._updater.replace_actors(actors.models, actors.spare_models)
            except SimulatorError as error:
                raise SessionRestartError(error.full) from error
        else:
            self._start_simulator(trial, values)
            self._updater.replace_actors(actors.models, actors.spare_models)
        self._report("starting the navigation")
        running_stack.start_navigation(trial, values)
        self._await_interface()
        self._pushed_links()
        self._report("localizing the robot")
        monitor.require_upright(self._true_pose())
        running_stack.require_start(trial, self._true_planar_pose())
        self._traffic.begin(trial, actors)
        try:
            self._localization.establish(
                self._true_planar_pose, stack.start_timeout_s, running_stack.require_alive
            )
        except NavigatorError as error:
            if warm:  # for example, odometry that does not follow a moved robot
                raise SessionRestartError(error.full) from error
            raise
        self._wait_simulated(SETTLE_S)
        has_cleared = self._localization.clear_costmaps()
        self._wait_simulated(SETTLE_S)
        node = "" if self._node is None else self._node.name
        parameters = move_base_parameters(node) if node else {}
        tolerances_m = tolerances_in(parameters, node)
        self._report("reading the goal tolerance", self._tolerance_warning(tolerances_m))
        stuck_window_s = self._bed.spec.limits.stuck_window_s
        self._report("reading the patience", recovery_warning(parameters, node, stuck_window_s))
        self._report("checking the costmap")
        try:
            without_costmap = self._costmap.require_marks(
                trial,
                self._true_states,
                lambda: self._stack_monitor.scan,
                running_stack.require_alive,
                actors.models,
            )
        except NavigatorError as error:
            if warm:  # for example, sensors with an obstacle at its previous pose
                raise SessionRestartError(error.full) from error
            raise
        self._notices = tuple(self._missing_parts(without_costmap, has_cleared, tolerances_m))
        if self._notices:
            text = "; ".join(self._notices)
            self._report("checking the names", f"not available on this stack: {text}")

    def _missing_parts(
        self, without_costmap: str, has_cleared: bool, tolerances_m: Mapping[str, float]
    ) -> Iterator[str]:
        """Yield the checks and values that this stack does not have, with the causes."""
        names = self._stack.names
        if without_costmap:
            grids = join_truncated(topics_of("nav_msgs/OccupancyGrid")) or "none"
            yield f"costmap check, {without_costmap} (stack.names.costmap; existing: {grids})"
        if not has_cleared:
            yield f"clearing of costmaps, no service {names.clear_costmaps}"
        if not tolerances_m:
            yield f"check of the goal tolerance, no {PARAMETER} below the node of {names.action}"
        for value, key, topics, kind in (
            ("velocity commands", "cmd_vel", [names.cmd_vel], "geometry_msgs/Twist"),
            ("global plans", "global_plan", names.global_plan, "nav_msgs/Path"),
            ("local plans", "local_plan", names.local_plan, "nav_msgs/Path"),
            ("recoveries", "recovery", [names.recovery], "move_base_msgs/RecoveryStatus"),
        ):
            existing = topics_of(kind)
            if topics and not {*map(rospy.resolve_name, topics)} & {*existing}:
                listed = join_truncated(existing) or "none"
                yield f"{value}, no topic of stack.names.{key} (existing: {listed})"

    def _start_simulator(self, trial: Trial, values: Mapping[str, object]) -> None:
        self._report("starting the simulator")
        world = trial.world
        scene = self._bed.world_scene(world)
        self._running.start_simulator(values, scene.models.keys())
        robot = self._bed.robot.name
        self._rest_m = self._truth.request_snapshot(robot, ()).models[robot].pose.position[2]
        self._updater.set_started_world(world.path, scene)

    def _reset(self, trial: Trial, values: Mapping[str, object]) -> None:
        """Stop the robot, move it to its start, which is free in every world, then change the
        world. Stop a navigation that this trial cannot use."""
        running_stack = self._running
        running_stack.require_alive()
        self._report("resetting the robot")
        if not running_stack.runs_navigation_of(trial, values):
            running_stack.end_navigation()
        self._halt.publish(Twist())  # turning wheels would move the robot from its start
        self._wait_simulated(SETTLE_S)
        start = trial.mission.start.to_pose()
        resting_pose = Pose((*start.position[:2], self._rest_m), start.quaternion)
        self._updater.place({self._bed.robot.name: resting_pose})
        self._localization.forget()
        world = trial.world
        self._updater.change_to(world.path, self._bed.world_scene(world))

    def _wait_simulated(self, simulated_s: float) -> None:
        now_s = rospy.get_rostime().to_sec()
        stall_timeout_s = self._bed.spec.limits.stall_timeout_s
        self._truth.await_time(
            now_s + simulated_s, now_s, stall_timeout_s, self._running.require_alive
        )

    def _await_interface(self) -> None:
        names = self._stack.names
        self._running.await_requirements(
            [
                Requirement(
                    lambda: self._move_base.connected,
                    f"no action server {names.action}",
                    "start move_base in stack.navigation, or set stack.names.action to its action",
                    kind="other actions of the same type",
                    name=names.action,
                    existing=move_base_actions,
                ),
                required_topic(
                    lambda: self._stack_monitor.odom_received,
                    names.odom,
                    "nav_msgs/Odometry",
                    "set stack.names.odom to the topic of the odometry",
                ),
                required_topic(
                    lambda: self._stack_monitor.scan_received,
                    names.scan,
                    "sensor_msgs/LaserScan",
                    "set stack.names.scan to the topic of the laser",
                ),
            ],
            self._localization.wrong_frames,
        )
        self._node = ActionNode.of(self._stack.names.action)
        self._require_names_of(self._node)

    def _require_names_of(self, node: Optional[ActionNode]) -> None:
        names = self._stack.names
        corrected = {} if node is None else node.corrected_names(names)
        if node is None or not corrected:
            return
        entries = ", ".join(
            f"{key}: {name if isinstance(name, str) else '[' + ', '.join(name) + ']'}"
            for key, name in corrected.items()
        )
        raise ConfigurationError(
            f"the action {names.action} is served by the node {node.name}, whose topics have other "
            f"names; set stack.names: {{{entries}}}"
        )

    def _run_until_verdict(
        self, monitor: TrialMonitor, first: Snapshot, simulation: Simulation
    ) -> TrialEnd:
        period_s = self._bed.spec.control_period_s
        verdict = monitor.observe(first)
        arrived_s: Optional[float] = None
        while verdict is None:
            command = self._stack_monitor.sample()
            if command is not None:
                monitor.commanded(command)
            try:
                snapshot = simulation.step(period_s)
            except PlannerAborted as aborted:
                return monitor.planner_aborted(str(aborted))
            self._seen_s = time.monotonic()
            self._estimated_poses.add(snapshot.time_s)
            self._traffic.publish(snapshot)
            verdict = monitor.observe(snapshot)
            if monitor.goal_is_new:
                self._move_base.send_next(monitor.goal)
                arrived_s = None
            if verdict is None and self._move_base.succeeded:
                arrived_s = snapshot.time_s if arrived_s is None else arrived_s
                if snapshot.time_s - arrived_s >= ARRIVED_GRACE_S:
                    verdict = monitor.reported_arrival(self._false_arrival_text(monitor))
        return verdict

    def _false_arrival_text(self, monitor: TrialMonitor) -> str:
        distance_m = monitor.goal.distance_to(monitor.pose.x_m, monitor.pose.y_m)
        report = (
            f"reported the goal reached, {distance_m:.2f} m from it (goal.tolerance_m is "
            f"{self._bed.spec.goal.tolerance_m:g})"
        )
        estimated_pose = self._localization.estimated_pose()
        if estimated_pose is None:
            return report
        goal, true_pose = monitor.goal, monitor.pose
        return (
            f"{report}; tf has the robot at ({estimated_pose.x_m:.2f}, {estimated_pose.y_m:.2f}), "
            f"{goal.distance_to(estimated_pose.x_m, estimated_pose.y_m):.2f} m from the goal and "
            f"{true_pose.distance_to(estimated_pose.x_m, estimated_pose.y_m):.2f} m from its "
            "true position"
        )

    def _tolerance_warning(self, tolerances_m: Mapping[str, float]) -> str:
        spec, localization = self._bed.spec, self._localization
        estimated_pose, true_pose = localization.estimated_pose(), self._true_planar_pose()
        error_m = LOCALIZER_ERROR_M if localization.has_localizer else 0.0
        if estimated_pose is not None:
            error_m = max(error_m, true_pose.distance_to(estimated_pose.x_m, estimated_pose.y_m))
        return tolerance_warning(tolerances_m, spec.goal.tolerance_m, error_m)

    def _end_goal(self) -> None:
        try:
            self._move_base.end()
        except NavigatorError as error:  # the trial is over, and the next trial restarts navigation
            rospy.logwarn("%s", error)
            self._running.end_navigation()

    def _result(self, monitor: TrialMonitor, verdict: TrialEnd, wall_s: float) -> TrialResult:
        self._stack_monitor.sample()
        cycles_s = self._stack_monitor.cycle_times_s
        result = monitor.result(verdict, CycleTimes(cycles_s, np.empty(0)), wall_s)
        gap_s = float(np.diff(result.recording.time_s).max(initial=0.0))
        require_max_gap(gap_s, self._stack.max_truth_gap_s)
        poses = self._estimated_poses.array()
        numbers = {
            "truth_gap_s": gap_s,
            "recoveries": self._move_base.recovery_count,
            **localization_errors(poses, result.recording.pose),
            **self._stack_monitor.numbers(),
        }
        recording = dataclasses.replace(
            result.recording,
            series={**result.recording.series, **self._stack_monitor.series(), TF_SERIES: poses},
            numbers=numbers,
        )
        return dataclasses.replace(result, recording=recording, notices=self._notices)

    def _true_states(self, models: Sequence[str]) -> Mapping[str, ModelState]:
        return self._truth.request_snapshot(self._bed.robot.name, models).models

    def _true_pose(self) -> Pose:
        return self._true_states(())[self._bed.robot.name].pose

    def _true_planar_pose(self) -> Pose2D:
        return self._true_pose().planar

    def _write_static_map(self, trial: Trial) -> Path:
        static_map = self._bed.static_map
        inputs = static_map.inputs(trial.world, trial.mission)
        if inputs not in self._maps:
            name = f"map_{len(self._maps)}"
            self._maps[inputs] = write_map(static_map.grid(inputs), self._home, name)[0]
        return self._maps[inputs]
