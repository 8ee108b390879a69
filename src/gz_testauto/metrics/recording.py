"""The measurements of a trial, as arrays over simulated time.

Written by the runner, read by metrics and plots. One row per control period at least; all
arrays share the first axis. Poses are ground truth from the simulator, never a localizer's
estimate, in the world frame.
"""

from dataclasses import dataclass, field
from typing import Mapping, Optional, Tuple

import numpy as np

ACTOR_SERIES = "actor_"
"""Begins the name of a series with an actor's poses, shape (n, 3): x, y (m), yaw (rad), world
frame."""

OUTLINE_SERIES, FOOTPRINT_SERIES = "outline_", "footprint"
"""Begins the name of a series with an actor's convex outline about its pose, and the name of that
with the robot's; shape (k, 2), counter-clockwise, meters."""

LANE_SERIES = "lane_"
"""Begins the name of a series with a lane, that of the route first, shape (k, 3): x, y of its
center and its width, meters, world frame."""


@dataclass(frozen=True, eq=False)
class ContactEpisode:
    """One collision: the robot touching one partner without a gap of over 0.5 s.

    ``partner`` is the other model; ``speed_mps`` the robot's speed at first touch;
    ``source`` is ``"contact"`` (reported by the physics) or ``"geometry"`` (footprint and
    obstacle overlap).
    """

    start_s: float
    end_s: float
    partner: str
    speed_mps: float
    source: str


@dataclass(frozen=True, eq=False)
class Recording:
    """A trial, sampled.

    ============================ ============ =============================================
    field                        shape        meaning
    ============================ ============ =============================================
    ``time_s``                   (n,)         simulated time since the goal was sent
    ``pose``                     (n, 3)       x (m), y (m), yaw (rad) of the base
    ``twist``                    (n, 3)       v_x, v_y (m/s) in the base frame, yaw rate
    ``command``                  (n, 2)       what the navigation asked for at that time;
                                              NaN where it has not yet spoken
    ``clearance_m``              (n,)         footprint polygon to nearest obstacle
                                              collision geometry, 0 when touching
    ``z_m``                      (n,)         height of the base in the world frame
    ``roll_pitch_rad``           (n, 2)       roll, pitch of the base, fixed axes
    ``cycle_time_s``             (m,)         wall time of each local-planner cycle
    ``cycle_cpu_s``              (m,)         CPU time of the same
    ============================ ============ =============================================

    ``shortest_path_m`` is the length of the shortest way for the robot's circle in this world,
    through all goals in order, ``published_path_m`` that of the best way as a benchmark publishes
    it; None where not known.
    ``z_m`` and ``roll_pitch_rad`` are None in recordings that were made before these were kept.
    ``wall_time_s`` is how long the trial's simulation took, for the real-time factor.
    ``goal_times_s``, shape (k,), is when each of several goals was reached, NaN where it was not;
    None where there was one. ``completed`` says that the last was.
    ``series`` holds further arrays (the ways of actors, what a navigation stack told) and
    ``numbers`` further numbers (what was drawn, what a stack told), by name; what they are is said
    where they come from.
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
    def duration_s(self) -> float:
        """Simulated time from first to last sample; 0 for fewer than two."""
        return float(self.time_s[-1] - self.time_s[0]) if len(self.time_s) > 1 else 0.0
