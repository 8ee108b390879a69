"""Inputs that make results comparable, and the arrays of recordings at their limits."""

import dataclasses
import io
import zipfile
import zlib
from types import SimpleNamespace

import numpy as np
import pytest
from scripted import record, short_recording
from trial_values import trial_value

from gz_testauto.base.errors import LostTrialsError, ResultsError
from gz_testauto.results import manifest as manifests
from gz_testauto.results.attempts import Attempts, will_recur
from gz_testauto.results.comparability import (
    MODULE,
    SHA256,
    WORLD_FILES,
    comparable,
    file_sha256,
    list_differences,
    refuse_differences,
    software_versions,
)
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.manifest import PATIENCE, Manifest, campaign_inputs
from gz_testauto.results.recordings import read_trajectory, write_trajectory
from gz_testauto.results.records import AttemptRecord, CampaignResults
from gz_testauto.trial.outcome import Outcome

SHA256_OF_ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
"""FIPS 180-4."""


def test_a_file_is_known_by_the_sha256_of_its_content(tmp_path):
    (tmp_path / "abc").write_text("abc")
    assert file_sha256(tmp_path / "abc") == SHA256_OF_ABC
    with pytest.raises(ResultsError, match="none"):
        file_sha256(tmp_path / "none")


def test_values_are_shown_as_json_and_texts_as_they_are():
    differences = list_differences({"a": [1, None]}, {"a": "x" * 40, "b": True})
    assert differences == ["a is " + "x" * 40 + ", was [1, null]", "b is true, was not set"]


def test_a_remedy_and_the_content_are_in_the_error(tmp_path):
    refuse_differences(tmp_path, "others", [], "wait")
    with pytest.raises(ResultsError) as caught:
        refuse_differences(tmp_path, "others", ["a", "b"], "wait")
    first, *listed = str(caught.value).splitlines()
    assert all(word in first for word in (str(tmp_path), "others", "wait"))
    assert listed == ["  a", "  b"]


def test_inputs_that_older_versions_did_not_store_are_not_compared():
    modules = {f"code of planner fgm{MODULE}m": "1", f"{WORLD_FILES}box.sdf": "2"}
    assert comparable({"seed": "1"}, {"seed": "2", **modules}) == {"seed": "2"}
    assert comparable({f"{WORLD_FILES}a": "1"}, modules) == {f"{WORLD_FILES}box.sdf": "2"}


def test_libraries_that_are_not_installed_have_no_version():
    found = software_versions(["no-such-library-at-all", "numpy"])
    assert found["libraries"] == {"numpy": np.__version__}
    assert set(found) == {"gz_testauto", "python", "platform", "libraries"}


def test_all_fields_except_limits_of_attempts_and_waiting_are_inputs(smoke):
    inputs = campaign_inputs(smoke)
    assert not set(PATIENCE) & set(inputs)
    impatient = smoke.model_copy(
        update={"limits": smoke.limits.model_copy(update={"max_attempts": 77})}
    )
    assert campaign_inputs(impatient) == inputs
    other = smoke.model_copy(update={"seed": smoke.seed + 1})
    assert {name for name in inputs if campaign_inputs(other)[name] != inputs[name]} == {"seed"}


def test_a_path_is_the_content_of_its_file_or_of_the_worlds_in_its_folder(tmp_path):
    for name in ("b.world", "a.world", "notes.txt"):
        (tmp_path / name).write_text("abc")
    digest = SHA256 + SHA256_OF_ABC
    spec = SimpleNamespace(
        model_dump=lambda mode: {"one": tmp_path / "notes.txt", "all": tmp_path, "n": [None]}
    )
    assert campaign_inputs(spec) == {
        "one": digest, "all/a.world": digest, "all/b.world": digest, "n[0]": "null"
    }  # fmt: skip


def test_a_manifest_is_read_back_and_its_inputs_are_sorted(tmp_path, smoke):
    directory = CampaignDirectory(tmp_path)
    files = {"zmesh": SHA256_OF_ABC, "code": "version 3", "almost": SHA256_OF_ABC + "0"}
    written = Manifest.of(smoke, files)
    written.write(directory)
    stored = Manifest.read(directory)
    assert stored.content == written.content
    assert stored.content["seed"] == smoke.seed
    assert (stored.simulator, stored.is_imported) == ("", False)
    assert stored.platform == written.content["platform"] != ""
    assert list(stored.inputs) == sorted(stored.inputs)
    assert stored.inputs["zmesh"] == SHA256 + SHA256_OF_ABC
    assert (stored.inputs["code"], stored.inputs["almost"]) == ("version 3", files["almost"])
    assert set(stored.inputs) == {*campaign_inputs(smoke), *files}


def test_the_identity_is_that_of_the_inputs(smoke, monkeypatch):
    first = Manifest.of(smoke, {"code": "1"}).content["identity"]
    assert first == Manifest.of(smoke, {"code": "1"}).content["identity"]
    assert first != Manifest.of(smoke, {"code": "2"}).content["identity"]
    assert first.startswith(SHA256) and len(first) == len(SHA256) + 64
    other = {**manifests.software_versions(()), "gz_testauto": "9"}
    monkeypatch.setattr(manifests, "software_versions", lambda libraries: other)
    assert first == Manifest.of(smoke, {"code": "1"}).content["identity"]


def test_another_format_is_rejected(tmp_path, smoke):
    directory = CampaignDirectory(tmp_path)
    for number in (0, 2, None):
        Manifest({**Manifest.of(smoke, {}).content, "format": number}).write(directory)
        with pytest.raises(ResultsError, match=f"format {number}"):
            Manifest.read(directory)
    directory.manifest.unlink()
    with pytest.raises(ResultsError):
        Manifest.read(directory)


def test_a_simulator_is_bound_once_it_is_known_and_trials_exist(smoke):
    first = Manifest.of(smoke, {})
    gazebo = SimpleNamespace(name="gazebo", version="11")
    bound = first.with_simulator(gazebo, bound=True)
    assert bound.with_simulator(gazebo, bound=True).content == bound.content
    assert first.content["simulator"] is None
    assert bound.is_same(first)
    with pytest.raises(ResultsError):
        bound.with_simulator(SimpleNamespace(name="stage", version="11"), bound=True)


def test_a_recording_is_read_back_with_its_optional_arrays_series_and_numbers(tmp_path):
    path = tmp_path / "t.npz"
    short = dataclasses.replace(
        short_recording(False),
        z_m=np.linspace(0.0, 1.0, 20),
        goal_times_s=np.array([0.5, 1.5]),
        series={"load": np.arange(20.0)},
        numbers={"recoveries": 3.0},
        shortest_path_m=None,
        published_path_m=0.0,
    )
    write_trajectory(path, short)
    back = read_trajectory(path)
    assert (back.completed, back.shortest_path_m, back.published_path_m) == (False, None, 0.0)
    assert back.wall_time_s == short.wall_time_s
    assert np.array_equal(back.z_m, short.z_m)
    assert back.goal_times_s.tolist() == [0.5, 1.5]
    assert list(back.series) == ["load"] and back.series["load"].tolist() == list(range(20))
    assert back.numbers == {"recoveries": 3.0}
    write_trajectory(path, short_recording(True))
    back = read_trajectory(path)
    assert (back.z_m, back.roll_pitch_rad, back.goal_times_s) == (None, None, None)
    assert (back.series, back.numbers, back.contacts) == ({}, {}, ())
    assert (back.completed, back.shortest_path_m) == (True, 1.9)
    assert np.load(path)["format"] == 1


def with_member(path, name, content):
    """Write a recording with one more array of these bytes."""
    write_trajectory(path, short_recording())
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(f"{name}.npy", content)


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
def test_arrays_of_both_versions_of_numpys_format_are_read(tmp_path, version):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.array([[1, 2], [3, 4]], order="F"), version=version)
    with_member(tmp_path / "t.npz", "series_a.npy", stream.getvalue())
    assert read_trajectory(tmp_path / "t.npz").series["a.npy"].tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(("excess", "valid"), [(0, True), (1, False)])
def test_a_header_has_at_most_16_kib(tmp_path, excess, valid):
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }"
    length = 16384 - 10 + excess
    content = b"\x93NUMPY\x01\x00" + length.to_bytes(2, "little")
    content += header.ljust(length - 1) + b"\n" + np.array([2.5]).tobytes()
    with_member(tmp_path / "t.npz", "series_a", content)
    if valid:
        try:
            assert read_trajectory(tmp_path / "t.npz").series["a"].tolist() == [2.5]
        except ResultsError as error:  # newer numpy has a smaller limit
            assert "max_header_size" in str(error)
        return
    with pytest.raises(ResultsError, match="series_a"):
        read_trajectory(tmp_path / "t.npz")


@pytest.mark.parametrize("bytes_too_many", [-8, -1, 1, 8])
def test_an_array_has_as_many_bytes_as_its_header_states(tmp_path, bytes_too_many):
    stream = io.BytesIO()
    np.save(stream, np.arange(3.0))
    content = stream.getvalue() + b"\0" * bytes_too_many
    content = content[: len(stream.getvalue()) + bytes_too_many]
    with_member(tmp_path / "t.npz", "series_a", content)
    with pytest.raises(ResultsError, match="series_a"):
        read_trajectory(tmp_path / "t.npz")


def test_a_recording_of_another_format_is_rejected(tmp_path):
    path = tmp_path / "t.npz"
    write_trajectory(path, short_recording())
    arrays = dict(np.load(path))
    for number in (0, 2):
        np.savez(path, **{**arrays, "format": np.array(number)})
        with pytest.raises(ResultsError, match=f"format {number}"):
            read_trajectory(path)
    del arrays["pose"]
    np.savez(path, **arrays)
    with pytest.raises(ResultsError, match="pose"):
        read_trajectory(path)


class Store:
    """An empty store that keeps what is written to it."""

    def __init__(self, limits):
        self.limits, self.reopened = limits, []

    def results(self):
        return CampaignResults("c", (), (), 9, ())

    def retry_limits(self):
        return self.limits

    def reopen(self, trials, **limits):
        self.reopened.append((trials, limits))

    def add_invalid_attempt(self, attempt):
        pass

    def add_worker_death(self, attempt):
        pass


def attempts(most=2, deaths=2, stored=(2, 2)):
    limits = dict(zip(("max_attempts", "max_worker_deaths"), stored))
    store = Store(limits)
    spec = SimpleNamespace(max_attempts=most, max_worker_deaths=deaths)
    return Attempts(store, spec), store


def failed(found, trial, number, cause, died=False):
    found.record_failure(AttemptRecord(trial, number, cause, 1.0, "then"), worker_died=died)


def test_a_limit_of_one_is_reached_by_one_attempt_and_exceeded_by_two():
    found, store = attempts(most=1, deaths=1, stored=(1, 1))
    assert store.reopened == []
    failed(found, 1, 1, "a")
    failed(found, 2, 1, "b", died=True)
    for trial in (1, 2):
        assert found.has_reached_limit(trial)
        failed(found, trial, 2, "c")
        assert found.has_reached_limit(trial)
    assert not found.has_reached_limit(3)


def test_the_error_names_the_first_abandoned_trial_and_causes_differ_only_in_text():
    found, _ = attempts()
    for trial, causes in ((5, ("fell at 3.5 m", "fell at 12 m")), (6, ("late", "late"))):
        for number, cause in enumerate(causes, start=1):
            failed(found, trial, number, cause, died=number == 2)
        found.abandon(trial_value(trial, f"w{trial}", trial))
    assert found.is_hopeless and not found.has_valid_trial
    with pytest.raises(LostTrialsError, match=r"w5 .*fell at 12 m"):
        found.raise_if_hopeless()
    found.record_success(7)
    assert found.has_valid_trial and not found.is_hopeless


def test_a_trial_without_attempts_does_not_make_the_campaign_hopeless():
    found, _ = attempts()
    found.abandon(trial_value(5, "w5", 5))
    assert not found.is_hopeless
    assert not will_recur(ResultsError("x"))


def test_a_raised_limit_reopens_and_an_unchanged_one_does_not():
    """One invalid attempt of two: it was abandoned for another reason than a limit."""
    one = AttemptRecord(1, 1, "the scene", 1.0, "then")
    given_up = record(1, outcome=Outcome.INVALID)
    valid = record(0, outcome=Outcome.REACHED)
    for now, again in (((2, 1), set()), ((1, 2), set()), ((3, 1), {1}), ((2, 3), {1})):
        store = Store({"max_attempts": 2, "max_worker_deaths": 2})
        found = CampaignResults("c", (), (), 9, (valid, given_up), (one,))
        store.results = lambda found=found: found
        Attempts(store, SimpleNamespace(max_attempts=now[0], max_worker_deaths=now[1]))
        assert [trials for trials, _ in store.reopened] == [again], now


def deflated_to_its_own_size(path):
    """Write a recording with one more array, whose deflated size is that of its content."""
    for count in range(1, 3000):
        stream = io.BytesIO()
        np.save(stream, np.random.default_rng(1).integers(0, 256, count, dtype=np.uint8))
        deflate = zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION, zlib.DEFLATED, -15)
        size = len(deflate.compress(stream.getvalue()) + deflate.flush())
        if size == len(stream.getvalue()):
            break
    write_trajectory(path, short_recording())
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("series_a.npy", stream.getvalue(), zipfile.ZIP_DEFLATED)
        return archive.getinfo("series_a.npy")


def test_a_compressed_member_is_rejected_even_if_its_sizes_are_equal(tmp_path):
    entry = deflated_to_its_own_size(tmp_path / "t.npz")
    assert entry.compress_type == zipfile.ZIP_DEFLATED
    assert entry.compress_size == entry.file_size
    with pytest.raises(ResultsError, match="series_a"):
        read_trajectory(tmp_path / "t.npz")
