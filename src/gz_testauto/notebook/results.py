"""Results of campaigns for notebooks: tables for pandas, recordings, drawings and replays."""

import contextlib
import csv
import functools
import io
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

import numpy as np

from gz_testauto.analysis.across import pair_campaigns
from gz_testauto.analysis.comparison import Comparison, MetricComparison
from gz_testauto.analysis.overview import Analysis, analyze
from gz_testauto.analysis.repeatability import compare_recordings
from gz_testauto.base.errors import MissingDependencyError, ResultsError
from gz_testauto.base.installation import install_command
from gz_testauto.campaign.resume import open_for_replay
from gz_testauto.campaign.selection import valid_trials
from gz_testauto.campaign.signals import StopSignals
from gz_testauto.campaign.simulator import chosen_executor
from gz_testauto.cli.replay import find_trial, run_once
from gz_testauto.cli.trust import require_trust
from gz_testauto.metrics.interface import SUCCESS
from gz_testauto.metrics.recording import Recording
from gz_testauto.notebook.drawing import Animation, Picture
from gz_testauto.report.animation import write_animation
from gz_testauto.report.export import to_csv
from gz_testauto.report.plots import figure_of
from gz_testauto.report.sources import Source
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.opened import open_results
from gz_testauto.results.records import CampaignResults, TrialRecord
from gz_testauto.results.store import ResultStore, load_campaign
from gz_testauto.trial.outcome import Outcome

if TYPE_CHECKING:
    import pandas

SAMPLES = {
    "pose": ("x_m", "y_m", "yaw_rad"),
    "twist": ("vx_mps", "vy_mps", "yaw_rate_radps"),
    "command": ("command_vx_mps", "command_yaw_rate_radps"),
    "roll_pitch_rad": ("roll_rad", "pitch_rad"),
}
"""Columns of :meth:`RecordedTrajectories.to_pandas`, by the array of a recording."""


def load(directory: Union[str, Path]) -> "Results":
    """Return the results in a directory, or those in a file that ``gz_testauto pack`` wrote.

    The campaign can still be running; the results are those at the time of the call. Raises
    ``ResultsError`` if the directory contains no results, or if the file is damaged or unsafe.

    Example::

        results = gz_testauto.load("results/first")
        results.trajectories.to_pandas()
    """
    return Results(directory)


def compare(*results: "Results", ignore_differences: bool = False) -> "PlannerComparisons":
    """Compare the planners of several campaigns in the worlds that all of them contain.

    A planner that several campaigns contain gets the name of its directory, as in
    ``fgm (monday)``. Raises ``ResultsError`` if the campaigns share no world, or if robot, goal,
    limits or simulator differ, unless ``ignore_differences`` is true.

    Example::

        monday, friday = gz_testauto.load("results/monday"), gz_testauto.load("results/friday")
        gz_testauto.compare(monday, friday).to_pandas()
    """
    typed_paths = [loaded._opened.typed for loaded in results]
    names = [path.absolute().name for path in typed_paths]
    labels = names if len(set(names)) == len(names) else list(map(str, typed_paths))
    campaigns = [
        load_campaign(loaded_results.directory, label)
        for loaded_results, label in zip(results, labels)
    ]
    across = pair_campaigns(campaigns, ignore_differences, with_trials=True)
    for side in across.sides:
        if side.left_out:
            raise ResultsError(f"{side.label}: {'; '.join(side.reasons)}")
    return PlannerComparisons(analyze(across.results, across.pairs))


@dataclass(frozen=True)
class Replay:
    """A trial that was run again. ``identical`` is true if the recordings are bit-identical."""

    outcome: Outcome
    detail: str
    recording: Recording
    identical: bool


class Results:
    """The results of a campaign in a directory or pack.

    ``trials``, ``trajectories`` and ``comparisons`` are tables with a method ``to_pandas``.
    """

    def __init__(self, directory: Union[str, Path]) -> None:
        closing = contextlib.ExitStack()
        self._opened = closing.enter_context(open_results(Path(directory)))
        weakref.finalize(self, closing.close)
        self.directory = self._opened.path
        """The results directory. That of a pack is a copy, which exists as long as this object."""
        self._results = load_campaign(self.directory).results

    def __repr__(self) -> str:
        results = self._results
        return (
            f"<gz_testauto results of {results.name!r} in {str(self._opened.typed)!r}: "
            f"{len(results.trials)} of {results.planned} trials>"
        )

    @property
    def name(self) -> str:
        """The name of the campaign."""
        return self._results.name

    @property
    def planners(self) -> Tuple[str, ...]:
        """The names of the planners."""
        return self._results.planners

    @property
    def worlds(self) -> Tuple[str, ...]:
        """The names of the worlds."""
        return tuple(world.name for world in self._results.worlds)

    @property
    def trials(self) -> "FinishedTrials":
        """The finished trials."""
        return FinishedTrials(self._results)

    @property
    def trajectories(self) -> "RecordedTrajectories":
        """The recordings of the valid trials."""
        return RecordedTrajectories(self)

    @property
    def comparisons(self) -> "PlannerComparisons":
        """The comparisons of all pairs of planners."""
        return PlannerComparisons(analyze(self._results))

    def plot(self, world: str, planners: Optional[Sequence[str]] = None) -> Picture:
        """Return a drawing of a world with the trajectories of the planners, by default all.

        Requires matplotlib. Notebooks show the drawing; :meth:`Picture.save` writes a file.
        """
        trials = self.trajectories.records([world], planners)
        return Picture(figure_of(self._source(), trials, self.planners))

    def animate(
        self, world: str, path: Union[str, Path], planners: Optional[Sequence[str]] = None
    ) -> Animation:
        """Write an animation of the trials in a world to a ``.gif`` or ``.mp4`` file.

        Requires matplotlib, and for ``.mp4`` the program ffmpeg. Notebooks show the result.
        """
        trials = self.trajectories.records([world], planners)
        write_animation(self._source(), trials, self.planners, Path(path))
        return Animation(Path(path))

    def replay(
        self, world: str, planner: str, repetition: int = 0, *, trust: bool = False
    ) -> Replay:
        """Run a trial again, and compare it with the stored trial.

        Raises ``ResultsError`` if an input of the campaign has changed, or if the campaign names
        programs, such as launch files, and ``trust`` is false. The planner's code is run.
        """
        directory = CampaignDirectory(self.directory)
        with ResultStore.read(directory) as store:
            require_allowed = functools.partial(require_trust, is_trusted=trust)
            campaign = open_for_replay(directory, store, require_allowed)
        trial = find_trial(campaign, world, planner, repetition)
        stored_recording = self.trajectories.of(trial.world.name, planner, repetition)
        with StopSignals() as stop:
            executor = chosen_executor(campaign.spec, directory.path)
            result = run_once(campaign.bed, trial, executor, stop)
        is_same = compare_recordings(stored_recording, result.recording).identical
        return Replay(result.outcome, result.detail, result.recording, is_same)

    def _source(self) -> Source:
        return Source.of(self._opened, self.planners)


class FinishedTrials(Sequence[TrialRecord]):
    """The finished trials of a campaign, including invalid ones."""

    def __init__(self, results: CampaignResults) -> None:
        self._results = results

    def __getitem__(self, index: Any) -> Any:
        return self._results.trials[index]

    def __len__(self) -> int:
        return len(self._results.trials)

    def to_pandas(self) -> "pandas.DataFrame":
        """Return one row per trial, with the columns of ``gz_testauto report --csv``.

        Numbers are in SI units. Unknown numbers are NaN.
        """
        pandas = _import_pandas()
        header, *rows = csv.reader(io.StringIO(to_csv(self._results)))
        table = pandas.DataFrame(rows, columns=header)
        measured_columns = header[header.index("trajectory") + 1 :]
        table[measured_columns] = table[measured_columns].replace("", "nan").astype(float)
        integer_columns = ["trial", "repetition", "seed", "attempts"]
        return table.astype({"wall_s": float, **dict.fromkeys(integer_columns, "int64")})


class RecordedTrajectories:
    """The recordings of the valid trials of a campaign."""

    def __init__(self, results: Results) -> None:
        self._owner = results  # the copy of a pack is removed with its Results object

    def records(
        self, worlds: Optional[Sequence[str]] = None, planners: Optional[Sequence[str]] = None
    ) -> List[TrialRecord]:
        """Return the valid trials of some worlds and planners, by default of all.

        Raises ``SpecError`` for an unknown name, ``ResultsError`` for a world without valid trials.
        """
        return valid_trials(self._owner._results, worlds, planners)

    def of(self, world: str, planner: str, repetition: int = 0) -> Recording:
        """Return the recording of one trial. Raises ``ResultsError`` if the trial has not been run
        or is invalid."""
        for record in self.records([world], [planner]):
            if record.repetition == repetition:
                with ResultStore.read(CampaignDirectory(self._owner.directory)) as store:
                    return store.trajectory(record)
        path = self._owner._opened.typed
        raise ResultsError(f"{path}: {world}, {planner}, repetition {repetition}: no valid trial")

    def to_pandas(
        self, worlds: Optional[Sequence[str]] = None, planners: Optional[Sequence[str]] = None
    ) -> "pandas.DataFrame":
        """Return one row per sample of the trials of some worlds and planners, by default of all.

        Columns are ``world``, ``planner`` and ``repetition``, then ``time_s``, the true pose in the
        world frame (``x_m``, ``y_m``, ``z_m``, ``yaw_rad``, ``roll_rad``, ``pitch_rad``), the twist
        in the base frame, the velocity command and ``clearance_m``. Unknown numbers are NaN.
        """
        pandas = _import_pandas()
        tables = []
        with ResultStore.read(CampaignDirectory(self._owner.directory)) as store:
            for record in self.records(worlds, planners):
                label = {name: getattr(record, name) for name in ("world", "planner", "repetition")}
                tables.append(
                    pandas.DataFrame({**label, **_sample_columns(store.trajectory(record))})
                )
        return pandas.concat(tables, ignore_index=True) if tables else pandas.DataFrame()


class PlannerComparisons(Sequence[Comparison]):
    """The comparisons of all pairs of planners, in success rate and metrics."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        """All statistics of the campaign."""

    def __getitem__(self, index: Any) -> Any:
        return self.analysis.comparisons.pairs[index]

    def __len__(self) -> int:
        return len(self.analysis.comparisons.pairs)

    def to_pandas(self) -> "pandas.DataFrame":
        """Return one row per pair of planners and metric; ``success`` is the success rate.

        ``difference`` is the first planner's value minus the second's, in SI units: the mean over
        worlds for success and for metrics with bounds, otherwise the median. ``low`` and ``high``
        are the ends of its 95 % confidence interval, ``p_holm`` the p-value after Holm's
        adjustment. Unknown numbers are NaN.
        """
        return _import_pandas().DataFrame(
            [row for pair in self for row in _comparison_rows(pair)],
            columns=(
                *("first", "second", "metric", "worlds", "difference", "low", "high"),
                *("p", "p_holm", "significant", "relevant"),
            ),
        )


def _comparison_rows(pair: Comparison) -> Iterator[Tuple[Any, ...]]:
    def row(name: str, comparison: Union[Comparison, MetricComparison], estimate: Any) -> Any:
        return (
            *(pair.first, pair.second, name, comparison.worlds),
            *(estimate.value, estimate.low, estimate.high),
            *(
                comparison.p_value,
                comparison.p_adjusted,
                comparison.significant,
                comparison.relevant,
            ),
        )

    yield row(SUCCESS, pair, pair.difference)
    for metric in pair.metrics:
        yield row(metric.name, metric, metric.difference)


def _sample_columns(recording: Recording) -> Dict[str, np.ndarray]:
    unknown_values = np.full(len(recording.time_s), np.nan)
    columns = {"time_s": recording.time_s}
    for name, parts in SAMPLES.items():
        array = getattr(recording, name)
        for index, part in enumerate(parts):
            columns[part] = unknown_values if array is None else array[:, index]
    columns["z_m"] = unknown_values if recording.z_m is None else recording.z_m
    columns["clearance_m"] = recording.clearance_m
    return columns


def _import_pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise MissingDependencyError(
            f"to_pandas needs pandas: {install_command('notebook')}"
        ) from error
    return pandas
