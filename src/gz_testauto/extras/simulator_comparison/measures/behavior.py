"""Measures of behavior: trajectories, displacement of a pushed box, and results of planners."""

import functools
from typing import Tuple, Union

import numpy as np

from gz_testauto.extras.simulator_comparison.measures.interface import (
    Measure,
    PlannerMeasure,
    register_measures,
)
from gz_testauto.extras.simulator_comparison.recordings.recording import RunRecording
from gz_testauto.extras.simulator_comparison.signals import resample
from gz_testauto.metrics.interface import SUCCESS

POSE_RATE_HZ = 20.0

CONVERGED_M = 0.05  # change of a trajectory of about 4 m at half the physics step


def _trajectories(first: RunRecording, second: RunRecording) -> Tuple[np.ndarray, np.ndarray]:
    """Return the poses (n, 3) of two recordings at equal times since their first stamps."""
    assert first.odometry is not None and second.odometry is not None, (
        "two recordings with odometry"
    )
    trajectories = []
    for series in (first.odometry, second.odometry):
        unwrapped = np.column_stack([series.values[:, :2], np.unwrap(series.values[:, 2])])
        trajectories.append(resample(type(series)(series.time_s, unwrapped), POSE_RATE_HZ).values)
    length = min(map(len, trajectories))
    return trajectories[0][:length], trajectories[1][:length]


def drift_m(first: RunRecording, second: RunRecording) -> float:
    """Return the RMS distance (m) of two trajectories after their first poses are aligned."""
    # not by S. Umeyama's alignment, which would remove an error of the heading
    aligned, reference = (_relative_to_start(path) for path in _trajectories(first, second))
    return float(np.sqrt(((aligned - reference)[:, :2] ** 2).sum(axis=1).mean()))


def _relative_to_start(trajectory: np.ndarray) -> np.ndarray:
    return _in_robot_frame(trajectory - trajectory[0], trajectory[0, 2])


def _in_robot_frame(displacements: np.ndarray, yaw_rad: Union[float, np.ndarray]) -> np.ndarray:
    """Rotate displacements (n, 3) in x, y and yaw of a fixed frame to forward, left and yaw.
    ``yaw_rad`` is the heading of the robot, a number or (n,)."""
    cos, sin = np.cos(yaw_rad), np.sin(yaw_rad)
    return np.column_stack(
        [
            cos * displacements[:, 0] + sin * displacements[:, 1],
            cos * displacements[:, 1] - sin * displacements[:, 0],
            displacements[:, 2],
        ]
    )


def _relative_error_m(first: RunRecording, second: RunRecording) -> float:
    steps, reference = (_steps(trajectory) for trajectory in _trajectories(first, second))
    return float(np.sqrt(((steps - reference)[:, :2] ** 2).sum(axis=1).mean()))


def _steps(trajectory: np.ndarray) -> np.ndarray:
    """Return the motion (m, m, rad) in the second after each sample, in the robot's frame."""
    ahead = min(round(POSE_RATE_HZ), len(trajectory) - 1)
    begin, displacements = trajectory[:-ahead], trajectory[ahead:] - trajectory[:-ahead]
    return _in_robot_frame(displacements, begin[:, 2])


def _box_displacement_error_m(first: RunRecording, second: RunRecording) -> float:
    assert first.box is not None and second.box is not None, "two recordings with a box"
    displacements = (series.values[-1] - series.values[0] for series in (first.box, second.box))
    pushed_m, reference_m = (float(np.hypot(*vector)) for vector in displacements)
    return abs(pushed_m - reference_m)


def _change_at_half_step(recording: RunRecording) -> Tuple[float, float]:
    assert recording.half_step is not None, "a recording with half_step"
    return drift_m(recording, recording.half_step), 1.0


_planner_measure = functools.partial(
    Measure,
    better="higher",
    needs=("campaign",),
    source="A. Kadian et al., IEEE RA-L 5, 2020 (arXiv 1912.06321)",
)

register_measures(
    Measure(
        name="pose_drift",
        unit="m",
        description="root mean square distance of the positions, after the first poses are aligned",
        formula="sqrt(mean |p - p_ref|²)",
        source="absolute trajectory error, J. Sturm et al., IROS 2012, aligned by the first pose",
        needs=("odometry",),
        between=drift_m,
    ),
    Measure(
        name="relative_pose",
        unit="m",
        description="root mean square difference of the motion in one second",
        formula="sqrt(mean |Δp - Δp_ref|²), Δ over 1 s in the robot's frame",
        source="relative pose error, J. Sturm et al., IROS 2012",
        needs=("odometry",),
        between=_relative_error_m,
    ),
    Measure(
        name="box_pushed",
        unit="m",
        description="difference of the displacements of a box of 5 kg that the robot pushes",
        formula="|d - d_ref|",
        source="friction of the box and of the tires together",
        needs=("box",),
        between=_box_displacement_error_m,
    ),
    Measure(
        name="half_step",
        unit="m",
        description="difference of the positions on flat ground when the physics step is halved",
        formula="mean over runs of sqrt(mean |p - p_half|²)",
        source="step-size refinement",
        needs=("half_step",),
        own=_change_at_half_step,
        limit=CONVERGED_M,
        beyond="not converged: the trajectory depends on the physics step",
    ),
    _planner_measure(
        "planner_srcc",
        description="correlation of the SPL of planners in the simulator and in the reference",
        formula="Pearson's r over (planner, world), each the mean of its trials",
        planners=PlannerMeasure("spl", lambda correlation: correlation.pearson),
    ),
    _planner_measure(
        "planner_success_srcc",
        description="correlation of the success of planners in the simulator and in the reference",
        formula="Pearson's r over (planner, world), each the share of its trials",
        planners=PlannerMeasure(SUCCESS, lambda correlation: correlation.pearson),
    ),
    _planner_measure(
        "planner_spearman",
        description="correlation of the ranks of planners by SPL in the simulator and in the "
        "reference",
        formula="Spearman's coefficient over (planner, world), each the mean of its trials",
        source="C. Spearman, Am. J. Psychol. 15, 1904",
        planners=PlannerMeasure("spl", lambda correlation: correlation.spearman),
    ),
    _planner_measure(
        "planner_same_winner",
        description="share of pairs of planners in which the same planner has the greater SPL in "
        "the simulator and in the reference",
        formula="pairs with the same sign of the difference of means over worlds / pairs",
        source="definition of this package",
        planners=PlannerMeasure("spl", lambda correlation: correlation.same_winner),
    ),
)
