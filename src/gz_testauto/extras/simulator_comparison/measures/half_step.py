"""Whether a simulator has converged: what becomes of a drive at half its physics step."""

from typing import Tuple

from gz_testauto.extras.simulator_comparison.measures.interface import Measure
from gz_testauto.extras.simulator_comparison.measures.pose import drift_m
from gz_testauto.extras.simulator_comparison.recordings.recording import RunRecording


def _change(recording: RunRecording) -> Tuple[float, float]:
    assert recording.half_step is not None, "asked of recordings with one only"
    return drift_m(recording, recording.half_step), 1.0


CONVERGED_M = 0.05
"""Of drives of some 4 m: who differs by more has not converged."""

HALF_STEP = Measure(
    name="half_step",
    unit="m",
    better="lower",
    description="how far apart the robot drives on flat ground when the physics step is halved",
    formula="mean over drives of sqrt(mean |p - p_half|²)",
    source="step-size refinement; without a difference the solution has converged",
    needs=("half_step",),
    own=_change,
    limit=CONVERGED_M,
    beyond="not converged: the physics step decides where it drives",
)
