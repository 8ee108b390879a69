"""Find the results directory of each trial in a report. In a report on several directories,
planners and worlds can have other names than in their directory."""

import contextlib
from dataclasses import dataclass, field
from typing import Callable, Iterator, Mapping, Sequence, Tuple

from gz_testauto.analysis.across import PairedCampaigns
from gz_testauto.metrics.recording import Recording
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.opened import OpenedResults
from gz_testauto.results.records import TrialRecord
from gz_testauto.results.store import ResultStore


@dataclass(frozen=True)
class Source:
    """A results directory of a report.

    ``typed`` is the path of the directory or pack that commands contain. ``label`` is the
    campaign's name in a report on several directories. ``planners`` and ``worlds`` map names in the
    report to those in the directory. ``worlds`` omits equal names.
    """

    typed: str
    directory: CampaignDirectory
    is_packed: bool = False
    """True if ``directory`` is a temporary copy of a pack."""
    label: str = ""
    planners: Mapping[str, str] = field(default_factory=dict)
    worlds: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, results: OpenedResults, planners: Sequence[str]) -> "Source":
        names = {name: name for name in planners}
        return cls(
            str(results.typed), CampaignDirectory(results.path), results.pack is not None, "", names
        )


def compared_sources(
    campaigns: Sequence[OpenedResults], across: PairedCampaigns
) -> Tuple[Source, ...]:
    return tuple(
        Source(
            str(campaign.typed),
            CampaignDirectory(campaign.path),
            campaign.pack is not None,
            side.label,
            {
                shown_name: stored_name
                for (label, stored_name), shown_name in across.names.items()
                if label == side.label
            },
            {
                shown_name: stored_name
                for (label, shown_name), stored_name in across.worlds.items()
                if label == side.label and shown_name != stored_name
            },
        )
        for campaign, side in zip(campaigns, across.sides)
        if not side.left_out
    )


def source_of(sources: Sequence[Source], planner: str) -> Source:
    return next(source for source in sources if planner in source.planners)


@contextlib.contextmanager
def recordings(sources: Sequence[Source]) -> Iterator[Callable[[TrialRecord], Recording]]:
    """Provide a function that returns the recording of a valid trial. It raises ``ResultsError`` if
    the recording cannot be read."""
    with contextlib.ExitStack() as at_exit:
        stores = {
            source.label: at_exit.enter_context(ResultStore.read(source.directory))
            for source in sources
        }
        yield lambda record: stores[source_of(sources, record.planner).label].trajectory(record)
