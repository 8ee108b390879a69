"""Select the trials of a screened campaign to run again in a more expensive simulator.

Selected are all trials with a reason, and a random sample that represents the others.
"""

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
    """Return the reasons to select a trial; the first that applies counts."""
    crashes = (outcome.label for outcome in Outcome if outcome.declaration.crash)
    return (INVALID, DISAGREE, *crashes, CLOSEST, CONTROL)


@dataclass(frozen=True)
class Screening:
    """The trials selected from ``screened`` trials: the index of each with the reason."""

    reasons: Mapping[int, str]
    screened: int

    @property
    def trials(self) -> FrozenSet[int]:
        """The indices of the selected trials."""
        return frozenset(self.reasons)


def choose_trials(results: CampaignResults, seed: int, closest: int, control: int) -> Screening:
    """Select trials of a screened campaign.

    These are the invalid trials, the trials of all planners in worlds in which only some of them
    reached the goal, collisions, robots that tipped over, the ``closest`` trials of lowest
    clearance among the others, and ``control`` more drawn at random. The same results and seed give
    the same selection.
    """
    reasons: Dict[int, str] = {}

    def take(records: List[TrialRecord], reason: str) -> None:
        for record in records:
            reasons.setdefault(record.trial, reason)

    take([r for r in results.trials if not r.outcome.valid], INVALID)
    for records in _trials_by_run(results):
        if len({record.completed for record in records}) > 1:
            take(records, DISAGREE)
    for outcome in Outcome:
        if outcome.declaration.crash:
            take([one for one in results.trials if one.outcome is outcome], outcome.label)
    rest = [record for record in results.trials if record.trial not in reasons]
    by_clearance = sorted(rest, key=lambda r: (r.metrics["clearance_min_m"], r.trial))
    take(by_clearance[:closest], CLOSEST)
    rest = [record for record in rest if record.trial not in reasons]
    drawn = child_generator(seed, CONTROL_SAMPLE).permutation(len(rest))[:control]
    take([rest[index] for index in sorted(drawn.tolist())], CONTROL)
    return Screening(reasons, len(results.trials))


def _trials_by_run(results: CampaignResults) -> List[List[TrialRecord]]:
    """Return the valid trials of all planners for each world and repetition."""
    runs: Dict[tuple, List[TrialRecord]] = {}
    for record in results.trials:
        if record.outcome.valid:
            runs.setdefault((record.world_index, record.repetition), []).append(record)
    return list(runs.values())
