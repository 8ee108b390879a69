"""A second process reads a campaign that runs, or whose runner was killed."""

import datetime
import os
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from trial_values import trial_value

from gz_testauto.analysis.overview import analyze
from gz_testauto.base.errors import ResultsError
from gz_testauto.report.plain import report_console
from gz_testauto.report.table import print_report
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.records import STALE_S
from gz_testauto.results.store import ResultStore
from gz_testauto.trial.outcome import Outcome

TRIAL = trial_value(3, "world_0001", 1)


def seen(directory, until=lambda runner: True, limit_s=60.0):
    """The runner as another connection reads it, once ``until`` holds of it."""
    deadline_s = time.monotonic() + limit_s
    while True:
        with ResultStore.read(directory) as reader:
            runner = reader.results().running
        if until(runner):
            return runner
        assert time.monotonic() < deadline_s, runner
        time.sleep(0.05)


def printed(directory, capsys):
    with ResultStore.read(directory) as reader:
        print_report(analyze(reader.results()), report_console())
    return " ".join(capsys.readouterr().out.split())


@pytest.fixture
def directory(tmp_path):
    directory = CampaignDirectory(tmp_path / "out")
    directory.path.mkdir()
    directory.manifest.write_text("{}")
    ResultStore.create(directory, "test", ["fgm"], [], planned=4).close()
    return directory


def test_a_campaign_that_was_only_created_has_no_runner(directory, capsys):
    assert seen(directory) is None
    assert "Running" not in printed(directory, capsys)


def test_running_trials_are_stored_only_while_they_run(directory, capsys):
    with ResultStore.open(directory) as store, store.heartbeat() as heartbeat:
        # the process can exit although another one blocks the database
        assert [one.daemon for one in threading.enumerate() if one.name == "heartbeat"] == [True]
        heartbeat.add_trial(TRIAL, "process 77")
        runner = seen(directory, lambda runner: runner is not None and runner.trials)
        assert runner.process == os.getpid()
        assert not runner.is_stale()
        (trial,) = runner.trials
        assert (trial.trial, trial.world, trial.planner) == (3, "world_0001", "fgm")
        text = printed(directory, capsys)
        assert f"Running now, by process {os.getpid()} on" in text
        assert "world_0001 fgm, since" in text and "(process 77)" in text
        heartbeat.remove_trial(TRIAL)
        assert seen(directory, lambda runner: not runner.trials).process == os.getpid()
    assert seen(directory) is None


KILLED = """
import os, sys, time
sys.path[:0] = {paths!r}
from test_running import *
store = ResultStore.open(CampaignDirectory(Path({path!r})))
heartbeat = store.heartbeat().__enter__()
heartbeat.add_trial(TRIAL, "process 77")
seen(CampaignDirectory(Path({path!r})), lambda runner: runner is not None and runner.trials)
os.kill(os.getpid(), 9)
"""


@pytest.mark.slow
def test_a_killed_runner_becomes_stale_and_the_next_runner_replaces_it(directory, capsys):
    paths = [str(folder) for folder in Path(__file__).parents[:2]]
    script = KILLED.format(paths=paths, path=str(directory.path))
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    left = seen(directory)
    now = datetime.datetime.now(datetime.timezone.utc)
    later = now + datetime.timedelta(seconds=STALE_S + 1)
    assert left.is_stale(later)
    assert [trial.world for trial in left.trials] == ["world_0001"]
    with sqlite3.connect(str(directory.results)) as connection:
        connection.execute("UPDATE runner SET heartbeat_at = '2024-01-01T00:00:00+00:00'")
    connection.close()
    text = printed(directory, capsys)
    assert "Running now" not in text
    assert f"Not running: the last heartbeat of process {left.process} on" in text
    assert "trials to restart: world_0001 fgm" in text
    with ResultStore.open(directory) as store, store.heartbeat():
        now = seen(directory, lambda runner: runner.process == os.getpid())
        assert now.trials == ()
    assert seen(directory) is None


def test_a_store_that_cannot_be_written_does_not_stop_the_runner(directory):
    with ResultStore.open(directory) as store:
        heartbeat = store.heartbeat()
        directory.results.rename(directory.results.with_suffix(".gone"))
        directory.results.mkdir()
        with heartbeat:
            heartbeat.add_trial(TRIAL, "")
    directory.results.rmdir()
    directory.results.with_suffix(".gone").rename(directory.results)
    assert seen(directory) is None


def test_a_heartbeat_that_is_not_a_time_is_reported_as_damage(directory):
    with ResultStore.open(directory) as store, store.heartbeat():
        seen(directory, lambda runner: runner is not None)
    with sqlite3.connect(str(directory.results)) as connection:
        connection.execute("INSERT INTO runner VALUES (1, 'h', 'then', 'now')")
    connection.close()
    with pytest.raises(ResultsError, match="is damaged"):
        seen(directory)


@pytest.mark.slow
def test_a_campaign_reports_running_trials_and_none_at_its_end(run, tmp_path):
    told = []

    def script(trial):
        runner = seen(
            CampaignDirectory(tmp_path / "out"),
            lambda runner: (
                runner is not None and [one.trial for one in runner.trials] == [trial.index]
            ),
        )
        told.append(runner.trials[0].worker)
        return Outcome.REACHED

    results = run(script).results
    assert told == [f"process {os.getpid()}"] * len(results.trials)
    assert results.running is None
    assert "heartbeat" not in [thread.name for thread in threading.enumerate()]
