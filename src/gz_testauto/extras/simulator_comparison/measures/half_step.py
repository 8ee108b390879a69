"""Convergence of a simulator: the change of a trajectory at half its physics step."""

from typing import Tuple

from gz_testauto.extras.simulator_comparison.measures.interface import Measure
from gz_testauto.extras.simulator_comparison.measures.pose import drift_m
from gz_testauto.extras.simulator_comparison.recordings.recording import RunRecording


def _change(recording: RunRecording) -> Tuple[float, float]:
    assert recording.half_step is not None, "a recording with half_step"
    return drift_m(recording, recording.half_step), 1.0


CONVERGED_M = 0.05
"""Limit for trajectories of about 4 m; a larger difference is not converged."""

HALF_STEP = Measure(
    name="half_step",
    unit="m",
    better="lower",
    description="difference of the positions on flat ground when the physics step is halved",
    formula="mean over runs of sqrt(mean |p - p_half|²)",
    source="step-size refinement",
    needs=("half_step",),
    own=_change,
    limit=CONVERGED_M,
    beyond="not converged: the trajectory depends on the physics step",
)
