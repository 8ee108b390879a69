"""Conditions under which maneuvers were simulated, for a report; they are not scored."""

from dataclasses import dataclass, field
from typing import Mapping, Optional, Tuple


@dataclass(frozen=True)
class GroundProbeSummary:
    """Result of a probe of one terrain in one entry: the greatest error of its surface (m), the
    measured and the expected friction. ``refusal`` is the reason if maneuvers on it are not
    compared."""

    entry: str
    terrain: str
    worst_m: float
    friction: float
    expected_friction: float
    refusal: Optional[str] = None


@dataclass(frozen=True)
class InvalidRun:
    """An invalid run, with its reason."""

    entry: str
    case: str
    repetition: int
    why: str


@dataclass(frozen=True)
class RunConditions:
    """Simulators, probed terrains and invalid runs. ``simulators`` maps an entry to name, version
    and options of its simulator. ``notes`` are sentences on the machine and the run."""

    simulators: Mapping[str, str] = field(default_factory=dict)
    grounds: Tuple[GroundProbeSummary, ...] = ()
    invalid: Tuple[InvalidRun, ...] = ()
    notes: Tuple[str, ...] = ()


NO_CONDITIONS = RunConditions()
"""Conditions of recordings and of published values."""
