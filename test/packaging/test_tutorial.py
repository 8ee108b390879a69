"""The commands of docs/tutorial and of the study, run in the order in which a reader types them.

A block of code that follows "Write `PATH`:" is written to that file. Each line of a block of
``sh`` is a command; a comment `# exit status N` at its end states the expected exit status.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gz_testauto.base.resources import share_directory
from gz_testauto.results.store import load_campaign
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.trial.outcome import Outcome

DOCS = Path(__file__).resolve().parents[2] / "docs"
TUTORIAL = DOCS / "tutorial"
FILE = re.compile(r"Write `([\w./]+)`[^`]*:\n\n```\w+\n(.*?)```", re.DOTALL)
COMMANDS = re.compile(r"```sh\n(.*?)```", re.DOTALL)
STATUS = re.compile(r"# exit status (\d+)$")
WORLDS = re.compile(r"(?<=count[: ])( ?)[12]0\b|(?<=--worlds )20\b")


def steps(page):
    """Return the files and commands of a page in their order."""
    text = page.read_text("utf-8")
    found = [(match.start(), "file", match.groups()) for match in FILE.finditer(text)]
    for match in COMMANDS.finditer(text):
        lines = match[1].replace("\\\n", " ").splitlines()
        found += [(match.start(), "command", (line,)) for line in lines if line.strip()]
    return [(kind, values) for _, kind, values in sorted(found, key=lambda step: step[0])]


@pytest.fixture
def environment(tmp_path):
    """An environment in which pip installs into a folder of the test, without network."""
    site = tmp_path / "site"
    binaries = tmp_path / "bin"
    binaries.mkdir()
    scripts = {
        "gz_testauto": "-m gz_testauto.cli.main",
        "pip": "-m pip",
        "python3": "",
    }
    for name, arguments in scripts.items():
        script = binaries / name
        script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {arguments} "$@"\n')
        script.chmod(0o755)
    inherited = os.environ.get("PYTHONPATH", "")
    return {
        **os.environ,
        "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(filter(None, (str(site), inherited))),
        "PIP_TARGET": str(site),
        "PIP_UPGRADE": "1",
        "PIP_NO_DEPS": "1",
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip reads this as: without isolation
    }


def write(folder, name, text):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, "utf-8")


def follow(page, folder, environment, worlds=10):
    """Do what a page of the tutorial states, in ``folder``, with this number of worlds."""
    for kind, values in steps(page):
        values = [WORLDS.sub(rf"\g<1>{worlds}", value) for value in values]
        if kind == "file":
            write(folder, *values)
            continue
        (line,) = values
        expected = STATUS.search(line)
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=folder,
            env=environment,
            timeout=500,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        output = done.stdout.decode("utf-8", "replace")[-3000:]
        assert done.returncode == int(expected[1] if expected else 0), f"{line}\n{output}"


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_tutorial_commands_that_need_no_ros_succeed(tmp_path, environment):
    # The gate needs all worlds of the first campaign for its verdicts.
    for name, worlds in (
        ("1_first_campaign", 20),
        ("2_planner", 2),
        ("3_world", 2),
        ("5_gate", 20),
    ):
        follow(TUTORIAL / f"{name}.md", tmp_path, environment, worlds)


@pytest.mark.ros
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_tutorial_commands_that_need_ros_succeed(tmp_path, environment):
    for kind, values in steps(TUTORIAL / "1_first_campaign.md"):
        if kind == "file":  # the page uses files of the first one, but not its results
            write(tmp_path, *values)
    follow(TUTORIAL / "4_robot.md", tmp_path, environment)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_commands_of_the_study_show_its_main_effect_in_ten_worlds(tmp_path, environment):
    page = tmp_path / "page.md"
    text = (DOCS / "contarli_sezer.md").read_text("utf-8")
    page.write_text(text.replace("--count 500", "--count 10"), "utf-8")
    # Over ROS, the spawner saves this world; the obstacles are drawn anew in both cases.
    shutil.copy(str(share_directory() / "worlds" / "arena.world"), str(tmp_path / "first.world"))
    follow(page, tmp_path, environment)
    for campaign in ("config/spawned_campaign.yaml", "sensitivity.yaml"):
        load(tmp_path / campaign, CampaignSpec)
    trials = load_campaign(tmp_path / "results" / "study").results.trials
    collided = [trial.planner for trial in trials if trial.outcome is Outcome.COLLIDED]
    assert len(trials) == 20
    assert len(collided) >= 3
    assert {*collided} == {"fgm_published"}


def test_files_and_commands_of_a_tutorial_page_are_extracted_in_order(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "Write `a/b.yaml`:\n\n```yaml\nkey: 1\n```\n\n```sh\none\ntwo # exit status 1\n```\n"
        "\n```\noutput\n```\n\nWrite `c.py`:\n\n```python\npass\n```\n"
    )
    assert steps(page) == [
        ("file", ("a/b.yaml", "key: 1\n")),
        ("command", ("one",)),
        ("command", ("two # exit status 1",)),
        ("file", ("c.py", "pass\n")),
    ]
