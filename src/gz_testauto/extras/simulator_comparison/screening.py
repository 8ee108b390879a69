"""Selection of trials of a screened campaign to run again in a more expensive simulator."""

from dataclasses import dataclass
from typing import Dict, FrozenSet, List, Mapping, Tuple

from gz_testauto.results.records import CampaignResults, TrialRecord
from gz_testauto.sampling.seeds import CONTROL_SAMPLE, child_generator
from gz_testauto.trial.outcome import Outcome

INVALID = "invalid"
DISAGREE = "planners disagree"
CLOSEST = "lowest clearance"
CONTROL = "control sample"


def possible_reasons() -> Tuple[str, ...]:
    """Return the reasons to select a trial, of which the first that applies counts."""
    crashes = (outcome.label for outcome in Outcome if outcome.declaration.crash)
    return (INVALID, DISAGREE, *crashes, CLOSEST, CONTROL)


@dataclass(frozen=True)
class Screening:
    """The reasons of the selected trials by index, and the number of trials."""

    reasons: Mapping[int, str]
    screened: int

    @property
    def trials(self) -> FrozenSet[int]:
        return frozenset(self.reasons)


def choose_trials(results: CampaignResults, seed: int, closest: int, control: int) -> Screening:
    """Select trials of a screened campaign, the same for the same results and seed.

    Of the trials without a reason, the ``closest`` ones of lowest clearance are added, and
    ``control`` random ones, which represent those that are not selected.
    """
    reasons: Dict[int, str] = {}

    def add_reason(records: List[TrialRecord], reason: str) -> None:
        for record in records:
            reasons.setdefault(record.trial, reason)

    add_reason([r for r in results.trials if not r.outcome.valid], INVALID)
    for records in _trials_by_run(results):
        if len({record.completed for record in records}) > 1:
            add_reason(records, DISAGREE)
    for outcome in Outcome:
        if outcome.declaration.crash:
            add_reason([r for r in results.trials if r.outcome is outcome], outcome.label)
    remaining = [record for record in results.trials if record.trial not in reasons]
    by_clearance = sorted(remaining, key=lambda r: (r.metrics["clearance_min_m"], r.trial))
    add_reason(by_clearance[:closest], CLOSEST)
    remaining = [record for record in remaining if record.trial not in reasons]
    drawn = child_generator(seed, CONTROL_SAMPLE).permutation(len(remaining))[:control]
    add_reason([remaining[index] for index in sorted(drawn.tolist())], CONTROL)
    return Screening(reasons, len(results.trials))


def _trials_by_run(results: CampaignResults) -> List[List[TrialRecord]]:
    runs: Dict[tuple, List[TrialRecord]] = {}
    for record in results.trials:
        if record.outcome.valid:
            runs.setdefault((record.world_index, record.repetition), []).append(record)
    return list(runs.values())
