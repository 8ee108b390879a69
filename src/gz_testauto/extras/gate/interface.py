"""Interface of the ``gate`` node. Its parameters are the options of ``gz_testauto gate``."""

from pydantic import Field

from gz_testauto.extras.gate.coverage import MAX_INVALID
from gz_testauto.ros.campaign_parameters import CampaignParameters
from gz_testauto.ros.interface import Node, OptionalPath


class GateParameters(CampaignParameters):
    """The parameters of the ``gate`` node: the campaign or its results, the questions, and the
    allowed differences."""

    out: str = ""
    """Results directory. The default is a new temporary directory, which the log names."""
    results: OptionalPath = None
    """Results directory to evaluate, instead of ``~campaign``."""
    corpus: OptionalPath = None
    """Directory of outputs of ``gz_testauto shrink``. The planners first run in these worlds, and
    must reach the goal in each of them. Without another question, only the corpus is judged."""
    baseline: OptionalPath = None
    """Results directory of the baseline."""
    planner: str = ""
    """Planners to evaluate, separated by commas or blanks. The default is all planners."""
    baseline_planner: str = ""
    """Planner of the baseline. The default is the planner with the same name."""
    not_worse_than: float = Field(0.0, ge=0)
    """Margin of the success rate. The default is 0.05 if a baseline is set."""
    min_success: float = Field(0.0, ge=0)
    """Required success rate. 0 means that no rate is required."""
    metrics: str = ""
    """``NAME:MARGIN`` or ``NAME:MARGIN:LOWEST:HIGHEST`` of metrics, separated by commas or
    blanks."""
    fixed_worlds: int = Field(0, ge=0)
    """Number of worlds that was chosen before the campaign, for a gate that is evaluated once. 0
    means that the gate is valid at every number of worlds."""
    alpha: float = 0.05
    """Error probability of all questions together."""
    allow_missing_worlds: int = 0
    """Number of worlds that can be missing."""
    max_invalid: float = MAX_INVALID
    """Largest allowed share of a planner's invalid trials."""
    new_planners: str = ""
    """Planners without a baseline, separated by commas or blanks."""
    removed_planners: str = ""
    """Planners of the baseline that are no longer evaluated, separated by commas or blanks."""
    ignore_differences: bool = False
    """Allow a baseline with a different robot, limits or simulator."""


NODE = Node(
    "gate",
    "Evaluates a campaign as a test that rostest starts. The node has no topics.",
    GateParameters,
)
