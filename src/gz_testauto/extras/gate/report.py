"""Report the result of a gate: lines for a terminal, JUnit XML and JSON.

Owns the words and the formats; every number comes from
:mod:`gz_testauto.extras.gate.request`. JUnit XML as rostest, Jenkins, GitLab and
GitHub's actions read it: one ``testcase`` per question, ``failure`` where it is worse, ``error``
where it cannot be decided; and one per expectation that was not judged, ``error``, or ``skipped``
where it is allowed.
"""

import math
from typing import Any, Iterable, Iterator, List, Sequence, Tuple

from lxml import etree

from gz_testauto.base.errors import GzTestautoError
from gz_testauto.base.escaping import escape_text
from gz_testauto.extras.gate.coverage import NotJudged
from gz_testauto.extras.gate.questions import Answer, Kind, Verdict
from gz_testauto.extras.gate.request import Judged
from gz_testauto.report.plain import number_text

SHOWN = 5
"""Worlds named in one line; JUnit XML and JSON name all."""

EXIT_STATUS = {Verdict.PASSED: 0, Verdict.WORSE: 1, Verdict.UNDECIDED: 2}

NOT_FINISHED = "not finished: the gate was started and has not written its result"

_WORDS = {
    Verdict.PASSED: "passed",
    Verdict.WORSE: "worse",
    Verdict.UNDECIDED: "cannot decide",
}
_LOOKS = {
    Kind.SUCCESS: (100.0, 1, "%", ""),
    Kind.DIFFERENCE: (100.0, 1, "points", "+"),
}
"""Factor, decimals, unit and sign of a value that is not a metric."""


def gate_lines(judged: Judged) -> List[str]:
    """Return a line per answer, per expectation that was not judged, and per note; those that
    keep the gate from passing first."""
    answers = _sorted_by_verdict(judged)
    lines = [
        *(reason(answer) for answer in answers if answer.verdict is not Verdict.PASSED),
        *(not_judged_line(item) for item in judged.not_judged if not item.allowed),
        *(reason(answer) for answer in answers if answer.verdict is Verdict.PASSED),
        *(not_judged_line(item) for item in judged.not_judged if item.allowed),
        *(f"note: {note}" for note in judged.notes),
    ]
    return [escape_text(line) for line in lines]


def reason(answer: Answer) -> str:
    """Return one line: the verdict, the question and its numbers."""
    line = f"{_WORDS[answer.verdict]}: {answer.question}: {_measured(answer)}"
    if answer.verdict is Verdict.UNDECIDED:
        return f"{line}; {_further(answer)}"
    if answer.verdict is Verdict.WORSE and answer.lost:
        return f"{line}; lost {_listed(answer.lost)}"
    return line


def not_judged_line(item: NotJudged) -> str:
    """Return one line: what is missing, where, and the remedy or that it is allowed."""
    where = f": {_listed(item.worlds)}" if item.worlds else ""
    line = f"{_not_judged(item)}{where}"
    return line if item.allowed else f"{line}; {item.remedy}"


def to_junit(name: str, judged: Judged) -> str:
    """Return JUnit XML of the gate ``name``."""
    answers = [_answer_case(answer) for answer in judged.answers]
    missing = [_not_judged_case(item) for item in judged.not_judged]
    return _suite(name, f"{name}.{judged.campaign}", [*answers, *missing], _properties(judged))


def error_message(error: Exception) -> str:
    """Return the whole message of an error; with the error's type where it is not one of ours."""
    if isinstance(error, GzTestautoError):
        return error.full
    return f"{type(error).__name__}: {error}"


def error_to_junit(name: str, message: str) -> str:
    """Return JUnit XML of a gate that ended with an error."""
    return _suite(name, name, [("can be judged", "error", "error", message, ())])


def to_document(judged: Judged) -> dict:
    """Return the result for JSON. A number that is unknown or infinite is null."""
    allowances = judged.allowances
    return {
        "verdict": judged.verdict.value,
        "answers": [
            {
                **{key: _finite(value) for key, value in vars(answer).items()},
                "kind": answer.kind.value,
                "verdict": answer.verdict.value,
                "reason": reason(answer),
            }
            for answer in _sorted_by_verdict(judged)
        ],
        "not_judged": [vars(item) for item in judged.not_judged],
        "allowed": {
            "missing_worlds": allowances.missing_worlds,
            "max_invalid": allowances.max_invalid,
            "new_planners": allowances.new_planners,
            "removed_planners": allowances.removed_planners,
        },
        "notes": judged.notes,
    }


def error_to_document(message: str) -> dict:
    """Return the JSON of a gate that ended with an error."""
    return {"verdict": "error", "error": message, "answers": [], "not_judged": [], "notes": []}


def _sorted_by_verdict(judged: Judged) -> List[Answer]:
    order = [Verdict.WORSE, Verdict.UNDECIDED, Verdict.PASSED]
    return sorted(judged.answers, key=lambda answer: order.index(answer.verdict))


Case = Tuple[str, str, str, str, Sequence[str]]
"""Name, element (empty where it passed), type, message, and further lines."""


def _answer_case(answer: Answer) -> Case:
    elements = {Verdict.PASSED: "", Verdict.WORSE: "failure", Verdict.UNDECIDED: "error"}
    lost = () if answer.verdict is Verdict.PASSED else [f"lost {world}" for world in answer.lost]
    word, element = _WORDS[answer.verdict], elements[answer.verdict]
    return answer.question, element, word, reason(answer), lost


def _not_judged_case(item: NotJudged) -> Case:
    """The case of an allowed gap has its reason as its name: rosunit prints ``skipped`` cases as
    passed."""
    worlds = [f"not judged {world}" for world in item.worlds]
    name, element = (_not_judged(item), "skipped") if item.allowed else (item.expectation, "error")
    return name, element, "not judged", not_judged_line(item), worlds


def _not_judged(item: NotJudged) -> str:
    return f"not judged{', allowed' if item.allowed else ''}: {item.reason}"


def _properties(judged: Judged) -> Iterator[Tuple[str, str]]:
    allowances = judged.allowances
    yield "allow_missing_worlds", str(allowances.missing_worlds)
    yield "max_invalid", f"{allowances.max_invalid:g}"
    yield "new_planners", " ".join(allowances.new_planners)
    yield "removed_planners", " ".join(allowances.removed_planners)
    for item in judged.not_judged:
        yield "allowed" if item.allowed else "not_judged", item.reason
    for note in judged.notes:
        yield "note", note


def _suite(
    name: str,
    classname: str,
    cases: Sequence[Case],
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
        for one in listed:
            etree.SubElement(parent, "property", one)
    for title, element, kind, message, lines in cases:
        names = {"classname": _junit_name(classname), "name": _junit_name(title), "time": "0"}
        case = etree.SubElement(suite, "testcase", names)
        said = escape_text(message)
        if element:
            found = etree.SubElement(case, element, message=said, type=kind)
            found.text = "\n".join([said, *map(escape_text, lines)])
        else:
            etree.SubElement(case, "system-out").text = said
    text: str = etree.tostring(root, encoding="unicode", pretty_print=True)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + text


def _junit_name(text: str) -> str:
    """Return a name without ``%``, which rosunit takes for a format."""
    return escape_text(text).replace("%", "percent")


def _listed(worlds: Sequence[str]) -> str:
    more = f" and {len(worlds) - SHOWN} more" if len(worlds) > SHOWN else ""
    return f"{', '.join(worlds[:SHOWN])}{more}"


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _measured(answer: Answer) -> str:
    worlds = "1 world" if answer.worlds == 1 else f"{answer.worlds} worlds"
    if not answer.worlds:
        return "no world has the trials for it"
    factor, decimals, unit, sign = _LOOKS.get(answer.kind, (1.0, 3, "", "+"))
    unit = f" {unit or answer.unit}".rstrip()
    value, low, high = (
        _number(number * factor, decimals, sign)
        for number in (answer.value, answer.low, answer.high)
    )
    failed = f", not in {len(answer.failed)} where one of the two failed" if answer.failed else ""
    return f"{value}{unit} [{low}, {high}] in {worlds}{failed}"


def _further(answer: Answer) -> str:
    if answer.more_worlds is None or math.isnan(answer.value):
        return "no number of such worlds would decide" if answer.worlds else "run some"
    return f"about {answer.more_worlds} more worlds like these would decide"


def _number(value: float, decimals: int, sign: str) -> str:
    """Return the number as text, without a negative zero."""
    rounded = round(value, decimals) + 0.0 if math.isfinite(value) else value
    return number_text(rounded, decimals, sign)
