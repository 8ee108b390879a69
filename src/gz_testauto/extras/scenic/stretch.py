"""Stretching of the SDF of a model by a factor for each axis.

Mass, center and inertia change as those of a homogeneous body. :mod:`gz_testauto.sdf.scale` scales
by one factor for all axes.
"""

from typing import Any

import numpy as np
from lxml import etree

from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.values import number, numbers, pose_value, set_numbers, set_pose

EQUAL = 1e-9
_ALONG_AXES = 1e-6
_POSED = ("joint", "sensor", "light", "frame", "projector")
_FRAMED = ("relative_to", "frame")
_AXES = ((0, "x"), (1, "y"), (2, "z"))
_MOMENTS = {f"i{a}{b}": (i, j) for i, a in _AXES for j, b in _AXES if i <= j}


def stretch_model(document: SdfDocument, model: Element, factors: np.ndarray) -> None:
    """Multiply all sizes and positions in a model by the factors (3,) along its own axes. Raises
    ``SdfError`` for a part that would change its shape."""
    _Stretching(document, str(model.get("name"))).stretch_children(
        model, np.asarray(factors, dtype=float)
    )


class _Stretching:
    def __init__(self, document: SdfDocument, name: str) -> None:
        self._document = document
        self._name = name

    def stretch_children(self, parent: Element, factors: np.ndarray) -> None:
        for child in parent:
            tag = child.tag
            if tag in ("model", "link"):
                self.stretch_children(child, self._scale_position_and_turn_factors(child, factors))
                if tag == "link" and child.find("inertial") is None:
                    inertial = etree.SubElement(child, "inertial")
                    etree.SubElement(inertial, "mass").text = "1"
                    self._scale_inertial(inertial, factors)
            elif tag in ("collision", "visual"):
                self._scale_geometry(child, self._scale_position_and_turn_factors(child, factors))
            elif tag == "inertial":
                self._scale_inertial(child, factors)
            elif tag in _POSED and child.find("pose") is not None:
                self._scale_position(child, factors)

    def _scale_position(self, holder: Element, factors: np.ndarray) -> Pose:
        element = holder.find("pose")
        framed = element is not None and any(element.get(key) for key in _FRAMED)
        if framed and not _are_equal(factors):
            raise self._error(holder, "has a pose that is relative to another frame")
        pose = pose_value(self._document, element)
        if any(pose.position):
            x, y, z = (float(value) for value in np.asarray(pose.position) * factors)
            kept = {key: element.get(key) for key in _FRAMED if element.get(key)}
            set_pose(holder, Pose((x, y, z), pose.quaternion))
            for key, value in kept.items():
                holder.find("pose").set(key, value)
        return pose

    def _scale_position_and_turn_factors(self, holder: Element, factors: np.ndarray) -> np.ndarray:
        """Scale the position of an element, and return the factors along its own axes."""
        turn = np.abs(self._scale_position(holder, factors).rotation)
        if _are_equal(factors):
            return factors
        if np.abs(turn - np.round(turn)).max() > _ALONG_AXES:
            raise self._error(holder, "is not aligned with the axes of the model")
        turned: np.ndarray = np.round(turn).T @ factors
        return turned

    def _scale_geometry(self, holder: Element, factors: np.ndarray) -> None:
        for shape in holder.iterfind("geometry/*"):
            if isinstance(shape.tag, str) and shape.tag != "empty":
                self._scale_shape(holder, shape, factors)

    def _scale_shape(self, holder: Element, shape: Element, factors: np.ndarray) -> None:
        tag, (x, y, z) = shape.tag, (float(factor) for factor in factors)
        if tag in ("box", "ellipsoid"):
            self._multiply_values(shape, "size" if tag == "box" else "radii", factors)
        elif tag == "mesh":
            if shape.find("scale") is None:
                etree.SubElement(shape, "scale").text = "1 1 1"
            self._multiply_values(shape, "scale", factors)
        elif tag == "polyline":
            for point in shape.findall("point"):
                values = numbers(self._document, point, 2)
                set_numbers(point, values[0] * x, values[1] * y)
            self._multiply_values(shape, "height", (z,))
        elif tag in ("sphere", "cylinder", "capsule"):
            if not _are_equal(factors[:2]) or (tag == "sphere" and not _are_equal(factors)):
                raise self._error(holder, f"is a {tag}, whose cross section must remain circular")
            if tag == "capsule" and not _are_equal(factors):
                radius = number(self._document, shape, "radius")
                length = number(self._document, shape, "length")
                scaled_length = (length + 2 * radius) * z - 2 * radius * x
                if scaled_length < 0:
                    raise self._error(
                        holder, "is a capsule that would become shorter than its diameter"
                    )
                set_numbers(shape.find("length"), scaled_length)
            elif tag != "sphere":
                self._multiply_values(shape, "length", (z,))
            self._multiply_values(shape, "radius", (x,))
        else:
            raise self._error(holder, f"has a <{tag}> geometry, which cannot be scaled")

    def _multiply_values(self, shape: Element, tag: str, factors: Any) -> None:
        element = shape.find(tag)
        if element is not None:
            values = numbers(self._document, element, len(factors))
            set_numbers(element, *(float(v * f) for v, f in zip(values, factors)))

    def _scale_inertial(self, inertial: Element, factors: np.ndarray) -> None:
        pose = self._scale_position(inertial, factors)
        volume = float(np.prod(factors))
        mass = number(self._document, inertial, "mass", 1.0)
        _set_child(inertial, "mass", mass * volume)
        tensor = inertial.find("inertia")
        if tensor is None:
            tensor = etree.SubElement(inertial, "inertia")
        old = np.zeros((3, 3))
        for tag, (row, column) in _MOMENTS.items():
            moment = number(self._document, tensor, tag, 1.0 if row == column else 0.0)
            old[row, column] = old[column, row] = moment
        second_moments = np.trace(old) / 2 * np.eye(3) - old
        stretch = pose.rotation.T @ np.diag(factors) @ pose.rotation
        second_moments = volume * stretch @ second_moments @ stretch.T
        new = np.trace(second_moments) * np.eye(3) - second_moments
        for tag, place in _MOMENTS.items():
            if place[0] == place[1] or tensor.find(tag) is not None or abs(new[place]) > 0:
                _set_child(tensor, tag, float(new[place]))

    def _error(self, part: Element, why: str) -> SdfError:
        name = part.get("name") or part.tag
        return SdfError(
            f"{self._document.where(part)}: model {self._name!r} cannot be scaled by different "
            f"factors along its axes: its {part.tag} {name!r} {why}"
        )


def _are_equal(factors: np.ndarray) -> bool:
    return bool(np.ptp(factors) <= EQUAL * float(np.max(np.abs(factors))))


def _set_child(parent: Element, tag: str, value: float) -> None:
    child = parent.find(tag)
    set_numbers(etree.SubElement(parent, tag) if child is None else child, value)
