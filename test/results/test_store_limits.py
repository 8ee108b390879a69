"""The store at its limits: no tables yet, several versions, retries, decisions."""

import os
import sqlite3
import struct

import pytest
from scripted import record
from trial_values import trial_value

from gz_testauto.base.errors import ResultsError
from gz_testauto.metrics.interface import RELEVANT_SUCCESS
from gz_testauto.results import schema
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.records import AttemptRecord, TrialRecord
from gz_testauto.results.store import ResultStore, connect
from gz_testauto.spec.campaign import StopSpec
from gz_testauto.trial.outcome import Outcome
from gz_testauto.worlds.record import WorldRecord

WORLDS = [
    WorldRecord(index, f"world_{index:04d}", f"/w/{index}", "", None, {"class": "hard"}, ("mesh",))
    for index in range(3)
]


@pytest.fixture
def directory(tmp_path):
    directory = CampaignDirectory(tmp_path / "out")
    directory.path.mkdir()
    directory.manifest.write_text("{}")
    return directory


@pytest.fixture
def store(directory):
    with ResultStore.create(directory, "test", ["fgm"], WORLDS, planned=3) as store:
        yield store


def test_a_new_store_has_no_results(store):
    results = store.results()
    assert (results.name, results.planned, results.planners) == ("test", 3, ("fgm",))
    assert results.trials == results.judged == results.invalid == ()
    assert (results.stop, results.running) == (None, None)
    assert results.relevant_success == RELEVANT_SUCCESS
    assert store.worlds() == results.worlds
    assert [world.missing for world in store.worlds()] == [("mesh",)] * 3
    assert store.worlds()[2].published == {"class": "hard"}
    assert not store.holds_valid_trial()
    assert store.retry_limits() == {"max_attempts": None, "max_worker_deaths": None}


def test_a_rule_to_stop_and_the_judged_worlds_are_read_back_in_order(directory):
    stop = StopSpec(when="decided", alpha=0.1, max_worlds=7, equivalence_margin=0.25)
    with ResultStore.create(directory, "test", [], WORLDS, planned=3, stop=stop) as store:
        store.judge("world_0002")
        store.judge("world_0000")
        assert store.results().stop == stop
        assert store.results().judged == ("world_0002", "world_0000")
        with pytest.raises(ResultsError):
            store.judge("world_0002")


def test_an_invalid_trial_does_not_count_as_valid(store):
    store.finish(record(0, outcome=Outcome.INVALID))
    assert not store.holds_valid_trial()
    store.finish(record(1, outcome=Outcome.TIMED_OUT))
    assert store.holds_valid_trial()


def test_invalid_trials_of_the_list_are_reopened_and_no_others(store):
    store.finish_all(
        [record(0), record(1, outcome=Outcome.INVALID, metrics={}),
         record(2, outcome=Outcome.INVALID, metrics={})]
    )  # fmt: skip
    store.reopen([0, 1], max_attempts=5, max_worker_deaths=6)
    assert [one.trial for one in store.results().trials] == [0, 2]
    assert store.retry_limits() == {"max_attempts": 5, "max_worker_deaths": 6}


def test_attempts_are_read_in_the_order_of_trials_and_attempts(store):
    for trial, attempt in ((2, 1), (0, 2), (0, 1)):
        store.add_invalid_attempt(AttemptRecord(trial, attempt, "cause", 1.0, "then"))
        store.add_worker_death(AttemptRecord(trial, attempt, "killed", 1.0, "then"))
    results = store.results()
    for found in (results.invalid_attempts, results.worker_deaths):
        assert [(one.trial, one.attempt) for one in found] == [(0, 1), (0, 2), (2, 1)]


def test_a_valid_trial_is_not_replaced(store):
    store.finish(record(0, outcome=Outcome.REACHED))
    with pytest.raises(ResultsError):
        store.finish(record(0, outcome=Outcome.INVALID))
    assert [one.outcome for one in store.results().trials] == [Outcome.REACHED]


def test_an_invalid_trial_has_no_recording(store):
    with pytest.raises(ResultsError):
        store.trajectory(record(trajectory=""))


def test_a_file_without_tables_is_no_store(directory):
    assert ResultStore.open(directory) is None
    assert not directory.results.exists()
    connect(directory.results).close()
    assert ResultStore.open(directory) is None
    with pytest.raises(ResultsError):
        ResultStore.read(directory)
    directory.manifest.unlink()
    with pytest.raises(ResultsError):
        ResultStore.read(directory)


def test_a_store_is_read_where_nothing_can_be_written_and_sees_later_trials(directory, store):
    with ResultStore.read(directory) as reader:
        databases = reader._connection.execute("PRAGMA database_list").fetchall()
        assert databases[0][2] == str(directory.results)
        store.finish(record(0))
        assert len(reader.results().trials) == 1


def test_a_closed_store_can_be_closed_again(store):
    store.close()
    store.close()
    with pytest.raises(ResultsError):
        store.results()


def test_a_connection_commits_durably_and_only_on_request(tmp_path):
    connection = connect(tmp_path / "results.sqlite")
    assert connection.isolation_level is None
    assert connection.execute("PRAGMA synchronous").fetchall() == [(2,)]  # 2 is FULL
    connection.close()
    with pytest.raises(ResultsError):
        connect(tmp_path)


def super_journal(target):
    """Return a journal that SQLite rolls back, and after which it deletes the file ``target``."""
    name, magic = os.fsencode(target), bytes.fromhex("d9d505f920a163d7")
    header = magic + struct.pack(">5I", 0, 1, 1, 512, 4096)
    checksum = sum(name) & 0xFFFFFFFF
    end = struct.pack(">I", 262145) + name + struct.pack(">2I", len(name), checksum) + magic
    return header.ljust(512, b"\0") + end


@pytest.mark.parametrize("opened", [ResultStore.read, ResultStore.open])
@pytest.mark.parametrize("attack", ["journal", "log of a writer", "log of a reader"])
def test_a_database_with_further_files_is_rejected_and_no_file_changes(
    directory, store, tmp_path, opened, attack
):
    store.finish(record(0))
    store.close()
    precious = tmp_path / "precious"
    precious.write_text("precious")
    if attack == "journal":
        (directory.path / "results.sqlite-journal").write_bytes(super_journal(precious))
    else:
        content = bytearray(directory.results.read_bytes())
        content[18 if attack == "log of a writer" else 19] = 2
        directory.results.write_bytes(content)
    before = {path: path.read_bytes() for path in directory.path.iterdir() if path.is_file()}
    with pytest.raises(ResultsError, match="was not written by gz_testauto"):
        opened(directory)
    after = {path: path.read_bytes() for path in directory.path.iterdir() if path.is_file()}
    assert (after, precious.read_text()) == (before, "precious")


def test_a_journal_that_is_a_pipe_is_rejected(directory, store):
    store.close()
    os.mkfifo(directory.path / "results.sqlite-journal")
    with pytest.raises(ResultsError, match=r"results\.sqlite-journal: cannot be read"):
        ResultStore.read(directory)


def test_a_file_with_values_that_are_not_stored_in_it_is_rejected(directory, store):
    """Such a file of 100 kB can need any amount of memory."""
    store.finish(record(0))
    connection = connect(directory.results)
    columns = ", ".join(schema.TRIALS.columns)
    connection.execute(f"CREATE TABLE other AS SELECT {columns} FROM trials")
    for changed, word in (
        ("detail TEXT AS (hex(zeroblob(1000)))", "column with generated values 'trials.detail'"),
        (f"detail TEXT DEFAULT '{'x' * 200}'", "column with generated values 'trials.detail'"),
    ):
        connection.execute("DROP TABLE trials")
        connection.execute(f"CREATE TABLE trials ({columns.replace('detail', changed)})")
        with pytest.raises(ResultsError, match=word):
            ResultStore.read(directory)
    connection.close()


def test_a_file_whose_rows_share_pages_is_rejected(directory, store):
    """With three levels of shared pages, a file of 50 kB can have a billion rows."""
    store.finish_all([record(trial, metrics={}) for trial in range(200)])
    (root,) = store._connection.execute(
        "SELECT rootpage FROM sqlite_master WHERE name = 'trials'"
    ).fetchone()
    store.close()
    content = bytearray(directory.results.read_bytes())
    page = 4096 * (root - 1)
    assert content[page] == 5, "the root has further pages"
    (cells,) = struct.unpack_from(">H", content, page + 3)
    starts = struct.unpack_from(f">{cells}H", content, page + 12)
    for start in starts:
        content[page + start : page + start + 4] = content[page + starts[0] : page + starts[0] + 4]
    directory.results.write_bytes(content)
    with pytest.raises(ResultsError, match=r"the file is damaged: .*On tree page"):
        ResultStore.read(directory)


def tables_of_version(version):
    connection = sqlite3.connect(":memory:", isolation_level=None)
    schema.create_tables(connection)
    connection.execute("UPDATE schema SET version = ?", (version,))
    return connection


def test_upgrades_are_executed_in_order_from_the_stored_version(monkeypatch):
    monkeypatch.setattr(schema, "SCHEMA_VERSION", 5)
    done = []
    for version in (1, 2, 3, 4):
        monkeypatch.setitem(
            schema.UPGRADES, version, lambda _, version=version: done.append(version)
        )
    for version, executed in ((1, [1, 2, 3, 4]), (4, [4]), (5, [])):
        connection = tables_of_version(version)
        assert schema.stored_version(connection) == version
        schema.upgrade(connection, version)
        assert schema.stored_version(connection) == 5
        assert done == executed
        done.clear()
        connection.close()
    for version in (0, 6):
        connection = tables_of_version(version)
        with pytest.raises(ValueError, match=f"version {version}"):
            schema.stored_version(connection)
        connection.close()


def test_tables_have_one_version():
    connection = tables_of_version(1)
    assert schema.is_created(connection)
    schema.SCHEMA.insert(connection, [schema.SchemaRow(1)])
    with pytest.raises(ValueError, match=r"\[1, 1\]"):
        schema.stored_version(connection)
    connection.close()


def test_rows_are_selected_by_a_condition_and_ordered():
    connection = tables_of_version(1)
    rows = [schema.MetricValue(*one) for one in ((2, "b", 1.0), (1, "z", None), (1, "a", 0.5))]
    schema.METRICS.insert(connection, rows)
    assert schema.METRICS.read(connection) == rows[::-1]
    assert schema.METRICS.read(connection, "WHERE trial = ?", (1,)) == [rows[2], rows[1]]
    assert schema.METRICS.columns == ("trial", "name", "value")
    connection.close()


def test_a_trial_becomes_a_record_with_its_index_and_the_current_time():
    trial = trial_value(4, "w", 2, "fgm", 1)
    fields = {"outcome": Outcome.REACHED, "detail": "", "attempts": 1, "wall_s": 2.0}
    found = TrialRecord.of(trial, **fields)
    assert (found.trial, found.world, found.world_index, found.planner) == (4, "w", 2, "fgm")
    assert (found.repetition, found.seed, found.trajectory, found.metrics) == (
        1,
        trial.seed,
        "",
        {},
    )
    assert found.finished_at.endswith("+00:00") and len(found.finished_at) == 25
