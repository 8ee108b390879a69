"""Interface of the ``gate`` node. Its parameters are the options of ``gz_testauto gate``."""

from typing import Any

from pydantic import field_validator

from gz_testauto.extras.gate.options import GateOptions
from gz_testauto.ros.campaign_parameters import CampaignParameters
from gz_testauto.ros.interface import Node, OptionalPath


class GateParameters(GateOptions, CampaignParameters):
    """The parameters of the ``gate`` node: the campaign or its results, and the options of the
    gate."""

    out: str = ""
    """Results directory. The default is a new temporary directory, which the log names."""
    results: OptionalPath = None
    """Results directory to evaluate, instead of ``~campaign``."""

    @field_validator("not_worse_than", "min_success", "fixed_worlds", mode="before")
    @classmethod
    def _replace_0_by_none(cls, value: Any) -> Any:
        # A launch file cannot set a parameter to None.
        return value or None


NODE = Node(
    "gate",
    "Evaluates a campaign as a test that rostest starts. The node has no topics.",
    GateParameters,
)
