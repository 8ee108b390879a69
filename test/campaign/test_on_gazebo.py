"""Campaigns on real Gazebo: whole, interrupted, repeated."""

import os
import signal
from pathlib import Path

import pytest

from gz_testauto.analysis.repeatability import compare_recordings
from gz_testauto.campaign.progress import CampaignListener
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.simulator import start_simulator
from gz_testauto.cli.main import main
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore
from gz_testauto.simulators.gazebo.simulation import GazeboSimulation
from gz_testauto.trial.lockstep import LockstepExecutor
from gz_testauto.trial.outcome import Outcome

pytestmark = pytest.mark.gazebo


def run_on_gazebo(spec, out, **options):
    return run_campaign(
        spec, out, lambda campaign: LockstepExecutor(campaign, start_simulator), **options
    )


def recordings(out):
    with ResultStore.read(CampaignDirectory(out)) as store:
        return [store.trajectory(record) for record in store.results().trials]


@pytest.fixture(scope="module")
def calm(smoke, tmp_path_factory):
    out = tmp_path_factory.mktemp("gazebo") / "calm"
    return run_on_gazebo(smoke, out), out


def gzservers_of_ours():
    """Process ids of the gzservers that this process started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rsplit(")", 1)[1].split()[1])
            command = (stat.parent / "cmdline").read_bytes()
        except OSError:  # it has ended meanwhile
            continue
        if parent == os.getpid() and b"gzserver" in command:
            found.append(int(stat.parent.name))
    return found


def test_planners_on_gazebo_have_the_expected_outcomes(calm):
    results, _ = calm
    assert all(record.outcome.valid for record in results.trials)
    assert [record.outcome for record in results.of("fgm")] == [Outcome.REACHED] * 2
    assert Outcome.REACHED not in [record.outcome for record in results.of("straight")]
    for record in results.of("fgm"):
        assert 6.0 - 0.5 <= record.metrics["distance_m"] < 12.0
        assert 0.0 < record.metrics["clearance_min_m"] < 1.0
        assert 0.5 < record.metrics["spl"] <= 1.0


def test_no_gzserver_runs_after_the_campaign(calm):
    assert gzservers_of_ours() == []


def test_replayed_trial_on_a_new_gzserver_is_identical_bit_by_bit(calm, capsys):
    _, out = calm
    assert main(["replay", str(out), "1", "fgm"]) == 0
    assert "identical to the stored trial" in capsys.readouterr().out


class Assassin(CampaignListener):
    """Kills gzserver in the middle of the second trial, once."""

    def __init__(self):
        self.steps, self.killed = None, []

    def trial_began(self, trial, progress):
        if trial.index == 1 and not self.killed:
            self.steps = 0

    def watching(self, step):
        """Returns a simulation's ``step`` whose tenth call in that trial finds a dead server."""

        def watched(simulation, duration_s):
            if self.steps is not None:
                self.steps += 1
                if self.steps == 10:
                    self.steps, self.killed = None, gzservers_of_ours()
                    for pid in self.killed:
                        os.kill(pid, signal.SIGKILL)
            return step(simulation, duration_s)

        return watched


def test_killed_gzserver_costs_one_attempt_and_changes_no_result(
    smoke, calm, tmp_path, monkeypatch
):
    assassin = Assassin()
    monkeypatch.setattr(GazeboSimulation, "step", assassin.watching(GazeboSimulation.step))
    shaken = run_on_gazebo(smoke, tmp_path / "shaken", listener=assassin)
    assert assassin.killed
    assert [attempt.trial for attempt in shaken.invalid_attempts] == [1]
    assert [record.outcome for record in shaken.trials] == [
        record.outcome for record in calm[0].trials
    ]
    for before, after in zip(recordings(calm[1]), recordings(tmp_path / "shaken")):
        assert compare_recordings(before, after).identical
