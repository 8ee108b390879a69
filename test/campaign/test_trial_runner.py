"""A trial as a function has the bits of the campaign's trial, and is cached by content."""

from dataclasses import replace

import numpy as np
import pytest

from gz_testauto.analysis.repeatability import compare_recordings
from gz_testauto.base.errors import SceneError, SimulatorError, SpecError
from gz_testauto.base.pose import Pose2D
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.simulator import chosen_executor
from gz_testauto.campaign.trial_runner import TrialRunner
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.worlds import RandomNumbers
from gz_testauto.trial.lockstep import LockstepExecutor
from gz_testauto.trial.outcome import Outcome
from gz_testauto.trial.testbed import bed_of, read_body

WALL = ("cycle", "real_time")
NOISE = [{"name": "noise", "term": "scan_noise", "set": [0.01, 0.1]}]
WALKER = [
    {
        "name": "walker",
        "behavior": "wander",
        "region": {"rectangle": {"x_m": [-3, 3], "y_m": [1.5, 2.5]}},
        "speed_mps": [0.3, 1.0],
    }
]


def changed(smoke, **keys):
    data = {**smoke.model_dump(mode="json"), "simulator": "kinematic", **keys}
    return CampaignSpec.kind_of(data).model_validate(data)


def stored(spec, out):
    """Run a campaign; return its records and recordings by world, planner and repetition."""
    run_campaign(spec, out, chosen_executor(spec, out))
    with ResultStore.read(CampaignDirectory(out)) as store:
        return {
            (one.world, one.planner, one.repetition): (one, store.trajectory(one))
            for one in store.results().trials
        }


def has_bits(trial, record, recording):
    metrics = {name: value for name, value in trial.metrics.items() if not name.startswith(WALL)}
    known = {name: record.metrics[name] for name in metrics}
    np.testing.assert_equal(metrics, known)
    assert trial.outcome is record.outcome and trial.detail == record.detail
    return compare_recordings(trial.recording, recording).identical


@pytest.fixture(scope="module")
def noisy(smoke):
    keys = {"randomize": NOISE, "actors": WALKER, "repetitions": 2}
    return changed(smoke, simulator="embedded", **keys)


@pytest.fixture
def runner(smoke):
    with TrialRunner(changed(smoke)) as runner:
        yield runner


@pytest.mark.slow
def test_trial_has_the_bits_of_the_campaign(noisy, tmp_path):
    results = stored(noisy, tmp_path / "out")
    with TrialRunner(noisy) as runner:
        for (world, planner, repetition), (record, recording) in results.items():
            seed = noisy.random_numbers(record.world_index, repetition)
            assert has_bits(runner.run(world, planner, seed=seed), record, recording)
        other = runner.run("world_0001", "fgm", seed=noisy.seed + 1)
    assert not compare_recordings(other.recording, results["world_0001", "fgm", 0][1]).identical


@pytest.mark.slow
def test_world_with_random_numbers_of_another_campaign_has_its_bits(noisy, tmp_path):
    first = stored(noisy, tmp_path / "first")
    entry = {
        "file": "world_0001.world",
        "random_numbers": {"seed": noisy.seed, "world": 1, "repetition": 1},
    }
    worlds = {"directory": str(tmp_path / "first" / "worlds"), "files": [entry]}
    second = changed(noisy, simulator="embedded", worlds=worlds, seed=99, repetitions=1)
    for (world, planner, _), (record, recording) in stored(second, tmp_path / "second").items():
        assert record.seed == first[world, planner, 1][0].seed
        assert compare_recordings(recording, first[world, planner, 1][1]).identical


def test_random_numbers_of_several_copies_are_rejected(smoke, tmp_path):
    entry = {"file": "a.world", "count": 2, "random_numbers": {"seed": 1}}
    with pytest.raises(ValueError, match="random_numbers"):
        changed(smoke, worlds={"directory": str(tmp_path), "files": [entry]})


def test_results_are_cached_by_content_and_not_by_name(runner):
    one, other = runner.worlds
    seed = RandomNumbers(seed=1)
    first = runner.run(one, "straight", seed=seed)
    renamed = replace(other, name=one.name)
    assert runner.run(renamed, "straight", seed=seed).key != first.key
    assert runner.simulated == 2
    assert runner.run(replace(one, name="another"), "straight", seed=seed) is first
    assert runner.simulated == 2


def test_obstacles_belong_to_the_content_of_a_world_and_not_to_its_name(runner):
    one, other = runner.worlds
    bed = bed_of(runner.spec, read_body(runner.spec))
    expected = bed.world_scene(other).models["obstacle_box_0"].pose
    assert bed.world_scene(one).models["obstacle_box_0"].pose != expected
    renamed = bed.world_scene(replace(other, name=one.name))
    assert renamed.models["obstacle_box_0"].pose == expected


def test_generated_worlds_exist_until_the_runner_is_closed(smoke):
    with TrialRunner(changed(smoke)) as runner:
        folder = runner.worlds[0].path.parent
        assert folder.is_dir()
    assert not folder.exists()


def test_content_of_a_world_is_a_world(runner):
    record = runner.worlds[0]
    known = runner.run(record, "straight")
    for world in (record.path, record.path.read_bytes()):
        again = runner.run(world, "straight")
        assert compare_recordings(again.recording, known.recording).identical
    assert runner.simulated <= 2  # the same content


def test_parameters_replace_those_of_the_campaign(runner):
    slow = runner.run("0", "fgm", {"slowest": 0.2}, timeout_s=2.0)
    assert slow.key != runner.run("0", "fgm", timeout_s=2.0).key
    assert slow.key == runner.run("0", "fgm", {"slowest": 0.2}, timeout_s=2.0).key


def test_registered_plugin_needs_no_entry_in_the_campaign(runner):
    assert runner.run("0", "fgm_improved", timeout_s=1.0).outcome is Outcome.TIMED_OUT


def test_early_end_has_a_recording(runner):
    trial = runner.run("0", "fgm", timeout_s=1.0)
    assert trial.outcome is Outcome.TIMED_OUT and trial.failed
    assert trial.recording.time_s[-1] == pytest.approx(1.0)
    assert not trial.score.success and trial.score.remaining_s == pytest.approx(0.0)


def test_start_and_goals_replace_those_of_the_campaign(runner):
    start, goal = Pose2D(-3.0, -2.0, 0.0), Pose2D(-1.0, -2.0, 0.0)
    trial = runner.run("0", "straight", start=start, goals=[goal])
    assert trial.recording.pose[0] == pytest.approx([-3.0, -2.0, 0.0])
    assert trial.outcome is Outcome.REACHED
    x_m, y_m, *_ = runner.worlds[0].obstacles[0].pose
    with pytest.raises(SpecError, match=r"goal.*inside obstacle_"):
        runner.run("0", "straight", goals=[Pose2D(x_m, y_m, 0.0)])


@pytest.mark.slow
def test_omitted_entries_do_not_exist_in_the_trial(noisy):
    with TrialRunner(noisy) as runner:
        trial = runner.run("0", "fgm", without=["walker", "noise"], timeout_s=2.0)
        assert not any(name.startswith("actor_") for name in trial.recording.series)
        assert not any("noise" in name for name in trial.metrics)
        with pytest.raises(SpecError, match=r"'walkers'.*'walker'"):
            runner.run("0", "fgm", without=["walkers"])


@pytest.mark.parametrize(("world", "planner"), [("world_0007", "fgm"), ("0", "fmg")])
def test_unknown_name_is_rejected(runner, world, planner):
    with pytest.raises(SpecError, match=world if planner == "fgm" else r"'fmg'.*'fgm'"):
        runner.run(world, planner)


def test_invalid_trial_is_repeated_in_a_new_simulator(runner, monkeypatch):
    calls = []
    execute = LockstepExecutor.execute

    def failing(self, trial, should_stop):
        calls.append(trial.seed)
        if len(calls) < 3:
            raise SimulatorError("the simulator died")
        return execute(self, trial, should_stop)

    monkeypatch.setattr(LockstepExecutor, "execute", failing)
    assert runner.run("0", "straight", timeout_s=0.5).outcome is Outcome.TIMED_OUT
    assert len(calls) == 3 and len(set(calls)) == 1
    calls.clear()
    monkeypatch.setattr(LockstepExecutor, "execute", lambda *_: (_ for _ in ()).throw(failed))
    failed = SimulatorError("it died again")
    with pytest.raises(SimulatorError, match="it died again"):
        runner.run("1", "straight", timeout_s=0.5)


def test_trial_with_an_impossible_scene_is_not_repeated(runner, monkeypatch):
    calls = []

    def failing(self, trial, should_stop):
        calls.append(trial)
        raise SceneError("the robot fell")

    monkeypatch.setattr(LockstepExecutor, "execute", failing)
    with pytest.raises(SceneError):
        runner.run("1", "straight", timeout_s=0.4)
    assert len(calls) == 1


def test_bounds_of_the_static_map_can_be_given(smoke):
    plan = {"bounds_m": [-4.0, -4.0, 4.0, 4.0]}
    with TrialRunner(changed(smoke, global_plan=plan)) as runner:
        assert runner.run("0", "fgm", timeout_s=0.5).outcome is Outcome.TIMED_OUT
    for x_max in (2, 3):
        with TrialRunner(
            changed(smoke, global_plan={"bounds_m": [-4, -4, x_max, 4]})
        ) as runner, pytest.raises(SpecError, match=r"global_plan.bounds_m.*goal \(3, 0\)"):
            runner.run("0", "fgm")
    with pytest.raises(ValueError, match="x_min < x_max"):
        changed(smoke, global_plan={"bounds_m": [4, -4, -4, 4]})
