"""The ``planner`` node, a ``move_base`` action server with any local planner."""

import actionlib
import rospy
from geometry_msgs.msg import PoseStamped
from move_base_msgs.msg import MoveBaseAction, MoveBaseActionGoal, MoveBaseFeedback, MoveBaseGoal
from nav_msgs.msg import OccupancyGrid as OccupancyGridMessage

from gz_testauto.base.errors import GzTestautoError
from gz_testauto.grid.map_server import read_map
from gz_testauto.planners.interface import PlannerAborted
from gz_testauto.ros.graph import advertise, subscribe
from gz_testauto.ros.map_messages import grid_of
from gz_testauto.ros.node import read_parameters, run_node
from gz_testauto.ros.planner import interface
from gz_testauto.ros.planner.goal import GoalNavigator


class RewindableActionServer(actionlib.SimpleActionServer):
    """An action server that also works after ROS time has moved back.

    That of actionlib would cancel all goals, and publish no status, until the previous goal's time.
    """

    def start(self) -> None:
        self._last_time = rospy.Time.now()
        super().start()
        server = self.action_server
        if server.status_timer is not None:
            server.status_timer.shutdown()
            period = rospy.Duration(1.0 / server.status_frequency)
            server.status_timer = rospy.Timer(period, self._publish_status, reset=True)

    def internal_goal_callback(self, goal: actionlib.ServerGoalHandle) -> None:
        self._check_time()
        super().internal_goal_callback(goal)
        with self.action_server.lock, self.lock:
            # A goal can be received before the first message of /clock.
            self._last_time = max(self._last_time, goal.get_goal_id().stamp)

    def _publish_status(self, event: rospy.timer.TimerEvent) -> None:
        self._check_time()
        self.action_server.publish_status_async(event)

    def _check_time(self) -> None:
        # ROS time has moved back: forget the times of earlier goals and cancel requests.
        with self.action_server.lock, self.lock:
            previous_time, self._last_time = self._last_time, rospy.Time.now()
            if self._last_time < previous_time:
                self.action_server.last_cancel = rospy.Time()
                for goal in (self.current_goal, self.next_goal):
                    if goal.get_goal() is not None:
                        goal.get_goal_id().stamp = rospy.Time()


class PlannerNode:
    def __init__(self, parameters: interface.PlannerParameters) -> None:
        self._grid = None if parameters.map is None else read_map(parameters.map)
        self._navigator = GoalNavigator(parameters)
        self._goals = advertise(interface.FORWARDED_GOAL)
        self._server = RewindableActionServer(
            interface.MOVE_BASE.name, MoveBaseAction, self._execute, auto_start=False
        )
        if self._grid is None:
            subscribe(interface.MAP, self._on_map)
        subscribe(interface.SIMPLE_GOAL, self._on_simple_goal)
        self._server.start()

    def _on_map(self, message: OccupancyGridMessage) -> None:
        try:
            self._grid = grid_of(message)
        except GzTestautoError as error:
            rospy.logerr("the map cannot be used: %s", error)

    def _on_simple_goal(self, message: PoseStamped) -> None:
        action_goal = MoveBaseActionGoal(goal=MoveBaseGoal(message))
        action_goal.header.stamp = rospy.Time.now()
        self._goals.publish(action_goal)

    def _execute(self, goal: MoveBaseGoal) -> None:
        try:
            has_reached = self._navigator.drive(
                goal.target_pose, self._grid, self._is_preempted, self._publish_pose
            )
        except PlannerAborted as aborted:
            self._server.set_aborted(text=str(aborted))
        except GzTestautoError as error:
            rospy.logerr("goal aborted: %s", error)
            self._server.set_aborted(text=str(error))
        else:
            if has_reached:
                self._server.set_succeeded(text="Goal reached.")
            else:
                self._server.set_preempted(text="preempted")

    def _is_preempted(self) -> bool:
        return self._server.is_preempt_requested() or rospy.is_shutdown()

    def _publish_pose(self, pose: PoseStamped) -> None:
        self._server.publish_feedback(MoveBaseFeedback(base_position=pose))


def start() -> int:
    PlannerNode(read_parameters(interface.PlannerParameters))
    rospy.spin()
    return 0


def main() -> int:
    return run_node("planner", start)


if __name__ == "__main__":
    raise SystemExit(main())
