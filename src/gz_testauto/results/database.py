"""Open a results database with SQLite, and convert SQLite's errors to this package's."""

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import Iterator

from gz_testauto.base.errors import ResultsError

BUSY_TIMEOUT_S = 30.0


def connect(path: Path) -> sqlite3.Connection:
    """Open the database. Raises ``ResultsError``."""
    with reporting(path):
        # Transactions are explicit: with implicit ones, the time of a commit is not visible.
        connection = sqlite3.connect(str(path), timeout=BUSY_TIMEOUT_S, isolation_level=None)
        connection.execute("PRAGMA synchronous = FULL")
        return connection


def undo_half_a_transaction(path: Path) -> None:
    """Roll back the transaction of a killed writer, if there is one, because a read-only connection
    cannot read the file before that. Transactions of running writers are not affected. Raises
    ``ResultsError`` if the file cannot be written."""
    if not os.path.exists(path.with_name(path.name + "-journal")):
        return
    try:
        with contextlib.closing(connect(path)) as connection, reporting(path):
            connection.execute("SELECT 1 FROM sqlite_master").fetchall()
    except ResultsError as error:
        raise ResultsError(
            f"{error}. A writer was killed here in the middle of a transaction, which has to be "
            f"undone: make {path.parent} writable, or read a copy of it"
        ) from error


@contextlib.contextmanager
def reporting(path: Path) -> Iterator[None]:
    """Convert SQLite's errors to ``ResultsError``. SQLite quotes the names in a file unchanged;
    in a damaged file they can be invalid text."""
    try:
        yield
    except UnicodeError as error:
        raise ResultsError(f"{path}: is damaged: {error}") from error
    except sqlite3.Error as error:
        text = str(error) or "is damaged"  # Python 3.8 omits a message that is no text
        if "full" in text or "disk I/O" in text:
            text += (
                "; finished trials are safe: make room on the device and give the same "
                "command again"
            )
        raise ResultsError(f"{path}: {text}") from error
