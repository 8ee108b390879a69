"""Ground from an image of the user."""

import numpy as np
from pydantic import Field
from typing_extensions import Literal

from gz_testauto.base.errors import MissingDependencyError, SpecError
from gz_testauto.extras.simulator_comparison.terrain.kind import TerrainKind
from gz_testauto.spec.model import SpecPath

WIDE_MODES = ("I", "F")
"""Prefixes of Pillow's modes of gray images with more than 8 bits."""


class ImageTerrain(TerrainKind):
    """The brightness of an image that Pillow reads, scaled to ``size_m`` and resampled to
    ``pixels``. The height difference between its darkest and its brightest point is ``relief_m``.
    The top of the image is at the greatest y. Color images are converted to gray."""

    kind: Literal["image"] = "image"
    image: SpecPath
    relief_m: float = Field(gt=0.0, le=100.0)

    def relief(self, x_m: np.ndarray, y_m: np.ndarray, draw: np.random.Generator) -> np.ndarray:
        """See :class:`TerrainKind`. Raises ``SpecError`` for an invalid image, or one of uniform
        brightness."""
        try:
            from PIL import Image
        except ImportError as error:
            raise MissingDependencyError(
                f"reading {self.image} needs Pillow: python3 -m pip install pillow"
            ) from error
        try:
            with Image.open(self.image) as image:
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
