"""Agreement between the ranking of planners in a simulator and in the reference."""

from gz_testauto.extras.simulator_comparison.measures.interface import Measure, PlannerMeasure
from gz_testauto.metrics.interface import SUCCESS

_SOURCE = "A. Kadian et al., IEEE RA-L 5, 2020 (arXiv 1912.06321)"

PLANNER_SRCC = Measure(
    name="planner_srcc",
    unit="",
    better="higher",
    description="correlation of planners' SPL, simulator with reference",
    formula="Pearson's r over (planner, world), each the mean of its trials",
    source=_SOURCE,
    needs=("campaign",),
    planners=PlannerMeasure("spl", lambda found: found.pearson),
)

PLANNER_SUCCESS_SRCC = Measure(
    name="planner_success_srcc",
    unit="",
    better="higher",
    description="correlation of planners' success, simulator with reference",
    formula="Pearson's r over (planner, world), each the share of its trials",
    source=_SOURCE,
    needs=("campaign",),
    planners=PlannerMeasure(SUCCESS, lambda found: found.pearson),
)

PLANNER_SPEARMAN = Measure(
    name="planner_spearman",
    unit="",
    better="higher",
    description="correlation of the ranks of planners' SPL, simulator with reference",
    formula="Spearman's coefficient over (planner, world), each the mean of its trials",
    source="C. Spearman, Am. J. Psychol. 15, 1904",
    needs=("campaign",),
    planners=PlannerMeasure("spl", lambda found: found.spearman),
)

PLANNER_SAME_WINNER = Measure(
    name="planner_same_winner",
    unit="",
    better="higher",
    description="share of pairs of planners of which the same one has the greater SPL",
    formula="pairs with the same sign of the difference of means over worlds / pairs",
    source="definition of this package",
    needs=("campaign",),
    planners=PlannerMeasure("spl", lambda found: found.same_winner),
)
