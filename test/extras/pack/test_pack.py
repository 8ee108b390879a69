"""A pack has the same results after it is unpacked, and an unsafe file is rejected."""

import hashlib
import json
import os
import shutil
import stat
import tempfile
import zipfile

import pytest

import gz_testauto
from gz_testauto.base.errors import ResultsError
from gz_testauto.base.resources import share_directory
from gz_testauto.cli.main import main
from gz_testauto.extras.pack import archive
from gz_testauto.extras.pack.archive import pack, unpack
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.opened import open_results

LINK = (stat.S_IFLNK | 0o777) << 16


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    """Return the results directory of a campaign in the kinematic simulator."""
    out = tmp_path_factory.mktemp("packed") / "out"
    smoke = share_directory() / "config" / "smoke_campaign.yaml"
    options = ["--simulator", "kinematic", "--workers", "1", "--planners", "straight"]
    assert main(["run", str(smoke), "--out", str(out), *options]) == 0
    return out


@pytest.fixture
def packed(campaign, tmp_path):
    pack(campaign, tmp_path / "results.zip")
    return tmp_path / "results.zip"


def files(directory):
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


def written(path, entries, attributes=0o644 << 16):
    """Write a zip file with a correct list of checksums, and return it."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        lines = []
        for name, content in entries:
            info = zipfile.ZipInfo(name)
            info.external_attr, info.compress_type = attributes, zipfile.ZIP_DEFLATED
            target.writestr(info, content)
            lines.append(f"{hashlib.sha256(content).hexdigest()}  {name}\n")
        target.writestr(archive.CHECKSUMS, "".join(dict.fromkeys(lines)))
    return path


@pytest.mark.slow
def test_unpacked_directory_has_the_same_files_report_and_replay(
    campaign, packed, tmp_path, capsys
):
    out = tmp_path / "elsewhere" / "copy"
    assert main(["pack", "--extract", str(packed), "--out", str(out)]) == 0
    found = files(out)
    extra = {archive.CRATE, archive.ENVIRONMENT, archive.CHECKSUMS}
    assert set(found) - extra == set(files(campaign))
    assert all(found[name] == content for name, content in files(campaign).items())
    reports = []
    for directory in (campaign, out):
        capsys.readouterr()
        assert main(["report", str(directory), "--json"]) == 0
        reports.append(capsys.readouterr().out)
    assert reports[0] == reports[1]
    assert main(["replay", str(out), "world_0000", "straight"]) == 0
    assert main(["compare", str(campaign), str(out)]) == 0


def test_metadata_lists_each_file_with_its_size_and_hash(packed):
    with zipfile.ZipFile(packed) as found:
        graph = json.loads(found.read(archive.CRATE))["@graph"]
        parts = [part["@id"] for one in graph for part in one.get("hasPart", ())]
        described = {one["@id"]: one for one in graph if one["@type"] == "File"}
        names = set(found.namelist()) - {archive.CRATE, archive.CHECKSUMS}
        assert set(parts) == set(described) == names
        for name in names:
            content = found.read(name)
            assert described[name]["contentSize"] == str(len(content))
            assert described[name]["sha256"] == hashlib.sha256(content).hexdigest()


def test_pack_of_the_same_directory_has_the_same_bytes(campaign, packed, tmp_path):
    pack(campaign, tmp_path / "again.zip")
    assert packed.read_bytes() == (tmp_path / "again.zip").read_bytes()


def test_changed_file_is_rejected_and_no_directory_remains(packed, tmp_path):
    changed = tmp_path / "changed.zip"
    with zipfile.ZipFile(packed) as source, zipfile.ZipFile(changed, "w") as target:
        for info in source.infolist():
            content = source.read(info)
            target.writestr(info, content.replace(b"smoke", b"smokE"))
    with pytest.raises(ResultsError, match="checksum"):
        unpack(changed, tmp_path / "out")
    assert sorted(os.listdir(tmp_path)) == ["changed.zip", "results.zip"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("entries", "attributes", "reason"),
    [
        ([("../evil", b"x")], 0, "leaves the directory"),
        ([("worlds/../../evil", b"x")], 0, "leaves the directory"),
        ([("/tmp/evil", b"x")], 0, "absolute"),
        ([("a\\..\\evil", b"x")], 0, "backslash"),
        ([("C:evil", b"x")], 0, "colon"),
        ([("worlds/", b"")], 0, "folder"),
        ([("worlds//a", b"x")], 0, "folder"),
        ([("a\nb", b"x")], 0, "control character"),
        ([("link", b"/etc")], LINK, "symbolic link"),
        ([("pipe", b"")], (stat.S_IFIFO | 0o644) << 16, "special file"),
        ([("a", b"x"), ("a", b"y")], 0, "twice"),
        ([("a", b"x"), ("a/b", b"y")], 0, "a file and a folder"),
        ([("bomb", bytes(200_000_000))], 0, "times its size"),
    ],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_unsafe_entry_is_rejected_before_a_file_is_written(tmp_path, entries, attributes, reason):
    file = written(tmp_path / "unsafe.zip", entries, attributes)
    with pytest.raises(ResultsError, match=reason):
        unpack(file, tmp_path / "inside" / "out")
    assert files(tmp_path).keys() == {"unsafe.zip"}


def test_entry_without_a_checksum_is_rejected(packed, tmp_path):
    with zipfile.ZipFile(packed, "a") as target:
        target.writestr("added", b"x")
    with pytest.raises(ResultsError, match="'added'"):
        unpack(packed, tmp_path / "out")


@pytest.mark.parametrize("content", [b"", b"no zip file", b"PK\x03\x04 damaged"])
def test_file_that_is_not_a_pack_is_rejected(tmp_path, content):
    (tmp_path / "file.zip").write_bytes(content)
    with pytest.raises(ResultsError, match=r"file.zip: is not a pack"):
        unpack(tmp_path / "file.zip", tmp_path / "out")


@pytest.mark.parametrize("position", [0.2, 0.5, 0.8])
def test_damaged_pack_is_rejected_without_a_traceback(packed, tmp_path, position):
    content = bytearray(packed.read_bytes())
    place = int(position * len(content))
    content[place : place + 64] = bytes(64)
    packed.write_bytes(bytes(content))
    with pytest.raises(ResultsError):
        unpack(packed, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_existing_target_is_not_changed(campaign, packed, tmp_path):
    with pytest.raises(ResultsError, match="exists already"):
        pack(campaign, packed)
    (tmp_path / "out").mkdir()
    with pytest.raises(ResultsError, match="exists already"):
        unpack(packed, tmp_path / "out")


def test_directory_in_use_or_without_campaign_is_not_packed(campaign, tmp_path):
    with pytest.raises(ResultsError, match="contains no campaign"):
        pack(tmp_path, tmp_path / "a.zip")
    with CampaignDirectory(campaign).locked(), pytest.raises(ResultsError, match="in use"):
        pack(campaign, tmp_path / "a.zip")
    assert not list(tmp_path.glob("a.zip*"))


@pytest.mark.slow
def test_packing_only_reads_the_directory(packed, tmp_path):
    copy = tmp_path / "copy"
    unpack(packed, copy)
    (copy / ".lock").write_text("1")
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    pack(copy, tmp_path / "a.zip")
    assert {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()} == before
    (copy / ".lock").unlink()
    pack(copy, tmp_path / "b.zip")
    assert not (copy / ".lock").exists()
    assert (tmp_path / "b.zip").read_bytes() == (tmp_path / "a.zip").read_bytes()


# ---- commands that read a pack


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Return the directory for temporary files, which is empty at the end of the test."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield place
    assert os.listdir(place) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ("report", "{}", "--json"),
        ("report", "{}", "--csv", "-"),
        ("replay", "{}", "world_0000", "straight"),
        ("compare", "{}", "{}_copy"),
    ],
)
def test_command_prints_the_same_for_a_pack_as_for_its_directory(
    campaign, packed, tmp_path, temporary, capsys, command
):
    shutil.copy(packed, f"{packed}_copy")
    (tmp_path / "results_dir").symlink_to(campaign)
    (tmp_path / "results_dir_copy").symlink_to(campaign)
    printed = []
    for path in (tmp_path / "results_dir", packed):
        capsys.readouterr()
        assert main([part.format(path) for part in command]) == 0
        printed.append(capsys.readouterr().out.replace("results_dir", "results.zip"))
    assert printed[0] == printed[1]


def test_page_of_a_pack_names_the_pack_in_its_commands(packed, tmp_path, temporary, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["report", "results.zip", "--html", "page.html"]) == 0
    page = (tmp_path / "page.html").read_text()
    assert "gz_testauto replay results.zip" in page
    assert "gz_testauto pack --extract results.zip --out results " in page
    assert str(temporary) not in page


def test_opened_pack_is_read_only_and_is_removed_after_an_error(packed, temporary):
    def modes(directory):
        return {stat.S_IMODE(path.stat().st_mode) for path in directory.rglob("*")}

    with pytest.raises(KeyboardInterrupt), open_results(packed) as opened:
        assert modes(opened.path) == {0o400, 0o500}
        assert stat.S_IMODE(opened.path.stat().st_mode) == 0o500
        assert temporary in opened.path.parents
        raise KeyboardInterrupt


@pytest.mark.parametrize("verb", ["report", "compare", "replay"])
def test_command_rejects_an_unsafe_pack_and_leaves_no_file(tmp_path, temporary, capsys, verb):
    file = written(tmp_path / "unsafe.zip", [("../evil", b"x")])
    more = {"report": [], "compare": [str(file)], "replay": ["0", "straight"]}[verb]
    assert main([verb, str(file), *more]) == 2
    assert "unsafe.zip: the entry '../evil'" in capsys.readouterr().err
    assert sorted(os.listdir(tmp_path)) == ["temporary", "unsafe.zip"]


def test_report_names_a_file_that_is_neither_directory_nor_pack(tmp_path, capsys):
    (tmp_path / "cut.zip").write_bytes(b"PK\x03\x04 the end is missing")
    assert main(["report", str(tmp_path / "cut.zip")]) == 2
    error = capsys.readouterr().err
    assert "cut.zip: " in error and "neither a directory nor a complete pack" in error


def test_loaded_pack_exists_as_long_as_its_results(packed, temporary):
    results = gz_testauto.load(packed)
    assert "results.zip" in repr(results) and len(results.trials) == 2
    trajectories = results.trajectories
    assert results.replay("world_0000", "straight").identical
    del results
    assert len(trajectories.of("world_0000", "straight").time_s) > 10
    del trajectories


def test_unpack_requires_free_space_at_the_target(packed, tmp_path, monkeypatch):
    asked = []

    def disk_usage(path):
        asked.append(path)
        return shutil._ntuple_diskusage(1, 1, 10)

    monkeypatch.setattr(archive.shutil, "disk_usage", disk_usage)
    with pytest.raises(ResultsError, match="only 10 are free"):
        unpack(packed, tmp_path / "elsewhere" / "out")
    assert [path.parent for path in asked] == [tmp_path / "elsewhere"]


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_permissions_of_unpacked_results_are_those_of_the_umask(packed, tmp_path, mask):
    previous = os.umask(mask)
    try:
        unpack(packed, tmp_path / "copy")
    finally:
        os.umask(previous)
    copy = tmp_path / "copy"
    folders = {stat.S_IMODE(path.stat().st_mode) for path in (copy, copy / "trajectories")}
    assert folders == {0o777 & ~mask}
    assert stat.S_IMODE((copy / "manifest.json").stat().st_mode) == 0o666 & ~mask
