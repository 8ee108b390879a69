"""Move, add and remove the models of a world.

The ``<state>`` of the world is applied and removed first.
"""

import copy
from typing import Dict, Optional, Sequence, Union

from lxml import etree

from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.base.xml_file import parse_xml
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.state import apply_state
from gz_testauto.sdf.values import insert_child, remove_child, set_pose, text_of


def model_elements(
    document: SdfDocument, library: Optional[ModelLibrary] = None
) -> Dict[str, Element]:
    """Return the ``<model>`` and ``<include>`` elements directly below the world, by model name.
    Of several models with the same name, only the first one is returned."""
    elements: Dict[str, Element] = {}
    for child in document.require_world():
        name = None
        if child.tag == "model":
            name = child.get("name")
        elif child.tag == "include":
            name = text_of(child, "name")
            if not name:
                library = library or ModelLibrary()
                included_model = library.included(document, child)
                name = None if included_model is None else included_model.element.get("name")
        if name:
            elements.setdefault(name, child)
    return elements


def _find_model_element(document: SdfDocument, name: str) -> Element:
    # Names in this file are compared first, so that a missing include of another model is no error.
    for child in document.require_world().iterchildren("model", "include"):
        if name == (child.get("name") if child.tag == "model" else text_of(child, "name")):
            return child
    elements = model_elements(document)
    if name not in elements:
        known_names = ", ".join(sorted(elements)) or "none"
        raise SdfError(f"{document.source}: the world has no model {name!r}. Known: {known_names}")
    return elements[name]


def set_model_pose(document: SdfDocument, name: str, pose: Pose) -> None:
    """Apply and remove the ``<state>`` of the world, and set the world-frame pose of a model."""
    apply_state(document)
    set_pose(_find_model_element(document, name), pose)


def remove_model(document: SdfDocument, name: str) -> None:
    apply_state(document)
    remove_child(_find_model_element(document, name))


def add_model(
    document: SdfDocument,
    sdf: Union[str, bytes],
    pose: Optional[Pose] = None,
    name: Optional[str] = None,
) -> Element:
    """Append a model from SDF text (``<sdf><model>…`` or ``<model>…``) to the world, and return it.
    ``pose`` and ``name`` replace those in the text. The ``<state>`` of the world is applied and
    removed first. Raises ``SdfError`` if the name exists."""
    apply_state(document)
    model = parse_model(sdf)
    if name is not None:
        model.set("name", name)
    if pose is not None:
        set_pose(model, pose)
    if model.get("name") in model_elements(document):
        raise SdfError(
            f"{document.source}: a model {model.get('name')!r} exists already; choose another name"
        )
    world = document.require_world()
    insert_child(world, model, len(world))
    return model


def parse_model(sdf: Union[str, bytes]) -> Element:
    """Return the ``<model>`` in SDF text, with or without an enclosing ``<sdf>``, as a new element.
    Raises ``SdfError`` for invalid text."""
    content = sdf.encode() if isinstance(sdf, str) else sdf
    try:
        root = parse_xml(content.lstrip())
    except etree.XMLSyntaxError as error:
        raise SdfError(f"the SDF text of the model is not XML: {error}") from error
    model = root if root.tag == "model" else root.find("model")
    if model is None or not model.get("name"):
        raise SdfError(f"the SDF text has no named <model>; its root is <{root.tag}>")
    model = copy.deepcopy(model)
    model.tail = None
    return model


def contact_sensor(name: str, collisions: Sequence[str]) -> Element:
    sensor = etree.Element("sensor", name=name, type="contact")
    contact = etree.SubElement(sensor, "contact")
    for collision in collisions:
        etree.SubElement(contact, "collision").text = collision
    return sensor


def find_link(model: Element, scoped_name: str) -> Optional[Element]:
    """Return the ``<link>`` with a scoped name, or None. Included models are not searched."""
    for link in model.findall("link"):  # a link that Gazebo merges keeps "::" in its name
        if link.get("name") == scoped_name:
            return link
    outer, _, inner = scoped_name.partition("::")
    for nested_model in model.findall("model"):
        if nested_model.get("name") == outer:
            return find_link(nested_model, inner)
    return None
