"""Count the trials that the load of the machine can have affected.

Owns the counting. Only trials on a user's stack, or over ROS in real time, can be affected; all
counts are 0 for others, which are the same on any machine.
"""

import math
from dataclasses import dataclass
from typing import Sequence

from gz_testauto.results.records import AttemptRecord, TrialRecord
from gz_testauto.spec.stack import MIN_REAL_TIME_FACTOR
from gz_testauto.trial.real_time_factor import was_too_slow

ON_STACK = "missed_control_cycles"
"""A metric that every trial on a stack has, and no other."""


@dataclass(frozen=True)
class MachineLoad:
    """The late trials of one planner.

    ``slow_attempts`` were repeated or abandoned because of their speed. Of the valid trials,
    ``slow_trials`` on a stack ran at a real-time factor below :data:`MIN_REAL_TIME_FACTOR`, in
    ``missed_cycles_trials`` its control loop missed its rate, and in ``late_trials`` a control
    period started without the planner's command.
    """

    slow_attempts: int
    slow_trials: int
    missed_cycles_trials: int
    late_trials: int


def load_of(records: Sequence[TrialRecord], attempts: Sequence[AttemptRecord]) -> MachineLoad:
    """Count those of one planner; ``attempts`` are the invalid ones of all planners."""
    trials = {record.trial for record in records}
    metrics = [record.metrics for record in records if record.outcome.valid]
    return MachineLoad(
        sum(one.trial in trials and was_too_slow(one.cause) for one in attempts),
        sum(
            m.get("real_time_factor", math.nan) < MIN_REAL_TIME_FACTOR
            for m in metrics
            if ON_STACK in m
        ),
        sum(m.get(ON_STACK, 0.0) > 0.0 for m in metrics),
        sum(m.get("late_periods", 0.0) > 0.0 for m in metrics),
    )
