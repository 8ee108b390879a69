"""Tables, LaTeX and JSON of results with few or no valid trials."""

import io
import json
import math
import re
from dataclasses import replace

import pytest
from trials_from_letters import campaign

from gz_testauto.analysis.overview import analyze
from gz_testauto.report.export import to_json
from gz_testauto.report.latex import to_latex
from gz_testauto.report.plain import report_console
from gz_testauto.report.table import print_report

CASES = {
    "one world": {"a": "R", "b": "C"},
    "one world, repetitions": {"a": "RRC ", "b": "RCC "},
    "two worlds": {"a": "RR", "b": "RC"},
    "all equal": {"a": "RRR " * 20, "b": "RRR " * 20},
    "all failed": {"a": "C" * 8, "b": "S" * 8},
    "one never arrives": {"a": "R" * 12, "b": "C" * 12},
    "unequal repetitions": {"a": "RRR RC R RRC", "b": "R RCC RR C"},
    "all invalid": {"a": "II", "b": "RR"},
    "none finished": {"a": "II", "b": "II"},
    "ties in all worlds": {"a": "RC RC RC RC", "b": "CR CR CR CR"},
    "three planners, one world": {"a": "R", "b": "C", "c": "R"},
}


def results(name):
    return campaign(**CASES[name])


def estimates(analysis):
    for summary in analysis.summaries:
        yield summary.success
    for pair in analysis.comparisons.pairs:
        yield pair.difference
        yield from (metric.difference for metric in pair.metrics)


@pytest.mark.parametrize("name", CASES)
def test_each_number_has_an_interval_or_a_reason_for_its_absence(name):
    for one in estimates(analyze(results(name))):
        if math.isnan(one.value):
            assert not one.has_interval
        elif one.has_interval:
            assert one.low <= one.value <= one.high
            assert one.low < one.high
        else:
            assert re.search("world", one.method)


@pytest.mark.parametrize("name", CASES)
def test_tables_fit_the_terminal_and_never_print_nan(name):
    stream = io.StringIO()
    analysis = analyze(results(name))
    print_report(analysis, report_console(stream))
    printed = stream.getvalue()
    assert max(map(len, printed.splitlines())) <= 80
    for text in (printed, to_latex(analysis)):
        assert not re.search(r"\bnan\b", text)
        assert not re.search(r"(?<![\d.])[-−]0\.0+(?!\d)(?! *\[)", printed)
    json.loads(to_json(analysis), parse_constant=pytest.fail)


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_significant_that_no_interval_bounds(name):
    for pair in analyze(results(name)).comparisons.pairs:
        if pair.significant:
            assert not pair.difference.low <= 0.0 <= pair.difference.high
        for metric in pair.metrics:
            if metric.significant and metric.difference.has_interval:
                assert not metric.difference.low <= 0.0 <= metric.difference.high


def test_a_planner_that_never_arrives_is_worse_beyond_doubt_and_has_no_length():
    (pair,) = analyze(results("one never arrives")).comparisons.pairs
    assert pair.significant and pair.relevant
    by_name = {metric.name: metric for metric in pair.metrics}
    assert by_name["distance_m"].worlds == 0
    assert math.isnan(by_name["distance_m"].p_value)


def test_no_table_of_differences_is_printed_without_a_common_value():
    results = campaign(a="RRR", b="RRC")
    trials = tuple(replace(trial, metrics={}) for trial in results.trials)
    stream = io.StringIO()
    print_report(analyze(replace(results, trials=trials)), report_console(stream))
    assert "p (Holm)" not in stream.getvalue()
    assert "No world has a value of both for SPL" in stream.getvalue()
