"""Read and write occupancy grids as files of ROS's map_server: an image and a YAML file.

In the image, 0 is occupied, 254 is free and 205 is unknown, and the first row has the highest y.
The origin is the lower left corner. Source: http://wiki.ros.org/map_server.
"""

import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import List, Optional, Tuple, Union

import numpy as np
from pydantic import ConfigDict, Field
from typing_extensions import Annotated, Literal

from gz_testauto.base.disk import disk_errors, read_input, replace_file
from gz_testauto.base.errors import MissingDependencyError, SpecError
from gz_testauto.grid.occupancy import OccupancyGrid
from gz_testauto.spec.loader import load
from gz_testauto.spec.model import Spec, SpecPath

OCCUPIED, UNKNOWN, FREE = 0, 205, 254
OCCUPIED_THRESHOLD, FREE_THRESHOLD = 0.65, 0.196
MAX_RESOLUTION_M = 100.0

_BLANK = rb"(?:\s|#[^\n]*\n)+"
_PGM_HEADER = re.compile(_BLANK.join([rb"(P[25])", *[rb"(\d{1,9})"] * 3]) + rb"\s")


def write_map(
    grid: OccupancyGrid,
    directory: Path,
    name: str = "map",
    unknown: Optional[np.ndarray] = None,
) -> Tuple[Path, Path]:
    """Write ``name.yaml`` and ``name.pgm`` in the mode ``trinary``, and return their paths. Free
    cells in ``unknown`` (bool, shape of the grid) are written as unknown. Raises ``DiskError``."""
    directory = Path(directory)
    pixels = np.full(grid.occupied.shape, FREE, dtype=np.uint8)
    if unknown is not None:
        pixels[unknown] = UNKNOWN
    pixels[grid.occupied] = OCCUPIED
    rows, columns = pixels.shape
    image = directory / f"{name}.pgm"
    header = f"P5\n# resolution {grid.resolution_m!r} m\n{columns} {rows}\n255\n"
    description = directory / f"{name}.yaml"
    text = (
        f"image: {image.name}\n"
        "mode: trinary\n"
        f"resolution: {grid.resolution_m!r}\n"
        f"origin: [{grid.origin_x_m!r}, {grid.origin_y_m!r}, 0.0]\n"
        "negate: 0\n"
        f"occupied_thresh: {OCCUPIED_THRESHOLD}\n"
        f"free_thresh: {FREE_THRESHOLD}\n"
    )
    with disk_errors(directory):
        directory.mkdir(parents=True, exist_ok=True)
        replace_file(image, header.encode("ascii") + pixels[::-1].tobytes())
        replace_file(description, text.encode("utf-8"))
    return description, image


class _MapFields(Spec):
    model_config = ConfigDict(extra="ignore")

    image: SpecPath
    resolution: float = Field(gt=0, le=MAX_RESOLUTION_M)
    # within 1e8 m, coordinates have steps of 15 nm
    origin: Annotated[
        List[Annotated[float, Field(ge=-1e8, le=1e8)]], Field(min_length=3, max_length=3)
    ]
    negate: Union[bool, Literal[0, 1]] = False
    occupied_thresh: float = OCCUPIED_THRESHOLD
    free_thresh: float = FREE_THRESHOLD
    mode: Literal["trinary", "scale", "raw"] = "trinary"


@dataclass(frozen=True, eq=False)
class MapFile:
    """The content of a map file. ``occupied`` and ``unknown`` are bool arrays (rows, columns) whose
    row 0 has the lowest y. The origin is the pose (m, rad) of the outer corner of cell (0, 0)."""

    occupied: np.ndarray
    unknown: np.ndarray
    resolution_m: float
    origin: Tuple[float, float, float]


def read_map_file(path: Path) -> MapFile:
    """Return the content of a map file. Raises ``SpecError`` for a missing or damaged file."""
    fields = load(Path(path), _MapFields)
    image = fields.image
    pixels = _read_pgm(image) if image.suffix.lower() == ".pgm" else _read_image(image, fields.mode)
    occupied, unknown = (mask[::-1] for mask in _states(pixels, fields))
    x_m, y_m, yaw_rad = fields.origin
    return MapFile(occupied, unknown, fields.resolution, (x_m, y_m, yaw_rad))


def read_map(path: Path) -> OccupancyGrid:
    """Return a map in which unknown cells are free. Raises ``SpecError`` if a file is missing or
    damaged, or if the origin is rotated."""
    map_file = read_map_file(path)
    x_m, y_m, yaw_rad = map_file.origin
    if abs(yaw_rad) > 1e-9:
        raise SpecError(f"{path}: the yaw of 'origin' is {yaw_rad} rad; it must be 0")
    return OccupancyGrid(map_file.occupied, map_file.resolution_m, x_m, y_m)


def _states(pixels: np.ndarray, fields: _MapFields) -> Tuple[np.ndarray, np.ndarray]:
    """Return masks of occupied and unknown pixels, as map_server determines them."""
    if pixels.dtype == np.uint8:  # the state of each value, since floats need much memory
        occupied, unknown = _states(np.arange(256), fields)
        return occupied[pixels], unknown[pixels]
    if fields.mode == "raw":
        # a pixel is the value of its cell
        values = 255 - pixels if fields.negate else pixels
        return np.asarray((values >= 65) & (values < 255)), np.asarray(values == 255)
    shade = pixels.astype(float) / 255.0
    probability = shade if fields.negate else 1.0 - shade
    occupied = np.asarray(probability > fields.occupied_thresh)
    if fields.mode == "scale":  # all pixels of a gray image are known
        return occupied, np.zeros_like(occupied)
    return occupied, ~occupied & ~np.asarray(probability < fields.free_thresh)


def _read_image(path: Path, mode: str) -> np.ndarray:
    """Return the pixels (0 to 255) of an image, the mean of its channels, shape (rows, columns)."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as error:
        raise MissingDependencyError(
            f"{path}: an image that is not a PGM needs Pillow: pip install pillow, or convert the "
            "image to PGM"
        ) from error
    data = read_input(path, SpecError)
    try:
        with Image.open(io.BytesIO(data)) as image:
            colors: Image.Image = image
            if image.mode in ("1", "P", "PA"):
                colors = image.convert("RGBA" if "transparency" in image.info else "RGB")
            pixels = np.asarray(colors, dtype=float)
    except UnidentifiedImageError as error:
        raise SpecError(f"{path}: the file is not an image") from error
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise SpecError(f"{path}: the image cannot be read: {error}") from error
    if pixels.ndim == 3:
        # map_server includes the alpha channel in the mode trinary
        has_alpha = pixels.shape[2] in (2, 4)
        pixels = (pixels[..., :-1] if has_alpha and mode != "trinary" else pixels).mean(axis=2)
    if pixels.max() > 255:
        raise SpecError(f"{path}: the image has more than 8 bits per pixel; convert it to 8 bits")
    return pixels


def _read_pgm(path: Path) -> np.ndarray:
    """Return the pixels of an 8-bit PGM, binary or plain, scaled to a maximum of 255."""
    data = read_input(path, SpecError)
    header = _PGM_HEADER.match(data)
    if not header:
        raise SpecError(f"{path}: the file is not a PGM image")
    columns, rows, highest = (int(header.group(i)) for i in (2, 3, 4))
    if not 0 < highest < 256:
        raise SpecError(
            f"{path}: the image has the maximum value {highest}; only 8-bit images are supported"
        )
    if not (rows and columns):
        raise SpecError(f"{path}: the image has {columns} x {rows} pixels, so the map is empty")
    body = data[header.end() :]
    if header.group(1) == b"P5":
        values = np.frombuffer(body, dtype=np.uint8)
    else:
        values = _parse_plain_pixels(path, body)
    if len(values) < rows * columns:
        raise SpecError(
            f"{path}: the file ends after {len(values)} of {rows * columns} pixels; write the file "
            "again"
        )
    pixels = values[: rows * columns].reshape(rows, columns)
    if pixels.max() > highest:
        raise SpecError(
            f"{path}: the image contains the pixel value {pixels.max()}, but its header states the "
            f"maximum {highest}"
        )
    if highest == 255:
        return pixels.astype(np.uint8, copy=False)
    return np.rint(pixels.astype(float) * (255.0 / highest)).astype(np.uint8)


def _parse_plain_pixels(path: Path, body: bytes) -> np.ndarray:
    words = re.sub(rb"#[^\n]*", b"", body).split()
    for word in words:
        if not (word.isdigit() and len(word) <= 3):
            raise SpecError(
                f"{path}: the pixel value {word[:20]!r} is not an integer of up to 3 digits"
            )
    return np.array(words, dtype=np.int16)
