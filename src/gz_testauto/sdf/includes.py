"""Find included models, and expand includes: replace an ``<include>`` by the ``<model>`` from its
file, with the overrides applied."""

import contextlib
import copy
import os
from pathlib import Path
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from lxml import etree

from gz_testauto.base import resources
from gz_testauto.base.description_files import XACRO
from gz_testauto.base.errors import ALLOW_MISSING_HINT, MissingFileError, ResourceError, SdfError
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.meshes.files import is_lfs_pointer
from gz_testauto.sdf.urdf.xacro import XacroInput
from gz_testauto.sdf.values import flag, insert_child, remove_child, text_of

MAX_NESTED_INCLUDES = 50

_URI_PARENTS = ("mesh", "heightmap", "script", "image")


class IncludedModel(NamedTuple):
    """The ``<model>`` or ``<light>`` of an ``<include>``, and the document that contains it."""

    document: SdfDocument
    element: Element


# a function that returns whether an ``<include>`` must be removed
Without = Callable[[SdfDocument, Element], bool]


class ModelLibrary:
    """A cache that finds included models, and reads each file once. ``model_path`` lists the
    directories that are searched for ``model://`` URIs, by default those of
    :func:`gz_testauto.base.resources.model_path`. With ``xacro``, included files in xacro are
    expanded."""

    def __init__(
        self,
        model_path: Optional[Sequence[Path]] = None,
        repair: bool = False,
        xacro: Optional[XacroInput] = None,
    ) -> None:
        self.model_path = tuple(resources.model_path() if model_path is None else model_path)
        self._repair, self._xacro = repair, xacro
        self._documents: Dict[Path, SdfDocument] = {}
        self._paths: Dict[Tuple[str, Path], Path] = {}
        self._locations: List[str] = []

    def resolve(self, document: SdfDocument, element: Element) -> Path:
        """Return the file or directory to which a ``<uri>`` element refers. Raises
        ``MissingFileError`` if it does not exist."""
        uri = (element.text or "").strip()
        if not uri:
            raise SdfError(f"{document.where(element)}: <{element.tag}> is empty")
        key = (uri, document.directory)
        if key not in self._paths:
            self._paths[key] = self._resolve_uri(document, element, uri)
        return self._paths[key]

    def _resolve_uri(self, document: SdfDocument, element: Element, uri: str) -> Path:
        try:
            path = resources.resolve(uri, document.directory, self.model_path)
        except ResourceError as error:
            raise _missing_file_error(document, element, str(error)) from error
        if not os.path.exists(path):
            raise _missing_file_error(document, element, _missing_message(uri, path))
        if path.is_file() and is_lfs_pointer(path):
            problem = f"{path} is only a pointer of Git LFS; fetch the file by `git lfs pull`"
            raise _missing_file_error(document, element, problem)
        return path

    def included(self, document: SdfDocument, include: Element) -> Optional[IncludedModel]:
        """Return the model to which an ``<include>`` refers, or None for a light or an actor."""
        source = self._included_file(document, include)
        return None if source.model is None else IncludedModel(source, source.model)

    def included_light(self, document: SdfDocument, include: Element) -> Optional[IncludedModel]:
        source = self._included_file(document, include)
        light = None if source.model is not None else source.root.find("light")
        return None if light is None else IncludedModel(source, light)

    def _included_file(self, document: SdfDocument, include: Element) -> SdfDocument:
        uri = include.find("uri")
        if uri is None:
            raise SdfError(
                f"{document.where(include)}: <include> has no <uri>; add that of a model"
            )
        for tag in ("placement_frame", "experimental_params"):
            if include.find(tag) is not None:
                raise SdfError(
                    f"{document.where(include)}: <{tag}> in <include> is not supported; "
                    "remove it, since Gazebo 11 does not read it either"
                )
        path = self.resolve(document, uri)
        try:
            path = resources.model_file(path)
        except ResourceError as error:
            raise _missing_file_error(document, uri, str(error)) from error
        if path not in self._documents:
            try:
                self._documents[path] = SdfDocument.read(path, self._repair, self._xacro)
            except SdfError as error:
                raise SdfError(f"{error} (included from {document.where(include)})") from error
        source = self._documents[path]
        if any(source.root.find(tag) is not None for tag in ("model", "light", "actor")):
            return source
        raise SdfError(f"{document.where(uri)}: {path} has no <model>, <light> or <actor>")

    def expand(
        self, document: SdfDocument, include: Element, is_removed: Optional[Without] = None
    ) -> Element:
        """Replace an ``<include>`` by the included ``<model>``, and return the model.

        Relative URIs become absolute, and nested includes are expanded, or removed if
        ``is_removed`` returns True for them. If the include is in a model, both models get
        the same ``<static>``.
        """
        owner, static = include.getparent(), None
        if owner.tag == "model":
            static = self.static(document, owner)
            _set_static(owner, static)
        if static is None:
            static = self.static_of_include(document, include)
        model = self._expand_copy(document, include, document.version, is_removed, static)
        if model is None:
            raise SdfError(f"{document.where(include)}: this <include> does not include a model")
        model.tail = include.tail
        include.getparent().replace(include, model)
        return model

    def static(self, document: SdfDocument, model: Element) -> Optional[bool]:
        """Return the first ``<static>`` of a ``<model>`` or its included models, or None."""
        # Gazebo 11 merges a model with the models that it includes, so the value is theirs, too.
        for child in model:
            if child.tag == "static":
                return flag(document, model, "static")
            if child.tag == "include":
                static = self.static_of_include(document, child)
                if static is not None:
                    return static
        return None

    def static_of_include(self, document: SdfDocument, include: Element) -> Optional[bool]:
        if include.find("static") is not None:
            return flag(document, include, "static")
        try:
            model = self.included(document, include)
        except MissingFileError:  # removed, or reported when the model is read
            model = None
        if model is None:
            return None
        with self.entered(document, include):
            return self.static(model.document, model.element)

    def expand_all(self, document: SdfDocument, element: Element) -> None:
        for include in list(element.iter("include")):
            if self.included(document, include) is not None:
                self.expand(document, include)

    def standalone(self, document: SdfDocument, element: Element, name: str) -> Element:
        """Return a new ``<sdf>`` element with a copy of a ``<model>`` or ``<include>``. The copy
        has the name ``name``, expanded includes and absolute URIs."""
        root = etree.Element("sdf", version=document.root.get("version"))
        root.append(copy.deepcopy(element))
        root[0].tail = None
        copied_document = SdfDocument(root, b"", document.source, document.path)
        self.absolutize(copied_document, root)
        self.expand_all(copied_document, root)
        root[0].set("name", name)
        return root

    def expand_changed(self, document: SdfDocument) -> bool:
        """Expand each ``<include>`` for which malformed XML was repaired or xacro was run. Returns
        True if an include was expanded."""
        # Programs that read the document later do not repair it, and do not run xacro.
        changed_includes = [
            include
            for include in document.root.iter("include")
            if self._is_changed(document, include)
        ]
        for include in changed_includes:
            self.expand(document, include)
        return bool(changed_includes)

    def _is_changed(self, document: SdfDocument, include: Element) -> bool:
        try:
            model = self.included(document, include)
        except MissingFileError:  # removed, or reported when the world is read
            return False
        if model is None:
            return False
        path = model.document.path
        if model.document.repairs or (path is not None and path.suffix == XACRO):
            return True
        with self.entered(document, include):
            return any(
                self._is_changed(model.document, inner) for inner in model.element.iter("include")
            )

    def _expand_copy(
        self,
        document: SdfDocument,
        include: Element,
        version: Tuple[int, ...],
        is_removed: Optional[Without] = None,
        static: Optional[bool] = None,
    ) -> Optional[Element]:
        """Return a copy of the included model, converted to the SDF ``version``, with expanded
        includes and applied overrides. Returns None for a light or an actor."""
        included_model = self.included(document, include)
        if included_model is None:
            return None
        model = copy.deepcopy(included_model.element)
        originals = list(included_model.element.iter("include"))
        duplicates = list(model.iter("include"))
        self.absolutize(included_model.document, model)
        _convert(model, included_model.document.version, version)
        for original, duplicate in zip(originals, duplicates):
            if is_removed is not None and is_removed(included_model.document, original):
                remove_child(duplicate)
                continue
            owner, nested_static = original.getparent(), static
            if owner is not included_model.element:
                nested_static = self.static(included_model.document, owner)
                _set_static(duplicate.getparent(), nested_static)
            if nested_static is None:
                nested_static = self.static_of_include(included_model.document, original)
            with self.entered(included_model.document, original):
                nested_model = self._expand_copy(
                    included_model.document, original, version, is_removed, nested_static
                )
            if nested_model is not None:
                nested_model.tail = duplicate.tail
                duplicate.getparent().replace(duplicate, nested_model)
        override(model, include)
        _set_static(model, static)
        return model

    @contextlib.contextmanager
    def entered(self, document: SdfDocument, include: Element) -> Iterator[None]:
        """Return a context for reading an ``<include>``, which rejects cycles and too deep
        nesting."""
        location = document.where(include)
        if location in self._locations:
            raise SdfError(f"{location}: this <include> includes itself; remove it")
        if len(self._locations) == MAX_NESTED_INCLUDES:
            raise SdfError(
                f"{location}: more than {MAX_NESTED_INCLUDES} nested <include> elements; remove "
                "some"
            )
        self._locations.append(location)
        try:
            yield
        finally:
            self._locations.pop()

    def absolutize(self, document: SdfDocument, element: Element) -> None:
        """Replace resolvable URIs below ``element`` by absolute ``file://`` URIs."""
        for uri in element.iter("uri"):
            text = (uri.text or "").strip()
            if not text or uri.getparent().tag not in _URI_PARENTS:
                continue
            with contextlib.suppress(ResourceError):
                path = resources.resolve(text, document.directory, self.model_path)
                if os.path.exists(path):
                    uri.text = f"file://{path}"

    def make_paths_absolute(self, document: SdfDocument) -> None:
        """Make relative paths of existing files absolute, so that the document can be written to
        another directory."""
        for uri in document.root.iter("uri"):
            text = (uri.text or "").strip()
            scheme, separator, scheme_path = text.partition("://")
            name = scheme_path if separator else text
            is_path = scheme == "file" or not separator
            if uri.getparent().tag not in (*_URI_PARENTS, "include") or not is_path or not name:
                continue
            file = document.directory / name
            if not Path(name).is_absolute() and os.path.exists(file):
                uri.text = f"file://{os.path.normpath(file)}"


def read_world(path: Path, repair: bool = False, xacro: Optional[XacroInput] = None) -> SdfDocument:
    """Read a world and expand xacro in it. ``xacro`` is the input for the world; included models
    get no arguments. In an SDF world, included models are expanded only if ``xacro`` is not None.
    """
    document = SdfDocument.read(path, repair, xacro or XacroInput())
    if xacro is not None or path.suffix == XACRO:
        ModelLibrary(repair=repair, xacro=XacroInput()).expand_changed(document)
    return document


def override(model: Element, include: Element) -> None:
    """Apply the overrides in an ``<include>`` to the ``<model>`` that replaces it."""
    name = text_of(include, "name")
    if name:
        model.set("name", name)
    for tag in ("pose", "static"):
        override_element = include.find(tag)
        if override_element is None:
            continue
        model_element = model.find(tag)
        replacement = copy.deepcopy(override_element)
        if model_element is None:
            insert_child(model, replacement, 0)
        else:
            replacement.tail = model_element.tail
            model.replace(model_element, replacement)
    for plugin in include.findall("plugin"):
        insert_child(model, copy.deepcopy(plugin), len(model))


def _set_static(model: Element, static: Optional[bool]) -> None:
    text = (text_of(model, "static") or "").lower()
    if static is None or text in (("1", "true") if static else ("0", "false")):
        return
    for element in model.findall("static"):
        remove_child(element)
    element = etree.Element("static")
    element.text = "1" if static else "0"
    insert_child(model, element, 0)


def _missing_file_error(document: SdfDocument, element: Element, problem: str) -> MissingFileError:
    return MissingFileError(f"{document.where(element)}: {problem}; {ALLOW_MISSING_HINT}")


def _missing_message(uri: str, path: Path) -> str:
    subject = uri if uri in (str(path), f"file://{path}") else f"{uri} names {path}, which"
    is_resource_uri = uri.startswith("file://") and not uri.startswith("file:///")
    places = [(Path(path.anchor), str(path.relative_to(path.anchor)))]
    places += [
        (folder, uri[len("file://") :])
        for folder in resources.media_directories()
        if is_resource_uri
    ]
    for start, name in places:
        similar_path = resources.find_ignoring_case(start, name)
        if similar_path:
            return f"{subject} does not exist; did you mean {start / similar_path}?"
    remedy = "; file:// URIs are also searched in GAZEBO_RESOURCE_PATH" if is_resource_uri else ""
    return f"{subject} does not exist{remedy}"


def _convert(model: Element, version: Tuple[int, ...], target_version: Tuple[int, ...]) -> None:
    """Convert the frame attributes of poses and joint axes from ``version`` to ``target_version``,
    so that the frames do not change."""
    # The frame of a pose has an effect up to SDF 1.6. By default, an axis is in the model frame up
    # to SDF 1.4, and in the joint frame from SDF 1.5 on.
    if (version < (1, 7)) != (target_version < (1, 7)):
        for pose in model.iter("pose"):
            frame_name = pose.attrib.pop("frame", None)
            if frame_name and version < (1, 7) and not pose.get("relative_to"):
                pose.set("relative_to", frame_name)
    if version >= (1, 5) or target_version < (1, 5):
        return
    for axis in (*model.iter("axis"), *model.iter("axis2")):
        direction = axis.find("xyz")
        if target_version >= (1, 7) and direction is not None:
            direction.set("expressed_in", "__model__")
        elif target_version < (1, 7) and axis.find("use_parent_model_frame") is None:
            etree.SubElement(axis, "use_parent_model_frame").text = "true"
