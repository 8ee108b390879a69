"""The section of the report that compares trials with the recorded failures in their worlds."""

from pathlib import Path
from typing import Dict, List, Optional, Tuple

from gz_testauto.base.disk import read_input
from gz_testauto.base.errors import ResultsError
from gz_testauto.report.sections import Section, SectionTable
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.records import CampaignResults, TrialRecord
from gz_testauto.results.store import ResultStore
from gz_testauto.spec.worlds import RecordedEndSpec
from gz_testauto.trial.failure_place import is_same_place, place_of

KEY = b'"recorded_end": {'  # in a stored campaign


def section(directory: Path, results: CampaignResults) -> Optional[Section]:
    """Return the section, or None without a recorded end.

    Raises ``ResultsError`` or ``SpecError`` if the stored campaign cannot be read.
    """
    stored = CampaignDirectory(directory)
    if not stored.campaign.is_file() or KEY not in read_input(stored.campaign, ResultsError):
        return None
    ends = _recorded_ends(stored)
    trials: Dict[Tuple[str, str], List[TrialRecord]] = {}
    for record in results.trials:
        if record.outcome.valid and record.world in ends:
            trials.setdefault((record.world, record.planner), []).append(record)
    if not trials:
        return None
    with ResultStore.read(stored) as store:
        rows = tuple(
            _row(store, world, planner, ends[world], records)
            for (world, planner), records in trials.items()
        )
    return Section(
        "Recorded failures",
        (
            "The recorded failure has happened again if a trial does not reach the goal and ends "
            "within 0.5 m of the end of the recording (2 m if it timed out).",
        ),
        (
            SectionTable(
                "",
                ("world", "recorded end", "planner", "again", "other failure", "reached"),
                rows,
            ),
        ),
    )


def _recorded_ends(stored: CampaignDirectory) -> Dict[str, RecordedEndSpec]:
    from gz_testauto.campaign.resume import read_campaign  # only if there is a recorded end

    spec, _ = read_campaign(stored)
    return {
        entry.world: entry.recorded_end
        for entry in spec.worlds.files or ()
        if entry.recorded_end is not None
    }


def _row(
    store: ResultStore,
    world: str,
    planner: str,
    end: RecordedEndSpec,
    records: List[TrialRecord],
) -> Tuple[str, ...]:
    failed = [record for record in records if not record.completed]
    again = sum(
        is_same_place(
            record.outcome, place_of(record.outcome, store.trajectory(record)), (end.x_m, end.y_m)
        )
        for record in failed
    )
    place = f"({end.x_m:.2f}, {end.y_m:.2f}) m"
    return (
        world,
        f"{end.result or 'failed'} at {place}",
        planner,
        f"{again} of {len(records)}",
        str(len(failed) - again),
        str(len(records) - len(failed)),
    )
