"""A campaign on a user's own stack, from YAML to results, over real ROS.

The stack is this package's simulator node and planner node, started by their launch files as a
user's would be: ``config/own_stack_campaign.yaml``.
"""

import math
import os
import uuid
from pathlib import Path

import numpy as np
import pytest
from graph import MARK, marked_processes

from gz_testauto.campaign.directory import CampaignDirectory
from gz_testauto.campaign.executors import chosen_executor
from gz_testauto.campaign.launches import check_launches
from gz_testauto.campaign.outcome import Outcome
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.store import ResultStore
from gz_testauto.campaign.trials import Selection
from gz_testauto.errors import SpecError
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load, parse

CONFIG = Path(__file__).resolve().parents[2] / "config"
EXAMPLE = CONFIG / "own_stack_campaign.yaml"

pytestmark = pytest.mark.ros


@pytest.fixture(autouse=True)
def mark(monkeypatch):
    """Marks all processes that a test starts, and finds them."""
    name = uuid.uuid4().hex
    monkeypatch.setenv(MARK, name)
    ours = os.getpid()
    return lambda: {pid: what for pid, what in marked_processes(name).items() if pid != ours}


def spec_with(*changes):
    text = EXAMPLE.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return parse(text, CampaignSpec, EXAMPLE)


def trials(out):
    with ResultStore.read(CampaignDirectory(out)) as store:
        results = store.results()
        return results, {record.trial: store.trajectory(record) for record in results.trials}


def test_two_planners_in_one_world_end_as_they_must_and_leave_nothing(tmp_path, mark):
    spec = load(EXAMPLE, CampaignSpec)
    out = tmp_path / "out"
    run_campaign(spec, out, chosen_executor(spec, out), selection=Selection(worlds=1))
    assert mark() == {}
    results, recordings = trials(out)
    outcomes = {record.planner: record.outcome for record in results.trials}
    assert outcomes == {"straight": Outcome.COLLIDED, "fgm": Outcome.REACHED}
    assert results.invalid_attempts == ()
    for record in results.trials:
        recording = recordings[record.trial]
        assert len(recording.series["odom"]) == len(recording.time_s)
        # Odometry of this simulator is the truth, one control period old at most.
        away = np.abs(recording.series["odom"][:, :2] - recording.pose[:, :2]).max()
        assert away < 1.0 * 4 * spec.control_period_s
        assert record.metrics["global_plans"] == 1
        assert math.isclose(record.metrics["global_plan_m"], 6.0, abs_tol=0.3)
        assert record.metrics["cycle_mean_s"] > 0.0
        assert record.metrics["recoveries"] == 0
        assert 0.2 <= record.metrics["real_time_factor"] < 2.5
        assert np.isfinite(recording.command[1:]).any()


def test_a_launch_file_that_is_not_there_is_refused_before_anything_starts():
    spec = spec_with(("file: planner.launch", "file: planer.launch"))
    with pytest.raises(SpecError, match=r"unknown launch file .*did you mean 'planner.launch'"):
        check_launches(spec)


def test_a_package_that_is_not_there_is_refused_with_what_to_do():
    spec = spec_with(("package: gz_testauto\n    file: planner", "package: nowhere\n    file: p"))
    with pytest.raises(SpecError, match=r"nowhere.*source its workspace"):
        check_launches(spec)


def test_an_argument_that_the_launch_file_does_not_declare_is_refused():
    spec = spec_with(("{plugin: fgm}", "{plugn: fgm}"))
    with pytest.raises(SpecError, match=r"planners\[1\].*'plugn'; did you mean 'plugin'"):
        check_launches(spec)
