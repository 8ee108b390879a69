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
    assert "(Holm)" not in stream.getvalue()
    assert "No world has a value of both for SPL" in stream.getvalue()


def printed(results):
    stream = io.StringIO()
    print_report(analyze(results), report_console(stream))
    return stream.getvalue()


def test_wide_numbers_are_neither_cut_nor_broken_within_an_interval():
    long = campaign(
        lambda planner, world: 30000.0 + (20000.0 + world if planner == "a" else 0.0),
        a="R" * 12,
        b="R" * 12,
    )
    text = printed(long)
    assert "[+20002.00, +20009.00]" in text
    assert "…" not in text
    assert "50005.50" in text and "30000.00" in text


def test_tables_show_with_arrows_which_values_are_better():
    text = printed(campaign(a="R" * 6, b="R" * 6))
    assert re.search(r"mean of n +m ↓ +↑\n", text)
    assert "\n↓ length m " in text and "\n↑ SPL " in text
    assert text.count("↓: smaller values are better") == 2


def test_the_explanation_of_differences_is_printed_once_after_all_pairs():
    text = " ".join(printed(campaign(a="RRRR", b="RRRC", c="CCCC")).split())
    assert text.count("Means of both planners in the same n worlds") == 1
    assert text.count("The smallest relevant differences are") == 1
    pair = text.partition("a and c 4 worlds")[2].partition("b and c")[0]
    assert "No world has a value of both for length." in pair
    assert "No world" not in text.partition("a and b 4 worlds")[2].partition("a and c 4")[0]


def test_metrics_without_any_value_have_no_column():
    results = campaign(a="RRRR", b="RRRR")
    trials = tuple(replace(trial, metrics={"spl": 0.9}) for trial in results.trials)
    text = printed(replace(results, trials=trials))
    assert "length" not in text.partition("a and b")[0]
    assert "SPL: means over all valid trials; a failure has SPL 0." in text
    trials = tuple(replace(trial, metrics={}) for trial in results.trials)
    assert "mean of" not in printed(replace(results, trials=trials))


def test_latex_prints_the_best_mean_in_bold_if_the_worlds_are_the_same():
    def shorter_for_a(planner, world):
        return 10.0 if planner == "a" else 12.0

    equal = to_latex(analyze(campaign(shorter_for_a, a="RRRR", b="RRRR")))
    assert r"length $\downarrow$ (m) & \textbf{10.00 (0.00; 4)} & 12.00 (0.00; 4) \\" in equal
    assert r"SPL $\uparrow$ & 0.900 (0.000; 4) & 0.900 (0.000; 4) \\" in equal
    different = to_latex(analyze(campaign(shorter_for_a, a="RRCC", b="RRRR")))
    assert r"length $\downarrow$ (m) & 10.00 (0.00; 2) & 12.00 (0.00; 4) \\" in different
    assert r"b & 4/4 & \textbf{100.0} &" in different
    assert r"a & 2/4 & 50.0 &" in different
