"""Examine failures: repeat them with small changes, and run them in another simulator.

:class:`Examination` stores each answer in a journal, so that a command that was killed continues
with the first missing answer.
"""

import math
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, NamedTuple, Optional

from gz_testauto.base.errors import GzTestautoError
from gz_testauto.base.escaping import escape_text
from gz_testauto.campaign.robustness import Perturbation, PerturbedTrial, Robustness
from gz_testauto.campaign.trial_runner import MeasuredTrial, TrialRunner
from gz_testauto.extras.search.journal import Journal, StoredTrial
from gz_testauto.extras.search.stored_robustness import Counts, answer_key
from gz_testauto.extras.search.target import SearchTarget
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.trial.outcome import Outcome


@dataclass(frozen=True)
class OtherOutcome:
    """The result of a trial in another simulator. ``outcome`` is ``invalid`` if there is no valid
    trial there, and ``detail`` is then the cause. ``value`` is the requested metric."""

    outcome: Outcome
    detail: str
    value: float = math.nan

    def sentence(self, expected: Outcome) -> str:
        """Return whether the outcome is the ``expected`` one, such as ``confirmed: stuck, …``."""
        if not self.outcome.valid:
            return f"not confirmed, no valid trial: {self.detail}"
        state = "confirmed" if self.outcome is expected else "not confirmed"
        return f"{state}: {self.outcome.value}, {self.detail}"


class MeasuredRepeat(NamedTuple):
    """A perturbed repeat of a trial: its outcome, and the requested metric."""

    outcome: Outcome
    value: float


class Examination:
    """An examination of trials of one campaign. ``simulator`` is the name of the other simulator.

    Simulators start when they are needed, are used for all trials, and run until the end of the
    ``with`` statement.
    """

    def __init__(
        self,
        spec: CampaignSpec,
        journal: Journal,
        simulator: str = "",
        progress: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._spec = spec
        self._journal = journal
        self._simulator = simulator
        self._progress = progress
        self._perturbation: Optional[Perturbation] = None
        self._other: Optional[TrialRunner] = None
        self._at_exit = ExitStack()

    def __enter__(self) -> "Examination":
        return self

    def __exit__(self, *error: Any) -> None:
        self._at_exit.close()

    def robustness(
        self, trial: PerturbedTrial, outcome: Outcome, count: int, label: str = ""
    ) -> Robustness:
        """Return the outcomes of ``count`` perturbed repeats of a trial with the ``outcome``.

        ``label`` is the name of the trial in the journal.
        """
        repeats = self._repeats(trial, count, label, "")
        outcomes = tuple(None if one is None else one.outcome for one in repeats)
        return Robustness(outcome, outcomes)

    def counts(
        self, trial: PerturbedTrial, target: SearchTarget, first: Outcome, count: int, label: str
    ) -> Counts:
        """Return how many of ``count`` perturbed repeats have the property that the target selects.

        ``first`` is the outcome of the unchanged trial. Repeats without a valid scene do not count.
        """
        repeats = self._repeats(trial, count, label, target.metric_name)
        valid = [one for one in repeats if one is not None]
        same = sum(target.is_same(first, one.outcome, one.value) for one in valid)
        return Counts(same, len(valid))

    def _repeats(
        self, trial: PerturbedTrial, count: int, label: str, metric: str
    ) -> List[Optional[MeasuredRepeat]]:
        """Return ``count`` perturbed repeats, and None for each without a valid scene."""
        found: List[Optional[MeasuredRepeat]] = []
        for number in range(count):
            key = answer_key(label, number)
            answer = self._journal.get(key, StoredTrial)
            if answer is None or (answer.outcome and _lacks(answer, metric)):
                if self._perturbation is None:
                    perturbation = Perturbation(self._spec)
                    self._perturbation = self._at_exit.enter_context(perturbation)
                answer = _answer(self._perturbation.run(trial, number), metric)
                self._journal.add(key, answer.model_dump(mode="json", exclude_unset=True))
            outcome, word = answer.outcome, "no valid scene"
            if outcome is not None:
                word = outcome.value
            found.append(
                None if outcome is None else MeasuredRepeat(outcome, _value(answer, metric))
            )
            self._progress(f"perturbed {number + 1} of {count}: {word}")
        return found

    def confirmation(
        self, trial: PerturbedTrial, label: str = "", metric: str = ""
    ) -> OtherOutcome:
        """Run a trial in the other simulator. A trial that is invalid there is not stored, so that
        the next command repeats it."""
        key = f"{label} in {self._simulator}".lstrip()
        answer = self._journal.get(key, StoredTrial)
        if answer is None or answer.outcome is None or _lacks(answer, metric):
            try:
                if self._other is None:
                    runner = TrialRunner(self._spec, self._simulator)
                    self._other = self._at_exit.enter_context(runner)
                result = self._other.run(
                    trial.world.content(list(trial.world.obstacles), {}),
                    trial.planner,
                    seed=trial.seed,
                    start=trial.start,
                    goals=trial.goals,
                )
            except GzTestautoError as error:
                return OtherOutcome(Outcome.INVALID, escape_text(str(error)))
            answer = _answer(result, metric, escape_text(result.detail))
            self._journal.add(key, answer.model_dump(mode="json", exclude_unset=True))
        assert answer.outcome is not None, "a measured trial has an outcome"
        return OtherOutcome(answer.outcome, answer.detail, _value(answer, metric))


def _answer(result: Optional[MeasuredTrial], metric: str, detail: str = "") -> StoredTrial:
    """Return the entry of a trial in the journal: its outcome, and the metric if there is a
    name."""
    fields: Dict[str, Any] = {"outcome": None if result is None else result.outcome}
    if result is not None and metric:
        value = result.metrics.get(metric, math.nan)
        fields[metric] = None if math.isnan(value) else value
    if detail:
        fields["detail"] = detail
    return StoredTrial(**fields)


def _lacks(answer: StoredTrial, metric: str) -> bool:
    """Return whether the entry is that of a search which did not need the metric."""
    return bool(metric) and metric not in (answer.model_extra or {})


def _value(answer: StoredTrial, metric: str) -> float:
    value = (answer.model_extra or {}).get(metric)
    return math.nan if value is None else float(value)
