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
    paper does; otherwise their mean is used. ``terrain`` and ``drive`` select cases; the default is
    all. ``beyond`` is the remark for a value that is worse than ``limit``.
    """

    name: str
    unit: str
    better: str
    description: str
    formula: str
    source: str
    needs: Tuple[str, ...]
    between: Optional[Between] = None
    own: Optional[Own] = None
    planners: Optional[PlannerMeasure] = None
    summed: bool = False
    terrain: str = ""
    drive: str = ""
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


_HERE = "gz_testauto.extras.simulator_comparison.measures"

MEASURES = Registry(
    "measure",
    {
        "real_time_factor": f"{_HERE}.load:REAL_TIME_FACTOR",
        "cpu_idle": f"{_HERE}.load:CPU_IDLE",
        "cpu_average": f"{_HERE}.load:CPU_AVERAGE",
        "cpu_intense": f"{_HERE}.load:CPU_INTENSE",
        "memory": f"{_HERE}.load:MEMORY",
        "imu_angular_error": f"{_HERE}.mean_and_range:ANGULAR",
        "imu_linear_error": f"{_HERE}.mean_and_range:LINEAR",
        "vertical_spectrum": f"{_HERE}.vertical:SPECTRUM",
        "vertical_wasserstein": f"{_HERE}.vertical:WASSERSTEIN",
        "vertical_energy": f"{_HERE}.vertical:ENERGY",
        "vertical_sigma": f"{_HERE}.vertical:SIGMA",
        "linear_bias": f"{_HERE}.errors:LINEAR_BIAS",
        "angular_bias": f"{_HERE}.errors:ANGULAR_BIAS",
        "yaw_rate_rmse": f"{_HERE}.errors:YAW_RATE_RMSE",
        "linear_rmse": f"{_HERE}.errors:LINEAR_RMSE",
        "gain": f"{_HERE}.errors:GAIN",
        "delay": f"{_HERE}.errors:DELAY",
        "pose_drift": f"{_HERE}.pose:DRIFT",
        "relative_pose": f"{_HERE}.pose:RELATIVE",
        "box_pushed": f"{_HERE}.pose:BOX_PUSHED",
        "noise_density": f"{_HERE}.rest:NOISE_DENSITY",
        "planner_srcc": f"{_HERE}.planners:SRCC",
        "planner_success_srcc": f"{_HERE}.planners:SUCCESS_SRCC",
        "planner_spearman": f"{_HERE}.planners:SPEARMAN",
        "planner_same_winner": f"{_HERE}.planners:SAME_WINNER",
        "half_step": f"{_HERE}.half_step:HALF_STEP",
    },
)


def find_measure(name: str) -> Measure:
    """Return the measure with this name. Raises ``UnknownNameError``."""
    found: Measure = MEASURES.get(name)
    return found
