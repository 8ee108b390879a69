import errno
import os
import stat
from pathlib import Path

import pytest

from gz_testauto.actors.bodies import read_body
from gz_testauto.base.disk import (
    read_file,
    read_start,
    read_text,
    replace_file,
    write_new_files,
)
from gz_testauto.base.errors import GzTestautoError, ResultsError, SdfError, SpecError
from gz_testauto.base.json_file import read_json_object
from gz_testauto.cli import main as command
from gz_testauto.results.comparability import file_sha256
from gz_testauto.results.recordings import read_trajectory
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.meshes.files import mesh_parts
from gz_testauto.spec.yaml_source import read_yaml_text
from gz_testauto.worlds.manifest import read_worlds

ROOM = Path(__file__).resolve().parents[2] / "worlds" / "room.world"
SPEC = """
obstacles: [{type: box, count: 2, size_x_m: [0.3, 0.6]}]
region: {rectangle: {x_m: [-3, 3], y_m: [-3, 3]}}
"""


@pytest.fixture(params=[errno.ENOSPC, errno.EROFS])
def disk_error(request):
    return OSError(request.param, os.strerror(request.param))


def test_failed_replacement_keeps_the_previous_file(tmp_path, monkeypatch, disk_error):
    (tmp_path / "x").write_bytes(b"before")

    def fail(descriptor):
        raise disk_error

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError):
        replace_file(tmp_path / "x", b"after")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    assert (tmp_path / "x").read_bytes() == b"before"


@pytest.mark.parametrize("kind", ["device", "pipe", "directory", "link", "broken link"])
def test_path_that_is_no_regular_file_is_refused_and_unchanged(tmp_path, kind):
    path, target = tmp_path / "special", tmp_path / "target"
    if kind == "device":
        if os.geteuid() != 0:
            pytest.skip("only root can create a device, or replace one")
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    else:
        path.symlink_to(target)
        if kind == "link":
            target.write_text("precious")
    before = os.lstat(path), sorted(tmp_path.iterdir())
    with pytest.raises(OSError, match="is not a regular file; specify"):
        replace_file(path, b"content")
    assert (os.lstat(path), sorted(tmp_path.iterdir())) == before
    assert not target.exists() or target.read_text() == "precious"


def test_partial_file_that_is_a_link_is_replaced_and_not_followed(tmp_path):
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "x.partial").symlink_to("precious")
    replace_file(tmp_path / "x", b"content")
    assert (tmp_path / "precious").read_text() == "precious"
    assert (tmp_path / "x").read_bytes() == b"content"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["precious", "x"]


def test_map_that_cannot_be_written_is_reported_and_leaves_no_files(
    tmp_path, monkeypatch, capsys, disk_error
):
    def fail(descriptor):
        raise disk_error

    monkeypatch.setattr(os, "fsync", fail)
    assert command.main(["map", str(ROOM), "--out", str(tmp_path / "maps")]) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"gz_testauto: {tmp_path / 'maps'}: ")
    assert "no space" in message or "cannot be written" in message
    assert list((tmp_path / "maps").iterdir()) == []


def test_worlds_that_cannot_be_written_are_reported_and_leave_no_files(
    tmp_path, monkeypatch, capsys, disk_error
):
    (tmp_path / "spec.yaml").write_text(SPEC)
    write_bytes, written = Path.write_bytes, []

    def write_two(path, content):
        written.append(path)
        if len(written) > 2:
            raise disk_error
        return write_bytes(path, content)

    monkeypatch.setattr(Path, "write_bytes", write_two)
    out = tmp_path / "worlds"
    arguments = ["multiply", ROOM, "--spec", tmp_path / "spec.yaml", "--out", out, "--count", 5]
    assert command.main([str(argument) for argument in arguments]) == 2
    assert capsys.readouterr().err.startswith(f"gz_testauto: {out}: ")
    assert [path.name for path in tmp_path.iterdir()] == ["spec.yaml"]


def test_empty_map_is_not_written(tmp_path, capsys):
    assert command.main(["map", str(ROOM), "--out", str(tmp_path), "--height", "100"]) == 2
    message = capsys.readouterr().err
    assert "100 m" in message
    assert "0.00 and 1.50 m" in message
    assert "--height" in message
    assert list(tmp_path.iterdir()) == []


def test_file_is_read_completely_unless_it_exceeds_the_limit(tmp_path):
    (tmp_path / "x").write_bytes(b"whole")
    assert read_file(tmp_path / "x") == b"whole"
    assert read_file(tmp_path / "x", 5) == b"whole"
    assert read_start(tmp_path / "x", 2) == b"wh"
    with pytest.raises(OSError, match="larger than 4e-06 MB"):
        read_file(tmp_path / "x", 4)
    with pytest.raises(FileNotFoundError):
        read_file(tmp_path / "y")
    with pytest.raises(IsADirectoryError):
        read_file(tmp_path)


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("pipe.world", SdfDocument.read),
        ("pipe.world", lambda path: read_worlds(path.parent)),
        ("pipe.world", file_sha256),
        ("pipe.yaml", read_yaml_text),
        ("pipe.json", lambda path: read_json_object(path, ResultsError)),
        ("pipe.stl", lambda path: mesh_parts(path, 0)),
        ("pipe.urdf", read_body),
        ("pipe.xacro", read_body),
        ("pipe.npz", read_trajectory),
    ],
)
def test_pipe_is_rejected_without_waiting_for_its_writer(tmp_path, name, read):
    os.mkfifo(tmp_path / name)
    with pytest.raises(GzTestautoError, match=rf"{name}.* cannot be read.* not a regular file"):
        read(tmp_path / name)


def test_sparse_file_above_the_limit_is_rejected_without_reading_it(tmp_path):
    with open(tmp_path / "huge.world", "wb") as file:
        file.truncate(10**12)
    with pytest.raises(SdfError, match=r"huge\.world: cannot be read: it is larger than 100 MB"):
        SdfDocument.read(tmp_path / "huge.world")


def test_text_is_read_without_byte_order_mark(tmp_path):
    (tmp_path / "x").write_bytes(b"\xef\xbb\xbfa\n")
    assert read_text(tmp_path / "x", SpecError) == "a\n"


def test_endless_device_is_rejected():
    with pytest.raises(SpecError, match=r"/dev/zero: cannot be read: .*not a regular file"):
        read_yaml_text(Path("/dev/zero"))


def test_new_files_replace_no_other_content(tmp_path):
    first, second = tmp_path / "a.world", tmp_path / "campaign.yaml"
    write_new_files({first: b"a", second: b"b"})
    write_new_files({first: b"a", second: b"b"})
    second.write_bytes(b"edited")
    with pytest.raises(SpecError, match=r"campaign.yaml: exists with other content.*for --out"):
        write_new_files({tmp_path / "new": b"c", second: b"b"})
    assert second.read_bytes() == b"edited"
    assert not (tmp_path / "new").exists()
