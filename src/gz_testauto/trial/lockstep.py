"""Run trials in this process and in lock-step.

Simulated time stops while a planner computes, so that the result depends neither on the load of
the computer nor on the cycle time of the planner.
"""

import contextlib
import functools
import time
from dataclasses import replace
from typing import Callable, List, NamedTuple, Optional, Sequence, Set, Tuple

import numpy as np
from threadpoolctl import threadpool_limits

from gz_testauto.actors.localization import PoseEstimator, as_estimated
from gz_testauto.actors.tracker import ObjectTracker
from gz_testauto.base.errors import SceneRejectedError, SdfError, SimulatorError, SpecError
from gz_testauto.base.observation import Snapshot, Twist2D
from gz_testauto.base.pose import Pose2D
from gz_testauto.base.sensors import Sensor
from gz_testauto.planners import make_planner
from gz_testauto.planners.interface import LocalPlanner, Observation, PlannerAborted, Task
from gz_testauto.planners.timed import TimedPlanner, warm_up
from gz_testauto.sdf.plugin_sensors import select_sensors
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.simulators.interface import PlacedRobot, Scene, Simulation, Simulator
from gz_testauto.spec.campaign import BuiltinPlannerSpec
from gz_testauto.trial.actors import TrialActors
from gz_testauto.trial.checks import require_drivable
from gz_testauto.trial.executor import (
    SimulatorIdentity,
    StopRequest,
    TrialExecutor,
    TrialResult,
    TrialStopped,
    scene_faults,
)
from gz_testauto.trial.monitor import TrialMonitor
from gz_testauto.trial.outcome import Outcome
from gz_testauto.trial.recorder import CycleTimes
from gz_testauto.trial.termination import TrialEnd
from gz_testauto.trial.testbed import BuiltinTestBed, TestBed, require_builtin
from gz_testauto.trial.trial import Trial

Listener = Callable[[Snapshot], None]


class LockstepExecutor(TrialExecutor):
    """An executor that runs all trials in the calling thread."""

    def __init__(self, bed: TestBed, open_simulator: Callable[[BuiltinTestBed], Simulator]) -> None:
        """Prepare the executor; :meth:`open` starts the simulator.

        Raises ``SpecError`` if the campaign has a navigation stack, if the robot lacks a drive
        controller, lidar or sensor, and for invalid parameters of a planner.
        """
        self._bed = require_builtin(bed)
        self._robots: List[PlacedRobot] = []  # each with the sensors of one of its planners
        for robot_bed in self._bed.robots:
            robot = robot_bed.robot
            require_drivable(robot)
            for entry in robot_bed.spec.planners:
                planner = _make_planner(entry)
                with entry.locating("plugin", "parameters"):
                    sensors = sensors_of(planner, robot, entry.name)
                self._robots.append(PlacedRobot(robot, Pose2D(0.0, 0.0, 0.0), sensors))
        self._open_simulator = open_simulator
        self._simulator: Optional[Simulator] = None
        self._thread_limit: Optional[threadpool_limits] = None
        self._warm: Set[str] = set()

    def open(self) -> None:
        # The matrices of planners are small: more threads would only take processor time from
        # other workers.
        self._thread_limit = threadpool_limits(limits=1, user_api="blas")
        for robot_bed in self._bed.robots:
            for planner in robot_bed.spec.planners:
                self._warm_up(planner, robot_bed)
        self._simulator = self._open_simulator(self._bed)
        try:
            for placed in self._robots:
                self._simulator.require_senses(placed.robot, placed.simulated)
        except SimulatorError as error:
            self._simulator.close()
            raise SpecError(str(error)) from error

    def _warm_up(self, planner: BuiltinPlannerSpec, bed: BuiltinTestBed) -> None:
        # Cycle times must not contain the compilation of a plug-in.
        if planner.plugin not in self._warm:
            warm_up(planner.plugin, planner.parameters, bed.limits, bed.spec.has_road)
            self._warm.add(planner.plugin)

    @property
    def identity(self) -> SimulatorIdentity:
        simulator = self._require_simulator()
        return SimulatorIdentity(simulator.name, simulator.version)

    def execute(self, trial: Trial, should_stop: StopRequest) -> TrialResult:
        loaded = self.load_trial(trial)
        period_s = self._bed.spec.control_period_s
        try:
            _require_whole_steps(loaded.simulation, period_s, self.identity.name)
            with scene_faults(self._require_simulator().repeatable):
                listen = self.listener(trial, loaded.robots[0])
                result = run_trial(loaded.simulation, loaded.robots, period_s, should_stop, listen)
                return loaded.actors.complete(result)
        finally:
            loaded.actors.close()

    def listener(self, trial: Trial, robot: "TrialRobot") -> Listener:
        """Return a function that is called with each snapshot after the robots have observed it.
        ``robot`` is the first robot."""
        return lambda snapshot: None

    def load_trial(
        self, trial: Trial, show_objects: bool = False, planner: Optional[LocalPlanner] = None
    ) -> "LoadedTrial":
        """Create planners and monitors of a trial, load its scene, and send the first task to each
        planner. The caller must close ``actors`` of the returned trial.

        With ``show_objects``, all planners receive tracked objects. ``planner`` replaces that of
        the first robot.
        """
        bed, simulator = self._bed.without(trial.omitted), self._require_simulator()
        actors = bed.actors(trial)
        with contextlib.ExitStack() as at_failure:
            at_failure.callback(actors.close)
            robots = tuple(
                self._make_trial_robot(
                    bed,
                    robot_bed,
                    trial,
                    actors,
                    show_objects,
                    planner if robot_bed is bed else None,
                )
                for robot_bed in bed.robots
            )
            scene = _with_sensors(bed.scene(trial), [robot.sensors for robot in robots])
            simulation = actors.simulation(simulator.load(actors.scene(scene)))
            for robot in robots:
                robot.start()
            at_failure.pop_all()
        return LoadedTrial(simulation, robots, actors)

    def _make_trial_robot(
        self,
        bed: BuiltinTestBed,
        robot_bed: BuiltinTestBed,
        trial: Trial,
        actors: TrialActors,
        show_objects: bool,
        planner: Optional[LocalPlanner],
    ) -> "TrialRobot":
        other_robots = bed.robots_as_models(trial, without=robot_bed.robot.name)
        if planner is None:
            spec = robot_bed.planner(trial)
            self._warm_up(spec, robot_bed)
            planner = _make_planner(spec)
        shows = show_objects or planner.wants_objects
        tracker = robot_bed.tracker(trial, actors, other_robots) if shows else None
        return TrialRobot(
            TimedPlanner(planner),
            robot_bed.monitor(trial, (*actors.all_models, *other_robots)),
            functools.partial(robot_bed.task, trial),
            None if robot_bed is bed else robot_bed.robot.name,
            tracker,
            sensors_of(planner, robot_bed.robot, trial.planner.name),
        )

    def recover(self) -> None:
        self.close()
        self.open()

    def close(self) -> None:
        if self._simulator is not None:
            self._simulator.close()
            self._simulator = None
        if self._thread_limit is not None:
            self._thread_limit.restore_original_limits()
            self._thread_limit = None

    def _require_simulator(self) -> Simulator:
        if self._simulator is None:
            raise SimulatorError("the simulator is not running; call open() first")
        return self._simulator


class LoadedTrial(NamedTuple):
    simulation: Simulation
    robots: "Tuple[TrialRobot, ...]"
    actors: TrialActors


class TrialRobot:
    """A robot in a trial, with its planner and its monitor.

    ``tasks(n)`` returns the planner's task after n reached goals. ``name`` is None for the first
    robot. ``sensors`` are the sensors that the planner reads in addition to the scan.
    """

    def __init__(
        self,
        planner: TimedPlanner,
        monitor: TrialMonitor,
        tasks: Callable[[int], Task],
        name: Optional[str] = None,
        tracker: Optional[ObjectTracker] = None,
        sensors: Tuple[Sensor, ...] = (),
    ) -> None:
        self.name = name
        self.sensors = sensors
        self.verdict: Optional[TrialEnd] = None
        self._planner, self._monitor, self._tasks = planner, monitor, tasks
        self._tracker = tracker
        self._is_stopped = False

    def start(self) -> None:
        self._planner.begin(self._tasks(0))

    def observe(self, snapshot: Snapshot) -> None:
        if self.verdict is None:
            self.verdict = self._monitor.observe(self._select_robot(snapshot))
            if self._tracker is not None:
                self._tracker.observe(snapshot)

    def run_cycle(self, simulation: Simulation, snapshot: Snapshot) -> None:
        if self.verdict is None:
            if self.task_is_new:
                self._planner.begin(self.task)
            try:
                command = self._planner.plan(self.observation(snapshot))
            except PlannerAborted as aborted:
                self.verdict = self._monitor.planner_aborted(str(aborted))
            else:
                self.command(command, simulation)
        else:
            self.stop(simulation)

    @property
    def estimator(self) -> Optional[PoseEstimator]:
        """The simulated localization; None if it is exact."""
        return self._monitor.estimator

    @property
    def task_is_new(self) -> bool:
        """True if :attr:`task` has changed with the latest snapshot."""
        return self._monitor.goal_is_new

    @property
    def task(self) -> Task:
        return self._tasks(self._monitor.visited)

    def observation(self, snapshot: Snapshot) -> Observation:
        return self.estimated(self.true_observation(snapshot))

    def estimated(self, true_observation: Observation) -> Observation:
        """Return the observation with the true pose and twist replaced by their estimates."""
        estimator = self.estimator
        if estimator is None:
            return true_observation
        pose, objects = estimator.pose, true_observation.objects
        if objects and pose != true_observation.pose:
            objects = as_estimated(objects, true_observation.pose, pose)
        return replace(true_observation, pose=pose, twist=estimator.twist, objects=objects)

    def true_observation(self, snapshot: Snapshot) -> Observation:
        robot_snapshot, tracker = self._select_robot(snapshot), self._tracker
        objects = () if tracker is None else tracker.objects
        pose, twist = self._monitor.pose, self._monitor.twist
        sensors = {
            sensor.name: robot_snapshot.sensors[sensor.name].in_message_precision()
            for sensor in self.sensors
        }
        return Observation(
            robot_snapshot.time_s, pose, twist, robot_snapshot.scan, objects, sensors
        )

    def command(self, command: Twist2D, simulation: Simulation) -> None:
        self._monitor.commanded(command)
        simulation.drive(command, self.name)

    def stop(self, simulation: Simulation) -> None:
        if not self._is_stopped:
            simulation.drive(Twist2D(), self.name)
            self._is_stopped = True

    def result(self, wall_time_s: float) -> TrialResult:
        assert self.verdict is not None, "the trial must have ended"
        result = self._monitor.result(
            self.verdict, CycleTimes(*self._planner.cycle_times_s), wall_time_s
        )
        return result.with_values(self._planner.numbers)

    def _select_robot(self, snapshot: Snapshot) -> Snapshot:
        return snapshot if self.name is None else snapshot.of_robot(self.name)


def _make_planner(spec: BuiltinPlannerSpec) -> LocalPlanner:
    with spec.locating("plugin", "parameters"):
        planner: LocalPlanner = make_planner(spec.plugin, **spec.parameters)
        return planner


def sensors_of(planner: LocalPlanner, robot: RobotModel, name: str) -> Tuple[Sensor, ...]:
    """Return the robot's sensors that a planner requires; raise ``SpecError`` if one is missing."""
    if not planner.sensors:
        return ()
    try:
        owner = f"planner {name!r}"
        return select_sensors(str(robot.path), robot.sensors, planner.sensors, owner)
    except SdfError as error:
        raise SpecError(str(error)) from error


def _with_sensors(scene: Scene, sensors_of_robots: Sequence[Tuple[Sensor, ...]]) -> Scene:
    first, *further_sensors = sensors_of_robots
    others = tuple(
        replace(robot, sensors=selected) for robot, selected in zip(scene.others, further_sensors)
    )
    return replace(scene, sensors=first, others=others)


def _require_whole_steps(simulation: Simulation, period_s: float, simulator: str) -> None:
    try:
        simulation.step_count(period_s)
    except ValueError as error:
        step_s = simulation.step_size_s
        multiple_s = max(round(period_s / step_s), 1) * step_s
        raise SceneRejectedError(
            f"control_period_s is {period_s:g}, but the physics steps of {simulator!r} are "
            f"{step_s:g} s; use a whole multiple, such as {multiple_s:g}"
        ) from error


def run_trial(
    simulation: Simulation,
    robots: Sequence[TrialRobot],
    control_period_s: float,
    should_stop: StopRequest,
    listen: Listener = lambda snapshot: None,
) -> TrialResult:
    """Run a loaded simulation until the trials of all robots have ended.

    The planners must already have received their tasks. The result is that of the first robot, with
    numbers of the other robots. Raises ``TrialStopped`` if a stop was requested.
    """
    started_s = time.monotonic()
    snapshot = simulation.snapshot()
    for robot in robots:
        robot.observe(snapshot)
    listen(snapshot)
    while any(robot.verdict is None for robot in robots):
        if should_stop():
            raise TrialStopped
        for robot in robots:
            robot.run_cycle(simulation, snapshot)
        if all(robot.verdict is not None for robot in robots):
            break  # the remaining planners have aborted
        snapshot = simulation.step(control_period_s)
        for robot in robots:
            robot.observe(snapshot)
        listen(snapshot)
    wall_time_s = time.monotonic() - started_s
    first, *companions = (robot.result(wall_time_s) for robot in robots)
    for robot, result in zip(robots[1:], companions):
        first = with_companion_result(first, str(robot.name), result)
    return first


def with_companion_result(
    main_result: TrialResult, name: str, companion_result: TrialResult
) -> TrialResult:
    recording = companion_result.recording
    values = {
        "reached": float(companion_result.outcome.success),
        "collided": float(companion_result.outcome is Outcome.COLLIDED),
        "time_s": float(recording.time_s[-1]),
        "clearance_min_m": float(np.nanmin(recording.clearance_m)),
    }
    summary = f"{name} {companion_result.outcome.value}, {companion_result.detail}".rstrip(", ")
    detail = f"{main_result.detail}; {summary}" if main_result.detail else summary
    numbers = {f"{name}_{key}": value for key, value in values.items()}
    return replace(main_result, detail=detail).with_values(numbers)
