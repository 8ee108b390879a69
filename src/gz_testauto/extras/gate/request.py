"""Evaluation of a gate: loading of results directories, and selection of the compared planners."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Iterable, List, Sequence, Tuple

from gz_testauto.analysis.across import PairedCampaigns, pair_campaigns
from gz_testauto.analysis.conditions import compare_conditions
from gz_testauto.base.errors import ResultsError, SpecError
from gz_testauto.base.registry import unknown_name
from gz_testauto.campaign.resume import read_campaign
from gz_testauto.extras.gate.corpus import JudgedCorpus, Progress, corpus_bytes, run_corpus
from gz_testauto.extras.gate.coverage import (
    GateSide,
    NotJudged,
    ended_by_rule,
    not_judged,
    repetition_notes,
    select_worlds,
    settled_worlds,
)
from gz_testauto.extras.gate.options import MARGIN, GateOptions
from gz_testauto.extras.gate.questions import (
    GatePair,
    QuestionVerdict,
    Verdict,
    evaluate,
    gate_metrics,
)
from gz_testauto.metrics.interface import Metric
from gz_testauto.report.notes import copies_notes
from gz_testauto.report.plain import count_text
from gz_testauto.results.directory import CampaignDirectory, write_atomically
from gz_testauto.results.judged_corpus import JUDGED_CORPUS
from gz_testauto.results.records import CampaignResults
from gz_testauto.results.store import LoadedCampaign, load_campaign
from gz_testauto.trial.executor import StopRequest


@dataclass(frozen=True)
class GateEvaluation:
    """The verdicts on a campaign, and the expected results that are missing.

    ``sides`` are the results directories. The worlds of ``corpus`` do not belong to the campaign.
    """

    campaign: str
    options: GateOptions
    answers: Tuple[QuestionVerdict, ...] = ()
    not_judged: Tuple[NotJudged, ...] = ()
    notes: Tuple[str, ...] = ()
    sides: Tuple[GateSide, ...] = ()
    pairs: Tuple[GatePair, ...] = ()
    corpus: JudgedCorpus = field(default_factory=JudgedCorpus)

    @property
    def verdict(self) -> Verdict:
        """The verdict. It is failed if any question or world of the corpus failed. It is passed if
        all of them passed and all missing results are allowed, else undecided."""
        verdicts = {answer.verdict for answer in self.answers}
        verdicts |= {corpus_verdict.verdict for corpus_verdict in self.corpus.verdicts}
        if Verdict.FAILED in verdicts:
            return Verdict.FAILED
        passed = verdicts == {Verdict.PASSED} and self._all_allowed
        return Verdict.PASSED if passed else Verdict.UNDECIDED

    @property
    def needs_only_more_worlds(self) -> bool:
        """True if the gate is undecided although no expected result is missing."""
        return (
            self.verdict is Verdict.UNDECIDED
            and self._all_allowed
            and bool(self.answers)
            and all(answer.worlds for answer in self.answers)
            and all(v.verdict is Verdict.PASSED for v in self.corpus.verdicts)
        )

    @property
    def _all_allowed(self) -> bool:
        return all(item.allowed for item in self.not_judged)


def evaluate_results(
    directory: Path, options: GateOptions, progress: Progress, should_stop: StopRequest
) -> GateEvaluation:
    """Evaluate the questions about the campaign, and the corpus if ``options.corpus`` is set.

    The verdicts on the corpus are written to the directory. Raises the errors of
    :func:`evaluate_gate` and :func:`run_corpus`.
    """
    if options.corpus is None:
        return evaluate_gate(directory, options)
    results = CampaignDirectory(directory)
    results.require_begun()
    spec, _ = read_campaign(results)
    judged = GateEvaluation(spec.name, options)
    if options.has_question:
        judged = evaluate_gate(directory, options)
    corpus = run_corpus(spec, options, [spec], progress, should_stop)
    write_atomically(directory / JUDGED_CORPUS, corpus_bytes(corpus))
    return replace(judged, corpus=corpus)


def evaluate_gate(directory: Path, options: GateOptions) -> GateEvaluation:
    """Evaluate the questions about the campaign in ``directory``.

    Raises ``SpecError`` without a question or for an unknown planner, and ``ResultsError`` without
    results or if the campaigns are not comparable.
    """
    options = _complete(options)
    campaign = _load_complete_campaign(directory, "new")
    world_count = len(campaign.results.planned_names)
    if options.worlds is not None and options.worlds > world_count:
        raise SpecError(
            f"{directory}: {options.name_of('worlds')} is {options.worlds}; it must be between 1 "
            f"and {world_count}, the number of worlds"
        )
    if options.baseline is None:
        gate, results = _compare_in_campaign(directory, campaign, options)
    else:
        gate, results = _pair_campaigns(
            directory, campaign, _load_complete_campaign(options.baseline, "baseline"), options
        )
    declared = [_with_time_limit(metric, campaign) for metric in results.metrics]
    _require_fixed_worlds(gate, results)
    answers = evaluate(gate.pairs, gate.options, declared)
    metrics = [metric for metric, _ in gate_metrics(gate.options, declared)]
    missing = [*gate.not_judged, *not_judged(gate.sides, gate.pairs, metrics, options)]
    if not answers:
        missing.append(
            NotJudged(
                "a planner is judged",
                "no planner has a question",
                allowed=False,
                remedy=f"specify {options.name_of('min_success')} RATE, which needs no baseline",
            )
        )
    notes = (
        *gate.notes,
        *map(str, copies_notes(campaign.results)),
        *repetition_notes(gate.sides),
        *_unneeded(options, gate.not_judged),
    )
    return replace(gate, answers=answers, not_judged=tuple(missing), notes=notes)


def _with_time_limit(metric: Metric, campaign: LoadedCampaign) -> Metric:
    """Return a metric; ``time_s`` gets the time limit of the campaign as its upper bound."""
    inputs = campaign.manifest.inputs
    if metric.name != "time_s" or "limits.timeout_s" not in inputs:
        return metric
    # A trial can reach its goal in the control period in which the time limit passes.
    limit_s = float(inputs["limits.timeout_s"]) + float(inputs["control_period_s"])
    return replace(metric, bounds=(0.0, limit_s))


def _require_fixed_worlds(gate: GateEvaluation, results: CampaignResults) -> None:
    """Raise ``ResultsError`` for another number of finished worlds than ``fixed_worlds`` declares,
    or for an early stop."""
    declared = gate.options.fixed_worlds
    if declared is None:
        return
    name = gate.options.name_of("fixed_worlds")
    for side in gate.sides:
        problem = ""
        if side.ended_by_rule or results.is_sequential:
            problem = "have an early stop ('stop')"
        elif side.total != declared:
            problem = f"have {count_text(side.total, 'world')}"
        elif side.unsettled():
            problem = f"have {count_text(len(side.unsettled()), 'unfinished world')}"
        if problem:
            raise ResultsError(
                f"{name} is {declared}, but {side.title} {problem}; finish a campaign of "
                f"{declared} worlds, or evaluate the gate without {name}"
            )


def _load_complete_campaign(directory: Path, label: str) -> LoadedCampaign:
    campaign = load_campaign(directory, label)
    if campaign.results.selection:  # these do not represent all worlds
        raise ResultsError(
            f"{directory}: contains only {campaign.results.selection}, which do not represent all "
            "worlds, so a gate cannot be evaluated; run the complete campaign first"
        )
    return replace(campaign, results=campaign.results.without_copies)


def _complete(options: GateOptions) -> GateOptions:
    """Return the options. With a baseline, a missing margin of the success rate is the default.

    Raises ``SpecError`` if the options define no question.
    """
    name_of = options.name_of
    against = f"{name_of('baseline')} DIR or {name_of('baseline_planner')} NAME"
    if options.baseline or options.baseline_planner:
        return options.model_copy(update={"not_worse_than": options.not_worse_than or MARGIN})
    if options.not_worse_than is not None or options.metrics:
        raise SpecError(f"the comparison has no baseline; specify {against}")
    if options.min_success is None:
        raise SpecError(
            f"no question is defined; specify {against} or {name_of('min_success')} RATE"
        )
    return options


def _compare_in_campaign(
    directory: Path, campaign: LoadedCampaign, options: GateOptions
) -> Tuple[GateEvaluation, CampaignResults]:
    """Return a gate without verdicts, and the results of its only campaign."""
    results, base = campaign.results, options.baseline_planner
    _require_planners(results, directory, (*options.planner, *filter(None, [base])))
    if base and base in options.planner:
        raise SpecError(
            f"{base} is compared with itself; specify a different planner with "
            f"{options.name_of('baseline_planner')}"
        )
    requested = options.planner or tuple(p for p in results.planners if p != base)
    with_trials = _planners_with_trials(results)
    if base:
        matched, missing = _match(
            requested, with_trials, _require_trials(base, with_trials, directory), options
        )
    else:
        matched = [(planner, "") for planner in requested if planner in with_trials]
        missing = [
            _planner_without_trials(p, "the results", options)
            for p in requested
            if p not in with_trials
        ]
    planners = tuple(dict.fromkeys(name for names in matched for name in names if name))
    worlds = results.planned_names[: options.worlds]
    side = GateSide(
        title="the results",
        planners=planners,
        worlds=worlds,
        only=(),
        recorded=results.trials,
        settled=select_worlds(results, settled_worlds(results, planners) & set(worlds)).trials,
        ended_by_rule=ended_by_rule(results),
    )
    gate = GateEvaluation(
        results.name,
        options,
        not_judged=tuple(missing),
        sides=(side,),
        pairs=_gate_pairs(side, side, matched, matched),
    )
    return gate, results


def _pair_campaigns(
    directory: Path, campaign: LoadedCampaign, other: LoadedCampaign, options: GateOptions
) -> Tuple[GateEvaluation, CampaignResults]:
    """Return a gate without verdicts, and the results of both campaigns. Planners in them have the
    names of ``PairedCampaigns.names``."""
    assert options.baseline is not None
    new_results, baseline_results, base = campaign.results, other.results, options.baseline_planner
    _require_planners(new_results, directory, options.planner)
    _require_planners(baseline_results, options.baseline, filter(None, [base]))
    with_trials = _planners_with_trials(baseline_results)
    if base:
        with_trials = _require_trials(base, with_trials, options.baseline)
    matched, missing = _match(
        options.planner or new_results.planners,
        _planners_with_trials(new_results),
        with_trials,
        options,
    )
    across = pair_campaigns([campaign, other], options.ignore_differences)
    if across.sides[1].left_out:
        raise ResultsError(
            f"{options.baseline}: these results cannot be compared with {directory} for any "
            f"planner (values there, and in the baseline): {'; '.join(across.sides[1].reasons)}"
        )
    names = [
        (across.names["new", planner], across.names["baseline", baseline] if baseline else "")
        for planner, baseline in matched
    ]
    sides = _candidate_and_baseline(across, (campaign, other), matched, options)
    comparable, not_comparable = _comparable_metrics(campaign, other, options)
    gate = GateEvaluation(
        new_results.name,
        comparable,
        not_judged=(*missing, *not_comparable),
        notes=(*across.sides[1].notes, *_difference_notes(across, names, options)),
        sides=sides,
        pairs=_gate_pairs(*sides, names, matched),
    )
    return gate, across.results


def _gate_pairs(
    side: GateSide,
    baseline_side: GateSide,
    names: Sequence[Tuple[str, str]],
    short_names: Sequence[Tuple[str, str]],
) -> Tuple[GatePair, ...]:
    return tuple(
        GatePair(
            planner,
            side.valid_trials(planner),
            baseline,
            baseline_side.valid_trials(baseline) if baseline else {},
            short,
        )
        for (planner, baseline), short in zip(names, short_names)
    )


def _difference_notes(
    across: PairedCampaigns, names: Sequence[Tuple[str, str]], options: GateOptions
) -> List[str]:
    differences = [
        f"compared although it differs ({options.name_of('ignore_differences')}): {reason}"
        for reason in across.sides[1].reasons
    ]
    original_names = {name: planner for (_, planner), name in across.names.items()}
    renamed = [
        f"{planner} is compared with {baseline}, the only planner of the baseline"
        for planner, baseline in names
        if baseline
        and original_names[planner] != original_names[baseline]
        and not options.baseline_planner
    ]
    return differences + renamed


def _candidate_and_baseline(
    across: PairedCampaigns,
    campaigns: Tuple[LoadedCampaign, LoadedCampaign],
    matched: Sequence[Tuple[str, str]],
    options: GateOptions,
) -> Tuple[GateSide, GateSide]:
    requested = (
        [planner for planner, _ in matched],
        [baseline for _, baseline in matched if baseline],
    )
    settled = pair_campaigns(
        [*map(_with_settled_worlds, campaigns, requested)], options.ignore_differences
    ).results
    first = campaigns[0].results.planned_names[: options.worlds]
    further_names = [
        [name for name in campaign.results.further_names if name in first] for campaign in campaigns
    ]
    sides = []
    for index, (title, campaign, planners) in enumerate(
        zip(("the new results", "the baseline"), campaigns, requested)
    ):
        label, missing_in_other = campaign.label, further_names[1 - index]
        names = {name for (source, _), name in across.names.items() if source == label}
        only = across.only[label]
        side = GateSide(
            title=title,
            planners=tuple(dict.fromkeys(across.names[label, planner] for planner in planners)),
            worlds=(
                *(w.name for w in across.results.worlds if w.name in first),
                *further_names[index],
            ),
            only=tuple(
                w for w in only if w not in missing_in_other and (w in first or label != "new")
            ),
            recorded=tuple(t for t in across.results.trials if t.planner in names),
            settled=tuple(t for t in settled.trials if t.planner in names),
            ended_by_rule=ended_by_rule(campaign.results),
        )
        sides.append(side)
    return sides[0], sides[1]


def _with_settled_worlds(campaign: LoadedCampaign, planners: Sequence[str]) -> LoadedCampaign:
    results = campaign.results
    return replace(campaign, results=select_worlds(results, settled_worlds(results, planners)))


def _match(
    requested: Sequence[str], run: Sequence[str], baseline: Sequence[str], options: GateOptions
) -> Tuple[List[Tuple[str, str]], List[NotJudged]]:
    """Return pairs of a planner and its baseline (or ""), and the planners that are missing.

    ``run`` and ``baseline`` are the planners with trials in the campaign and in the baseline.
    """
    pairs: List[Tuple[str, str]] = []
    missing = []
    declared = {*options.new_planners, *options.removed_planners}
    renamed = len(requested) == len(baseline) == 1 and not declared & {*requested, *baseline}
    for planner in requested:
        if planner not in run:
            missing.append(_planner_without_trials(planner, "the new results", options))
        elif planner in baseline and not options.baseline_planner:
            pairs.append((planner, planner))
        elif planner in options.new_planners:
            pairs.append((planner, ""))
            reason = f"planner {planner} has no baseline, as declared"
            missing.append(NotJudged(f"{planner} has a baseline", reason, True, planner=planner))
        elif options.baseline_planner or renamed:
            pairs.append((planner, baseline[0]))
        else:
            pairs.append((planner, ""))
            missing.append(
                NotJudged(
                    f"{planner} has a baseline",
                    f"the baseline has no trials of planner {planner}",
                    allowed=False,
                    remedy=f"specify {options.name_of('baseline_planner')} NAME (one of "
                    f"{', '.join(baseline) or 'none'}), or declare "
                    f"{options.name_of('new_planners')} {planner}",
                    planner=planner,
                )
            )
    if not (options.planner or options.baseline_planner or renamed):
        removed = [planner for planner in baseline if planner not in requested]
        missing += [_planner_without_trials(p, "the new results", options) for p in removed]
    return pairs, missing


def _planner_without_trials(planner: str, title: str, options: GateOptions) -> NotJudged:
    allowed, name = planner in options.removed_planners, options.name_of("removed_planners")
    return NotJudged(
        f"{planner} has trials",
        f"{title} have no trials of planner {planner}" + (", as declared" if allowed else ""),
        allowed,
        remedy="" if allowed else f"run it, or declare {name} {planner}",
        planner=planner,
    )


def _unneeded(options: GateOptions, missing: Sequence[NotJudged]) -> List[str]:
    """Return notes about planners that are declared as new or removed but are not."""
    used = {item.planner for item in missing if item.allowed}
    return [
        f"{options.name_of(name)} {planner} has no effect: the planner is not "
        f"{name.partition('_')[0]} here"
        for name in ("new_planners", "removed_planners")
        for planner in getattr(options, name)
        if planner not in used
    ]


def _comparable_metrics(
    campaign: LoadedCampaign, other: LoadedCampaign, options: GateOptions
) -> Tuple[GateOptions, List[NotJudged]]:
    """Return the options without the metrics that are not comparable, and these metrics.

    With ``ignore_differences``, they are not removed.
    """
    without = compare_conditions(campaign, other).without
    affected = [margin.name for margin in options.margins if margin.name in without]
    ignored = options.ignore_differences
    fact = "is compared although it" if ignored else "is not compared: it"
    missing = [
        NotJudged(
            f"{name} is comparable",
            f"{name} {fact} depends on the machine or on a parameter of the metric, which differ",
            allowed=ignored,
            remedy=""
            if ignored
            else f"run both with equal settings, omit {options.name_of('metrics')} {name}, or "
            f"specify {options.name_of('ignore_differences')}",
        )
        for name in affected
    ]
    if ignored:
        return options, missing
    comparable = [
        text
        for text, margin in zip(options.metrics, options.margins)
        if margin.name not in affected
    ]
    return options.model_copy(update={"metrics": tuple(comparable)}), missing


def _planners_with_trials(results: CampaignResults) -> Tuple[str, ...]:
    with_trials = {record.planner for record in results.trials}
    return tuple(planner for planner in results.planners if planner in with_trials)


def _require_trials(planner: str, run: Sequence[str], path: Path) -> Tuple[str, ...]:
    if planner not in run:
        raise ResultsError(
            f"{path}: the results contain no trials of planner {planner}; run this planner"
        )
    return (planner,)


def _require_planners(results: CampaignResults, path: Path, names: Iterable[str]) -> None:
    for name in names:
        if name not in results.planners:
            known = unknown_name("planner", name, results.planners)
            raise SpecError(
                f"{path}: {known}. For another planner, add it to the campaign and run it"
            )
