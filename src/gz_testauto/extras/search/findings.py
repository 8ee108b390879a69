"""The trials that a search selects, with robustness and outcome in another simulator."""

import math
import sys
from dataclasses import dataclass, replace
from typing import Any, Dict, List, Optional, Sequence, Set

from gz_testauto.analysis.intervals import success_rate
from gz_testauto.analysis.repeats import FRAGILE, NO_REPEATS, ROBUST, UNDECIDED, RepeatCount
from gz_testauto.base.errors import SpecError
from gz_testauto.extras.search.repeats import Examination
from gz_testauto.extras.search.screening import SearchPlan
from gz_testauto.results.records import CampaignResults, TrialRecord
from gz_testauto.spec.campaign import BuiltinCampaignSpec, CampaignSpec
from gz_testauto.trial.executor import StopRequest
from gz_testauto.trial.plan import PreparedCampaign
from gz_testauto.trial.trial import trial_label
from gz_testauto.worlds.record import WorldRecord


@dataclass(frozen=True)
class FoundTrial:
    """A trial that a search selected.

    ``repeats`` counts the perturbed trials that have the searched property. ``confirmed`` is the
    outcome in another simulator, or empty if it was not tested. ``value`` and ``confirmed_value``
    are the metric of the condition in both simulators.
    """

    record: TrialRecord
    world: WorldRecord
    screened: bool
    repeats: RepeatCount = NO_REPEATS
    confirmed: str = ""
    value: float = math.nan
    confirmed_value: float = math.nan

    def to_dict(self) -> Dict[str, Any]:
        return {
            "world": self.record.world,
            "planner": self.record.planner,
            "outcome": self.record.outcome.value,
            "screened": self.screened,
            "shortest_path_m": self.world.shortest_path_m,
            "density": None if self.world.difficulty is None else self.world.difficulty.density,
            "same": self.repeats.same,
            "perturbed": self.repeats.valid,
            "robustness": self.repeats.label,
            "confirmed": self.confirmed or None,
            "value": _number_or_none(self.value),
            "confirmed_value": _number_or_none(self.confirmed_value),
        }


def searched_campaign(spec: CampaignSpec, plan: SearchPlan) -> BuiltinCampaignSpec:
    """Return the campaign with the plan's number of worlds, without repetitions and ``stop``.

    Raises ``SpecError`` for a campaign without random obstacles, or with a navigation stack.
    """
    spec = spec.without_stack("search with planners of this package or of plug-ins")
    if spec.worlds.obstacles is None or spec.worlds.base is None:
        raise SpecError(
            f"campaign {spec.name}: worlds has no random obstacles to search; specify worlds.base "
            "and worlds.obstacles"
        )
    worlds = spec.worlds.model_copy(update={"count": plan.worlds})
    return spec.model_copy(update={"worlds": worlds, "stop": None, "repetitions": 1})


def _number_or_none(value: float) -> Optional[float]:
    return None if math.isnan(value) else value


def examine(
    findings: Sequence[FoundTrial],
    campaign: PreparedCampaign,
    examination: Examination,
    perturbed: int,
    confirm: bool,
    should_stop: StopRequest,
) -> List[FoundTrial]:
    """Return the findings with their robustness in ``perturbed`` repeats, and their confirmation.

    With ``confirm``, findings that are not fragile also run in the other simulator. After a stop,
    the remaining findings are omitted.
    """
    trials = {trial.index: trial for trial in campaign.trials}
    examined: List[FoundTrial] = []
    for number, finding in enumerate(findings):
        if should_stop():
            break
        record = finding.record
        label = trial_label(record.world, record.planner, 0)
        print(f"[{number + 1}/{len(findings)}] {label}", file=sys.stderr, flush=True)
        trial = trials[record.trial]
        if perturbed:
            repeats = examination.count(trial, record.outcome, perturbed, label)
            finding = replace(finding, repeats=repeats)
        if confirm and finding.repeats.label != FRAGILE:
            other = examination.confirmation(trial, label)
            if not other.outcome.valid:
                print(f"{label}: {other.detail}", file=sys.stderr, flush=True)
            finding = replace(finding, confirmed=other.outcome.value, confirmed_value=other.value)
        examined.append(finding)
    return examined


def search_report(
    results: CampaignResults, screened: Set[str], findings: Sequence[FoundTrial], perturbed: int
) -> Dict[str, Any]:
    rates: List[Dict[str, Any]] = []
    for planner in results.planners:
        for is_screened in (False, True):
            trials = sum(
                record.planner == planner
                and record.outcome.valid
                and (record.world in screened) == is_screened
                for record in results.trials
            )
            hits = [
                finding
                for finding in findings
                if finding.record.planner == planner and finding.screened == is_screened
            ]
            rate = success_rate(len(hits), trials)
            labels = [finding.repeats.label for finding in hits]
            rates.append(
                {
                    "planner": planner,
                    "worlds": "screened" if is_screened else "plain",
                    "trials": trials,
                    "found": len(hits),
                    "rate": [rate.value, rate.low, rate.high] if trials else None,
                    **{
                        label: labels.count(label) if perturbed else None
                        for label in (ROBUST, UNDECIDED, FRAGILE)
                    },
                }
            )
    return {"rates": rates, "found": [finding.to_dict() for finding in findings]}
