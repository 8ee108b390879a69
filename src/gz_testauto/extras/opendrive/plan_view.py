"""Reference lines and cubic polynomials of roads (ASAM OpenDRIVE 1.7, sections 8 and 11)."""

import math
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np
from lxml import etree

# Gauss-Legendre quadrature on [0, 1], which has the error of rounding for pieces of STEP_M
NODES, WEIGHTS = (array / 2 for array in np.polynomial.legendre.leggauss(5))
NODES = NODES + 0.5

STEP_M = 0.1  # longest step of an integral
LEAST_M = 0.1  # length and width below which a piece of a road is ignored

SUPPORTED = ("line", "arc", "spiral", "poly3", "paramPoly3")


class RoadError(ValueError):
    """Raised for an element that has no valid meaning."""

    def __init__(self, element: "etree._Element", message: str) -> None:
        super().__init__(message)
        self.line = element.sourceline


def number(element: "etree._Element", name: str, default: Optional[float] = None) -> float:
    """Return an attribute as a finite number.

    Raises ``RoadError`` for another text, and for a missing attribute without ``default``.
    """
    text = element.get(name)
    if text is None and default is not None:
        return default
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        state = "is missing" if text is None else f"is {text!r}"
        message = f"the attribute {name!r} of <{element.tag}> must be a number, but {state}"
        raise RoadError(element, message)
    return value


class Cubics:
    """A function of the distance along a road, of which each element describes a piece.

    An element has the coefficients ``a`` to ``d`` of a cubic polynomial, and its start in the
    attribute ``start``. As in other readers, the last element of the file whose start was reached
    applies. Before the first start, the function is 0.
    """

    def __init__(self, elements: Sequence["etree._Element"], start: str) -> None:
        self._pieces = [
            (number(piece, start), [number(piece, name, 0.0) for name in "dcba"])
            for piece in elements
        ]

    def __call__(self, s: np.ndarray) -> np.ndarray:
        values = np.zeros(len(s))
        for start, coefficients in self._pieces:
            reached = s >= start
            values[reached] = np.polyval(coefficients, s[reached] - start)
        return values


class ReferenceLine:
    """The reference line of a ``<road>``. Raises ``RoadError`` for an invalid element."""

    def __init__(self, road: "etree._Element") -> None:
        geometries = road.findall("planView/geometry")
        if not geometries:
            raise RoadError(road, "a <road> needs a <geometry> in <planView>")
        self._geometries = sorted(geometries, key=lambda geometry: number(geometry, "s"))
        self._starts = [number(geometry, "s") for geometry in self._geometries]
        if abs(self._starts[0]) > LEAST_M:
            raise RoadError(
                self._geometries[0],
                f"the first <geometry> of a road starts at s = {self._starts[0]:g}; it must be 0",
            )
        self.length = self._starts[-1] + number(self._geometries[-1], "length")

    def frames(self, s: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
        """Return points (m) and headings (rad) at increasing distances ``s`` (m).

        Shapes: (n, 2) and (n,).
        """
        points, headings = np.empty((len(s), 2)), np.empty(len(s))
        pieces = np.maximum(np.searchsorted(self._starts, s, side="right") - 1, 0)
        for index in np.unique(pieces).tolist():
            inside = pieces == index
            points[inside], headings[inside] = _frames(
                self._geometries[index], s[inside] - self._starts[index]
            )
        return points, headings


def _frames(geometry: "etree._Element", s: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
    """Return points and headings of a geometry at the distances ``s`` (m) from its start."""
    x, y, heading = (number(geometry, name) for name in ("x", "y", "hdg"))
    curve = next((child for child in geometry if child.tag in SUPPORTED), None)
    if curve is None:
        raise RoadError(geometry, f"a <geometry> needs one of {', '.join(SUPPORTED)}")
    if curve.tag in ("poly3", "paramPoly3"):
        local, turns = _polynomial(curve, s, number(geometry, "length"))
    else:
        local, turns = _clothoid(*_curvatures(curve), s, number(geometry, "length"))
    cosine, sine = math.cos(heading), math.sin(heading)
    rotation = np.array([[cosine, sine], [-sine, cosine]])
    return np.array([x, y]) + local @ rotation, heading + turns


def _curvatures(curve: "etree._Element") -> Tuple[float, float]:
    """Return the curvatures (1/m) at both ends of a ``line``, ``arc`` or ``spiral``."""
    if curve.tag == "line":
        return 0.0, 0.0
    if curve.tag == "arc":
        return number(curve, "curvature"), number(curve, "curvature")
    return number(curve, "curvStart"), number(curve, "curvEnd")


def _clothoid(
    first: float, last: float, s: np.ndarray, length: float
) -> Tuple[np.ndarray, np.ndarray]:
    """Return points (n, 2) and turned angles (n,) of a curve whose curvature changes linearly."""
    growth = (last - first) / length if length > 0 else 0.0
    ends, indices = _fine(s)
    steps = np.diff(ends)
    inside = ends[:-1, None] + steps[:, None] * NODES
    angles = inside * (first + growth / 2 * inside)
    tangents = np.stack([np.cos(angles), np.sin(angles)])
    pieces = (tangents @ WEIGHTS * steps).T
    points = np.concatenate([np.zeros((1, 2)), np.cumsum(pieces, axis=0)])[indices]
    return points, s * (first + growth / 2 * s)


def _fine(s: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
    """Return distances from 0 with steps of at most ``STEP_M``, and the index of each of ``s``."""
    grid = np.arange(0.0, s[-1], STEP_M)
    distances = np.unique(np.concatenate([[0.0], grid, s]))
    return distances, np.searchsorted(distances, s)


def _polynomial(
    curve: "etree._Element", s: np.ndarray, length: float
) -> Tuple[np.ndarray, np.ndarray]:
    """Return points (n, 2) and turned angles (n,) of a ``poly3`` or ``paramPoly3``."""
    if curve.tag == "poly3":
        u_factors: List[Any] = [0.0, 0.0, 1.0, 0.0]
        v_factors: List[Any] = [number(curve, name, 0.0) for name in "dcba"]
        # Its parameter is u, so the distance along it is integrated; it is at least u.
        grid = np.linspace(0.0, length, max(int(length / STEP_M), 1) + 1)
        steps = np.hypot(np.diff(grid), np.diff(np.polyval(v_factors, grid)))
        parameter = np.interp(s, np.concatenate([[0.0], np.cumsum(steps)]), grid)
    else:
        u_factors = [number(curve, f"{name}U", 0.0) for name in "dcba"]
        v_factors = [number(curve, f"{name}V", 0.0) for name in "dcba"]
        arc_length = curve.get("pRange") == "arcLength"
        parameter = s if arc_length or length <= 0 else s / length
    points = np.stack([np.polyval(u_factors, parameter), np.polyval(v_factors, parameter)], axis=1)
    tangents = [np.polyval(np.polyder(factors), parameter) for factors in (u_factors, v_factors)]
    return points, np.arctan2(tangents[1], tangents[0])
