"""List and remove the plug-ins of a world, which are libraries that the simulator loads and runs.

Plug-ins of included models are listed and removed, too. A plug-in runs with the permissions of the
user, and its name does not show whether it is harmless.
"""

import contextlib
from typing import Iterator, Tuple

from gz_testauto.base.errors import SdfError
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.values import remove_child


def plugin_files(document: SdfDocument, library: ModelLibrary) -> Tuple[str, ...]:
    """Return the file names of all plug-ins of a document and its included models, sorted and
    without duplicates.

    Includes that cannot be resolved are ignored.
    """
    return tuple(sorted(set(_named(document, document.root, library))))


def _named(document: SdfDocument, element: Element, library: ModelLibrary) -> Iterator[str]:
    for plugin in element.iter("plugin"):
        yield plugin.get("filename") or "?"
    for include in element.iter("include"):
        # An invalid include is reported when the world is read.
        with contextlib.suppress(SdfError), library.entered(document, include):
            found = library.included(document, include)
            if found is not None:
                yield from _named(found.document, found.element, library)


def without_plugins(document: SdfDocument, library: ModelLibrary) -> SdfDocument:
    """Return a copy of a world without plug-ins.

    Includes of models with plug-ins are expanded so that their plug-ins can be removed. Raises
    ``SdfError`` if an include cannot be resolved.
    """
    document = document.copy()
    for include in list(document.root.iter("include")):
        found = library.included(document, include)
        if found is not None and any(_named(found.document, found.element, library)):
            library.expand(document, include)
    for plugin in list(document.root.iter("plugin")):
        remove_child(plugin)
    return document
