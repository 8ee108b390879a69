"""Quality of a trial's plans by the measures of the paper's table: each plan by itself, followed or
not.

This module computes the means over all samples of all plans since the robot first reached the
desired speed.
"""

from typing import Dict, Optional, Sequence

import numpy as np

from gz_testauto.extras.sst.model import Trajectory
from gz_testauto.planners.interface import Lane
from gz_testauto.planners.lanes import lateral_offset_m

PAPER_SPEED_MPS = 5.0
"""Desired speed in Smit et al. 2022."""

UP_TO_SPEED = 0.97
"""Share of the desired speed at which it counts as reached."""


class Judged:
    """Sums over plans."""

    def __init__(self) -> None:
        self._asked = self._failed = 0
        self._sums, self._counts = np.zeros(3), np.zeros(3)
        self._cost = 0.0
        self._is_fast = False

    def take(
        self, plan: Optional[Trajectory], speed_mps: float, lanes: Sequence[Lane], unit_m: float
    ) -> None:
        """Add one plan, None if none was found, that was computed at ``speed_mps``; lengths are in
        ``unit_m``."""
        self._is_fast = self._is_fast or speed_mps >= UP_TO_SPEED * PAPER_SPEED_MPS
        if not self._is_fast:
            return
        self._asked += 1
        if plan is None:
            self._failed += 1
            return
        states = plan.states
        errors = (
            np.diff(states[:, 3]) / plan.step_s,
            states[:, 3] - PAPER_SPEED_MPS,
            lateral_offset_m(lanes, states[:, :2]),
        )
        self._sums += [unit_m * float(np.abs(error).sum()) for error in errors]
        self._counts += [len(error) for error in errors]
        self._cost += plan.cost

    @property
    def numbers(self) -> Dict[str, float]:
        """Return ``plans`` requested and ``plans_failed``; of the others the mean absolute
        acceleration (m/s²), deviation from the desired speed (m/s) and from the nearest lane's
        center (m), and cost. Empty before the desired speed was reached."""
        if not self._asked:
            return {}
        means = self._sums / np.maximum(self._counts, 1.0)
        told = {"plans": float(self._asked), "plans_failed": float(self._failed)}
        if self._asked > self._failed:
            names = ("plan_accel_mps2", "plan_speed_error_mps", "plan_lane_error_m")
            told.update(zip(names, means.tolist()))
            told["plan_cost"] = self._cost / (self._asked - self._failed)
        return told
