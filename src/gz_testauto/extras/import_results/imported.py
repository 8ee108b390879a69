"""Import trials that were run by other software, for the commands report, compare and gate.

The results directory that :func:`write_imported` creates contains neither recordings nor a campaign
that can be run.
"""

import collections
import math
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Counter, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from gz_testauto.base.disk import make_directory, read_input, rename_directory
from gz_testauto.base.errors import ResultsError
from gz_testauto.base.registry import unknown_name
from gz_testauto.extras.import_results.table_files import read_cells
from gz_testauto.metrics.interface import METRICS, Metric, builtin_metrics
from gz_testauto.results.directory import CampaignDirectory, reporting_disk
from gz_testauto.results.manifest import Manifest
from gz_testauto.results.records import AttemptRecord, TrialRecord, utc_now
from gz_testauto.results.schema import TRIALS
from gz_testauto.results.store import ResultStore
from gz_testauto.trial.outcome import Outcome
from gz_testauto.worlds.manifest import file_record
from gz_testauto.worlds.record import WorldRecord

SYNONYMS: Mapping[str, Outcome] = {
    **dict.fromkeys(("1", "1.0", "true", "yes", "success", "succeeded"), Outcome.REACHED),
    **dict.fromkeys(("0", "0.0", "false", "no", "failure"), Outcome.FAILED),
    **dict.fromkeys(("collision",), Outcome.COLLIDED),
    **dict.fromkeys(("timeout",), Outcome.TIMED_OUT),
}
"""Words, in lower case, that are accepted in addition to the names of the outcomes."""

LONGEST_NAME = 255  # largest length of the name of a world or planner, the limit for file names
FINITE = (-1e12, 1e12)  # bounds of a metric that declares none, so that its sums are finite
SIGNED = "log_dimensionless_jerk"  # the only metric of the core that can be negative
_TRUE, _FALSE = ("1", "1.0", "true", "yes"), ("0", "0.0", "false", "no", "")
_UNUSED = set(TRIALS.columns) - {"world", "planner", "repetition", "outcome", "detail"}
"""Columns of this package's CSV files that are ignored."""


@dataclass(frozen=True)
class Columns:
    """The meaning of the columns of a table.

    ``header`` contains the names of the columns if the file has no header line. ``planner_name`` is
    the planner if no column contains planners. ``flags`` are columns of 0 and 1 that replace the
    column ``outcome``: the single 1 in a row selects the outcome. If several are 1, the first one
    in ``precedence`` selects it, and if none is 1, the outcome is ``otherwise``. ``words`` maps
    additional words in the column ``outcome`` to outcomes. ``metrics`` maps columns to the names of
    metrics. Columns that are named like an installed metric need no entry. Without a column of
    repetitions, the rows with the same world and planner are counted.
    """

    world: str = "world"
    planner: str = "planner"
    outcome: str = "outcome"
    repetition: str = "repetition"
    detail: str = "detail"
    planner_name: str = ""
    header: Tuple[str, ...] = ()
    delimiter: str = ","
    words: Mapping[str, Outcome] = field(default_factory=dict)
    flags: Mapping[str, Outcome] = field(default_factory=dict)
    precedence: Tuple[str, ...] = ()
    otherwise: Optional[Outcome] = None
    metrics: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TrialRow:
    """A trial of an imported table; ``metrics`` are values by the names of the metrics."""

    world: str
    planner: str
    repetition: int
    outcome: Outcome
    detail: str
    metrics: Mapping[str, float]


@dataclass(frozen=True)
class TrialTable:
    """All trials of a file. ``copies`` are the numbers of the lines that repeat all cells of an
    earlier line."""

    rows: Tuple[TrialRow, ...]
    ignored: Tuple[str, ...]
    copies: Tuple[int, ...] = ()


def read_trials(path: Path, columns: Columns) -> TrialTable:
    """Read a table of trials. Raise ``ResultsError`` with the path and line if it is invalid."""
    header, lines = read_cells(path, columns.header, columns.delimiter)
    reader = _Reader(path, header, columns)
    rows = tuple(reader.row(number, cells) for number, cells in lines)
    if not rows:
        raise ResultsError(f"{path}: contains no trial")
    return TrialTable(rows, reader.ignored, tuple(reader.copies))


class _Reader:
    def __init__(self, path: Path, header: Sequence[str], columns: Columns) -> None:
        self._path, self._header, self._columns = path, list(header), columns
        needed = [columns.world, *columns.flags, *columns.metrics]
        needed += [] if columns.planner_name else [columns.planner]
        needed += [] if columns.flags else [columns.outcome]
        for name in needed:
            if name not in header:
                raise ResultsError(f"{path}: {unknown_name('column', name, header)}")
        known = set(METRICS.names()) - set(needed)
        self._metrics: Dict[str, str] = {
            **{name: name for name in header if name in known},
            **columns.metrics,
        }
        installed = {*self._metrics.values()} & {*METRICS.names()}
        self._bounds = {
            **{metric.name: (0.0, FINITE[1]) for metric in builtin_metrics()},
            SIGNED: FINITE,
            **{name: bounds for name in installed if (bounds := METRICS.get(name).bounds)},
        }
        read = {*needed, *self._metrics, columns.repetition, columns.detail, *_UNUSED}
        self.ignored = tuple(name for name in header if name not in read)
        self._words = {outcome.value: outcome for outcome in Outcome}
        self._words.update(SYNONYMS)
        self._words.update((word.lower(), outcome) for word, outcome in columns.words.items())
        self._trial_counts: Counter[Tuple[str, str]] = collections.Counter()
        self._seen: Set[Tuple[str, str, int]] = set()
        self._lines: Set[Tuple[str, ...]] = set()
        self.copies: List[int] = []

    def row(self, number: int, cells: Sequence[str]) -> TrialRow:
        """Return the trial in line ``number``. Raise ``ResultsError`` for an invalid cell."""
        where = f"{self._path}:{number}"
        if len(cells) != len(self._header):
            raise ResultsError(f"{where}: has {len(cells)} cells, not {len(self._header)}")
        if tuple(cells) in self._lines:
            self.copies.append(number)
        self._lines.add(tuple(cells))
        values = dict(zip(self._header, cells))
        columns = self._columns
        world = _checked_name(where, columns.world, values[columns.world])
        planner = columns.planner_name or _checked_name(
            where, columns.planner, values[columns.planner]
        )
        repetition = self._repetition(where, world, planner, values.get(columns.repetition))
        metrics = {
            name: _number(where, column, values[column], self._bounds.get(name, FINITE))
            for column, name in self._metrics.items()
        }
        outcome = self._outcome(where, values)
        return TrialRow(
            world,
            planner,
            repetition,
            outcome,
            values.get(columns.detail, ""),
            metrics if outcome.valid else {},
        )

    def _outcome(self, where: str, values: Mapping[str, str]) -> Outcome:
        if self._columns.flags:
            return self._flagged_outcome(where, values)
        word = values[self._columns.outcome]
        if word.lower() not in self._words:
            raise ResultsError(
                f"{where}: {self._columns.outcome} is {word!r}, which is not an outcome; specify "
                f"its meaning, for example --outcome-word '{word}=collided'"
            )
        return self._words[word.lower()]

    def _flagged_outcome(self, where: str, values: Mapping[str, str]) -> Outcome:
        flags, otherwise = self._columns.flags, self._columns.otherwise
        names = [name for name in flags if _is_flag_set(where, name, values[name])]
        preferred = [name for name in self._columns.precedence if name in names]
        if len(names) == 1 or preferred:
            return flags[(preferred or names)[0]]
        if not names and otherwise:
            return otherwise
        remedy = (
            f"state the order that applies, for example --precedence {','.join(names)}"
            if names
            else "state the outcome of these trials, for example --otherwise failed"
        )
        raise ResultsError(
            f"{where}: {len(names)} of {', '.join(flags)} are 1; exactly one of these columns must "
            f"be 1; or {remedy}"
        )

    def _repetition(self, where: str, world: str, planner: str, text: Optional[str]) -> int:
        """Return the repetition in ``text`` or, without it, the number of previous rows with the
        same world and planner."""
        if text is None:
            repetition = self._trial_counts[world, planner]
            self._trial_counts[world, planner] += 1
        elif text.isascii() and text.isdigit() and len(text) < 10:
            repetition = int(text)
        else:
            raise ResultsError(
                f"{where}: {self._columns.repetition} is {text!r}; it must be 0 or more"
            )
        if (world, planner, repetition) in self._seen:
            raise ResultsError(
                f"{where}: world {world}, planner {planner}, repetition {repetition} appears twice"
            )
        self._seen.add((world, planner, repetition))
        return repetition


def _checked_name(where: str, column: str, text: str) -> str:
    if not text:
        raise ResultsError(f"{where}: {column} is empty")
    if len(text) > LONGEST_NAME:
        raise ResultsError(
            f"{where}: {column} has {len(text)} characters; it must have at most {LONGEST_NAME}"
        )
    return " ".join(text.splitlines())  # a name must fit in one line


def _is_flag_set(where: str, column: str, text: str) -> bool:
    if text.lower() not in (*_TRUE, *_FALSE):
        raise ResultsError(f"{where}: {column} is {text!r}; it must be 0 or 1")
    return text.lower() in _TRUE


def _number(where: str, column: str, text: str, bounds: Tuple[float, float]) -> float:
    """Return the number in a cell, or NaN if the cell is empty or contains ``nan``."""
    try:
        value = float(text) if text else math.nan
    except ValueError:
        raise ResultsError(f"{where}: {column} is {text!r}; it must be a number") from None
    if not math.isnan(value) and not bounds[0] <= value <= bounds[1]:
        raise ResultsError(
            f"{where}: {column} is {text}; it must be from {bounds[0]:g} to {bounds[1]:g}, or "
            "empty if the value is unknown"
        )
    return value


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
    """Create the results directory ``out`` atomically from the trials that were read from
    ``source``.

    ``metrics`` are those that this package does not define. ``world_files`` is a directory with the
    file ``NAME.world`` of each world, whose hashes are stored so that results for the same worlds
    can be compared. Raise ``ResultsError`` if ``out`` exists and is not empty, or if the file of a
    world is missing.
    """
    directory = CampaignDirectory(out)
    if directory.is_begun or (out.is_dir() and any(out.iterdir())) or out.is_file():
        raise ResultsError(f"{out}: the directory is not empty; specify a new directory")
    worlds = _world_records(table, world_files)
    scratch = CampaignDirectory(directory.path.with_name(f".{directory.path.name}.importing"))
    try:
        with reporting_disk(scratch.path):
            if scratch.path.is_dir():
                shutil.rmtree(scratch.path)
            make_directory(scratch.path)
        _write_store(scratch, table, name, worlds, metrics)
        Manifest.imported(name, source, simulator).write(scratch)
        with reporting_disk(directory.path):
            rename_directory(scratch.path, directory.path)
    finally:
        shutil.rmtree(scratch.path, ignore_errors=True)


def _write_store(
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


def _world_records(table: TrialTable, files: Optional[Path]) -> Tuple[WorldRecord, ...]:
    records = []
    for index, name in enumerate(dict.fromkeys(row.world for row in table.rows)):
        if files is None:
            records.append(WorldRecord(index, name, Path(f"{name}.world"), ""))
            continue
        if Path(name).name != name:
            raise ResultsError(f"{files}: world {name!r} is not the name of a file")
        path = files.absolute() / f"{name}.world"
        records.append(file_record(index, path, read_input(path, ResultsError)))
    return tuple(records)


def _records(
    table: TrialTable, worlds: Sequence[WorldRecord]
) -> Tuple[Tuple[TrialRecord, ...], Tuple[AttemptRecord, ...]]:
    """Return the trials, sorted by world as in a campaign, and the attempts that were invalid."""
    indices: Dict[str, int] = {world.name: world.world_index for world in worlds}
    rows = sorted(table.rows, key=lambda row: (indices[row.world], row.repetition))
    records = tuple(
        TrialRecord(
            trial=index,
            world=row.world,
            world_index=indices[row.world],
            planner=row.planner,
            repetition=row.repetition,
            seed=0,
            finished_at=utc_now(),
            outcome=row.outcome,
            detail=row.detail,
            attempts=1,
            wall_s=0.0,
            metrics=row.metrics,
        )
        for index, row in enumerate(rows)
    )
    attempts = tuple(
        AttemptRecord(
            record.trial, 1, record.detail or "invalid, as imported", 0.0, record.finished_at
        )
        for record in records
        if not record.outcome.valid
    )
    return records, attempts
