"""What a trial's plans were like, as the paper's table judges them: each plan by itself, whether it
was followed or not.

Owns the means over all samples of all plans that were made since the robot first drove at the
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
"""Share of the desired speed that counts as that."""


class Judged:
    """Adds up plans."""

    def __init__(self) -> None:
        self._asked = self._failed = 0
        self._sums, self._counts = np.zeros(3), np.zeros(3)
        self._cost = 0.0
        self._is_fast = False

    def take(
        self, plan: Optional[Trajectory], speed_mps: float, lanes: Sequence[Lane], unit_m: float
    ) -> None:
        """One plan, None where none was found, made at this speed; lengths in ``unit_m``."""
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
        """``plans`` asked for and ``plans_failed``; of the others the mean absolute acceleration
        (m/s²), deviation from the desired speed (m/s) and from the nearest lane's center (m), and
        cost. Nothing before the desired speed."""
        if not self._asked:
            return {}
        means = self._sums / np.maximum(self._counts, 1.0)
        told = {"plans": float(self._asked), "plans_failed": float(self._failed)}
        if self._asked > self._failed:
            names = ("plan_accel_mps2", "plan_speed_error_mps", "plan_lane_error_m")
            told.update(zip(names, means.tolist()))
            told["plan_cost"] = self._cost / (self._asked - self._failed)
        return told
