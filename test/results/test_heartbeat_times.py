"""Times of a runner's heartbeat."""

import sqlite3
import threading
import time

import pytest
from trial_values import trial_value

from gz_testauto.results import running
from gz_testauto.results.schema import create_tables

TRIALS = [trial_value(index, f"w{index}", index) for index in range(3)]


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "results.sqlite"
    connection = sqlite3.connect(str(path))
    create_tables(connection)
    connection.commit()
    connection.close()
    return path


def running_trials(path):
    connection = sqlite3.connect(str(path), timeout=10.0)
    runner = running.read_runner(connection)
    connection.close()
    return None if runner is None else [one.trial for one in runner.trials]


def wait_for(path, trials, limit_s=20.0):
    began_s = time.monotonic()
    while running_trials(path) != trials:
        assert time.monotonic() - began_s < limit_s, running_trials(path)
        time.sleep(0.02)
    return time.monotonic() - began_s


class WaitTimes(threading.Condition):
    """A condition that keeps how long it was waited for."""

    def __init__(self):
        super().__init__()
        self.times_s = []

    def wait(self, timeout=None):
        self.times_s.append(timeout)
        return super().wait(timeout)


class EventDuringWait(threading.Event):
    """An event that calls ``action`` during the first wait, and does not wait."""

    def __init__(self, action):
        super().__init__()
        self.actions = [action]

    def wait(self, timeout=None):
        while self.actions:
            self.actions.pop()()
        return self.is_set()


def test_trials_that_start_after_a_write_are_written_without_waiting_for_a_beat(
    database, monkeypatch
):
    monkeypatch.setattr(running, "BEAT_S", 100.0)
    heartbeat = running.Heartbeat(database)
    heartbeat._end_event = EventDuringWait(lambda: heartbeat.add_trial(TRIALS[1], "process 1"))
    with heartbeat:
        wait_for(database, [1], limit_s=5.0)


@pytest.mark.slow
def test_a_trial_that_starts_between_two_writes_is_in_the_second(database, monkeypatch):
    monkeypatch.setattr(running, "BEAT_S", 100.0)
    with running.Heartbeat(database) as heartbeat:
        heartbeat.add_trial(TRIALS[0], "process 1")
        wait_for(database, [0])
        heartbeat.add_trial(TRIALS[1], "process 1")
        wait_for(database, [0, 1])
        heartbeat.remove_trial(TRIALS[0])
        wait_for(database, [1])
        began_s = time.monotonic()
    assert time.monotonic() - began_s < 8.0
    assert running_trials(database) is None


def test_heartbeat_is_written_after_its_interval_if_nothing_changes(database, monkeypatch):
    monkeypatch.setattr(running, "BEAT_S", 0.5)
    monkeypatch.setattr(running, "GATHERING_S", 0.1)
    heartbeat = running.Heartbeat(database)
    heartbeat._changed = WaitTimes()
    with heartbeat:
        began_s = time.monotonic()
        while len(heartbeat._changed.times_s) < 2 and time.monotonic() - began_s < 20.0:
            time.sleep(0.02)
    assert heartbeat._changed.times_s[:2] == pytest.approx([0.4, 0.4])
    assert running.BEAT_S == 0.5


def test_the_standard_times_are_a_second_and_five():
    assert (running.GATHERING_S, running.BEAT_S) == (1.0, 5.0)
