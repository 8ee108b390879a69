"""Errors of the machine, such as a full disk, are reported in one line with a remedy."""

import errno
import os
import tempfile

import pytest

from gz_testauto.cli import main as command


class Broken:
    """A verb that raises an error."""

    __doc__ = "A verb."

    def __init__(self, error):
        self._error = error

    def add_arguments(self, parser):
        pass

    def run(self, arguments):
        raise self._error


@pytest.fixture
def verb(monkeypatch):
    def use(error):
        monkeypatch.setattr(command.VERBS, "get", lambda name: Broken(error))
        return command.main(["broken"])

    return use


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.ENOSPC, "TMPDIR"),
        (errno.EROFS, "can be written"),
        (errno.EMFILE, "ulimit -n"),
        (errno.EAGAIN, "ulimit -u"),
        (errno.ENOMEM, "--workers"),
        (errno.EIO, "device"),
    ],
)
def test_error_of_the_machine_is_one_line_with_file_and_remedy(verb, capsys, number, remedy):
    assert verb(OSError(number, os.strerror(number), "/data/x")) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"gz_testauto: /data/x: {os.strerror(number)}; ") and remedy in line


def test_missing_temporary_directory_is_reported(verb, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: [str(tmp_path / "none")])
    monkeypatch.setattr(tempfile, "tempdir", None)
    with pytest.raises(FileNotFoundError) as caught:
        tempfile.gettempdir()
    assert verb(caught.value) == 2
    assert "TMPDIR" in capsys.readouterr().err


def test_exhausted_memory_is_reported(verb, capsys):
    assert verb(MemoryError()) == 2
    assert "memory" in capsys.readouterr().err


def test_other_errors_of_the_system_are_bugs_with_a_traceback(verb):
    with pytest.raises(FileNotFoundError):
        verb(FileNotFoundError(errno.ENOENT, "No such file", "/data/x"))
