"""The temporary directory of one gzserver, and its removal.

A directory is owned by the process that holds the lock on a file in it; the kernel releases the
lock when the process ends. If the owner is killed together with the processes that would remove its
directory, the next start of a server by the same user removes it.
"""

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from pathlib import Path
from typing import Iterator, List

PREFIX = "gz_testauto_gzserver_"
_OWNER = "owner"


class ScratchDirectory:
    """A new directory at ``path``, locked until it is removed."""

    def __init__(self) -> None:
        new = Path(tempfile.mkdtemp(prefix="." + PREFIX))
        self._lock = os.open(new / _OWNER, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.path = new.with_name(new.name[1:])  # no process finds this name without the lock
        new.rename(self.path)
        self._port = 0

    def note_port(self, port: int) -> None:
        """Store the port of gzserver, which names its directory in the home directory."""
        self._port = port
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, str(port).encode(), 0)

    @property
    def files(self) -> List[Path]:
        """The directories that are removed."""
        return [self.path, *([_own_log(self._port)] if self._port else [])]

    def remove(self) -> None:
        """Remove the directory and gzserver's directory in the home directory. Idempotent."""
        if self._lock < 0:
            return
        for path in self.files:
            shutil.rmtree(path, ignore_errors=True)
        os.close(self._lock)
        self._lock = -1


def remove_orphans() -> None:
    """Remove directories of servers whose owner has ended; errors are ignored."""
    orphans, living = [], []
    for directory in _directories():
        try:
            lock = os.open(directory / _OWNER, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:  # not locked: of another version, or already removed
            continue
        try:
            port = os.pread(lock, 16, 0)
            if _free(lock):
                shutil.rmtree(directory, ignore_errors=True)
                orphans.append(port)
            else:
                living.append(port)
        finally:
            os.close(lock)
    for port in orphans:
        if port.isdigit() and port not in living:
            shutil.rmtree(_own_log(int(port)), ignore_errors=True)


def _directories() -> Iterator[Path]:
    for path in Path(tempfile.gettempdir()).glob(PREFIX + "*"):
        with contextlib.suppress(OSError):
            status = path.lstat()
            if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid():
                yield path


def _free(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _own_log(port: int) -> Path:
    return Path("~/.gazebo").expanduser() / f"server-{port}"
