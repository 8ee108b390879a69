"""The result of a gate as lines for a terminal, JUnit XML and JSON.

In JUnit XML, a question has a ``failure`` if it failed and an ``error`` if it is undecided. A
missing result is ``skipped`` if this is allowed, and otherwise an ``error``.
"""

import math
from typing import Callable, Dict, Iterable, Iterator, List, Sequence, Tuple

from lxml import etree

from gz_testauto.base.errors import GzTestautoError
from gz_testauto.base.escaping import escape_text
from gz_testauto.base.json_file import finite_or_none
from gz_testauto.extras.gate.corpus import (
    CorpusVerdict,
    corpus_document,
    corpus_line,
    corpus_lines,
)
from gz_testauto.extras.gate.coverage import NotJudged
from gz_testauto.extras.gate.questions import QuestionKind, QuestionVerdict, Verdict
from gz_testauto.extras.gate.request import GateEvaluation
from gz_testauto.report.plain import count_text, number_text
from gz_testauto.results.records import TrialRecord

SHOWN = 5  # number of worlds in one line

INCOMPLETE, UNDECIDED = 2, 3  # exit statuses; errors have the first one, too

_ELEMENTS = {Verdict.PASSED: "", Verdict.FAILED: "failure", Verdict.UNDECIDED: "error"}

NOT_FINISHED = "not finished: the gate was started and has not written its result"

_FORMATS = {
    QuestionKind.SUCCESS: (100.0, 1, "%", ""),
    QuestionKind.DIFFERENCE: (100.0, 1, "percentage points", "+"),
}
"""Factor, number of decimals, unit and sign of values other than metrics."""


def exit_status(judged: GateEvaluation) -> int:
    if judged.verdict is Verdict.UNDECIDED:
        return UNDECIDED if judged.needs_only_more_worlds else INCOMPLETE
    return 0 if judged.verdict is Verdict.PASSED else 1


def gate_lines(judged: GateEvaluation) -> List[str]:
    """Return the lines for a terminal; first those that prevent the gate from passing."""
    answers = _sorted_by_verdict(judged)
    passed = [answer for answer in answers if answer.verdict is Verdict.PASSED]
    lines = [
        *corpus_lines(judged.corpus),
        *_lines_of(answer for answer in answers if answer not in passed),
        *(not_judged_line(item) for item in judged.not_judged if not item.allowed),
        *_lines_of(passed),
        *(not_judged_line(item) for item in judged.not_judged if item.allowed),
        *(f"note: {note}" for note in judged.notes),
    ]
    return [escape_text(line) for line in lines]


def _lines_of(answers: Iterable[QuestionVerdict]) -> Iterator[str]:
    for answer in answers:
        yield verdict_line(answer)
        yield from (f"  {detail}" for detail in _details(answer))


def verdict_line(answer: QuestionVerdict) -> str:
    """Return a short line such as ``FAILED fgm: 20.0 %, was 100.0 %, at most 5 points less
    allowed``."""
    planner, baseline = answer.short_names
    start = f"{answer.verdict.value.upper()} {planner or answer.planner}:"
    if not answer.worlds:
        return f"{start} no world has the trials to test whether {answer.question}"
    factor, decimals, unit, _ = _format(answer)
    rate_unit = unit if answer.kind is QuestionKind.METRIC else " %"
    limit = f"{abs(answer.limit) * factor:g}"
    if answer.kind is QuestionKind.SUCCESS:
        size = _number(answer.value * factor, decimals, "")
        text = f"{size} %, at least {limit} % required"
    else:
        before = "was" if baseline == planner else f"{baseline or answer.baseline} had"
        now, then = (f"{_number(mean * factor, decimals, '')}{rate_unit}" for mean in answer.means)
        margin_unit = unit if answer.kind is QuestionKind.METRIC else " points"
        change = "more" if answer.limit > 0 else "less"
        text = f"{now}, {before} {then}, at most {limit}{margin_unit} {change} allowed"
    needed = ""
    if answer.verdict is Verdict.UNDECIDED and _more_worlds_text(answer):
        needed = f"; about {_more_worlds_text(answer)} needed"
    return f"{start} {answer.quantity + ' ' if answer.quantity else ''}{text}{needed}"


def _details(answer: QuestionVerdict) -> List[str]:
    if not answer.worlds:
        return []
    undecided = answer.verdict is Verdict.UNDECIDED
    remedy = _remedy_text(answer) if undecided else ""
    details = [_estimate(answer), _bounds_text(answer), remedy, _worlds_text(answer)]
    return [detail for detail in details if detail]


def _worlds_text(answer: QuestionVerdict) -> str:
    """Return a text with the worlds in which the planner is worse and better than its baseline. For
    a required rate, these are the worlds in which it failed. The text is empty without worlds."""
    if answer.kind is QuestionKind.SUCCESS:
        if answer.verdict is Verdict.PASSED or not answer.lost:
            return ""
        many = count_text(len(answer.lost), "world")
        return f"{answer.planner} failed in {many}: {_shortened_list(answer.lost)}"
    texts = [
        f"{word} in {count_text(len(worlds), 'world')}: {_shortened_list(worlds)}"
        for word, worlds in (("was worse", answer.lost), ("was better", answer.won))
        if worlds
    ]
    return f"{answer.planner} {', and '.join(texts)}" if texts else ""


def not_judged_line(item: NotJudged) -> str:
    where = f": {_shortened_list(item.worlds)}" if item.worlds else ""
    line = f"{_not_judged_text(item)}{where}"
    return line if item.allowed else f"{line}; {item.remedy}"


def evaluate_with_junit(
    name: str, evaluate: Callable[[], GateEvaluation], write: Callable[[str], None]
) -> GateEvaluation:
    """Evaluate the gate, and call ``write`` with JUnit XML of its result or error.

    A first call, before the evaluation, states that it is not finished. Errors are raised again.
    """
    write(error_to_junit(name, NOT_FINISHED))
    try:
        judged = evaluate()
    except Exception as error:
        write(error_to_junit(name, error_message(error)))
        raise
    write(to_junit(name, judged))
    return judged


def to_junit(name: str, judged: GateEvaluation) -> str:
    corpus = [_corpus_case(verdict) for verdict in judged.corpus.verdicts]
    answers = [*corpus, *(_answer_case(answer) for answer in judged.answers)]
    missing = [_not_judged_case(item) for item in judged.not_judged]
    return _suite(name, f"{name}.{judged.campaign}", [*answers, *missing], _properties(judged))


def worlds_to_junit(name: str, judged: GateEvaluation) -> str:
    """Return a test case for each planner and world, which passes if each trial reached the goal.

    The type of a ``failure`` is ``lost`` if the baseline reached the goal more often, else
    ``failed``. A case is an ``error`` if all trials are invalid, and ``skipped`` without a trial.
    """
    trials: _Trials = {}
    for side in judged.sides:
        for record in side.recorded:
            trials.setdefault((record.planner, record.world), []).append(record)
    cases = [
        _world_case(pair.planner, world, pair.baseline, trials)
        for pair in judged.pairs
        for world in (judged.sides[0].worlds if judged.sides else ())
    ]
    return _suite(name, f"{name}.{judged.campaign}", cases)


def error_message(error: Exception) -> str:
    if isinstance(error, GzTestautoError):
        return error.full
    return f"{type(error).__name__}: {error}"


def error_to_junit(name: str, message: str) -> str:
    return _suite(name, name, [("can be judged", "error", "error", message, ())])


def to_document(judged: GateEvaluation) -> dict:
    """Return the result as a JSON object, in which unknown and infinite numbers are null."""
    return {
        "verdict": judged.verdict.value,
        "answers": [
            {
                **{
                    key: finite_or_none(value) if isinstance(value, float) else value
                    for key, value in vars(answer).items()
                },
                "means": [*map(finite_or_none, answer.means)],
                "kind": answer.kind.value,
                "verdict": answer.verdict.value,
                "summary": verdict_line(answer),
                "reason": "; ".join(_details(answer)) or verdict_line(answer),
            }
            for answer in _sorted_by_verdict(judged)
        ],
        "corpus": corpus_document(judged.corpus) if judged.corpus.verdicts else None,
        "not_judged": [vars(item) for item in judged.not_judged],
        "allowed": {
            "missing_worlds": judged.options.allow_missing_worlds,
            **judged.options.model_dump(
                include={"max_invalid", "new_planners", "removed_planners"}
            ),
        },
        "notes": judged.notes,
    }


def error_to_document(message: str) -> dict:
    empty: dict = {"answers": [], "corpus": None, "not_judged": [], "notes": []}
    return {"verdict": "error", "error": message, **empty}


def _sorted_by_verdict(judged: GateEvaluation) -> List[QuestionVerdict]:
    order = [Verdict.FAILED, Verdict.UNDECIDED, Verdict.PASSED]
    return sorted(judged.answers, key=lambda answer: order.index(answer.verdict))


_Case = Tuple[str, str, str, str, Sequence[str]]
"""A test case: name, element (empty if it passed), type, message, and further lines."""


def _corpus_case(verdict: CorpusVerdict) -> _Case:
    element = _ELEMENTS[verdict.verdict]
    title = f"corpus: {verdict.planner} in {verdict.world}"
    return title, element, verdict.outcome or "invalid", corpus_line(verdict), ()


_Trials = Dict[Tuple[str, str], List[TrialRecord]]  # by planner and world


def _world_case(planner: str, world: str, baseline: str, trials: _Trials) -> _Case:
    title = f"{planner} in {world}"
    records = trials.get((planner, world), [])
    valid = [record for record in records if record.outcome.valid]
    lines = [f"{record.outcome.value}: {record.detail}" for record in records]
    if not records:
        return title, "skipped", "not run", "no trial has finished", ()
    if not valid:
        return title, "error", "invalid", f"{title}: all trials are invalid", lines
    text = f"{planner} {_reached_text(valid)}"
    baseline_records = [
        record for record in trials.get((baseline, world), ()) if record.outcome.valid
    ]
    if baseline_records:
        text += f", {baseline} {_reached_text(baseline_records)}"
    if all(record.completed for record in valid):
        return title, "", "", text, ()
    lost = bool(baseline_records) and _success_share(baseline_records) > _success_share(valid)
    return title, "failure", "lost" if lost else "failed", text, lines


def _success_share(records: Sequence[TrialRecord]) -> float:
    return sum(record.completed for record in records) / len(records)


def _reached_text(records: Sequence[TrialRecord]) -> str:
    completed = sum(record.completed for record in records)
    return f"reached the goal in {completed} of {count_text(len(records), 'trial')}"


def _answer_case(answer: QuestionVerdict) -> _Case:
    passed = answer.verdict is Verdict.PASSED
    lines = _details(answer)
    lines += [] if passed else [f"{_loss_text(answer)} {world}" for world in answer.lost]
    if not passed:
        lines += [f"better in {world}" for world in answer.won]
    element = _ELEMENTS[answer.verdict]
    return answer.question, element, answer.verdict.value, verdict_line(answer), lines


def _not_judged_case(item: NotJudged) -> _Case:
    worlds = [f"not judged {world}" for world in item.worlds]
    # rosunit prints only the name of a skipped case, as passed, so it contains the reason.
    name, element = (
        (_not_judged_text(item), "skipped") if item.allowed else (item.expectation, "error")
    )
    return name, element, "not judged", not_judged_line(item), worlds


def _not_judged_text(item: NotJudged) -> str:
    return f"not judged{', allowed' if item.allowed else ''}: {item.reason}"


def _properties(judged: GateEvaluation) -> Iterator[Tuple[str, str]]:
    options = judged.options
    yield "allow_missing_worlds", str(options.allow_missing_worlds)
    yield "max_invalid", f"{options.max_invalid:g}"
    yield "new_planners", " ".join(options.new_planners)
    yield "removed_planners", " ".join(options.removed_planners)
    for item in judged.not_judged:
        yield "allowed" if item.allowed else "not_judged", item.reason
    for note in judged.notes:
        yield "note", note


def _suite(
    name: str,
    classname: str,
    cases: Sequence[_Case],
    properties: Iterable[Tuple[str, str]] = (),
) -> str:
    elements = [element for _, element, *_ in cases]
    totals = {
        "name": _junit_name(name),
        "tests": str(len(cases)),
        "failures": str(elements.count("failure")),
        "errors": str(elements.count("error")),
        "time": "0",
    }
    root = etree.Element("testsuites", totals)
    suite = etree.SubElement(
        root, "testsuite", {**totals, "skipped": str(elements.count("skipped"))}
    )
    listed = [{"name": key, "value": escape_text(value)} for key, value in properties]
    if listed:
        parent = etree.SubElement(suite, "properties")
        for attributes in listed:
            etree.SubElement(parent, "property", attributes)
    for title, element, kind, message, lines in cases:
        names = {"classname": _junit_name(classname), "name": _junit_name(title), "time": "0"}
        case = etree.SubElement(suite, "testcase", names)
        escaped = [escape_text(line) for line in (message, *lines)]
        content = "\n".join(escaped)
        if element:
            result = etree.SubElement(case, element, message=escaped[0], type=kind)
            result.text = content
        else:
            etree.SubElement(case, "system-out").text = content
    text: str = etree.tostring(root, encoding="unicode", pretty_print=True)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + text


def _junit_name(text: str) -> str:
    # rosunit interprets % as a format specifier.
    return escape_text(text).replace("%", "percent")


def _shortened_list(worlds: Sequence[str]) -> str:
    more = f" and {len(worlds) - SHOWN} more" if len(worlds) > SHOWN else ""
    return f"{', '.join(worlds[:SHOWN])}{more}"


def _estimate(answer: QuestionVerdict) -> str:
    """Return a sentence such as ``the success rate of b is 3.0 percentage points lower than that of
    a; the allowed decrease is 5 percentage points``."""
    factor, decimals, unit, _ = _format(answer)
    value, limit = answer.value * factor, f"{abs(answer.limit) * factor:g}{unit}"
    if answer.kind is QuestionKind.SUCCESS:
        size = _number(value, decimals, "")
        return f"{answer.subject} is {size}{unit}; at least {limit} is required"
    if math.isnan(value):
        comparison = "differs by an unknown amount from"
    elif value:
        direction = "higher" if value > 0 else "lower"
        comparison = f"is {_number(abs(value), decimals, '')}{unit} {direction} than"
    else:
        comparison = "equals"
    change = "increase" if answer.limit > 0 else "decrease"
    return (
        f"{answer.subject} {comparison} that of {answer.baseline}; the allowed {change} is {limit}"
    )


def _bounds_text(answer: QuestionVerdict) -> str:
    factor, decimals, unit, sign = _format(answer)
    low, high = (_number(end * factor, decimals, sign) for end in (answer.low, answer.high))
    worlds = count_text(answer.worlds, "world")
    failed = ""
    if answer.failed:
        failed = f"; {count_text(len(answer.failed), 'world')} excluded because a planner did not "
        failed += "reach the goal"
    valid = "one-sided bounds" if answer.fixed else "anytime-valid one-sided bounds"
    lower, upper = (f"{100 * level:.3g} % confidence" for level in answer.levels)
    return f"{valid}: lower {low}{unit} at {lower}, upper {high}{unit} at {upper}; {worlds}{failed}"


def _format(answer: QuestionVerdict) -> Tuple[float, int, str, str]:
    """Return the factor to the reported unit, the number of decimals, the unit with a leading
    space, and the format of the sign."""
    factor, decimals, unit, sign = _FORMATS.get(answer.kind, (1.0, 3, answer.unit, "+"))
    return factor, decimals, f" {unit}".rstrip(), sign


def _loss_text(answer: QuestionVerdict) -> str:
    return "failed in" if answer.kind is QuestionKind.SUCCESS else "worse in"


def _remedy_text(answer: QuestionVerdict) -> str:
    if answer.fixed:
        return "the number of worlds is fixed, so the gate remains undecided"
    if not _more_worlds_text(answer):
        return "more worlds with similar results would not decide this"
    return f"a decision needs about {_more_worlds_text(answer)} with similar results"


def _more_worlds_text(answer: QuestionVerdict) -> str:
    if answer.more_worlds is None or math.isnan(answer.value):
        return ""
    step = 10 ** max(len(str(answer.more_worlds)) - 2, 0)  # the estimate is not more precise
    return count_text(-(-answer.more_worlds // step) * step, "more world")


def _number(value: float, decimals: int, sign: str) -> str:
    """Return the number as text, with 0 instead of a negative zero."""
    rounded = round(value, decimals) + 0.0 if math.isfinite(value) else value
    return number_text(rounded, decimals, sign)
