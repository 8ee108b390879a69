"""How fast a trial must run, in simulated over wall seconds, to be kept.

Owns the two limits that a campaign states and what either means. A trial that ran beside others
below ``limits.min_parallel_real_time_factor`` is repeated alone, and that repetition kept:
its wall times say more of its neighbors than of the planner. One on the user's own stack below
``stack.min_real_time_factor`` says nothing at all, since nobody waits for such a navigation to
think: it is invalid, repeated alone, and lost where that is too slow as well.
"""

import math
from typing import Optional

from gz_testauto.metrics.computing import real_time_factor
from gz_testauto.metrics.interface import MetricContext
from gz_testauto.metrics.recording import Recording
from gz_testauto.spec.campaign import CampaignSpec

_TOO_SLOW = "real-time factor "
"""What the cause of an attempt that was too slow begins with."""


def pace_to_repeat(spec: CampaignSpec, recording: Recording) -> Optional[float]:
    """The pace of a valid trial that ran beside others and is to be repeated alone, else None."""
    pace = real_time_factor(recording, MetricContext())
    return pace if pace < spec.limits.min_parallel_real_time_factor else None


def too_slow(spec: CampaignSpec, recording: Recording) -> str:
    """Why a trial on a stack was too slow to say anything; empty where it was not."""
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
    """Whether that was the cause of an invalid attempt."""
    return cause.startswith(_TOO_SLOW)
