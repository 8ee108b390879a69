"""Results of the released version 1.0.0 can be read, and keep their numbers."""

import csv
import zipfile
from pathlib import Path

import numpy as np
import pytest

from gz_testauto.campaign.resume import read_campaign
from gz_testauto.cli.main import main
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.recordings import read_trajectory
from gz_testauto.results.store import load_campaign

STORED = Path(__file__).with_name("results_of_1.0.0.zip")
# World, planner, outcome, SPL and time (s), as 1.0.0 writes them.
TRIALS = [
    ("world_0000", "straight", "collided", 0.0, None),
    ("world_0000", "fgm", "reached", 0.9736178390741732, 14.4),
    ("world_0001", "straight", "collided", 0.0, None),
    ("world_0001", "fgm", "reached", 0.8716298746829511, 16.8),
]


@pytest.fixture
def directory(tmp_path):
    with zipfile.ZipFile(str(STORED)) as archive:
        archive.extractall(str(tmp_path / "results"))
    return tmp_path / "results"


def test_outcomes_and_recordings_are_those_of_the_release(directory):
    trials = load_campaign(directory).results.trials
    assert [(t.world, t.planner, t.outcome.value) for t in trials] == [row[:3] for row in TRIALS]
    for trial in trials:
        recording = read_trajectory(CampaignDirectory(directory).trajectories / trial.trajectory)
        assert len(recording.time_s) > 10 and np.isfinite(recording.pose).all()


@pytest.mark.slow
def test_report_has_the_numbers_of_the_release(directory, tmp_path):
    page, table = tmp_path / "page.html", tmp_path / "trials.csv"
    assert main(["report", str(directory), "--csv", str(table), "--html", str(page)]) == 0
    rows = list(csv.DictReader(table.open(encoding="utf-8")))
    for row, (_, _, outcome, spl, time_s) in zip(rows, TRIALS):
        assert row["outcome"] == outcome
        assert float(row["spl"]) == spl
        assert time_s is None or float(row["time_s"]) == pytest.approx(time_s)
    assert "only fgm" in page.read_text(encoding="utf-8")


def test_the_campaign_of_the_release_can_be_read(directory):
    spec, _ = read_campaign(CampaignDirectory(directory))
    assert [planner.name for planner in spec.planners] == ["straight", "fgm"]
    (directory / "stack_campaign.json").replace(directory / "campaign.json")
    spec, _ = read_campaign(CampaignDirectory(directory))
    assert [planner.launch is None for planner in spec.planners] == [False, False]
