"""The tables of results: a column is declared once, and older versions are upgraded."""

import dataclasses
import math
import sqlite3
from dataclasses import dataclass
from typing import Mapping, Optional, Tuple

import pytest
from scripted import record

from gz_testauto.base.errors import ResultsError
from gz_testauto.report.export import to_csv
from gz_testauto.report.notes import stack_notes
from gz_testauto.results import schema
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore
from gz_testauto.trial.outcome import Outcome
from gz_testauto.worlds.record import WorldRecord


@pytest.fixture
def directory(tmp_path):
    directory = CampaignDirectory(tmp_path / "out")
    directory.path.mkdir()
    directory.manifest.write_text("{}")
    world = WorldRecord(0, "world_0000", "/w/world_0000.world", "abc", 33.5)
    with ResultStore.create(directory, "test", ["fgm", "dwa"], [world], planned=4) as store:
        store.finish(record(detail="touched a box"))
    return directory


def change(directory, *statements):
    """Execute SQL on the file of the results."""
    connection = sqlite3.connect(str(directory.results))
    with connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


@pytest.fixture
def version_0(directory, monkeypatch):
    """A directory of an artificial version 0, whose trials had no detail and no wall time."""

    def upgrade(connection):
        connection.execute("ALTER TABLE trials ADD COLUMN detail TEXT NOT NULL DEFAULT 'unknown'")
        connection.execute("ALTER TABLE trials RENAME COLUMN duration TO wall_s")

    change(
        directory,
        "ALTER TABLE trials RENAME TO whole",
        "CREATE TABLE trials AS SELECT trial, world, world_index, planner, repetition, seed, "
        "outcome, attempts, wall_s AS duration, finished_at, trajectory FROM whole",
        "DROP TABLE whole",
        "ALTER TABLE worlds DROP COLUMN mission",
        "ALTER TABLE campaign DROP COLUMN notices",
        "ALTER TABLE worlds DROP COLUMN other_visuals",
        "ALTER TABLE worlds DROP COLUMN content_sha256",
        "ALTER TABLE campaign DROP COLUMN further_worlds",
        "ALTER TABLE metric_declarations DROP COLUMN bounds",
        "UPDATE schema SET version = 0",
    )
    monkeypatch.setitem(schema.UPGRADES, 0, upgrade)
    return directory


def test_an_older_version_is_read_without_a_change_of_its_file(version_0):
    before = version_0.results.read_bytes()
    with ResultStore.read(version_0) as store:
        (trial,) = store.results().trials
    assert (trial.detail, trial.wall_s) == ("unknown", record().wall_s)
    assert trial.metrics["distance_m"] == record().metrics["distance_m"]
    assert version_0.results.read_bytes() == before


def test_an_older_version_is_upgraded_and_continued(version_0):
    with ResultStore.open(version_0) as store:
        store.finish(record(1, world="world_0000", planner="dwa"))
    with ResultStore.read(version_0) as store:
        assert [trial.detail for trial in store.results().trials] == ["unknown", record().detail]
    connection = sqlite3.connect(str(version_0.results))
    assert connection.execute("SELECT version FROM schema").fetchall() == [(schema.SCHEMA_VERSION,)]
    connection.close()


def test_results_of_the_first_version_have_the_bounds_of_known_metrics(directory):
    change(
        directory,
        "ALTER TABLE worlds DROP COLUMN mission",
        "ALTER TABLE campaign DROP COLUMN notices",
        "ALTER TABLE worlds DROP COLUMN other_visuals",
        "ALTER TABLE worlds DROP COLUMN content_sha256",
        "ALTER TABLE campaign DROP COLUMN further_worlds",
        "ALTER TABLE metric_declarations DROP COLUMN bounds",
        "UPDATE schema SET version = 1",
    )
    with ResultStore.read(directory) as store:
        bounds = {metric.name: metric.bounds for metric in store.results().metrics}
    assert bounds["spl"] == (0.0, 1.0)
    assert bounds["time_s"] is None


def test_results_of_the_second_version_contain_all_worlds(directory):
    change(
        directory,
        "ALTER TABLE worlds DROP COLUMN mission",
        "ALTER TABLE campaign DROP COLUMN notices",
        "ALTER TABLE worlds DROP COLUMN other_visuals",
        "ALTER TABLE worlds DROP COLUMN content_sha256",
        "ALTER TABLE campaign DROP COLUMN further_worlds",
        "UPDATE schema SET version = 2",
    )
    with ResultStore.read(directory) as store:
        assert store.results().further_names == ()


def test_worlds_of_the_third_version_are_identified_by_their_files(directory):
    change(
        directory,
        "ALTER TABLE worlds DROP COLUMN mission",
        "ALTER TABLE campaign DROP COLUMN notices",
        "ALTER TABLE worlds DROP COLUMN other_visuals",
        "ALTER TABLE worlds DROP COLUMN content_sha256",
        "UPDATE schema SET version = 3",
    )
    with ResultStore.read(directory) as store:
        assert {world.content_sha256 for world in store.results().worlds} == {""}


def test_worlds_of_the_fourth_version_have_no_models_with_other_visuals(directory):
    change(
        directory,
        "ALTER TABLE worlds DROP COLUMN mission",
        "ALTER TABLE campaign DROP COLUMN notices",
        "ALTER TABLE worlds DROP COLUMN other_visuals",
        "UPDATE schema SET version = 4",
    )
    with ResultStore.read(directory) as store:
        assert {world.other_visuals for world in store.results().worlds} == {()}


def test_results_of_the_fifth_version_have_no_notices(directory):
    change(
        directory,
        "ALTER TABLE worlds DROP COLUMN mission",
        "ALTER TABLE campaign DROP COLUMN notices",
        "UPDATE schema SET version = 5",
    )
    with ResultStore.read(directory) as store:
        assert store.results().notices == ()


def test_worlds_of_the_sixth_version_have_no_drawn_missions(directory):
    change(directory, "ALTER TABLE worlds DROP COLUMN mission", "UPDATE schema SET version = 6")
    with ResultStore.read(directory) as store:
        assert {world.mission for world in store.results().worlds} == {()}


def test_notices_of_trials_are_stored_once_and_in_the_report(directory):
    with ResultStore.open(directory) as store:
        for notices in [("no costmap",), (), ("no costmap", "no plans")]:
            store.add_notices(notices)
    with ResultStore.read(directory) as store:
        results = store.results()
    assert results.notices == ("no costmap", "no plans")
    assert "Not available on this stack: no costmap; no plans." in map(str, stack_notes(results))


def test_a_check_that_fails_prevents_the_upgrade(version_0):
    before = version_0.results.read_bytes()

    def reject(store):
        assert store.holds_valid_trial()
        raise ResultsError("other inputs")

    with pytest.raises(ResultsError, match="other inputs"):
        ResultStore.open(version_0, reject)
    assert version_0.results.read_bytes() == before


def test_a_huge_metric_is_read_as_infinite(directory):
    for stored, value in (("1e308", math.inf), ("-1e101", -math.inf), ("1e100", 1e100)):
        change(directory, f"UPDATE metrics SET value = {stored}")
        with ResultStore.read(directory) as store:
            (trial,) = store.results().trials
        assert set(trial.metrics.values()) == {value}


def test_an_upgrade_that_fails_changes_nothing(version_0, monkeypatch):
    whole = schema.UPGRADES[0]

    def half(connection):
        connection.execute("DELETE FROM trials")
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setitem(schema.UPGRADES, 0, half)
    with pytest.raises(ResultsError, match="disk I/O"):
        ResultStore.open(version_0)
    monkeypatch.setitem(schema.UPGRADES, 0, whole)
    with ResultStore.open(version_0) as store:
        assert len(store.results().trials) == 1


@pytest.mark.parametrize(
    ("version", "remedy"),
    [
        (
            99,
            f"versions up to {schema.SCHEMA_VERSION}; use the version of gz_testauto that wrote "
            "it, or a later one",
        ),
        (
            0,
            f"cannot upgrade to {schema.SCHEMA_VERSION}; use the version of gz_testauto that "
            "wrote it",
        ),
    ],
)
def test_a_version_that_cannot_be_read_is_rejected_with_a_remedy(directory, version, remedy):
    change(directory, f"UPDATE schema SET version = {version}")
    for use in (ResultStore.open, ResultStore.read):
        with pytest.raises(ResultsError) as refused:
            use(directory)
        assert f"{directory.results}: the file has schema version {version}" in str(refused.value)
        assert str(refused.value).endswith(remedy)


@dataclass(frozen=True)
class Row:
    name: str
    ended: Outcome
    valid: bool
    length_m: Optional[float] = None
    notes: Tuple[str, ...] = ()
    figures: Mapping[str, float] = dataclasses.field(default_factory=dict)
    ignored: object = None


def test_a_record_is_read_back_as_it_was_stored():
    connection = sqlite3.connect(":memory:")
    table = schema.Table("things", Row, without=["ignored"])
    table.create(connection)
    rows = [
        Row("a", Outcome.STUCK, True, 1.5, ("x", "y"), {"d": 0.1}),
        Row("b", Outcome.REACHED, False),
    ]
    table.insert(connection, rows)
    assert table.read(connection) == rows
    assert [row.valid for row in table.read(connection)] == [True, False]
    assert {type(row.valid) for row in table.read(connection)} == {bool}
    with pytest.raises(sqlite3.IntegrityError, match="NOT NULL"):
        table.insert(connection, [Row(None, Outcome.STUCK, True)])
    connection.close()


def test_csv_has_a_column_for_each_field_of_a_trial(directory):
    with ResultStore.read(directory) as store:
        header = to_csv(store.results()).splitlines()[0].split(",")
    assert {field.name for field in dataclasses.fields(record())} - {
        "metrics",
        "world_index",
    } <= set(header)
