"""Plugins: the libraries that a world has the simulator load and run.

Owns finding every ``<plugin>`` of a world, in included models too, and taking them out. Which are
harmless nobody can tell from their names: a plugin is code that runs as the user.
"""

import contextlib
from typing import Iterator, Tuple

from gz_testauto.base.errors import SdfError
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.includes import ModelLibrary


def plugin_files(document: SdfDocument, library: ModelLibrary) -> Tuple[str, ...]:
    """The libraries that plugins of a document name, each once, sorted; those of models that it
    includes as well. An include that cannot be followed is passed over."""
    return tuple(sorted(set(_named(document, document.root, library))))


def _named(document: SdfDocument, element: Element, library: ModelLibrary) -> Iterator[str]:
    for plugin in element.iter("plugin"):
        yield plugin.get("filename") or "?"
    for include in element.iter("include"):
        # what a broken include means is said by whoever reads the world
        with contextlib.suppress(SdfError), library.entered(document, include):
            found = library.included(document, include)
            if found is not None:
                yield from _named(found.document, found.element, library)


def remove_plugins(element: Element) -> None:
    """Take every plugin below ``element`` out; what stood after it stays."""
    for plugin in list(element.iter("plugin")):
        before, parent = plugin.getprevious(), plugin.getparent()
        if plugin.tail:
            if before is not None:
                before.tail = (before.tail or "") + plugin.tail
            else:
                parent.text = (parent.text or "") + plugin.tail
        parent.remove(plugin)


def without_plugins(document: SdfDocument, library: ModelLibrary) -> SdfDocument:
    """A copy of a world's document in which nothing has a plugin: those of the file are taken
    out, and an include of a model that has some is written out without them. Raises
    ``SdfError``."""
    document = document.copy()
    for include in list(document.root.iter("include")):
        found = library.included(document, include)
        if found is not None and any(_named(found.document, found.element, library)):
            library.expand(document, include)
    remove_plugins(document.root)
    return document
