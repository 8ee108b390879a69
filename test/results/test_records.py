"""Records of results, and the metrics that results show."""

import datetime
import sqlite3

import pytest
from frozen_data import mutable_dataclasses
from scripted import record

from gz_testauto import results
from gz_testauto.base.errors import ResultsError
from gz_testauto.metrics.interface import METRICS, Metric
from gz_testauto.results.records import CampaignResults, Runner, age_s, utc_now
from gz_testauto.results.store import reporting_errors
from gz_testauto.trial.outcome import Outcome

NOON = datetime.datetime(2024, 1, 1, 12, 0, 0, tzinfo=datetime.timezone.utc)


def runner(heartbeat_at):
    return Runner(1, "host", "2024-01-01T00:00:00+00:00", heartbeat_at)


@pytest.mark.parametrize(("second", "stale"), [("29", True), ("30", False), ("31", False)])
def test_a_runner_is_stale_after_more_than_thirty_seconds_without_a_heartbeat(second, stale):
    silent = runner(f"2024-01-01T11:59:{second}+00:00")
    assert silent.silent_s(NOON) == 60.0 - float(second)
    assert silent.is_stale(NOON) == stale


def test_a_moment_in_the_future_has_the_age_zero():
    assert age_s("2024-01-01T12:00:05+00:00", NOON) == 0.0
    assert age_s("2024-01-01T11:00:00+00:00", NOON) == 3600.0
    assert 0.0 <= age_s(utc_now()) < 60.0


def test_results_select_trials_of_a_planner_and_invalid_ones():
    trials = (
        record(0, planner="a"),
        record(1, planner="b", outcome=Outcome.INVALID),
        record(2, planner="a", outcome=Outcome.REACHED),
    )
    results = CampaignResults("c", ("a", "b"), (), 3, trials)
    assert [one.trial for one in results.of("a")] == [0, 2]
    assert [one.trial for one in results.invalid] == [1]
    assert [one.completed for one in trials] == [False, False, True]


def shown_metrics(measured=(), declared=()):
    trial = record(0, metrics=dict.fromkeys(measured, 1.0))
    return CampaignResults("c", ("a",), (), 1, (trial,), declared=declared).metrics


def test_metrics_of_tables_and_measured_ones_are_shown_in_order():
    shown = [metric.name for metric in shown_metrics(["recoveries", "jerk_rms_mps3", "new"])]
    tables = ["spl", "distance_m", "time_s", "safety", "comfort_mps2", "cycle_mean_s"]
    assert shown == [*tables, "clearance_min_m", "jerk_rms_mps3", "new", "recoveries"]


def test_a_metric_that_is_not_installed_is_known_by_its_name():
    (new,) = [metric for metric in shown_metrics(["new"]) if metric.name == "new"]
    assert (new.better, new.completed_only, new.unit) == ("neither", True, "")
    stored = Metric(name="new", better="lower", completed_only=False, description="d")
    (declared,) = shown_metrics(["new"], (stored,))
    assert declared.better == "lower"
    assert METRICS.get("spl") in shown_metrics()


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (sqlite3.OperationalError("database or disk is full"), "run the same command"),
        (sqlite3.OperationalError("disk I/O error"), "run the same command"),
        (sqlite3.DatabaseError("file is not a database"), "not a database"),
        (sqlite3.DatabaseError(), "is damaged"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), "is damaged"),
    ],
)
def test_an_error_of_the_database_names_the_file_and_the_remedy(tmp_path, error, words):
    path = tmp_path / "results.sqlite"
    matched = pytest.raises(ResultsError, match=f"{path.name}: .*{words}")
    with matched as caught, reporting_errors(path):
        raise error
    assert ("run the same command" in str(caught.value)) == (words == "run the same command")


def test_records_of_results_cannot_be_changed():
    assert mutable_dataclasses(results) == []
