"""Polylines that are parameterized by their arc length."""

from typing import Tuple

import numpy as np

from gz_testauto.base.elementary import arctan2


class CenterLine:
    """A polyline (n, 2) with arc lengths (m); straight lines extend it at both ends."""

    def __init__(self, points_m: np.ndarray) -> None:
        points = np.asarray(points_m, dtype=float)
        distances = np.hypot(*np.diff(points, axis=0).T)
        self._is_distinct = np.concatenate([[True], distances > 1e-9])
        self._points = points[self._is_distinct]
        if len(self._points) < 2:
            raise ValueError("a lane must have at least two different points")
        steps = np.diff(self._points, axis=0)
        lengths = np.hypot(*steps.T)
        self._starts = np.concatenate([[0.0], np.cumsum(lengths)])
        self._directions = steps / lengths[:, None]

    @property
    def points_m(self) -> np.ndarray:
        return self._points

    @property
    def length_m(self) -> float:
        return float(self._starts[-1])

    def at(self, arcs_m: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
        """Return the points (k, 2) and the headings (k,) at arc lengths (k,)."""
        piece = np.searchsorted(self._starts, arcs_m, side="right") - 1
        piece = np.clip(piece, 0, len(self._directions) - 1)
        directions = self._directions[piece]
        points = self._points[piece] + directions * (arcs_m - self._starts[piece])[:, None]
        return points, arctan2(directions[:, 1], directions[:, 0])

    def between(self, values: np.ndarray, arcs_m: np.ndarray) -> np.ndarray:
        """Return interpolated values at arc lengths (k,). ``values`` (n,) are those at the points
        that were passed to the constructor."""
        return np.interp(arcs_m, self._starts, np.asarray(values, dtype=float)[self._is_distinct])

    def arc_of(
        self, x_m: float, y_m: float, lowest_m: float = 0.0, reach_m: float = np.inf
    ) -> float:
        """Return the arc length of the point of the line nearest to (x, y).

        Only points from ``lowest_m`` to ``lowest_m + reach_m`` are considered.
        """
        along = ((np.array([x_m, y_m]) - self._points[:-1]) * self._directions).sum(axis=1)
        highest_m = min(self.length_m, lowest_m + reach_m)
        arcs = self._starts[:-1] + np.clip(along, 0.0, np.diff(self._starts))
        arcs = np.clip(arcs, lowest_m, highest_m)
        points, _ = self.at(arcs)
        return float(arcs[np.argmin(np.hypot(points[:, 0] - x_m, points[:, 1] - y_m))])
