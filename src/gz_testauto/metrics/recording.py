"""Define the recording of a trial: its measurements as arrays over simulated time.

Sampled arrays have at least one row per control period, and their first axis is the sample. Poses
are ground truth in the world frame.
"""

from dataclasses import dataclass, field
from typing import Mapping, Optional, Tuple

import numpy as np

# Prefix of a series with an actor's poses: x, y (m), yaw (rad), world frame, shape (n, 3).
ACTOR_SERIES = "actor_"

# Prefix of a series with an actor's convex outline, and the series with the robot's: shape (k, 2),
# counter-clockwise, in meters, relative to the pose.
OUTLINE_SERIES, FOOTPRINT_SERIES = "outline_", "footprint"

# Prefix of a series with a lane: x and y of its center in the world frame and its width, in meters,
# shape (k, 3). The lane of the route is the first.
LANE_SERIES = "lane_"

# The series with the robot's pose at each sample, from tf or from simulated localization: x, y (m)
# and yaw (rad), shape (n, 3), or NaN where tf has no pose.
TF_SERIES = "tf"

# The series with the kidnappings of the robot: the time (s) of the sample after whose pose it was
# moved, and the x, y (m) and yaw (rad) to which it was moved, shape (k, 4).
KIDNAPPING_SERIES = "kidnappings"

# The series with the points of a stack's plans: the time of the plan (s), and x and y (m) in the
# world frame, shape (k, 3). Adjacent points with the same time are one plan.
PLAN_SERIES = {"global": "global_plans", "local": "local_plans"}


@dataclass(frozen=True, eq=False)
class ContactEpisode:
    """One collision: contacts of the robot with one partner, without gaps of more than 0.5 s.

    ``partner`` is the other model, and ``speed_mps`` the robot's speed at the first contact.
    ``source`` is ``"contact"`` for a contact of the simulator, or ``"geometry"`` if footprint and
    obstacle overlapped.
    """

    start_s: float
    end_s: float
    partner: str
    speed_mps: float
    source: str


@dataclass(frozen=True, eq=False)
class Recording:
    """The sampled data of a trial.

    ============================ ============ =============================================
    field                        shape        meaning
    ============================ ============ =============================================
    ``time_s``                   (n,)         simulated time since the goal was sent
    ``pose``                     (n, 3)       x (m), y (m), yaw (rad) of the base
    ``twist``                    (n, 3)       v_x, v_y (m/s) in the base frame, yaw rate
    ``command``                  (n, 2)       velocity command at that time: v_x (m/s), yaw
                                              rate; NaN before the first command
    ``clearance_m``              (n,)         footprint polygon to nearest obstacle
                                              collision geometry, 0 when touching
    ``z_m``                      (n,)         height of the base in the world frame
    ``roll_pitch_rad``           (n, 2)       roll, pitch of the base, fixed axes
    ``cycle_time_s``             (m,)         wall time of each local-planner cycle
    ``cycle_cpu_s``              (m,)         CPU time of the same
    ============================ ============ =============================================

    ``shortest_path_m`` is the length of the shortest path for the robot's circumscribed circle
    through all goals in order, and ``published_path_m`` that of the best path that a benchmark has
    published. Both are None if unknown. ``z_m`` and ``roll_pitch_rad`` are None in older
    recordings. ``wall_time_s`` is the wall time of the simulation. ``goal_times_s``, shape (k,), is
    the time at which each goal was reached, or NaN; it is None for a single goal. ``completed`` is
    true if the last goal was reached. ``series`` contains further arrays (trajectories of actors,
    data of a stack), and ``numbers`` further numbers (drawn values, data of a stack), by name.
    """

    time_s: np.ndarray
    pose: np.ndarray
    twist: np.ndarray
    command: np.ndarray
    clearance_m: np.ndarray
    cycle_time_s: np.ndarray
    cycle_cpu_s: np.ndarray
    contacts: Tuple[ContactEpisode, ...] = ()
    wall_time_s: float = float("nan")
    completed: bool = True
    shortest_path_m: Optional[float] = None
    published_path_m: Optional[float] = None
    z_m: Optional[np.ndarray] = None
    roll_pitch_rad: Optional[np.ndarray] = None
    goal_times_s: Optional[np.ndarray] = None
    series: Mapping[str, np.ndarray] = field(default_factory=dict)
    numbers: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rows = len(self.time_s)
        for name, width in (("pose", 3), ("twist", 3), ("command", 2)):
            if getattr(self, name).shape != (rows, width):
                raise ValueError(f"{name} must have shape ({rows}, {width})")
        if self.clearance_m.shape != (rows,):
            raise ValueError(f"clearance_m must have shape ({rows},)")
        if self.z_m is not None and self.z_m.shape != (rows,):
            raise ValueError(f"z_m must have shape ({rows},)")
        if self.roll_pitch_rad is not None and self.roll_pitch_rad.shape != (rows, 2):
            raise ValueError(f"roll_pitch_rad must have shape ({rows}, 2)")
        if rows > 1 and not (np.diff(self.time_s) > 0).all():
            raise ValueError("time_s must increase strictly")

    @property
    def kidnapped(self) -> np.ndarray:
        """True for each period between two samples at whose start the robot was moved to another
        place, shape (n − 1,)."""
        kidnapped = np.zeros(max(len(self.time_s) - 1, 0), dtype=bool)
        moves = self.series.get(KIDNAPPING_SERIES)
        if moves is not None:
            kidnapped[np.searchsorted(self.time_s, moves[:, 0])] = True
        return kidnapped

    @property
    def step_starts_m(self) -> np.ndarray:
        """The position (m) from which the robot moved in each period between two samples, shape
        (n − 1, 2). After a kidnapping, it is the new place."""
        starts_m = self.pose[:-1, :2].copy()
        moves = self.series.get(KIDNAPPING_SERIES)
        if moves is not None:
            starts_m[self.kidnapped] = moves[:, 1:3]
        return starts_m

    @property
    def steps_m(self) -> np.ndarray:
        """The motion (m) in each period between two samples, without kidnappings, shape
        (n − 1, 2)."""
        return np.asarray(self.pose[1:, :2] - self.step_starts_m)

    @property
    def duration_s(self) -> float:
        """Time from the first to the last sample; 0 for fewer than two samples."""
        return float(self.time_s[-1] - self.time_s[0]) if len(self.time_s) > 1 else 0.0
