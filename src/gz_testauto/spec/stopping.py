"""Early stop of a campaign: as soon as its comparison is decided.

Defines the keys of ``stop``; the test is in :mod:`gz_testauto.analysis.early_stop`.
"""

from typing import Literal, Optional

from pydantic import Field

from gz_testauto.spec.model import Spec


class StopSpec(Spec):
    """A rule that stops a campaign as soon as every pair of planners is decided: one of the two
    succeeds more often, or their success rates differ by less than ``equivalence_margin``."""

    when: Literal["decided"]
    """The event that stops the campaign: all pairs are decided."""
    alpha: float = Field(0.05, gt=0, lt=0.5)
    """The largest probability that any decision is wrong."""
    max_worlds: Optional[int] = Field(None, ge=2)
    """Number of worlds after which the campaign stops undecided; default: all worlds."""
    baseline: str = ""
    """Name of the planner that the others are compared with; default: every pair is compared."""
    equivalence_margin: Optional[float] = Field(None, gt=0, lt=1)
    """A difference of success rates without practical meaning; default: none."""
