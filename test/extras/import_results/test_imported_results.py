"""Results of other programs, written as a results directory."""

import hashlib

import pytest

from gz_testauto.base.errors import ResultsError
from gz_testauto.extras.import_results.imported import TrialRow, TrialTable, write_imported
from gz_testauto.metrics.interface import Metric, builtin_metrics
from gz_testauto.results.store import load_campaign
from gz_testauto.trial.outcome import Outcome

NOISE = Metric(name="noise", better="lower", completed_only=False, description="of the motors")


def row(world, planner, repetition, outcome=Outcome.REACHED, detail="", **metrics):
    return TrialRow(world, planner, repetition, outcome, detail, metrics)


ROWS = (
    row("b", "teb", 1, distance_m=2.0),
    row("a", "dwa", 0, Outcome.INVALID, "no map"),
    row("b", "teb", 0, noise=3.0),
    row("a", "teb", 0, Outcome.INVALID),
    row("b", "dwa", 0, Outcome.COLLIDED, "a wall"),
)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "trials.csv"
    path.write_text("world\n")
    return path


def written(source, rows=ROWS, **options):
    out = source.with_name("out")
    write_imported(TrialTable(tuple(rows), ()), source, out, name="imported", **options)
    return load_campaign(out)


def test_trials_are_sorted_by_world_and_repetition(source):
    results = written(source).results
    assert [(one.trial, one.world, one.planner, one.repetition) for one in results.trials] == [
        (0, "b", "teb", 0), (1, "b", "dwa", 0), (2, "b", "teb", 1),
        (3, "a", "dwa", 0), (4, "a", "teb", 0),
    ]  # fmt: skip
    assert [one.world_index for one in results.trials] == [0, 0, 0, 1, 1]
    assert results.planners == ("teb", "dwa")
    assert (results.planned, results.name) == (5, "imported")
    assert [(world.world_index, world.name) for world in results.worlds] == [(0, "b"), (1, "a")]
    first, second = results.trials[:2]
    assert (first.attempts, first.wall_s, first.seed, first.trajectory) == (1, 0.0, 0, "")
    assert (second.outcome, second.detail) == (Outcome.COLLIDED, "a wall")


def test_an_invalid_trial_has_one_invalid_attempt_with_its_detail_as_the_cause(source):
    results = written(source).results
    first, second = results.invalid_attempts
    assert (first.trial, first.attempt, first.cause, first.wall_s) == (3, 1, "no map", 0.0)
    assert (second.trial, second.attempt) == (4, 1)
    assert second.cause
    assert first.finished_at == results.trials[3].finished_at
    assert results.worker_deaths == ()


def test_metrics_of_the_caller_are_declared_after_those_of_the_package(source):
    results = written(source, metrics=[NOISE]).results
    assert results.declared == (*builtin_metrics(), NOISE)
    assert [dict(one.metrics) for one in results.trials] == [
        {"noise": 3.0}, {}, {"distance_m": 2.0}, {}, {}
    ]  # fmt: skip


def test_the_simulator_is_stored_only_if_it_is_specified(source):
    loaded = written(source, simulator="stage")
    assert (loaded.manifest.simulator, loaded.manifest.is_imported) == ("stage", True)
    assert loaded.label == "out"
    assert load_campaign(source.with_name("out"), "mine").label == "mine"


def test_hashes_of_the_worlds_are_stored_if_their_folder_is_specified(source, tmp_path):
    (tmp_path / "worlds").mkdir()
    for name in "ab":
        (tmp_path / "worlds" / f"{name}.world").write_text(name)
    found = written(source, world_files=tmp_path / "worlds").results.worlds
    assert [world.sha256 for world in found] == [
        hashlib.sha256(name.encode()).hexdigest() for name in "ba"
    ]
    assert found[0].path == tmp_path / "worlds" / "b.world"


def test_a_world_without_a_folder_has_no_hash_and_can_have_any_name(source):
    (world,) = written(source, [row("maps/a", "teb", 0)]).results.worlds
    assert (world.name, world.sha256, str(world.path)) == ("maps/a", "", "maps/a.world")


@pytest.mark.parametrize("name", ["../a", "maps/a", "c"])
def test_a_world_that_is_not_a_file_of_the_folder_is_rejected_and_nothing_is_written(
    source, tmp_path, name
):
    (tmp_path / "worlds" / "maps").mkdir(parents=True)
    for path in ("a.world", "worlds/maps/a.world"):
        (tmp_path / path).write_text("a")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(ResultsError):
        written(source, [row(name, "teb", 0)], world_files=tmp_path / "worlds")
    assert sorted(tmp_path.iterdir()) == before


def test_only_a_new_or_empty_directory_is_written(source, tmp_path):
    out = tmp_path / "out"
    out.write_text("file")
    with pytest.raises(ResultsError):
        written(source)
    out.unlink()
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    with pytest.raises(ResultsError):
        written(source)
    assert [entry.name for entry in out.iterdir()] == ["notes.txt"]
    (out / "notes.txt").unlink()
    assert written(source).results.planned == 5
    with pytest.raises(ResultsError):
        written(source)


def test_files_of_an_interrupted_import_are_replaced(source, tmp_path):
    remains = tmp_path / ".out.importing"
    remains.mkdir()
    (remains / "results.sqlite").write_text("half")
    assert len(written(source).results.trials) == 5
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["out", "trials.csv"]


def test_a_failed_import_leaves_no_file(source, tmp_path):
    with pytest.raises(ResultsError):
        written(source, [row("a", "teb", 0), row("a", "teb", 0)])
    assert [entry.name for entry in tmp_path.iterdir()] == ["trials.csv"]
