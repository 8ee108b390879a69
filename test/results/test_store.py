import math
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scripted import record

from gz_testauto.base.errors import ResultsError
from gz_testauto.metrics.interface import RELEVANT_SUCCESS, Metric, builtin_metrics
from gz_testauto.metrics.recording import ContactEpisode, Recording
from gz_testauto.results.directory import CampaignDirectory, write_atomically
from gz_testauto.results.records import AttemptRecord
from gz_testauto.results.store import ResultStore
from gz_testauto.trial.outcome import Outcome
from gz_testauto.worlds.record import WorldRecord


def recording(rows=5):
    generator = np.random.default_rng(rows)
    return Recording(
        time_s=0.1 * np.arange(rows),
        pose=generator.normal(size=(rows, 3)),
        twist=generator.normal(size=(rows, 3)),
        command=np.full((rows, 2), np.nan),
        clearance_m=generator.uniform(size=rows),
        cycle_time_s=generator.uniform(size=rows - 1),
        cycle_cpu_s=generator.uniform(size=rows - 1),
        contacts=(ContactEpisode(0.2, 0.3, "größe::box", 0.5, "geometry"),),
        wall_time_s=0.7,
        completed=False,
        shortest_path_m=None,
    )


@pytest.fixture
def directory(tmp_path):
    directory = CampaignDirectory(tmp_path / "out")
    directory.path.mkdir()
    directory.manifest.write_text("{}")
    return directory


@pytest.fixture
def store(directory):
    worlds = [WorldRecord(0, "world_0000", "/w/world_0000.world", "abc", 33.5)]
    with ResultStore.create(directory, "test", ["fgm", "dwa"], worlds, planned=4) as store:
        yield store


def test_a_finished_trial_is_read_back_with_its_trajectory(store, directory):
    store.finish(record(), recording())
    with ResultStore.read(directory) as reader:
        results = reader.results()
        (found,) = results.trials
        assert found.metrics["distance_m"] == 3.25
        assert math.isnan(found.metrics["spl"])
        assert (found.outcome, found.detail) == (Outcome.COLLIDED, "touched a box")
        back, original = reader.trajectory(found), recording()
    for name in ("time_s", "pose", "twist", "command", "clearance_m", "cycle_time_s"):
        assert np.array_equal(getattr(back, name), getattr(original, name), equal_nan=True)
    assert back.contacts == original.contacts or vars(back.contacts[0]) == vars(
        original.contacts[0]
    )
    assert back.shortest_path_m is None
    assert results.planners == ("fgm", "dwa")
    assert results.worlds[0].shortest_path_m == 33.5
    assert results.planned == 4


def test_a_trial_is_stored_once(store):
    store.finish(record(), recording())
    with pytest.raises(ResultsError):
        store.finish(record(), recording())
    assert [trial.trial for trial in store.results().trials] == [0]


def test_a_trial_that_fails_to_be_stored_leaves_nothing_behind(store):
    with pytest.raises(ResultsError):
        store.finish(record(metrics={"distance_m": 1.0, "bad": 2.0}, world=None))
    store.finish(record(), recording())
    assert store.results().trials[0].metrics.keys() == {"distance_m", "spl"}


def test_invalid_attempts_keep_their_causes(store):
    store.add_invalid_attempt(AttemptRecord(2, 1, "gzserver died", 3.0, "then"))
    store.add_invalid_attempt(AttemptRecord(2, 2, "the clock stood", 3.0, "then"))
    assert [attempt.cause for attempt in store.results().invalid_attempts] == [
        "gzserver died",
        "the clock stood",
    ]


def test_worker_deaths_are_stored_separately_from_invalid_attempts(store):
    store.add_worker_death(AttemptRecord(2, 1, "the worker died", 3.0, "then"))
    results = store.results()
    assert [death.cause for death in results.worker_deaths] == ["the worker died"]
    assert results.invalid_attempts == ()


SWERVES = Metric(
    name="swerves",
    heading="turns",
    unit="1/m",
    shown_unit="1/km",
    shown_factor=1000.0,
    decimals=1,
    better="lower",
    completed_only=False,
    in_table=True,
    in_comparison=True,
    in_agreement=True,
    description="changes of turning side",
    compute=lambda recording, context: 0.0,
)


def test_declarations_of_metrics_are_stored_with_the_results(store, directory):
    store.declare([*builtin_metrics(), SWERVES])
    store.finish(record(metrics={"swerves": 3.0}), recording())
    with ResultStore.read(directory) as reader:
        found = reader.results().metrics
    assert found[-1] == SWERVES
    assert found[-1].compute is None
    assert store.results().trials[0].metrics["swerves"] == 3.0


def test_a_metric_that_is_no_longer_installed_stays_declared(store):
    store.declare([*builtin_metrics(), SWERVES])
    store.declare(builtin_metrics())
    assert store.results().declared == (*builtin_metrics(), SWERVES)
    store.declare([replace(SWERVES, unit="1/s")])
    assert store.results().declared[0].unit == "1/s"
    assert len(store.results().declared) == len(builtin_metrics()) + 1


def test_a_valid_trial_replaces_an_invalid_one(store):
    store.finish(record(outcome=Outcome.INVALID, trajectory="", metrics={}))
    store.finish(record(), recording())
    assert [trial.outcome for trial in store.results().trials] == [Outcome.COLLIDED]


def test_a_reader_may_read_while_a_runner_writes(store, directory):
    store.finish(record(0), recording())
    with ResultStore.read(directory) as reader:
        assert len(reader.results().trials) == 1
        store.finish(record(1, world="world_0000", planner="dwa"), recording())
        assert len(reader.results().trials) == 2


def test_a_reader_cannot_write(store, directory):
    with ResultStore.read(directory) as reader, pytest.raises(ResultsError, match="readonly"):
        reader.finish(record())


def test_a_file_that_is_no_database_is_named(directory):
    directory.results.write_bytes(b"not a database at all" * 100)
    with pytest.raises(ResultsError, match=r"results\.sqlite"):
        ResultStore.open(directory)


def test_a_damaged_trajectory_is_named(store, directory):
    store.finish(record(), recording())
    path = directory.trajectories / record().trajectory
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ResultsError, match=r"world_0000--fgm--0\.npz"):
        store.trajectory(record())


def killed_in_a_transaction(directory):
    """Leave what a writer leaves that is killed when its change is half on the disk."""
    script = f"""
import os, sys
sys.path[:0] = {[str(folder) for folder in Path(__file__).parents[:2]]!r}
from test_store import *
directory = CampaignDirectory({str(directory.path)!r})
store = ResultStore.open(directory)
store._connection.execute("PRAGMA cache_size = 1")
store._connection.execute("BEGIN IMMEDIATE")
store._connection.execute("DELETE FROM trials")
for index in range(2000):
    store._connection.execute("INSERT INTO judged VALUES (?)", (f"{{index}}" + "x" * 100,))
os.kill(os.getpid(), 9)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    assert directory.results.with_name("results.sqlite-journal").exists()


@pytest.mark.slow
def test_a_removed_directory_of_trajectories_is_created_again(store, directory):
    shutil.rmtree(directory.trajectories)
    with pytest.raises(ResultsError, match=r"trajectories/.*does not exist; .*same command again"):
        store.finish(record(), recording())
    store.close()
    with ResultStore.open(directory) as again:
        again.finish(record(), recording())
    assert (directory.trajectories / record().trajectory).is_file()


def test_a_removed_database_is_reported(store, directory):
    directory.results.unlink()
    with pytest.raises(ResultsError, match=r"results\.sqlite: the file was removed; restore it"):
        store.finish(record())


@pytest.mark.slow
def test_a_reader_sees_the_committed_trials_of_a_killed_writer(store, directory):
    store.finish(record(), recording())
    store.close()
    killed_in_a_transaction(directory)
    before = [path.read_bytes() for path in sorted(directory.path.glob("results.sqlite*"))]
    with ResultStore.read(directory) as reader:
        assert [trial.trial for trial in reader.results().trials] == [0]
    assert [path.read_bytes() for path in sorted(directory.path.glob("results.sqlite*"))] == before


def test_a_reader_does_not_roll_back_the_transaction_of_a_running_writer(store, directory):
    store.finish(record(0), recording())
    with store._transaction():
        store._connection.execute("DELETE FROM trials")
        with ResultStore.read(directory) as reader:
            assert [trial.trial for trial in reader.results().trials] == [0]
    assert store.results().trials == ()


@pytest.mark.slow
def test_a_killed_writer_leaves_all_committed_trials_and_no_partial_one(directory):
    script = f"""
import os, sys
sys.path[:0] = {[str(folder) for folder in Path(__file__).parents[:2]]!r}
from test_store import *
from scripted import record
directory = CampaignDirectory({str(directory.path)!r})
worlds = [WorldRecord(0, "world_0000", "/w/world_0000.world", "abc", 33.5)]
store = ResultStore.create(directory, "test", ["fgm"], worlds, planned=4)
store.finish(record(0), recording())
store._connection.execute("BEGIN IMMEDIATE")
store._connection.execute("DELETE FROM trials")
os.kill(os.getpid(), 9)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    with ResultStore.open(directory) as store:
        assert [trial.trial for trial in store.results().trials] == [0]
        assert store.results().trials[0].metrics["distance_m"] == 3.25


def test_one_runner_holds_a_directory(directory):
    script = f"""
from pathlib import Path
from gz_testauto.results.directory import CampaignDirectory
with CampaignDirectory(Path({str(directory.path)!r})).locked():
    print("locked")
"""
    with directory.locked():
        refused = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=False
        )
    assert "another process (" in refused.stderr
    again = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert again.stdout == "locked\n", again.stderr


def test_a_directory_with_foreign_files_is_rejected(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(ResultsError, match=r"thesis\.tex"):
        CampaignDirectory(tmp_path).require_fresh_or_begun()


def test_a_file_is_written_completely_or_not_at_all(tmp_path):
    path = tmp_path / "file"
    write_atomically(path, b"first")
    with pytest.raises(ResultsError, match="cannot be written"):
        write_atomically(tmp_path / "no" / "such" / "file", b"x")
    write_atomically(path, b"second")
    assert path.read_bytes() == b"second"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_smallest_relevant_differences_and_the_normal_factor_are_kept_with_the_results(store):
    results = store.results()
    assert (results.relevant_success, results.normal_real_time_factor) == (RELEVANT_SUCCESS, 1.0)
    store.declare([replace(SWERVES, smallest_relevant=2.0)], 0.1, normal_real_time_factor=0.5)
    results = store.results()
    assert (results.relevant_success, results.normal_real_time_factor) == (0.1, 0.5)
    assert {one.name: one.smallest_relevant for one in results.metrics}["swerves"] == 2.0


def test_selection_is_stated_until_all_planned_trials_are_finished(store):
    store.select("worlds selected with --only")
    store.select("--worlds 2")
    store.select("--worlds 2")
    for number in range(4):
        assert store.results().selection == "worlds selected with --only and --worlds 2"
        store.finish(record(number, world="world_0000", repetition=number))
    assert store.results().selection == ""
