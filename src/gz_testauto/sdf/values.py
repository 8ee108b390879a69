"""Reads numbers, vectors, poses and flags from SDF elements, and writes them.

Owns the text of values and the messages about wrong ones. What a pose is relative to is
:mod:`gz_testauto.sdf.frames`'s business.
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


def text_of(parent: Element, tag: str, default: Optional[str] = None) -> Optional[str]:
    """The stripped text of the first child ``tag``; ``default`` when there is none."""
    child = parent.find(tag)
    if child is None:
        return default
    return "".join(child.itertext(child.tag, with_tail=False)).strip()


def required(document: SdfDocument, parent: Element, tag: str) -> Element:
    """The first child ``tag``; raises ``SdfError`` when there is none."""
    child = parent.find(tag)
    if child is None:
        raise SdfError(f"{document.where(parent)}: <{parent.tag}> has no <{tag}>")
    return child


def name_of(document: SdfDocument, element: Element) -> str:
    """The name attribute; raises ``SdfError`` when it is missing or empty."""
    name = (element.get("name") or "").strip()
    if not name:
        raise SdfError(f"{document.where(element)}: <{element.tag}> has no name")
    return name


def numbers(
    document: SdfDocument, element: Element, count: int, least: Optional[int] = None
) -> Tuple[float, ...]:
    """``count`` finite numbers from an element's text, or from ``least`` on, else ``SdfError``.

    As Gazebo reads them, one may follow another without a space: ``41.6-0.2`` is two, and what
    comes after the last that is wanted is not looked at (a warning says so).
    """
    text = "".join(element.itertext(element.tag, with_tail=False))
    values, rest = leading_numbers(text)
    if len(values) < count and (rest or len(values) < (count if least is None else least)):
        values = []
    if not values or not all(map(math.isfinite, values[:count])):
        wanted = "one number" if count == 1 else f"{count} numbers"
        raise SdfError(
            f"{document.where(element)}: <{element.tag}> is {text.strip()!r}; it must be {wanted}"
        )
    if rest or len(values) > count:
        _warn(
            f"{document.where(element)}: <{element.tag}> is {text.strip()!r}; what follows the "
            f"first {count} is ignored, as in Gazebo"
        )
    return tuple(values[:count])


def leading_numbers(text: str) -> Tuple[List[float], str]:
    """The numbers with which a text begins, and what is left of it, stripped."""
    values: List[float] = []
    position = 0
    while True:
        match = _NUMBER.match(text, position)
        if match is None:
            return values, text[position:].strip()
        values.append(float(match.group(1)))
        position = match.end()


@functools.lru_cache(maxsize=10_000)
def _warn(message: str) -> None:
    """Once for each place: files are read again for every trial."""
    LOGGER.warning("%s", message)


def non_negative(document: SdfDocument, element: Element, count: int) -> Tuple[float, ...]:
    """``count`` numbers of which none is negative, else ``SdfError``."""
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
    """The number in the first child ``tag``; ``SdfError`` when there is neither that nor a
    default."""
    child = parent.find(tag)
    if child is None and default is not None:
        return default
    return numbers(document, required(document, parent, tag), 1)[0]


def flag(document: SdfDocument, parent: Element, tag: str, default: bool = False) -> bool:
    """The truth value in the first child ``tag``."""
    text = (text_of(parent, tag) or "").lower()
    if text not in _TRUE + _FALSE:
        child = required(document, parent, tag)
        raise SdfError(f"{document.where(child)}: <{tag}> is {text!r}; write true or false")
    return default if text == "" else text in _TRUE


def pose_value(document: SdfDocument, element: Optional[Element]) -> Pose:
    """The pose in a ``<pose>`` element as it stands, without what it is relative to.

    As in Gazebo, no element, or one without text, is the identity, and what is missing of roll,
    pitch and yaw is 0. ``degrees`` and ``rotation_format`` are newer than Gazebo 11, which takes
    the numbers for radians: they are refused unless that makes no difference.
    """
    if element is None or (not (element.text or "").strip() and len(element) == 0):
        return Pose()
    if element.get("rotation_format", "euler_rpy") != "euler_rpy":
        raise SdfError(
            f"{document.where(element)}: rotation_format={element.get('rotation_format')!r} is "
            "not supported; write x y z roll pitch yaw"
        )
    x, y, z, roll, pitch, yaw = (*numbers(document, element, 6, least=3), 0.0, 0.0, 0.0)[:6]
    if element.get("degrees", "false").lower() in _TRUE and any((roll, pitch, yaw)):
        raise SdfError(
            f"{document.where(element)}: degrees={element.get('degrees')!r} is SDF 1.8, and "
            "Gazebo 11 takes the numbers for radians; write roll, pitch and yaw in radians"
        )
    return Pose.from_rpy(x, y, z, roll, pitch, yaw)


def set_pose(parent: Element, pose: Pose) -> None:
    """Write a ``<pose>`` relative to the parent's natural frame, in place of any there is."""
    element = parent.find("pose")
    if element is None:
        element = etree.Element("pose")
        before = parent.find("name") if parent.tag == "include" else None
        position = 0 if before is None else parent.index(before) + 1
        insert_child(parent, element, position)
    for attribute in ("relative_to", "frame", "degrees", "rotation_format"):
        element.attrib.pop(attribute, None)
    for child in list(element):
        element.remove(child)
    element.text = pose.to_text()


def set_numbers(element: Element, *values: float) -> None:
    """Write numbers as an element's text, in the shortest digits that read back."""
    element.text = " ".join(format_number(value) for value in values)


def format_number(value: float) -> str:
    """The shortest text that reads back as the same double; no trailing ``.0``, no ``-0``."""
    text = repr(float(value) + 0.0)
    return text[:-2] if text.endswith(".0") else text


def insert_child(parent: Element, child: Element, position: int) -> None:
    """Insert with the indentation that the siblings have."""
    if len(parent):
        if position < len(parent):
            child.tail = parent.text
            parent.insert(position, child)
            if position > 0:
                child.tail = parent[position - 1].tail
        else:
            last = parent[-1]
            child.tail, last.tail = last.tail, parent.text
            parent.append(child)
    else:
        parent.append(child)


def ensure_child(parent: Element, tag: str) -> Element:
    """The first child ``tag``, made as the last one where there is none."""
    child = parent.find(tag)
    if child is None:
        child = etree.Element(tag)
        insert_child(parent, child, len(parent))
    return child


def remove_child(element: Element) -> None:
    """Remove an element together with the white space that indented it, keeping stray text."""
    parent, previous = element.getparent(), element.getprevious()
    tail = element.tail or ""
    if tail.strip():
        kept = tail
    elif element.getnext() is None:  # the closing tag keeps its indentation
        kept = None
        if previous is not None:
            previous.tail = tail
        else:
            parent.text = tail
    else:
        kept = None
    if kept is not None:
        if previous is not None:
            previous.tail = (previous.tail or "") + kept
        else:
            parent.text = (parent.text or "") + kept
    element.tail = None
    parent.remove(element)
