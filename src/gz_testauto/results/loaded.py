"""Load the results and the manifest of a campaign, finished or not."""

from dataclasses import dataclass
from pathlib import Path

from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.manifest import Manifest
from gz_testauto.results.records import CampaignResults
from gz_testauto.results.store import ResultStore


@dataclass(frozen=True)
class LoadedCampaign:
    """The content of a results directory. ``label`` identifies it in tables."""

    label: str
    results: CampaignResults
    manifest: Manifest


def load_campaign(path: Path, label: str = "") -> LoadedCampaign:
    """Read a results directory; its label is by default the directory's name.

    Raises ``ResultsError`` if the directory has no results, if they are damaged, or if this version
    cannot read them.
    """
    directory = CampaignDirectory(path)
    with ResultStore.read(directory) as store:
        results = store.results()
    return LoadedCampaign(label or directory.path.name, results, Manifest.read(directory))
