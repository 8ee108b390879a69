"""Height maps as meshes, for ODE.

ODE represents a height map by the planes of its triangles and by its vertices, but not by its
edges: a wheel at the edge of a step penetrates it by almost the step's height. ODE handles the
edges of a triangle mesh correctly. This module writes the mesh files.
"""

import hashlib
from pathlib import Path

import numpy as np
import trimesh
from trimesh.exchange.stl import export_stl

from gz_testauto.base.disk import replace_file
from gz_testauto.sdf.meshes.surfaces import Heightmap


def write_mesh(terrain: Heightmap, folder: Path) -> Path:
    """Write a height map's surface as an STL file into ``folder`` and return its path. The mesh is
    centered, starts at the height of black, and has two upward triangles per cell. Equal meshes
    share a file. Raises ``OSError`` if writing fails, and ``SdfError`` for an unreadable map."""
    heights = terrain.heights
    rows, columns = heights.shape
    length_m, width_m, _ = terrain.size
    x_m, y_m = np.meshgrid(
        np.linspace(-length_m / 2, length_m / 2, columns),
        np.linspace(width_m / 2, -width_m / 2, rows),
    )
    number = np.arange(rows * columns).reshape(rows, columns)
    north_west, north_east = number[:-1, :-1].ravel(), number[:-1, 1:].ravel()
    south_west, south_east = number[1:, :-1].ravel(), number[1:, 1:].ravel()
    faces = np.concatenate(
        [
            np.column_stack([north_west, south_west, south_east]),
            np.column_stack([north_west, south_east, north_east]),
        ]
    )
    vertices = np.column_stack([x_m.ravel(), y_m.ravel(), heights.ravel()])
    mesh = trimesh.Trimesh(vertices, faces, process=False)
    content = bytes(export_stl(mesh))
    path = folder / f"{hashlib.sha256(content).hexdigest()[:16]}.stl"
    if not path.exists():
        replace_file(path, content)
    return path
