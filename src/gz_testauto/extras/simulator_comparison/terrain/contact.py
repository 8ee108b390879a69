"""Height of a ball at rest on a terrain, for any triangulation of its cells.

A ball at rest touches the highest of all points below it, each raised by the ball's own height
there. Simulators agree on the points of the grid and on the lines between neighbors. Within a cell
one simulator has a bilinear patch, others two triangles with either diagonal. No height is expected
where these three differ, or where a ball would touch the slopes around its point: ODE lets it sink
until it touches the point itself.
"""

from typing import Iterator

import numpy as np

from gz_testauto.extras.simulator_comparison.terrain.terrain import Terrain

STEPS = 16
"""Approximate number of samples along a ball's radius."""

SAME_M = 1e-4
"""Heights on the three surfaces that differ by less are equal."""

ASIDE_M = 0.7e-3
"""A ball that is this much higher than on its point alone touches the slopes around it."""


def resting_m(terrain: Terrain, x_m: np.ndarray, y_m: np.ndarray, radius_m: float) -> np.ndarray:
    """Return heights (k,) of the centers of balls above the world's zero, at points of the grid
    ``x_m`` and ``y_m`` (k,); NaN if simulators may differ."""
    share = int(np.ceil(terrain.pitch_m / (radius_m / STEPS)))
    step = terrain.pitch_m / share
    count = int(radius_m / step)
    aside = np.arange(-count, count + 1) * step
    dx, dy = (axis.ravel() for axis in np.meshgrid(aside, aside))
    within = dx**2 + dy**2 <= radius_m**2
    dx, dy = dx[within], dy[within]
    cap = np.sqrt(radius_m**2 - dx**2 - dy**2)
    lowest, highest = np.full(len(x_m), np.inf), np.full(len(x_m), -np.inf)
    for surface in _surfaces(terrain, x_m[:, None] + dx, y_m[:, None] + dy):
        height = (surface + cap).max(axis=1)
        lowest, highest = np.minimum(lowest, height), np.maximum(highest, height)
    on_point = np.asarray(terrain.height_m(x_m, y_m)) + radius_m
    known = (highest - lowest < SAME_M) & (highest - on_point < ASIDE_M)
    return np.where(known, (lowest + highest) / 2, np.nan)


def _surfaces(terrain: Terrain, x_m: np.ndarray, y_m: np.ndarray) -> Iterator[np.ndarray]:
    """Yield heights at points within the terrain: bilinear, and with either diagonal."""
    rising = terrain.heights_m[::-1]
    # rounded, so that a point on the line between two cells is on it
    columns, rows = (
        np.round((along + terrain.size_m / 2) / terrain.pitch_m, 9) for along in (x_m, y_m)
    )
    column = np.clip(columns.astype(int), 0, terrain.pixels - 2)
    row = np.clip(rows.astype(int), 0, terrain.pixels - 2)
    a, b = columns - column, rows - row
    origin, east = rising[row, column], rising[row, column + 1]
    north, corner = rising[row + 1, column], rising[row + 1, column + 1]
    along, across = east - origin, north - origin
    yield origin + along * a + across * b + (corner - east - across) * a * b
    yield origin + np.where(
        a >= b, along * a + (corner - east) * b, (corner - north) * a + across * b
    )
    yield np.where(
        a + b <= 1,
        origin + along * a + across * b,
        corner + (north - corner) * (1 - a) + (east - corner) * (1 - b),
    )
