"""``straight``: drives at the goal and ignores obstacles.

The floor that any local planner must beat, and the check that a campaign's worlds are not
empty: where ``straight`` arrives, no obstacle was in the way.
"""

from gz_testauto.base.observation import Twist2D
from gz_testauto.base.parameters import Positive
from gz_testauto.planners.reactive import ReactivePlanner, Situation, turn_towards


class StraightPlanner(ReactivePlanner):
    """Follows the way-points of the known map, blind to everything else.

    Parameters
    ----------
    lookahead_m
        How far ahead on the way-points it aims; meters.
    turn_gain_per_s
        Yaw rate per radian of heading error; 1/s.

    """

    needs_scan = False

    def __init__(self, lookahead_m: Positive = 1.5, turn_gain_per_s: Positive = 1.5) -> None:
        super().__init__(lookahead_m)
        self.turn_gain_per_s = turn_gain_per_s

    def steer(self, situation: Situation) -> Twist2D:
        """Turn to the look-ahead point and drive."""
        return turn_towards(
            situation.goal_bearing_rad,
            situation.speed_limit_mps,
            self.turn_gain_per_s,
            self.limits,
        )
