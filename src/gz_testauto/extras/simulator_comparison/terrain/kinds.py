"""Kinds of terrain: YAML keys, and generation of the heights from a seed.

Some are modeled on A. Farley, J. Wang, J. A. Marshall, "How to pick a mobile robot simulator",
2022.
"""

import io
import math
from abc import abstractmethod
from typing import List, Optional, Tuple, Union

import numpy as np
from pydantic import BeforeValidator, Field, field_validator, model_validator
from scipy.fft import irfft2, next_fast_len
from typing_extensions import Annotated, Literal, Self

from gz_testauto.base.disk import read_file
from gz_testauto.base.errors import MissingDependencyError, SpecError
from gz_testauto.extras.simulator_comparison.terrain.terrain import Terrain, grid_m, quantize
from gz_testauto.sampling.seeds import TERRAIN, child_generator
from gz_testauto.spec.model import Spec, SpecPath, as_tuple
from gz_testauto.spec.stack import NAME


class TerrainKind(Spec):
    """A kind of terrain: a square of ground around the world's origin, which is flat in the middle,
    so that a robot can start there."""

    name: str = Field(pattern=NAME)
    """Name of the terrain in reports."""
    kind: str
    """Kind of terrain."""
    friction: float = Field(1.0, ge=0.0, le=10.0)
    """Friction coefficient of the ground."""
    size_m: float = Field(12.8, ge=1.0, le=1000.0)
    """Side (m) of the square of ground."""
    pixels: int = Field(513, ge=17, le=2049)
    """Number of grid points per side, 2^n + 1."""
    clear_m: float = Field(0.8, ge=0.0, le=100.0)
    """Distance (m) from the origin along x and y up to which the ground is flat."""
    blend_m: float = Field(0.4, ge=0.0, le=100.0)
    """Distance (m) over which the relief increases to its full height."""

    @field_validator("pixels")
    @classmethod
    def _require_power_of_two_plus_1(cls, pixels: int) -> int:
        if (pixels - 1) & (pixels - 2):
            raise ValueError(f"is {pixels}; it must be 2^n + 1, such as 257 or 513")
        return pixels

    @property
    def pitch_m(self) -> float:
        """Distance (m) between neighboring points of the grid."""
        return self.size_m / (self.pixels - 1)

    @abstractmethod
    def relief(self, x_m: np.ndarray, y_m: np.ndarray, draw: np.random.Generator) -> np.ndarray:
        """Return heights (m) at the points ``x_m``, ``y_m`` (n, n) of a grid. Rows have decreasing
        y and columns increasing x. Only differences of heights are used."""


class FlatTerrain(TerrainKind):
    """A plane, such as a laboratory floor or artificial grass, which differ in friction."""

    kind: Literal["flat"]
    """Kind of terrain."""

    def relief(self, x_m: np.ndarray, y_m: np.ndarray, draw: np.random.Generator) -> np.ndarray:
        return np.zeros_like(x_m)


class StepTerrain(TerrainKind):
    """A vertical step across the path of the robot. It rises within the cell of the grid that ends
    at ``position_m``."""

    kind: Literal["step"]
    """Kind of terrain."""
    height_m: float = Field(0.05, gt=0.0, le=2.0)
    """Height (m) of the step."""
    position_m: float = Field(2.0, ge=0.0, le=1000.0)
    """x coordinate (m) of the step."""
    length_m: Optional[float] = Field(None, gt=0.0, le=1000.0)
    """Length (m) of the higher ground along x; the default is up to the edge."""

    @model_validator(mode="after")
    def _require_step_on_terrain(self) -> Self:
        if not self.clear_m + self.blend_m < self.position_m < self.size_m / 2:
            raise ValueError(
                f"position_m is {self.position_m:g}; it must be above clear_m + blend_m "
                f"({self.clear_m + self.blend_m:g}) and below size_m / 2 ({self.size_m / 2:g})"
            )
        return self

    def relief(self, x_m: np.ndarray, y_m: np.ndarray, draw: np.random.Generator) -> np.ndarray:
        slack = self.pitch_m / 1000
        high = x_m >= self.position_m - slack
        if self.length_m is not None:
            high &= x_m <= self.position_m + self.length_m + slack
        return np.where(high, self.height_m, 0.0)


PATCHES = 2  # patches of the first layer on a tile, each with one of the second layer
SIDES_M = (0.2, 0.45)  # shortest and longest side of a patch on a tile of 1 m
UPPER_SHARE = (0.4, 0.7)  # ratio of the sides of an upper patch to those of the patch below

Rectangle = Tuple[float, float, float, float]
"""Rectangle on a tile: least x, least y, length along x, length along y (m)."""


class BumpsTerrain(TerrainKind):
    """Tiles with flat patches, some of which are stacked on others. The sides of a patch rise
    within one cell of the grid. Tile, heights of 38 and 76 mm, and friction are those of Farley et
    al. 2022. Positions and sizes of the patches are random, not those of the paper."""

    kind: Literal["bumps"]
    """Kind of terrain."""
    friction: float = Field(0.95, ge=0.0, le=10.0)
    """Friction coefficient of the ground."""
    blend_m: float = Field(0.0, ge=0.0, le=100.0)
    """Distance (m) over which the relief increases to its full height."""
    tile_m: float = Field(1.0, ge=0.2, le=100.0)
    """Side (m) of a tile."""
    layer_m: float = Field(0.038, gt=0.0, le=1.0)
    """Height (m) of a patch above the ground or the patch below."""

    def relief(self, x_m: np.ndarray, y_m: np.ndarray, draw: np.random.Generator) -> np.ndarray:
        layers = np.zeros(x_m.shape)
        tiles = int(np.ceil(self.size_m / self.tile_m))
        for row in range(tiles):
            for column in range(tiles):
                west = column * self.tile_m - self.size_m / 2
                south = row * self.tile_m - self.size_m / 2
                for layer, patches in enumerate(_tile(self.tile_m, draw), 1):
                    for patch in patches:
                        inside = _covered_cells(x_m, y_m, patch, west, south)
                        layers[inside] = np.maximum(layers[inside], layer)
        return layers * self.layer_m


def _tile(side_m: float, draw: np.random.Generator) -> Tuple[List[Rectangle], List[Rectangle]]:
    """Return random patches of the lower and of the upper layer, relative to the corner of the
    tile."""
    low, high = [], []
    for _ in range(PATCHES):
        length, width = draw.uniform(*SIDES_M, size=2) * side_m
        west, south = draw.uniform(0.0, 1.0, size=2) * (side_m - length, side_m - width)
        low.append((west, south, length, width))
        shorter, narrower = draw.uniform(*UPPER_SHARE, size=2) * (length, width)
        along, across = draw.uniform(0.0, 1.0, size=2) * (length - shorter, width - narrower)
        high.append((west + along, south + across, shorter, narrower))
    return low, high


def _covered_cells(
    x_m: np.ndarray, y_m: np.ndarray, patch: Rectangle, west_m: float, south_m: float
) -> Tuple[slice, slice]:
    """Return the rows and columns of the grid that a patch covers. The corner of its tile is at
    (``west_m``, ``south_m``)."""
    left, bottom, length, width = patch
    columns = np.searchsorted(x_m[0], [west_m + left, west_m + left + length])
    rows = len(y_m) - np.searchsorted(y_m[::-1, 0], [south_m + bottom + width, south_m + bottom])
    return slice(*rows), slice(*columns)


COVERED = 2.0  # area of the stones divided by that of the ground, so that few gaps remain
FLATTEST, TALLEST = 0.5, 1.0  # ratio of the height of a stone to its radius

Diameters = Annotated[
    Tuple[Annotated[float, Field(gt=0.0, le=10.0)], Annotated[float, Field(gt=0.0, le=10.0)]],
    BeforeValidator(as_tuple),
]


class GravelTerrain(TerrainKind):
    """Fixed stones: the upper envelope of half ellipsoids with random positions, diameters and
    heights. The default relief is that of the gravel mesh of Farley et al. 2022, but the stones are
    not those of the mesh. They do not roll, and details smaller than the pitch of the grid are
    missing."""

    kind: Literal["gravel"]
    """Kind of terrain."""
    friction: float = Field(0.55, ge=0.0, le=10.0)
    """Friction coefficient of the ground."""
    relief_m: float = Field(0.097, gt=0.0, le=2.0)
    """Height difference (m) between the lowest gap and the highest stone."""
    stone_m: Diameters = (0.1, 0.24)
    """Smallest and largest diameter (m) of a stone; diameters are uniform between them."""

    @model_validator(mode="after")
    def _require_stones_wider_than_cells(self) -> Self:
        least, greatest = self.stone_m
        if least > greatest:
            raise ValueError(
                f"stone_m is [{least:g}, {greatest:g}]; the smaller diameter must be first"
            )
        if least < 2 * self.pitch_m:
            raise ValueError(
                f"'stone_m' starts at {least:g} m, but a stone must be at least two grid cells "
                f"({2 * self.pitch_m:g} m) wide; specify more 'pixels' or larger stones"
            )
        return self

    def relief(self, x_m: np.ndarray, y_m: np.ndarray, draw: np.random.Generator) -> np.ndarray:
        least, greatest = self.stone_m
        mean_area = np.pi / 12 * (least**2 + least * greatest + greatest**2)
        count = int(np.ceil(COVERED * self.size_m**2 / mean_area))
        heights = np.zeros(x_m.shape)
        half = self.size_m / 2
        stones = np.column_stack(
            [
                draw.uniform(-half, half, (count, 2)),
                draw.uniform(least / 2, greatest / 2, count),
                draw.uniform(FLATTEST, TALLEST, count),
            ]
        )
        for east, north, radius, height_share in stones:
            columns = slice(*np.searchsorted(x_m[0], [east - radius, east + radius]))
            rising = np.searchsorted(y_m[::-1, 0], [north + radius, north - radius])
            rows = slice(*(len(y_m) - rising))
            squared_distance_m2 = (x_m[rows, columns] - east) ** 2 + (
                y_m[rows, columns] - north
            ) ** 2
            dome = height_share * np.sqrt(np.maximum(radius**2 - squared_distance_m2, 0.0))
            np.maximum(heights[rows, columns], dome, out=heights[rows, columns])
        return heights * (self.relief_m / np.ptp(heights))


REFERENCE_PER_M = 0.1  # wave number n0 at which ISO 8608 specifies roughness

MARGIN = 2  # width of the generated periodic field / width of the returned field


def rough_field(
    pixels: int, pitch_m: float, roughness_m3: float, hurst: float, draw: np.random.Generator
) -> np.ndarray:
    """Return random isotropic heights (pixels, pixels) in m.

    The one-sided power spectral density along any line is G(n) = G(n0) (n / n0)^-(2H + 1), with n0
    = 0.1 1/m, G(n0) = ``roughness_m3``, H = ``hurst`` and n in cycles per meter.
    """
    # The two-sided density in the plane with this marginal is S(k) = c k^-(2H + 2), by
    # 2 c ∫ (n² + m²)^-(H + 1) dm = 2 c √π Γ(H + ½) / Γ(H + 1) n^-(2H + 1).
    count = next_fast_len(MARGIN * pixels)
    along = np.fft.fftfreq(count, pitch_m)[:, None]
    across = np.fft.rfftfreq(count, pitch_m)[None, :]
    wave_per_m = np.hypot(along, across)
    wave_per_m[0, 0] = np.inf  # the mean is 0
    marginal = math.sqrt(math.pi) * math.gamma(hurst + 0.5) / math.gamma(hurst + 1.0)
    density = roughness_m3 * REFERENCE_PER_M ** (2 * hurst + 1) / (2 * marginal)
    density = density * wave_per_m ** -(2 * hurst + 2)  # m⁴
    # white noise of variance 1 has |F|² = count² in each bin; density is over bins of 1/side²
    noise = np.fft.rfft2(draw.standard_normal((count, count)))
    field = irfft2(noise * np.sqrt(density) / pitch_m, s=(count, count))
    return np.ascontiguousarray(field[:pixels, :pixels])


CLASS_M3 = {"A": 16e-6, "B": 64e-6, "C": 256e-6, "D": 1024e-6, "E": 4096e-6}
"""Roughness G_d(n0) of the classes of ISO 8608 (m³): geometric means of their limits."""


class RoadTerrain(TerrainKind):
    """An isotropic road of a class of ISO 8608, from A, very good, to E, very poor. The spectrum
    along any line is G_d(n) = G_d(n0) (n / n0)^-2, n0 = 0.1 1/m, with the geometric mean of the
    class. The standard defines the spectrum from 0.011 to 2.83 1/m; here it extends to the shortest
    wave of the grid."""

    kind: Literal["iso8608"] = "iso8608"
    """Kind of terrain."""
    road_class: Literal["A", "B", "C", "D", "E"] = "C"
    """Class of the road by ISO 8608, from ``A`` (very good) to ``E`` (very poor)."""

    def relief(self, x_m: np.ndarray, y_m: np.ndarray, draw: np.random.Generator) -> np.ndarray:
        return rough_field(len(x_m), self.pitch_m, CLASS_M3[self.road_class], 0.5, draw)


class FractalTerrain(TerrainKind):
    """Fractional Brownian ground. The spectrum along any line is proportional to n^-(2H + 1), where
    H is ``hurst``. With H = 0.5 the ground is a road of ISO 8608."""

    kind: Literal["fbm"]
    """Kind of terrain."""
    hurst: float = Field(0.7, gt=0.0, lt=1.0)
    """Hurst exponent; lower values give rougher ground."""
    roughness_m3: float = Field(1024e-6, gt=0.0, le=1.0)
    """Power spectral density (m³) of the heights at 0.1 1/m."""

    def relief(self, x_m: np.ndarray, y_m: np.ndarray, draw: np.random.Generator) -> np.ndarray:
        return rough_field(len(x_m), self.pitch_m, self.roughness_m3, self.hurst, draw)


WIDE_MODES = ("I", "F")  # prefixes of Pillow's modes with more than 8 bits


class ImageTerrain(TerrainKind):
    """A terrain from an image, whose brightness is the height. The image is scaled to ``size_m``
    and resampled to ``pixels``; its top is at the greatest y. Pillow reads the image; color images
    are converted to gray."""

    kind: Literal["image"]
    """Kind of terrain."""
    image: SpecPath
    """Image file."""
    relief_m: float = Field(gt=0.0, le=100.0)
    """Height difference (m) between the darkest and the brightest point."""

    def relief(self, x_m: np.ndarray, y_m: np.ndarray, draw: np.random.Generator) -> np.ndarray:
        try:
            from PIL import Image
        except ImportError as error:
            raise MissingDependencyError(
                f"reading {self.image} needs Pillow; install it with python3 -m pip install pillow"
            ) from error
        try:
            with Image.open(io.BytesIO(read_file(self.image))) as image:
                gray = image if image.mode.startswith(WIDE_MODES) else image.convert("L")
                brightness = Image.fromarray(np.asarray(gray, dtype=np.float32))
                smooth = Image.BILINEAR  # type: ignore[attr-defined]  # its name before 9.1 too
                resampled = brightness.resize(x_m.shape[::-1], smooth)
                heights = np.asarray(resampled, dtype=float)
        except Exception as error:  # image readers raise errors of many types
            raise SpecError(f"{self.image} cannot be read as an image: {error}") from error
        contrast = float(np.ptp(heights))
        if not contrast > 0.0:
            raise SpecError(
                f"{self.image} has uniform brightness, so it has no relief; use another "
                "image, or a terrain of kind flat"
            )
        return heights * (self.relief_m / contrast)


TerrainSpec = Annotated[
    Union[
        FlatTerrain,
        StepTerrain,
        BumpsTerrain,
        GravelTerrain,
        RoadTerrain,
        FractalTerrain,
        ImageTerrain,
    ],
    Field(discriminator="kind"),
]


def make_terrain(spec: TerrainKind, seed: int) -> Terrain:
    """Return a terrain, the same for equal arguments. Raises ``SpecError`` if the relief of a kind
    other than ``flat`` has no height."""
    axis = grid_m(spec.size_m, spec.pixels)
    x_m, y_m = np.meshgrid(axis, axis[::-1])
    heights = spec.relief(x_m, y_m, child_generator(seed, TERRAIN, spec.name))
    distance_m = np.maximum(abs(x_m), abs(y_m)) - spec.clear_m
    is_flat = distance_m <= 1e-9
    start_m = float(np.median(heights[is_flat])) if is_flat.any() else 0.0
    blended = np.where(
        is_flat, 0.0, _blending_share(distance_m, spec.blend_m) * (heights - start_m)
    )
    if np.ptp(blended) == 0.0 and not isinstance(spec, FlatTerrain):
        raise SpecError(
            f"terrain {spec.name!r} is flat everywhere: clear_m is {spec.clear_m:g} of a square of "
            f"{spec.size_m:g} m; specify a smaller clear_m or a larger size_m"
        )
    return Terrain(spec.name, quantize(blended), spec.size_m, spec.friction)


def _blending_share(distance_m: np.ndarray, blend_m: float) -> np.ndarray:
    if blend_m == 0.0:
        return (distance_m > 0.0).astype(float)
    share = np.clip(distance_m / blend_m, 0.0, 1.0)
    return share**2 * (3.0 - 2.0 * share)
