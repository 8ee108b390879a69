"""Read and write numbers, vectors, poses and flags of SDF elements.

Missing and invalid values raise ``SdfError`` with the file, line and element.
:mod:`gz_testauto.sdf.frames` resolves poses.
"""

import functools
import logging
import math
import re
from typing import List, Optional, Tuple

from lxml import etree

from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import Element, SdfDocument

LOGGER = logging.getLogger(__name__)

_TRUE, _FALSE = ("1", "true"), ("0", "false", "")
_NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)")


def text_of(parent: Element, tag: str) -> Optional[str]:
    """Return the stripped text of the first child with a tag, or None."""
    child = parent.find(tag)
    return None if child is None else "".join(child.itertext(child.tag, with_tail=False)).strip()


def required(document: SdfDocument, parent: Element, tag: str) -> Element:
    child = parent.find(tag)
    if child is None:
        raise SdfError(f"{document.where(parent)}: <{parent.tag}> has no <{tag}>")
    return child


def name_of(document: SdfDocument, element: Element) -> str:
    name = (element.get("name") or "").strip()
    if not name:
        raise SdfError(f"{document.where(element)}: <{element.tag}> has no name")
    return name


def numbers(
    document: SdfDocument, element: Element, count: int, min_count: Optional[int] = None
) -> Tuple[float, ...]:
    """Return ``count`` finite numbers from the text of an element, or ``min_count`` to ``count``.

    As in Gazebo, numbers need no space between them: ``41.6-0.2`` contains two numbers. Text after
    the last requested number is ignored with a warning.
    """
    text = "".join(element.itertext(element.tag, with_tail=False))
    values, remaining_text = leading_numbers(text)
    if len(values) < count and (
        remaining_text or len(values) < (count if min_count is None else min_count)
    ):
        values = []
    if not values or not all(map(math.isfinite, values[:count])):
        requirement = "one number" if count == 1 else f"{count} numbers"
        raise SdfError(
            f"{document.where(element)}: <{element.tag}> is {text.strip()!r}; it must be "
            f"{requirement}"
        )
    if re.match(r",\s*\d", remaining_text):
        raise SdfError(
            f"{document.where(element)}: <{element.tag}> is {text.strip()!r}; write a point in "
            "decimal numbers, and spaces between numbers"
        )
    if remaining_text or len(values) > count:
        _warn_once(
            f"{document.where(element)}: <{element.tag}> is {text.strip()!r}; the text after the "
            f"first {count} is ignored, as in Gazebo"
        )
    return tuple(values[:count])


def vector(
    document: SdfDocument, parent: Element, tag: str, default: Tuple[float, float, float]
) -> Tuple[float, float, float]:
    child = parent.find(tag)
    if child is None:
        return default
    x, y, z = numbers(document, child, 3)
    return (x, y, z)


def leading_numbers(text: str) -> Tuple[List[float], str]:
    """Return the numbers at the start of a text, and the stripped remaining text."""
    values: List[float] = []
    position = 0
    while True:
        match = _NUMBER.match(text, position)
        if match is None:
            return values, text[position:].strip()
        values.append(float(match.group(1)))
        position = match.end()


@functools.lru_cache(maxsize=10_000)
def _warn_once(message: str) -> None:  # only once, since files are read again for each trial
    LOGGER.warning("%s", message)


def non_negative(document: SdfDocument, element: Element, count: int) -> Tuple[float, ...]:
    values = numbers(document, element, count)
    if min(values) < 0:
        raise SdfError(
            f"{document.where(element)}: <{element.tag}> is {' '.join(map(str, values))}; "
            "a size must not be negative"
        )
    return values


def number(
    document: SdfDocument, parent: Element, tag: str, default: Optional[float] = None
) -> float:
    child = parent.find(tag)
    if child is None and default is not None:
        return default
    return numbers(document, required(document, parent, tag), 1)[0]


def flag(document: SdfDocument, parent: Element, tag: str, default: bool = False) -> bool:
    """Return the Boolean in a child, or the default if the child is missing or empty."""
    text = (text_of(parent, tag) or "").lower()
    if text not in _TRUE + _FALSE:
        child = required(document, parent, tag)
        raise SdfError(f"{document.where(child)}: <{tag}> is {text!r}; write true or false")
    return default if text == "" else text in _TRUE


def pose_value(document: SdfDocument, element: Optional[Element]) -> Pose:
    """Return the pose in a ``<pose>``, in the frame to which it is relative.

    As in Gazebo, a missing or empty element is the identity, and missing angles are 0. The newer
    attributes ``degrees`` and ``rotation_format`` are rejected if they change the result, since
    Gazebo 11 reads all angles as radians.
    """
    if element is None or (not (element.text or "").strip() and len(element) == 0):
        return Pose()
    if element.get("rotation_format", "euler_rpy") != "euler_rpy":
        raise SdfError(
            f"{document.where(element)}: rotation_format={element.get('rotation_format')!r} is "
            "not supported; write x y z roll pitch yaw"
        )
    x, y, z, roll, pitch, yaw = (*numbers(document, element, 6, min_count=3), 0.0, 0.0, 0.0)[:6]
    if element.get("degrees", "false").lower() in _TRUE and any((roll, pitch, yaw)):
        raise SdfError(
            f"{document.where(element)}: degrees={element.get('degrees')!r} is SDF 1.8, but "
            "Gazebo 11 reads the angles as radians; write roll, pitch and yaw in radians"
        )
    return Pose.from_rpy(x, y, z, roll, pitch, yaw)


def set_pose(parent: Element, pose: Pose) -> None:
    """Write or replace the ``<pose>`` of ``parent``, relative to its default frame."""
    element = parent.find("pose")
    if element is None:
        element = etree.Element("pose")
        name_element = parent.find("name") if parent.tag == "include" else None
        position = 0 if name_element is None else parent.index(name_element) + 1
        insert_child(parent, element, position)
    for attribute in ("relative_to", "frame", "degrees", "rotation_format"):
        element.attrib.pop(attribute, None)
    for child in list(element):
        element.remove(child)
    element.text = pose.to_text()


def set_numbers(element: Element, *values: float) -> None:
    element.text = " ".join(format_number(value) for value in values)


def format_number(value: float) -> str:
    """Return the shortest text that restores the number exactly, without ``.0`` and ``-0``."""
    text = repr(float(value) + 0.0)
    return text[:-2] if text.endswith(".0") else text


def insert_child(parent: Element, child: Element, position: int) -> None:
    """Insert a child with the indentation of its siblings."""
    if position < len(parent):
        child.tail = parent[position - 1].tail if position > 0 else parent.text
    elif len(parent):
        last = parent[-1]
        child.tail, last.tail = last.tail, parent.text
    parent.insert(position, child)


def ensure_child(parent: Element, tag: str) -> Element:
    child = parent.find(tag)
    if child is None:
        child = etree.Element(tag)
        insert_child(parent, child, len(parent))
    return child


def remove_child(element: Element) -> None:
    """Remove an element and its indentation, but keep the text that follows the element."""
    parent, previous_element = element.getparent(), element.getprevious()
    tail = element.tail or ""
    preceding_text = parent.text if previous_element is None else previous_element.tail
    if tail.strip():
        preceding_text = (preceding_text or "") + tail
    elif element.getnext() is None:  # the closing tag keeps its indentation
        preceding_text = tail
    if previous_element is None:
        parent.text = preceding_text
    else:
        previous_element.tail = preceding_text
    element.tail = None
    parent.remove(element)
