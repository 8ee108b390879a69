"""Parameters of the nodes that run a campaign: the YAML file, the selected trials, the results
directory."""

from pathlib import Path
from typing import Optional, Tuple

from pydantic import BeforeValidator, Field
from typing_extensions import Annotated

from gz_testauto.base import resources
from gz_testauto.base.errors import SpecError
from gz_testauto.campaign.simulator import with_simulator
from gz_testauto.ros.interface import NodeParameters, OptionalPath, user_directory
from gz_testauto.spec.campaign import BuiltinCampaignSpec, CampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.spec.worlds import SEEDS
from gz_testauto.trial.plan import TrialSelection


class CampaignParameters(NodeParameters):
    """Parameters of a node that select a campaign and the trials to run."""

    campaign: OptionalPath = None
    """YAML file of the campaign. This parameter is required."""
    simulator: str = ""
    """Name of a simulator that replaces the simulator of the campaign. If it is empty, the
    simulator is not replaced."""
    seed: Annotated[
        Optional[int],
        Field(ge=0, lt=SEEDS),
        BeforeValidator(lambda seed: seed if seed != "" else None),
    ] = None
    """Seed that replaces the seed of the campaign. Empty text means the seed of the campaign."""
    planners: str = ""
    """Names of the planners to run, separated by commas or spaces. The default is all planners."""
    worlds: int = Field(0, ge=0)
    """Number of worlds to run, starting with the first world. 0 means all worlds."""
    stack: bool = False
    """True for a campaign on your own launch files."""
    workers: int = Field(1, ge=1)
    """Number of trials that run in parallel."""
    out: str = ""
    """Results directory. The default is ``results/<name of the campaign>``."""

    def load(self) -> CampaignSpec:
        """Return the campaign with the simulator and the seed of the parameters.

        Raises ``SpecError`` if ``stack`` is false but the campaign uses a navigation stack, or if
        ``stack`` is true but the campaign does not.
        """
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

    @property
    def selection(self) -> TrialSelection:
        """The selected worlds and planners."""
        return TrialSelection(worlds=self.worlds or None, planners=names_in(self.planners))

    def results_directory(self, spec: CampaignSpec) -> Path:
        """Return the path of the results directory. A relative path refers to the user's working
        directory."""
        return resources.resolve(self.out or f"results/{spec.name}", user_directory())


def names_in(text: str) -> Optional[Tuple[str, ...]]:
    """Return the names in a parameter, or None if there are none."""
    return tuple(text.replace(",", " ").split()) or None


def load_builtin_campaign(path: Path, simulator: str) -> BuiltinCampaignSpec:
    """Return the campaign of a YAML file. A nonempty ``simulator`` replaces the simulator of the
    campaign. Raises ``SpecError`` for a campaign with a navigation stack."""
    spec = load(path, CampaignSpec)
    if not isinstance(spec, BuiltinCampaignSpec):
        raise SpecError(
            f"{path}: the campaign has the key 'stack', whose launch files start a simulator; add "
            "stack:=true"
        )
    return with_simulator(spec, simulator)
