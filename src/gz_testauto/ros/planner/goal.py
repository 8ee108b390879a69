"""Execution of one goal in the ``planner`` node: global plan and control cycles."""

import math
import threading
from dataclasses import replace
from typing import Callable, Optional, Tuple

import numpy as np
import rospy
from geometry_msgs.msg import PoseStamped, Twist
from nav_msgs.msg import Path

from gz_testauto.base import ros_messages
from gz_testauto.base.errors import NavigatorError, SpecError
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.base.sensors import Sensor
from gz_testauto.grid.occupancy import OccupancyGrid
from gz_testauto.msg import PlannerCycle
from gz_testauto.planners import make_planner
from gz_testauto.planners.global_plan import plan_waypoints, waypoints_along
from gz_testauto.planners.interface import Lane, LocalPlanner, PlannerAborted, Task
from gz_testauto.planners.timed import TimedPlanner, warm_up
from gz_testauto.ros.graph import advertise
from gz_testauto.ros.map_messages import lanes_of_messages
from gz_testauto.ros.node import read_parameters
from gz_testauto.ros.planner import interface
from gz_testauto.ros.planner.observation import ObservationSubscriber, StampedObservation
from gz_testauto.ros.planner.sensors import NewestMessage
from gz_testauto.sdf.plugin_sensors import select_sensors
from gz_testauto.sdf.robot import read_sensors

ROUNDING_S = 1e-6
PREEMPTION_POLL_S = 0.1  # wall time between two checks for preemption


class RoadSubscriber:
    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._road = NewestMessage(interface.ROAD, self._condition)

    def lanes(self, stamp: rospy.Time, timeout_s: float) -> Tuple[Lane, ...]:
        """Return the lanes for the goal with this time stamp.

        Raises ``NavigatorError`` if none are received within ``timeout_s`` of wall time.
        """

        def is_for_stamp() -> bool:
            road = self._road.message
            return road is not None and (not road.header.stamp or road.header.stamp >= stamp)

        with self._condition:
            if not self._condition.wait_for(is_for_stamp, timeout_s):
                raise NavigatorError(
                    f"no road was received on {rospy.resolve_name('road')} within {timeout_s:g} s "
                    "after the goal; publish one, or set ~on_road to false"
                )
            return lanes_of_messages(self._road.message.lanes)


class GoalNavigator:
    def __init__(self, parameters: interface.PlannerParameters) -> None:
        """Load the planner, and register the topics. Raises ``SpecError`` if the planner, a
        parameter or the robot's outline is invalid."""
        self._parameters, self._limits = parameters, parameters.limits
        # Before the first goal, so that a wrong name is reported at the start of the node.
        planner = make_planner(parameters.plugin, **parameters.parameters)
        sensors = sensors_of(planner, parameters)
        tracks = planner.wants_objects
        warm_up(parameters.plugin, parameters.parameters, self._limits, parameters.on_road)
        self._observations = ObservationSubscriber(
            parameters.period,
            parameters.tracking and tracks,
            parameters.max_object_age,
            sensors,
            parameters.scan_delay_s,
        )
        self._roads = RoadSubscriber() if parameters.on_road else None
        self._command = advertise(interface.CMD_VEL, 10)
        self._cycles = advertise(interface.CYCLE_TIME, 100)
        self._plan = advertise(interface.PLAN)

    def drive(
        self,
        target: PoseStamped,
        grid: Optional[OccupancyGrid],
        is_preempted: Callable[[], bool],
        on_pose: Callable[[PoseStamped], None],
    ) -> bool:
        """Drive to ``target``; return False if the goal is preempted. Stop the robot at the end.

        ``grid`` is the static map, not required on a road. ``on_pose`` is called in every cycle.
        Raises ``PlannerAborted`` if the planner finds no path, and ``NavigatorError`` if the goal
        is not finite, an input is missing, or ROS time moves back.
        """
        parameters, seed = self._parameters, read_parameters(interface.SeedParameter).seed
        try:
            self._observations.begin(target.header.stamp)
            stamped_observation = self._await_observation(is_preempted, parameters.startup_timeout)
            if stamped_observation is None:
                return False
            lanes: Tuple[Lane, ...] = ()
            if self._roads is not None:
                lanes = self._roads.lanes(target.header.stamp, parameters.startup_timeout)
            goal = self._observations.in_map(target).planar
            if not all(map(math.isfinite, goal)):
                raise NavigatorError(f"the goal is {goal}; its numbers must be finite")
            task = replace(self._make_task(grid, goal, stamped_observation, lanes), seed=seed)
            planner = TimedPlanner(make_planner(parameters.plugin, **parameters.parameters))
            planner.begin(task)
            arrived_s: Optional[float] = None
            while stamped_observation is not None:
                pose, now_s = (
                    stamped_observation.observation.pose,
                    stamped_observation.observation.time_s,
                )
                if pose.distance_to(task.goal.x_m, task.goal.y_m) <= task.goal_tolerance_m:
                    arrived_s = now_s if arrived_s is None else arrived_s
                if arrived_s is not None and now_s - arrived_s >= parameters.arrival_s - ROUNDING_S:
                    return True
                self._run_cycle(planner, stamped_observation)
                on_pose(_pose_message(pose.to_pose(), stamped_observation.stamp))
                stamped_observation = self._await_observation(is_preempted)
            return False
        finally:
            self._command.publish(Twist())

    def _run_cycle(self, planner: TimedPlanner, stamped_observation: StampedObservation) -> None:
        report = PlannerCycle()
        report.header = ros_messages.header(stamped_observation.stamp, self._parameters.base_frame)
        report.scan = stamped_observation.scan_stamp
        report.sensor_names = list(stamped_observation.sensor_stamps)
        report.sensor_stamps = list(stamped_observation.sensor_stamps.values())
        try:
            report.command = ros_messages.command_message(
                planner.plan(stamped_observation.observation)
            )
        except PlannerAborted as aborted:
            report.abort_reason = str(aborted) or "the planner aborted"
            raise
        finally:
            report.wall_time, report.cpu_time = (times[-1] for times in planner.cycle_times_s)
            self._cycles.publish(report)
        self._command.publish(report.command)

    def _make_task(
        self,
        grid: Optional[OccupancyGrid],
        goal: Pose2D,
        stamped_observation: StampedObservation,
        lanes: Tuple[Lane, ...],
    ) -> Task:
        tolerance_m, period_s = self._parameters.goal_tolerance_m, self._parameters.period
        start = stamped_observation.observation.pose
        if lanes:
            try:
                (route,) = waypoints_along(lanes[0], start, [goal], ["the robot", "the goal"])
            except SpecError as error:
                raise NavigatorError(str(error)) from error
            self._publish_plan(route, stamped_observation.stamp)
            return Task(goal, tolerance_m, route, self._limits, period_s, lanes)
        if grid is None:
            raise NavigatorError(
                f"no map was received on {rospy.resolve_name('map')}; publish one, or set ~map to "
                "a YAML file"
            )
        for name, pose in (("the robot", start), ("the goal", goal)):
            if not grid.contains(*grid.cell_of(pose.x_m, pose.y_m)):
                x_min, y_min, x_max, y_max = grid.bounds
                raise NavigatorError(
                    f"{name} ({pose.x_m:.2f}, {pose.y_m:.2f}) is outside the map, which is x "
                    f"{x_min:.2f} to {x_max:.2f}, y {y_min:.2f} to {y_max:.2f}"
                )
        waypoints = plan_waypoints(grid, start, goal, self._limits, self._parameters.margin_m)
        if waypoints is None:
            raise NavigatorError(
                f"no path from ({start.x_m:.2f}, {start.y_m:.2f}) to ({goal.x_m:.2f}, "
                f"{goal.y_m:.2f}) on the static map"
            )
        self._publish_plan(waypoints, stamped_observation.stamp)
        return Task(goal, tolerance_m, waypoints, self._limits, period_s)

    def _await_observation(
        self, is_preempted: Callable[[], bool], timeout_s: Optional[float] = None
    ) -> Optional[StampedObservation]:
        """Return the next observation, or None if the goal is preempted.

        Raises ``NavigatorError`` after ``timeout_s`` of wall time.
        """
        waited_s = 0.0
        while not is_preempted():
            stamped_observation = self._observations.next(PREEMPTION_POLL_S)
            if stamped_observation is not None:
                return stamped_observation
            waited_s += PREEMPTION_POLL_S
            if timeout_s is not None and waited_s >= timeout_s:
                raise NavigatorError(
                    f"{self._observations.missing()} within {timeout_s:g} s; check that the "
                    "simulator or the robot publishes this topic, or remap it"
                )
        return None

    def _publish_plan(self, waypoints: np.ndarray, stamp: rospy.Time) -> None:
        poses = [_pose_message(Pose((float(x), float(y), 0.0)), stamp) for x, y in waypoints]
        self._plan.publish(Path(ros_messages.header(stamp), poses))


def sensors_of(
    planner: LocalPlanner, parameters: interface.PlannerParameters
) -> Tuple[Sensor, ...]:
    """Return the sensors of the robot's model that a planner reads, with their delays.

    Raises ``SpecError`` without a model, and ``SdfError`` if the model lacks one of the sensors.
    """
    names, model = planner.sensors, parameters.robot_model
    if not names:
        return ()
    if model is None:
        raise SpecError(
            f"the planner {parameters.plugin!r} reads the sensors {', '.join(names)}, but "
            "~robot_model is not set; set it to a model with these sensors"
        )
    owner = f"the planner {parameters.plugin!r}"
    return tuple(
        replace(sensor, delay_s=parameters.sensor_delays_s.get(sensor.name, 0.0))
        for sensor in select_sensors(str(model), read_sensors(model), names, owner)
    )


def _pose_message(pose: Pose, stamp: rospy.Time) -> PoseStamped:
    return PoseStamped(ros_messages.header(stamp), ros_messages.pose_message(pose))
