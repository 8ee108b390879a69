"""Manage the directory of a run that can be resumed: its layout, its lock, and atomic writes.

:class:`RunDirectory` is common to campaigns, comparisons of simulators and trainings. The directory
of a campaign contains:

======================  =======================================================
``manifest.json``       the inputs with their hashes, versions, the seed
``campaign.json``       the campaign as loaded, paths absolute
``results.sqlite``      one row per finished trial
``trajectories/``       one ``.npz`` per valid trial
``worlds/``             the worlds that the campaign generated or repaired
``campaign.log``        the log in the paper's format
``logs/``               the output of a navigation stack and of ROS nodes
``bags/``               the bags of trials with a navigation stack
``corpus.json``         the verdicts of a gate on a regression corpus
``report.html``         the report, which the command and the node write at their end
``.lock``               the process that runs the campaign
======================  =======================================================

Only the process that holds the lock stores trials in the directory. The kernel releases the lock
when the process ends, for any reason.
"""

import contextlib
import errno
import fcntl
import functools
import os
import shutil
import stat
from fnmatch import fnmatch
from pathlib import Path
from typing import Dict, Iterator, List, TextIO, Tuple

from typing_extensions import ClassVar, Literal

from gz_testauto.base.disk import (
    PARTIAL_SUFFIX,
    make_directory,
    read_file,
    replace_file,
    with_input,
)
from gz_testauto.base.errors import ResultsError

LOCK_NAME, LOGS = ".lock", "logs"
TRIALS_FILE = "trials.txt"
"""File that lists the trials with logs in its directory. Each line contains the wall time (s) at
which an attempt started, and the label of the trial."""
PAGE = "report.html"


class RunDirectory:
    """A directory in which one command stores and resumes a run.

    Constructing an instance does not change any file.
    """

    CONTENT: ClassVar[str]
    """Name of this kind of run in messages, such as ``campaign``."""
    COMMAND: ClassVar[str]
    """The command that starts this kind of run."""
    MARKER: ClassVar[str]
    """Name of the file that the command writes first."""
    EARLIER: ClassVar[Tuple[str, ...]] = ()
    """Patterns of files that can exist although the marker file does not."""
    UNFINISHED: ClassVar[Tuple[str, ...]]
    """Patterns of unfinished files and folders that remain if the command is killed."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path).absolute()
        self.marker = self.path / self.MARKER

    @property
    def is_begun(self) -> bool:
        """True if a run of this kind was started."""
        return os.path.isfile(self.marker)

    def require_begun(self) -> None:
        """Raise ``ResultsError`` if no run of this kind was started in this directory, or if it
        contains a symbolic link."""
        if self.is_begun:
            self.require_no_links()
            return
        fault = f"the directory contains no {self.CONTENT} (no {self.MARKER})"
        if os.path.isfile(self.path):
            fault = "this is a file, but neither a directory nor a complete pack"
        elif not os.path.lexists(self.path):
            fault = "the directory does not exist"
        remedy = f"the --out directory of `{self.COMMAND}`"
        for parent in self.path.parents:
            if os.path.isfile(parent / self.MARKER):
                remedy = f"{parent}, which contains a {self.CONTENT}"
                break
        raise ResultsError(f"{self.path}: {fault}; specify {remedy}")

    def require_fresh_or_begun(self) -> None:
        """Raise ``ResultsError`` unless the directory contains a run of this kind, is empty except
        for :attr:`EARLIER` and :attr:`UNFINISHED` files, or does not exist."""
        try:
            str(self.path).encode()
        except UnicodeEncodeError:
            raise ResultsError(
                f"{self.path}: the path is not valid UTF-8, so that results cannot name their "
                "files; rename the directory, or specify another one"
            ) from None
        if self.is_begun or not os.path.exists(self.path):
            return
        if not os.path.isdir(self.path):
            raise ResultsError(f"{self.path}: is a file; specify a directory")
        ignored_patterns = (LOCK_NAME, *self.EARLIER, *self.UNFINISHED)
        names = sorted(entry.name for entry in self.path.iterdir())
        foreign_names = [
            name
            for name in names
            if not any(fnmatch(name, pattern) for pattern in ignored_patterns)
        ]
        if foreign_names:
            raise ResultsError(
                f"{self.path}: contains {foreign_names[0]} but no {self.CONTENT}; "
                "specify an empty or new directory"
            )

    def remove_unfinished(self) -> None:
        """Remove the files that a killed command left. The caller must hold the lock."""
        with reporting_disk(self.path):
            for pattern in self.UNFINISHED:
                for unfinished_path in list(self.path.glob(pattern)):
                    if unfinished_path.is_dir():
                        shutil.rmtree(unfinished_path)
                    else:
                        unfinished_path.unlink()

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Create the directory if needed, and hold its lock while the block runs.

        Raises ``ResultsError``, without waiting, if another process holds the lock, if the
        directory contains a symbolic link, or if it cannot be written.
        """
        with reporting_disk(self.path):
            make_directory(self.path)
        self.require_no_links()
        with self._lock("a+", fcntl.LOCK_EX) as lock:
            lock.seek(0)
            if lock.read(200).strip("0123456789"):
                raise ResultsError(f"{lock.name}: is not a lock of gz_testauto; remove this file")
            lock.truncate(0)
            lock.write(str(os.getpid()))
            with contextlib.suppress(OSError):  # fails if the disk is full
                lock.flush()
            yield

    @contextlib.contextmanager
    def unchanged(self) -> Iterator[None]:
        """Prevent other commands from writing results while the block runs, without writing a file.

        Raises ``ResultsError``, without waiting, if another process holds the lock.
        """
        if not os.path.exists(self.path / LOCK_NAME):  # an unpacked copy that no command has used
            yield
            return
        with self._lock("r", fcntl.LOCK_SH):
            yield

    @contextlib.contextmanager
    def _lock(self, mode: Literal["a+", "r"], operation: int) -> Iterator[TextIO]:
        with contextlib.ExitStack() as stack:
            path = self.path / LOCK_NAME
            with reporting_disk(path):
                lock = stack.enter_context(open(path, mode, encoding="ascii", opener=_open_lock))
            self._acquire(lock, operation)
            yield lock

    def _acquire(self, lock: TextIO, operation: int) -> None:
        try:
            fcntl.flock(lock, operation | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise ResultsError(f"{self.path}: cannot be locked: {error}") from error
            lock.seek(0)
            holder = lock.read(200).strip() or "unknown"
            raise ResultsError(
                f"{self.path}: in use by another process ({holder}) that writes results; "
                "wait until it exits, or specify another directory"
            ) from None

    def require_no_links(self) -> None:
        """Raise ``ResultsError`` if the directory contains a symbolic link."""
        # A link in the results of another author could name any file of the user, whose content
        # would be read or overwritten. The programs of a stack can create links in "logs".
        folders = [str(self.path)]
        for folder in folders:
            for entry in with_input(
                folder, ResultsError, functools.partial(_list_directory, folder)
            ):
                if entry.is_symlink():
                    raise ResultsError(
                        f"{entry.path}: is a symbolic link, which a results directory must not "
                        "contain; replace it by the file or directory to which it refers"
                    )
                if entry.is_dir() and entry.name != LOGS:
                    folders.append(entry.path)


def _list_directory(folder: str) -> List["os.DirEntry[str]"]:
    with os.scandir(folder) as entries:
        return list(entries)


def _open_lock(path: str, flags: int) -> int:
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file; remove it", path)
    return descriptor


class CampaignDirectory(RunDirectory):
    """The directory of a campaign, with the paths of its files."""

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

    def log_directories(self) -> Dict[str, Path]:
        """Return the directory with the logs of the last attempt of each trial, by its label.
        Directories without a :data:`TRIALS_FILE` are ignored."""
        newest: Dict[str, Tuple[float, Path]] = {}
        for file in self.path.glob(f"{LOGS}/*/{TRIALS_FILE}"):
            with contextlib.suppress(OSError):  # removed, or not a file
                for line in read_file(file).decode("utf-8", "replace").splitlines():
                    time_s, _, label = line.partition(" ")
                    with contextlib.suppress(ValueError):  # damaged
                        newest[label] = max(
                            newest.get(label, (-1.0, file)), (float(time_s), file.parent)
                        )
        return {label: path for label, (_, path) in newest.items()}


def write_atomically(path: Path, content: bytes) -> None:
    """Replace the content of ``path`` atomically and durably.

    Raises ``ResultsError``, with the file unchanged, if it cannot be written.
    """
    with reporting_disk(path):
        replace_file(path, content)


@contextlib.contextmanager
def reporting_disk(path: Path) -> Iterator[None]:
    """Convert an ``OSError`` of the block to a ``ResultsError`` that names ``path``."""
    try:
        yield
    except OSError as error:
        raise ResultsError(disk_message(path, error)) from error


def disk_message(path: Path, error: OSError) -> str:
    """Return the message for a file that cannot be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return (
            f"{path}: no space left on the device; finished trials are stored: "
            "free space and run the same command again"
        )
    if isinstance(error, FileNotFoundError):
        return (
            f"{path}: cannot be written: the directory does not exist; create it and run the same "
            "command again"
        )
    return f"{path}: cannot be written: {error.strerror or error}"
