"""A finished or half-finished campaign, read for looking at: its results and what made them."""

from dataclasses import dataclass
from pathlib import Path

from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.manifest import Manifest
from gz_testauto.results.records import CampaignResults
from gz_testauto.results.store import ResultStore


@dataclass(frozen=True)
class LoadedCampaign:
    """What a results directory holds. ``label`` tells it from others, for tables."""

    label: str
    results: CampaignResults
    manifest: Manifest


def load_campaign(path: Path, label: str = "") -> LoadedCampaign:
    """Read a results directory; ``label`` is its name unless given.

    Raises ``ResultsError`` for a directory without results, one of another version, or a damaged
    one.
    """
    directory = CampaignDirectory(path)
    with ResultStore.read(directory) as store:
        results = store.results()
    return LoadedCampaign(label or directory.path.name, results, Manifest.read(directory))
