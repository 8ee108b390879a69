"""Tables of trials of other programs: rows, words, flags and faults with file and line."""

import math
import os

import pytest
from frozen_data import mutable_dataclasses

from gz_testauto.base.errors import ResultsError
from gz_testauto.extras import import_results
from gz_testauto.extras.import_results.imported import (
    LONGEST_NAME,
    Columns,
    read_trials,
)
from gz_testauto.extras.import_results.table_files import MOST_BYTES
from gz_testauto.trial.outcome import Outcome


def table(tmp_path, text, **columns):
    path = tmp_path / "trials.csv"
    path.write_bytes(text.encode("utf-8"))
    return read_trials(path, Columns(**columns))


def fault(tmp_path, text, **columns):
    with pytest.raises(ResultsError) as caught:
        table(tmp_path, text, **columns)
    return str(caught.value).rpartition("trials.csv")[2]


def test_a_row_is_a_trial_with_its_metrics(tmp_path):
    found = table(
        tmp_path,
        "world,planner,outcome,detail,distance_m,color,repetition\n"
        "w1,dwa,reached,fine,3.5,red,4\n\nw1,fgm,collided,,,blue,4\n",
    )
    assert found.ignored == ("color",)
    first, second = found.rows
    assert (first.world, first.planner, first.repetition) == ("w1", "dwa", 4)
    assert (first.outcome, first.detail) == (Outcome.REACHED, "fine")
    assert first.metrics == {"distance_m": 3.5}
    assert (second.outcome, second.detail) == (Outcome.COLLIDED, "")
    assert math.isnan(second.metrics["distance_m"])


@pytest.mark.parametrize(
    ("word", "outcome"),
    [("1", Outcome.REACHED), ("TRUE", Outcome.REACHED), ("yes", Outcome.REACHED),
     ("Success", Outcome.REACHED), ("succeeded", Outcome.REACHED), ("0", Outcome.FAILED),
     ("false", Outcome.FAILED), ("no", Outcome.FAILED), ("failure", Outcome.FAILED),
     ("collision", Outcome.COLLIDED), ("timeout", Outcome.TIMED_OUT), ("Stuck", Outcome.STUCK),
     ("crashed", Outcome.TIPPED_OVER)],
)  # fmt: skip
def test_words_name_outcomes_in_any_case(tmp_path, word, outcome):
    text = f"world,planner,outcome\nw,p,{word}\n"
    found = table(tmp_path, text, words={"Crashed": Outcome.TIPPED_OVER})
    assert found.rows[0].outcome is outcome


def test_repetitions_are_counted_by_planner_and_world_where_no_column_has_them(tmp_path):
    found = table(tmp_path, "world,planner,outcome\nw,a,1\nw,a,0\nw,b,1\nv,a,1\nw,a,1\n")
    assert [row.repetition for row in found.rows] == [0, 1, 0, 0, 2]


def test_an_invalid_trial_has_no_metrics_and_a_value_can_be_unknown(tmp_path):
    found = table(tmp_path, "world,planner,outcome,time_s\nw,a,invalid,1\nw,a,1,nan\n")
    assert found.rows[0].metrics == {}
    assert math.isnan(found.rows[1].metrics["time_s"])


def test_flags_replace_the_column_of_outcomes(tmp_path):
    flags = {"ok": Outcome.REACHED, "hit": Outcome.COLLIDED}
    text = "world,planner,ok,hit\nw,a,1,0\nw,a,no,Yes\nw,a,true,\n"
    found = table(tmp_path, text, flags=flags)
    assert [row.outcome for row in found.rows] == [
        Outcome.REACHED, Outcome.COLLIDED, Outcome.REACHED
    ]  # fmt: skip
    for cells, count in (("1,1", 2), ("0,0", 0)):
        assert fault(tmp_path, f"world,planner,ok,hit\nw,a,{cells}\n", flags=flags).startswith(
            f":2: {count} of ok, hit"
        )
    assert fault(tmp_path, "world,planner,ok,hit\nw,a,2,0\n", flags=flags).startswith(":2: ok is")


def test_trial_without_a_flag_has_the_outcome_that_the_caller_specifies(tmp_path):
    flags = {"ok": Outcome.REACHED, "hit": Outcome.COLLIDED}
    text = "world,planner,ok,hit\nw,a,0,0\nw,a,1,0\nw,a,0,1\n"
    found = table(tmp_path, text, flags=flags, otherwise=Outcome.STUCK)
    assert [row.outcome for row in found.rows] == [
        Outcome.STUCK, Outcome.REACHED, Outcome.COLLIDED
    ]  # fmt: skip
    assert "--otherwise failed" in fault(tmp_path, text, flags=flags)
    both = "world,planner,ok,hit\nw,a,1,1\n"
    assert fault(tmp_path, both, flags=flags, otherwise=Outcome.STUCK).startswith(":2: 2 of ok")


def test_first_of_several_flags_in_the_specified_order_selects_the_outcome(tmp_path):
    flags = {"ok": Outcome.REACHED, "hit": Outcome.COLLIDED, "late": Outcome.TIMED_OUT}
    text = "world,planner,ok,hit,late\nw,a,1,1,1\nw,a,1,0,1\nw,a,1,0,0\n"
    found = table(tmp_path, text, flags=flags, precedence=("hit", "late"))
    assert [row.outcome for row in found.rows] == [
        Outcome.COLLIDED, Outcome.TIMED_OUT, Outcome.REACHED
    ]  # fmt: skip
    assert "--precedence ok,hit,late" in fault(tmp_path, text, flags=flags)
    assert fault(tmp_path, text, flags=flags, precedence=("hit",)).startswith(":3: 2 of ok")


def test_column_names_delimiter_and_header_can_be_specified(tmp_path):
    columns = {
        "world": "map", "outcome": "end", "planner_name": "teb", "delimiter": ";",
        "header": ("map", "end", "length"), "metrics": {"length": "distance_m"},
    }  # fmt: skip
    found = table(tmp_path, "m1;1;2.5\n m2 ; 0 ; 3\n", **columns)
    assert [(row.world, row.planner) for row in found.rows] == [("m1", "teb"), ("m2", "teb")]
    assert [row.metrics for row in found.rows] == [{"distance_m": 2.5}, {"distance_m": 3.0}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ": is empty"),
        ("world,planner,outcome\n", ": contains no trial"),
        ("world,world,outcome\nw,a,1\n", ": column 'world' appears twice"),
        ("world,planner\nw,a\n", ": unknown column 'outcome'"),
        ("world,planner,outcome\nw,a\n", ":2: has 2 cells, not 3"),
        ("world,planner,outcome\n\nw,,1\n", ":3: planner is empty"),
        ("world,planner,outcome\n,a,1\n", ":2: world is empty"),
        ("world,planner,outcome\nw,a,maybe\n", ":2: outcome is 'maybe'"),
        ("world,planner,outcome,time_s\nw,a,1,fast\n", ":2: time_s is 'fast'"),
        ("world,planner,outcome,repetition\nw,a,1,-1\n", ":2: repetition is '-1'"),
        ("world,planner,outcome,repetition\nw,a,1,1234567890\n", ":2: repetition is '12"),
        ("world,planner,outcome,repetition\nw,a,1,0\nw,a,1,0\n", ":3: world w, planner a"),
        ('world,planner,outcome\n"w,a,1\n', ":2: "),
    ],
)
def test_a_fault_has_its_line_and_its_column(tmp_path, text, message):
    assert fault(tmp_path, text).startswith(message)


def test_a_name_has_at_most_255_characters_and_one_line(tmp_path):
    longest = "n" * LONGEST_NAME
    found = table(tmp_path, f'world,planner,outcome,repetition\n{longest},"a\nb",1,123456789\n')
    assert LONGEST_NAME == 255
    assert (found.rows[0].world, found.rows[0].planner) == (longest, "a b")
    assert found.rows[0].repetition == 123456789
    assert fault(tmp_path, f"world,planner,outcome\n{longest}n,a,1\n").startswith(
        ":2: world has 256 characters"
    )


def test_a_file_that_is_missing_or_is_no_text_is_named(tmp_path):
    with pytest.raises(ResultsError, match=r"none\.csv: cannot be read"):
        read_trials(tmp_path / "none.csv", Columns())
    (tmp_path / "bytes.csv").write_bytes(b"world\xff\n")
    with pytest.raises(ResultsError, match=r"bytes.csv:1: the file is not UTF-8"):
        read_trials(tmp_path / "bytes.csv", Columns())
    (tmp_path / "mark.csv").write_bytes(b"\xef\xbb\xbfworld,planner,outcome\nw,a,1\n")
    assert read_trials(tmp_path / "mark.csv", Columns()).rows[0].world == "w"


def test_records_of_imported_trials_cannot_be_changed():
    assert mutable_dataclasses(import_results) == []


def test_a_quoted_cell_can_follow_a_space_and_contain_the_delimiter(tmp_path):
    found = table(tmp_path, 'world, planner, outcome\nw, "a, b", reached\n')
    assert [(one.world, one.planner) for one in found.rows] == [("w", "a, b")]
    with pytest.raises(ResultsError):
        table(tmp_path, 'world,planner,outcome\nw,"a"b,reached\n')


def test_the_number_of_a_line_counts_lines_within_quotes(tmp_path):
    with pytest.raises(ResultsError, match=r"trials\.csv:4: "):
        table(tmp_path, 'world,planner,outcome\nw,"a\nb",1\nw,c,maybe\n')


def test_column_that_only_the_csv_export_writes_is_ignored_without_a_notice(tmp_path):
    text = "world,planner,outcome,seed,wall_s,attempts,color\nw,a,reached,1,2,3,red\n"
    assert table(tmp_path, text).ignored == ("color",)


def test_a_metric_of_another_column_replaces_none_of_the_same_name(tmp_path):
    text = "world,planner,outcome,length,time_s\nw,a,reached,2.5,7\n"
    found = table(tmp_path, text, metrics={"length": "distance_m"})
    assert found.rows[0].metrics == {"distance_m": 2.5, "time_s": 7.0}
    assert found.ignored == ()


def test_words_of_the_caller_replace_those_of_the_package(tmp_path):
    text = "world,planner,outcome\nw,a,SUCCESS\nw,a,reached\n"
    found = table(tmp_path, text, words={"success": Outcome.STUCK})
    assert [one.outcome for one in found.rows] == [Outcome.STUCK, Outcome.REACHED]


@pytest.mark.timeout(30)
def test_pipe_and_too_large_table_are_rejected(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(ResultsError, match=r"pipe\.csv: cannot be read: .*not a regular file"):
        read_trials(tmp_path / "pipe.csv", Columns())
    with open(tmp_path / "huge.csv", "wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(ResultsError, match=r"huge\.csv: cannot be read: it is larger than 20 MB"):
        read_trials(tmp_path / "huge.csv", Columns())


@pytest.mark.parametrize(
    ("column", "text", "limits"),
    [
        ("time_s", "inf", "from 0 to 1e+12"),
        ("time_s", "-5", "from 0 to 1e+12"),
        ("log_dimensionless_jerk", "-1e308", "from -1e+12 to 1e+12"),
        ("collisions", "-3", "from 0 to 1e+12"),
        ("clearance_min_m", "-0.1", "from 0 to 1e+12"),
        ("spl", "1.7", "from 0 to 1"),
    ],
)
def test_a_value_outside_the_bounds_of_its_metric_is_rejected(tmp_path, column, text, limits):
    with pytest.raises(ResultsError) as error:
        table(tmp_path, f"world,planner,outcome,{column}\nw,a,1,{text}\n")
    assert f":2: {column} is {text}; it must be {limits}, or empty" in str(error.value)


def test_lines_that_repeat_an_earlier_line_are_counted(tmp_path):
    lines = "w,a,1,2.0\nw,b,1,2.0\n"
    assert table(tmp_path, f"world,planner,outcome,time_s\n{lines}").copies == ()
    assert table(tmp_path, f"world,planner,outcome,time_s\n{lines * 2}").copies == (4, 5)


RECORDS = [
    '{"world": "w1", "planner": "dwa", "outcome": true, "time_s": 3.5, "info": {"a": [1]}}',
    '{"world": "w 2", "planner": "dwa", "outcome": "collided", "detail": null}',
]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("r.json", f"[{', '.join(RECORDS)}]"),
        ("r.json", "\ufeff [\n" + ",\n".join(RECORDS) + "\n]\n"),
        ("r.jsonl", "\n\n".join(RECORDS) + "\n"),
        ("r.NDJSON", "\r\n".join(RECORDS)),
    ],
)
def test_json_records_are_trials(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8")
    found = read_trials(tmp_path / name, Columns())
    first, second = found.rows
    assert (first.world, first.planner, first.outcome) == ("w1", "dwa", Outcome.REACHED)
    assert first.metrics == {"time_s": 3.5}
    assert (second.world, second.outcome, second.detail) == ("w 2", Outcome.COLLIDED, "")
    assert math.isnan(second.metrics["time_s"])
    assert found.ignored == ("info",)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", ": is empty"),
        ("[]", ": is empty"),
        ("[\n{},\n3]", ":3: is not an object; the file must contain a list of objects"),
        ('{"world": "w"}', ": unknown column 'planner'"),
        ('[{"world": "w"},\n{"world" 3}]', ":2: is not JSON: Expecting ':'"),
        ('[{"world": "w"}\n', ":2: is not JSON: the list of objects must end"),
        ('[{"world": "w"},\n', ":2: is not JSON: the list of objects must end"),
        ('[{"world": "w"}] 3', ":1: is not JSON: the list of objects must end"),
        ('[{"world": "w"} {}]', ":1: is not JSON: the list of objects must end"),
        ('{"world": 1, "world": 2}', ":1: field 'world' appears twice"),
        ('{"world": "\\ud800"}', ":1: 'world' contains half of a surrogate"),
        ("[" + '{"a":' * 100_000, ":1: maximum recursion"),
    ],
)
def test_error_for_damaged_json_has_its_line(tmp_path, text, problem):
    (tmp_path / "trials.json").write_text(text, encoding="utf-8")
    with pytest.raises(ResultsError) as caught:
        read_trials(tmp_path / "trials.json", Columns())
    assert str(caught.value).rpartition("trials.json")[2].startswith(problem)


@pytest.mark.parametrize("value", ["-1", "Infinity", "-Infinity", "1e999", '"inf"', "[1]"])
def test_impossible_number_in_json_is_reported_with_line_and_field(tmp_path, value):
    good = '{"world": "w", "planner": "a", "outcome": 1, "time_s": NaN}'
    (tmp_path / "trials.json").write_text(f"[{good},\n{good.replace('NaN', value)}]")
    with pytest.raises(ResultsError, match=r"trials\.json:2: time_s is .*; it must be "):
        read_trials(tmp_path / "trials.json", Columns())


def test_header_of_json_records_is_rejected(tmp_path):
    (tmp_path / "trials.json").write_text("[{}]")
    with pytest.raises(ResultsError, match="JSON records name their columns"):
        read_trials(tmp_path / "trials.json", Columns(header=("world",)))
