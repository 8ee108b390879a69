"""Equation (7) of Farley et al. 2022 for means and ranges from a publication."""

from typing import Optional, Tuple

import numpy as np
from pydantic import BeforeValidator
from typing_extensions import Annotated, Literal

from gz_testauto.extras.simulator_comparison.measures.inertial import summary_error
from gz_testauto.spec.model import Spec, as_tuple

Axes = Annotated[Tuple[float, float, float], BeforeValidator(as_tuple)]


class ExampleSpec(Spec):
    """Means and ranges (x, y, z) of a simulator and of its reference for one maneuver, in the unit
    of ``measure``, and the ``published_error``."""

    description: str
    """Maneuver, simulator and source."""
    measure: Literal["imu_angular_error", "imu_linear_error"]
    mean: Axes
    range: Axes
    reference_mean: Axes
    reference_range: Axes
    published_error: Optional[float] = None

    @property
    def error(self) -> float:
        """Sum of the error over the axes."""
        own, reference = (self.mean, self.range), (self.reference_mean, self.reference_range)
        return float(summary_error(*map(np.array, (*own, *reference))).sum())
