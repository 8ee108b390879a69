"""Under what circumstances drives were recorded, for a report: nothing of it is scored."""

from dataclasses import dataclass, field
from typing import Mapping, Optional, Tuple


@dataclass(frozen=True)
class GroundProbeSummary:
    """What a probe found of one terrain in one entry: the greatest error of its surface (m), and
    friction beside what it should be; ``refusal`` says why drives on it do not count, if so."""

    entry: str
    terrain: str
    worst_m: float
    friction: float
    expected_friction: float
    refusal: Optional[str] = None


@dataclass(frozen=True)
class InvalidRun:
    """A drive that says nothing of the simulator, and why."""

    entry: str
    case: str
    repetition: int
    why: str


@dataclass(frozen=True)
class RunConditions:
    """``simulators`` has, by entry, which simulator it was: name, version, options. ``notes`` are
    sentences on the machine and the run."""

    simulators: Mapping[str, str] = field(default_factory=dict)
    grounds: Tuple[GroundProbeSummary, ...] = ()
    invalid: Tuple[InvalidRun, ...] = ()
    notes: Tuple[str, ...] = ()


NO_CONDITIONS = RunConditions()
"""Of recordings and of what was published."""
