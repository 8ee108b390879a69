"""Read regular files of limited size only, and write files atomically and durably.

Reading never blocks on a pipe or a device.
"""

import contextlib
import errno
import hashlib
import os
import secrets
import stat
from pathlib import Path
from typing import BinaryIO, Callable, Iterator, Mapping, Type, TypeVar, Union

from gz_testauto.base.errors import DiskError, GzTestautoError, SpecError

PARTIAL_SUFFIX = ".partial"

MOST_BYTES = 100_000_000  # largest input file that is read into memory

_BLOCK_BYTES = 1_000_000

Value = TypeVar("Value")


def read_file(path: Union[str, Path], most_bytes: int = MOST_BYTES) -> bytes:
    """Return the content of a file. Raises ``OSError`` also for a pipe, a device, or a file larger
    than ``most_bytes``."""
    with _open_regular_file(path) as stream:
        if os.fstat(stream.fileno()).st_size > most_bytes:
            reason = f"it is larger than {most_bytes / 1e6:g} MB, the limit for such a file"
            raise OSError(errno.EFBIG, reason, str(path))
        return stream.read()


def read_start(path: Union[str, Path], most_bytes: int) -> bytes:
    with _open_regular_file(path) as stream:
        return stream.read(most_bytes)


def read_end(path: Union[str, Path], most_bytes: int) -> bytes:
    with _open_regular_file(path) as stream:
        stream.seek(max(0, os.fstat(stream.fileno()).st_size - most_bytes))
        return stream.read(most_bytes)


def read_input(
    path: Union[str, Path], error_class: Type[GzTestautoError], most_bytes: int = MOST_BYTES
) -> bytes:
    return with_input(path, error_class, lambda: read_file(path, most_bytes))


def read_text(
    path: Union[str, Path], error_class: Type[GzTestautoError], most_bytes: int = MOST_BYTES
) -> str:
    """Return the text of a UTF-8 file, without a byte order mark, or raise ``error_class``."""
    content = read_input(path, error_class, most_bytes)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise error_class(
            f"{path}:{line}: the file is not UTF-8; save the file as UTF-8"
        ) from error


def hash_file(path: Union[str, Path]) -> str:
    """Return the SHA-256 sum of a regular file of any size."""
    digest = hashlib.sha256()
    with _open_regular_file(path) as stream:
        for block in iter(lambda: stream.read(_BLOCK_BYTES), b""):
            digest.update(block)
    return digest.hexdigest()


def require_regular(path: Union[str, Path], error_class: Type[GzTestautoError]) -> None:
    """Raise ``error_class`` unless ``path`` is a regular file, before a library opens the file."""
    with_input(path, error_class, lambda: read_start(path, 0))


def with_input(
    path: Union[str, Path], error_class: Type[GzTestautoError], read: Callable[[], Value]
) -> Value:
    """Return ``read()``, and convert ``OSError`` into ``error_class``, which names ``path``."""
    try:
        return read()
    except OSError as error:
        raise error_class(f"{path}: cannot be read: {error.strerror or error}") from error


@contextlib.contextmanager
def _open_regular_file(path: Union[str, Path]) -> Iterator[BinaryIO]:
    with open(path, "rb", opener=_open_without_waiting) as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise OSError(errno.EINVAL, "the path is not a regular file", str(path))
        yield stream


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def replace_file(path: Path, content: bytes) -> None:
    """Replace a file atomically and durably.

    Raises ``OSError``, also if ``path`` is not a regular file; it remains unchanged.
    """
    with replaced_file(path) as stream:
        stream.write(content)


def write_new_files(contents: Mapping[Path, bytes]) -> None:
    """Write files that the user can edit later.

    Raises ``SpecError``, before the first file is written, if a file exists with other content.
    Raises ``OSError`` if a file cannot be written.
    """
    for path, content in contents.items():
        if os.path.lexists(path) and not (path.is_file() and path.read_bytes() == content):
            raise SpecError(
                f"{path}: exists with other content, such as your changes; remove or rename it, or "
                "use another directory for --out"
            )
    for path, content in contents.items():
        replace_file(path, content)


@contextlib.contextmanager
def replaced_file(path: Path) -> Iterator[BinaryIO]:
    """Provide a stream whose content replaces the file when the block ends without an error, as
    :func:`replace_file` does."""
    if os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode):
        reason = "the path exists and is not a regular file; specify the path of a file"
        raise OSError(errno.EINVAL, reason, str(path))
    partial_path = path.with_name(path.name + PARTIAL_SUFFIX)
    with contextlib.suppress(FileNotFoundError):  # a killed process leaves its file
        partial_path.unlink()
    try:
        with open(partial_path, "w+b", opener=_create_exclusively) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(partial_path, path)
    except BaseException:
        with contextlib.suppress(OSError):
            partial_path.unlink()
        raise
    synchronize(path.parent)


def _create_exclusively(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_EXCL | os.O_NOFOLLOW, 0o666)


def make_scratch_directory(target: Path) -> Path:
    # Unlike tempfile, mkdir uses the permissions of the umask.
    scratch = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    scratch.mkdir()
    return scratch


def rename_directory(source: Path, target: Path) -> None:
    """Rename a directory atomically and durably, with all files in it. Raises ``OSError``, also if
    ``target`` is not empty."""
    for folder, _, names in os.walk(source):
        for name in names:
            synchronize(Path(folder, name))
        synchronize(Path(folder))
    os.rename(source, target)
    synchronize(target.parent)


def make_directory(path: Path) -> None:
    """Create a directory and its missing parents durably."""
    missing_folders = [folder for folder in (path, *path.parents) if not os.path.exists(folder)]
    path.mkdir(parents=True, exist_ok=True)
    for folder in missing_folders:
        synchronize(folder.parent)


def synchronize(path: Path) -> None:
    if os.path.islink(path):
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # File systems without this operation for directories report EINVAL.
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            reason = "no space is left on the device; free some space or choose another directory"
        else:
            reason = f"cannot be written: {error.strerror or error}"
        raise DiskError(f"{path}: {reason}") from error
