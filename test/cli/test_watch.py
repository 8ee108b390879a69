"""The verb watch shows a campaign while it runs."""

import shutil
import threading

import pytest
from page_results import results
from scripted import record

from gz_testauto.cli.main import main
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.records import AttemptRecord
from gz_testauto.results.store import ResultStore
from gz_testauto.trial.outcome import Outcome


def test_watch_shows_progress_success_rates_outcomes_and_causes(tmp_path, capsys):
    out = results(tmp_path / "out")
    with ResultStore.open(CampaignDirectory(out)) as store:
        store.add_invalid_attempt(AttemptRecord(0, 1, "gzserver died", 1.0, ""))
        with store.heartbeat():
            assert main(["watch", str(out), "--once"]) == 0
    printed = capsys.readouterr().out
    assert "4 trials of 4, 2 worlds, 2 planners" in printed
    assert "100.0 [15.8, 100.0]" in printed
    assert "world_0001 dwa: collided, touched a box" in printed
    assert "1 × gzserver died" in printed


@pytest.mark.timeout(60)
def test_watch_exits_after_the_last_trial(tmp_path, capsys):
    out = results(tmp_path / "out")
    with ResultStore.open(CampaignDirectory(out)) as store:
        store._connection.execute("UPDATE campaign SET planned = 5")
        watching = threading.Thread(target=main, args=(["watch", str(out), "--interval", "0.1"],))
        watching.start()
        watching.join(0.5)
        assert watching.is_alive()
        last = record(4, world="world_0000", world_index=0, repetition=1, outcome=Outcome.STUCK)
        store.finish(last)
        watching.join(30)
    assert not watching.is_alive()
    printed = capsys.readouterr().out
    assert "4 trials of 5" in printed and "5 trials of 5" in printed


def test_watch_waits_for_the_first_trial_of_a_campaign(tmp_path, capsys):
    out = results(tmp_path / "out")
    (out / "results.sqlite").unlink()
    shutil.rmtree(out / "trajectories")
    assert main(["watch", str(out), "--once"]) == 0
    assert "no trial has ended yet" in " ".join(capsys.readouterr().out.split())
    assert main(["watch", str(tmp_path)]) == 2
    assert "no campaign" in capsys.readouterr().err


@pytest.mark.parametrize("interval", ["0", "-1", "often", "nan"])
def test_watch_rejects_an_invalid_interval(tmp_path, interval, capsys):
    with pytest.raises(SystemExit):
        main(["watch", str(tmp_path), "--interval", interval])
    assert "between 0.1 and 3600 seconds" in capsys.readouterr().err
