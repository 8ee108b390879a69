"""Commands import only the libraries that they use, since imports are most of their start."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "config" / "example_campaign.yaml"

START = """
import os, sys
from gz_testauto.cli.main import main
from gz_testauto.trial.lockstep import LockstepExecutor
def stop(self, trial, should_stop):
    print(*sys.modules, flush=True)
    os._exit(0)
LockstepExecutor.execute = stop
main(sys.argv[1:])
"""
"""Program that starts a campaign, stops before its first trial and prints the imported modules."""

HELP = """
import sys
from gz_testauto.cli.main import main
try:
    main(sys.argv[1:])
finally:
    print(*sys.modules)
"""
"""Program that prints a help text and the imported modules."""


def imported_modules(code, *arguments):
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.slow
def test_embedded_campaign_imports_no_library_that_it_does_not_use_before_its_first_trial(tmp_path):
    options = ("--simulator", "embedded", "--workers", "1", "--worlds", "1")
    modules = imported_modules(START, "run", EXAMPLE, "--out", tmp_path / "out", *options)
    assert "mujoco" in modules
    unused_modules = {
        "gz_testauto.planners.dwa_fox",
        "gz_testauto.simulators.gazebo",
        "scipy.linalg",
        "scipy.ndimage",
        "scipy.optimize",
        "scipy.special",
        "urllib.request",
    }
    assert not unused_modules & modules


def test_help_of_report_imports_no_analysis():
    modules = imported_modules(HELP, "report", "--help")
    assert "gz_testauto.cli.report" in modules
    assert not {"gz_testauto.analysis", "rich", "shapely", "sqlite3"} & modules


@pytest.mark.slow
def test_gazebo_simulator_is_imported_without_the_library_for_meshes():
    modules = imported_modules("import sys, gz_testauto.simulators.gazebo; print(*sys.modules)")
    assert "trimesh" not in modules
