"""Define the termination rules of a trial, and their precedence, as pure functions.

The robot's true position, not a planner's report, decides whether the goal is reached. If several
rules hold at the same time, the first rule of this list decides:

1. **tipped_over**: the robot's vertical axis has tilted more than ``max_tilt_rad`` for
   :data:`TIPPED_S`. During that time, no other rule ends the trial, since contacts are then an
   effect of the fall. If the time limit or a report of the planner is earlier, the outcome is
   ``tipped_over``, too. If a contact causes the fall, the trial has already ended with that
   contact.
2. **collided**: the robot touched a model that is not the ground. A contact with an obstacle within
   the goal's tolerance is also a collision.
3. **left_road**: a part of the robot is farther than ``max_off_road_m`` from all of its lanes.
4. **reached**: the true position is within the goal's tolerance, even if the planner aborted in the
   same period. With several goals, only the last goal ends the trial; after an earlier goal, all
   rules are evaluated again for the next goal.
5. **planner_aborted**: the planner reported that no path exists, raised an exception, or returned
   a command that is not finite. **false_arrival**: it reported that the robot is at the goal. A
   trial has at most one of these reports. With a simulated localization, the outcome is also
   **false_arrival** 1 s after the estimated pose has arrived, unless one of these rules holds.
6. **stuck**: for ``stuck_window_s``, the robot was always within ``stuck_distance_m`` of its
   present position.
7. **timed_out**: the simulated time has reached ``timeout_s``.

Before these rules, impossible motions make the trial invalid (:func:`require_plausible`), and so
do a robot that tilts too far before the goal is sent (:func:`require_upright`), and a scene that is
physically impossible, such as a robot that starts inside a model (:mod:`.stability`).
"""

import math
from dataclasses import dataclass, replace
from typing import Optional, Sequence, Tuple

import numpy as np

from gz_testauto.base.errors import SceneError, SimulatorError
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.metrics.recording import ContactEpisode
from gz_testauto.trial.outcome import Outcome

TIME_SLACK_S = 1e-6  # tolerance for times, which are sums of physics steps with rounding errors

JUMP_ALLOWANCE_M = 0.5  # motion in one period in addition to the motion at twice the top speed

TIPPED_S = 1.0  # longest time of a tilt from which a robot can recover

# Least commanded motion of a stuck robot, and the moved share of it, below which the robot did not
# follow the commands.
LEAST_COMMANDED_M, LOST_SHARE = 1.0, 0.3

FREE_FALL_MPS = 10.0  # largest downward speed of a robot on the ground, that of a fall of 5.1 m


@dataclass(frozen=True)
class TerminationRules:
    """The parameters of the termination rules; times are simulated.

    ``visited`` is the number of reached goals, and ``further`` are the goals after ``goal``.
    """

    goal: Pose2D
    tolerance_m: float
    timeout_s: float
    stuck_window_s: float
    stuck_distance_m: float
    max_linear_mps: float
    max_tilt_rad: float = math.inf
    max_off_road_m: float = math.inf
    further: Tuple[Pose2D, ...] = ()
    visited: int = 0

    @property
    def for_next_goal(self) -> "TerminationRules":
        """Return the rules for the next goal, which must exist."""
        return replace(
            self, goal=self.further[0], further=self.further[1:], visited=self.visited + 1
        )

    @property
    def count(self) -> int:
        return self.visited + 1 + len(self.further)

    @property
    def goal_text(self) -> str:
        return "the goal" if self.count == 1 else f"goal {self.visited + 1} of {self.count}"


@dataclass(frozen=True)
class TrialEnd:
    """The outcome of a trial, with a one-line description."""

    outcome: Outcome
    detail: str


def has_reached(rules: TerminationRules, x_m: float, y_m: float) -> bool:
    return rules.goal.distance_to(x_m, y_m) <= rules.tolerance_m


def is_stuck(rules: TerminationRules, time_s: np.ndarray, position_m: np.ndarray) -> bool:
    """Return whether the robot was always within ``stuck_distance_m`` of its present position in
    the last ``stuck_window_s``.

    Turning in place does not count as motion. ``time_s`` (n,) and ``position_m`` (n, 3) are all
    samples of the trial. The result is False if they cover less than ``stuck_window_s``.
    """
    begin_s = float(time_s[-1]) - rules.stuck_window_s + TIME_SLACK_S
    if time_s[0] > begin_s:
        return False
    # The sample at or just before the start of the window belongs to it.
    first = int(time_s.searchsorted(begin_s, side="right")) - 1
    (x_m, y_m), (then_x_m, then_y_m) = position_m[-1, :2].tolist(), position_m[first, :2].tolist()
    if math.hypot(then_x_m - x_m, then_y_m - y_m) > 1.001 * rules.stuck_distance_m:
        return False  # a fast check that is sufficient for most samples
    offset = position_m[first:, :2] - position_m[-1, :2]
    return bool(np.einsum("ij,ij->i", offset, offset).max() < rules.stuck_distance_m**2)


def lost_motion(
    rules: TerminationRules, time_s: np.ndarray, position_m: np.ndarray, speed_mps: np.ndarray
) -> str:
    """Return a clause about lost motion for the message of a stuck trial, or "".

    Motion is lost if the robot moved much less than commanded in the last ``stuck_window_s``.
    ``speed_mps`` (n,) are the commanded speeds, NaN before the first command.
    """
    first = int(np.searchsorted(time_s, time_s[-1] - rules.stuck_window_s - TIME_SLACK_S))
    commanded_m = float(np.nansum(np.abs(speed_mps[first:-1]) * np.diff(time_s[first:])))
    moved_m = float(np.hypot(*np.diff(position_m[first:, :2], axis=0).T).sum())
    if commanded_m < LEAST_COMMANDED_M or moved_m >= LOST_SHARE * commanded_m:
        return ""
    return f"; it drove {moved_m:.2f} m in this time, but {commanded_m:.2f} m were commanded"


def tilted_since_s(
    rules: TerminationRules, time_s: np.ndarray, tilt_rad: np.ndarray
) -> Optional[float]:
    """Return the time (s) at which the present tilt started; None if the robot is upright."""
    if not tilt_rad[-1] > rules.max_tilt_rad:
        return None
    upright = np.flatnonzero(~(tilt_rad > rules.max_tilt_rad))
    return float(time_s[upright[-1] + 1 if len(upright) else 0])


def check_termination(
    rules: TerminationRules,
    time_s: np.ndarray,
    position_m: np.ndarray,
    collision: Optional[ContactEpisode] = None,
    abort_reason: Optional[str] = None,
    tilt_rad: Optional[np.ndarray] = None,
    abort_outcome: Outcome = Outcome.PLANNER_ABORTED,
    off_road_m: float = 0.0,
) -> Optional[TrialEnd]:
    """Return the end of the trial; None while the robot continues to the current goal.

    ``time_s`` (n,) is the time since the goal was sent, ``position_m`` has the shape (n, 3) and
    ``tilt_rad`` (n,), with at least one sample. ``collision`` is the first collision.
    ``abort_reason`` is the planner's message if it has finished. The trial then ends with
    ``abort_outcome``, unless an earlier rule holds. ``off_road_m`` is the largest distance (m) of a
    part of the robot from all lanes. The module docstring states the precedence of the rules.
    """
    on_path = "" if rules.count == 1 else f", on the path to {rules.goal_text}"
    now_s = float(time_s[-1])
    x_m, y_m, _ = position_m[-1].tolist()
    timed_out = now_s >= rules.timeout_s - TIME_SLACK_S
    since_s = None if tilt_rad is None else tilted_since_s(rules, time_s, tilt_rad)
    if tilt_rad is not None and since_s is not None:
        if not (
            timed_out or abort_reason is not None or now_s - since_s >= TIPPED_S - TIME_SLACK_S
        ):
            return None
        return TrialEnd(
            Outcome.TIPPED_OVER,
            f"at {since_s:.2f} s, with a tilt of {float(tilt_rad[-1]):.2f} rad "
            f"(limits.max_tilt_rad is {rules.max_tilt_rad:g}){on_path}",
        )
    if collision is not None:
        return TrialEnd(
            Outcome.COLLIDED,
            f"touched {collision.partner} at {collision.start_s:.2f} s, "
            f"{collision.speed_mps:.2f} m/s (by {collision.source}){on_path}",
        )
    if off_road_m > rules.max_off_road_m:
        return TrialEnd(
            Outcome.LEFT_ROAD,
            f"{off_road_m:.2f} m from all lanes at {now_s:.2f} s "
            f"(limits.max_off_road_m is {rules.max_off_road_m:g}){on_path}",
        )
    if has_reached(rules, x_m, y_m):
        last_goal = "" if rules.count == 1 else f", the last of {rules.count} goals"
        return TrialEnd(Outcome.REACHED, f"after {now_s:.2f} s{last_goal}")
    if abort_reason is not None:
        reason = abort_reason or "no path was found"
        return TrialEnd(abort_outcome, f"{reason}{on_path}")
    distance_m = rules.goal.distance_to(x_m, y_m)
    if is_stuck(rules, time_s, position_m):
        return TrialEnd(
            Outcome.STUCK,
            f"moved less than {rules.stuck_distance_m:g} m in {rules.stuck_window_s:g} s, "
            f"{distance_m:.2f} m from {rules.goal_text}",
        )
    if timed_out:
        return TrialEnd(
            Outcome.TIMED_OUT,
            f"{distance_m:.2f} m from {rules.goal_text} after {rules.timeout_s:g} s",
        )
    return None


def require_plausible(
    rules: TerminationRules,
    time_s: np.ndarray,
    position_m: np.ndarray,
    top_m: float = math.inf,
    bottom_m: float = -math.inf,
    placed: Optional[Pose] = None,
) -> None:
    """Raise ``SimulatorError`` if the latest sample is impossible.

    A jump, a pose that is not finite, and a clock that does not advance are impossible. ``placed``
    is the pose to which the campaign moved the robot after the previous sample. Raises
    ``SceneError`` if the robot has fallen: its highest point ``top_m`` is below the lowest point
    ``bottom_m`` of the world, or it moves down faster than :data:`FREE_FALL_MPS`.
    """
    # No planner, hill, ramp or curb causes a fall: the ground has a hole, or the robot has no
    # collision shapes at the bottom.
    x_m, y_m, z_m = position_m[-1].tolist()
    if not all(map(math.isfinite, (x_m, y_m, z_m))):
        raise SimulatorError(f"the robot's pose is not finite at {time_s[-1]:.2f} s")
    if top_m < bottom_m:
        raise SceneError(_fall_message(f"at {time_s[-1]:.2f} s", position_m[-1], bottom_m))
    if len(time_s) < 2:
        return
    before_s, now_s = time_s[-2:].tolist()
    before_x_m, before_y_m, before_z_m = (
        position_m[-2].tolist() if placed is None else placed.position
    )
    elapsed_s = now_s - before_s
    if elapsed_s <= 0.0:
        raise SimulatorError(
            f"simulated time changed from {before_s:.6g} s to {now_s:.6g} s; the clock must advance"
        )
    down_mps = (before_z_m - z_m) / elapsed_s
    if down_mps > FREE_FALL_MPS:
        raise SceneError(
            f"the robot fell: at {now_s:.2f} s it is at z = {z_m:.2f} m and moves down at "
            f"{down_mps:.1f} m/s; {_ground_remedy(x_m, y_m)}"
        )
    moved_m = math.hypot(x_m - before_x_m, y_m - before_y_m)
    # Twice the top speed: a slope or a push can move the robot faster than its command.
    if moved_m > JUMP_ALLOWANCE_M + 2.0 * rules.max_linear_mps * elapsed_s:
        raise SimulatorError(
            f"the robot jumped {moved_m:.2f} m in {elapsed_s:.3g} s at {now_s:.2f} s: "
            "another program set its pose, or the physics engine failed"
        )


def require_upright(
    rules: TerminationRules,
    position_m: Sequence[float],
    tilt_rad: float,
    top_m: float,
    bottom_m: float,
) -> None:
    """Raise ``SceneError`` if the robot has fallen or tipped over before the goal is sent.

    ``position_m`` is x, y, z of its base. The heights are as for :func:`require_plausible`.
    """
    if top_m < bottom_m:
        raise SceneError(_fall_message("before the goal is sent", position_m, bottom_m))
    if tilt_rad > rules.max_tilt_rad:
        raise SceneError(
            f"the robot has a tilt of {tilt_rad:.2f} rad, at z = {position_m[2]:.2f} m, before the "
            "goal is sent: it tipped over without a command, or the z axis of its model does not "
            f"point up; limits.max_tilt_rad is {rules.max_tilt_rad:g}, and null disables this check"
        )


def _fall_message(moment: str, position_m: Sequence[float], bottom_m: float) -> str:
    x_m, y_m, z_m = map(float, position_m)
    return (
        f"the robot fell: {moment} it is at z = {z_m:.2f} m, below the lowest point of the world "
        f"at {bottom_m:.2f} m; {_ground_remedy(x_m, y_m)}"
    )


def _ground_remedy(x_m: float, y_m: float) -> str:
    return (
        f"check that the robot has collision shapes and that the world has ground at ({x_m:.2f}, "
        f"{y_m:.2f}), move robot.start onto ground, or add <include> of model://ground_plane"
    )
