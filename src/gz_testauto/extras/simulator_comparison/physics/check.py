"""What a check of physics is, and what comes of it.

Owns the words: a check measures one number in scenes of its own and states the one that paper
has. What an engine's integrator adds (semi-implicit Euler: g t dt/2 to a fall) is part of the
deviation.
"""

import math
from dataclasses import dataclass
from typing import Callable, NamedTuple, Optional

from gz_testauto.extras.simulator_comparison.physics.scenes import PhysicsSceneLoader


class PhysicsResult(NamedTuple):
    """A value and the exact one, in the check's unit. ``scale`` is what a deviation is a share of
    where the exact value is 0."""

    value: float
    exact: float
    scale: Optional[float] = None


@dataclass(frozen=True)
class PhysicsCheck:
    """One thing to measure. ``formula`` is the closed form, with its source where it is not in
    every textbook. ``converges`` asks for a second run at another physics step."""

    name: str
    description: str
    unit: str
    formula: str
    measure: Callable[[PhysicsSceneLoader], PhysicsResult]
    converges: bool = False


MAX_STEP_DIFFERENCE = 0.05
"""Values at two steps that differ by more than this share of the larger are not converged."""


@dataclass(frozen=True)
class PhysicsCheckResult:
    """What a check found for an entry at a physics step (s).

    ``value`` and ``exact`` are in ``unit``; both are None where ``refusal`` says why nothing was
    measured. ``other_value`` is the value at ``other_step_s``, of checks that ask for it.
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
        """(value - exact) as a share of the exact value, or of the scale; None where there is
        no value."""
        if self.value is None or self.exact is None:
            return None
        return (self.value - self.exact) / (self.scale or abs(self.exact))

    @property
    def converged(self) -> Optional[bool]:
        """Whether the values at two steps agree; None where one was asked for only."""
        if self.value is None or self.other_value is None:
            return None
        return math.isclose(self.value, self.other_value, rel_tol=MAX_STEP_DIFFERENCE)
