"""A regression corpus: worlds in which a planner failed before, each of which is judged by itself.

A corpus is a directory of outputs of ``gz_testauto shrink``, or any directory with campaigns whose
worlds are files. Each world has the settings and random numbers of its campaign. Since the worlds
were selected by failures, their outcomes enter neither rates nor tests.
"""

import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Sequence, Tuple

from gz_testauto.base.errors import ResultsError, SceneError, SimulatorError, SpecError
from gz_testauto.base.json_file import read_json_object, validate_as
from gz_testauto.base.registry import unknown_name
from gz_testauto.campaign.trial_runner import TrialRunner
from gz_testauto.cli.trust import require_trust
from gz_testauto.extras.gate.options import GateOptions
from gz_testauto.extras.gate.questions import Verdict
from gz_testauto.results.directory import write_atomically
from gz_testauto.spec.campaign import BuiltinCampaignSpec, BuiltinPlannerSpec, CampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.trial.executor import StopRequest

CAMPAIGN, DETAILS = "campaign.yaml", "shrunk.json"  # of one failure; the second is optional

HISTORY = "history.json"  # the failures of past gates

Progress = Callable[[str], None]


@dataclass(frozen=True)
class CorpusWorld:
    """A world of a corpus: its ``name`` in verdicts, its campaign, and its name there.

    ``expected_s`` is the expected simulated time until the world shows a failure.
    """

    name: str
    spec: BuiltinCampaignSpec
    world: str
    expected_s: float


@dataclass(frozen=True)
class CorpusVerdict:
    """The verdict on a planner in one world.

    Without a valid trial, it is undecided, and ``detail`` contains the cause.
    """

    world: str
    planner: str
    verdict: Verdict
    outcome: str
    detail: str
    time_s: float = math.nan


@dataclass(frozen=True)
class JudgedCorpus:
    """The verdicts on a corpus, in the order of the trials."""

    directory: str = ""
    verdicts: Tuple[CorpusVerdict, ...] = ()

    @property
    def worlds(self) -> Tuple[str, ...]:
        return tuple(dict.fromkeys(verdict.world for verdict in self.verdicts))

    @property
    def failed_worlds(self) -> Tuple[str, ...]:
        failed = (verdict.world for verdict in self.verdicts if verdict.verdict is Verdict.FAILED)
        return tuple(dict.fromkeys(failed))


def read_corpus(directory: Path) -> List[CorpusWorld]:
    """Return the worlds of ``campaign.yaml`` and ``*/campaign.yaml`` in the order of their trials.

    Raises ``SpecError`` for an empty corpus, an invalid campaign, or a damaged history.
    """
    if not directory.is_dir():
        raise SpecError(f"{directory}: the directory of the corpus does not exist")
    files = [*directory.glob(CAMPAIGN), *sorted(directory.glob(f"*/{CAMPAIGN}"))]
    if not files:
        raise SpecError(
            f"{directory}: the corpus contains no */{CAMPAIGN}; specify a directory with outputs "
            "of `gz_testauto shrink`"
        )
    worlds = [world for file in files for world in _worlds_of(file, directory)]
    return in_order(worlds, read_history(directory))


def in_order(worlds: Sequence[CorpusWorld], history: Sequence[str]) -> List[CorpusWorld]:
    """Return the worlds in the order of ``history``, then the remaining ones by ``expected_s``."""
    latest = {name: position for position, name in enumerate(history)}
    return sorted(
        worlds,
        key=lambda world: (latest.get(world.name, len(latest)), world.expected_s, world.name),
    )


@dataclass(frozen=True)
class _HistoryFile:
    failed_worlds: Tuple[str, ...]


def read_history(corpus: Path) -> Tuple[str, ...]:
    """Return the names of the corpus worlds in which a planner failed, the latest failure first.

    The result is empty without a history file. Raises ``SpecError`` for a damaged file.
    """
    path = corpus / HISTORY
    if not os.path.exists(path):
        return ()
    content = read_json_object(path, SpecError)
    return validate_as(_HistoryFile, content, str(path), SpecError).failed_worlds


def add_to_history(corpus: Path, failed_worlds: Sequence[str]) -> None:
    """Add the worlds to the start of the history of a corpus.

    Raises ``ResultsError`` if the file cannot be written.
    """
    before = read_history(corpus)
    after = tuple(dict.fromkeys([*failed_worlds, *before]))
    if after != before:
        text = json.dumps({"failed_worlds": after}, indent=1, ensure_ascii=False)
        write_atomically(corpus / HISTORY, (text + "\n").encode("utf-8"))


def _worlds_of(file: Path, directory: Path) -> List[CorpusWorld]:
    spec = load(file, CampaignSpec)
    if not isinstance(spec, BuiltinCampaignSpec) or not spec.worlds.files:
        raise SpecError(
            f"{file}: worlds.files is not set, or the campaign has a stack; a corpus needs "
            "campaigns as `gz_testauto shrink` writes them"
        )
    folder = file.parent.name if file.parent != directory else spec.name
    names = [entry.world for entry in spec.worlds.files]
    expected_s = _expected_s(file.with_name(DETAILS), spec)
    return [
        CorpusWorld(folder if len(names) == 1 else f"{folder}/{name}", spec, name, expected_s)
        for name in names
    ]


def _expected_s(details: Path, spec: BuiltinCampaignSpec) -> float:
    """Return the expected simulated time (s) until the failure.

    It is the time of the stored failure, or the time limit without a stored time. The time is
    divided by the probability of the failure in perturbed trials (Laplace's rule of succession).
    """
    data = read_json_object(details, ResultsError) if details.is_file() else {}
    time_s, robustness = data.get("time_s"), data.get("robustness") or {}
    try:
        share = (robustness.get("same", 0) + 1) / (robustness.get("valid", 0) + 2)
        return float(spec.limits.timeout_s if time_s is None else time_s) / share
    except (AttributeError, TypeError, ValueError) as error:
        raise SpecError(
            f"{details}: time_s or robustness is invalid; remove the file, or shrink again"
        ) from error


def corpus_planners(
    spec: CampaignSpec, planners: Sequence[str], but_for: str = ""
) -> Tuple[BuiltinPlannerSpec, ...]:
    """Return the planners of a campaign to judge, by default all except ``but_for``.

    Raises ``SpecError`` for an unknown planner.
    """
    spec = spec.without_stack("omit the corpus")
    known = {entry.name: entry for entry in spec.planners}
    for name in planners:
        if name not in known:
            raise SpecError(f"campaign {spec.name}: {unknown_name('planner', name, [*known])}")
    chosen = planners or [name for name in known if name != but_for]
    return tuple(known[name] for name in chosen)


def run_corpus(
    spec: CampaignSpec,
    options: GateOptions,
    stored: Sequence[CampaignSpec],
    progress: Progress,
    should_stop: StopRequest,
) -> JudgedCorpus:
    """Run the planners of a campaign in the worlds of ``options.corpus``.

    Raises ``ResultsError`` without the permission to run the programs of the corpus and of
    ``stored``.
    """
    assert options.corpus is not None
    base = "" if options.baseline else options.baseline_planner
    planners = corpus_planners(spec, options.planner, base)
    specs = [*stored, *(world.spec for world in read_corpus(options.corpus))]
    files = [Path(entry.file) for corpus_spec in specs for entry in corpus_spec.worlds.files or ()]
    require_trust(specs, files, options.trust, options.name_of("trust"))
    return judge_corpus(options.corpus, planners, progress, should_stop)


def judge_corpus(
    directory: Path,
    planners: Sequence[BuiltinPlannerSpec],
    progress: Progress = lambda line: None,
    should_stop: StopRequest = lambda: False,
) -> JudgedCorpus:
    """Run each planner in each world of a corpus, and judge each trial by itself.

    The failures are added to the history, if it can be written. Raises the errors of
    :func:`read_corpus`, ``SpecError`` for invalid parameters of a planner, and ``TrialStopped``.
    """
    verdicts: List[CorpusVerdict] = []
    for world in read_corpus(directory):
        spec = world.spec.model_copy(update={"planners": tuple(planners)})
        with TrialRunner(spec) as runner:
            for planner in planners:
                verdicts.append(_judge_world(runner, world, planner.name, should_stop))
                progress(corpus_line(verdicts[-1]))
    judged = JudgedCorpus(directory.name, tuple(verdicts))
    try:
        add_to_history(directory, judged.failed_worlds)
    except ResultsError as error:
        progress(f"the order of the next gate does not use these failures: {error}")
    return judged


def _judge_world(
    runner: TrialRunner, world: CorpusWorld, planner: str, should_stop: StopRequest
) -> CorpusVerdict:
    try:
        trial = runner.run(world.world, planner, should_stop=should_stop)
    except (SceneError, SimulatorError) as error:
        return CorpusVerdict(world.name, planner, Verdict.UNDECIDED, "", str(error))
    verdict = Verdict.FAILED if trial.failed else Verdict.PASSED
    time_s = trial.recording.duration_s
    return CorpusVerdict(world.name, planner, verdict, trial.outcome.value, trial.detail, time_s)


def corpus_line(verdict: CorpusVerdict) -> str:
    result = (
        f"{verdict.outcome}, {verdict.detail}"
        if verdict.outcome
        else f"no valid trial: {verdict.detail}"
    )
    return (
        f"{verdict.verdict.value.upper()}: corpus world {verdict.world}: {verdict.planner} {result}"
    )


def corpus_lines(judged: JudgedCorpus) -> List[str]:
    if not judged.verdicts:
        return []
    not_passed = [verdict for verdict in judged.verdicts if verdict.verdict is not Verdict.PASSED]
    passed = len(judged.verdicts) - len(not_passed)
    lines = [corpus_line(verdict) for verdict in not_passed]
    if passed:
        lines.append(
            f"PASSED: {passed} of {len(judged.verdicts)} trials in the {len(judged.worlds)} worlds "
            f"of the corpus {judged.directory}"
        )
    return lines


def corpus_document(judged: JudgedCorpus) -> Dict[str, Any]:
    return {
        "directory": judged.directory,
        "worlds": [
            {
                **vars(verdict),
                "verdict": verdict.verdict.value,
                "time_s": None if math.isnan(verdict.time_s) else verdict.time_s,
            }
            for verdict in judged.verdicts
        ],
    }


def corpus_bytes(judged: JudgedCorpus) -> bytes:
    """Return the content of the file that :mod:`gz_testauto.results.judged_corpus` reads."""
    text = json.dumps(corpus_document(judged), indent=1, ensure_ascii=False, allow_nan=False)
    return (text + "\n").encode("utf-8")
