"""Copy existing worlds that cannot be loaded unchanged.

Applies ``worlds.repair`` and ``worlds.allow_missing`` to the worlds of a directory: the copy has
the repairs of the former, lacks the missing resources that the latter allows, and refers to other
files by absolute paths. The user's files are never changed.
"""

from dataclasses import replace
from pathlib import Path
from typing import List, Tuple

from gz_testauto.results.directory import reporting_disk, write_atomically
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.missing import is_allowed, remove_missing
from gz_testauto.sdf.plugins import plugin_files
from gz_testauto.spec.worlds import WorldsSpec
from gz_testauto.worlds.manifest import WorldSet, sha256_of
from gz_testauto.worlds.record import WorldRecord


def copy_worlds(worlds: WorldSet, spec: WorldsSpec, folder: Path) -> WorldSet:
    """Copy the worlds to ``folder``; ``missing`` of each lists the omitted resources.

    An equal existing copy is not written again. Raises ``SdfError`` and ``ResultsError``.
    """
    copies: List[WorldRecord] = []
    with reporting_disk(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for entry in worlds:
        content, missing = _copy(entry.path, spec)
        path, digest = folder / f"{entry.name}.world", sha256_of(content)
        if not path.is_file() or sha256_of(path.read_bytes()) != digest:
            write_atomically(path, content)
        copies.append(replace(entry, path=path, sha256=digest, missing=missing))
    return replace(worlds, worlds=tuple(copies))


def missing_plugins(path: Path, spec: WorldsSpec) -> Tuple[str, ...]:
    """Return the plugins of a world that are allowed to be missing."""
    document = SdfDocument.read(path, spec.repair)
    named = plugin_files(document, ModelLibrary(repair=spec.repair))
    return tuple(name for name in named if spec.plugins and is_allowed(name, spec.allow_missing))


def _copy(path: Path, spec: WorldsSpec) -> Tuple[bytes, Tuple[str, ...]]:
    library = ModelLibrary(repair=spec.repair)
    document = SdfDocument.read(path, spec.repair)
    missing = remove_missing(document, library, spec.allow_missing)
    library.expand_repaired(document)
    library.make_paths_absolute(document)
    return document.to_bytes(), missing
