"""The shell steps of action.yml, run in a repository whose last commit makes a planner worse."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

CHECKOUT = Path(__file__).resolve().parents[2]
ACTION = yaml.safe_load((CHECKOUT / "action.yml").read_text("utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
CAMPAIGN = f"""\
name: example
worlds:
  base: {CHECKOUT}/worlds/room.world
  obstacles: obstacles.yaml
  count: 12
robot:
  model: package://gz_testauto/models/wheelchair/model.sdf
  start: {{x_m: -3.0, y_m: 0.0, yaw_rad: 0.0}}
goal: {{x_m: 3.0, y_m: 0.0, tolerance_m: 0.5}}
limits: {{timeout_s: 30.0, stuck_window_s: 10.0}}
simulator: kinematic
planners:
  - {{name: mine, plugin: PLUGIN}}
"""
OBSTACLES = """\
obstacles: [{type: cylinder, count: 1, radius_m: 0.4, length_m: 1.2}]
region: {rectangle: {x_m: [-0.5, 0.5], y_m: [-0.2, 0.2]}}
"""


class Job:
    """A job in a repository. The results of the steps remain for later steps."""

    def __init__(self, folder):
        self.repository, self.summary = folder / "repository", folder / "summary.md"
        self.out = self.repository / "navigation_gate"
        binaries = folder / "bin"
        binaries.mkdir()
        self.repository.mkdir()
        for name, arguments in (("gz_testauto", "-m gz_testauto.cli.main"), ("python3", "")):
            script = binaries / name
            script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {arguments} "$@"\n')
            script.chmod(0o755)
        self.environment = {
            **os.environ,
            "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}",
            "GITHUB_STEP_SUMMARY": str(self.summary),
        }
        self.git("init", "--quiet")
        self.git("config", "user.email", "a@example.org")
        self.git("config", "user.name", "a")

    def git(self, *command):
        subprocess.run(["git", *command], cwd=self.repository, check=True, timeout=60)

    def commit(self, **files):
        for name, text in files.items():
            (self.repository / f"{name}.yaml").write_text(text)
        self.git("add", ".")
        self.git("commit", "--quiet", "-m", "change")

    def run(self, name, **inputs):
        """Run a step as GitHub does; return its status and output."""
        step = STEPS[name]
        defaults = {key: value.get("default", "") for key, value in ACTION["inputs"].items()}
        values = {f"inputs.{key}": value for key, value in {**defaults, **inputs}.items()}
        values["github.action_path"] = str(CHECKOUT)
        values["steps.artifact.outputs.artifact-url"] = "https://example.org/artifact"
        environment = {
            key: re.sub(r"\$\{\{ (\S+) \}\}", lambda match: values[match[1]], text)
            for key, text in step.get("env", {}).items()
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.repository,
            env={**self.environment, **environment},
            timeout=300,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return done.returncode, done.stdout


@pytest.fixture
def one_processor():
    """Run the test and its processes on one processor. A campaign without the option ``--workers``
    then runs its trials without worker processes, whose start takes several seconds."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {sorted(allowed)[os.getpid() % len(allowed)]})
    yield
    os.sched_setaffinity(0, allowed)


@pytest.fixture
def job(tmp_path, one_processor):
    return Job(tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(500)
def test_steps_fail_a_change_that_makes_a_planner_worse_and_show_the_worlds(job):
    pytest.importorskip("matplotlib")
    job.commit(campaign=CAMPAIGN.replace("PLUGIN", "fgm"), obstacles=OBSTACLES)
    job.commit(campaign=CAMPAIGN.replace("PLUGIN", "straight"))
    inputs = {"campaign": "campaign.yaml", "baseline": "HEAD~1", "worlds": "10"}
    inputs["prepare"] = "echo prepared in $PWD"
    *first, last = [name for name, step in STEPS.items() if "run" in step]
    for name in first:
        status, printed = job.run(name, **inputs)
        assert status == 0, f"{name}:\n{printed}"
    status, _ = job.run(last, **inputs)
    assert status == 1
    assert '<testsuites name="gate" tests="1" failures="1"' in (job.out / "gate.xml").read_text()
    summary = (job.out / "summary.md").read_text()
    assert summary.startswith("## Navigation gate: failed\n- **FAILED mine: 0.0 %, was ")
    pictures = re.findall(r"^!\[.*\]\((.*)\)$", summary, re.MULTILINE)
    assert pictures[:2] == ["world_0000_results.png", "world_0000_baseline.png"]
    assert len(pictures) == 10
    assert all((job.out / picture).stat().st_size > 1000 for picture in pictures)
    published = job.summary.read_text()
    assert "FAILED mine: 0.0 %" in published and "(https://example.org/artifact)" in published
    assert "![" not in published
    status, printed = job.run("Run the campaign with the baseline", **inputs)
    assert (status, printed) == (0, "")  # the restored results are used


@pytest.mark.parametrize(
    ("status", "undecided", "result"),
    [("0", "warn", 0), ("1", "warn", 1), ("2", "warn", 2), ("3", "warn", 0), ("3", "fail", 3)],
)
def test_only_an_undecided_gate_can_be_accepted(job, status, undecided, result):
    job.out.mkdir()
    (job.out / "status").write_text(status)
    found, printed = job.run("Fail unless the gate passed", undecided=undecided)
    assert found == result
    assert ("::warning::" in printed) == (status == "3" and undecided == "warn")


def test_package_is_installed_with_tested_versions_if_the_image_lacks_it(job):
    assert job.run("Install") == (0, "")
    binaries = Path(job.environment["PATH"].split(os.pathsep)[0])
    (binaries / "gz_testauto").unlink()
    (binaries / "python3").write_text('#!/bin/sh\necho "$@"\n')
    job.environment["PATH"] = f"{binaries}{os.pathsep}/usr/bin{os.pathsep}/bin"
    command = f"-m pip install {CHECKOUT}[plot] -c {CHECKOUT}/constraints.txt\n"
    assert job.run("Install") == (0, command)


@pytest.mark.parametrize(
    ("status", "event", "result"),
    [(0, "schedule", 0), (1, "pull_request", 1), (2, "pull_request", 2), (3, "pull_request", 0),
     (3, "schedule", 3)],
)  # fmt: skip
def test_github_workflow_accepts_an_undecided_gate_only_in_a_pull_request(
    tmp_path, status, event, result
):
    workflow = yaml.safe_load((CHECKOUT / "docs" / "ci" / "github_actions.yml").read_text("utf-8"))
    (script,) = [step["run"] for step in workflow["jobs"]["gate"]["steps"] if "run" in step]
    stub = tmp_path / "entrypoint"
    stub.write_text(f'#!/bin/sh\necho "$@"\nexit {status}\n')
    stub.chmod(0o755)
    (tmp_path / "failures").mkdir()
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script.replace("/opt/gz_testauto/entrypoint", str(stub))],
        cwd=tmp_path,
        env={**os.environ, "GITHUB_EVENT_NAME": event, "MARGIN": "0.15", "WORLDS": "100",
             "CORPUS": "failures"},
        timeout=60,
        stdout=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert done.returncode == result
    assert "--not-worse-than 0.15 --worlds 100 --corpus failures --trust --junit" in done.stdout


def test_gitlab_file_accepts_an_undecided_gate_only_in_a_merge_request():
    jobs = yaml.safe_load((CHECKOUT / "docs" / "ci" / "gitlab_ci.yml").read_text("utf-8"))
    assert jobs["navigation_gate"]["allow_failure"] == {"exit_codes": 3}
    assert "allow_failure" not in jobs["navigation_nightly"]
