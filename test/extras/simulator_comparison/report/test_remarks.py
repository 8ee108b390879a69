"""Remarks on measured values in reports."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from gz_testauto.analysis.intervals import Estimate
from gz_testauto.extras.simulator_comparison.estimates import Measured
from gz_testauto.extras.simulator_comparison.measures.interface import find_measure
from gz_testauto.extras.simulator_comparison.report.sentences import delay_text, measured_texts


def measured(name, value, **more):
    estimate = Estimate(value, value, value, "")
    return Measured(find_measure(name), estimate, np.full(2000, value), **more)


@pytest.mark.parametrize(
    ("one", "remark"),
    [
        (measured("half_step", 0.2), "not converged: the trajectory depends on the physics step"),
        (measured("half_step", 0.01), ""),
        (measured("pose_drift", 0.2, floor=0.1, p_tie=0.01), ""),
        (measured("pose_drift", 0.2, floor=0.1, p_tie=0.5), "ties with the reference"),
        (measured("pose_drift", 0.1, floor=0.2), "ties with the reference"),
        (
            measured("delay", 0.1, floor=0.2, undetermined={"flat/rest": "no pair determines it"}),
            "ties with the reference; flat/rest does not count: no pair determines it",
        ),
    ],
)
def test_measure_with_tie_or_unconverged_value_has_a_remark(one, remark):
    assert measured_texts(one)[2] == remark


def test_low_value_is_beyond_the_limit_if_higher_is_better():
    measure = dataclasses.replace(find_measure("planner_srcc"), limit=0.5)
    assert measure.is_beyond(0.4) and not measure.is_beyond(0.6)
    assert not measure.is_beyond(float("nan"))


def test_a_significant_delay_without_a_weight_is_stated_below_the_ranking():
    measures = {
        "late": {"delay": measured("delay", 0.14, floor=0.01, p_tie=0.03)},
        "same": {"delay": measured("delay", 0.02, floor=0.01, p_tie=0.6)},
    }
    ranking = object()
    findings = SimpleNamespace(
        measured=measures, ranking=ranking, spec=SimpleNamespace(weights={"gain": 3.0})
    )
    assert delay_text(findings, ranking).endswith("are compared: late 0.14 s.")
    assert delay_text(findings, object()) == ""
    findings.spec.weights["delay"] = 2.0
    assert delay_text(findings, ranking) == ""
