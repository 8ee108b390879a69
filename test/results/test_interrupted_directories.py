"""Directories of runs: which files belong to a run, which remain of a killed one, and the lock."""

import errno
import os
import subprocess
import sys

import pytest
from scripted import record

from gz_testauto.base.errors import ResultsError
from gz_testauto.base.pose import Pose2D
from gz_testauto.results.directory import CampaignDirectory, RunDirectory, disk_message
from gz_testauto.results.paper_log import CampaignLog, format_outcome
from gz_testauto.trial.outcome import Outcome


class Training(RunDirectory):
    CONTENT, COMMAND, MARKER = "training", "train", "training.json"
    EARLIER = ("seed.txt",)
    UNFINISHED = ("*.partial", ".half.*")


def test_a_directory_with_a_marker_contains_a_run(tmp_path):
    directory = Training(tmp_path / "out")
    directory.require_fresh_or_begun()
    assert not directory.is_begun
    with pytest.raises(ResultsError, match="the directory does not exist"):
        directory.require_begun()
    directory.path.mkdir()
    with pytest.raises(ResultsError, match=r"training\.json"):
        directory.require_begun()
    directory.marker.mkdir()
    assert not directory.is_begun
    directory.marker.rmdir()
    directory.marker.write_text("{}")
    assert directory.is_begun
    directory.require_begun()
    (directory.path / "notes.txt").write_text("mine")
    directory.require_fresh_or_begun()


def test_error_for_a_folder_of_a_run_names_the_directory_of_this_run(tmp_path):
    inner = tmp_path / "outer" / "inner"
    (inner / "logs" / "1").mkdir(parents=True)
    for path in (inner.parent, inner):
        (path / "training.json").write_text("{}")
    with pytest.raises(ResultsError) as caught:
        Training(inner / "logs" / "1").require_begun()
    assert str(caught.value).endswith(f"specify {inner}, which contains a training")


def test_a_path_is_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Training("out").path == tmp_path / "out"
    assert Training("out").marker == tmp_path / "out" / "training.json"


def test_a_directory_with_files_of_a_killed_run_is_accepted(tmp_path):
    directory = Training(tmp_path)
    for name in (".lock", "seed.txt", "training.json.partial", ".half.x"):
        (tmp_path / name).write_text("")
    directory.require_fresh_or_begun()
    for name in ("z.txt", "b.txt", "seed.txt.old"):
        (tmp_path / name).write_text("")
    with pytest.raises(ResultsError, match=r"b\.txt"):
        directory.require_fresh_or_begun()


def test_a_file_is_rejected_as_a_directory(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(ResultsError):
        Training(tmp_path / "out").require_fresh_or_begun()
    with pytest.raises(ResultsError), Training(tmp_path / "out").locked():
        raise AssertionError("a file is no directory")


def test_files_of_an_interrupted_run_are_removed_and_other_files_are_kept(tmp_path):
    directory = Training(tmp_path)
    (tmp_path / ".half.x").mkdir()
    (tmp_path / ".half.x" / "file").write_text("")
    for name in ("a.partial", "a.json", "seed.txt", ".lock", ".half"):
        (tmp_path / name).write_text("")
    directory.remove_unfinished()
    assert sorted(os.listdir(tmp_path)) == [".half", ".lock", "a.json", "seed.txt"]
    Training(tmp_path / "none").remove_unfinished()


def test_partial_files_and_worlds_of_an_interrupted_campaign_are_removed(tmp_path):
    directory = CampaignDirectory(tmp_path)
    (tmp_path / "trajectories").mkdir()
    (tmp_path / ".worlds.abc").mkdir()
    kept = ["campaign.log", "trajectories/a.npz", "trajectories/b.partial"]
    remains = ["campaign.log.partial", "campaign.json.partial", "manifest.json.partial"]
    for name in (*kept, *remains, "trajectories/a.npz.partial"):
        (tmp_path / name).write_text("")
    directory.remove_unfinished()
    found = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*"))
    assert found == sorted([*kept, "trajectories"])
    names = {"campaign.json", "results.sqlite", "trajectories", "worlds", "campaign.log"}
    paths = (directory.campaign, directory.results, directory.trajectories, directory.worlds)
    assert {path.name for path in (*paths, directory.log)} == names
    assert directory.manifest == directory.marker == tmp_path / "manifest.json"


def test_the_lock_file_has_the_process_id_and_the_lock_is_released(tmp_path):
    directory = Training(tmp_path / "deep" / "out")
    with directory.locked():
        lock = directory.path / ".lock"
        assert lock.read_text() == str(os.getpid())
        with pytest.raises(ResultsError, match=str(os.getpid())), directory.locked():
            raise AssertionError("two hold the directory")
        assert lock.read_text() == str(os.getpid())
        lock.write_text("")
        with pytest.raises(ResultsError, match="unknown"), directory.locked():
            raise AssertionError("two hold the directory")
    with pytest.raises(ZeroDivisionError), directory.locked():
        raise ZeroDivisionError
    lock.write_text("9" * 100)
    with directory.locked():
        assert lock.read_text() == str(os.getpid())


def test_directory_that_is_read_cannot_be_locked_and_no_file_is_written(tmp_path):
    directory = Training(tmp_path)
    with directory.unchanged():
        assert os.listdir(tmp_path) == []
    in_use = pytest.raises(ResultsError, match=f"in use by another process .{os.getpid()}.")
    with directory.locked(), in_use, directory.unchanged():
        raise AssertionError("a process writes results")
    (tmp_path / ".lock").write_text("7")
    in_use = pytest.raises(ResultsError, match="in use")
    with directory.unchanged(), directory.unchanged(), in_use, directory.locked():
        raise AssertionError("a process reads results")
    assert (tmp_path / ".lock").read_text() == "7"


def test_lock_that_is_a_link_or_a_pipe_is_rejected(tmp_path):
    (tmp_path / "precious").write_text("precious")
    (tmp_path / ".lock").symlink_to("precious")
    for _ in range(2):
        with pytest.raises(ResultsError, match=r"\.lock"), Training(tmp_path).unchanged():
            raise AssertionError("the file is no lock")
        (tmp_path / ".lock").unlink()
        os.mkfifo(tmp_path / ".lock")


@pytest.mark.slow
def test_a_lock_is_released_when_its_process_is_killed(tmp_path):
    script = f"""
import os, pathlib
from test_interrupted_directories import Training
Training(pathlib.Path({str(tmp_path)!r})).locked().__enter__()
os.kill(os.getpid(), 9)
"""
    here = os.path.dirname(__file__)
    paths = [here, os.path.dirname(here), *filter(None, sys.path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    ended = subprocess.run(
        [sys.executable, "-c", script], env=environment, check=False, timeout=100
    )
    assert ended.returncode == -9
    with Training(tmp_path).locked():
        pass


@pytest.mark.parametrize(
    ("number", "full"),
    [(errno.ENOSPC, True), (errno.EDQUOT, True), (errno.EACCES, False), (errno.EIO, False)],
)
def test_a_full_disk_has_a_separate_message(tmp_path, number, full):
    message = disk_message(tmp_path, OSError(number, "reason"))
    assert message.startswith(f"{tmp_path}: ")
    assert ("finished trials" in message) == full
    assert message.endswith("reason") != full
    assert disk_message(tmp_path, OSError("odd")).endswith("odd")


def goals_in(world):
    return (Pose2D(1, 2),)


def test_a_log_that_is_complete_is_not_written_again(tmp_path):
    log = CampaignLog(tmp_path / "campaign.log", goals_in)
    log.rewrite([record(1)])
    before = os.stat(tmp_path / "campaign.log").st_ino
    log.rewrite([record(1)])
    assert os.stat(tmp_path / "campaign.log").st_ino == before
    log.rewrite([record(1), record(2)])
    assert os.stat(tmp_path / "campaign.log").st_ino != before
    (tmp_path / "campaign.log").unlink()
    log.rewrite([])
    assert (tmp_path / "campaign.log").read_bytes() == b""
    with pytest.raises(ResultsError):
        CampaignLog(tmp_path / "no" / "campaign.log", goals_in).add(record(1))


def test_the_last_line_of_a_trial_has_the_numbers_that_its_outcome_has():
    metrics = {"distance_m": 1234567.0}
    reached = format_outcome(record(outcome=Outcome.REACHED, metrics=metrics))
    assert reached.endswith("traveled is: 1.23457e+06 || Avg execution time per cycle is: nan\n\n")
    for outcome in Outcome:
        line = format_outcome(record(outcome=outcome, metrics=metrics))
        assert line.startswith(outcome.declaration.log)
        assert ("traveled" in line) == outcome.success
        assert ("cycle" in line) == outcome.valid
        assert ("touched a box" in line) == (not outcome.valid)


@pytest.mark.parametrize("name", [".lock", "results.sqlite", "trajectories", "worlds/a.world"])
def test_a_directory_with_a_symbolic_link_is_neither_read_nor_written(tmp_path, name):
    directory, precious = CampaignDirectory(tmp_path / "out"), tmp_path / "precious"
    (directory.path / "worlds").mkdir(parents=True)
    directory.manifest.write_text("{}")
    precious.write_text("precious")
    (directory.path / name).symlink_to(precious)
    with pytest.raises(ResultsError, match=f"{name}: is a symbolic link"), directory.locked():
        raise AssertionError("the link was followed")
    with pytest.raises(ResultsError, match=f"{name}: is a symbolic link"):
        directory.require_begun()
    assert precious.read_text() == "precious"


def test_links_of_the_programs_of_a_stack_are_allowed_in_their_logs(tmp_path):
    (tmp_path / "logs" / "1").mkdir(parents=True)
    (tmp_path / "logs" / "latest").symlink_to("1")
    with Training(tmp_path).locked():
        pass


def test_a_file_that_is_no_lock_is_not_overwritten(tmp_path):
    (tmp_path / "precious").write_text("precious")
    os.link(tmp_path / "precious", tmp_path / ".lock")
    foreign = pytest.raises(ResultsError, match="is not a lock of gz_testauto; remove")
    with foreign, Training(tmp_path).locked():
        raise AssertionError("the file was taken as a lock")
    assert (tmp_path / "precious").read_text() == "precious"


def test_a_path_that_is_not_utf_8_is_rejected_by_its_name(tmp_path):
    path = tmp_path / os.fsdecode(b"caf\xe9")
    with pytest.raises(ResultsError, match="the path is not valid UTF-8"):
        Training(path).require_fresh_or_begun()
    assert not os.path.exists(path)
