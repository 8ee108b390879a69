"""The map of a base world that a global planner knows: without the random obstacles.

Owns taking it from the collision geometry, at the height at which the lidar would have seen
it, so that no SLAM is needed. The files are :mod:`gz_testauto.grid.map_server`'s.
"""

from pathlib import Path
from typing import Optional, Pattern, Sequence, Tuple

import numpy as np
from scipy import ndimage

from gz_testauto.errors import SpecError
from gz_testauto.grid.occupancy import OccupancyGrid
from gz_testauto.sampling.naming import is_obstacle
from gz_testauto.sdf.scene import CollisionShape, WorldScene, read_scene

DEFAULT_HEIGHT_M = 0.3
MARGIN_CELLS = 2
MOST_CELLS = 2e8
"""A square of 1.4 km at 0.1 m."""

Bounds = Tuple[float, float, float, float]


def base_map(
    base_world: Path,
    resolution_m: float = 0.05,
    height_m: float = DEFAULT_HEIGHT_M,
    pattern: Optional[Pattern[str]] = None,
    bounds: Optional[Bounds] = None,
    repair: bool = False,
) -> OccupancyGrid:
    """The occupancy of a world at ``height_m``, without its random obstacles.

    ``pattern`` matches the whole names of these, by default those that the spawner gives.
    ``bounds`` (x_min, y_min, x_max, y_max) are those of what stands in the world, at whatever
    height, unless given, widened to whole multiples of ``resolution_m``. A cell is occupied
    when anything touches it. Raises ``SdfError`` for a bad world, ``SpecError`` when there is
    nothing in it, or something is so far away that no map can hold it.
    """
    scene = read_scene(Path(base_world), repair=repair)
    return map_of(scene, resolution_m, height_m, pattern, bounds)


def map_of(
    scene: WorldScene,
    resolution_m: float,
    height_m: float = DEFAULT_HEIGHT_M,
    pattern: Optional[Pattern[str]] = None,
    bounds: Optional[Bounds] = None,
) -> OccupancyGrid:
    """As :func:`base_map`, of a scene that is read already."""
    shapes = [
        (name, shape)
        for name, model in scene.models.items()
        if not is_obstacle(name, pattern)
        for shape in model.collisions
        if not shape.is_ground
    ]
    if bounds is None:
        bounds = _bounds(scene, shapes, resolution_m)
    outlines = [shape.footprint(height_m, height_m) for _, shape in shapes]
    return OccupancyGrid.rasterize(outlines, bounds, resolution_m)


def _bounds(
    scene: WorldScene, shapes: Sequence[Tuple[str, CollisionShape]], resolution_m: float
) -> Bounds:
    """Those of what stands in the world, widened. Raises ``SpecError`` when that is nothing, or
    more than a map can hold."""
    extents = np.array([shape.bounds for _, shape in shapes]).reshape(-1, 3, 2)
    finite = np.isfinite(extents).all(axis=(1, 2))
    if not finite.any():
        raise SpecError(
            f"{scene.document.source}: nothing stands in this world, so its map has no bounds"
        )
    low, high = extents[finite][:, :2, 0].min(axis=0), extents[finite][:, :2, 1].max(axis=0)
    if float(np.prod((high - low) / resolution_m)) > MOST_CELLS:
        reach = np.where(finite, np.abs(extents[:, :2]).max(axis=(1, 2)), 0.0)
        name = shapes[int(np.argmax(reach))][0]
        raise SpecError(
            f"{scene.document.source}: a map of {high[0] - low[0]:.3g} x {high[1] - low[1]:.3g} m "
            f"has more than {MOST_CELLS:.0e} cells of {resolution_m:g} m; model {name} reaches "
            f"{reach.max():.3g} m from the origin: is its mesh or its pose right? Mend or remove "
            "it, or take a coarser resolution"
        )
    return _snapped(low, high, resolution_m)


def unknown_outside(grid: OccupancyGrid) -> Optional[np.ndarray]:
    """Which free cells lie outside of the walls, where no robot has ever been.

    These are the free cells that are connected to the map's border, when there are more free
    cells that are not; else there are no walls around, and the answer is None.
    """
    free = np.pad(~grid.occupied, 1, constant_values=True)
    labels, _ = ndimage.label(free)
    outside = (labels == labels[0, 0])[1:-1, 1:-1]
    inside = ~grid.occupied & ~outside
    return outside if inside.sum() > outside.sum() else None


def _snapped(low: np.ndarray, high: np.ndarray, resolution_m: float) -> Bounds:
    low = (np.floor(low / resolution_m + 1e-9) - MARGIN_CELLS) * resolution_m
    high = (np.ceil(high / resolution_m - 1e-9) + MARGIN_CELLS) * resolution_m
    # Rounding away what multiplying adds: an origin of -15.3 is not one of -15.299999999999999.
    x_min, y_min, x_max, y_max = (round(float(value), 9) for value in (*low, *high))
    return (x_min, y_min, x_max, y_max)
