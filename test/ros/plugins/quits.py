"""A planner that finds no path after half a second, in another package."""

from gz_testauto.base.observation import Twist2D
from gz_testauto.planners.interface import LocalPlanner, PlannerAborted


class Quits(LocalPlanner):
    def begin(self, task):
        self.start_s = None

    def plan(self, observation):
        if self.start_s is None:
            self.start_s = observation.time_s
        if observation.time_s - self.start_s > 0.45:
            raise PlannerAborted("it is all too much")
        return Twist2D(0.1, 0.0)
