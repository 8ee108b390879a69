"""Parameters of a campaign over ROS: the campaign, the selected trials, the results directory.

The campaign node and the gate node read them; the simulator node loads the same campaign.
"""

from pathlib import Path

from pydantic import Field

from gz_testauto.base.errors import SpecError
from gz_testauto.campaign.simulator import with_simulator
from gz_testauto.ros.interface import NodeParameters, OptionalPath, user_directory
from gz_testauto.spec.campaign import BuiltinCampaignSpec, CampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.trial.plan import TrialSelection


class CampaignParameters(NodeParameters):
    """A campaign and the trials to run."""

    campaign: OptionalPath = None
    """The campaign, a YAML file; required."""
    simulator: str = ""
    """Another simulator than that of the campaign."""
    planners: str = ""
    """Names of planners, separated by commas or blanks; default: all."""
    worlds: int = Field(0, ge=0)
    """Run only the first N worlds; 0: all."""
    stack: bool = False
    """True for a campaign on your own launch files."""
    workers: int = Field(1, ge=1)
    """Number of trials in parallel."""
    out: str = ""
    """Results directory; default: ``results/<name of the campaign>``."""

    def load(self) -> CampaignSpec:
        """Return the campaign with the simulator of the parameters. Raises ``SpecError`` if it uses
        a navigation stack and ``stack`` is false, or the reverse."""
        if self.campaign is None:
            raise SpecError("parameter ~campaign is not set; set it to a YAML file")
        if not self.stack:
            return load_builtin_campaign(self.campaign, self.simulator)
        spec = load(self.campaign, CampaignSpec)
        if isinstance(spec, BuiltinCampaignSpec):
            raise SpecError(f"{self.campaign}: has no stack; leave stack:=true out")
        return with_simulator(spec, self.simulator) if self.simulator else spec

    @property
    def selection(self) -> TrialSelection:
        """The worlds and planners to run."""
        names = tuple(self.planners.replace(",", " ").split())
        return TrialSelection(worlds=self.worlds or None, planners=names or None)

    def results_directory(self, spec: CampaignSpec) -> Path:
        """Return ``out`` relative to the user's working directory."""
        return user_directory() / Path(self.out or f"results/{spec.name}").expanduser()


def load_builtin_campaign(path: Path, simulator: str) -> BuiltinCampaignSpec:
    """Return the campaign of a file. ``simulator`` replaces its simulator unless it is empty.
    Raises ``SpecError`` for a campaign with a navigation stack."""
    spec = load(path, CampaignSpec)
    if not isinstance(spec, BuiltinCampaignSpec):
        raise SpecError(f"{path}: has stack, which starts its own simulator; add stack:=true")
    return with_simulator(spec, simulator)
