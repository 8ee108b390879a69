"""Remove references to missing files from a world if the user allows these files to be missing.

Missing files are included models, meshes and height maps that do not exist, Git LFS pointers, and
meshes without triangles. Plug-ins are not checked: only a simulator can locate them.
"""

import contextlib
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Iterable, Iterator, List, Sequence, Tuple

from gz_testauto.base.errors import MissingFileError, ResourceError, SdfError
from gz_testauto.base.resources import model_file
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.meshes.files import mesh_parts
from gz_testauto.sdf.values import remove_child, text_of

_FILES = ("mesh", "heightmap")


def is_allowed(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


@contextlib.contextmanager
def without_missing_hint(remedy: str = "") -> Iterator[None]:
    """Return a context that raises each ``MissingFileError`` as an ``SdfError`` with ``remedy`` in
    place of the original remedy."""
    # The original remedy is an option that not every command supports.
    try:
        yield
    except MissingFileError as error:
        raise SdfError("; ".join(filter(None, [error.without_hint, remedy]))) from error


def remove_missing(
    document: SdfDocument, library: ModelLibrary, allowed_names: Sequence[str]
) -> Tuple[str, ...]:
    """Remove references to missing files from a document in place, and return their URIs. Only
    URIs that match a pattern in ``allowed_names`` are removed.

    An ``<include>`` without its model, and a collision or visual without its file, are removed. An
    included model that references a missing file is expanded, and the reference is removed.
    """
    cleaner = _Cleaner(library, allowed_names)
    cleaner.clean(document, document.root)
    return tuple(dict.fromkeys(cleaner.removed))


class _Cleaner:
    def __init__(self, library: ModelLibrary, allowed_names: Sequence[str]) -> None:
        self._library, self._allowed_names = library, allowed_names
        self.removed: List[str] = []

    def clean(self, document: SdfDocument, element: Element) -> None:
        for include in list(element.iter("include")):
            if self._is_removed(document, include):
                remove_child(include)
                continue
            with contextlib.suppress(SdfError):  # reported when the world is read
                if self._needs_cleaning(document, include):
                    self.clean(document, self._library.expand(document, include, self._is_removed))
        for tag in _FILES:
            for file in list(element.iter(tag)):
                if self._is_removed(document, file):
                    remove_child(file.getparent().getparent())

    def _is_removed(self, document: SdfDocument, owner: Element) -> bool:
        is_removed = self._is_allowed_and_missing(document, owner)
        if is_removed:
            self.removed.append(text_of(owner, "uri") or "")
        return is_removed

    def _needs_cleaning(self, document: SdfDocument, include: Element) -> bool:
        model = self._library.included(document, include)
        if model is None:
            return False
        with self._library.entered(document, include):
            return any(
                self._is_allowed_and_missing(model.document, owner)
                for tag in (*_FILES, "include")
                for owner in model.element.iter(tag)
            ) or any(
                self._needs_cleaning(model.document, inner)
                for inner in model.element.iter("include")
            )

    def _is_allowed_and_missing(self, document: SdfDocument, owner: Element) -> bool:
        uri = text_of(owner, "uri") or ""
        return is_allowed(uri, self._allowed_names) and _is_missing(document, owner, self._library)


def _is_missing(document: SdfDocument, owner: Element, library: ModelLibrary) -> bool:
    uri = owner.find("uri")
    if uri is None or not (uri.text or "").strip():
        return False
    try:
        path = library.resolve(document, uri)
        if owner.tag == "include":
            model_file(path)
        return owner.tag == "mesh" and _is_empty(path)
    except (SdfError, ResourceError):
        return True


def _is_empty(mesh: Path) -> bool:
    """Return whether a mesh has no triangles. A damaged mesh is not empty."""
    with contextlib.suppress(SdfError):
        return not any(len(triangles) for _, triangles in mesh_parts(mesh, mesh.stat().st_mtime_ns))
    return False
