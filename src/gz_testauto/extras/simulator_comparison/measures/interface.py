"""Interface of measures, which are numbers that compare simulators.

Other packages export a mapping from names to measures in the plug-in group
``gz_testauto.measures``. A measure has exactly one of three functions. ``between`` returns the
distance of two recordings of one maneuver; it is symmetric, and 0 for equal recordings. ``own``
returns a numerator and a denominator for one recording; their sums over all cases and repetitions
are divided. ``planners`` correlates the results of planners in a campaign with those in the
campaign of the reference.
"""

from dataclasses import dataclass
from typing import Callable, Optional, Tuple

from gz_testauto.base.errors import SpecError
from gz_testauto.base.registry import Registry
from gz_testauto.extras.simulator_comparison.correlation import PlannerCorrelation, Resampled
from gz_testauto.extras.simulator_comparison.recordings.recording import RunRecording

Between = Callable[[RunRecording, RunRecording], float]
Own = Callable[[RunRecording], Tuple[float, float]]


@dataclass(frozen=True)
class PlannerMeasure:
    """A measure of the agreement of two campaigns on the planners. ``metric`` is the name of the
    metric of trials that is correlated, and ``select`` returns one coefficient of the result."""

    metric: str
    select: Callable[[PlannerCorrelation], Resampled]


@dataclass(frozen=True)
class Measure:
    """Declaration of a measure that compares simulators.

    ``better`` is ``"lower"`` or ``"higher"``. ``needs`` lists the required channels of a recording,
    or ``load`` or ``campaign``. If ``summed`` is true, the values of the cases are added, as in
    equation (7) of Farley et al. 2022; otherwise their mean is used. ``terrain`` and ``maneuver``
    select cases; the default is all. ``beyond`` is the remark on a value that is worse than
    ``limit``. ``between`` can return NaN for recordings that do not determine the measure. The
    cases in which at least half of the pairs determine it are used, and ``undefined`` is the reason
    if there are none.
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
    undefined: str = ""

    def is_beyond(self, value: float) -> bool:
        """Return whether a value is worse than ``limit``; False without a limit."""
        if self.limit is None:
            return False
        return value > self.limit if self.better == "lower" else value < self.limit

    def __post_init__(self) -> None:
        if self.better not in ("lower", "higher"):
            raise SpecError(
                f"measure {self.name}: 'better' is {self.better!r}; it must be 'lower' or 'higher'"
            )
        kinds = (self.between, self.own, self.planners)
        if sum(kind is not None for kind in kinds) != 1:
            raise SpecError(
                f"measure {self.name}: specify exactly one of 'between', 'own' and 'planners'"
            )
        if self.between is not None and self.better != "lower":
            raise SpecError(
                f"measure {self.name}: 'better' must be 'lower', because 'between' makes the "
                "measure a distance"
            )


MEASURES = Registry("measure", {})


def register_measures(*measures: Measure) -> None:
    """Register measures under their names."""
    for measure in measures:
        MEASURES.register(measure.name, measure)


def find_measure(name: str) -> Measure:
    """Return the measure with this name. Raises ``UnknownNameError`` if it is not registered."""
    measure: Measure = MEASURES.get(name)
    return measure
