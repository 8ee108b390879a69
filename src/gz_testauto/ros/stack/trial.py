"""One trial after the other on a running stack, watched by ground truth.

Owns the way of a trial: everything started or put back, the goal sent, truth shown to the watch
once per control period, the goal ended, and what the stack told put into the result. Runs in
the process of :mod:`~gz_testauto.ros.stack.session`, which is the only one that speaks ROS.
"""

import contextlib
import dataclasses
import time
from pathlib import Path
from typing import Callable, Dict, Iterator, Mapping, Optional, Sequence

import numpy as np
import rospy
from geometry_msgs.msg import Twist

from gz_testauto.base.errors import NavigatorError, SceneError, SimulatorError
from gz_testauto.base.observation import ModelState, Snapshot
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.grid.map_server import write_map
from gz_testauto.planners.interface import PlannerGaveUp
from gz_testauto.ros.launched_process import LaunchedProcess
from gz_testauto.ros.master import master_faults
from gz_testauto.ros.move_base import MoveBaseClient
from gz_testauto.ros.stack.bag import TrialBag
from gz_testauto.ros.stack.costmap_check import CostmapCheck
from gz_testauto.ros.stack.ground_truth import GroundTruth
from gz_testauto.ros.stack.launched_stack import LaunchedStack
from gz_testauto.ros.stack.localization import Localization
from gz_testauto.ros.stack.protocol import CannotSwap, StackSessionSettings
from gz_testauto.ros.stack.real_time_factor import cap_pace, require_truth
from gz_testauto.ros.stack.requirements import Awaited, awaited_topic, move_base_actions
from gz_testauto.ros.stack.running_world import RunningWorld
from gz_testauto.ros.stack.topic_monitor import Listening
from gz_testauto.ros.stack.traffic import TrafficPublisher
from gz_testauto.ros.stack.world_update import WorldSwap
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.simulators.gazebo_ros.client import GazeboRosClient
from gz_testauto.simulators.interface import Scene, Simulation
from gz_testauto.trial.actors import TrialActors
from gz_testauto.trial.executor import TrialResult, scene_faults
from gz_testauto.trial.judge import Verdict
from gz_testauto.trial.launch_files import placeholder_values
from gz_testauto.trial.monitor import TrialMonitor
from gz_testauto.trial.plan import Trial
from gz_testauto.trial.recorder import CycleTimes
from gz_testauto.trial.route import MappedDrive

ARRIVED_GRACE_S = 1.0
"""Simulated time after the stack reports success until a robot that is not there has failed."""
SETTLE_S = 1.0
"""Simulated time for scans of the new world to come, before and after costmaps are cleared."""

LOOK_AROUND_S = 0.25
"""Wall time between two looks at the processes that run."""

Tell = Callable[[str], None]


class StackDrive:
    """Runs trials on one ROS master. ``tell`` is told what is being done, often: silence means
    that something hangs."""

    def __init__(
        self, settings: StackSessionSettings, home: Path, core: LaunchedProcess, tell: Tell
    ) -> None:
        campaign, logs = settings.campaign, settings.logs
        self._campaign = campaign
        self._stack = campaign.spec.stack
        self._logs, self._bags, self._home = logs, settings.bags, home
        self._tell = tell
        names = self._stack.names
        self._gazebo = gazebo = GazeboRosClient(
            answer_timeout_s=campaign.spec.limits.stall_timeout_s
        )
        self._running = LaunchedStack(campaign, logs, core, gazebo)
        self._truth = GroundTruth(gazebo, names.contacts)
        self._localization = Localization(self._stack)
        self._move_base = MoveBaseClient(
            names.action, self._stack.start_timeout_s / 4, self._stack.frames.map, names.recovery
        )
        self._listening = Listening(self._stack)  # the last to subscribe
        self._costmap = CostmapCheck(campaign, self._localization)
        self._swap = WorldSwap(gazebo, tell)
        self._halt = rospy.Publisher(names.cmd_vel, Twist, queue_size=1)
        self._traffic = TrafficPublisher(campaign)
        self._maps: Dict[MappedDrive, Path] = {}
        self._rest_m = 0.0
        self._seen_s = 0.0
        self._looked_s = 0.0

    def execute(self, trial: Trial) -> TrialResult:
        """Run one trial; raises as ``TrialExecutor.execute`` does."""
        actors = self._campaign.actors(trial)
        watch = self._campaign.watch(trial, actors.all_models)
        try:
            with scene_faults(repeatable=False):
                return self._run(trial, watch, actors)
        finally:
            actors.close()

    def _run(self, trial: Trial, watch: TrialMonitor, actors: TrialActors) -> TrialResult:
        """From starting what the trial needs to its end, and who is to blame where it fails."""
        try:
            with master_faults():
                self._prepare(trial, watch, actors)
                with self._recorded(trial) as note:
                    result = note.result = self._drive(trial, watch, actors)
        except (CannotSwap, SceneError):
            raise
        except (SimulatorError, NavigatorError) as error:
            self._tell("looking whether a process died")
            self._running.blame(error)
            raise
        return actors.complete(result)

    def _drive(self, trial: Trial, watch: TrialMonitor, actors: TrialActors) -> TrialResult:
        """From the goal to the end."""
        self._tell("sending the goal")
        self._truth.begin()
        world = self._running_world(trial, actors)
        simulation = actors.simulation(world, self._campaign.robot.name)
        first = simulation.snapshot()
        self._traffic.show(first)
        self._listening.begin(first.time_s)
        self._seen_s = began_s = time.monotonic()
        self._move_base.begin(watch.goal)
        verdict = self._follow(watch, first, simulation)
        wall_s = self._seen_s - began_s  # of what was seen: a planner may give up between looks
        self._tell("ending the goal")  # after an error, everything is ended
        self._end_goal()
        if self._campaign.spec.changes_worlds or actors.all_models:
            world.rest([model.name for model in actors.all_models])
        return self._result(watch, verdict, wall_s)

    def _running_world(self, trial: Trial, actors: TrialActors) -> RunningWorld:
        campaign, robot = self._campaign, self._campaign.robot
        record = campaign.world(trial)
        obstacles = campaign.obstacles(record).initial_states
        return RunningWorld(
            self._gazebo,
            self._truth,
            Scene(
                record.path,
                robot if isinstance(robot, RobotModel) else None,
                campaign.missions.start_in(trial.world),
                models=actors.models,
            ),
            robot.name,
            (*obstacles, *(model.name for model in actors.all_models)),
            campaign.spec.control_period_s,
            campaign.spec.limits.stall_timeout_s,
            self._look_around,
        )

    def _look_around(self) -> None:
        """What is done while waiting for the end of a period."""
        self._move_base.look()
        if time.monotonic() - self._looked_s > LOOK_AROUND_S:
            self._looked_s = time.monotonic()
            self._running.require_alive()
            self._tell("driving")

    @contextlib.contextmanager
    def _recorded(self, trial: Trial) -> Iterator["_Note"]:
        """Record a bag meanwhile, where the campaign wants bags."""
        note = _Note()
        spec = self._stack.bag
        if spec is None:
            yield note
            return
        self._tell("starting rosbag")
        log_file = self._logs / f"rosbag_{trial.label}.log"
        bag = TrialBag(spec, self._bags, trial.label, log_file, self._stack.start_timeout_s)
        try:
            yield note
        finally:
            self._tell("ending rosbag")
            bag.end(note.result is not None and note.result.outcome.success)

    def _prepare(self, trial: Trial, watch: TrialMonitor, actors: TrialActors) -> None:
        """Have everything running, the robot at its start and the stack ready for a goal."""
        running, stack = self._running, self._stack
        values = placeholder_values(self._campaign, trial, self._map(trial), self._logs)
        warm = running.simulating
        if warm:
            try:
                self._put_back(trial, values)
                self._swap.replace_actors(actors.models, actors.spare_models)
            except SimulatorError as error:
                raise CannotSwap(error.full) from error
        else:
            self._start_simulator(trial, values)
            self._swap.replace_actors(actors.models, actors.spare_models)
        self._tell("starting the navigation")
        running.start_navigation(trial, values)
        self._await_contract()
        self._tell("localizing the robot")
        watch.require_standing(self._true_pose())
        running.require_start(trial, self._true_place())
        self._traffic.begin(trial, actors)
        try:
            self._localization.establish(
                self._true_place, stack.start_timeout_s, running.require_alive
            )
        except NavigatorError as error:
            if warm:  # as with odometry that does not follow a robot that is set down elsewhere
                raise CannotSwap(error.full) from error
            raise
        self._let_pass(SETTLE_S)
        self._localization.clear_costmaps()
        self._let_pass(SETTLE_S)
        self._tell("looking at the costmap")
        try:
            self._costmap.require_marks(
                trial,
                self._true_states,
                lambda: self._listening.scan,
                running.require_alive,
                actors.models,
            )
        except NavigatorError as error:
            if warm:  # as when sensors still have an obstacle where it was
                raise CannotSwap(error.full) from error
            raise

    def _start_simulator(self, trial: Trial, values: Mapping[str, object]) -> None:
        self._tell("starting the simulator")
        world = self._campaign.world(trial)
        scene = self._campaign.world_scene(world)
        self._running.start_simulator(values, scene.models.keys())
        if self._stack.max_real_time_factor is not None:
            cap_pace(self._gazebo, self._stack.max_real_time_factor)
        robot = self._campaign.robot.name
        self._rest_m = self._truth.look(robot, ()).models[robot].pose.position[2]
        self._swap.began(world.path, scene)

    def _put_back(self, trial: Trial, values: Mapping[str, object]) -> None:
        """Robot first: where it starts, every world is free."""
        running = self._running
        running.require_alive()
        self._tell("putting the robot back")
        if not running.runs_navigation_of(trial, values):
            running.end_navigation()
        self._halt.publish(Twist())  # a wheel that turns carries the robot off from its start
        self._let_pass(SETTLE_S)
        start = self._campaign.missions.start_in(trial.world).to_pose()
        place = Pose((*start.position[:2], self._rest_m), start.quaternion)
        self._swap.put_robot(self._campaign.robot.name, place)
        self._localization.forget()
        world = self._campaign.world(trial)
        self._swap.to(world.path, self._campaign.world_scene(world))

    def _let_pass(self, simulated_s: float) -> None:
        now_s = rospy.get_rostime().to_sec()
        stall_timeout_s = self._campaign.spec.limits.stall_timeout_s
        self._truth.await_time(
            now_s + simulated_s, now_s, stall_timeout_s, self._running.require_alive
        )

    def _await_contract(self) -> None:
        """What a stack must offer before a goal; ``docs/your_robot.md`` has it as a table."""
        running, names = self._running, self._stack.names
        running.await_offered(
            Awaited(
                lambda: self._move_base.connected,
                f"no action server {names.action}",
                "does the navigation's launch start move_base? stack.names.action says where it is",
                kind="others of its type",
                name=names.action,
                there=move_base_actions,
            )
        )
        running.await_offered(
            awaited_topic(
                lambda: self._listening.odom_heard,
                names.odom,
                "nav_msgs/Odometry",
                "stack.names.odom says where odometry is",
            )
        )
        running.await_offered(
            awaited_topic(
                lambda: self._listening.scan_heard,
                names.scan,
                "sensor_msgs/LaserScan",
                "stack.names.scan says where the laser is",
            )
        )

    def _follow(self, watch: TrialMonitor, first: Snapshot, simulation: Simulation) -> Verdict:
        """Show the watch the truth, period by period, until it knows how the trial ended."""
        period_s = self._campaign.spec.control_period_s
        verdict = watch.observe(first)
        arrived_s: Optional[float] = None
        while verdict is None:
            command = self._listening.sample()
            if command is not None:
                watch.commanded(command)
            try:
                snapshot = simulation.step(period_s)
            except PlannerGaveUp as gave_up:
                return watch.planner_aborted(str(gave_up))
            self._seen_s = time.monotonic()
            self._traffic.show(snapshot)
            verdict = watch.observe(snapshot)
            if watch.goal_is_new:
                self._move_base.send_next(watch.goal)
                arrived_s = None
            if verdict is None and self._move_base.succeeded:
                arrived_s = snapshot.time_s if arrived_s is None else arrived_s
                if snapshot.time_s - arrived_s >= ARRIVED_GRACE_S:
                    verdict = watch.planner_aborted(self._not_there(watch))
        return verdict

    def _not_there(self, watch: TrialMonitor) -> str:
        left_m = watch.goal.distance_to(watch.pose.x_m, watch.pose.y_m)
        return (
            f"reported the goal reached, {left_m:.2f} m from it (goal.tolerance_m is "
            f"{self._campaign.spec.goal.tolerance_m:g})"
        )

    def _end_goal(self) -> None:
        try:
            self._move_base.end()
        except NavigatorError as error:  # the trial is over; the next one starts it anew
            rospy.logwarn("%s", error)
            self._running.end_navigation()

    def _result(self, watch: TrialMonitor, verdict: Verdict, wall_s: float) -> TrialResult:
        self._listening.sample()
        cycles_s = self._listening.cycle_times_s
        result = watch.result(verdict, CycleTimes(cycles_s, np.empty(0)), wall_s)
        gap_s = float(np.diff(result.recording.time_s).max(initial=0.0))
        require_truth(gap_s, self._stack.max_truth_gap_s)
        numbers = {
            "truth_gap_s": gap_s,
            "recoveries": float(len(self._move_base.recoveries)),
            **self._listening.numbers(),
        }
        recording = dataclasses.replace(
            result.recording,
            series={**result.recording.series, **self._listening.series()},
            numbers=numbers,
        )
        return dataclasses.replace(result, recording=recording)

    def _true_states(self, others: Sequence[str]) -> Mapping[str, ModelState]:
        return self._truth.look(self._campaign.robot.name, others).models

    def _true_pose(self) -> Pose:
        return self._true_states(())[self._campaign.robot.name].pose

    def _true_place(self) -> Pose2D:
        return self._true_pose().planar

    def _map(self, trial: Trial) -> Path:
        """The known map of the trial's world as a file."""
        known = self._campaign.known_map
        shown = known.drive(self._campaign.world(trial))
        if shown not in self._maps:
            name = f"map_{len(self._maps)}"
            self._maps[shown] = write_map(known.grid(shown), self._home, name)[0]
        return self._maps[shown]


@dataclasses.dataclass
class _Note:
    """How a trial ended, for whoever waits for its end; None when it did not end well."""

    result: Optional[TrialResult] = None
