"""Results directories that a bad copy or another program has damaged."""

import dataclasses
import io
import json
import sqlite3
import zipfile

import numpy as np
import pytest
from scripted import record, short_recording

from gz_testauto.base.errors import ResultsError, SpecError
from gz_testauto.campaign.resume import read_campaign
from gz_testauto.metrics.interface import builtin_metrics
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.manifest import Manifest
from gz_testauto.results.recordings import read_arrays, read_trajectory, write_trajectory
from gz_testauto.results.store import ResultStore, load_campaign
from gz_testauto.worlds.manifest import read_worlds
from gz_testauto.worlds.record import WorldRecord


@pytest.fixture
def directory(tmp_path):
    directory = CampaignDirectory(tmp_path / "out")
    directory.path.mkdir()
    directory.manifest.write_text("{}")
    worlds = [WorldRecord(0, "world_0000", "/w/world_0000.world", "abc", 33.5)]
    with ResultStore.create(directory, "test", ["fgm", "dwa"], worlds, planned=4) as store:
        store.declare(builtin_metrics())
        store.finish(record(trajectory=""))
    return directory


@pytest.mark.parametrize(
    ("statement", "complaint"),
    [
        ("DELETE FROM schema", "its schema version is []"),
        ("UPDATE schema SET version = 'x'", "its schema version is ['x']"),
        ("UPDATE schema SET version = -1", "has schema version -1"),
        ("DELETE FROM campaign", "is damaged: campaign has 0 rows"),
        ("UPDATE campaign SET planned = 'many'", "planned: Input should be a valid integer"),
        ("UPDATE campaign SET planned = -5", "planned: Input should be greater than or equal to 0"),
        ("UPDATE campaign SET name = printf('%.*c', 100001, 'x')", "name has 100001 characters"),
        ("UPDATE campaign SET name = x'ff'", "name: Input should be a valid string"),
        ("INSERT INTO stop VALUES ('decided', 0.9, NULL, '', NULL)", "is damaged: stop.alpha"),
        ("UPDATE metric_declarations SET better = 'more'", "'better' is 'more'; it must be one of"),
        (
            "UPDATE metric_declarations SET decimals = 'x'",
            "metric_declarations: '<=' not supported",
        ),
        ("UPDATE metric_declarations SET decimals = 1.5", "declared.0.decimals"),
        ("UPDATE metric_declarations SET unit = x'ff'", "declared.0.unit"),
        ("ALTER TABLE metric_declarations RENAME COLUMN unit TO other", "no such column"),
        ("UPDATE trials SET outcome = 'flew'", "'flew' is not a valid Outcome"),
        ("UPDATE trials SET wall_s = x'00ff'", "trials.0.wall_s"),
        ("UPDATE trials SET seed = 'x'", "trials.0.seed"),
        ("UPDATE trials SET attempts = 1.5", "trials.0.attempts"),
        ("UPDATE trials SET repetition = -1", "trials.0.repetition"),
        ("UPDATE worlds SET world_index = -1", "worlds.0.world_index"),
        ("UPDATE metrics SET value = 'far'", "trials.0.metrics.distance_m"),
        ("UPDATE worlds SET shortest_path_m = 'far'", "worlds.0.shortest_path_m"),
        ("UPDATE worlds SET missing = '[[['", "is damaged: worlds: "),
        ("UPDATE worlds SET published = '[1]'", "worlds.0.published"),
        ("UPDATE planners SET name = x'ff' WHERE rowid = 1", "planners.0"),
        ("DELETE FROM planners", "refers to the planner 'fgm', which is not in the file's list"),
        ("DELETE FROM worlds", "refers to the world 'world_0000', which is not in the file's list"),
        ("DROP TABLE metrics", "no such table: metrics"),
        (
            "CREATE VIEW v AS WITH RECURSIVE n(x) AS "
            "(SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n",
            "view 'v'",
        ),
        (
            "CREATE TRIGGER t AFTER INSERT ON trials BEGIN DELETE FROM trials; END",
            "trigger 't'",
        ),
    ],
)
def test_a_store_with_invalid_values_is_reported_as_damaged(directory, statement, complaint):
    with sqlite3.connect(str(directory.results)) as connection:
        connection.execute(statement)
    with pytest.raises(ResultsError) as caught, ResultStore.read(directory) as store:
        store.results()
    assert str(caught.value).startswith(str(directory.results))
    assert complaint in str(caught.value)
    # The other messages name the version to use, or reject the file as unsafe.
    if "schema version" not in str(caught.value) and "not written by" not in str(caught.value):
        assert str(caught.value).endswith("; restore the file from a copy")


def test_a_missing_store_beside_recordings_is_reported_as_missing(directory):
    directory.results.unlink()
    with pytest.raises(ResultsError, match="no trial has ended yet"):
        ResultStore.read(directory)
    (directory.trajectories / "0.npz").touch()
    with pytest.raises(ResultsError, match=r"results\.sqlite: the file is missing; restore"):
        ResultStore.read(directory)


@pytest.mark.parametrize("column", ["name", "path", "sha256"])
def test_a_world_without_a_required_value_is_reported_as_damage(directory, column):
    with sqlite3.connect(str(directory.results)) as connection:
        connection.execute("CREATE TABLE damaged AS SELECT * FROM worlds")
        connection.execute(f"UPDATE damaged SET {column} = NULL")
        connection.execute("DROP TABLE worlds")
        connection.execute("ALTER TABLE damaged RENAME TO worlds")
    with ResultStore.read(directory) as store, pytest.raises(ResultsError) as caught:
        store.worlds()
    assert f"is damaged: worlds: a required value is missing: {column}" in str(caught.value)


def test_damaged_declarations_are_reported_when_a_campaign_continues(directory):
    with sqlite3.connect(str(directory.results)) as connection:
        connection.execute("UPDATE metric_declarations SET better = 'more'")
    with ResultStore.open(directory) as store, pytest.raises(ResultsError) as caught:
        store.declare([])
    assert str(caught.value).startswith(f"{directory.results}: the file is damaged: ")
    assert "'better' is 'more'; it must be one of" in str(caught.value)


def test_a_table_name_that_is_not_text_is_reported_as_damage(directory):
    content = directory.results.read_bytes()
    assert b"tableschemaschema" in content
    content = content.replace(b"tableschemaschema", b"tablesch\x9emaschema")
    directory.results.write_bytes(content.replace(b"CREATE TABLE schema", b"CREATE TABLX schema"))
    with pytest.raises(ResultsError, match="is damaged"):
        ResultStore.read(directory)


def test_a_trajectory_outside_of_the_directory_is_not_opened(directory):
    with ResultStore.read(directory) as store, pytest.raises(ResultsError, match="not a file name"):
        store.trajectory(record(trajectory="../../x.npz"))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[]", "does not contain a JSON object"),
        ("null", "does not contain a JSON object"),
        ("[" * 100_000, "is nested too deep"),
        ('{"a": ' * 100_000, "is nested too deep"),
        ("\x00", "cannot be read"),
    ],
)
def test_error_for_json_whose_top_level_is_not_an_object_names_the_file(directory, text, complaint):
    for path in (directory.manifest, directory.campaign, directory.path / "worlds.json"):
        path.write_text(text)
    for read in (
        lambda: Manifest.read(directory),
        lambda: read_campaign(directory),
        lambda: read_worlds(directory.path),
    ):
        with pytest.raises((ResultsError, SpecError)) as caught:
            read()
        assert str(caught.value).startswith(str(directory.path))
        assert complaint in str(caught.value)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"inputs": None}, "inputs: Input should be"),
        ({"inputs": {"seed": 1}}, "inputs.seed: Input should be"),
        ({"simulator": "gazebo"}, "simulator: Input should be"),
        ({"simulator": {"name": "gazebo"}}, "simulator.version: Field required"),
        ({"campaign": None}, "campaign: Input should be"),
        ({"gz_testauto": 3}, "gz_testauto: Input should be"),
        ({"format": [1]}, "has format"),
    ],
)
def test_a_manifest_with_a_field_of_another_type_is_reported_as_damaged(
    directory, change, complaint
):
    whole = {"format": 1, "campaign": "a", "inputs": {}, "gz_testauto": "0", "simulator": None}
    directory.manifest.write_text(json.dumps(whole))
    Manifest.read(directory)
    directory.manifest.write_text(json.dumps({**whole, **change}))
    with pytest.raises(ResultsError) as caught:
        Manifest.read(directory)
    assert complaint in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        {"worlds": [1]},
        {"worlds": {}},
        {"inputs": []},
        {"coverage": {"discrepancy": "low"}},
        {"coverage": [1]},
        {"worlds": [{"name": "w", "file": 3}]},
    ],
)
def test_a_set_of_worlds_with_a_field_of_another_type_is_reported_as_damaged(tmp_path, change):
    whole = {"schema_version": 1, "inputs": {}, "worlds": []}
    (tmp_path / "worlds.json").write_text(json.dumps({**whole, **change}))
    with pytest.raises(SpecError, match=r"worlds\.json: the file is damaged: "):
        read_worlds(tmp_path)


def array_file(header, body=b""):
    """A file of numpy's format 1.0 with this header."""
    text = header.encode() + b" " * (118 - len(header) - 1) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + body


@pytest.mark.parametrize(
    ("member", "complaint"),
    [
        (array_file("{'descr': '<f8', 'fortran_order': False, 'shape': (500000000000,)}"), "size"),
        (array_file("{'descr': '<U0', 'fortran_order': False, 'shape': (500000000000,)}"), "text"),
        (array_file("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", b"c" * 8), "text"),
        (array_file("{'descr': '<f8', 'fortran_order'"), ""),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff", ""),
        (b"\x93NUMPY\x09\x00", "(9, 0)"),
        (b"", ""),
    ],
)
def test_an_array_that_contradicts_its_header_is_rejected(tmp_path, member, complaint):
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
        archive.writestr("format.npy", member)
    with pytest.raises(ResultsError) as caught:
        read_trajectory(tmp_path / "t.npz")
    assert "t.npz: the file cannot be read as a trajectory" in str(caught.value)
    assert complaint in str(caught.value)


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, 97])
def test_a_compressed_trajectory_is_rejected_before_it_is_unpacked(tmp_path, method):
    stream = io.BytesIO()
    np.save(stream, np.zeros(1000))
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
        archive.writestr("format.npy", stream.getvalue(), min(method, zipfile.ZIP_LZMA))
    if method > zipfile.ZIP_LZMA:
        content = (tmp_path / "t.npz").read_bytes()
        wrong = content.replace(b"\x0e\x00\x00\x00", bytes([method]) + b"\x00\x00\x00")
        (tmp_path / "t.npz").write_bytes(wrong)
    with pytest.raises(ResultsError, match="cannot be read as a trajectory"):
        read_trajectory(tmp_path / "t.npz")


def test_a_trajectory_with_another_zip_feature_is_rejected(tmp_path):
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
        archive.writestr("format.npy", b"\x93NUMPY" + b"x" * 100)
    content = bytearray((tmp_path / "t.npz").read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 0x20  # "compressed patched data"
    (tmp_path / "t.npz").write_bytes(content)
    with pytest.raises(ResultsError, match="cannot be read as a trajectory"):
        read_trajectory(tmp_path / "t.npz")


def test_arrays_that_share_their_bytes_are_rejected(tmp_path):
    path, stream = tmp_path / "t.npz", io.BytesIO()
    np.save(stream, np.zeros(1000))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("format.npy", stream.getvalue())
        (entry,) = archive.infolist()
        archive.filelist += [entry] * 1000
    with pytest.raises(ResultsError, match=r"the size of its arrays is .* it must be at most"):
        read_trajectory(path)


def test_arrays_of_any_order_and_type_are_read_back(tmp_path):
    kept = dataclasses.replace(
        short_recording(True),
        pose=np.asfortranarray(np.arange(60.0).reshape(20, 3)),
        series={"a": np.zeros((0, 2)), "b": np.array([1, 2], dtype=">i2")},
    )
    write_trajectory(tmp_path / "t.npz", kept)
    back = read_trajectory(tmp_path / "t.npz")
    assert (back.pose == kept.pose).all() and back.series["a"].shape == (0, 2)
    assert back.series["b"].dtype == ">i2" and back.series["b"].tolist() == [1, 2]


def test_a_header_that_claims_4_gb_allocates_no_memory(tmp_path):
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
        archive.writestr("format.npy", b"\x93NUMPY" + b"x" * 100)
    content = (tmp_path / "t.npz").read_bytes()
    size = (106).to_bytes(4, "little")
    (tmp_path / "t.npz").write_bytes(content.replace(size, (2**32 - 2).to_bytes(4, "little")))
    with pytest.raises(ResultsError, match="it must be at most 224"):
        read_trajectory(tmp_path / "t.npz")


def test_a_results_directory_without_results_is_rejected(directory, tmp_path):
    with pytest.raises(ResultsError):
        load_campaign(tmp_path)
    directory.results.unlink()
    with pytest.raises(ResultsError):
        ResultStore.read(directory)


@pytest.mark.parametrize("part", ["results.sqlite", "trajectories", "trajectories/w--p--0.npz"])
def test_error_for_a_part_of_a_campaign_names_the_directory_of_the_campaign(tmp_path, part):
    for name in ("manifest.json", "results.sqlite", "trajectories/w--p--0.npz"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    with pytest.raises(ResultsError) as refused:
        load_campaign(tmp_path / part)
    assert str(refused.value).startswith(f"{tmp_path / part}: ")
    assert f"specify {tmp_path}, " in str(refused.value)


def test_arrays_that_are_much_larger_than_their_file_are_rejected(tmp_path):
    np.savez_compressed(tmp_path / "bomb.npz", weights=np.zeros(2_500_000))
    assert (tmp_path / "bomb.npz").stat().st_size < 100_000
    with pytest.raises(ValueError, match=r"weights\.npy is compressed"):
        read_arrays(tmp_path / "bomb.npz")
    with pytest.raises(ValueError, match=r"is 20000128 bytes; it must be at most 1000000"):
        read_arrays(tmp_path / "bomb.npz", 1_000_000)


def test_compressed_arrays_below_the_limit_are_read(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", a=np.arange(1000), b=np.array("text"))
    arrays = read_arrays(tmp_path / "a.npz", 100_000)
    assert arrays["a"].tolist() == list(range(1000)) and str(arrays["b"]) == "text"


def test_a_large_json_file_is_not_parsed(directory):
    directory.campaign.write_text('{"a": [' + "[]," * 4_000_000 + "[]]}")
    with pytest.raises(ResultsError, match=r"campaign\.json: .*larger than 10 MB"):
        read_campaign(directory)
