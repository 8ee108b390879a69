"""The map of a base world that a global planner knows: without the random obstacles.

Owns taking it from the collision geometry, at the height at which the lidar would have seen
it, so that no SLAM is needed, and how far it reaches: around all that stands in the world, and
around what else has to lie on it. The files are :mod:`gz_testauto.grid.map_server`'s.
"""

from pathlib import Path
from types import MappingProxyType
from typing import List, Mapping, Optional, Pattern, Sequence, Tuple

import numpy as np

from gz_testauto.base.errors import SpecError
from gz_testauto.grid.occupancy import OccupancyGrid
from gz_testauto.sampling.naming import is_obstacle
from gz_testauto.sdf.scene import WorldScene, read_scene

DEFAULT_HEIGHT_M = 0.3
MARGIN_CELLS = 2
MOST_CELLS = 1e8
"""A square of 1 km at 0.1 m, which takes 1 GB to make."""
MOST_CELLS_A_SIDE = 1e5

Bounds = Tuple[float, float, float, float]
"""x_min, y_min, x_max, y_max in metres, in the world frame."""


def base_map(
    base_world: Path,
    resolution_m: float = 0.05,
    height_m: float = DEFAULT_HEIGHT_M,
    pattern: Optional[Pattern[str]] = None,
    bounds: Optional[Bounds] = None,
    repair: bool = False,
    allow_missing: Sequence[str] = (),
) -> OccupancyGrid:
    """The occupancy of a world at ``height_m``, without its random obstacles.

    ``pattern`` matches the whole names of these, by default those that the spawner gives.
    ``bounds`` are :func:`bounds_of` the world unless given. A cell is occupied when anything
    touches it; what ``allow_missing`` names need not be there. Raises ``SdfError`` for a bad
    world, ``SpecError`` when there is nothing in it, or something is so far away that no map can
    hold it.
    """
    scene = read_scene(Path(base_world), repair=repair, allow_missing=allow_missing)
    return map_of(scene, resolution_m, height_m, pattern, bounds)


def map_of(
    scene: WorldScene,
    resolution_m: float,
    height_m: float = DEFAULT_HEIGHT_M,
    pattern: Optional[Pattern[str]] = None,
    bounds: Optional[Bounds] = None,
) -> OccupancyGrid:
    """As :func:`base_map`, of a scene that is read already."""
    if bounds is None:
        bounds = bounds_of(scene, resolution_m)
    elif _is_too_large(bounds, resolution_m):
        raise SpecError(f"{_size(bounds, resolution_m)}: give smaller bounds or larger cells")
    outlines = [
        shape.footprint(height_m, height_m)
        for name, model in scene.models.items()
        if not is_obstacle(name, pattern)
        for shape in model.collisions
        if not shape.is_ground
    ]
    return OccupancyGrid.rasterize(outlines, bounds, resolution_m)


def bounds_of(
    scene: WorldScene,
    resolution_m: float,
    hold: Mapping[str, Bounds] = MappingProxyType({}),
    room_m: float = 0.0,
    most_cells: float = MOST_CELLS,
) -> Bounds:
    """The rectangle around all that stands in a world at whatever height, random obstacles
    included, and around ``hold``: what else has to lie on the map, by the name that a message
    gives it. What of that lies outside has ``room_m`` around it; what lies inside changes
    nothing. Widened to whole multiples of ``resolution_m``.

    Raises ``SpecError`` when there is nothing, or when that is more than ``most_cells``.
    """
    things = [
        (f"model {name}", tuple(shape.bounds[:2].T.ravel()))
        for name, model in scene.models.items()
        for shape in model.collisions
        if not shape.is_ground and np.isfinite(shape.bounds).all()
    ]
    standing = _around([bounds for _, bounds in things])
    for name, (x_min, y_min, x_max, y_max) in hold.items():
        if standing is None or _around([standing, hold[name]]) != standing:
            wider = (x_min - room_m, y_min - room_m, x_max + room_m, y_max + room_m)
            things.append((name, wider))
    bounds = _around([bounds for _, bounds in things])
    if bounds is None:
        raise SpecError(
            f"{scene.document.source}: nothing stands in this world, so its map has no bounds; "
            "give them (--bounds)"
        )
    if _is_too_large(bounds, resolution_m, most_cells):
        reach, name = max((float(np.abs(bounds).max()), name) for name, bounds in things)
        raise SpecError(
            f"{scene.document.source}: {_size(bounds, resolution_m, most_cells)}; {name} reaches "
            f"{reach:.3g} m from the origin. Mend or remove it if that is wrong, or take larger "
            "cells (--resolution, global_plan.resolution_m of a campaign)"
        )
    return _snapped(bounds, resolution_m)


def heights_m(scene: WorldScene, pattern: Optional[Pattern[str]] = None) -> Tuple[float, float]:
    """Between which heights (m) all lies that stands in a world, without its random obstacles; 0
    and 0 where nothing does."""
    found = [
        shape.bounds[2]
        for name, model in scene.models.items()
        if not is_obstacle(name, pattern)
        for shape in model.collisions
        if not shape.is_ground
    ]
    if not found:
        return 0.0, 0.0
    return float(np.min(found)), float(np.max(found))


def _around(several: List[Bounds]) -> Optional[Bounds]:
    """The bounds of several bounds together; None of none."""
    if not several:
        return None
    low, high = np.min(several, axis=0), np.max(several, axis=0)
    return (float(low[0]), float(low[1]), float(high[2]), float(high[3]))


def _is_too_large(bounds: Bounds, resolution_m: float, most_cells: float = MOST_CELLS) -> bool:
    x_min, y_min, x_max, y_max = bounds
    columns, rows = (x_max - x_min) / resolution_m, (y_max - y_min) / resolution_m
    return columns * rows > most_cells or max(columns, rows) > MOST_CELLS_A_SIDE


def _size(bounds: Bounds, resolution_m: float, most_cells: float = MOST_CELLS) -> str:
    x_min, y_min, x_max, y_max = bounds
    return (
        f"a map of {x_max - x_min:.3g} x {y_max - y_min:.3g} m has more than {most_cells:.0e} "
        f"cells of {resolution_m:g} m, or {MOST_CELLS_A_SIDE:.0e} a side"
    )


def unknown_outside(grid: OccupancyGrid) -> Optional[np.ndarray]:
    """Which free cells lie outside of the walls, where no robot has ever been.

    These are the free cells that are connected to the map's border, when there are more free
    cells that are not; else there are no walls around, and the answer is None.
    """
    from scipy import ndimage

    free = np.pad(~grid.occupied, 1, constant_values=True)
    labels, _ = ndimage.label(free)
    outside = (labels == labels[0, 0])[1:-1, 1:-1]
    inside = ~grid.occupied & ~outside
    return outside if inside.sum() > outside.sum() else None


def _snapped(bounds: Bounds, resolution_m: float) -> Bounds:
    low, high = np.array(bounds[:2]), np.array(bounds[2:])
    low = (np.floor(low / resolution_m + 1e-9) - MARGIN_CELLS) * resolution_m
    high = (np.ceil(high / resolution_m - 1e-9) + MARGIN_CELLS) * resolution_m
    # Rounding away what multiplying adds: an origin of -15.3 is not one of -15.299999999999999.
    x_min, y_min, x_max, y_max = (round(float(value), 9) for value in (*low, *high))
    return (x_min, y_min, x_max, y_max)
