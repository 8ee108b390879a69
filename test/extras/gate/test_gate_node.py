"""The node ``gate`` as rostest starts it; ``gate.test`` passes."""

import os
import subprocess
from pathlib import Path

import pytest
import yaml
from gate_tables import GOOD, PASSES, WORSE, gate_results, table

from gz_testauto.base.errors import SpecError
from gz_testauto.base.resources import share_directory

ROS_TESTS = Path(__file__).resolve().parents[2] / "ros"
TEST = """
<launch>
  <test pkg="gz_testauto" type="gate" test-name="navigation_gate" time-limit="300.0">
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
        lines = [parameter(*item) for item in parameters.items()]
        file.write_text(TEST.format(parameters="\n    ".join(lines)))
        path = f"{ROS_TESTS / 'plugins'}:{os.environ.get('PYTHONPATH', '')}"
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


@pytest.fixture
def rostest_of_a_campaign(rostest, tmp_path):
    """Runs a rostest with a gate that first runs a small campaign."""

    def start(**parameters):
        return rostest(
            campaign=ROS_TESTS / "gate_campaign.yaml",
            simulator="kinematic",
            out=tmp_path / "out",
            **parameters,
        )

    return start


def console(ended):
    """Return the output of rostest, which must not contain a traceback."""
    assert "Traceback" not in ended.stdout + ended.stderr
    assert "cannot read test result file" not in ended.stdout
    return ended.stdout


@pytest.mark.slow
@pytest.mark.ros
def test_rostest_fails_for_a_planner_that_is_worse(rostest_of_a_campaign):
    ended, read = rostest_of_a_campaign(
        planner="worse", baseline_planner="before", not_worse_than=0.2
    )
    assert ended.returncode != 0
    (case,) = read.test_case_results
    (failure,) = case.failures
    assert failure.text.startswith("FAILED worse: ")
    assert "lower than that of before; the allowed decrease is 20 percentage points" in failure.text
    assert "worse in world_0007" in failure.text


@pytest.mark.slow
@pytest.mark.ros
def test_unknown_planner_is_an_error_that_names_it(rostest_of_a_campaign):
    ended, read = rostest_of_a_campaign(planner="nobody", baseline_planner="before", worlds=1)
    assert ended.returncode != 0
    (case,) = read.test_case_results
    assert "unknown planner 'nobody'" in case.errors[0].text


@pytest.mark.slow
@pytest.mark.ros
def test_passed_gate_prints_its_questions(rostest, tmp_path):
    out = gate_results(tmp_path, "prepared", table(fgm=PASSES))
    old = gate_results(tmp_path, "old", table(fgm=PASSES, dwa=PASSES))
    ended, read = rostest(results=out, baseline=old, min_success=0.9, removed_planners="dwa")
    assert ended.returncode == 0, ended.stdout
    printed = console(ended)
    assert "/the success rate of fgm (new) is at least 90 percent][passed]" in printed
    assert (
        "/the success rate of fgm (new) is at most 5 percentage points lower than that" in printed
    )
    assert "/not judged, allowed: the new results have no trials of planner dwa, as" in printed
    assert "RESULT: SUCCESS" in printed
    assert (read.num_tests, read.num_errors, read.num_failures) == (3, 0, 0)


@pytest.mark.slow
@pytest.mark.ros
def test_failed_gate_prints_the_reason(rostest, tmp_path):
    out = gate_results(tmp_path, "prepared", table(mine=WORSE, theirs=GOOD))
    ended, read = rostest(results=out, planner="mine", baseline_planner="theirs", min_success=0.9)
    assert ended.returncode != 0
    printed = console(ended)
    assert "/the success rate of mine is at least 90 percent][FAILURE]" in printed
    assert "FAILED mine: 60.0 %, at least 90 % required" in printed
    assert "the success rate of mine is 60.0 %; at least 90 % is required" in printed
    assert "the success rate of mine is 30.0 percentage points lower than that" in printed
    assert "worse in w002" in printed
    assert "RESULT: FAIL" in printed
    assert (read.num_tests, read.num_errors, read.num_failures) == (2, 0, 2)


@pytest.mark.slow
@pytest.mark.ros
def test_undecided_gate_fails_and_prints_the_reasons(rostest, tmp_path):
    out = gate_results(tmp_path, "prepared", table(fgm="1" * 8 + "x" * 2))
    ended, read = rostest(results=out, min_success=0.9)
    assert ended.returncode != 0
    printed = console(ended)
    assert "/the success rate of fgm is at least 90 percent][ERROR]" in printed
    assert "UNDECIDED fgm: 100.0 %, at least 90 % required" in printed
    assert (
        "not judged: 2 of 10 trials of fgm are invalid (20 %, allowed 1 %): w008, w009" in printed
    )
    assert "or declare ~max_invalid 0.2" in printed
    assert "RESULT: FAIL" in printed
    assert (read.num_tests, read.num_errors, read.num_failures) == (2, 2, 0)


@pytest.mark.slow
@pytest.mark.ros
def test_corpus_without_another_question_runs_only_the_corpus(rostest, tmp_path):
    data = yaml.safe_load((ROS_TESTS / "gate_campaign.yaml").read_text())
    room = share_directory() / "worlds" / "room.world"
    (tmp_path / "corpus" / "empty_room").mkdir(parents=True)
    (tmp_path / "corpus" / "empty_room" / "room.world").write_bytes(room.read_bytes())
    data["worlds"] = {"directory": ".", "files": ["room.world"]}
    data["simulator"] = "kinematic"
    (tmp_path / "corpus" / "empty_room" / "campaign.yaml").write_text(yaml.safe_dump(data))
    ended, read = rostest(
        campaign=ROS_TESTS / "gate_campaign.yaml",
        corpus=tmp_path / "corpus",
        planner="after worse",
        out=tmp_path / "out",
    )
    assert ended.returncode != 0
    printed = console(ended)
    assert "/corpus: after in empty_room][passed]" in printed
    assert "/corpus: worse in empty_room][FAILURE]" in printed
    assert (read.num_tests, read.num_errors, read.num_failures) == (2, 0, 1)
    assert not (tmp_path / "out").exists()


@pytest.mark.ros
def test_parameters_results_and_campaign_together_are_rejected(monkeypatch, tmp_path):
    from gz_testauto.extras.gate import node

    parameters = node.GateParameters(results=tmp_path, campaign=Path("campaign.yaml"))
    monkeypatch.setattr(node, "read_parameters", lambda kind: parameters)
    monkeypatch.setattr(node.rospy, "resolve_name", lambda name: name)
    with pytest.raises(SpecError, match="~results and ~campaign are both set"):
        node._evaluate()
