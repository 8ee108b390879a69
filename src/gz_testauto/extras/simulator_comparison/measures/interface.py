"""Interface of measures: a number of an entry, alone or compared with the reference.

A plug-in of another package is a :class:`Measure` under its name, in a mapping that is exported as
``measures``, like planners. ``between`` is a distance of two recordings of one maneuver, symmetric
and 0 for equal recordings. ``own`` returns a numerator and a denominator of one recording; their
sums over all cases and repetitions are divided. ``planners`` compares the results of planners in a
campaign with those in the reference's. Exactly one of them is specified.
"""

from dataclasses import dataclass
from typing import Callable, Optional, Tuple

from gz_testauto.analysis.correlation import PlannerCorrelation, Resampled
from gz_testauto.base.errors import SpecError
from gz_testauto.base.registry import Registry
from gz_testauto.extras.simulator_comparison.recordings.recording import RunRecording

Between = Callable[[RunRecording, RunRecording], float]
Own = Callable[[RunRecording], Tuple[float, float]]


@dataclass(frozen=True)
class PlannerMeasure:
    """The ``metric`` of trials by which planners are compared, and the selected correlation."""

    metric: str
    select: Callable[[PlannerCorrelation], Resampled]


@dataclass(frozen=True)
class Measure:
    """The declaration of one measure.

    ``better`` is ``"lower"`` or ``"higher"``. ``needs`` are the channels that a recording must
    have, or ``load``, or a ``campaign`` of the entry. ``summed`` adds cases, as equation (7) of the
    paper does; otherwise their mean is used. ``terrain`` and ``maneuver`` select cases; the default
    is all. ``beyond`` is the remark for a value that is worse than ``limit``.
    """

    name: str
    description: str
    formula: str
    source: str
    needs: Tuple[str, ...]
    unit: str = ""
    better: str = "lower"
    between: Optional[Between] = None
    own: Optional[Own] = None
    planners: Optional[PlannerMeasure] = None
    summed: bool = False
    terrain: str = ""
    maneuver: str = ""
    limit: Optional[float] = None
    beyond: str = ""

    def is_beyond(self, value: float) -> bool:
        """Return whether a value is worse than the limit; False without limit or value."""
        if self.limit is None:
            return False
        return value > self.limit if self.better == "lower" else value < self.limit

    def __post_init__(self) -> None:
        if self.better not in ("lower", "higher"):
            raise SpecError(
                f"measure {self.name}: better is {self.better!r}; it must be lower or higher"
            )
        kinds = (self.between, self.own, self.planners)
        if sum(one is not None for one in kinds) != 1:
            raise SpecError(
                f"measure {self.name}: exactly one of between, own and planners must be specified"
            )
        if self.between is not None and self.better != "lower":
            raise SpecError(f"measure {self.name}: between is a distance; better must be lower")


MEASURES = Registry("measure", {})


def register_measures(*measures: Measure) -> None:
    """Add measures of this package under their names."""
    for measure in measures:
        MEASURES.register(measure.name, measure)


def find_measure(name: str) -> Measure:
    """Return the measure with this name. Raises ``UnknownNameError``."""
    found: Measure = MEASURES.get(name)
    return found
