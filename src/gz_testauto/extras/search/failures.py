"""The failures that a search has found: their robustness, and their outcome in another simulator.

:class:`FailureExaminer` measures both, and stores the answers in a journal, so that a command that
was killed continues with the first missing answer.
"""

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Set

from gz_testauto.analysis.intervals import success_rate
from gz_testauto.base.errors import GzTestautoError, SpecError
from gz_testauto.campaign.robustness import PerturbedTrial, measure_robustness
from gz_testauto.campaign.trial_runner import TrialRunner
from gz_testauto.extras.search.journal import Journal
from gz_testauto.extras.search.screening import SearchPlan
from gz_testauto.results.records import CampaignResults, TrialRecord
from gz_testauto.spec.campaign import BuiltinCampaignSpec, CampaignSpec
from gz_testauto.trial.executor import StopRequest
from gz_testauto.trial.outcome import Outcome
from gz_testauto.trial.plan import trial_label
from gz_testauto.trial.setup import PreparedCampaign
from gz_testauto.worlds.record import WorldRecord

ROBUST = 0.8
"""Least share of perturbed trials with the same outcome for a robust failure."""


@dataclass(frozen=True)
class Failure:
    """A failed trial of a search.

    ``same`` of ``valid`` perturbed trials have its outcome. ``confirmed`` is the outcome in another
    simulator, or empty.
    """

    record: TrialRecord
    world: WorldRecord
    screened: bool
    same: int = 0
    valid: int = 0
    confirmed: str = ""

    @property
    def share(self) -> float:
        """Return the share of perturbed trials with the same outcome, 0 without valid ones."""
        return self.same / self.valid if self.valid else 0.0

    @property
    def is_robust(self) -> bool:
        """Return whether enough perturbed trials have the same outcome."""
        return self.share >= ROBUST

    def to_dict(self) -> Dict[str, Any]:
        """Return the entry in the report."""
        return {
            "world": self.record.world,
            "planner": self.record.planner,
            "outcome": self.record.outcome.value,
            "screened": self.screened,
            "shortest_path_m": self.world.shortest_path_m,
            "density": None if self.world.difficulty is None else self.world.difficulty.density,
            "same_outcome": self.same,
            "perturbed": self.valid,
            "confirmed": self.confirmed or None,
        }


def searched_campaign(spec: CampaignSpec, plan: SearchPlan) -> BuiltinCampaignSpec:
    """Return the campaign of a search: with the number of worlds of the plan, one repetition, and
    without a rule by which it stops early.

    Raises ``SpecError`` if the campaign has no random obstacles, or a stack.
    """
    if not isinstance(spec, BuiltinCampaignSpec):
        raise SpecError(
            f"campaign {spec.name}: a search repeats failures with small changes, so it does not "
            "support a stack; use planners of this package or of plug-ins"
        )
    if spec.worlds.obstacles is None or spec.worlds.base is None:
        raise SpecError(
            f"campaign {spec.name}: worlds has no random obstacles to search; specify worlds.base "
            "and worlds.obstacles"
        )
    worlds = spec.worlds.model_copy(update={"count": plan.worlds})
    return spec.model_copy(update={"worlds": worlds, "stop": None, "repetitions": 1})


class FailureExaminer:
    """A measurement of failures in the campaign of a search. ``perturbed`` is the number of
    perturbed trials of each failure. Robust failures also run in the simulator ``confirm``, unless
    it is empty.
    """

    def __init__(
        self, campaign: PreparedCampaign, journal: Path, perturbed: int, confirm: str
    ) -> None:
        self._campaign = campaign
        self._trials = {trial.index: trial for trial in campaign.trials}
        self._journal = Journal(journal, {"format": 1})
        self._perturbed = perturbed
        self._confirm = confirm

    def examine(self, failures: Sequence[Failure], should_stop: StopRequest) -> List[Failure]:
        """Return the failures with the measured values, or those until the stop."""
        found: List[Failure] = []
        for number, failure in enumerate(failures):
            if should_stop():
                break
            label = trial_label(failure.record.world, failure.record.planner, 0)
            print(f"[{number + 1}/{len(failures)}] {label}", file=sys.stderr, flush=True)
            found.append(self._examined(failure, label))
        return found

    def _examined(self, failure: Failure, label: str) -> Failure:
        spec = self._campaign.spec
        trial = PerturbedTrial.of_trial(self._campaign, self._trials[failure.record.trial])
        if self._perturbed:
            key = f"{label} perturbed {self._perturbed}"
            counts = self._journal.get(key)
            if counts is None:
                measured = measure_robustness(spec, trial, failure.record.outcome, self._perturbed)
                counts = {"same": measured.same, "valid": measured.valid}
                self._journal.add(key, counts)
            failure = replace(failure, **counts)
        if self._confirm and (failure.is_robust or not self._perturbed):
            key = f"{label} in {self._confirm}"
            outcome = self._journal.get(key)
            if outcome is None:
                outcome = self._outcome_in_other_simulator(failure, trial)
                self._journal.add(key, outcome)
            failure = replace(failure, confirmed=outcome)
        return failure

    def _outcome_in_other_simulator(self, failure: Failure, trial: PerturbedTrial) -> str:
        try:
            with TrialRunner(self._campaign.spec, self._confirm) as runner:
                return runner.run(
                    failure.world.path,
                    trial.planner,
                    seed=trial.seed,
                    start=trial.start,
                    goals=trial.goals,
                ).outcome.value
        except GzTestautoError as error:
            print(f"{failure.world.name} in {self._confirm}: {error}", file=sys.stderr)
            return Outcome.INVALID.value


def search_report(
    results: CampaignResults, screened: Set[str], failures: Sequence[Failure], perturbed: int
) -> Dict[str, Any]:
    """Return the report of a search: the rate of failures for each planner in plain and in screened
    worlds with its interval, and all failures. ``screened`` are the names of the screened worlds.
    """
    rates: List[Dict[str, Any]] = []
    for planner in results.planners:
        for is_screened in (False, True):
            trials = sum(
                one.planner == planner
                and one.outcome.valid
                and (one.world in screened) == is_screened
                for one in results.trials
            )
            hits = [
                one
                for one in failures
                if one.record.planner == planner and one.screened == is_screened
            ]
            rate = success_rate(len(hits), trials)
            robust: Optional[int] = sum(one.is_robust for one in hits) if perturbed else None
            rates.append(
                {
                    "planner": planner,
                    "worlds": "screened" if is_screened else "plain",
                    "trials": trials,
                    "failures": len(hits),
                    "rate": [rate.value, rate.low, rate.high] if trials else None,
                    "robust": robust,
                }
            )
    return {"rates": rates, "failures": [one.to_dict() for one in failures]}
