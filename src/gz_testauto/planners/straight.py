"""The planner ``straight``. In a world in which it reaches the goal, no obstacle is in its path."""

from gz_testauto.base.observation import Twist2D
from gz_testauto.base.parameters import Positive
from gz_testauto.planners.limits import DefaultLength
from gz_testauto.planners.reactive import ReactivePlanner, Situation, turn_towards


class StraightPlanner(ReactivePlanner):
    """A planner that follows the waypoints on the static map and ignores the scan."""

    needs_scan = False

    def __init__(
        self, lookahead_m: Positive = DefaultLength(1.5), turn_gain_per_s: Positive = 1.5
    ) -> None:
        super().__init__(lookahead_m)
        self.turn_gain_per_s = turn_gain_per_s

    def steer(self, situation: Situation) -> Twist2D:
        return turn_towards(
            situation.goal_bearing_rad,
            situation.speed_limit_mps,
            self.turn_gain_per_s,
            self.limits,
        )
