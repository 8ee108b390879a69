"""The same command completes a campaign after a power failure at any rename of its files.

A simulated disk keeps the content of a file only from its last ``fsync``. It either keeps all
entries of a directory, or only those at the last ``fsync`` of the directory. SQLite synchronizes
its own files, which are therefore kept.
"""

import os
from pathlib import Path

import pytest

from gz_testauto.base import disk
from gz_testauto.results import running
from gz_testauto.results.recordings import read_trajectory
from gz_testauto.worlds.manifest import read_worlds


class FailingDisk:
    """Records what is on the disk at each ``fsync``, and copies the state that a power failure
    would leave before and after each rename."""

    def __init__(self, monkeypatch, root, copies):
        self.root, self.copies = root, copies
        self.contents, self.entries, self.states = {}, {}, {}
        for module_function in ("rename", "replace"):
            monkeypatch.setattr(os, module_function, self.observed(getattr(os, module_function)))
        self.fsync = os.fsync
        monkeypatch.setattr(os, "fsync", self.synchronized)

    def synchronized(self, descriptor):
        self.fsync(descriptor)
        path = Path(f"/proc/self/fd/{descriptor}").resolve()
        number = path.stat().st_ino
        if path.is_dir():
            self.entries[number] = {one.name: one.stat().st_ino for one in path.iterdir()}
        else:
            self.contents[number] = path.read_bytes()

    def observed(self, rename):
        def move(source, target):
            self.fail()
            rename(source, target)
            self.fail()

        return move

    def fail(self):
        """Copy both states that a power failure at this moment can leave."""
        database = {path.name: path.read_bytes() for path in self.root.glob("results.sqlite*")}
        for files in (self.with_new_entries(self.root), self.without_new_entries(self.root)):
            state = {**dict(files), **database}
            self.states.setdefault(tuple(sorted(state.items())), len(self.states))

    def with_new_entries(self, folder):
        """Yield the files of a directory with all its entries; directories end with a slash."""
        for path in folder.iterdir():
            name = str(path.relative_to(self.root))
            if path.is_dir():
                yield f"{name}/", b""
                yield from self.with_new_entries(path)
            else:
                yield name, self.contents.get(path.stat().st_ino, b"")

    def without_new_entries(self, folder, number=None):
        """Yield the files of a directory with the entries that it had at its last ``fsync``."""
        for name, child in self.entries.get(number or folder.stat().st_ino, {}).items():
            path = folder / name
            where = str(path.relative_to(self.root))
            if child in self.entries or path.is_dir():
                yield f"{where}/", b""
                yield from self.without_new_entries(path, child)
            else:
                yield where, self.contents.get(child, b"")

    def restore(self):
        """Write all states into directories, and return these."""
        for state, number in self.states.items():
            for name, content in state:
                path = self.copies / str(number) / "out" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.mkdir() if name.endswith("/") else path.write_bytes(content)
        return [self.copies / str(number) / "out" for number in self.states.values()]


def outcome_of(ran):
    worlds = [(one.name, one.sha256) for one in read_worlds(ran.out / "worlds")]
    rows = [(one.trial, one.outcome, one.metrics["distance_m"]) for one in ran.results.trials]
    for record in ran.results.trials:
        read_trajectory(ran.out / "trajectories" / record.trajectory)
    return worlds, rows, (ran.out / "campaign.log").read_text().count("Simulation Started!")


@pytest.mark.slow
def test_campaign_is_completed_after_a_power_failure_at_any_rename(run, tmp_path, monkeypatch):
    out = tmp_path / "out"
    out.mkdir()
    # The heartbeat thread would change the database while it is copied.
    monkeypatch.setattr(running, "_write_runner", lambda connection, runner: None)
    with monkeypatch.context() as patched:
        failing = FailingDisk(patched, out, tmp_path / "failures")
        expected = outcome_of(run())
    directories = failing.restore()
    assert len(directories) > 20
    for directory in directories:
        assert outcome_of(run(out=directory)) == expected


def test_renamed_directory_is_on_the_disk_with_all_its_files(tmp_path, monkeypatch):
    root = tmp_path / "root"
    scratch = root / ".scratch"
    (scratch / "models").mkdir(parents=True)
    (scratch / "models" / "part.stl").write_bytes(b"part")
    (scratch / "a.world").write_bytes(b"world")
    failing = FailingDisk(monkeypatch, root, tmp_path / "failures")
    disk.rename_directory(scratch, root / "worlds")
    left = dict(failing.without_new_entries(root))
    files = {name: content for name, content in left.items() if not name.endswith("/")}
    assert files == {"worlds/models/part.stl": b"part", "worlds/a.world": b"world"}


def test_new_directories_are_on_the_disk(tmp_path, monkeypatch):
    failing = FailingDisk(monkeypatch, tmp_path, tmp_path)
    disk.make_directory(tmp_path / "a" / "b")
    disk.replace_file(tmp_path / "a" / "b" / "x", b"content")
    left = dict(failing.without_new_entries(tmp_path))
    assert left == {"a/": b"", "a/b/": b"", "a/b/x": b"content"}
