"""The least real-time factor of a valid trial.

A campaign has two limits. A trial that ran in parallel below
``limits.min_parallel_real_time_factor`` is repeated alone, since its wall times depend more on the
other trials than on the planner. A trial on the user's stack below ``stack.min_real_time_factor``
is invalid, since simulated time does not wait for the navigation. It is repeated alone, and remains
invalid if it is too slow again.
"""

import math
from typing import Optional

from gz_testauto.metrics.computing import real_time_factor
from gz_testauto.metrics.interface import MetricContext
from gz_testauto.metrics.recording import Recording
from gz_testauto.spec.campaign import CampaignSpec

_CAUSE = "real-time factor "
"""Start of the cause of an attempt that was too slow."""


def low_real_time_factor(spec: CampaignSpec, recording: Recording) -> Optional[float]:
    """Return the real-time factor of a valid parallel trial that must be repeated alone, else
    None."""
    factor = real_time_factor(recording, MetricContext())
    return factor if factor < spec.limits.min_parallel_real_time_factor else None


def low_factor_cause(spec: CampaignSpec, recording: Recording) -> str:
    """Return why a trial on a stack was too slow to be valid; empty if it was not."""
    least = spec.least_real_time_factor
    factor = real_time_factor(recording, MetricContext())
    if least is None or not recording.duration_s > 0.0 or not factor < least:
        return ""
    shown = math.floor(100.0 * factor) / 100.0  # 0.797 must not appear as 0.80
    return (
        f"{_CAUSE}{shown:.2f}, below stack.min_real_time_factor = {least:g}: this computer is too "
        "slow or too busy for the stack; use fewer --workers, a simpler world, or a lower "
        "stack.max_real_time_factor"
    )


def is_low_factor_cause(cause: str) -> bool:
    """Return whether an attempt was invalid because of its real-time factor."""
    return cause.startswith(_CAUSE)
