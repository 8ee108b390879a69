"""The node ``gate`` as rostest starts it; ``gate.test`` is one that passes."""

import os
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parents[1]
TEST = """
<launch>
  <test pkg="gz_testauto" type="gate" test-name="navigation_gate" time-limit="300.0">
    <param name="campaign" value="{campaign}"/>
    <param name="simulator" value="planar"/>
    {parameters}
  </test>
</launch>
"""


def parameter(name, value):
    return f'<param name="{name}" value="{value}"/>'


@pytest.fixture
def rostest(tmp_path):
    """Runs a rostest with a gate that has these parameters; returns status and results."""
    junitxml = pytest.importorskip("rosunit.junitxml")

    def start(**parameters):
        file = tmp_path / "gate.test"
        lines = [parameter(*item) for item in {"out": tmp_path / "out", **parameters}.items()]
        campaign = HERE / "gate_campaign.yaml"
        file.write_text(TEST.format(campaign=campaign, parameters="\n    ".join(lines)))
        path = f"{HERE / 'plugins'}:{os.environ.get('PYTHONPATH', '')}"
        results = tmp_path / "test_results"
        environment = {**os.environ, "PYTHONPATH": path, "ROS_TEST_RESULTS_DIR": str(results)}
        ended = subprocess.run(
            ["rostest", f"--pkgdir={tmp_path}", "--package=gz_testauto", str(file)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=500,
        )
        (xml,) = results.rglob("*navigation_gate.xml")
        return ended, junitxml.read(str(xml), "navigation_gate")

    return start


@pytest.mark.slow
@pytest.mark.ros
def test_a_planner_made_worse_on_purpose_turns_the_rostest_red(rostest):
    ended, read = rostest(planner="worse", baseline_planner="before", not_worse_than=0.2)
    assert ended.returncode != 0
    (case,) = read.test_case_results
    (failure,) = case.failures
    assert "worse: worse succeeds not less often than before by more than 20 points" in failure.text
    assert "lost world_0007" in failure.text


@pytest.mark.slow
@pytest.mark.ros
def test_a_gate_that_cannot_be_judged_is_an_error_that_says_why(rostest):
    ended, read = rostest(planner="nobody", baseline_planner="before", worlds=1)
    assert ended.returncode != 0
    (case,) = read.test_case_results
    assert "unknown planner 'nobody'" in case.errors[0].text
