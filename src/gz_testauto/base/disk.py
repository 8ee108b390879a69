"""Files on the disk: only regular ones are read, and they are written whole or not at all.

Owns the way from a file that somebody else put there to its bytes, without waiting for what has no
end; the way from bytes to a file that is there under its name only when it is complete; and
saying in one line what the disk refused. What a file holds is its reader's and writer's.
"""

import contextlib
import errno
import os
import stat
from pathlib import Path
from typing import Iterator, Union

from gz_testauto.base.errors import DiskError

PARTIAL_SUFFIX = ".partial"


def read_file(path: Union[str, Path], most_bytes: int = -1) -> bytes:
    """What a regular file holds; the first ``most_bytes`` of it unless that is negative.

    Raises ``OSError``, also for a pipe or a device, which might never say anything, or never end.
    """
    with open(path, "rb", opener=_open_at_once) as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        return stream.read(most_bytes)


def _open_at_once(path: str, flags: int) -> int:
    """As ``open`` opens files; a pipe without waiting for its writer."""
    return os.open(path, flags | os.O_NONBLOCK)


def partial_path(path: Path) -> Path:
    """Where a file is until it is whole."""
    return path.with_name(path.name + PARTIAL_SUFFIX)


def replace_file(path: Path, content: bytes) -> None:
    """Put ``content`` at ``path`` whole and durably, or leave what was there.

    Raises ``OSError`` when the disk is full or refuses; nothing half-written stays.
    """
    partial = partial_path(path)
    try:
        with open(partial, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(partial, path)
    except OSError:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise


@contextlib.contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn what the operating system says while ``path`` is written into a ``DiskError``."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            reason = "no space left on the device; make room, or name another place"
        else:
            reason = f"cannot be written: {error.strerror or error}"
        raise DiskError(f"{path}: {reason}") from error
