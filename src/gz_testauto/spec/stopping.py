"""Early stop of a campaign: as soon as its comparison is decided.

Owns the keys of ``stop``; the test is in :mod:`gz_testauto.analysis.early_end`.
"""

from typing import Literal, Optional

from pydantic import Field

from gz_testauto.spec.model import Spec


class StopSpec(Spec):
    """A rule that stops a campaign as soon as every pair of planners (with ``baseline``, every pair
    with that planner) is decided: one of the two succeeds more often, or, with
    ``equivalence_margin``, the success rates differ by less than that. ``alpha`` is the probability
    that any decision is wrong."""

    when: Literal["decided"]
    alpha: float = Field(0.05, gt=0, lt=0.5)
    max_worlds: Optional[int] = Field(None, ge=2)
    """Number of worlds after which the campaign stops undecided; default: all worlds."""
    baseline: str = ""
    """The planner that the others are compared with; default: every pair is compared."""
    equivalence_margin: Optional[float] = Field(None, gt=0, lt=1)
    """A difference of success rates without practical meaning; default: none."""
