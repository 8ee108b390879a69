"""Data types of the trajectory search.

The default values are those of Smit et al. 2022. Values that the paper and its data do not state
are those of a mid-size car in a 30 km/h zone. A state is x and y of the rear axle (m), heading
(rad) and speed (m/s). A control is an acceleration (m/s²) and a steering angle (rad).
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple, Sequence

import numpy as np

from gz_testauto.base.observation import TrackedObject


class Vehicle(NamedTuple):
    """A bicycle model with a rectangular body, whose center is ``center_m`` ahead of the rear axle.

    The equations are x' = v cos θ, y' = v sin θ, θ' = v tan δ / L, v' = a, with v >= 0.
    """

    wheelbase_m: float = 2.7
    length_m: float = 4.5
    width_m: float = 1.8
    center_m: float = 1.35
    max_speed_mps: float = 8.33
    max_braking_mps2: float = 4.0
    max_accel_mps2: float = 2.0
    max_steer_rad: float = 0.5


class Costs(NamedTuple):
    """Weights of the costs of a trajectory per meter.

    The proximity of an object is ``clearance_height`` times a Gaussian of the offsets along and
    across its heading. That of the nearest static point has the width ``clearance_across_m``.
    """

    path: float = 0.05
    speed: float = 0.5
    penalty: float = 0.2
    clearance: float = 2.0
    desired_speed_mps: float = 5.0
    clearance_height: float = 100.0
    clearance_along_m: float = 3.0
    clearance_across_m: float = 2.0


class Growth(NamedTuple):
    """Parameters that control the growth of the search tree.

    The distance between two states is |Δp| + 0.5 |Δθ| + |Δv|, without a unit. The cheapest node
    within the distance ``selection`` of a random state is extended. One node is kept within the
    distance ``pruning`` of a witness. An edge lasts ``edge_steps`` steps.
    """

    step_s: float = 0.04
    edge_steps: int = 10
    selection: float = 0.2
    pruning: float = 0.1
    accel_sigma_mps2: float = 0.8
    steer_sigma_rad: float = 0.2
    goal_share: float = 0.05
    goal_distance_m: float = 30.0
    goal_threshold_m: float = 2.0
    behind_m: float = 2.0
    lane_lookahead_m: float = 3.0
    lane_length_m: float = 40.0
    lane_samples: int = 100
    previous_within: float = 1.0


HEADING_WEIGHT, SPEED_WEIGHT = 0.5, 1.0
"""Weights of the heading (per rad) and of the speed (per m/s) in a distance between states."""

INVALID_PENALTY = 99.0


@dataclass(frozen=True, eq=False)
class Objects:
    """Moving and static objects on the road, as rectangles with predicted poses.

    ``sizes_m`` (n, 2) are lengths and widths. ``poses`` (n, k, 3) are those of the centers, one per
    ``Growth.step_s`` from the start of the plan. Afterwards, objects are at rest.
    """

    sizes_m: np.ndarray
    poses: np.ndarray


MAX_TURN_RADPS, MAX_LATERAL_MPS2 = 1.0, 4.0
"""Largest turn rate and lateral acceleration of an object that is predicted on an arc. Pedestrians
turn faster, but only briefly."""

NO_OBJECTS = Objects(np.empty((0, 2)), np.empty((0, 1, 3)))


def predict_objects(
    tracked: Sequence[TrackedObject], unit_m: float, ahead_s: float, step_s: float
) -> Objects:
    """Return tracked objects as rectangles, whose first pose is ``ahead_s`` after the observation.

    The poses are one per ``step_s``. Lengths are in units of ``unit_m``.
    """
    if not tracked:
        return NO_OBJECTS
    durations_s = [(len(moving.path) - 1) * moving.path_step_s for moving in tracked]
    times = ahead_s + step_s * np.arange(max(0, round((max(durations_s) - ahead_s) / step_s)) + 1)
    sizes, paths = [], []
    for moving in tracked:
        low, high = moving.outline_m.min(axis=0), moving.outline_m.max(axis=0)
        path_times = moving.path_step_s * np.arange(len(moving.path))
        yaws = np.interp(times, path_times, np.unwrap(moving.path[:, 2]))
        middle = 0.5 * (low + high)
        cos, sin = np.cos(yaws), np.sin(yaws)
        x = np.interp(times, path_times, moving.path[:, 0]) + cos * middle[0] - sin * middle[1]
        y = np.interp(times, path_times, moving.path[:, 1]) + sin * middle[0] + cos * middle[1]
        sizes.append(high - low)
        paths.append(np.column_stack([x / unit_m, y / unit_m, yaws]))
    return Objects(np.array(sizes) / unit_m, np.array(paths))


def predicted_on_arc(moving: TrackedObject, previous_turn_radps: float) -> TrackedObject:
    """Return the object with a path on an arc if its velocity turns steadily, else unchanged.

    ``previous_turn_radps`` is the turn rate in the previous observation. The smaller of both rates
    applies, since the heading of an object on a path of lines turns in single steps. A path that is
    not extrapolated is the object's own plan, and does not change.
    """
    vx, vy, turn = moving.velocity
    turn = math.copysign(min(abs(turn), abs(previous_turn_radps)), turn)
    turns_steadily = turn * previous_turn_radps > 0.0 and abs(turn) <= MAX_TURN_RADPS
    if not turns_steadily or abs(turn) * math.hypot(vx, vy) > MAX_LATERAL_MPS2:
        return moving
    times = moving.age_s + moving.path_step_s * np.arange(len(moving.path))
    pose = np.array(moving.pose)
    if not np.allclose(moving.path, pose + times[:, None] * np.array(moving.velocity)):
        return moving
    turned = turn * times
    along, across = np.sin(turned) / turn, (1.0 - np.cos(turned)) / turn
    offsets = np.column_stack([along * vx - across * vy, across * vx + along * vy, turned])
    return replace(moving, path=pose + offsets)


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A planned trajectory.

    Each of the controls (e, 2) is held for the number of steps in ``steps`` (e,). ``states`` (s, 4)
    are one per ``step_s`` from the start of the plan.
    """

    controls: np.ndarray
    steps: np.ndarray
    states: np.ndarray
    step_s: float
    cost: float

    @property
    def duration_s(self) -> float:
        return (len(self.states) - 1) * self.step_s

    def state_at(self, time_s: float) -> np.ndarray:
        """Return the state (4,) at a time after the start, or the last one."""
        place = min(max(time_s / self.step_s, 0.0), len(self.states) - 1.0)
        first = min(int(place), max(len(self.states) - 2, 0))
        share = place - first
        states: np.ndarray = self.states
        if first + 1 == len(states):
            return np.asarray(states[first])
        return np.asarray((1.0 - share) * states[first] + share * states[first + 1])

    def left_m(self, time_s: float) -> float:
        """Return the length (m) of the path after ``time_s``."""
        first = min(max(int(time_s / self.step_s), 0), len(self.states) - 1)
        return float(np.hypot(*np.diff(self.states[first:, :2], axis=0).T).sum())

    def control_at(self, time_s: float) -> np.ndarray:
        """Return the control (2,) at a time after the start, or the last one."""
        ends = np.cumsum(self.steps)
        edge = int(np.searchsorted(ends, max(time_s, 0.0) / self.step_s, side="right"))
        return np.asarray(self.controls[min(edge, len(self.controls) - 1)])

    def later(self, steps: int) -> "Trajectory":
        """Return the trajectory without its first ``steps`` steps."""
        remaining_steps = np.minimum(np.maximum(np.cumsum(self.steps) - steps, 0), self.steps)
        keep = remaining_steps > 0
        first = min(steps, len(self.states) - 1)
        return replace(
            self,
            controls=self.controls[keep],
            steps=remaining_steps[keep],
            states=self.states[first:],
        )
