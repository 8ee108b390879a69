"""Read regular files only, and write files atomically.

Reading never blocks on a pipe or a device. New content is written to a temporary file, which is
renamed when it is complete.
"""

import contextlib
import errno
import os
import stat
from pathlib import Path
from typing import Iterator, Type, Union

from gz_testauto.base.errors import DiskError, GzTestautoError

PARTIAL_SUFFIX = ".partial"


def read_file(path: Union[str, Path], most_bytes: int = -1) -> bytes:
    """Return the content of a regular file, limited to ``most_bytes`` unless that is negative.

    Raises ``OSError`` if the file cannot be read, or if it is a pipe or a device, from which
    reading can block or never end.
    """
    with open(path, "rb", opener=_open_without_waiting) as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        return stream.read(most_bytes)


def read_input(
    path: Union[str, Path], error_class: Type[GzTestautoError], most_bytes: int = -1
) -> bytes:
    """Return the content of a regular file as :func:`read_file` does.

    If the file cannot be read, raises ``error_class`` with the path and the reason in the message.
    """
    try:
        return read_file(path, most_bytes)
    except OSError as error:
        raise error_class(f"{path}: cannot be read: {error.strerror or error}") from error


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def replace_file(path: Path, content: bytes) -> None:
    """Replace the file at ``path`` by ``content`` atomically and durably.

    Raises ``OSError`` if the file cannot be written; the previous file then remains unchanged.
    """
    partial = path.with_name(path.name + PARTIAL_SUFFIX)
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
    """Return a context manager that converts ``OSError`` into a ``DiskError`` that names
    ``path``.
    """
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            reason = "no space is left on the device; free some space or choose another directory"
        else:
            reason = f"cannot be written: {error.strerror or error}"
        raise DiskError(f"{path}: {reason}") from error
