"""The folder that holds one campaign's results: its layout, its lock, and atomic writing.

======================  =======================================================
``manifest.json``       what was run: inputs with their hashes, versions, seeds
``campaign.json``       the campaign as loaded, paths absolute
``results.sqlite``      one row per finished trial
``trajectories/``       one ``.npz`` per valid trial
``worlds/``             the worlds, where the campaign generated them
``campaign.log``        the log in the paper's words
``report.html``         the page, written anew at the end of each run
======================  =======================================================

One runner at a time: a lock that the kernel releases when its process ends, however it ends.
"""

import contextlib
import errno
import fcntl
import os
import shutil
from pathlib import Path
from typing import Iterator, List

from gz_testauto.base.disk import PARTIAL_SUFFIX, partial_path, replace_file
from gz_testauto.base.errors import ResultsError

LOCK_NAME = ".lock"


class CampaignDirectory:
    """Paths in a results directory. Creating the object touches nothing."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path).absolute()
        self.manifest = self.path / "manifest.json"
        self.campaign = self.path / "campaign.json"
        self.results = self.path / "results.sqlite"
        self.trajectories = self.path / "trajectories"
        self.worlds = self.path / "worlds"
        self.log = self.path / "campaign.log"

    @property
    def _unfinished(self) -> List[Path]:
        """What is left of a file of ours when its writer is killed."""
        return [partial_path(path) for path in (self.manifest, self.campaign, self.log)]

    @property
    def holds_campaign(self) -> bool:
        """Whether a campaign was begun here."""
        return os.path.isfile(self.manifest)

    def require_campaign(self) -> None:
        """Raise ``ResultsError`` unless a campaign was begun here."""
        if not self.holds_campaign:
            raise ResultsError(
                f"{self.path}: holds no campaign (no {self.manifest.name}); "
                "give the directory that `gz_testauto run --out` wrote to"
            )

    def require_fresh_or_campaign(self) -> None:
        """Raise ``ResultsError`` if there are files here that no campaign wrote."""
        if self.holds_campaign or not os.path.exists(self.path):
            return
        if not os.path.isdir(self.path):
            raise ResultsError(f"{self.path}: is a file; results need a directory")
        ours = {self.path / LOCK_NAME, *self._unfinished}
        foreign = sorted(entry.name for entry in self.path.iterdir() if entry not in ours)
        if foreign:
            raise ResultsError(
                f"{self.path}: holds {foreign[0]} but no campaign; give an empty or new directory"
            )

    def remove_unfinished(self) -> None:
        """Remove what a runner was writing when it was killed; the caller holds the lock."""
        with reporting_disk(self.path):
            for partial in (*self._unfinished, *self.trajectories.glob(f"*.npz{PARTIAL_SUFFIX}")):
                if os.path.exists(partial):
                    partial.unlink()
            for scratch in self.path.glob(f".{self.worlds.name}.*"):
                shutil.rmtree(scratch)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the directory, creating it, while the block runs.

        Raises ``ResultsError`` at once when another process holds it, or when the directory
        cannot be written.
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


def write_atomically(path: Path, content: bytes) -> None:
    """Put ``content`` at ``path`` whole and durably, or leave what was there.

    Raises ``ResultsError`` when the disk is full or refuses.
    """
    with reporting_disk(path):
        replace_file(path, content)


@contextlib.contextmanager
def reporting_disk(path: Path) -> Iterator[None]:
    """Turn what the operating system says about files into a ``ResultsError``."""
    try:
        yield
    except OSError as error:
        raise ResultsError(disk_message(path, error)) from error


def disk_message(path: Path, error: OSError) -> str:
    """Say what went wrong with a file, and that nothing is lost."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return (
            f"{path}: no space left on the device; finished trials are safe: "
            "make room and give the same command again"
        )
    return f"{path}: cannot be written: {error.strerror or error}"
