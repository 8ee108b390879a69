"""Compute the static map of a base world, without the random obstacles.

The map contains the collision shapes at the height of the lidar.
"""

from types import MappingProxyType
from typing import Iterator, List, Mapping, Optional, Pattern, Tuple

import numpy as np

from gz_testauto.base.errors import SpecError
from gz_testauto.grid.occupancy import OccupancyGrid
from gz_testauto.sampling.naming import is_obstacle
from gz_testauto.sdf.scene import CollisionShape, WorldScene, footprints

DEFAULT_HEIGHT_M = 0.3
MARGIN_CELLS = 2
# Largest number of cells of a static map.
MOST_CELLS = 1e8  # a square of 1 km at 0.1 m, for which the computation needs 1 GB of memory
MOST_CELLS_A_SIDE = 1e5

Bounds = Tuple[float, float, float, float]  # x_min, y_min, x_max, y_max in the world frame (m)


def map_of(
    scene: WorldScene,
    resolution_m: float,
    height_m: float = DEFAULT_HEIGHT_M,
    pattern: Optional[Pattern[str]] = None,
    bounds: Optional[Bounds] = None,
) -> OccupancyGrid:
    """Return the occupancy grid of a world at ``height_m``, without its random obstacles.

    ``pattern`` matches the full names of the random obstacles, by default those that the spawner
    assigns. ``bounds`` is by default :func:`bounds_of` the world. A cell is occupied if any shape
    touches it. Raises ``SpecError`` for a world that is empty or too large for a map.
    """
    if bounds is None:
        bounds = bounds_of(scene, resolution_m)
    elif _is_too_large(bounds, resolution_m):
        raise SpecError(
            f"{_size_message(bounds, resolution_m)}; set smaller bounds or larger cells"
        )
    outlines = footprints(_obstructing_shapes(scene, pattern), height_m, height_m)
    return OccupancyGrid.rasterize(outlines, bounds, resolution_m)


def bounds_of(
    scene: WorldScene,
    resolution_m: float,
    areas: Mapping[str, Bounds] = MappingProxyType({}),
    margin_m: float = 0.0,
    most_cells: float = MOST_CELLS,
) -> Bounds:
    """Return the rectangle around all models of a world at any height, including random obstacles.

    The rectangle also contains ``areas``, by their names in messages. An area outside the rectangle
    of the models is enlarged by ``margin_m``. The result is enlarged to multiples of
    ``resolution_m``. Raises ``SpecError`` for an empty world, or if the rectangle has more than
    ``most_cells`` cells.
    """
    named_bounds = [
        (f"model {name}", tuple(shape.bounds[:2].T.ravel()))
        for name, model in scene.models.items()
        for shape in model.collisions
        if not shape.is_ground and np.isfinite(shape.bounds).all()
    ]
    model_bounds = _bounding_rectangle([bounds for _, bounds in named_bounds])
    for name, (x_min, y_min, x_max, y_max) in areas.items():
        if model_bounds is None or _bounding_rectangle([model_bounds, areas[name]]) != model_bounds:
            wider_bounds = (x_min - margin_m, y_min - margin_m, x_max + margin_m, y_max + margin_m)
            named_bounds.append((name, wider_bounds))
    bounds = _bounding_rectangle([bounds for _, bounds in named_bounds])
    if bounds is None:
        raise SpecError(
            f"{scene.document.source}: the world is empty, so its map has no bounds; "
            "set bounds with --bounds"
        )
    if _is_too_large(bounds, resolution_m, most_cells):
        reach, name = max((float(np.abs(bounds).max()), name) for name, bounds in named_bounds)
        raise SpecError(
            f"{scene.document.source}: {_size_message(bounds, resolution_m, most_cells)}; "
            f"{name} reaches {reach:.3g} m from the origin. Correct or remove it if that is wrong, "
            "or set larger cells (--resolution, global_plan.resolution_m of a campaign)"
        )
    return _snap_to_grid(bounds, resolution_m)


def heights_m(scene: WorldScene, pattern: Optional[Pattern[str]] = None) -> Tuple[float, float]:
    """Return the lowest and the highest z (m) of the models of a world, without random obstacles,
    or (0, 0) for an empty world."""
    z_ranges = [shape.bounds[2] for shape in _obstructing_shapes(scene, pattern)]
    if not z_ranges:
        return 0.0, 0.0
    return float(np.min(z_ranges)), float(np.max(z_ranges))


def _obstructing_shapes(
    scene: WorldScene, pattern: Optional[Pattern[str]]
) -> Iterator[CollisionShape]:
    for name, model in scene.models.items():
        if not is_obstacle(name, pattern):
            yield from (shape for shape in model.collisions if not shape.is_ground)


def _bounding_rectangle(rectangles: List[Bounds]) -> Optional[Bounds]:
    if not rectangles:
        return None
    low, high = np.min(rectangles, axis=0), np.max(rectangles, axis=0)
    return (float(low[0]), float(low[1]), float(high[2]), float(high[3]))


def _is_too_large(bounds: Bounds, resolution_m: float, most_cells: float = MOST_CELLS) -> bool:
    x_min, y_min, x_max, y_max = bounds
    columns, rows = (x_max - x_min) / resolution_m, (y_max - y_min) / resolution_m
    return columns * rows > most_cells or max(columns, rows) > MOST_CELLS_A_SIDE


def _size_message(bounds: Bounds, resolution_m: float, most_cells: float = MOST_CELLS) -> str:
    x_min, y_min, x_max, y_max = bounds
    return (
        f"a map of {x_max - x_min:.3g} x {y_max - y_min:.3g} m has more than {most_cells:.0e} "
        f"cells of {resolution_m:g} m, or {MOST_CELLS_A_SIDE:.0e} per side"
    )


def unknown_outside(grid: OccupancyGrid) -> Optional[np.ndarray]:
    """Return a mask of the free cells that free cells connect with the border of the map. Return
    None if these are most of the free cells, since walls then do not enclose the free area."""
    from scipy import ndimage

    free_cells = np.pad(~grid.occupied, 1, constant_values=True)
    labels, _ = ndimage.label(free_cells)
    outer_cells = (labels == labels[0, 0])[1:-1, 1:-1]
    inner_cells = ~grid.occupied & ~outer_cells
    return outer_cells if inner_cells.sum() > outer_cells.sum() else None


def _snap_to_grid(bounds: Bounds, resolution_m: float) -> Bounds:
    low, high = np.array(bounds[:2]), np.array(bounds[2:])
    low = (np.floor(low / resolution_m + 1e-9) - MARGIN_CELLS) * resolution_m
    high = (np.ceil(high / resolution_m - 1e-9) + MARGIN_CELLS) * resolution_m
    # The product has rounding errors: -15.3 would be -15.299999999999999.
    x_min, y_min, x_max, y_max = (round(float(value), 9) for value in (*low, *high))
    return (x_min, y_min, x_max, y_max)
