"""Executor of trials over ROS, with the simulator and the planners in separate nodes.

A trial ends at the snapshot at which a termination rule applies, even if the simulation has since
advanced.
"""

import dataclasses
import time
from pathlib import Path
from typing import Any, Dict, Optional, Sequence, Tuple

import rospy
from geometry_msgs.msg import Pose2D

from gz_testauto.actors.world_actors import world_actors
from gz_testauto.base.errors import NavigatorError, SimulatorError, SpecError, simulator_stalled
from gz_testauto.base.ros_messages import NANOSECONDS, nanoseconds_of
from gz_testauto.planners import make_planner
from gz_testauto.planners.interface import PlannerAborted
from gz_testauto.ros.campaign import interface
from gz_testauto.ros.campaign.planner_process import PlannerProcess
from gz_testauto.ros.campaign.snapshots import PeriodSnapshot, TrialInbox
from gz_testauto.ros.graph import advertise, is_served, require_master, subscribe
from gz_testauto.ros.map_messages import grid_message, road_message
from gz_testauto.ros.move_base import MoveBaseClient
from gz_testauto.ros.planner.interface import PlannerParameters
from gz_testauto.ros.simulator.interface import (
    COMMAND_TIMEOUT_S,
    START_TIMEOUT_S,
    sensor_topic,
)
from gz_testauto.spec.campaign import BuiltinCampaignSpec
from gz_testauto.srv import LoadScene, LoadSceneRequest, LoadSceneResponse
from gz_testauto.trial.actors import require_unmoved_robot
from gz_testauto.trial.executor import (
    SimulatorIdentity,
    StopRequest,
    TrialExecutor,
    TrialResult,
    TrialStopped,
    scene_faults,
)
from gz_testauto.trial.localization import ARRIVED_GRACE_S
from gz_testauto.trial.lockstep import sensors_of
from gz_testauto.trial.monitor import TrialMonitor
from gz_testauto.trial.static_maps import MapInputs
from gz_testauto.trial.termination import TrialEnd
from gz_testauto.trial.testbed import TestBed, require_builtin
from gz_testauto.trial.trial import Trial

SERVER_TIMEOUT_S = 60.0
POLL_S = 0.05
SIMULATOR = "/simulator"
ALIVE_TIMEOUT_S = 5.0  # wall time in which a running simulator node accepts a connection
LATE_PERIODS = "late_periods"


class Lateness:
    """A counter of late control periods: those that started before the planner's command for the
    previous snapshot.

    In lock-step, a late period makes the trial invalid. ``limits_s`` are the longest wall times for
    which simulated time is held, per period and for the first command.
    """

    def __init__(self, planner: str, limits_s: Tuple[float, float]) -> None:
        self._planner = planner
        self._limits_s = limits_s
        self._was_held = True
        self._late_count = 0

    def record(self, period: PeriodSnapshot, unused: Sequence[str] = ()) -> None:
        """Record a control period; ``unused`` is the result of :meth:`TrialInbox.unused`.

        Raises ``NavigatorError`` in lock-step if the period is late or ``unused`` is not empty.
        """
        self._was_held = period.held
        self._late_count += period.late
        time_s = period.snapshot.time_s
        if period.held and period.late:
            first = period.command is None
            argument = "start_timeout" if first else "command_timeout"
            limit_s = self._limits_s[first]
            raise NavigatorError(
                f"{self._planner} sent no command in {limit_s:g} s of wall time for the period up "
                f"to {time_s:.2f} s, since it needs more time or this machine is overloaded; "
                f"increase the limit with campaign.launch {argument}:=SECONDS"
            )
        if period.held and unused:
            raise NavigatorError(
                f"a measurement ({unused[0]}) before {time_s:.2f} s reached {self._planner} too "
                "late for planning, since this machine is overloaded; run fewer processes on it"
            )

    @property
    def numbers(self) -> Dict[str, float]:
        """The number of late periods; {} in lock-step."""
        return {} if self._was_held else {LATE_PERIODS: float(self._late_count)}


class RosTrialExecutor(TrialExecutor):
    """An executor that uses a running simulator node and starts planner nodes."""

    def __init__(
        self,
        bed: TestBed,
        log_directory: Path,
        should_stop: StopRequest,
    ) -> None:
        """Register the topics; ``should_stop`` is called while the simulator node is awaited."""
        self._bed = require_builtin(bed)
        _require_ros_support(self._bed.spec)
        self._sensors = {
            planner.name: sensors_of(
                make_planner(planner.plugin, **planner.parameters),
                self._bed.robot,
                planner.name,
            )
            for planner in self._bed.spec.planners
        }
        self._should_stop = should_stop
        self._log_directory = log_directory
        self._inbox = TrialInbox()
        self._planners: Dict[str, Tuple[PlannerProcess, rospy.Subscriber]] = {}
        self._map = advertise(interface.MAP)
        self._published_map: Optional[MapInputs] = None
        self._road = advertise(interface.ROAD) if self._bed.spec.has_road else None

    def open(self) -> None:
        service = f"{SIMULATOR}/load_scene"
        deadline = time.monotonic() + SERVER_TIMEOUT_S
        while not (self._inbox.connected and is_served(service, 0.5)):
            if self._should_stop() or rospy.is_shutdown():
                raise TrialStopped
            error = rospy.get_param(f"{SIMULATOR}/error", "")
            if error:
                raise SimulatorError(error)
            if time.monotonic() > deadline:
                raise SimulatorError(
                    f"the service {service} is not available after {SERVER_TIMEOUT_S:g} s; start "
                    "the simulator node, or use campaign.launch"
                )
            time.sleep(0.1)
        self._load_scene = rospy.ServiceProxy(service, LoadScene)

    @property
    def identity(self) -> SimulatorIdentity:
        identity = self._identity_parameter()
        return SimulatorIdentity(identity.get("name", "unknown"), identity.get("version", ""))

    @require_master()
    def execute(self, trial: Trial, should_stop: StopRequest) -> TrialResult:
        """Run one trial as in ``TrialExecutor.execute``. Raises ``MasterError`` if the ROS master
        has exited; this does not count as an attempt."""
        actors = self._bed.actors(trial)
        monitor = self._bed.monitor(trial, actors.all_models)
        planner = self._get_planner_process(trial)
        self._publish_map(trial)
        self._inbox.clear()
        scene = self._load(trial)
        self._publish_road(trial, scene.stamp)
        began_s = time.monotonic()
        # With this stamp the planner ignores odometry of earlier scenes.
        planner.seed(self._bed.planner_seed(trial))
        planner.move_base.begin(monitor.goal, scene.stamp)
        lateness = Lateness(planner.name, self._hold_limits_s())
        try:
            with scene_faults(bool(self._identity_parameter().get("repeatable", False))):
                verdict, last_period = self._run_until_verdict(
                    trial, monitor, planner, scene, lateness, should_stop
                )
        except TrialStopped:
            planner.move_base.end()
            raise
        planner.move_base.end()  # recover() stops all planners after an error
        cycles = self._inbox.cycle_times(scene.stamp.to_nsec(), last_period.stamp_ns)
        result = monitor.result(verdict, cycles, time.monotonic() - began_s)
        return result.with_values({**lateness.numbers, **last_period.numbers, **actors.numbers})

    def recover(self) -> None:
        """Stop all planner nodes, whose state is unknown, and wait for the simulator node."""
        self.close()
        self.open()

    def close(self) -> None:
        """Stop the planner nodes, but not the simulator node."""
        for name, (process, cycles) in list(self._planners.items()):
            cycles.unregister()
            process.close()
            del self._planners[name]

    def _run_until_verdict(
        self,
        trial: Trial,
        monitor: TrialMonitor,
        planner: PlannerProcess,
        scene: LoadSceneResponse,
        lateness: Lateness,
        should_stop: StopRequest,
    ) -> Tuple[TrialEnd, PeriodSnapshot]:
        stall_timeout_s = self._bed.spec.limits.stall_timeout_s
        verdict: Optional[TrialEnd] = None
        last_period: Optional[PeriodSnapshot] = None
        progress_s = time.monotonic()
        while verdict is None or last_period is None:
            if should_stop():
                raise TrialStopped
            planner.require_alive()
            period = self._inbox.next(scene.scene, POLL_S)
            reason = None if last_period is None else self._inbox.abort_reason(last_period.stamp_ns)
            if reason is not None:
                verdict = _end_at_abort(monitor, reason)
            elif period is not None:
                lateness.record(period, self._inbox.unused(period.stamp_ns))
                if last_period is not None and period.command is not None:
                    monitor.commanded(period.command)
                verdict = monitor.observe(period.snapshot)
                last_period, progress_s = period, time.monotonic()
                if monitor.goal_is_new:
                    planner.seed(self._bed.planner_seed(trial, monitor.visited))
                    planner.move_base.send_next(monitor.goal, self._goal_stamp(period))
            elif (
                last_period is not None and (reason := _abort_reason(planner.move_base)) is not None
            ):
                verdict = _end_at_abort(monitor, reason)
            elif time.monotonic() - progress_s > stall_timeout_s:
                raise simulator_stalled(stall_timeout_s)
        return verdict, last_period

    def _goal_stamp(self, period: PeriodSnapshot) -> rospy.Time:
        # With a stamp in the middle of the next control period, the planner computes one command
        # for each observation, even though it stops the robot at the end of a goal.
        period_ns = nanoseconds_of(0.5 * self._bed.spec.control_period_s)
        return rospy.Time(*divmod(period.stamp_ns + period_ns, NANOSECONDS))

    def _identity_parameter(self) -> Dict[str, Any]:
        identity: Dict[str, Any] = rospy.get_param(f"{SIMULATOR}/identity", {})
        return identity

    def _hold_limits_s(self) -> Tuple[float, float]:
        """Return the longest waits (s, wall time) for later commands and for the first one."""
        names = (f"{SIMULATOR}/command_timeout", f"{SIMULATOR}/start_timeout")
        hold_s, start_s = map(rospy.get_param, names, (COMMAND_TIMEOUT_S, START_TIMEOUT_S))
        return float(hold_s), float(start_s)

    def _load(self, trial: Trial) -> LoadSceneResponse:
        scene, spec = self._bed.scene(trial), self._bed.spec
        robot = self._bed.robot
        actors = world_actors(self._bed.world_scene(trial.world))
        request = LoadSceneRequest(
            world=str(scene.world),
            robot_model=str(robot.path),
            robot_name=robot.name,
            robot_lidar=robot.lidar.scoped_name if robot.lidar is not None else "",
            robot_sensors=",".join(sensor.name for sensor in self._sensors[trial.planner.name]),
            start=Pose2D(*scene.start),
            seed=scene.seed,
            with_actors=spec.changes_worlds or spec.tracking is not None or bool(actors),
            world_index=trial.world.world_index,
            repetition=trial.repetition,
        )
        try:
            response = self._load_scene(request)
        except rospy.ServiceException as error:
            raise SimulatorError(f"the simulator node did not load the scene: {error}") from error
        if not response.success:
            raise SimulatorError(response.message)
        return response

    def _get_planner_process(self, trial: Trial) -> PlannerProcess:
        name = trial.planner.name
        if name not in self._planners:
            bed = self._bed
            spec, limits = bed.planner(trial), dataclasses.asdict(bed.limits)
            sensors, lidar = self._sensors[name], bed.robot.lidar
            parameters = PlannerParameters(
                plugin=spec.plugin,
                parameters=spec.parameters,
                **{**limits, "footprint_m": list(bed.limits.footprint_m)},
                goal_tolerance_m=bed.spec.arrival_tolerance_m,
                arrival_s=0.0 if bed.spec.localization is None else ARRIVED_GRACE_S,
                margin_m=bed.spec.global_plan.margin_m,
                period=bed.spec.control_period_s,
                tracking=bed.spec.tracking is not None,
                on_road=bed.spec.has_road,
                robot_model=self._write_robot_model() if sensors else None,
                sensor_delays_s={sensor.name: sensor.delay_s for sensor in sensors},
                scan_delay_s=lidar.parts[0].delay_s if lidar is not None and lidar.parts else 0.0,
            )
            process = PlannerProcess(
                name,
                parameters,
                self._log_directory,
                bed.spec.limits.stall_timeout_s,
                [sensor_topic(sensor) for sensor in sensors],
            )
            topic = interface.CYCLE_TIME._replace(name=f"{process.node}/cycle_time")
            self._planners[name] = (process, subscribe(topic, self._inbox.add_cycle))
        process = self._planners[name][0]
        process.require_alive()
        process.await_server(SERVER_TIMEOUT_S, self._should_stop)
        return process

    def _write_robot_model(self) -> Path:
        path = self._log_directory / "robot.sdf"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self._bed.robot.sdf, encoding="utf-8")
        return path

    def _publish_map(self, trial: Trial) -> None:
        static_map = self._bed.static_map
        inputs = static_map.inputs(trial.world, trial.mission)
        if inputs != self._published_map:
            self._map.publish(grid_message(static_map.grid(inputs), rospy.Time.now()))
            self._published_map = inputs

    def _publish_road(self, trial: Trial, stamp: rospy.Time) -> None:
        if self._road is not None:
            self._road.publish(road_message(self._bed.lanes(trial), stamp))


def _require_ros_support(spec: BuiltinCampaignSpec) -> None:
    # The topics are for one robot, and a planner node would count each late scan as lost.
    if spec.robots:
        raise SpecError(
            f"campaign {spec.name}: the key 'robots' is not supported over ROS, where nodes drive "
            "one robot; run the campaign in-process (gz_testauto run), or remove the key"
        )
    require_unmoved_robot(spec)
    for term in spec.randomize:
        if term.term == "scan_delay":
            raise SpecError(
                f"randomize {term.name!r}: the term 'scan_delay' is not supported over ROS, where "
                "planners wait for each scan; run the campaign in-process (gz_testauto run), or "
                "remove the term"
            )


def _end_at_abort(monitor: TrialMonitor, reason: str) -> TrialEnd:
    # A planner also aborts if the simulator dies, for example since it receives no transform.
    if not is_served(f"{SIMULATOR}/load_scene", ALIVE_TIMEOUT_S):
        raise SimulatorError(f"the simulator node does not respond; the planner aborted: {reason}")
    return monitor.planner_aborted(reason)


def _abort_reason(move_base: MoveBaseClient) -> Optional[str]:
    """Return the reason for which the planner aborted, or None if it has not. Raises
    ``NavigatorError`` if its goal ended for another reason."""
    try:
        move_base.check_status()
    except PlannerAborted as aborted:
        return str(aborted)
    return None
