"""The ``planner`` node: a ``move_base`` action server around any local planner.

Owns the action and the map; :mod:`~gz_testauto.ros.planner.goal` drives. ``docs/ros.md`` lists
every parameter.
"""

import actionlib
import rospy
from geometry_msgs.msg import PoseStamped
from move_base_msgs.msg import MoveBaseAction, MoveBaseActionGoal, MoveBaseFeedback, MoveBaseGoal
from nav_msgs.msg import OccupancyGrid as OccupancyGridMessage

from gz_testauto.base.errors import GzTestautoError
from gz_testauto.planners import make_planner
from gz_testauto.planners.interface import PlannerGaveUp
from gz_testauto.ros.map_message import grid_of
from gz_testauto.ros.node import run_node
from gz_testauto.ros.planner.goal import GoalDrive
from gz_testauto.ros.planner.settings import PlannerSettings, read_settings


class PlannerNode:
    """One planner driving one robot, to one goal after the other."""

    def __init__(self, settings: PlannerSettings) -> None:
        self._grid = settings.known_map
        self._drive = GoalDrive(settings)
        self._goals = rospy.Publisher("move_base/goal", MoveBaseActionGoal, queue_size=1)
        self._server = actionlib.SimpleActionServer(
            "move_base", MoveBaseAction, self._execute, auto_start=False
        )
        if self._grid is None:
            rospy.Subscriber("map", OccupancyGridMessage, self._take_map)
        rospy.Subscriber("move_base_simple/goal", PoseStamped, self._take_simple_goal)
        self._server.start()

    def _take_map(self, message: OccupancyGridMessage) -> None:
        try:
            self._grid = grid_of(message)
        except GzTestautoError as error:
            rospy.logerr("the map cannot be used: %s", error)

    def _take_simple_goal(self, message: PoseStamped) -> None:
        action_goal = MoveBaseActionGoal(goal=MoveBaseGoal(message))
        action_goal.header.stamp = rospy.Time.now()
        self._goals.publish(action_goal)

    def _execute(self, goal: MoveBaseGoal) -> None:
        """Drive to one goal and say how it ended; never raises for a reason a user can cause."""
        try:
            reached = self._drive.drive(
                goal.target_pose, self._grid, self._is_preempted, self._tell_pose
            )
        except PlannerGaveUp as gave_up:
            self._server.set_aborted(text=str(gave_up))
        except GzTestautoError as error:
            rospy.logerr("goal aborted: %s", error)
            self._server.set_aborted(text=str(error))
        else:
            if reached:
                self._server.set_succeeded(text="Goal reached.")
            else:
                self._server.set_preempted(text="preempted")

    def _is_preempted(self) -> bool:
        return self._server.is_preempt_requested() or rospy.is_shutdown()

    def _tell_pose(self, pose: PoseStamped) -> None:
        self._server.publish_feedback(MoveBaseFeedback(base_position=pose))


def start() -> int:
    """Offer the action and serve goals until shut down."""
    settings = read_settings()
    make_planner(settings.plugin, **settings.options)  # a wrong name is told now, not at a goal
    PlannerNode(settings)
    rospy.spin()
    return 0


def main() -> int:
    """Entry point of the script."""
    return run_node("planner", start)


if __name__ == "__main__":
    raise SystemExit(main())
