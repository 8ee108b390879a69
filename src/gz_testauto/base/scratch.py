"""Temporary directories that a later process removes if their own process was killed."""

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from pathlib import Path
from typing import Iterator, List, Tuple

PREFIX = "gz_testauto_scratch_"
_OWNER = "owner"


class ScratchDirectory:
    """A new temporary directory at ``path``. It is locked until it is removed."""

    def __init__(self, prefix: str = PREFIX) -> None:
        new_path = Path(tempfile.mkdtemp(prefix="." + prefix))
        self._lock = os.open(new_path / _OWNER, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.path = new_path.with_name(new_path.name[1:])
        new_path.rename(self.path)  # a directory with this name is always locked

    def note(self, text: str) -> None:
        """Store a text of at most 16 bytes that :func:`remove_orphans` returns."""
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, text.encode(), 0)

    def remove(self) -> None:
        """Remove the directory. Idempotent."""
        if self._lock >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
            self._lock = -1


@contextlib.contextmanager
def scratch_directory() -> Iterator[Path]:
    """Provide an empty temporary directory until the end of the block. First remove those of killed
    processes."""
    remove_orphans()
    directory = ScratchDirectory()
    try:
        empty = directory.path / "files"
        empty.mkdir()
        yield empty
    finally:
        directory.remove()


def remove_orphans(prefix: str = PREFIX) -> Tuple[List[str], List[str]]:
    """Remove the directories whose process no longer exists. Errors are ignored.

    Return the notes of the removed and of the remaining directories.
    """
    # The kernel releases the lock of a process that exits. The owner can have been killed together
    # with the processes that would remove its directory.
    removed, remaining = [], []
    for directory in _scratch_directories(prefix):
        try:
            lock = os.open(directory / _OWNER, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:  # no lock: created by another version, or already removed
            continue
        try:
            note = os.pread(lock, 16, 0).decode(errors="replace")
            if _try_lock(lock):
                with contextlib.suppress(OSError):
                    for folder, _, _ in os.walk(directory):  # those of a pack are read-only
                        os.chmod(folder, 0o700)
                shutil.rmtree(directory, ignore_errors=True)
                removed.append(note)
            else:
                remaining.append(note)
        finally:
            os.close(lock)
    return removed, remaining


def _scratch_directories(prefix: str) -> Iterator[Path]:
    for path in Path(tempfile.gettempdir()).glob(prefix + "*"):
        with contextlib.suppress(OSError):
            status = path.lstat()
            if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid():
                yield path


def _try_lock(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
