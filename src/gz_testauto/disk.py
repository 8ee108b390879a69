"""Files that are written whole or not at all.

Owns the way from bytes to a file that is there under its name only when it is complete, and
saying in one line what the disk refused. What a file holds is its writer's.
"""

import contextlib
import errno
import os
from pathlib import Path
from typing import Iterator

from gz_testauto.errors import DiskError

PARTIAL_SUFFIX = ".partial"


def partial_of(path: Path) -> Path:
    """Where a file is until it is whole."""
    return path.with_name(path.name + PARTIAL_SUFFIX)


def write_whole(path: Path, content: bytes) -> None:
    """Put ``content`` at ``path`` whole and durably, or leave what was there.

    Raises ``OSError`` when the disk is full or refuses; nothing half-written stays.
    """
    partial = partial_of(path)
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
def writing(path: Path) -> Iterator[None]:
    """Turn what the operating system says while ``path`` is written into a ``DiskError``."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            reason = "no space left on the device; make room, or name another place"
        else:
            reason = f"cannot be written: {error.strerror or error}"
        raise DiskError(f"{path}: {reason}") from error
