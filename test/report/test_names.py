import pytest

from gz_testauto.metrics.interface import Metric
from gz_testauto.report.names import metric_heading, published_heading


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("path_m", ("published shortest path", "m")),
        ("number_of_obstacles", ("published number of obstacles", "")),
        ("top_speed_mps", ("published top speed", "m/s")),
        ("s", ("published s", "")),
    ],
)
def test_published_number_has_a_heading_with_unit(name, said):
    assert published_heading(name) == said


@pytest.mark.parametrize(
    ("name", "unit", "heading", "said"),
    [
        ("global_plan_m", "m", "", "global plan"),
        ("missed_control_cycles", "", "", "missed control cycles"),
        ("global_plan_m", "cells", "", "global plan m"),
        ("planned_s", "", "", "planned (s)"),
        ("distance_m", "m", "length", "length"),
    ],
)
def test_metric_without_heading_has_its_name_in_words(name, unit, heading, said):
    metric = Metric(
        name=name, unit=unit, heading=heading, better="lower", completed_only=True, description=""
    )
    assert metric_heading(metric) == said
