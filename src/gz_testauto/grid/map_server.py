"""Occupancy grids as the files of ROS's map_server, an image and its YAML.

Owns the file format: a binary PGM in which 0 is occupied, 254 free and 205 unknown, first row
uppermost, and a YAML with resolution, origin (the lower left corner) and thresholds, in
``trinary`` mode. Source: http://wiki.ros.org/map_server. Refuses rotated origins.
"""

import re
from pathlib import Path
from typing import Any, Mapping, Optional, Tuple

import numpy as np
import yaml

from gz_testauto.errors import SpecError
from gz_testauto.grid.occupancy import OccupancyGrid

OCCUPIED, UNKNOWN, FREE = 0, 205, 254
OCCUPIED_THRESHOLD, FREE_THRESHOLD = 0.65, 0.196


def write_map(
    grid: OccupancyGrid,
    directory: Path,
    name: str = "map",
    unknown: Optional[np.ndarray] = None,
) -> Tuple[Path, Path]:
    """Write ``name.yaml`` and ``name.pgm``; return their paths in that order.

    ``unknown``, a bool array of the grid's shape, marks cells of which nothing is known;
    where a cell is occupied as well, occupied counts.
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    pixels = np.full(grid.occupied.shape, FREE, dtype=np.uint8)
    if unknown is not None:
        pixels[unknown] = UNKNOWN
    pixels[grid.occupied] = OCCUPIED
    rows, columns = pixels.shape
    image = directory / f"{name}.pgm"
    header = f"P5\n# resolution {grid.resolution_m!r} m\n{columns} {rows}\n255\n"
    image.write_bytes(header.encode("ascii") + pixels[::-1].tobytes())
    description = directory / f"{name}.yaml"
    description.write_text(
        f"image: {image.name}\n"
        "mode: trinary\n"
        f"resolution: {grid.resolution_m!r}\n"
        f"origin: [{grid.origin_x_m!r}, {grid.origin_y_m!r}, 0.0]\n"
        "negate: 0\n"
        f"occupied_thresh: {OCCUPIED_THRESHOLD}\n"
        f"free_thresh: {FREE_THRESHOLD}\n",
        encoding="utf-8",
    )
    return description, image


def read_map(path: Path) -> OccupancyGrid:
    """Read a map_server YAML and its PGM, in any of map_server's modes.

    What is unknown counts as free: the grid says what is known to be in the way. Raises
    ``SpecError`` when a file is missing, damaged, or has a rotated origin.
    """
    path = Path(path)
    try:
        fields = yaml.safe_load(path.read_text(encoding="utf-8"))
        image = path.parent / fields["image"]
        resolution = float(fields["resolution"])
        x_m, y_m, yaw_rad = map(float, fields["origin"])
        pixels = _read_pgm(image)
        occupied = _occupied(pixels, fields)
    except (OSError, KeyError, TypeError, ValueError, yaml.YAMLError) as error:
        raise SpecError(f"{path}: is not a map of map_server: {error}") from error
    if abs(yaw_rad) > 1e-9:
        raise SpecError(f"{path}: origin is turned by {yaw_rad} rad; only 0 can be used")
    return OccupancyGrid(occupied[::-1], resolution, x_m, y_m)


def _occupied(pixels: np.ndarray, fields: Mapping[str, Any]) -> np.ndarray:
    """map_server's rule: how dark a pixel is, against the threshold."""
    shade = pixels.astype(float) / 255.0
    probability = shade if int(fields.get("negate", 0)) else 1.0 - shade
    if fields.get("mode") == "raw":
        return pixels >= 65
    return probability > float(fields.get("occupied_thresh", OCCUPIED_THRESHOLD))


def _read_pgm(path: Path) -> np.ndarray:
    """Pixels of an 8-bit binary or plain PGM, shape (rows, columns)."""
    data = path.read_bytes()
    header = re.match(
        rb"(P[25])(?:\s+|#[^\n]*\n)+(\d+)(?:\s+|#[^\n]*\n)+(\d+)(?:\s+|#[^\n]*\n)+(\d+)\s", data
    )
    if not header:
        raise ValueError(f"{path.name} is not a PGM image")
    columns, rows, highest = (int(header.group(i)) for i in (2, 3, 4))
    if not 0 < highest < 256:
        raise ValueError(f"{path.name} has a maximum of {highest}; only 8 bits can be read")
    body = data[header.end() :]
    if header.group(1) == b"P5":
        values = np.frombuffer(body, dtype=np.uint8)
    else:
        values = np.array(re.sub(rb"#[^\n]*", b"", body).split(), dtype=np.uint8)
    if len(values) < rows * columns:
        raise ValueError(f"{path.name} ends after {len(values)} of {rows * columns} pixels")
    pixels = values[: rows * columns].reshape(rows, columns)
    if highest == 255:
        return pixels
    return np.rint(pixels.astype(float) * (255.0 / highest)).astype(np.uint8)
