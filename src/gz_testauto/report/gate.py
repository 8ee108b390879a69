"""What a gate says: a line per question, and JUnit XML for whoever collects tests.

Owns the words and the XML; every number comes from :mod:`gz_testauto.analysis.decisions.gate`.
JUnit XML as rostest, Jenkins, GitLab and GitHub's actions read it: one ``testcase`` per question,
``failure`` where it is worse, ``error`` where nothing can be said.
"""

import math
from typing import Sequence

from lxml import etree

from gz_testauto.analysis.decisions.gate import Answer, Kind, Verdict, overall
from gz_testauto.printable import printable
from gz_testauto.report.plain import number_text

SHOWN = 5
"""Worlds named in one line; JUnit XML names all."""

_WORDS = {
    Verdict.PASSED: "passed",
    Verdict.WORSE: "worse",
    Verdict.UNDECIDED: "cannot say",
}
_LOOKS = {
    Kind.SUCCESS: (100.0, 1, "%", ""),
    Kind.DIFFERENCE: (100.0, 1, "points", "+"),
}
"""Factor, decimals, unit and sign of what is no metric."""


EXIT_STATUS = {Verdict.PASSED: 0, Verdict.WORSE: 1, Verdict.UNDECIDED: 2}


def reason(answer: Answer) -> str:
    """One line: the verdict, the question and what it rests on."""
    line = f"{_WORDS[answer.verdict]}: {answer.question}: {_measured(answer)}"
    if answer.verdict is Verdict.UNDECIDED:
        return f"{line}; {_further(answer)}"
    if answer.verdict is Verdict.WORSE and answer.lost:
        more = f" and {len(answer.lost) - SHOWN} more" if len(answer.lost) > SHOWN else ""
        return f"{line}; lost {', '.join(answer.lost[:SHOWN])}{more}"
    return line


def sorted_by_verdict(answers: Sequence[Answer]) -> Sequence[Answer]:
    """Those that decide the whole first."""
    order = [Verdict.WORSE, Verdict.UNDECIDED, Verdict.PASSED]
    return sorted(answers, key=lambda answer: order.index(answer.verdict))


def to_junit(name: str, campaign: str, answers: Sequence[Answer]) -> str:
    """JUnit XML of the gate ``name``, judged on ``campaign``."""
    counts = {verdict: sum(a.verdict is verdict for a in answers) for verdict in Verdict}
    totals = {
        "tests": str(len(answers)),
        "failures": str(counts[Verdict.WORSE]),
        "errors": str(counts[Verdict.UNDECIDED]),
        "time": "0",
    }
    root = etree.Element("testsuites", {"name": printable(name), **totals})
    suite = etree.SubElement(root, "testsuite", {"name": printable(name), **totals})
    for answer in answers:
        case = etree.SubElement(
            suite,
            "testcase",
            classname=printable(f"{name}.{campaign}"),
            name=printable(answer.question),
            time="0",
        )
        said = printable(reason(answer))
        if answer.verdict is not Verdict.PASSED:
            kind = "failure" if answer.verdict is Verdict.WORSE else "error"
            word = _WORDS[answer.verdict]
            element = etree.SubElement(case, kind, message=said, type=word)
            element.text = printable("\n".join([said, *(f"lost {w}" for w in answer.lost)]))
        else:
            etree.SubElement(case, "system-out").text = said
    return _written(root)


def error_to_junit(name: str, message: str) -> str:
    """JUnit XML of a gate that could not be judged."""
    totals = {"name": printable(name), "tests": "1", "failures": "0", "errors": "1", "time": "0"}
    root = etree.Element("testsuites", totals)
    suite = etree.SubElement(root, "testsuite", totals)
    case = etree.SubElement(
        suite, "testcase", classname=printable(name), name="can be judged", time="0"
    )
    said = printable(message)
    etree.SubElement(case, "error", message=said, type="cannot say").text = said
    return _written(root)


def to_document(answers: Sequence[Answer]) -> dict:
    """The same for JSON."""
    return {
        "verdict": overall(answers).value,
        "answers": [
            {
                **vars(answer),
                "kind": answer.kind.value,
                "verdict": answer.verdict.value,
                "reason": reason(answer),
            }
            for answer in answers
        ],
    }


def _written(root: "etree._Element") -> str:
    text: str = etree.tostring(root, encoding="unicode", pretty_print=True)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + text


def _measured(answer: Answer) -> str:
    worlds = "1 world" if answer.worlds == 1 else f"{answer.worlds} worlds"
    if not answer.worlds:
        return "no world has the trials for it"
    factor, decimals, unit, sign = _LOOKS.get(answer.kind, (1.0, 3, "", "+"))
    unit = f" {unit or answer.unit}".rstrip()
    value, low, high = (
        number_text(number * factor, decimals, sign)
        for number in (answer.value, answer.low, answer.high)
    )
    return f"{value}{unit} [{low}, {high}] in {worlds}"


def _further(answer: Answer) -> str:
    if answer.more_worlds is None or math.isnan(answer.value):
        return "no number of worlds like these would tell" if answer.worlds else "run it in some"
    return f"about {answer.more_worlds} more worlds like these would tell"
