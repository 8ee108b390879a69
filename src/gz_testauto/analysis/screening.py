"""Which trials of a screened campaign are worth another run in a simulator that costs more.

Owns the choice. Those that matter are all taken; of the others a random sample is, which stands
for the rest.
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
    """Return the reasons for which a trial is chosen; the first that applies counts."""
    crashes = (outcome.label for outcome in Outcome if outcome.declaration.crash)
    return (INVALID, DISAGREE, *crashes, CLOSEST, CONTROL)


@dataclass(frozen=True)
class Screening:
    """The trials chosen, each index with its reason, of ``screened`` in all."""

    reasons: Mapping[int, str]
    screened: int

    @property
    def trials(self) -> FrozenSet[int]:
        """The indices."""
        return frozenset(self.reasons)


def choose_trials(results: CampaignResults, seed: int, closest: int, control: int) -> Screening:
    """Choose from a screened campaign.

    Taken are the trials that are invalid, all planners' trials where only some of them reached
    the goal, collisions, robots that tipped over, the ``closest`` trials of lowest clearance among
    the others, and ``control`` more drawn at random. The same results and seed give the same
    choice.
    """
    reasons: Dict[int, str] = {}

    def take(records: List[TrialRecord], reason: str) -> None:
        for record in records:
            reasons.setdefault(record.trial, reason)

    take([r for r in results.trials if not r.outcome.valid], INVALID)
    for met in _meetings(results):
        if len({record.completed for record in met}) > 1:
            take(met, DISAGREE)
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


def _meetings(results: CampaignResults) -> List[List[TrialRecord]]:
    """The valid trials of the same world and repetition, all planners'."""
    met: Dict[tuple, List[TrialRecord]] = {}
    for record in results.trials:
        if record.outcome.valid:
            met.setdefault((record.world_index, record.repetition), []).append(record)
    return list(met.values())
