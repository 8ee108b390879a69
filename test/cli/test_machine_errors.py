"""Errors of the machine, such as a full disk, are reported in one line with a remedy."""

import errno
import os
import subprocess
import sys
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


COMMAND = """
import sys
from functools import partial
from gz_testauto.cli import main as command
from gz_testauto.report.plain import report_console
class Verb:
    __doc__ = "A verb."
    def add_arguments(self, parser): pass
    def run(self, arguments):
        stream = getattr(sys, sys.argv[1])
        output = report_console(stream).print if sys.argv[3:] else partial(print, file=stream)
        for number in range(3000):  # more than a pipe holds, so that the command meets its end
            output("progress", number, "." * 50)
            stream.flush()
        open(sys.argv[2], "w").close()
        return 3
command.VERBS.get = lambda name: Verb()
sys.exit(command.main(["verb"]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stream", "status", "is_finished"), [("stderr", 3, True), ("stdout", 141, False)]
)
@pytest.mark.parametrize("console", [[], ["rich"]])
def test_only_a_closed_standard_output_stops_a_command(
    tmp_path, stream, status, is_finished, console
):
    done = tmp_path / "done"
    command_line = [sys.executable, "-c", COMMAND, stream, str(done), *console]
    pipes = {stream: subprocess.PIPE}
    with subprocess.Popen(command_line, text=True, **pipes) as process:
        pipe = getattr(process, stream)
        assert pipe.readline().startswith("progress 0 ")
        pipe.close()
        assert process.wait(60) == status
    assert done.exists() == is_finished


@pytest.mark.slow
@pytest.mark.parametrize("redirection", ["2>/dev/full", "2>&-", "<&- >&- 2>&-"])
def test_a_command_finishes_if_its_progress_cannot_be_written(tmp_path, redirection):
    done = tmp_path / "done"
    line = f'"$@" {redirection}'
    command_line = [sys.executable, "-c", COMMAND, "stderr", str(done)]
    assert subprocess.run(["sh", "-c", line, "sh", *command_line], timeout=60).returncode == 3
    assert done.read_text() == ""


def test_characters_that_the_encoding_lacks_are_escaped():
    script = "from gz_testauto.cli.main import main; main(['--version']); print(chr(0xB2))"
    posix = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, **posix}, stdout=subprocess.PIPE
    )
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == b"\\xb2"


def test_a_removed_working_directory_is_reported(verb, capsys, monkeypatch, tmp_path):
    removed = tmp_path / "removed"
    removed.mkdir()
    monkeypatch.chdir(removed)
    removed.rmdir()
    with pytest.raises(FileNotFoundError) as caught:
        os.getcwd()
    assert verb(caught.value) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "working directory was removed" in line and "cd" in line


@pytest.mark.parametrize("limit_mb", [64, 300, 999])
def test_memory_limit_in_which_linear_algebra_hangs_is_rejected(monkeypatch, capsys, limit_mb):
    limit = limit_mb * 1_000_000
    monkeypatch.setattr(command.resource, "getrlimit", lambda kind: (limit, limit))
    monkeypatch.setattr(command.VERBS, "get", lambda name: pytest.fail("the verb was imported"))
    assert command.main(["report", "x"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{limit_mb} MB" in line and "1000 MB" in line and "ulimit -v" in line


@pytest.mark.parametrize(("limit", "threads"), [(1_000_000_000, "1"), (-1, None)])
def test_linear_algebra_has_one_thread_within_a_memory_limit(verb, monkeypatch, limit, threads):
    monkeypatch.setattr(command.resource, "getrlimit", lambda kind: (limit, limit))
    monkeypatch.setattr(command.os, "environ", {})
    verb(KeyboardInterrupt())
    assert command.os.environ.get("OPENBLAS_NUM_THREADS") == threads
