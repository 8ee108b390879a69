"""Find included models, apply the overrides in ``<include>``, and expand includes.

Expanding an ``<include>`` means replacing it by the ``<model>`` from the included file. A
:class:`ModelLibrary` reads each file once.
"""

import contextlib
import copy
import os
from pathlib import Path
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from lxml import etree

from gz_testauto.base import resources
from gz_testauto.base.errors import ALLOW_MISSING_HINT, MissingFileError, ResourceError, SdfError
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.meshes.files import is_lfs_pointer
from gz_testauto.sdf.values import flag, insert_child, remove_child, text_of

MAX_NESTED_INCLUDES = 50
"""Largest depth of nested includes."""

_URI_PARENTS = ("mesh", "heightmap", "script", "image")


class IncludedModel(NamedTuple):
    """The ``<model>`` or ``<light>`` to which an ``<include>`` refers, and the document that
    contains it."""

    document: SdfDocument
    element: Element


Without = Callable[[SdfDocument, Element], bool]
"""The type of a function that returns whether an ``<include>`` of a document must be removed."""


class ModelLibrary:
    """A cache that finds and reads included models.

    ``model_path`` lists the directories that are searched for ``model://`` URIs. The default is the
    return value of :func:`gz_testauto.base.resources.model_path` when the library is created.
    """

    def __init__(self, model_path: Optional[Sequence[Path]] = None, repair: bool = False) -> None:
        self.model_path = tuple(resources.model_path() if model_path is None else model_path)
        self._repair = repair
        self._documents: Dict[Path, SdfDocument] = {}
        self._resolved: Dict[Tuple[str, Path], Path] = {}
        self._entered: List[str] = []

    def resolve(self, document: SdfDocument, element: Element) -> Path:
        """Return the file or directory to which a ``<uri>`` element refers.

        Raises ``SdfError`` with the URI, its file and line, and the searched directories if it does
        not exist.
        """
        uri = (element.text or "").strip()
        if not uri:
            raise SdfError(f"{document.where(element)}: <{element.tag}> is empty")
        key = (uri, document.directory)
        if key not in self._resolved:
            self._resolved[key] = self._found(document, element, uri)
        return self._resolved[key]

    def _found(self, document: SdfDocument, element: Element, uri: str) -> Path:
        try:
            found = resources.resolve(uri, document.directory, self.model_path)
        except ResourceError as error:
            raise _missing(document, element, str(error)) from error
        if not os.path.exists(found):
            raise _missing(document, element, _missing_message(uri, found))
        if found.is_file() and is_lfs_pointer(found):
            problem = f"{found} is only a pointer of Git LFS; fetch the file by `git lfs pull`"
            raise _missing(document, element, problem)
        return found

    def included(self, document: SdfDocument, include: Element) -> Optional[IncludedModel]:
        """Return the model to which an ``<include>`` refers, or None if it refers to a light or an
        actor.

        Raises ``SdfError`` if the file cannot be found or read.
        """
        found = self._included_file(document, include)
        return None if found.model is None else IncludedModel(found, found.model)

    def included_light(self, document: SdfDocument, include: Element) -> Optional[IncludedModel]:
        """Return the ``<light>`` to which an ``<include>`` refers, or None if it refers to a model
        or an actor."""
        found = self._included_file(document, include)
        light = None if found.model is not None else found.root.find("light")
        return None if light is None else IncludedModel(found, light)

    def _included_file(self, document: SdfDocument, include: Element) -> SdfDocument:
        uri = include.find("uri")
        if uri is None:
            raise SdfError(
                f"{document.where(include)}: <include> has no <uri>; add that of a model"
            )
        for refused in ("placement_frame", "experimental_params"):
            if include.find(refused) is not None:
                raise SdfError(
                    f"{document.where(include)}: <{refused}> in <include> is not supported; "
                    "remove it, since Gazebo 11 does not read it either"
                )
        path = self.resolve(document, uri)
        try:
            path = resources.model_file(path)
        except ResourceError as error:
            raise _missing(document, uri, str(error)) from error
        if path not in self._documents:
            try:
                self._documents[path] = SdfDocument.read(path, repair=self._repair)
            except SdfError as error:
                raise SdfError(f"{error} (included from {document.where(include)})") from error
        found = self._documents[path]
        if any(found.root.find(tag) is not None for tag in ("model", "light", "actor")):
            return found
        raise SdfError(f"{document.where(uri)}: {path} has no <model>, <light> or <actor>")

    def expand(
        self, document: SdfDocument, include: Element, without: Optional[Without] = None
    ) -> Element:
        """Replace an ``<include>`` of ``document`` by the included ``<model>``, and return the
        model.

        Overrides are applied, relative URIs become absolute, and nested includes are expanded.
        Nested includes for which the function ``without`` returns True are removed. If the include
        is in a model, both models get the same ``<static>`` (:meth:`static`).
        """
        owner, fixed = include.getparent(), None
        if owner.tag == "model":
            fixed = self.static(document, owner)
            _set_static(owner, fixed)
        if fixed is None:
            fixed = self.static_of_include(document, include)
        model = self._expanded(document, include, document.version, without, fixed)
        if model is None:
            raise SdfError(f"{document.where(include)}: this <include> does not include a model")
        model.tail = include.tail
        include.getparent().replace(include, model)
        return model

    def static(self, document: SdfDocument, model: Element) -> Optional[bool]:
        """Return the value of the first ``<static>`` of a ``<model>``, or None if it has none.

        As Gazebo 11 merges a model with the models that it includes, a ``<static>`` of an included
        model is one of them, and the result is also valid for the included models.
        """
        for child in model:
            if child.tag == "static":
                return flag(document, model, "static")
            if child.tag == "include":
                fixed = self.static_of_include(document, child)
                if fixed is not None:
                    return fixed
        return None

    def static_of_include(self, document: SdfDocument, include: Element) -> Optional[bool]:
        """Return the value of the ``<static>`` that an ``<include>`` or its model specifies, or
        None if they specify none."""
        if include.find("static") is not None:
            return flag(document, include, "static")
        try:
            found = self.included(document, include)
        except MissingFileError:  # removed, or reported when the model is read
            found = None
        if found is None:
            return None
        with self.entered(document, include):
            return self.static(found.document, found.element)

    def expand_all(self, document: SdfDocument, element: Element) -> None:
        """Expand all includes of models below ``element``, which is an element of ``document``."""
        for include in list(element.iter("include")):
            if self.included(document, include) is not None:
                self.expand(document, include)

    def standalone(self, document: SdfDocument, element: Element, name: str) -> Element:
        """Return a new ``<sdf>`` element with a copy of a model.

        The model is specified by its ``<model>`` or ``<include>`` element. The copy has the name
        ``name``, expanded includes and absolute URIs.
        """
        root = etree.Element("sdf", version=document.root.get("version"))
        root.append(copy.deepcopy(element))
        root[0].tail = None
        alone = SdfDocument(root, b"", document.source, document.path)
        self.absolutize(alone, root)
        self.expand_all(alone, root)
        root[0].set("name", name)
        return root

    def expand_repaired(self, document: SdfDocument) -> bool:
        """Expand in place each ``<include>`` whose file has malformed XML that was repaired.

        An include is also expanded if the file of a nested include was repaired, since programs
        that read the document later might not repair it. Returns whether any include was expanded.
        """
        repaired = [e for e in document.root.iter("include") if self._was_repaired(document, e)]
        for include in repaired:
            self.expand(document, include)
        return bool(repaired)

    def _was_repaired(self, document: SdfDocument, include: Element) -> bool:
        found = self.included(document, include)
        if found is None or found.document.repairs:
            return found is not None
        with self.entered(document, include):
            return any(
                self._was_repaired(found.document, inner) for inner in found.element.iter("include")
            )

    def _expanded(
        self,
        document: SdfDocument,
        include: Element,
        version: Tuple[int, ...],
        without: Optional[Without] = None,
        fixed: Optional[bool] = None,
    ) -> Optional[Element]:
        found = self.included(document, include)
        if found is None:
            return None
        model = copy.deepcopy(found.element)
        originals = list(found.element.iter("include"))
        duplicates = list(model.iter("include"))
        self.absolutize(found.document, model)
        _convert(model, found.document.version, version)
        for original, duplicate in zip(originals, duplicates):
            if without is not None and without(found.document, original):
                remove_child(duplicate)
                continue
            owner, inner = original.getparent(), fixed
            if owner is not found.element:
                inner = self.static(found.document, owner)
                _set_static(duplicate.getparent(), inner)
            if inner is None:
                inner = self.static_of_include(found.document, original)
            with self.entered(found.document, original):
                nested = self._expanded(found.document, original, version, without, inner)
            if nested is not None:
                nested.tail = duplicate.tail
                duplicate.getparent().replace(duplicate, nested)
        override(model, include)
        _set_static(model, fixed)
        return model

    @contextlib.contextmanager
    def entered(self, document: SdfDocument, include: Element) -> Iterator[None]:
        """Return a context for the time in which an ``<include>`` is read, to detect cycles.

        Raises ``SdfError`` if the context of the same include is already active, or if too many
        includes are nested.
        """
        place = document.where(include)
        if place in self._entered:
            raise SdfError(f"{place}: this <include> includes itself; remove it")
        if len(self._entered) == MAX_NESTED_INCLUDES:
            raise SdfError(
                f"{place}: more than {MAX_NESTED_INCLUDES} nested <include> elements; remove some"
            )
        self._entered.append(place)
        try:
            yield
        finally:
            self._entered.pop()

    def absolutize(self, document: SdfDocument, element: Element) -> None:
        """Replace resolvable URIs below ``element`` by absolute ``file://`` URIs.

        Absolute URIs are valid in any file and simulator. URIs that cannot be resolved are not
        changed.
        """
        for uri in element.iter("uri"):
            text = (uri.text or "").strip()
            if not text or uri.getparent().tag not in _URI_PARENTS:
                continue
            with contextlib.suppress(ResourceError):
                path = resources.resolve(text, document.directory, self.model_path)
                if os.path.exists(path):
                    uri.text = f"file://{path}"

    def make_paths_absolute(self, document: SdfDocument) -> None:
        """Make each relative path absolute if its file exists relative to the directory of the
        document.

        The document can then be written to another directory.
        """
        for uri in document.root.iter("uri"):
            text = (uri.text or "").strip()
            scheme, separator, rest = text.partition("://")
            name = rest if separator else text
            is_path = scheme == "file" or not separator
            if uri.getparent().tag not in (*_URI_PARENTS, "include") or not is_path or not name:
                continue
            file = document.directory / name
            if not Path(name).is_absolute() and os.path.exists(file):
                uri.text = f"file://{os.path.normpath(file)}"


def override(model: Element, include: Element) -> None:
    """Apply the overrides in an ``<include>`` to the ``<model>`` that replaces it."""
    name = text_of(include, "name")
    if name:
        model.set("name", name)
    for tag in ("pose", "static"):
        given = include.find(tag)
        if given is None:
            continue
        own = model.find(tag)
        replacement = copy.deepcopy(given)
        if own is None:
            insert_child(model, replacement, 0)
        else:
            replacement.tail = own.tail
            model.replace(own, replacement)
    for plugin in include.findall("plugin"):
        insert_child(model, copy.deepcopy(plugin), len(model))


def _set_static(model: Element, fixed: Optional[bool]) -> None:
    """Set the ``<static>`` of a model, unless ``fixed`` is None or already its value."""
    text = (text_of(model, "static") or "").lower()
    if fixed is None or text in (("1", "true") if fixed else ("0", "false")):
        return
    for element in model.findall("static"):
        remove_child(element)
    element = etree.Element("static")
    element.text = "1" if fixed else "0"
    insert_child(model, element, 0)


def _missing(document: SdfDocument, element: Element, problem: str) -> MissingFileError:
    return MissingFileError(f"{document.where(element)}: {problem}; {ALLOW_MISSING_HINT}")


def _missing_message(uri: str, path: Path) -> str:
    subject = uri if uri in (str(path), f"file://{path}") else f"{uri} names {path}, which"
    also = uri.startswith("file://") and not uri.startswith("file:///")
    places = [(Path(path.anchor), str(path.relative_to(path.anchor)))]
    places += [(folder, uri[len("file://") :]) for folder in resources.media_directories() if also]
    for start, name in places:
        similar = resources.find_ignoring_case(start, name)
        if similar:
            return f"{subject} does not exist; did you mean {start / similar}?"
    remedy = "; file:// URIs are also searched in GAZEBO_RESOURCE_PATH" if also else ""
    return f"{subject} does not exist{remedy}"


def _convert(model: Element, version: Tuple[int, ...], to: Tuple[int, ...]) -> None:
    """Write the frames of poses and of joint axes so that a model keeps its meaning in another SDF
    version.

    The ``frame`` of a pose has an effect up to SDF 1.6. By default, an axis is in the model frame
    up to SDF 1.4, and in the joint frame from SDF 1.5 on.
    """
    if (version < (1, 7)) != (to < (1, 7)):
        for pose in model.iter("pose"):
            named = pose.attrib.pop("frame", None)
            if named and version < (1, 7) and not pose.get("relative_to"):
                pose.set("relative_to", named)
    if version >= (1, 5) or to < (1, 5):
        return
    for axis in (*model.iter("axis"), *model.iter("axis2")):
        direction = axis.find("xyz")
        if to >= (1, 7) and direction is not None:
            direction.set("expressed_in", "__model__")
        elif to < (1, 7) and axis.find("use_parent_model_frame") is None:
            etree.SubElement(axis, "use_parent_model_frame").text = "true"
