"""Write trials that other software ran as a results directory for report, compare and gate.

The directory has ``manifest.json``, with the file from which it was imported, and
``results.sqlite``. It has no campaign that can be run, and no recordings.
"""

import os
import shutil
from pathlib import Path
from typing import Dict, Optional, Sequence, Tuple

from gz_testauto.base.errors import ResultsError
from gz_testauto.metrics.interface import Metric, builtin_metrics
from gz_testauto.results.comparability import file_sha256
from gz_testauto.results.directory import CampaignDirectory, reporting_disk
from gz_testauto.results.manifest import Manifest
from gz_testauto.results.records import AttemptRecord, TrialRecord
from gz_testauto.results.store import ResultStore
from gz_testauto.results.trial_rows import TrialTable
from gz_testauto.trial.plan import Trial
from gz_testauto.worlds.record import WorldRecord


def write_imported(
    table: TrialTable,
    source: Path,
    out: Path,
    *,
    name: str,
    simulator: str = "",
    world_files: Optional[Path] = None,
    metrics: Sequence[Metric] = (),
) -> None:
    """Create ``out`` atomically from the trials that were read from ``source``.

    ``metrics`` are those in addition to this package's. ``world_files`` is a folder with
    ``NAME.world`` of each world; the hashes are stored, so that trials in the same worlds can be
    compared. Raises ``ResultsError`` if ``out`` exists and is not empty, or if the file of a world
    is missing.
    """
    directory = CampaignDirectory(out)
    if directory.is_begun or (out.is_dir() and any(out.iterdir())) or out.is_file():
        raise ResultsError(f"{out}: is not empty; specify a new directory")
    worlds = _worlds(table, world_files)
    scratch = CampaignDirectory(directory.path.with_name(f".{directory.path.name}.importing"))
    try:
        with reporting_disk(scratch.path):
            if scratch.path.is_dir():
                shutil.rmtree(scratch.path)
            scratch.path.mkdir(parents=True)
        _fill(scratch, table, name, worlds, metrics)
        Manifest.imported(name, source, simulator).write(scratch)
        with reporting_disk(directory.path):
            os.rename(scratch.path, directory.path)
    finally:
        shutil.rmtree(scratch.path, ignore_errors=True)


def _fill(
    directory: CampaignDirectory,
    table: TrialTable,
    name: str,
    worlds: Sequence[WorldRecord],
    metrics: Sequence[Metric],
) -> None:
    planners = list(dict.fromkeys(row.planner for row in table.rows))
    records, attempts = _records(table, worlds)
    with ResultStore.create(directory, name, planners, worlds, len(records)) as store:
        store.declare((*builtin_metrics(), *metrics))
        store.finish_all(records)
        for attempt in attempts:
            store.add_invalid_attempt(attempt)


def _worlds(table: TrialTable, files: Optional[Path]) -> Tuple[WorldRecord, ...]:
    found = []
    for index, name in enumerate(dict.fromkeys(row.world for row in table.rows)):
        path = Path(f"{name}.world") if files is None else files.absolute() / f"{name}.world"
        if files is not None and Path(name).name != name:
            raise ResultsError(f"{files}: world {name!r} is not the name of a file")
        sha256 = "" if files is None else file_sha256(path)
        found.append(WorldRecord(index, name, path, sha256))
    return tuple(found)


def _records(
    table: TrialTable, worlds: Sequence[WorldRecord]
) -> Tuple[Tuple[TrialRecord, ...], Tuple[AttemptRecord, ...]]:
    """Return the trials, sorted by world as in a plan, and the invalid attempts."""
    places: Dict[str, int] = {world.name: world.world_index for world in worlds}
    rows = sorted(table.rows, key=lambda row: (places[row.world], row.repetition))
    records = tuple(
        TrialRecord.of(
            Trial(index, row.world, places[row.world], row.planner, row.repetition, seed=0),
            outcome=row.outcome,
            detail=row.detail,
            attempts=1,
            wall_s=0.0,
            metrics=row.metrics,
        )
        for index, row in enumerate(rows)
    )
    attempts = tuple(
        AttemptRecord(one.trial, 1, one.detail or "invalid, as imported", 0.0, one.finished_at)
        for one in records
        if not one.outcome.valid
    )
    return records, attempts
