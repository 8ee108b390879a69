"""Repeat trials with small changes or in another simulator, and store the answers in a journal."""

import math
from contextlib import ExitStack
from dataclasses import dataclass
from typing import (
    Any,
    Callable,
    Dict,
    Generator,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
)

from gz_testauto.analysis.repeats import RepeatCount
from gz_testauto.base.errors import GzTestautoError, SimulatorError
from gz_testauto.base.escaping import escape_text
from gz_testauto.campaign.trial_runner import MeasuredTrial, TrialRunner
from gz_testauto.extras.search.journal import PERTURBED, Journal, StoredTrial
from gz_testauto.extras.search.perturbation import Perturbation
from gz_testauto.extras.search.target import SearchTarget
from gz_testauto.processes.pool import TaskPool
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.trial.outcome import Outcome
from gz_testauto.trial.trial import Trial


class Repeat(NamedTuple):
    """A perturbed repeat, numbered from 0, of the trial with this label in the journal."""

    label: str
    trial: Trial
    number: int

    @property
    def key(self) -> str:
        return f"{self.label}{PERTURBED}{self.number}".lstrip()


class RepeatTask:
    """A function that runs a :class:`Repeat` and returns its answer for the journal, or the cause
    of the failure if it has none.

    The simulators start with the first call. ``metric`` is the name of a metric to store.
    """

    def __init__(self, spec: CampaignSpec, metric: str = "") -> None:
        self._spec, self._metric = spec, metric
        self._perturbation: Optional[Perturbation] = None

    def __call__(self, repeat: Repeat) -> Tuple[Optional[StoredTrial], str]:
        if self._perturbation is None:
            self._perturbation = Perturbation(self._spec)
        try:
            result = self._perturbation.run(repeat.trial, repeat.number)
        except SimulatorError as error:
            return None, str(error)
        return _to_stored_trial(result, self._metric), ""

    def close(self) -> None:
        if self._perturbation is not None:
            self._perturbation.close()


def run_repeats(
    task: RepeatTask, repeats: Sequence[Repeat], journal: Journal, workers: int = 1
) -> Generator[Tuple[Repeat, Optional[StoredTrial], str], None, None]:
    """Run the repeats, and yield each of them with its answer and the cause of a missing answer.
    Answers are added to the journal. An answer is None if the simulator failed."""
    with ExitStack() as at_exit:
        answers: Iterator[Tuple[Optional[StoredTrial], str]] = map(task, repeats)
        if workers > 1 and len(repeats) > 1:
            pool = TaskPool(task, min(workers, len(repeats)), "repeating trials")
            answers = at_exit.enter_context(pool).map(repeats)
        for repeat, (answer, cause) in zip(repeats, answers):
            if answer is not None:  # otherwise the next command runs the repeat again
                journal.add(repeat.key, answer.model_dump(mode="json", exclude_unset=True))
            yield repeat, answer, cause


@dataclass(frozen=True)
class OtherOutcome:
    """The result of a trial in another simulator; ``detail`` is the cause if it is invalid.

    ``value`` is the requested metric.
    """

    outcome: Outcome
    detail: str
    value: float = math.nan

    def sentence(self, expected: Outcome) -> str:
        if not self.outcome.valid:
            return f"not confirmed, no valid trial: {self.detail}"
        state = "confirmed" if self.outcome is expected else "not confirmed"
        return f"{state}: {self.outcome.value}, {self.detail}"


class Examination:
    """A test of trials with perturbed repeats, and in the other simulator named ``simulator``.

    Without ``target``, repeats are compared by outcome. Simulators start when they are needed, and
    run until the end of the ``with`` statement.
    """

    def __init__(
        self,
        spec: CampaignSpec,
        journal: Journal,
        simulator: str = "",
        target: Optional[SearchTarget] = None,
        progress: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._spec = spec
        self._journal = journal
        self._simulator = simulator
        self._target = target or SearchTarget()
        self._metric = self._target.metric_name
        self._progress = progress
        self._confirming_runner: Optional[TrialRunner] = None
        self._at_exit = ExitStack()
        self._task = RepeatTask(spec, self._metric)
        self._at_exit.callback(self._task.close)

    def __enter__(self) -> "Examination":
        return self

    def __exit__(self, *error: Any) -> None:
        self._at_exit.close()

    def count(self, trial: Trial, first: Outcome, count: int, label: str = "") -> RepeatCount:
        """Run ``count`` perturbed repeats. Count the valid repeats, and those with the property of
        the target.

        ``first`` is the outcome of the unchanged trial. Repeats in the journal do not run again.
        Raises ``SimulatorError`` if the simulator fails.
        """
        repeats = [Repeat(label, trial, number) for number in range(count)]
        missing = [repeat for repeat in repeats if self._stored_answer(repeat.key) is None]
        for repeat, answer, cause in run_repeats(self._task, missing, self._journal):
            if answer is None:
                raise SimulatorError(cause)
            self._progress(f"perturbed {repeat.number + 1} of {count}: {answer.word}")
        valid: List[Tuple[Outcome, float]] = []
        for repeat in repeats:
            answer = self._stored_answer(repeat.key)
            assert answer is not None, "it has just been stored"
            if answer.outcome is not None:
                valid.append((answer.outcome, _metric_value(answer, self._metric)))
        same = sum(self._target.is_same(first, outcome, value) for outcome, value in valid)
        return RepeatCount(same, len(valid))

    def confirmation(self, trial: Trial, label: str = "") -> OtherOutcome:
        key = f"{label} in {self._simulator}".lstrip()
        answer = self._stored_answer(key)
        if answer is None or answer.outcome is None:
            self._progress(f"the trial runs in {self._simulator}")
            try:
                if self._confirming_runner is None:
                    runner = TrialRunner(self._spec, self._simulator)
                    self._confirming_runner = self._at_exit.enter_context(runner)
                result = self._confirming_runner.execute(trial)
            except GzTestautoError as error:  # not stored, so that the next command repeats it
                return OtherOutcome(Outcome.INVALID, escape_text(str(error)))
            answer = _to_stored_trial(result, self._metric, escape_text(result.detail))
            self._journal.add(key, answer.model_dump(mode="json", exclude_unset=True))
        assert answer.outcome is not None, "a measured trial has an outcome"
        return OtherOutcome(answer.outcome, answer.detail, _metric_value(answer, self._metric))

    def _stored_answer(self, key: str) -> Optional[StoredTrial]:
        answer = self._journal.get(key, StoredTrial)
        if answer is None or not answer.outcome or not self._metric:
            return answer
        # Without the metric, it is the answer of a search which did not need the metric.
        return answer if self._metric in answer.metrics else None


def _to_stored_trial(result: Optional[MeasuredTrial], metric: str, detail: str = "") -> StoredTrial:
    fields: Dict[str, Any] = {"outcome": None if result is None else result.outcome}
    if result is not None and metric:
        value = result.metrics.get(metric, math.nan)
        fields[metric] = None if math.isnan(value) else value
    if detail:
        fields["detail"] = detail
    return StoredTrial(**fields)


def _metric_value(answer: StoredTrial, metric: str) -> float:
    value = answer.metrics.get(metric)
    return math.nan if value is None else float(value)
