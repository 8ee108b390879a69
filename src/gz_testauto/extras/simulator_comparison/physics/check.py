"""Definition and result of a check of physics.

A check measures one number in its own scenes and compares it with the exact value. The error of an
engine's integrator (semi-implicit Euler adds g t dt/2 to a fall) is part of the deviation.
"""

import math
from dataclasses import dataclass
from typing import Callable, NamedTuple, Optional

from gz_testauto.extras.simulator_comparison.physics.scenes import PhysicsSceneLoader


class PhysicsResult(NamedTuple):
    """A measured and the exact value, in the check's unit. ``scale`` is the denominator of the
    deviation if the exact value is 0."""

    value: float
    exact: float
    scale: Optional[float] = None


@dataclass(frozen=True)
class PhysicsCheck:
    """One measurement. ``formula`` is the closed form, with its source unless it is elementary.
    ``converges`` requests a second run at another physics step."""

    name: str
    description: str
    unit: str
    formula: str
    measure: Callable[[PhysicsSceneLoader], PhysicsResult]
    converges: bool = False


MAX_STEP_DIFFERENCE = 0.05
"""Values at two steps whose difference is above this share of the larger are not converged."""


@dataclass(frozen=True)
class PhysicsCheckResult:
    """Result of a check for an entry at a physics step (s).

    ``value`` and ``exact`` are in ``unit``; both are None if ``refusal`` has a reason why nothing
    was measured. ``other_value`` is the value at ``other_step_s``, for checks that request it.
    """

    entry: str
    check: str
    unit: str
    formula: str
    step_s: float
    value: Optional[float] = None
    exact: Optional[float] = None
    scale: Optional[float] = None
    other_step_s: Optional[float] = None
    other_value: Optional[float] = None
    refusal: Optional[str] = None

    @property
    def deviation(self) -> Optional[float]:
        """(value - exact) divided by the exact value, or by the scale; None without a value."""
        if self.value is None or self.exact is None:
            return None
        return (self.value - self.exact) / (self.scale or abs(self.exact))

    @property
    def converged(self) -> Optional[bool]:
        """True if the values at two steps agree; None with one step only."""
        if self.value is None or self.other_value is None:
            return None
        return math.isclose(self.value, self.other_value, rel_tol=MAX_STEP_DIFFERENCE)
