"""Check that the real-time factor of a trial is high enough for a valid result.

Slow parallel trials are repeated alone. A slow attempt with a navigation stack is invalid.
"""

import math
from typing import Optional

from gz_testauto.metrics.computing import real_time_factor
from gz_testauto.metrics.interface import MetricContext
from gz_testauto.metrics.recording import Recording
from gz_testauto.spec.campaign import CampaignSpec

_CAUSE = "real-time factor "  # start of the stored cause of an attempt with a low real-time factor


def low_real_time_factor(spec: CampaignSpec, recording: Recording) -> Optional[float]:
    """Return the real-time factor of a parallel trial if it is so low that the trial must be
    repeated alone; else None."""
    # The wall times of a slow parallel trial depend more on other trials than on the planner.
    factor = real_time_factor(recording, MetricContext())
    return factor if factor < spec.limits.min_parallel_real_time_factor else None


def low_factor_cause(spec: CampaignSpec, recording: Recording) -> str:
    """Return why a low real-time factor makes a trial invalid; "" if the factor is high enough."""
    least_factor = spec.least_real_time_factor
    factor = real_time_factor(recording, MetricContext())
    if least_factor is None or not recording.duration_s > 0.0 or not factor < least_factor:
        return ""
    shown_factor = math.floor(100.0 * factor) / 100.0  # 0.797 must not appear as 0.80
    return (
        f"{_CAUSE}{shown_factor:.2f}, below stack.min_real_time_factor = {least_factor:g}: this "
        "computer is too slow or too busy for the stack; use fewer --workers, a simpler world, or "
        "a lower stack.max_real_time_factor"
    )


def is_low_factor_cause(cause: str) -> bool:
    return cause.startswith(_CAUSE)
