"""What a measure is: a number of an entry, by itself or against the reference.

A plugin of another package is a :class:`Measure` under its name, in a mapping that is exported as
``measures`` like planners are. ``between`` is a distance of two recordings of one drive: the same
either way round, and 0 of a recording from itself; ``own`` takes one, as a numerator and a
denominator, of which the sums over all drives and repetitions are divided. ``planners`` compares
what planners reach in a campaign with what they reach in the reference's. One of them is given.
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
    """By which ``metric`` of trials planners are told apart, and what is taken of that."""

    metric: str
    taken: Callable[[PlannerCorrelation], Resampled]


@dataclass(frozen=True)
class Measure:
    """The declaration of one measure.

    ``better`` is ``"lower"`` or ``"higher"``. ``needs`` are the channels that a recording must
    have, ``load`` among them, or a ``campaign`` of the entry. ``summed`` says that cases are added
    up, as equation (7) of the paper does; else their mean is taken. ``terrain`` and ``drive`` say
    for which cases it is, all unless given. A value that is worse than ``limit`` is remarked with
    ``beyond``.
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
        """Whether a value is worse than the limit; never where there is none, or no value."""
        if self.limit is None:
            return False
        return value > self.limit if self.better == "lower" else value < self.limit

    def __post_init__(self) -> None:
        if self.better not in ("lower", "higher"):
            raise SpecError(f"measure {self.name}: better is {self.better!r}; lower or higher")
        ways = (self.between, self.own, self.planners)
        if sum(one is not None for one in ways) != 1:
            raise SpecError(f"measure {self.name}: one of between, own and planners is to be given")
        if self.between is not None and self.better != "lower":
            raise SpecError(f"measure {self.name}: between is a distance; better is lower")


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
    """Raises ``UnknownNameError``."""
    found: Measure = MEASURES.get(name)
    return found
