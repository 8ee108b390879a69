"""Moves, resizes, adds and removes the models of a world.

Owns edits of a whole world. Each first applies ``<state>`` and drops it, so that a moved
model is where the file says it is. For hundreds of variants of one world use
:class:`gz_testauto.worlds.base.WorldTemplate`.
"""

import copy
from typing import Dict, Optional, Sequence, Union

from lxml import etree

from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.base.xml_file import parse_xml
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.scale import resize_model
from gz_testauto.sdf.shapes import Geometry
from gz_testauto.sdf.state import apply_state
from gz_testauto.sdf.values import insert_child, remove_child, set_pose, text_of


def model_elements(
    document: SdfDocument, library: Optional[ModelLibrary] = None
) -> Dict[str, Element]:
    """The ``<model>`` and ``<include>`` elements directly in the world, by the name that the
    model has in the world. An include without ``<name>`` bears its model's name.

    Includes of lights and actors are left out, and so is a name that comes again.
    """
    world = _world(document)
    found: Dict[str, Element] = {}
    for child in world:
        name = None
        if child.tag == "model":
            name = child.get("name")
        elif child.tag == "include":
            name = text_of(child, "name")
            if not name:
                library = library or ModelLibrary()
                included = library.included(document, child)
                name = None if included is None else included.element.get("name")
        if name:
            found.setdefault(name, child)
    return found


def _world(document: SdfDocument) -> Element:
    if document.world is None:
        raise SdfError(f"{document.source}: has no <world>")
    return document.world


def find_model_element(
    document: SdfDocument, name: str, library: Optional[ModelLibrary] = None
) -> Element:
    """The element that places a model; raises ``SdfError`` that lists what there is."""
    # names that are written here come first: a missing include then stands in nobody's way
    for child in _world(document).iterchildren("model", "include"):
        if name == (child.get("name") if child.tag == "model" else text_of(child, "name")):
            return child
    elements = model_elements(document, library)
    if name not in elements:
        known = ", ".join(sorted(elements)) or "none"
        raise SdfError(f"{document.source}: no model {name!r} in the world. Known: {known}")
    return elements[name]


def set_model_pose(
    document: SdfDocument, name: str, pose: Pose, library: Optional[ModelLibrary] = None
) -> None:
    """Place a model in the world frame. Raises ``SdfError`` when there is no such model."""
    apply_state(document, library)
    set_pose(find_model_element(document, name, library), pose)


def set_model_size(
    document: SdfDocument,
    name: str,
    geometry: Geometry,
    mass_kg: Optional[float] = None,
    library: Optional[ModelLibrary] = None,
) -> None:
    """Resize a simple obstacle, as :func:`gz_testauto.sdf.scale.resize_model` does.

    An included one is written out first. Raises ``SdfError`` when it cannot be resized.
    """
    apply_state(document, library)
    element = find_model_element(document, name, library)
    if element.tag == "include":
        element = (library or ModelLibrary()).expand(document, element)
    resize_model(document, element, geometry, mass_kg)


def remove_model(document: SdfDocument, name: str, library: Optional[ModelLibrary] = None) -> None:
    """Take a model out of the world. Raises ``SdfError`` when there is no such model."""
    apply_state(document, library)
    remove_child(find_model_element(document, name, library))


def add_model(
    document: SdfDocument,
    sdf: Union[str, bytes],
    pose: Optional[Pose] = None,
    name: Optional[str] = None,
    library: Optional[ModelLibrary] = None,
) -> Element:
    """Append a model, given as SDF text (``<sdf><model>…`` or ``<model>…``), to the world.

    ``pose`` and ``name`` replace what the text says. Raises ``SdfError`` when the text is no
    model or the name is taken.
    """
    apply_state(document, library)
    model = parse_model(sdf)
    if name is not None:
        model.set("name", name)
    if pose is not None:
        set_pose(model, pose)
    if model.get("name") in model_elements(document, library):
        raise SdfError(f"{document.source}: there is a model {model.get('name')!r} already")
    insert_child(_world(document), model, len(_world(document)))
    return model


def parse_model(sdf: Union[str, bytes]) -> Element:
    """The ``<model>`` in SDF text, with or without ``<sdf>`` around it, as an element of its
    own. Raises ``SdfError`` when there is none."""
    content = sdf.encode() if isinstance(sdf, str) else sdf
    try:
        root = parse_xml(content.lstrip())
    except etree.XMLSyntaxError as error:
        raise SdfError(f"the model's SDF is not XML: {error}") from error
    model = root if root.tag == "model" else root.find("model")
    if model is None or not model.get("name"):
        raise SdfError(f"the SDF text has no named <model>; its root is <{root.tag}>")
    model = copy.deepcopy(model)
    model.tail = None
    return model


def contact_sensor(name: str, collisions: Sequence[str]) -> Element:
    """A sensor, called ``name``, of contacts with these shapes of its link."""
    sensor = etree.Element("sensor", name=name, type="contact")
    contact = etree.SubElement(sensor, "contact")
    for collision in collisions:
        etree.SubElement(contact, "collision").text = collision
    return sensor


def find_link(model: Element, scoped: str) -> Optional[Element]:
    """The ``<link>`` of that name, scoped within the model; None where it is included."""
    *nested, link = scoped.split("::")
    element = model
    for name in nested:
        inner = next((m for m in element.findall("model") if m.get("name") == name), None)
        if inner is None:
            return None
        element = inner
    return next((found for found in element.findall("link") if found.get("name") == link), None)
