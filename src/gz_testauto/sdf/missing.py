"""What a world names and is not there, where its user allows it to be missing.

Owns leaving out, by name, included models, meshes and height maps that cannot be found, files that
are only pointers of Git LFS, and meshes without a triangle, as Gazebo goes on without them. What is
missing and was not named stays in the document, for whoever reads it to refuse. Plugins are not
looked for here: where they are installed only a simulator knows.
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


def is_allowed(name: str, allowed: Iterable[str]) -> bool:
    """Whether a name is among those that may be missing; ``*`` and ``?`` stand for any text and
    any character in them."""
    return any(fnmatchcase(name, pattern) for pattern in allowed)


@contextlib.contextmanager
def without_missing_hint(remedy: str = "") -> Iterator[None]:
    """Within the block, an error about a missing file does not offer to leave it out, for
    commands that cannot; it ends with ``remedy`` instead."""
    try:
        yield
    except MissingFileError as error:
        raise SdfError("; ".join(filter(None, [error.without_hint, remedy]))) from error


def remove_missing(
    document: SdfDocument, library: ModelLibrary, allowed: Sequence[str]
) -> Tuple[str, ...]:
    """Take out of a document, in place, what is not there and may be missing: an ``<include>``
    whose model is not found, a collision or visual whose file is not. A model that is included
    and names such a file is written out without it. Returns their URIs as written, each once.
    """
    found: List[str] = []
    _clean(document, document.root, library, allowed, found)
    return tuple(dict.fromkeys(found))


def _clean(
    document: SdfDocument,
    element: Element,
    library: ModelLibrary,
    allowed: Sequence[str],
    found: List[str],
) -> None:

    def is_left_out(owner_document: SdfDocument, owner: Element) -> bool:
        left_out = _is_allowed_and_missing(owner_document, owner, library, allowed)
        if left_out:
            found.append(text_of(owner, "uri") or "")
        return left_out

    for include in list(element.iter("include")):
        if is_left_out(document, include):
            remove_child(include)
            continue
        with contextlib.suppress(SdfError):  # said by whoever reads the world
            if _needs_cleaning(document, include, library, allowed):
                model = library.expand(document, include, is_left_out)
                _clean(document, model, library, allowed, found)
    for tag in _FILES:
        for file in list(element.iter(tag)):
            if is_left_out(document, file):
                remove_child(file.getparent().getparent())


def _needs_cleaning(
    document: SdfDocument, include: Element, library: ModelLibrary, allowed: Sequence[str]
) -> bool:
    """Whether what an include stands for names a file or a model that is missing and may be."""
    model = library.included(document, include)
    if model is None:
        return False
    with library.entered(document, include):
        return any(
            _is_allowed_and_missing(model.document, owner, library, allowed)
            for tag in (*_FILES, "include")
            for owner in model.element.iter(tag)
        ) or any(
            _needs_cleaning(model.document, inner, library, allowed)
            for inner in model.element.iter("include")
        )


def _is_allowed_and_missing(
    document: SdfDocument, owner: Element, library: ModelLibrary, allowed: Sequence[str]
) -> bool:
    uri = text_of(owner, "uri") or ""
    return is_allowed(uri, allowed) and _is_missing(document, owner, library)


def _is_missing(document: SdfDocument, owner: Element, library: ModelLibrary) -> bool:
    uri = owner.find("uri")
    if uri is None or not (uri.text or "").strip():
        return False
    try:
        path = library.resolve(document, uri)
        if owner.tag == "include":
            model_file(path)
        return owner.tag == "mesh" and _holds_nothing(path)
    except (SdfError, ResourceError):
        return True


def _holds_nothing(mesh: Path) -> bool:
    """Whether a mesh has not one triangle. A damaged one is there, and refused by who reads it."""
    with contextlib.suppress(SdfError):
        return not any(len(triangles) for _, triangles in mesh_parts(mesh, mesh.stat().st_mtime_ns))
    return False
