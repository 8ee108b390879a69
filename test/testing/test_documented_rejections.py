"""Comparison of docs/architecture.md with the number of rejected implementations."""

import re
from pathlib import Path

import pytest
import test_changes_rejections
import test_executor_rejections
import test_planner_rejections
import test_sensors_rejections
import test_simulator_rejections
import test_workers_rejections

DOCS = Path(__file__).parents[2] / "docs" / "architecture.md"
FAULTS = {
    "planner_conformance": test_planner_rejections.FAULTS,
    "simulator_conformance": test_simulator_rejections.FAULTS,
    "changes_conformance": test_changes_rejections.CHANGES,
    "several_robots_conformance": test_changes_rejections.ROBOTS,
    "sensors_conformance": test_sensors_rejections.FAULTS,
    "executor_conformance": test_executor_rejections.FAULTS,
    "workers_conformance": test_workers_rejections.FAULTS,
}


def documented():
    """Return the documented numbers of rejected implementations by suite."""
    rows = re.findall(
        r"^\| `(\w+_conformance)` \|.*\| (\d+) \w+ \|$", DOCS.read_text(), re.MULTILINE
    )
    return {suite: int(count) for suite, count in rows}


def test_each_suite_of_the_package_is_documented():
    folder = Path(__file__).parents[2] / "src" / "gz_testauto" / "testing"
    assert set(documented()) == {path.stem for path in folder.glob("*_conformance.py")}


@pytest.mark.parametrize("suite", list(FAULTS))
def test_a_suite_rejects_as_many_implementations_as_documented(suite):
    assert 10 <= documented()[suite] <= len(FAULTS[suite])
