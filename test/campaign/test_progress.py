"""Notices about the progress of a campaign."""

import pytest

from gz_testauto.campaign import progress
from gz_testauto.campaign.progress import WorldProgress


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def notices_of(clock, silent_s, counts, total):
    notices = []
    report = WorldProgress(notices.append, "prepared", silent_s)
    for done in counts:
        report(done, total)
        clock[0] += 1.25
    return notices


def test_worlds_are_reported_first_and_then_every_few_seconds(clock):
    assert notices_of(clock, 0.0, range(2, 12), 11) == [
        "2 of 11 worlds prepared",
        "5 of 11 worlds prepared, 1.2 s each",
        "8 of 11 worlds prepared, 1.2 s each",
        "11 of 11 worlds prepared, 1.2 s each",
    ]


def test_a_short_preparation_is_not_reported(clock):
    assert notices_of(clock, 5.0, range(1, 5), 4) == []
    assert notices_of(clock, 2.0, range(1, 4), 3) == ["3 of 3 worlds prepared, 1.2 s each"]
