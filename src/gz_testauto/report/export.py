"""Export results as CSV and JSON, for other programs.

CSV contains one row per finished trial: its identification, its outcome, the published numbers of
its world (``world_…``), and all metrics sorted by name. The fields of JSON are those of
:class:`CampaignExport`, from which ``export.v1.schema.json`` is generated.
"""

import csv
import dataclasses
import io
import json
import math
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar, Dict, Mapping, Optional, Tuple, Union

from pydantic import BaseModel, ConfigDict
from typing_extensions import Literal

from gz_testauto.analysis.across import ComparedCampaign, PairedCampaigns
from gz_testauto.analysis.comparison import Comparisons
from gz_testauto.analysis.early_stop import EarlyStop, PairDecision
from gz_testauto.analysis.overview import Analysis, WorldGroup
from gz_testauto.analysis.summary import PlannerSummary
from gz_testauto.metrics.interface import Metric
from gz_testauto.report.notes import notes
from gz_testauto.results.records import (
    AttemptRecord,
    CampaignResults,
    Runner,
    RunningTrial,
    TrialRecord,
)
from gz_testauto.results.schema import TRIALS
from gz_testauto.spec.campaign import StopSpec
from gz_testauto.trial.outcome import Outcome
from gz_testauto.worlds.record import WorldRecord

_COLUMNS = tuple(name for name in TRIALS.columns if name != "world_index")


def to_csv(results: CampaignResults, campaigns: Optional[Mapping[str, str]] = None) -> str:
    """Return all finished trials as CSV text (RFC 4180, with plain newlines). Unknown values are
    empty.

    ``campaigns`` maps planners to campaigns, for an additional column ``campaign``.
    """
    metrics = sorted({name for record in results.trials for name in record.metrics})
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    world_values = {
        world.name: {**_mission_values(world), **world.published} for world in results.worlds
    }
    value_names = list(dict.fromkeys(name for known in world_values.values() for name in known))
    added = [] if campaigns is None else ["campaign"]
    writer.writerow([*added, *_COLUMNS, *(f"world_{name}" for name in value_names), *metrics])
    for record in results.trials:
        row = [getattr(record, name) for name in _COLUMNS]
        row[_COLUMNS.index("outcome")] = record.outcome.value
        values = [record.metrics.get(name, math.nan) for name in metrics]
        row += [world_values.get(record.world, {}).get(name, "") for name in value_names]
        row[:0] = [] if campaigns is None else [campaigns[record.planner]]
        writer.writerow([*row, *("" if math.isnan(value) else repr(value) for value in values)])
    return stream.getvalue()


def _mission_values(world: WorldRecord) -> Dict[str, float]:
    if not world.mission:
        return {}
    names = ("x_m", "y_m", "yaw_rad")
    ends = (("start", world.mission[0]), ("goal", world.mission[-1]))
    return {f"{end}_{name}": value for end, pose in ends for name, value in zip(names, pose)}


@dataclass(frozen=True)
class MetricDeclaration:
    """The declaration of a metric in the JSON export; the fields are those of ``Metric``."""

    better: str
    completed_only: bool
    description: str
    heading: str
    unit: str
    decimals: int
    shown_unit: str
    shown_factor: float
    in_table: bool
    in_comparison: bool
    in_agreement: bool
    smallest_relevant: float

    @classmethod
    def of(cls, metric: Metric) -> "MetricDeclaration":
        values = {field.name: getattr(metric, field.name) for field in dataclasses.fields(cls)}
        heading = metric.heading or metric.name
        return cls(**{**values, "heading": heading, "shown_unit": metric.label_unit})


@dataclass(frozen=True)
class ExportedWorld:
    """A world in the JSON export. Unknown values are null or empty.

    ``published`` contains the published numbers of the world. ``missing`` are files that do not
    exist and that the campaign allows to be missing. ``unmeasured`` are elements of the world that
    are ignored in clearance, collisions and shortest paths. ``mission`` contains a drawn start and
    its goals: x (m), y (m) and yaw (rad).
    """

    world_index: int
    name: str
    path: Path
    sha256: str
    shortest_path_m: Optional[float]
    published: Mapping[str, Union[float, str]]
    missing: Tuple[str, ...]
    unmeasured: Tuple[str, ...]
    mission: Tuple[Tuple[float, float, float], ...]


@dataclass(frozen=True)
class ExportedRunner:
    """The process that runs the campaign, with its running trials. Times are in UTC, ISO 8601.

    ``silent_s`` is the wall time since the last heartbeat. ``stale`` is true if the process was
    killed or stopped.
    """

    process: int
    host: str
    started_at: str
    heartbeat_at: str
    trials: Tuple[RunningTrial, ...]
    silent_s: float
    stale: bool

    @classmethod
    def of(cls, runner: Runner) -> "ExportedRunner":
        return cls(**vars(runner), silent_s=runner.silent_s(), stale=runner.is_stale())


@dataclass(frozen=True)
class ExportedStop:
    """The decisions of a campaign with early stop, after ``worlds`` of at most ``max_worlds``
    worlds.
    """

    rule: StopSpec
    decided: bool
    worlds: int
    max_worlds: int
    pairs: Tuple[PairDecision, ...]

    @classmethod
    def of(cls, stop: EarlyStop) -> "ExportedStop":
        return cls(stop.rule, stop.decided, stop.worlds, stop.max_worlds, stop.pairs)


@dataclass(frozen=True)
class CampaignExport:
    """The JSON export of the commands ``report`` and ``run``.

    Numbers that are unknown, or not finite, are null. Suffixes of names state units.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(use_attribute_docstrings=True)

    format: Literal[1]
    """Version of the schema."""
    campaign: str
    """Name of the campaign."""
    planned: int
    """Number of trials in the plan of the campaign."""
    early_stop: Optional[ExportedStop]
    """Decisions of the early stop, or null for a campaign without it."""
    running: Optional[ExportedRunner]
    """Process that runs the campaign, or null if the campaign is not running."""
    metrics: Mapping[str, MetricDeclaration]
    """Declarations of the metrics, by their names."""
    worlds: Tuple[ExportedWorld, ...]
    """Worlds in the order of the campaign."""
    trials: Tuple[TrialRecord, ...]
    """Finished trials in the order of the plan."""
    invalid_attempts: Tuple[AttemptRecord, ...]
    """Invalid attempts, without those whose worker process died."""
    worker_deaths: Tuple[AttemptRecord, ...]
    """Attempts whose worker process died."""
    planners: Tuple[PlannerSummary, ...]
    """Statistics of each planner."""
    comparison: Comparisons
    """Comparisons of all pairs of planners."""
    worlds_by_winner: Tuple[WorldGroup, ...]
    """Worlds in which every planner has a valid trial, grouped by the planners that succeeded."""
    notes: Tuple[str, ...]
    """Sentences below the tables of the report."""

    @classmethod
    def of(cls, analysis: Analysis, **further: Any) -> "CampaignExport":
        """Return the export of an analysis. ``further`` are the fields of a subclass."""
        results = analysis.results
        stop, runner = analysis.early_stop, results.running
        names = [field.name for field in dataclasses.fields(ExportedWorld)]
        worlds = ({name: getattr(world, name) for name in names} for world in results.worlds)
        return cls(
            format=1,
            campaign=results.name,
            planned=results.planned,
            early_stop=None if stop is None else ExportedStop.of(stop),
            running=None if runner is None else ExportedRunner.of(runner),
            metrics={
                metric.name: MetricDeclaration.of(metric)
                for metric in sorted(analysis.metrics, key=attrgetter("name"))
            },
            worlds=tuple(ExportedWorld(**world) for world in worlds),
            trials=results.trials,
            invalid_attempts=results.invalid_attempts,
            worker_deaths=results.worker_deaths,
            planners=analysis.summaries,
            comparison=analysis.comparisons,
            worlds_by_winner=analysis.winners,
            notes=tuple(str(note) for note in notes(analysis)),
            **further,
        )


@dataclass(frozen=True)
class ComparisonExport(CampaignExport):
    """The JSON export of the command ``compare``: the trials in the common worlds of several
    campaigns, as those of one campaign.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(use_attribute_docstrings=True)

    directories: Tuple[ComparedCampaign, ...]
    """Compared campaigns."""
    only_in: Mapping[str, Tuple[str, ...]]
    """Worlds that not all campaigns contain, by the label of the campaign."""


def to_json(analysis: Analysis, across: Optional[PairedCampaigns] = None) -> str:
    """Return the JSON text of an analysis. ``across`` are the campaigns that it combines, if there
    are several."""
    if across is None:
        export = CampaignExport.of(analysis)
    else:
        export = ComparisonExport.of(analysis, directories=across.sides, only_in=across.only)
    return json.dumps(_json_value(export), indent=2, ensure_ascii=False) + "\n"


def _json_value(value: Any) -> Any:
    """Return the value in types that JSON supports. Numbers that are not finite are None."""
    if isinstance(value, Outcome):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: _json_value(getattr(value, field.name))
            for field in dataclasses.fields(value)
        }
    if isinstance(value, Mapping):
        return {str(_json_value(key)): _json_value(item) for key, item in value.items()}
    if hasattr(value, "_asdict"):
        return _json_value(value._asdict())
    if isinstance(value, BaseModel):
        return _json_value(value.model_dump())
    if isinstance(value, (list, tuple)):
        return [_json_value(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
