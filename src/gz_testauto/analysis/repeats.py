"""The share of a trial's repeats with the same outcome."""

from typing import NamedTuple

from gz_testauto.analysis.intervals import Estimate, success_rate

LEAST_ROBUST = 0.8  # least share of repeats for a robust outcome

LABELS = ROBUST, UNDECIDED, FRAGILE, UNTESTED = "robust", "undecided", "fragile", "not tested"


class RepeatCount(NamedTuple):
    """The repeats of a trial: ``same`` of ``valid`` repeats have its outcome, or another
    property."""

    same: int = 0
    valid: int = 0

    @property
    def share(self) -> Estimate:
        return success_rate(self.same, self.valid)

    @property
    def label(self) -> str:
        """One of :data:`LABELS`. The outcome is robust or fragile if the whole interval of the
        share is above or below :data:`LEAST_ROBUST`, and otherwise undecided."""
        if not self.valid:
            return UNTESTED
        if self.share.low >= LEAST_ROBUST:
            return ROBUST
        return FRAGILE if self.share.high < LEAST_ROBUST else UNDECIDED

    def text(self, trials: str, have: str) -> str:
        """Return a sentence such as ``9 of 10 trials have it (90 %, 95 % interval 60 to 98 %)``,
        with the noun ``trials`` and the predicate ``have``."""
        if not self.valid:
            return f"unknown, since none of the {trials} is valid"
        value, low, high = (f"{100 * number:.0f}" for number in self.share[:3])
        return (
            f"{self.same} of {self.valid} {trials} {have} ({value} %, 95 % interval {low} to "
            f"{high} %)"
        )


NO_REPEATS = RepeatCount()
