"""Notices about the progress of a campaign."""

import pytest

from gz_testauto.campaign import progress
from gz_testauto.campaign.progress import WorldProgress


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_prepared_worlds_are_reported_first_and_then_every_few_seconds(clock):
    notices = []
    report = WorldProgress(notices.append)
    for done in range(2, 12):
        report(done, 11)
        clock[0] += 1.25
    assert notices == [
        "2 of 11 worlds prepared",
        "5 of 11 worlds prepared, 1.2 s each",
        "8 of 11 worlds prepared, 1.2 s each",
        "11 of 11 worlds prepared, 1.2 s each",
    ]
