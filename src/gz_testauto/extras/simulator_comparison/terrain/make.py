"""Generation of a grid of heights from a specification and a seed."""

from typing import Union

import numpy as np
from pydantic import Field
from typing_extensions import Annotated

from gz_testauto.base.errors import SpecError
from gz_testauto.extras.simulator_comparison.terrain.bumps import BumpsTerrain
from gz_testauto.extras.simulator_comparison.terrain.fbm import FractalTerrain
from gz_testauto.extras.simulator_comparison.terrain.flat import FlatTerrain
from gz_testauto.extras.simulator_comparison.terrain.gravel import GravelTerrain
from gz_testauto.extras.simulator_comparison.terrain.image import ImageTerrain
from gz_testauto.extras.simulator_comparison.terrain.iso8608 import RoadTerrain
from gz_testauto.extras.simulator_comparison.terrain.kind import TerrainKind
from gz_testauto.extras.simulator_comparison.terrain.step import StepTerrain
from gz_testauto.extras.simulator_comparison.terrain.terrain import Terrain, grid_m, quantize
from gz_testauto.sampling.seeds import TERRAIN, child_generator

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
"""A terrain of any kind, as a field of a specification."""


def make_terrain(spec: TerrainKind, seed: int) -> Terrain:
    """Return the terrain of ``spec`` and ``seed``; the result is reproducible bit by bit.

    Raises ``SpecError`` for a terrain that is unintentionally flat.
    """
    axis = grid_m(spec.size_m, spec.pixels)
    x_m, y_m = np.meshgrid(axis, axis[::-1])
    heights = spec.relief(x_m, y_m, child_generator(seed, TERRAIN, spec.name))
    away = np.maximum(abs(x_m), abs(y_m)) - spec.clear_m
    near = away <= 1e-9
    start_m = float(np.median(heights[near])) if near.any() else 0.0
    rest = np.where(near, 0.0, _blend(away, spec.blend_m) * (heights - start_m))
    if np.ptp(rest) == 0.0 and not isinstance(spec, FlatTerrain):
        raise SpecError(
            f"terrain {spec.name!r} is flat everywhere: clear_m is {spec.clear_m:g} of a square of "
            f"{spec.size_m:g} m; specify a smaller clear_m or a larger size_m"
        )
    return Terrain(spec.name, quantize(rest), spec.size_m, spec.friction)


def _blend(away_m: np.ndarray, blend_m: float) -> np.ndarray:
    """Return the smooth factor, from 0 to 1, of the relief at a distance from the flat area."""
    if blend_m == 0.0:
        return (away_m > 0.0).astype(float)
    share = np.clip(away_m / blend_m, 0.0, 1.0)
    return share**2 * (3.0 - 2.0 * share)
