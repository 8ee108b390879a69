"""Parameters of the nodes that run a campaign."""

from pathlib import Path
from typing import Any

from pydantic import Field, field_validator

from gz_testauto.base import resources
from gz_testauto.base.errors import SpecError
from gz_testauto.campaign.selection import CampaignOptions
from gz_testauto.campaign.simulator import with_simulator
from gz_testauto.ros.interface import NodeParameters, OptionalPath, user_directory
from gz_testauto.spec.campaign import BuiltinCampaignSpec, CampaignSpec
from gz_testauto.spec.loader import load


class CampaignParameters(CampaignOptions, NodeParameters):
    """Parameters of a node that select a campaign and the trials to run."""

    campaign: OptionalPath = None
    """YAML file of the campaign. This parameter is required."""
    stack: bool = False
    """True for a campaign on your own launch files."""
    workers: int = Field(1, ge=1)
    """Number of trials that run in parallel."""
    out: str = ""
    """Results directory. The default is ``results/<name of the campaign>``."""

    @field_validator("worlds", mode="before")
    @classmethod
    def _all_worlds(cls, number: Any) -> Any:
        return number or None

    def load(self) -> CampaignSpec:
        """Return the campaign with ``seed`` and ``simulator``, if they are set. Raises
        ``SpecError`` if ``stack`` does not match it."""
        if self.campaign is None:
            raise SpecError("the parameter ~campaign is not set; set it to a YAML file")
        spec = self._load(self.campaign)
        return spec if self.seed is None else spec.model_copy(update={"seed": self.seed})

    def _load(self, campaign: Path) -> CampaignSpec:
        if not self.stack:
            return load_builtin_campaign(campaign, self.simulator)
        spec = load(campaign, CampaignSpec)
        if isinstance(spec, BuiltinCampaignSpec):
            raise SpecError(f"{campaign}: the campaign has no key 'stack'; remove stack:=true")
        return with_simulator(spec, self.simulator) if self.simulator else spec

    def results_directory(self, spec: CampaignSpec) -> Path:
        return resources.resolve(self.out or f"results/{spec.name}", user_directory())


def load_builtin_campaign(path: Path, simulator: str) -> BuiltinCampaignSpec:
    """Load a campaign; a nonempty ``simulator`` replaces its simulator.

    Raises ``SpecError`` for a campaign with a navigation stack.
    """
    spec = load(path, CampaignSpec)
    if not isinstance(spec, BuiltinCampaignSpec):
        raise SpecError(
            f"{path}: the campaign has the key 'stack', whose launch files start a simulator; add "
            "stack:=true"
        )
    return with_simulator(spec, simulator)
