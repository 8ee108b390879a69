"""Campaigns with actors and randomization: parallel trials, resume, replay and rejected input."""

import numpy as np
import pytest
import yaml
from finished import results

from gz_testauto.analysis.repeatability import compare_recordings
from gz_testauto.base.resources import share_directory
from gz_testauto.cli.main import main

pytestmark = pytest.mark.slow


def campaign(tmp_path, **changes):
    """Write the walkers campaign of the package with three worlds and a short distance to the goal,
    and return its file."""
    path = share_directory() / "config" / "walkers_campaign.yaml"
    data = yaml.safe_load(path.read_text())
    data["worlds"].update(
        count=3,
        base=str(share_directory() / "worlds" / "arena.world"),
        obstacles=str(share_directory() / "config" / "obstacles.yaml"),
    )
    data["robot"]["start"].update(x_m=3.0, y_m=3.0)
    data.update(simulator="embedded", **changes)
    written = tmp_path / "walkers.yaml"
    written.write_text(yaml.safe_dump(data))
    return written


def run(file, out, *options):
    return main(["run", str(file), "--out", str(out), *options])


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("walkers")
    assert run(campaign(folder), folder / "alone", "--workers", "1") == 0
    return folder / "alone"


def test_results_contain_drawn_values_that_are_equal_for_all_planners(alone):
    trials, _ = results(alone)
    assert all(record.outcome.valid for record in trials)
    for name, low, high in (
        ("drawn_floor_friction", 0.4, 1.0),
        ("drawn_scan_noise", 0.0, 0.03),
        ("drawn_lag", 0.0, 0.2),
    ):
        by_world = {}
        for record in trials:
            by_world.setdefault(record.world, set()).add(record.metrics[name])
        assert {len(values) for values in by_world.values()} == {1}
        values = [value for (value,) in by_world.values()]
        assert len(set(values)) == 3
        assert all(low <= value <= high for value in values)


def test_recording_contains_the_trajectories_of_actors(alone):
    _, recordings = results(alone)
    names = [f"actor_walker_{i}" for i in range(5)] + ["actor_guard", "actor_pedestrian"]
    for recording in recordings:
        recorded = {name for name in recording.series if name.startswith("actor_")}
        assert {*names, "actor_door"} == recorded
        for name in names:
            assert recording.series[name].shape == (len(recording.time_s), 3)
        speeds = np.hypot(*np.diff(recording.series["actor_walker_0"][:, :2], axis=0).T) / 0.1
        assert 0.4 < speeds.max() < 1.3


def test_parallel_trials_of_a_resumed_campaign_are_identical(alone, tmp_path):
    file, out = campaign(tmp_path), tmp_path / "again"
    assert run(file, out, "--workers", "1", "--worlds", "1") == 0
    assert run(file, out, "--workers", "2") == 0
    trials, recordings = results(out)
    trials_alone, recordings_alone = results(alone)
    assert [record.outcome for record in trials] == [record.outcome for record in trials_alone]
    for first, second in zip(recordings_alone, recordings):
        assert compare_recordings(first, second).identical


def test_replay_with_actors_is_identical_bit_by_bit(alone, capsys):
    assert main(["replay", str(alone), "0", "fgm"]) == 0
    assert "identical to the stored trial" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"actors": [{"name": "x", "behavior": "nobody", "start": {"x_m": 0, "y_m": 0}}]},
            "unknown behavior 'nobody'",
        ),
        (
            {"actors": [{"name": "walls", "behavior": "patrol", "waypoints_m": [[0, 0], [1, 0]]}]},
            "the model 'walls' exists already",
        ),
        (
            {"randomize": [{"name": "x", "term": "mass", "select": {"names": "nobody"}, "set": 1}]},
            "randomize 'x': unknown link that can move that matches 'nobody'",
        ),
    ],
)
def test_invalid_actor_or_randomization_term_is_rejected_before_trials(
    tmp_path, capsys, changes, says
):
    assert run(campaign(tmp_path, **changes), tmp_path / "out") == 2
    assert says in " ".join(capsys.readouterr().err.split())
    assert results(tmp_path / "out")[0] == ()


def test_actor_that_the_simulator_does_not_support_is_rejected_before_trials(
    tmp_path, capsys, monkeypatch
):
    from gz_testauto.simulators.embedded import EmbeddedSimulator

    monkeypatch.setattr(EmbeddedSimulator, "changes", frozenset())
    assert run(campaign(tmp_path), tmp_path / "out") == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "actor 'walker': the simulator 'embedded'" in said
    assert "pose and twist of a model; use 'gazebo'" in said
