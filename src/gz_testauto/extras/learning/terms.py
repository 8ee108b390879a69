"""The rewards of a policy, and terminations of episodes in addition to the campaign's rules.

This module contains the built-in terms; packages register others under ``gz_testauto.rewards`` and
``gz_testauto.terminations``. A subclass declares its parameters as keyword arguments of its
constructor, each with a default.
"""

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

FOLLOWED_M = 2.0
"""Half of the length (m) of the global plan in which the point nearest to the robot is searched."""


@dataclass(frozen=True, eq=False)
class Transition:
    """One control period of ``duration_s``: the observations before and after it, the command, and
    the outcome of the episode, None while it runs."""

    before: Observation
    after: Observation
    command: Twist2D
    duration_s: float
    outcome: Optional[Outcome] = None


class RewardTerm(abc.ABC):
    """A number for each control period, multiplied by ``weight``."""

    def __init__(self, weight: float = 1.0) -> None:
        self.weight = weight

    def begin(self, task: Task) -> None:  # noqa: B027 - most remember nothing
        """Start a task."""

    @abc.abstractmethod
    def value(self, transition: Transition) -> float:
        """Return the reward of the period without the weight."""


class PlanProgress(RewardTerm):
    """New progress along the global plan (m): driving back subtracts nothing."""

    def begin(self, task: Task) -> None:
        """See :class:`RewardTerm`."""
        self._follower = WaypointFollower(task.waypoints_m, FOLLOWED_M)
        self._left_m = self._follower.remaining_m

    def value(self, transition: Transition) -> float:
        """See :class:`RewardTerm`."""
        pose, before_m = transition.after.pose, self._left_m
        self._follower.target(pose.x_m, pose.y_m)
        self._left_m = self._follower.remaining_m
        return before_m - self._left_m


class Reached(RewardTerm):
    """1 at the last goal."""

    def value(self, transition: Transition) -> float:
        """See :class:`RewardTerm`."""
        return float(transition.outcome is not None and transition.outcome.success)


class Collided(RewardTerm):
    """1 for a collision or a robot that tipped over."""

    def value(self, transition: Transition) -> float:
        """See :class:`RewardTerm`."""
        outcome = transition.outcome
        return float(outcome is not None and outcome.declaration.crash)


class GivenUp(RewardTerm):
    """1 for a robot that is stuck or out of time."""

    def value(self, transition: Transition) -> float:
        """See :class:`RewardTerm`."""
        outcome = transition.outcome
        return float(outcome is not None and not outcome.declaration.terminal)


class Time(RewardTerm):
    """The duration of the period (s)."""

    def value(self, transition: Transition) -> float:
        """See :class:`RewardTerm`."""
        return transition.duration_s


class Near(RewardTerm):
    """Proximity of the nearest lidar point, from 0 at ``range_m`` to 1 at the lidar's origin,
    multiplied by the duration (s)."""

    def __init__(self, weight: float = -1.0, range_m: Positive = 1.0) -> None:
        super().__init__(weight)
        self._within_m = range_m

    def value(self, transition: Transition) -> float:
        """See :class:`RewardTerm`."""
        scan = transition.after.scan
        if scan is None or not len(scan.ranges_m):
            return 0.0
        nearest_m = max(0.0, min(map(float, scan.ranges_m)))
        return max(0.0, 1.0 - nearest_m / self._within_m) * transition.duration_s


class Turning(RewardTerm):
    """The commanded change of yaw (rad)."""

    def value(self, transition: Transition) -> float:
        """See :class:`RewardTerm`."""
        return abs(transition.command.angular_radps) * transition.duration_s


class TerminationTerm(abc.ABC):
    """A rule that terminates an episode in addition to the campaign's rules."""

    def begin(self, task: Task) -> None:  # noqa: B027 - most remember nothing
        """Start a task."""

    @abc.abstractmethod
    def reason(self, transition: Transition) -> Optional[str]:
        """Return the reason for a termination; None if the episode continues."""


class OffPlan(TerminationTerm):
    """A robot that is more than ``max_distance_m`` away from the global plan."""

    def __init__(self, max_distance_m: Positive = 5.0) -> None:
        self._max_distance_m = max_distance_m

    def begin(self, task: Task) -> None:
        """See :class:`TerminationTerm`."""
        self._plan = shapely.LineString(task.waypoints_m)

    def reason(self, transition: Transition) -> Optional[str]:
        """See :class:`TerminationTerm`."""
        pose = transition.after.pose
        away_m = float(self._plan.distance(shapely.Point(pose.x_m, pose.y_m)))
        return f"{away_m:.2f} m from the global plan" if away_m > self._max_distance_m else None


class EpisodeRules:
    """The reward and termination terms of an environment."""

    def __init__(self, rewards: Sequence[Named], terminations: Sequence[Named]) -> None:
        """Create the terms. Raises ``SpecError`` for an unknown term or invalid parameters."""
        self._rewards: List[RewardTerm] = [
            construct(REWARDS, name, parameters) for name, parameters in rewards
        ]
        self._terminations: List[TerminationTerm] = [
            construct(TERMINATIONS, name, parameters) for name, parameters in terminations
        ]

    def begin(self, task: Task) -> None:
        """Start a task."""
        for reward in self._rewards:
            reward.begin(task)
        for termination in self._terminations:
            termination.begin(task)

    def reward(self, transition: Transition) -> float:
        """Return the weighted sum."""
        return math.fsum(term.weight * term.value(transition) for term in self._rewards)

    def reason(self, transition: Transition) -> Optional[str]:
        """Return the reason for a termination in addition to the campaign's rules; None if there is
        none."""
        reasons = (term.reason(transition) for term in self._terminations)
        return next((reason for reason in reasons if reason is not None), None)
