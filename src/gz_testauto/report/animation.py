"""Write an animation of the trials in one world, without a display. All trials start at the same
time."""

import shutil
from pathlib import Path
from typing import Any, List, Sequence

import numpy as np

from gz_testauto.base.disk import read_file, replace_file
from gz_testauto.base.errors import SpecError
from gz_testauto.base.pose import Pose2D
from gz_testauto.base.scratch import scratch_directory
from gz_testauto.metrics.encounters import moving_objects
from gz_testauto.metrics.recording import ACTOR_SERIES, OUTLINE_SERIES, Recording
from gz_testauto.report.plots import (
    COLORS,
    SIZE_INCHES,
    chart_text,
    draw_mission,
    draw_scene,
    figure_class,
    read_prepared,
    world_of,
)
from gz_testauto.report.sources import Source, recordings
from gz_testauto.results.directory import reporting_disk
from gz_testauto.results.records import TrialRecord

SUFFIXES = (".gif", ".mp4")
FRAMES_PER_S = 20
MOST_FRAMES = 200  # longer trials are shown faster
END_FRAMES = 20  # frames for which the end is shown
DOTS_PER_INCH = 80


def write_animation(
    source: Source, trials: Sequence[TrialRecord], planners: Sequence[str], path: Path
) -> None:
    """Write an animation of trials in one world to a ``.gif`` or ``.mp4`` file.

    ``planners`` are all planners of the campaign, in the order of their colors. Raises
    ``SpecError`` if the format is not supported or ffmpeg is missing, and ``ResultsError`` if the
    world has changed.
    """
    figure = figure_class()(figsize=(SIZE_INCHES, SIZE_INCHES), layout="constrained")
    writer = _make_writer(path)
    campaign = read_prepared(source)
    world = world_of(campaign, trials)
    with recordings([source]) as read_recording:
        drawn_trials = [(record, read_recording(record)) for record in trials]
    axes = figure.add_subplot()
    draw_scene(axes, campaign, world, drawn_trials[0][1])
    outline_m = np.asarray(campaign.bed.limits.footprint_m)
    animated_trials: List[_AnimatedTrial] = []
    for record, recording in drawn_trials:
        color = COLORS[planners.index(record.planner) % len(COLORS)]
        animated_trials.append(_AnimatedTrial(axes, record, recording, outline_m, color))
    draw_mission(axes, campaign, world)
    duration_s = max(recording.time_s[-1] for _, recording in drawn_trials)
    frames = max(2, min(MOST_FRAMES, int(duration_s * FRAMES_PER_S) + 1))
    title = axes.title.get_text()
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # all frames keep the layout, whose computation is slow
    with reporting_disk(path), scratch_directory() as folder:
        complete = folder / f"animation{path.suffix}"  # written by a library
        with writer.saving(figure, str(complete), DOTS_PER_INCH):
            for time_s in [*np.linspace(0.0, duration_s, frames), *[duration_s] * END_FRAMES]:
                axes.set_title(f"{title}, {time_s:.1f} s")
                for trial in animated_trials:
                    trial.show(time_s)
                writer.grab_frame()
        replace_file(path, read_file(complete))


def _make_writer(path: Path) -> Any:
    from matplotlib.animation import FFMpegWriter, PillowWriter

    if path.suffix == ".gif":
        return PillowWriter(fps=FRAMES_PER_S)
    if path.suffix != ".mp4":
        raise SpecError(f"{path}: the suffix must be one of {', '.join(SUFFIXES)}")
    if shutil.which("ffmpeg") is None:
        raise SpecError(f"{path}: .mp4 needs the program ffmpeg; install it, or write a .gif file")
    return FFMpegWriter(fps=FRAMES_PER_S)


class _AnimatedTrial:
    def __init__(
        self,
        axes: Any,
        record: TrialRecord,
        recording: Recording,
        outline_m: np.ndarray,
        color: str,
    ) -> None:
        self._time_s = recording.time_s
        label = chart_text(f"{record.planner}: {record.outcome.label}")
        robot = _MovingOutline(axes, recording.pose, outline_m, color, 1.5, label)
        series = recording.series
        self._movers = [robot] + [
            _MovingOutline(
                axes,
                series[ACTOR_SERIES + name],
                series[OUTLINE_SERIES + name],
                color,
                0.0,
                "_nolegend_",
            )
            for name in moving_objects(series)
        ]

    def show(self, time_s: float) -> None:
        row = max(0, int(np.searchsorted(self._time_s, time_s, side="right")) - 1)
        for mover in self._movers:
            mover.show(row)


class _MovingOutline:
    def __init__(
        self,
        axes: Any,
        poses: np.ndarray,
        outline_m: np.ndarray,
        color: str,
        width: float,
        label: str,
    ) -> None:
        self._poses, self._outline_m = poses, outline_m
        (self._path,) = axes.plot(*poses[:, :2].T, color=color, linewidth=width, label=label)
        (self._area,) = axes.fill(*self._placed(0).T, facecolor=color, alpha=0.5, linewidth=0)

    def _placed(self, row: int) -> np.ndarray:
        return Pose2D(*self._poses[row].tolist()).apply(self._outline_m)

    def show(self, row: int) -> None:
        self._path.set_data(*self._poses[: row + 1, :2].T)
        self._area.set_xy(self._placed(row))
