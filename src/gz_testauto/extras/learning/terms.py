"""The reward of a policy and additional terminations of episodes, which consist of terms."""

import abc
import math
from dataclasses import dataclass
from typing import List, Optional, Sequence

import shapely

from gz_testauto.base.observation import Twist2D
from gz_testauto.base.parameters import Positive, construct
from gz_testauto.base.registry import Registry
from gz_testauto.extras.learning.policies.observations import Named
from gz_testauto.planners.following import WaypointFollower
from gz_testauto.planners.interface import Observation, Task
from gz_testauto.trial.outcome import Outcome

_HERE = "gz_testauto.extras.learning.terms"
REWARDS = Registry(
    "reward",
    {
        "progress": f"{_HERE}:PlanProgress",
        "reached": f"{_HERE}:Reached",
        "collided": f"{_HERE}:Collided",
        "time": f"{_HERE}:Time",
        "near": f"{_HERE}:Near",
        "turning": f"{_HERE}:Turning",
        "given_up": f"{_HERE}:GivenUp",
    },
)
TERMINATIONS = Registry("termination", {"off_plan": f"{_HERE}:OffPlan"})

FOLLOWED_M = 2.0  # length of the plan, in both directions, in which the nearest point is searched


@dataclass(frozen=True, eq=False)
class Transition:
    """One control period.

    The observations have the true pose. ``outcome`` is None while the episode runs.
    """

    before: Observation
    after: Observation
    command: Twist2D
    duration_s: float
    outcome: Optional[Outcome] = None


class RewardTerm(abc.ABC):
    """A reward term: a number for each control period, which is multiplied by ``weight``. Its
    parameters are the keyword arguments of the constructor, each with a default value."""

    def __init__(self, weight: float = 1.0) -> None:
        self.weight = weight

    def begin(self, task: Task) -> None:  # noqa: B027 - most remember nothing
        """Start a task: one global plan to one goal."""

    @abc.abstractmethod
    def value(self, transition: Transition) -> float:
        """Return the unweighted value of the term for a control period."""


class PlanProgress(RewardTerm):
    """Progress (m) along the global plan beyond the farthest point so far. Driving back has the
    reward 0."""

    def begin(self, task: Task) -> None:
        self._follower = WaypointFollower(task.waypoints_m, FOLLOWED_M)
        self._remaining_m = self._follower.remaining_m

    def value(self, transition: Transition) -> float:
        pose, before_m = transition.after.pose, self._remaining_m
        self._follower.target(pose.x_m, pose.y_m)
        self._remaining_m = self._follower.remaining_m
        return before_m - self._remaining_m


class Reached(RewardTerm):
    """Success: 1 when the robot reaches its last goal."""

    def value(self, transition: Transition) -> float:
        return float(transition.outcome is not None and transition.outcome.success)


class Collided(RewardTerm):
    """Crash: 1 when the robot collides or tips over."""

    def value(self, transition: Transition) -> float:
        outcome = transition.outcome
        return float(outcome is not None and outcome.declaration.crash)


class GivenUp(RewardTerm):
    """Failure without a crash: 1 when the robot is stuck or out of time."""

    def value(self, transition: Transition) -> float:
        outcome = transition.outcome
        return float(outcome is not None and not outcome.declaration.terminal)


class Time(RewardTerm):
    """Duration (s) of the control period."""

    def value(self, transition: Transition) -> float:
        return transition.duration_s


class Near(RewardTerm):
    """Proximity of the nearest lidar point, from 0 at ``range_m`` to 1 at the lidar's origin,
    multiplied by the duration (s) of the control period."""

    def __init__(self, weight: float = -1.0, range_m: Positive = 1.0) -> None:
        super().__init__(weight)
        self._range_m = range_m

    def value(self, transition: Transition) -> float:
        scan = transition.after.scan
        if scan is None or not len(scan.ranges_m):
            return 0.0
        nearest_m = max(0.0, min(map(float, scan.ranges_m)))
        return max(0.0, 1.0 - nearest_m / self._range_m) * transition.duration_s


class Turning(RewardTerm):
    """Commanded change of yaw (rad) in the control period."""

    def value(self, transition: Transition) -> float:
        return abs(transition.command.angular_radps) * transition.duration_s


class TerminationTerm(abc.ABC):
    """A termination term: a rule that ends an episode in addition to the rules of the campaign."""

    def begin(self, task: Task) -> None:  # noqa: B027 - most remember nothing
        """Start a task: one global plan to one goal."""

    @abc.abstractmethod
    def reason(self, transition: Transition) -> Optional[str]:
        """Return the reason why the episode ends, or None if it continues."""


class OffPlan(TerminationTerm):
    """Termination of an episode whose robot is more than ``max_distance_m`` away from the global
    plan."""

    def __init__(self, max_distance_m: Positive = 5.0) -> None:
        self._max_distance_m = max_distance_m

    def begin(self, task: Task) -> None:
        self._plan = shapely.LineString(task.waypoints_m)

    def reason(self, transition: Transition) -> Optional[str]:
        pose = transition.after.pose
        away_m = float(self._plan.distance(shapely.Point(pose.x_m, pose.y_m)))
        return f"{away_m:.2f} m from the global plan" if away_m > self._max_distance_m else None


class EpisodeRules:
    """The reward terms and termination terms of an environment, evaluated together."""

    def __init__(self, rewards: Sequence[Named], terminations: Sequence[Named]) -> None:
        """Create the terms from their names and parameters, or raise ``SpecError``."""
        self._rewards: List[RewardTerm] = [
            construct(REWARDS, name, parameters) for name, parameters in rewards
        ]
        self._terminations: List[TerminationTerm] = [
            construct(TERMINATIONS, name, parameters) for name, parameters in terminations
        ]

    def begin(self, task: Task) -> None:
        for reward in self._rewards:
            reward.begin(task)
        for termination in self._terminations:
            termination.begin(task)

    def reward(self, transition: Transition) -> float:
        return math.fsum(term.weight * term.value(transition) for term in self._rewards)

    def reason(self, transition: Transition) -> Optional[str]:
        reasons = (term.reason(transition) for term in self._terminations)
        return next((reason for reason in reasons if reason is not None), None)
