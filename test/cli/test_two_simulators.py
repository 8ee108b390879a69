"""Verbs that need two simulators."""

from pathlib import Path

import pytest

from gz_testauto.cli import main as command
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore
from gz_testauto.simulators import SIMULATORS
from gz_testauto.testing.planar import PlanarSimulator

CAMPAIGN = Path(__file__).resolve().parents[2] / "config" / "smoke_campaign.yaml"

SIMULATORS.register("planar_for_two_speeds", PlanarSimulator)


def run(out, *more):
    arguments = ["--screen", "embedded", "--confirm", "planar_for_two_speeds", "--workers", "1"]
    return command.main(["run", str(CAMPAIGN), "--out", str(out), *arguments, *more])


@pytest.mark.slow
def test_all_trials_are_screened_and_the_chosen_ones_confirmed(tmp_path, capsys):
    assert run(tmp_path, "--closest", "1", "--control", "1") == 0
    said = capsys.readouterr()
    assert "4 trials screened in embedded" in said.out
    assert "end alike in both" in said.out
    with ResultStore.read(CampaignDirectory(tmp_path / "embedded")) as store:
        assert len(store.results().trials) == 4
    with ResultStore.read(CampaignDirectory(tmp_path / "planar_for_two_speeds")) as store:
        confirmed = [record.trial for record in store.results().trials]
    assert 2 <= len(confirmed) <= 4
    # again: the same choice, and nothing is run twice
    assert run(tmp_path, "--closest", "1", "--control", "1") == 0
    again = capsys.readouterr()
    assert "ended" not in again.err and again.out == said.out


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ["--screen", "embedded"],
        ["--confirm", "embedded"],
        ["--screen", "embedded", "--confirm", "embedded"],
        ["--screen", "embedded", "--confirm", "planar_for_two_speeds", "--simulator", "embedded"],
    ],
)
def test_two_different_simulators_are_needed(tmp_path, capsys, arguments):
    assert command.main(["run", str(CAMPAIGN), "--out", str(tmp_path / "out"), *arguments]) == 2
    assert "--screen and --confirm" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_open_loop_drives_are_compared_and_leave_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    simulators = ["--simulators", "embedded", "planar_for_two_speeds"]
    assert command.main(["agree", str(CAMPAIGN), "--open-loop", *simulators]) == 0
    said = capsys.readouterr().out
    for sequence in ("straight", "turn", "arc", "stop", "push"):
        assert f"\n{sequence} " in said
    assert "IMU, difference of" in said
    assert list(tmp_path.iterdir()) == []
    assert command.main(["agree", str(CAMPAIGN), *simulators]) == 2
    assert "--out is missing" in capsys.readouterr().err
