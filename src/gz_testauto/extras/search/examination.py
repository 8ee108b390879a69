"""Examine failures: repeat them with small changes, and run them in another simulator.

:class:`Examination` stores each answer in a journal, so that a command that was killed continues
with the first missing answer.
"""

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Callable, List, Optional

from gz_testauto.base.errors import GzTestautoError
from gz_testauto.base.escaping import escape_text
from gz_testauto.campaign.robustness import Perturbation, PerturbedTrial, Robustness
from gz_testauto.campaign.trial_runner import TrialRunner
from gz_testauto.extras.search.journal import Journal
from gz_testauto.extras.search.stored_robustness import answer_key
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.trial.outcome import Outcome


@dataclass(frozen=True)
class OtherOutcome:
    """The result of a trial in another simulator. ``outcome`` is ``invalid`` if there is no valid
    trial there, and ``detail`` is then the cause."""

    outcome: Outcome
    detail: str

    def sentence(self, expected: Outcome) -> str:
        """Return whether the outcome is the ``expected`` one, such as ``confirmed: stuck, …``."""
        if not self.outcome.valid:
            return f"not confirmed, no valid trial: {self.detail}"
        state = "confirmed" if self.outcome is expected else "not confirmed"
        return f"{state}: {self.outcome.value}, {self.detail}"


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
        found: List[Optional[Outcome]] = []
        for number in range(count):
            key = answer_key(label, number)
            answer = self._journal.get(key)
            if answer is None:
                if self._perturbation is None:
                    perturbation = Perturbation(self._spec)
                    self._perturbation = self._at_exit.enter_context(perturbation)
                repeat = self._perturbation.outcome(trial, number)
                answer = {"outcome": None if repeat is None else repeat.value}
                self._journal.add(key, answer)
            word = answer["outcome"]
            found.append(None if word is None else Outcome(word))
            self._progress(f"perturbed {number + 1} of {count}: {word or 'no valid scene'}")
        return Robustness(outcome, tuple(found))

    def confirmation(self, trial: PerturbedTrial, label: str = "") -> OtherOutcome:
        """Run a trial in the other simulator. A trial that is invalid there is not stored, so that
        the next command repeats it."""
        key = f"{label} in {self._simulator}".lstrip()
        answer = self._journal.get(key)
        if answer is None:
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
            answer = {"outcome": result.outcome.value, "detail": escape_text(result.detail)}
            self._journal.add(key, answer)
        return OtherOutcome(Outcome(answer["outcome"]), answer["detail"])
