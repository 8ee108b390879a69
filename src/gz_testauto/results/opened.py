"""Open results for reading: a results directory, or a file of the extra ``pack``."""

import contextlib
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator, Optional

from gz_testauto.base.registry import Registry

# Context managers with the file of a pack as parameter, which provide a directory.
PACK_READERS = Registry("pack reader", {})

FORMAT = "zip"


@dataclass(frozen=True)
class OpenedResults:
    """Results in the directory ``path``. If they come from a file, ``pack`` is this file, and
    ``path`` a temporary copy of its content."""

    path: Path
    pack: Optional[Path] = None

    @property
    def typed(self) -> Path:
        """The path to write in a command: ``pack`` if it is set, else ``path``."""
        return self.path if self.pack is None else self.pack


@contextlib.contextmanager
def open_results(path: Path) -> Iterator[OpenedResults]:
    """Provide the results in a directory, or a read-only temporary copy of a pack.

    Other paths are provided unchanged. Raises ``ResultsError`` if the pack is unsafe or damaged.
    """
    is_pack = os.path.isfile(path) and zipfile.is_zipfile(path)
    if not is_pack or FORMAT not in PACK_READERS.names():
        yield OpenedResults(path)
        return
    with PACK_READERS.get(FORMAT)(path) as directory:
        yield OpenedResults(directory, pack=path)
