"""List and remove the plug-ins of a world and its included models.

A plug-in is a library that the simulator runs with the permissions of the user.
"""

import contextlib
from typing import Iterator, Tuple

from gz_testauto.base.errors import SdfError
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.values import remove_child


def plugin_files(document: SdfDocument, library: ModelLibrary) -> Tuple[str, ...]:
    """Return the file names of all plug-ins of a document and its included models, sorted. Includes
    that cannot be resolved are ignored."""
    return tuple(sorted(set(_library_names(document, document.root, library))))


def _library_names(document: SdfDocument, element: Element, library: ModelLibrary) -> Iterator[str]:
    for plugin in element.iter("plugin"):
        yield plugin.get("filename") or "?"
    for include in element.iter("include"):
        # An invalid include is reported when the world is read.
        with contextlib.suppress(SdfError), library.entered(document, include):
            model = library.included(document, include)
            if model is not None:
                yield from _library_names(model.document, model.element, library)


def without_plugins(document: SdfDocument, library: ModelLibrary) -> SdfDocument:
    """Return a copy of a world without plug-ins. Includes of models with plug-ins are expanded."""
    document = document.copy()
    for include in list(document.root.iter("include")):
        model = library.included(document, include)
        if model is not None and any(_library_names(model.document, model.element, library)):
            library.expand(document, include)
    for plugin in list(document.root.iter("plugin")):
        remove_child(plugin)
    return document
