"""When a trial is over, and how it ended: the rules as pure functions.

Owns the rules and their precedence; refuses to look at anything but ground truth. A planner
that reports success is not believed, only its true position is.

When several rules hold at the same instant, the first of this list decides:

1. **collided**: the robot touched something that is not the ground. Touching an obstacle
   within the goal's tolerance is a collision.
2. **reached**: the true position is within the goal's tolerance, even if the planner gave up
   in the same period.
3. **planner_aborted**: the planner said that it sees no way.
4. **stuck**: it has not left a circle of ``stuck_distance_m`` for ``stuck_window_s``.
5. **timed_out**: the simulated time is up.

A recording that no robot could have driven (a jump, a pose that is not a number, a clock that
stands or runs back) makes the trial invalid: :func:`require_plausible` raises.
"""

import math
from dataclasses import dataclass
from typing import Optional

import numpy as np

from gz_testauto.campaign.outcome import Outcome
from gz_testauto.errors import SimulatorError
from gz_testauto.geometry import Pose2D
from gz_testauto.metrics.recording import ContactEpisode

TIME_SLACK_S = 1e-6
"""Stamps are sums of steps: what is meant to be equal may differ by rounding."""

JUMP_ALLOWANCE_M = 0.5
"""A pose that moves this much further than top speed allows in a period has been set."""


@dataclass(frozen=True)
class Rules:
    """What the judge needs to know of a campaign; simulated seconds and metres."""

    goal: Pose2D
    tolerance_m: float
    timeout_s: float
    stuck_window_s: float
    stuck_distance_m: float
    max_linear_mps: float


@dataclass(frozen=True)
class Verdict:
    """How the trial ended, with one line for the reader."""

    outcome: Outcome
    detail: str


def has_reached(rules: Rules, x_m: float, y_m: float) -> bool:
    """Whether the true position is within the goal's tolerance; its border counts."""
    return rules.goal.distance_to(x_m, y_m) <= rules.tolerance_m


def is_stuck(rules: Rules, time_s: np.ndarray, position_m: np.ndarray) -> bool:
    """Whether the robot stayed nearer than ``stuck_distance_m`` to where it is now, throughout
    the last ``stuck_window_s``. Turning on the spot is standing still.

    ``time_s`` has shape (n,), ``position_m`` (n, 2); both up to now. False while the
    trial is younger than the window.
    """
    begin_s = time_s[-1] - rules.stuck_window_s + TIME_SLACK_S
    if time_s[0] > begin_s:
        return False
    # The sample at or just before the window's beginning belongs to it.
    first = int(np.searchsorted(time_s, begin_s, side="right")) - 1
    offset = position_m[first:] - position_m[-1]
    return bool(np.einsum("ij,ij->i", offset, offset).max() < rules.stuck_distance_m**2)


def judge(
    rules: Rules,
    time_s: np.ndarray,
    position_m: np.ndarray,
    collision: Optional[ContactEpisode] = None,
    given_up: Optional[str] = None,
) -> Optional[Verdict]:
    """Say how the trial ended, or None while it goes on.

    ``time_s`` (n,) and ``position_m`` (n, 2) hold the trial up to now, at least one sample;
    time counts from the goal. ``collision`` is the first touch of an obstacle, ``given_up``
    the planner's reason for giving up. For the precedence see the module.
    """
    now_s = float(time_s[-1])
    x_m, y_m = float(position_m[-1, 0]), float(position_m[-1, 1])
    if collision is not None:
        return Verdict(
            Outcome.COLLIDED,
            f"touched {collision.partner} at {collision.start_s:.2f} s, "
            f"{collision.speed_mps:.2f} m/s (by {collision.source})",
        )
    if has_reached(rules, x_m, y_m):
        return Verdict(Outcome.REACHED, f"after {now_s:.2f} s")
    if given_up is not None:
        return Verdict(Outcome.PLANNER_ABORTED, given_up or "the planner gave up")
    left_m = rules.goal.distance_to(x_m, y_m)
    if is_stuck(rules, time_s, position_m):
        return Verdict(
            Outcome.STUCK,
            f"moved less than {rules.stuck_distance_m:g} m in {rules.stuck_window_s:g} s, "
            f"{left_m:.2f} m from the goal",
        )
    if now_s >= rules.timeout_s - TIME_SLACK_S:
        return Verdict(
            Outcome.TIMED_OUT, f"{left_m:.2f} m from the goal after {rules.timeout_s:g} s"
        )
    return None


def require_plausible(rules: Rules, time_s: np.ndarray, position_m: np.ndarray) -> None:
    """Raise ``SimulatorError`` if the newest sample cannot follow the one before.

    Arguments as for :func:`judge`.
    """
    x_m, y_m = float(position_m[-1, 0]), float(position_m[-1, 1])
    if not (math.isfinite(x_m) and math.isfinite(y_m)):
        raise SimulatorError(f"the robot's pose is not a number at {time_s[-1]:.2f} s")
    if len(time_s) < 2:
        return
    elapsed_s = float(time_s[-1] - time_s[-2])
    if elapsed_s <= 0.0:
        raise SimulatorError(
            f"simulated time went from {time_s[-2]:.6g} s to {time_s[-1]:.6g} s: "
            "the clock must advance"
        )
    moved_m = math.hypot(x_m - float(position_m[-2, 0]), y_m - float(position_m[-2, 1]))
    # Twice the top speed: a slope or a shove may carry the robot beyond what it commands.
    if moved_m > JUMP_ALLOWANCE_M + 2.0 * rules.max_linear_mps * elapsed_s:
        raise SimulatorError(
            f"the robot jumped {moved_m:.2f} m in {elapsed_s:.3g} s at {time_s[-1]:.2f} s: "
            "something set its pose, or the physics broke"
        )
