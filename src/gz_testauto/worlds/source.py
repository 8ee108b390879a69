"""World sources except base worlds and directories: programs that generate worlds.

Owns the interface of a source, its registry, and the source of a campaign. A source is named by its
key in ``worlds`` of ``campaign.yaml``.
"""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Dict, Iterator, List, Optional, Tuple

from gz_testauto.base.errors import ResultsError, SpecError
from gz_testauto.base.registry import Registry
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.missions import Missions
from gz_testauto.spec.worlds import WorldFileSpec, WorldsSpec
from gz_testauto.worlds.manifest import WorldSet, read_worlds


class WorldSource(ABC):
    """The worlds of one campaign. World *i* depends only on the seed and *i*.

    It is constructed from the campaign's ``worlds`` and its seed. :meth:`input_files` is called
    first, then :meth:`make`, then :meth:`missions`.
    """

    def __init__(self, worlds: WorldsSpec, seed: int) -> None:
        self.worlds, self.seed = worlds, seed

    @abstractmethod
    def make(self, folder: Path, workers: int) -> WorldSet:
        """Generate all worlds in ``folder``, or none, with up to ``workers`` processes. Raises
        ``GzTestautoError``. It is not called if the worlds exist."""

    @abstractmethod
    def missions(self, folder: Path) -> Optional[List[WorldFileSpec]]:
        """Return start and goals in each of the worlds in ``folder``; None for those of the
        campaign. Raises ``SpecError`` or ``ResultsError``."""

    @abstractmethod
    def input_files(self) -> Dict[str, str]:
        """Return the SHA-256 hashes of all files that determine the worlds, by name. Raises
        ``SpecError``."""

    @abstractmethod
    def sdf_files(self) -> Iterator[Path]:
        """Return the SDF files from which worlds are generated."""

    @abstractmethod
    def recorded_numbers(self) -> Tuple[str, ...]:
        """Return the names of the numbers that each trial records for this source."""


WORLD_SOURCES = Registry("world source", {})


def world_source(spec: CampaignSpec) -> Optional[WorldSource]:
    """Return the source of the campaign's worlds; None for a base world and for a directory.
    Raises ``UnknownNameError``."""
    if spec.worlds.scenic is None:
        return None
    source: WorldSource = WORLD_SOURCES.get("scenic")(spec.worlds, spec.seed)
    return source


def missions_of(spec: CampaignSpec, folder: Path) -> Missions:
    """Return the start and goals in each of the campaign's worlds, which a source may define in
    ``folder``. Raises as :meth:`WorldSource.missions`."""
    source = world_source(spec)
    return Missions(spec, None if source is None else source.missions(folder))


def made_worlds(folder: Path) -> WorldSet:
    """Read the worlds that an earlier run made. Raises ``ResultsError`` where they are damaged."""
    try:
        return read_worlds(folder)
    except SpecError as error:
        raise ResultsError(
            f"{folder}: the campaign's worlds are damaged; remove that folder, and the next "
            f"run makes the same worlds again ({error})"
        ) from error
