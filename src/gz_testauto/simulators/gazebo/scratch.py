"""The directory of one gzserver in the system's temporary directory, and its end.

Owns its name, who it belongs to and the removal of those whose owner was killed together with
all that would have removed them: they go when the next server is started by the same user. A
directory is owned by whoever holds the lock on a file in it, which the kernel gives up with the
process.
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
    """A new directory, held until it is removed. ``path`` is where it is."""

    def __init__(self) -> None:
        new = Path(tempfile.mkdtemp(prefix="." + PREFIX))
        self._lock = os.open(new / _OWNER, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.path = new.with_name(new.name[1:])  # under that name nobody finds it unlocked
        new.rename(self.path)
        self._port = 0

    def note_port(self, port: int) -> None:
        """gzserver has another directory in the home directory, by the port it listens on."""
        self._port = port
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, str(port).encode(), 0)

    @property
    def files(self) -> List[Path]:
        """All that is removed."""
        return [self.path, *([_own_log(self._port)] if self._port else [])]

    def remove(self) -> None:
        """Remove it with all that is in it, and gzserver's own. Idempotent."""
        if self._lock < 0:
            return
        for path in self.files:
            shutil.rmtree(path, ignore_errors=True)
        os.close(self._lock)
        self._lock = -1


def remove_orphans() -> None:
    """Remove what servers left whose owner is gone; what cannot be removed stays."""
    orphans, living = [], []
    for directory in _directories():
        try:
            lock = os.open(directory / _OWNER, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:  # nobody can have locked it: of another version, or gone meanwhile
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
