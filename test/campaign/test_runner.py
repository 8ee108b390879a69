import functools
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from scripted import ScriptedExecutor

from gz_testauto.base import disk
from gz_testauto.base.errors import (
    LostTrialsError,
    NavigatorError,
    ResultsError,
    SceneError,
    SimulatorError,
    SpecError,
)
from gz_testauto.campaign import resume, world_source
from gz_testauto.campaign.progress import CampaignListener
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.results import inputs
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore
from gz_testauto.trial.executor import TrialStopped
from gz_testauto.trial.outcome import Outcome
from gz_testauto.trial.plan import TrialSelection
from gz_testauto.workers.interface import Attempt, OneWorker

CONFIG = Path(__file__).resolve().parents[2] / "config"

ALL = [
    "world_0000--straight--0",
    "world_0000--fgm--0",
    "world_0001--straight--0",
    "world_0001--fgm--0",
]


def changed(spec, **changes):
    return spec.model_copy(update=changes)


def test_every_trial_runs_once_in_order_and_is_stored(run):
    ran = run()
    assert ran.executor.executed == ALL
    assert ran.executor.calls == ["open", "close"]
    assert [record.outcome for record in ran.results.trials] == [Outcome.REACHED] * 4
    assert ran.results.trials[0].metrics["distance_m"] == pytest.approx(1.9)
    assert ran.results.trials[0].metrics["spl"] == pytest.approx(1.0)


def test_finished_campaign_starts_no_simulator_and_repeats_no_trial(run):
    store = run().out / "results.sqlite"
    changed_ns = store.stat().st_mtime_ns
    again = run()
    assert again.executor.executed == []
    assert again.executor.calls == []
    assert len(again.results.trials) == 4
    assert store.stat().st_mtime_ns == changed_ns


def test_exception_loses_only_the_running_trial(run):
    def script(trial):
        return ZeroDivisionError("bug") if trial.index == 2 else Outcome.REACHED

    with pytest.raises(ZeroDivisionError):
        run(script)
    assert run().executor.executed == ALL[2:]


def test_stop_abandons_the_running_trial_and_resume_repeats_it(run):
    stopped = run(lambda trial: TrialStopped() if trial.index == 1 else Outcome.REACHED)
    assert stopped.executor.calls == ["open", "close"]
    assert len(stopped.results.trials) == 1
    assert run().executor.executed == ALL[1:]


def test_stop_between_trials_ends_the_campaign(run):
    executed = []
    stopped = run(
        lambda trial: executed.append(trial) or Outcome.REACHED,
        should_stop=lambda: len(executed) == 3,
    )
    assert len(stopped.results.trials) == 3


def test_failure_caused_by_a_stop_is_not_counted_as_an_attempt(run):
    asked = []
    stopped = run(
        lambda trial: asked.append(1) or SimulatorError("killed with us"),
        should_stop=lambda: bool(asked),
    )
    assert stopped.results.trials == ()
    assert stopped.results.invalid_attempts == ()


@pytest.mark.parametrize("error", [SimulatorError("gzserver died"), NavigatorError("no server")])
def test_invalid_trial_is_repeated_after_the_simulator_restarts(run, error):
    failures = [error]

    def script(trial):
        return failures.pop() if trial.index == 1 and failures else Outcome.COLLIDED

    ran = run(script)
    assert ran.executor.executed == [ALL[0], ALL[1], ALL[1], ALL[2], ALL[3]]
    assert ran.executor.calls == ["open", "recover", "close"]
    assert [record.attempts for record in ran.results.trials] == [1, 2, 1, 1]
    assert [a.cause for a in ran.results.invalid_attempts] == [str(error)]


def test_trial_that_is_never_valid_is_abandoned_and_others_continue(run):
    ran = run(lambda trial: SimulatorError("bad world") if trial.index == 1 else Outcome.STUCK)
    record = ran.results.trials[1]
    assert (record.outcome, record.attempts, record.detail) == (Outcome.INVALID, 3, "bad world")
    assert record.trajectory == ""
    assert len(ran.results.trials) == 4
    assert len(ran.results.invalid_attempts) == 3
    assert run().executor.executed == []


def test_faulty_scene_in_the_first_trial_does_not_end_the_campaign(run):
    ran = run(lambda trial: SceneError("a shelf flew") if trial.index < 2 else Outcome.STUCK)
    assert ran.executor.executed == ALL
    outcomes = [record.outcome for record in ran.results.trials]
    assert outcomes == [Outcome.INVALID] * 2 + [Outcome.STUCK] * 2


def test_faulty_scene_is_abandoned_after_one_attempt(run):
    ran = run(lambda trial: SceneError("a shelf flew") if trial.index == 1 else Outcome.STUCK)
    assert ran.executor.executed == ALL
    record = ran.results.trials[1]
    assert (record.outcome, record.attempts, record.detail) == (Outcome.INVALID, 1, "a shelf flew")


def test_failed_simulator_restart_ends_the_campaign_and_keeps_the_attempts(smoke, tmp_path, run):
    class Unrecoverable(ScriptedExecutor):
        def recover(self):
            raise SimulatorError("gzserver does not start")

    executor = Unrecoverable(lambda trial: SimulatorError("died"))
    with pytest.raises(SimulatorError, match="does not start"):
        run_campaign(smoke, tmp_path / "out", lambda campaign: executor)
    assert executor.calls == ["open", "close"]
    again = run(lambda trial: SimulatorError("died again") if trial.index == 0 else Outcome.STUCK)
    assert [a.attempt for a in again.results.invalid_attempts] == [1, 2, 3]


def lost(trial):
    return SimulatorError("no plugin libx.so")


def in_trial_1(answer):
    return lambda trial: answer(trial) if trial.index == 1 else Outcome.REACHED


def test_campaign_stops_if_all_attempts_of_the_first_trial_fail_equally(smoke, tmp_path):
    executor = ScriptedExecutor(lambda trial: SimulatorError(f"no clock after {time.time()} s"))
    with pytest.raises(LostTrialsError, match=r"world_0000 straight .* no clock after"):
        run_campaign(smoke, tmp_path / "out", lambda campaign: executor)
    assert executor.executed == ALL[:1] * 3
    assert executor.calls[-1] == "close"


def test_campaign_continues_while_invalid_attempts_have_different_causes(run):
    causes = iter("abc")
    ran = run(lambda trial: SimulatorError(next(causes)) if trial.index == 0 else Outcome.STUCK)
    assert [record.outcome.valid for record in ran.results.trials] == [False, True, True, True]


def test_invalid_trials_are_repeated_while_no_trial_is_valid(run):
    with pytest.raises(LostTrialsError):
        run(lost)
    mended = run()
    assert mended.executor.executed == ALL
    assert [record.outcome for record in mended.results.trials] == [Outcome.REACHED] * 4
    assert mended.results.trials[0].attempts == 4


@pytest.mark.slow
def test_directory_without_valid_trials_accepts_a_different_campaign(run, smoke):
    with pytest.raises(LostTrialsError):
        run(lost)
    ran = run(spec=changed(smoke, seed=99))
    assert ran.executor.executed == ALL
    assert [record.attempts for record in ran.results.trials] == [1, 1, 1, 1]


def test_different_simulator_can_resume_a_campaign_without_valid_trials(run):
    with pytest.raises(LostTrialsError):
        run(lost)
    assert run(version="2").executor.executed == ALL


def test_retry_invalid_repeats_an_abandoned_trial(run):
    run(in_trial_1(lost))
    again = run(retry_invalid=True)
    assert again.executor.executed == ALL[1:2]
    assert again.results.invalid == ()
    assert again.results.trials[1].attempts == 4
    assert (again.out / "campaign.log").read_text().count("Simulation Started!") == 4
    assert (again.out / "trajectories" / f"{ALL[1]}.npz").is_file()


def test_trial_that_fails_again_after_retry_invalid_stays_invalid(run):
    run(in_trial_1(lost))
    again = run(in_trial_1(lost), retry_invalid=True)
    assert again.executor.executed == ALL[1:2] * 3
    assert [record.attempts for record in again.results.invalid] == [6]
    assert run().executor.executed == []


def test_higher_max_attempts_resumes_abandoned_trials(run, smoke):
    run(in_trial_1(lost))
    patient = changed(smoke, limits=changed(smoke.limits, max_attempts=4))
    again = run(spec=patient)
    assert again.executor.executed == ALL[1:2]
    assert again.results.trials[1].attempts == 4


class Mortal(OneWorker):
    """Dies at ``trial``, so many times."""

    def __init__(self, make_executor, campaign, trial, times):
        super().__init__(make_executor, campaign)
        self._trial, self._times = trial, times

    def next_ended(self, should_stop):
        trial = self._begun[-1]
        if trial.index == self._trial and self._times:
            self._begun.pop()
            self._times -= 1
            return Attempt(trial, 0.0, cause="the worker died", worker_died=True)
        return super().next_ended(should_stop)


def dying(trial, times):
    return functools.partial(Mortal, trial=trial, times=times)


def test_deaths_of_workers_do_not_count_as_attempts(run):
    ran = run(make_workers=dying(trial=0, times=5))
    assert [record.outcome for record in ran.results.trials] == [Outcome.REACHED] * 4
    assert ran.results.invalid_attempts == ()
    assert [death.attempt for death in ran.results.worker_deaths] == [1, 2, 3, 4, 5]
    assert ran.results.trials[0].attempts == 6
    assert ran.executor.executed == [*ALL[1:], ALL[0]], "others come first"


def test_trial_that_kills_every_worker_is_abandoned_and_repeated_on_request(run):
    ran = run(make_workers=dying(trial=2, times=10))
    assert [record.trial for record in ran.results.invalid] == [2]
    assert ran.results.invalid[0].detail == "the worker died"
    assert run().executor.executed == []
    assert run(retry_invalid=True).results.invalid == ()


def test_number_of_worker_deaths_is_kept_when_the_runner_restarts(run):
    with pytest.raises(ZeroDivisionError):
        run(
            lambda trial: Outcome.REACHED if trial.index else ZeroDivisionError(),
            make_workers=dying(trial=0, times=4),
        )
    ran = run(make_workers=dying(trial=0, times=9))
    assert len(ran.results.worker_deaths) == 10
    assert [record.trial for record in ran.results.invalid] == [0]


def test_resumed_campaign_adds_the_missing_trial_to_the_log(run):
    log = run().out / "campaign.log"
    whole = log.read_text()
    log.write_text(whole[: whole.rindex("# fgm")])
    run()
    assert log.read_text() == whole


def test_part_of_a_campaign_can_run_first_and_the_rest_later(run):
    first = run(selection=TrialSelection(worlds=1, planners=("fgm",)))
    assert first.executor.executed == ["world_0000--fgm--0"]
    assert first.results.planned == 4
    rest = run()
    assert rest.executor.executed == [label for label in ALL if label != "world_0000--fgm--0"]


def test_results_of_a_different_campaign_are_rejected_with_the_difference(run, smoke):
    run()
    goal = changed(smoke.goal, x_m=2.5)
    with pytest.raises(ResultsError, match=r"goal\.x_m is 2\.5, was 3\.0"):
        run(spec=changed(smoke, goal=goal))
    assert len(run().results.trials) == 4


def test_changed_max_attempts_and_model_path_continue_the_same_campaign(run, smoke, tmp_path):
    run(selection=TrialSelection(worlds=1))
    moved = tmp_path / "moved.sdf"
    shutil.copy(smoke.robot.model, moved)
    patient = changed(
        smoke,
        limits=changed(smoke.limits, max_attempts=7),
        robot=changed(smoke.robot, model=moved),
    )
    assert run(spec=patient).executor.executed == ALL[2:]


def test_changed_robot_model_with_the_same_name_is_rejected(run, smoke, tmp_path):
    run()
    other = tmp_path / "model.sdf"
    other.write_text(Path(smoke.robot.model).read_text() + "<!-- wider -->")
    with pytest.raises(ResultsError, match=r"robot\.model is sha256"):
        run(spec=changed(smoke, robot=changed(smoke.robot, model=other)))


def test_count_of_invalid_attempts_continues_after_the_runner_is_killed(run):
    failures = [ZeroDivisionError("killed"), SimulatorError("a"), SimulatorError("b")]
    with pytest.raises(ZeroDivisionError):
        run(lambda trial: failures.pop())
    again = run(lambda trial: SimulatorError("c") if trial.index == 0 else Outcome.REACHED)
    assert [attempt.cause for attempt in again.results.invalid_attempts] == ["b", "a", "c"]
    assert again.executor.executed == ALL


def test_worlds_are_not_generated_again_after_the_runner_is_killed(run, monkeypatch):
    with pytest.raises(ZeroDivisionError):
        run(lambda trial: ZeroDivisionError("killed"))
    monkeypatch.setattr(world_source.WorldRecipe, "generator", None)
    assert run().executor.executed == ALL


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_only_the_worlds_of_selected_trials_are_generated(run, smoke, tmp_path):
    ran = run(selection=TrialSelection(worlds=1))
    assert {world.name for world in ran.results.worlds} == {"world_0000"}
    assert files_of(ran.out / "worlds").keys() == {"world_0000.world", "worlds.json"}
    assert ran.results.planned == len(ALL)
    first_file = (ran.out / "worlds" / "world_0000.world").stat()
    resumed = run()
    assert resumed.executor.executed == ALL[2:]
    assert (ran.out / "worlds" / "world_0000.world").stat() == first_file
    run_campaign(smoke, tmp_path / "at_once", lambda _: resumed.executor)
    assert files_of(ran.out / "worlds") == files_of(tmp_path / "at_once" / "worlds")
    assert run(selection=TrialSelection(worlds=1)).results.worlds == resumed.results.worlds


@pytest.mark.parametrize("stop_at_call", [2, 3, 4])
def test_a_stop_during_the_preparation_of_the_base_world_generates_no_world(run, stop_at_call):
    calls = []
    stopped = run(should_stop=lambda: calls.append(1) or len(calls) >= stop_at_call)
    assert (stopped.results.worlds, stopped.results.trials) == ((), ())
    assert files_of(stopped.out / "worlds") == {}
    assert stopped.executor.calls == []
    assert run().executor.executed == ALL


def test_a_stop_ends_the_generation_of_worlds_which_then_continues(run, tmp_path):
    stopped = run(should_stop=lambda: any(tmp_path.rglob("world_0000.world")))
    assert len(stopped.results.worlds) == 1
    assert (stopped.results.trials, stopped.results.planned) == ((), len(ALL))
    assert stopped.executor.calls == []
    assert run().executor.executed == ALL


@pytest.mark.parametrize("killed_at", [0, 1])
def test_worlds_are_complete_after_the_runner_was_killed_during_their_generation(
    run, smoke, tmp_path, monkeypatch, killed_at
):
    whole = world_source.WorldRecipe.generator

    def generator(recipe, before_step):
        worlds = whole(recipe, before_step)
        generate = worlds.generate

        def killed(index, directory):
            record = generate(index, directory)
            if index == killed_at:
                raise KeyboardInterrupt
            return record

        worlds.generate = killed
        return worlds

    monkeypatch.setattr(world_source.WorldRecipe, "generator", generator)
    with pytest.raises(KeyboardInterrupt):
        run()
    monkeypatch.undo()
    ran = run()
    assert ran.executor.executed == ALL
    run_campaign(smoke, tmp_path / "at_once", lambda _: ran.executor)
    assert files_of(ran.out / "worlds") == files_of(tmp_path / "at_once" / "worlds")


def test_worlds_of_other_inputs_are_not_continued(run):
    manifest = run(selection=TrialSelection(worlds=1)).out / "worlds" / "worlds.json"
    content = json.loads(manifest.read_text())
    content["inputs"]["versions"]["geos"] = "3.0.0"
    manifest.write_text(json.dumps(content))
    with pytest.raises(ResultsError, match=r"first 1 worlds .* other inputs \(versions\)"):
        run()
    assert run(selection=TrialSelection(worlds=1)).executor.executed == []


def test_files_of_others_in_the_folder_of_worlds_are_not_replaced(run, tmp_path):
    folder = run(selection=TrialSelection(worlds=1)).out / "worlds"
    shutil.rmtree(folder)
    folder.mkdir()
    (folder / "world_0001.world").write_text("mine")
    with pytest.raises(ResultsError, match=r"no worlds\.json \(world_0001\.world\)"):
        run()
    assert (folder / "world_0001.world").read_text() == "mine"


@pytest.mark.parametrize("empty", [True, False])
@pytest.mark.parametrize("seed", [1, 99])
def test_lost_database_does_not_remove_trajectories(run, smoke, empty, seed):
    ran = run()
    database, trajectories = ran.out / "results.sqlite", ran.out / "trajectories"
    database.unlink()
    if empty:
        database.touch()
    with pytest.raises(ResultsError, match=r"results\.sqlite.*empty.*trajectories.* 4 "):
        run(spec=changed(smoke, seed=seed))
    assert len(list(trajectories.glob("*.npz"))) == 4
    shutil.rmtree(trajectories)  # as the message says
    assert run(spec=changed(smoke, seed=seed)).executor.executed == ALL


def test_old_database_does_not_remove_trajectories(run, smoke):
    database = run().out / "results.sqlite"
    with sqlite3.connect(database) as connection:
        connection.execute("DELETE FROM trials")
        connection.execute("DELETE FROM metrics")
    connection.close()
    with pytest.raises(ResultsError, match=r"results\.sqlite.*no valid trial.*trajectories.* 4 "):
        run(spec=changed(smoke, seed=99))
    assert run().executor.executed == ALL


def test_damaged_world_is_reported_with_its_file_and_a_remedy(run):
    out = run(selection=TrialSelection(planners=("fgm",))).out
    (out / "worlds" / "world_0001.world").write_text("<sdf")
    with pytest.raises(ResultsError, match=r"remove that folder.*world_0001\.world"):
        run()
    shutil.rmtree(out / "worlds")
    assert run().executor.executed == [label for label in ALL if "fgm" not in label]


def test_partial_files_of_a_killed_runner_are_removed(run):
    out = run(selection=TrialSelection(worlds=1)).out
    for name in (
        "trajectories/a.npz.partial",
        "campaign.log.partial",
        ".worlds.x/world_0000.world",
    ):
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).write_text("half")
    run()
    assert not [path for path in out.rglob("*") if "partial" in path.name or ".worlds" in path.name]


def test_campaign_without_a_valid_trial_can_be_changed(run, smoke):
    run(lambda trial: TrialStopped())
    ran = run(spec=changed(smoke, seed=99))
    assert ran.executor.executed == ALL
    manifest = json.loads((ran.out / "manifest.json").read_text())
    assert manifest["seed"] == 99


def test_different_version_of_the_simulator_is_rejected(run):
    run(selection=TrialSelection(worlds=1))
    with pytest.raises(ResultsError, match="scripted 1, not scripted 2"):
        run(version="2")


def test_world_that_changed_between_two_runs_is_reported(run):
    ran = run(selection=TrialSelection(worlds=1))
    world = ran.out / "worlds" / "world_0000.world"
    world.write_text(world.read_text() + "<!-- moved a box -->")
    with pytest.raises(Exception, match=r"world_0000\.world"):
        run()


def test_resume_rejects_a_new_directory(run):
    with pytest.raises(ResultsError, match="the directory does not exist"):
        run(resume=True)
    run(selection=TrialSelection(worlds=1))
    assert run(resume=True).executor.executed == ALL[2:]


def test_directory_with_other_files_is_rejected_and_not_changed(run, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("precious")
    with pytest.raises(ResultsError, match=r"thesis\.tex"):
        run()
    assert (tmp_path / "out" / "thesis.tex").read_text() == "precious"


def test_log_contains_each_trial_once_after_a_crash(run):
    with pytest.raises(ZeroDivisionError):
        run(lambda trial: ZeroDivisionError() if trial.index == 2 else Outcome.REACHED)
    ran = run()
    text = (ran.out / "campaign.log").read_text()
    assert text.count("Simulation Started!") == text.count("Goal Reached!") == 4


def test_manifest_contains_versions_seed_and_every_input(run):
    manifest = json.loads((run().out / "manifest.json").read_text())
    assert manifest["simulator"] == {"name": "scripted", "version": "1"}
    assert manifest["seed"] == 1
    assert manifest["inputs"]["robot.model"].startswith("sha256:")
    assert manifest["inputs"]["worlds.base"].startswith("sha256:")
    assert set(manifest["libraries"]) >= {"numpy", "shapely"}
    assert manifest["python"]


def test_listeners_receive_every_trial_and_the_remaining_time(run):
    heard = []

    class Listener(CampaignListener):
        def began(self, progress):
            heard.append(("began", progress.done, progress.total, progress.remaining_s))

        def trial_ended(self, record, progress):
            heard.append((record.world, progress.done))
            assert progress.remaining_s is not None

        def ended(self, progress):
            heard.append(("ended", progress.done))

    run(selection=TrialSelection(worlds=1))
    run(listener=Listener())
    assert heard == [
        ("began", 2, 4, None),
        ("world_0001", 3),
        ("world_0001", 4),
        ("ended", 4),
    ]


KILLED = """
import os, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from scripted import ScriptedExecutor
from gz_testauto.trial.outcome import Outcome
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load
def script(trial):
    if trial.index == {index}:
        os.kill(os.getpid(), 9)
    return Outcome.REACHED
run_campaign(load(Path({config!r}) / "smoke_campaign.yaml", CampaignSpec), Path({out!r}),
             lambda campaign: ScriptedExecutor(script))
"""


@pytest.mark.slow
def test_killed_runner_continues_with_the_interrupted_trial(run, tmp_path):
    out = tmp_path / "out"
    script = KILLED.format(
        tests=str(Path(__file__).parents[1]), config=str(CONFIG), index=2, out=str(out)
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    assert run().executor.executed == ALL[2:]
    with ResultStore.read(CampaignDirectory(out)) as store:
        assert [record.trial for record in store.results().trials] == [0, 1, 2, 3]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_full_disk_is_reported_and_damages_no_results(run, monkeypatch, tmp_path):
    run(selection=TrialSelection(worlds=1))
    real_open = open

    def full(path, mode="r", *rest, **options):
        if str(path).endswith(".npz.partial"):
            return real_open("/dev/full", mode)
        return real_open(path, mode, *rest, **options)

    monkeypatch.setattr(disk, "open", full, raising=False)
    with pytest.raises(ResultsError, match="no space left"):
        run()
    monkeypatch.undo()
    assert not list((tmp_path / "out" / "trajectories").glob("*.partial"))
    assert run().executor.executed == ALL[2:]


def test_campaign_does_not_continue_with_changed_planner_code(run, monkeypatch):
    run(selection=TrialSelection(worlds=1))
    monkeypatch.setattr(inputs.inspect, "getsourcefile", lambda plugin: __file__)
    with pytest.raises(ResultsError, match=r"code of planner fgm is sha256"):
        run()


def test_campaign_does_not_continue_with_a_changed_module_of_a_planner(run, monkeypatch, tmp_path):
    helper = tmp_path / "geometry.py"
    helper.write_text("A = 1")
    monkeypatch.setattr(inputs, "modules_of", lambda plugin: {"my_pkg.geometry": helper})
    run(selection=TrialSelection(worlds=1))
    helper.write_text("A = 2")
    with pytest.raises(ResultsError, match=r"planner fgm, module my_pkg\.geometry is sha256"):
        run()


def test_results_without_modules_of_planners_are_continued(run, monkeypatch):
    """Earlier versions stored only the hash of the planner's module."""
    with monkeypatch.context() as earlier:
        earlier.setattr(inputs, "modules_of", lambda plugin: {})
        run(selection=TrialSelection(worlds=1))
    assert run().executor.executed == ALL[2:]


def test_stop_during_the_start_of_the_simulator_is_not_an_error(smoke, tmp_path):
    class Starting(ScriptedExecutor):
        def open(self):
            raise TrialStopped

    executor = Starting()
    results = run_campaign(smoke, tmp_path / "out", lambda campaign: executor)
    assert results.trials == ()
    assert executor.calls == ["close"]


def test_second_ctrl_c_while_the_simulator_is_closed_does_not_prevent_its_closing(smoke, tmp_path):
    class Interrupted(ScriptedExecutor):
        def close(self):
            super().close()
            if self.calls.count("close") == 1:
                raise KeyboardInterrupt

    executor = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        run_campaign(smoke, tmp_path / "out", lambda campaign: executor)
    assert executor.calls == ["open", "close", "close"]


@pytest.mark.parametrize("place", ["write_atomically", "gather_worlds", "bed_of"])
def test_campaign_resumes_if_the_runner_was_killed_during_its_start(run, monkeypatch, place):
    def killed(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(resume, place, killed)
    with pytest.raises(KeyboardInterrupt):
        run()
    monkeypatch.undo()
    assert run().executor.executed == ALL


def test_results_contain_the_smallest_relevant_differences_of_the_campaign(run, smoke):
    metrics = changed(smoke.metrics, smallest_relevant={"success": 0.1, "time_s": 5.0})
    results = run(spec=changed(smoke, metrics=metrics)).results
    known = {one.name: one.smallest_relevant for one in results.metrics}
    assert (results.relevant_success, known["time_s"], known["spl"]) == (0.1, 5.0, 0.05)


def test_smallest_relevant_difference_of_an_unknown_metric_is_rejected(run, smoke):
    metrics = changed(smoke.metrics, smallest_relevant={"times_s": 5.0})
    with pytest.raises(SpecError, match=r"smallest_relevant: .*'times_s'; did you mean 'time_s'"):
        run(spec=changed(smoke, metrics=metrics))
