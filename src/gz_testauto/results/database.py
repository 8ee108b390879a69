"""A results database as SQLite opens it, and what SQLite says of it in this package's errors."""

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import Iterator

from gz_testauto.base.errors import ResultsError

BUSY_TIMEOUT_S = 30.0


def connect(path: Path) -> sqlite3.Connection:
    """Open the database; raises ``ResultsError``."""
    with reporting(path):
        # Transactions are begun by hand: implicit ones hide what is committed when.
        connection = sqlite3.connect(str(path), timeout=BUSY_TIMEOUT_S, isolation_level=None)
        connection.execute("PRAGMA synchronous = FULL")
        return connection


def undo_half_a_transaction(path: Path) -> None:
    """Undo what a writer was at when it was killed, if it was: a reader that may not write does
    not see through it. A transaction of a writer that lives is left alone."""
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
    """Turn SQLite's errors into ``ResultsError``. It quotes the names in a file as they are, which
    in a damaged one need not be text."""
    try:
        yield
    except UnicodeError as error:
        raise ResultsError(f"{path}: is damaged: {error}") from error
    except sqlite3.Error as error:
        text = str(error) or "is damaged"  # Python 3.8 says nothing of what is no text
        if "full" in text or "disk I/O" in text:
            text += (
                "; finished trials are safe: make room on the device and give the same "
                "command again"
            )
        raise ResultsError(f"{path}: {text}") from error
