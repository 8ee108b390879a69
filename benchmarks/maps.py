"""Convert maps of map_server to worlds and back, and compare all known cells.

Each argument is a YAML file of map_server. The map of each world is computed from its collision
shapes, with the resolution of the given map, and compared cell by cell. For a rotated map, the
centers of the cells are tested against the shapes instead. Prints the numbers of cells, boxes and
different cells, and the time of the conversion. The exit status is 1 if a cell differs.

    python3 benchmarks/maps.py MAP.yaml ... [--out DIR]
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import shapely

from gz_testauto.base.errors import GzTestautoError
from gz_testauto.cli.main import main as gz_testauto
from gz_testauto.extras.map_world.walls import center_of, rectangles_of
from gz_testauto.grid.map_server import read_map_file
from gz_testauto.sdf.scene import read_scene
from gz_testauto.worlds.static_map import map_of


def occupied_in(world, found):
    """Return the cells that the collision shapes of a world occupy, shape (rows, columns)."""
    scene = read_scene(world)
    rows, columns = found.occupied.shape
    x_m, y_m, yaw_rad = found.origin
    if yaw_rad == 0.0:
        size_m = np.array([columns, rows]) * found.resolution_m
        bounds = (x_m, y_m, x_m + float(size_m[0]), y_m + float(size_m[1]))
        return map_of(scene, found.resolution_m, bounds=bounds).occupied[:rows, :columns]
    shapes = [
        shape.footprint(0.3, 0.3)
        for model in scene.models.values()
        for shape in model.collisions
        if not shape.is_ground
    ]
    walls = shapely.union_all(shapes)
    shapely.prepare(walls)
    centers = [center_of(found, row, column) for row in range(rows) for column in range(columns)]
    return shapely.contains_xy(walls, np.array(centers)).reshape(rows, columns)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("maps", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, help="directory of the worlds")
    arguments = parser.parse_args()
    out = arguments.out or Path(tempfile.mkdtemp())
    differing = 0
    print(
        "| map | cells | known | occupied | boxes | differing | s |\n|---|---|---|---|---|---|---|"
    )
    for number, path in enumerate(arguments.maps):
        folder = out / f"{number:02d}_{path.stem}"
        start = time.perf_counter()
        try:
            found = read_map_file(path)
        except GzTestautoError as error:
            print(f"| {path} | {error} | | | | | |")
            continue
        status = gz_testauto(["world-from-map", str(path), "--out", str(folder)])
        needed = time.perf_counter() - start
        world = folder / f"{path.stem}.world"
        if status != 0:
            print(f"| {path.stem} | exit status {status} | | | | | |")
            continue
        known = ~found.unknown
        count = int((occupied_in(world, found) != found.occupied)[known].sum())
        differing += count
        walls = found.occupied | found.unknown
        rows, columns = known.shape
        print(
            f"| {path.stem} | {columns} x {rows} | {100 * known.mean():.0f} % | "
            f"{found.occupied.sum()} | {len(rectangles_of(walls))} | {count} | {needed:.1f} |",
            flush=True,
        )
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
