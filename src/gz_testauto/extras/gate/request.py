"""Evaluation of a gate: loading of results directories, and selection of the compared planners.

:mod:`gz_testauto.extras.gate.questions` defines the questions, and
:mod:`gz_testauto.extras.gate.coverage` detects missing worlds and trials.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Iterable, List, Optional, Sequence, Tuple

from gz_testauto.analysis.across import PairedCampaigns, pair_campaigns
from gz_testauto.analysis.conditions import conditions
from gz_testauto.base.errors import ResultsError, SpecError
from gz_testauto.base.registry import unknown_name
from gz_testauto.extras.gate.corpus import JudgedCorpus
from gz_testauto.extras.gate.coverage import (
    GateAllowances,
    GateSide,
    NotJudged,
    Option,
    ended_by_rule,
    in_worlds,
    not_judged,
    repetition_notes,
    settled_worlds,
)
from gz_testauto.extras.gate.questions import (
    GatePair,
    GateQuestions,
    MetricMargin,
    QuestionVerdict,
    Verdict,
    evaluate,
    gate_metrics,
)
from gz_testauto.metrics.interface import Metric
from gz_testauto.report.notes import copies_notes
from gz_testauto.report.plain import count_text
from gz_testauto.results.records import CampaignResults
from gz_testauto.results.store import LoadedCampaign, load_campaign

MARGIN = 0.05
"""Default margin of the success rate if a baseline is specified."""


def command_line_option(name: str) -> str:
    """Return the name of an option with its dashes, such as ``--max-invalid`` for
    ``max-invalid``."""
    return f"--{name}"


@dataclass(frozen=True)
class GateRequest:
    """The campaign that a gate evaluates, and the questions.

    ``planners`` (default: all) of the campaign in ``directory`` are compared with
    ``baseline_planner`` of the same campaign, or of the campaign in ``baseline`` (default: the
    planner of the same name). ``worlds`` limits the campaign to its first worlds. With
    ``ignore_differences``, the baseline can have a different robot, limits or simulator.
    """

    directory: Path
    baseline: Optional[Path] = None
    planners: Tuple[str, ...] = ()
    baseline_planner: str = ""
    rules: GateQuestions = field(default_factory=GateQuestions)
    allowances: GateAllowances = field(default_factory=GateAllowances)
    worlds: Optional[int] = None
    ignore_differences: bool = False
    option: Option = field(default=command_line_option)

    @property
    def has_question(self) -> bool:
        """Return whether the request has a question about the campaign. A gate with a corpus needs
        none."""
        rules = self.rules
        asked = rules.not_worse_than, rules.min_success, self.baseline, self.baseline_planner
        return bool(rules.metrics) or any(asked)


@dataclass(frozen=True)
class GateEvaluation:
    """The verdicts on a campaign, and the expected results that are missing.

    ``sides`` are the evaluated results directories, and ``names`` are pairs of a planner and its
    baseline, which is empty if there is none. ``corpus`` contains the verdicts on the worlds of a
    regression corpus, which do not belong to the campaign.
    """

    campaign: str
    answers: Tuple[QuestionVerdict, ...]
    not_judged: Tuple[NotJudged, ...] = ()
    notes: Tuple[str, ...] = ()
    allowances: GateAllowances = field(default_factory=GateAllowances)
    sides: Tuple[GateSide, ...] = ()
    names: Tuple[Tuple[str, str], ...] = ()
    corpus: JudgedCorpus = field(default_factory=JudgedCorpus)

    @property
    def verdict(self) -> Verdict:
        """The verdict of the gate. It is failed if any question or any world of the corpus failed,
        and passed if all of them passed and all missing results are allowed. Otherwise, it is
        undecided."""
        verdicts = {answer.verdict for answer in self.answers}
        verdicts |= {one.verdict for one in self.corpus.verdicts}
        if Verdict.FAILED in verdicts:
            return Verdict.FAILED
        complete = all(item.allowed for item in self.not_judged)
        return Verdict.PASSED if verdicts == {Verdict.PASSED} and complete else Verdict.UNDECIDED


@dataclass(frozen=True)
class _Compared:
    """The trials that a gate evaluates. ``names`` are pairs of a planner and its baseline."""

    results: CampaignResults
    sides: Tuple[GateSide, ...]
    names: Tuple[Tuple[str, str], ...]
    not_judged: Tuple[NotJudged, ...] = ()
    notes: Tuple[str, ...] = ()
    rules: GateQuestions = field(default_factory=GateQuestions)

    @property
    def pairs(self) -> List[GatePair]:
        mine, theirs = self.sides[0], self.sides[-1]
        return [
            GatePair(
                planner,
                mine.valid_trials(planner),
                baseline,
                theirs.valid_trials(baseline) if baseline else {},
            )
            for planner, baseline in self.names
        ]


def evaluate_gate(request: GateRequest) -> GateEvaluation:
    """Evaluate the questions about a campaign.

    Raises ``SpecError`` if no question is defined or a planner is unknown. Raises ``ResultsError``
    if a directory contains no results, or if the campaigns are not comparable.
    """
    rules, option = _complete(request), request.option
    campaign = _load(request.directory, "new")
    if request.worlds is not None and not 1 <= request.worlds <= len(campaign.results.worlds):
        raise SpecError(
            f"{request.directory}: {option('worlds')} is {request.worlds}; it must be between 1 "
            f"and {len(campaign.results.worlds)}, the number of worlds"
        )
    if request.baseline is None:
        compared = _within(campaign, request, rules)
    else:
        compared = _against(campaign, _load(request.baseline, "baseline"), request, rules)
    pairs = compared.pairs
    declared = [_with_time_limit(metric, campaign) for metric in compared.results.metrics]
    _require_fixed_worlds(compared, request)
    answers = evaluate(pairs, compared.rules, declared)
    metrics = [metric for metric, _ in gate_metrics(compared.rules, declared)]
    missing = [
        *compared.not_judged,
        *not_judged(compared.sides, pairs, metrics, request.allowances, option),
    ]
    if not answers:
        missing.append(
            NotJudged(
                "a planner is judged",
                "no planner has a question",
                allowed=False,
                remedy=f"specify {option('min-success')} RATE, which needs no baseline",
            )
        )
    notes = (
        *compared.notes,
        *map(str, copies_notes(campaign.results)),
        *repetition_notes(compared.sides),
        *_unneeded(request.allowances, compared.not_judged, option),
    )
    return GateEvaluation(
        campaign.results.name,
        answers,
        tuple(missing),
        notes,
        request.allowances,
        compared.sides,
        compared.names,
    )


def _with_time_limit(metric: Metric, campaign: LoadedCampaign) -> Metric:
    """Return the metric, for ``time_s`` with the time limit of the campaign as its upper bound."""
    inputs = campaign.manifest.inputs
    if metric.name != "time_s" or "limits.timeout_s" not in inputs:
        return metric
    # A trial can reach its goal in the control period in which the time limit passes.
    limit_s = float(inputs["limits.timeout_s"]) + float(inputs["control_period_s"])
    return replace(metric, bounds=(0.0, limit_s))


def _require_fixed_worlds(compared: "_Compared", request: GateRequest) -> None:
    """Raise ``ResultsError`` if the number of worlds was declared and the results have another
    number, so that the test for this number is not valid."""
    declared = compared.rules.fixed_worlds
    if declared is None:
        return
    option = request.option("fixed-worlds")
    for side in compared.sides:
        problem = ""
        if side.ended_by_rule or compared.results.is_sequential:
            problem = "have an early stop ('stop')"
        elif side.total != declared:
            problem = f"have {count_text(side.total, 'world')}"
        elif side.unsettled():
            problem = f"have {count_text(len(side.unsettled()), 'unfinished world')}"
        if problem:
            raise ResultsError(
                f"{option} is {declared}, but {side.title} {problem}; finish a campaign of "
                f"{declared} worlds, or evaluate the gate without {option}"
            )


def _load(directory: Path, label: str) -> LoadedCampaign:
    """Read a results directory. Raises ``ResultsError`` if its trials were selected, since selected
    trials do not represent all worlds."""
    campaign = load_campaign(directory, label)
    if campaign.results.selection:
        raise ResultsError(
            f"{directory}: contains only {campaign.results.selection}, which do not represent all "
            "worlds, so a gate cannot be evaluated; run the complete campaign first"
        )
    return replace(campaign, results=campaign.results.without_copies)


def _complete(request: GateRequest) -> GateQuestions:
    """Return the questions of a request, with the default margin if none is specified. Raises
    ``SpecError`` if the request contains no question."""
    rules, option = request.rules, request.option
    against = f"{option('baseline')} DIR or {option('baseline-planner')} NAME"
    if request.baseline or request.baseline_planner:
        return replace(rules, not_worse_than=rules.not_worse_than or MARGIN)
    if rules.not_worse_than is not None or rules.metrics:
        raise SpecError(f"the comparison has no baseline; specify {against}")
    if rules.min_success is None:
        raise SpecError(
            f"no question is defined; specify {against} or {option('min-success')} RATE"
        )
    return rules


def _within(campaign: LoadedCampaign, request: GateRequest, rules: GateQuestions) -> _Compared:
    """Select planners of one campaign to compare with a baseline planner, or to evaluate
    separately."""
    results, base, path = campaign.results, request.baseline_planner, request.directory
    _require_planners(results, path, (*request.planners, *filter(None, [base])))
    if base and base in request.planners:
        option = request.option("baseline-planner")
        raise SpecError(
            f"{base} is compared with itself; specify a different planner with {option}"
        )
    asked = request.planners or tuple(p for p in results.planners if p != base)
    run = _planners_with_trials(results)
    if base:
        matched, missing = _match(asked, run, _require_trials(base, run, path), request)
    else:
        matched = [(planner, "") for planner in asked if planner in run]
        missing = [_without_trials(p, "the results", request) for p in asked if p not in run]
    planners = tuple(dict.fromkeys(name for names in matched for name in names if name))
    worlds = tuple(world.name for world in results.worlds[: request.worlds])
    side = GateSide(
        title="the results",
        planners=planners,
        worlds=worlds,
        only=(),
        recorded=results.trials,
        settled=in_worlds(results, settled_worlds(results, planners) & set(worlds)).trials,
        ended_by_rule=ended_by_rule(results),
    )
    return _Compared(results, (side,), tuple(matched), tuple(missing), rules=rules)


def _against(
    campaign: LoadedCampaign, other: LoadedCampaign, request: GateRequest, rules: GateQuestions
) -> _Compared:
    """Select planners of two campaigns to compare. The names of the planners are those in
    tables."""
    assert request.baseline is not None
    mine, theirs, base = campaign.results, other.results, request.baseline_planner
    _require_planners(mine, request.directory, request.planners)
    _require_planners(theirs, request.baseline, filter(None, [base]))
    run = _planners_with_trials(theirs)
    if base:
        run = _require_trials(base, run, request.baseline)
    matched, missing = _match(
        request.planners or mine.planners, _planners_with_trials(mine), run, request
    )
    across = pair_campaigns([campaign, other], request.ignore_differences)
    if across.sides[1].left_out:
        raise ResultsError(
            f"{request.baseline}: these results cannot be compared with {request.directory} for "
            f"any planner (values there, and in the baseline): {'; '.join(across.sides[1].reasons)}"
        )
    rules, not_comparable = _comparable_metrics(campaign, other, request, rules)
    names = tuple(
        (across.names["new", planner], across.names["baseline", of] if of else "")
        for planner, of in matched
    )
    return _Compared(
        across.results,
        _both_sides(across, (campaign, other), matched, request),
        names,
        (*missing, *not_comparable),
        (*across.sides[1].notes, *_declared_differences(across, names, request)),
        rules,
    )


def _declared_differences(
    across: PairedCampaigns, names: Sequence[Tuple[str, str]], request: GateRequest
) -> List[str]:
    """Return notes about differences between the campaigns and between planner names that the
    request accepts."""
    differences = [
        f"compared although it differs ({request.option('ignore-differences')}): {reason}"
        for reason in across.sides[1].reasons
    ]
    called = {name: planner for (_, planner), name in across.names.items()}
    renamed = [
        f"{planner} is compared with {of}, the only planner of the baseline"
        for planner, of in names
        if of and called[planner] != called[of] and not request.baseline_planner
    ]
    return differences + renamed


def _both_sides(
    across: PairedCampaigns,
    campaigns: Tuple[LoadedCampaign, LoadedCampaign],
    matched: Sequence[Tuple[str, str]],
    request: GateRequest,
) -> Tuple[GateSide, ...]:
    """Return the new results and the baseline, with their common worlds."""
    asked = [planner for planner, _ in matched], [of for _, of in matched if of]
    settled = pair_campaigns([*map(_settled, campaigns, asked)], request.ignore_differences).results
    first = {world.name for world in campaigns[0].results.worlds[: request.worlds]}
    sides = []
    for title, campaign, planners in zip(("the new results", "the baseline"), campaigns, asked):
        label = campaign.label
        names = {name for (of, _), name in across.names.items() if of == label}
        only = across.only[label]
        side = GateSide(
            title=title,
            planners=tuple(dict.fromkeys(across.names[label, planner] for planner in planners)),
            worlds=tuple(w.name for w in across.results.worlds if w.name in first),
            only=tuple(w for w in only if w in first) if label == "new" else only,
            recorded=tuple(t for t in across.results.trials if t.planner in names),
            settled=tuple(t for t in settled.trials if t.planner in names),
            ended_by_rule=ended_by_rule(campaign.results),
        )
        sides.append(side)
    return tuple(sides)


def _settled(campaign: LoadedCampaign, planners: Sequence[str]) -> LoadedCampaign:
    results = campaign.results
    return replace(campaign, results=in_worlds(results, settled_worlds(results, planners)))


def _match(
    asked: Sequence[str], run: Sequence[str], baseline: Sequence[str], request: GateRequest
) -> Tuple[List[Tuple[str, str]], List[NotJudged]]:
    """Return each planner with its baseline, which is empty if there is none, and the missing
    planners. ``run`` and ``baseline`` are the planners with trials."""
    option, allowances = request.option, request.allowances
    pairs: List[Tuple[str, str]] = []
    missing = []
    declared = {*allowances.new_planners, *allowances.removed_planners}
    renamed = len(asked) == len(baseline) == 1 and not declared & {*asked, *baseline}
    for planner in asked:
        if planner not in run:
            missing.append(_without_trials(planner, "the new results", request))
        elif planner in baseline and not request.baseline_planner:
            pairs.append((planner, planner))
        elif planner in allowances.new_planners:
            pairs.append((planner, ""))
            reason = f"planner {planner} has no baseline, as declared"
            missing.append(NotJudged(f"{planner} has a baseline", reason, True, planner=planner))
        elif request.baseline_planner or renamed:
            pairs.append((planner, baseline[0]))
        else:
            pairs.append((planner, ""))
            missing.append(
                NotJudged(
                    f"{planner} has a baseline",
                    f"the baseline has no trials of planner {planner}",
                    allowed=False,
                    remedy=f"specify {option('baseline-planner')} NAME (one of "
                    f"{', '.join(baseline) or 'none'}), or declare {option('new-planner')} "
                    f"{planner}",
                    planner=planner,
                )
            )
    if not (request.planners or request.baseline_planner or renamed):
        removed = [planner for planner in baseline if planner not in asked]
        missing += [_without_trials(p, "the new results", request) for p in removed]
    return pairs, missing


def _without_trials(planner: str, title: str, request: GateRequest) -> NotJudged:
    allowed = planner in request.allowances.removed_planners
    option = request.option("removed-planner")
    return NotJudged(
        f"{planner} has trials",
        f"{title} have no trials of planner {planner}" + (", as declared" if allowed else ""),
        allowed,
        remedy="" if allowed else f"run it, or declare {option} {planner}",
        planner=planner,
    )


def _unneeded(
    allowances: GateAllowances, missing: Sequence[NotJudged], option: Option
) -> List[str]:
    """Return notes about planners that are declared as new or removed but are not."""
    used = {item.planner for item in missing if item.allowed}
    names = {"new-planner": allowances.new_planners, "removed-planner": allowances.removed_planners}
    return [
        f"{option(name)} {planner} has no effect: the planner is not {name.partition('-')[0]} here"
        for name, planners in names.items()
        for planner in planners
        if planner not in used
    ]


def _comparable_metrics(
    campaign: LoadedCampaign, other: LoadedCampaign, request: GateRequest, rules: GateQuestions
) -> Tuple[GateQuestions, List[NotJudged]]:
    """Return the questions without metrics that do not depend only on the planners, and the
    reasons. With ``ignore_differences``, no metric is removed."""
    without = conditions(campaign, other).without
    affected = [item.name for item in rules.metrics if item.name in without]
    fact = "is compared although it" if request.ignore_differences else "is not compared: it"
    missing = [
        NotJudged(
            f"{name} is comparable",
            f"{name} {fact} depends on the machine or on a parameter of the metric, which differ",
            allowed=request.ignore_differences,
            remedy=""
            if request.ignore_differences
            else f"run both with equal settings, omit {request.option('metric')} {name}, or "
            f"specify {request.option('ignore-differences')}",
        )
        for name in affected
    ]
    if request.ignore_differences:
        return rules, missing
    kept = tuple(item for item in rules.metrics if item.name not in affected)
    return replace(rules, metrics=kept), missing


def _planners_with_trials(results: CampaignResults) -> Tuple[str, ...]:
    run = {record.planner for record in results.trials}
    return tuple(planner for planner in results.planners if planner in run)


def _require_trials(planner: str, run: Sequence[str], path: Path) -> Tuple[str, ...]:
    if planner not in run:
        raise ResultsError(
            f"{path}: the results contain no trials of planner {planner}; run this planner"
        )
    return (planner,)


def _require_planners(results: CampaignResults, path: Path, names: Iterable[str]) -> None:
    for name in names:
        if name not in results.planners:
            raise SpecError(f"{path}: {unknown_name('planner', name, results.planners)}")


def read_margins(texts: Sequence[str]) -> Tuple[MetricMargin, ...]:
    """Parse metrics of the form ``NAME:MARGIN`` or ``NAME:MARGIN:LOWEST:HIGHEST``. Raises
    ``SpecError`` for text of another form."""
    margins = []
    for text in texts:
        name, *numbers = text.split(":")
        try:
            margin, *bounds = map(float, numbers)
            if len(bounds) not in (0, 2):
                raise ValueError
        except ValueError:
            raise SpecError(
                f"metric {text!r}: must have the form NAME:MARGIN or NAME:MARGIN:LOWEST:HIGHEST"
            ) from None
        margins.append(MetricMargin(name, margin, (bounds[0], bounds[1]) if bounds else None))
    return tuple(margins)
