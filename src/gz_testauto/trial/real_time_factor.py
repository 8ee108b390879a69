"""The least real-time factor of a valid trial.

Owns the two limits of a campaign. A trial that ran in parallel below
``limits.min_parallel_real_time_factor`` is repeated alone, since its wall times depend more on the
other trials than on the planner. A trial on the user's stack below ``stack.min_real_time_factor``
is invalid, since simulated time does not wait for the navigation; it is repeated alone, and lost if
that is too slow as well.
"""

import math
from typing import Optional

from gz_testauto.metrics.computing import real_time_factor
from gz_testauto.metrics.interface import MetricContext
from gz_testauto.metrics.recording import Recording
from gz_testauto.spec.campaign import CampaignSpec

_TOO_SLOW = "real-time factor "
"""Start of the cause of an attempt that was too slow."""


def pace_to_repeat(spec: CampaignSpec, recording: Recording) -> Optional[float]:
    """Return the real-time factor of a valid parallel trial that must be repeated alone, else
    None."""
    pace = real_time_factor(recording, MetricContext())
    return pace if pace < spec.limits.min_parallel_real_time_factor else None


def too_slow(spec: CampaignSpec, recording: Recording) -> str:
    """Return why a trial on a stack was too slow to be valid; empty if it was not."""
    least = spec.least_real_time_factor
    pace = real_time_factor(recording, MetricContext())
    if least is None or not recording.duration_s > 0.0 or not pace < least:
        return ""
    shown = math.floor(100.0 * pace) / 100.0  # 0.797 is not to read as 0.80
    return (
        f"{_TOO_SLOW}{shown:.2f}, below stack.min_real_time_factor = {least:g}: this machine is "
        "too slow or too busy for the stack to keep up; fewer --workers, a simpler world, or a "
        "lower stack.max_real_time_factor"
    )


def was_too_slow(cause: str) -> bool:
    """Return whether this was the cause of an invalid attempt."""
    return cause.startswith(_TOO_SLOW)
