"""The directory of a run that can be continued: its layout, its lock, and atomic writing.

:class:`RunDirectory` owns what campaigns, comparisons of simulators and trainings have in common:
the lock, and the check that a directory holds no other kind of run. A campaign's directory:

======================  =======================================================
``manifest.json``       what was run: inputs with their hashes, versions, seeds
``campaign.json``       the campaign as loaded, paths absolute
``results.sqlite``      one row per finished trial
``trajectories/``       one ``.npz`` per valid trial
``worlds/``             the worlds, where the campaign generated them
``campaign.log``        the log in the paper's words
``report.html``         the page, written at the end of each run
======================  =======================================================

One runner at a time: a lock that the kernel releases when its process ends, however it ends.
"""

import contextlib
import errno
import fcntl
import os
import shutil
from fnmatch import fnmatch
from pathlib import Path
from typing import Iterator, Tuple

from typing_extensions import ClassVar

from gz_testauto.base.disk import PARTIAL_SUFFIX, replace_file
from gz_testauto.base.errors import ResultsError

LOCK_NAME = ".lock"


class RunDirectory:
    """A directory that one command writes to and continues in. Creating the object changes no
    file."""

    CONTENT: ClassVar[str]
    """The kind of run, in messages."""
    COMMAND: ClassVar[str]
    """The command that starts the run, in messages."""
    MARKER: ClassVar[str]
    """The file that the command writes first; a directory with it holds this kind of run."""
    EARLIER: ClassVar[Tuple[str, ...]] = ()
    """Patterns of files that can exist without the marker."""
    UNFINISHED: ClassVar[Tuple[str, ...]]
    """Patterns of the remains when the command is killed."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path).absolute()
        self.marker = self.path / self.MARKER

    @property
    def is_begun(self) -> bool:
        """True if a run of this kind was started here."""
        return os.path.isfile(self.marker)

    def require_begun(self) -> None:
        """Raise ``ResultsError`` unless a run of this kind was started here."""
        if not self.is_begun:
            raise ResultsError(
                f"{self.path}: holds no {self.CONTENT} (no {self.MARKER}); "
                f"give the directory that `{self.COMMAND} --out` wrote to"
            )

    def require_fresh_or_begun(self) -> None:
        """Raise ``ResultsError`` if files exist here that no run of this kind wrote."""
        if self.is_begun or not os.path.exists(self.path):
            return
        if not os.path.isdir(self.path):
            raise ResultsError(f"{self.path}: is a file; results need a directory")
        ours = (LOCK_NAME, *self.EARLIER, *self.UNFINISHED)
        names = sorted(entry.name for entry in self.path.iterdir())
        foreign = [name for name in names if not any(fnmatch(name, one) for one in ours)]
        if foreign:
            raise ResultsError(
                f"{self.path}: holds {foreign[0]} but no {self.CONTENT}; "
                "give an empty or new directory"
            )

    def remove_unfinished(self) -> None:
        """Remove the files that were being written when the command was killed; the caller holds
        the lock."""
        with reporting_disk(self.path):
            for pattern in self.UNFINISHED:
                for remains in list(self.path.glob(pattern)):
                    if remains.is_dir():
                        shutil.rmtree(remains)
                    else:
                        remains.unlink()

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the directory, creating it, while the block runs.

        Raises ``ResultsError``, without waiting, when another process holds it, or when the
        directory cannot be written.
        """
        with contextlib.ExitStack() as stack:
            with reporting_disk(self.path):
                self.path.mkdir(parents=True, exist_ok=True)
                lock = stack.enter_context(open(self.path / LOCK_NAME, "a+", encoding="ascii"))
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno not in (errno.EAGAIN, errno.EACCES):
                    raise ResultsError(f"{self.path}: cannot be locked: {error}") from error
                lock.seek(0)
                holder = lock.read().strip() or "unknown"
                raise ResultsError(
                    f"{self.path}: another runner (process {holder}) is writing here; "
                    "wait for it, or give another directory"
                ) from None
            lock.truncate(0)
            lock.write(str(os.getpid()))
            with contextlib.suppress(OSError):  # on a full disk the holder's number is lost
                lock.flush()
            yield


class CampaignDirectory(RunDirectory):
    """Paths in a campaign's directory."""

    CONTENT, COMMAND, MARKER = "campaign", "gz_testauto run", "manifest.json"
    UNFINISHED = (
        *(f"{name}{PARTIAL_SUFFIX}" for name in ("manifest.json", "campaign.json", "campaign.log")),
        f"trajectories/*.npz{PARTIAL_SUFFIX}",
        ".worlds.*",
    )

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.manifest = self.marker
        self.campaign = self.path / "campaign.json"
        self.results = self.path / "results.sqlite"
        self.trajectories = self.path / "trajectories"
        self.worlds = self.path / "worlds"
        self.log = self.path / "campaign.log"


def write_atomically(path: Path, content: bytes) -> None:
    """Put ``content`` at ``path`` whole and durably, or leave what was there.

    Raises ``ResultsError`` when the disk is full or refuses.
    """
    with reporting_disk(path):
        replace_file(path, content)


@contextlib.contextmanager
def reporting_disk(path: Path) -> Iterator[None]:
    """Turn errors of the operating system about files into a ``ResultsError``."""
    try:
        yield
    except OSError as error:
        raise ResultsError(disk_message(path, error)) from error


def disk_message(path: Path, error: OSError) -> str:
    """Return the message for a file that cannot be written; finished trials are kept."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return (
            f"{path}: no space left on the device; finished trials are safe: "
            "make room and give the same command again"
        )
    return f"{path}: cannot be written: {error.strerror or error}"
