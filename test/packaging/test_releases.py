"""The source distribution and the wheel run in new environments of two Python versions."""

import os
import shutil
import sys
from pathlib import Path

import build_release
import pytest
from completed_commands import run

pytestmark = pytest.mark.slow

CHECKOUT = Path(__file__).resolve().parents[2]


def python_of(version):
    """Return the program of a Python version, or skip the test."""
    installed = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    found = [shutil.which(f"python{version}", path="/usr/local/bin:/usr/bin")]
    found += [str(path) for path in sorted(installed.glob(f"{version}.*/bin/python"))]
    programs = list(filter(None, found))
    if not programs:
        pytest.skip(f"Python {version} is not installed")
    return programs[-1]


@pytest.fixture(scope="module")
def distributions(tmp_path_factory):
    """A folder with the wheel, the source distribution and their checksums."""
    place = tmp_path_factory.mktemp("release")
    build_release.build(place)
    return place


def test_two_builds_have_the_same_checksums(distributions, tmp_path):
    build_release.build(tmp_path)
    sums = (tmp_path / "SHA256SUMS").read_text(encoding="utf-8")
    assert sums == (distributions / "SHA256SUMS").read_text(encoding="utf-8")
    assert {line.split()[1] for line in sums.splitlines()} == {
        path.name for path in tmp_path.iterdir() if path.name != "SHA256SUMS"
    }


@pytest.mark.parametrize("version, suffix", [("3.8", ".tar.gz"), ("3.13", ".whl")])
def test_release_runs_a_campaign_in_a_new_environment(distributions, tmp_path, version, suffix):
    (release,) = distributions.glob(f"gz_testauto-*{suffix}")
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in {"PYTHONPATH", "VIRTUAL_ENV", "ROS_PACKAGE_PATH", "CMAKE_PREFIX_PATH"}
    }
    python = tmp_path / "new" / "bin" / "python"
    uv = (sys.executable, "-m", "uv")
    run(*uv, "venv", "--quiet", "--python", python_of(version), tmp_path / "new", env=environment)
    options = ("--python", python, "--constraint", CHECKOUT / "constraints.txt")
    run(*uv, "pip", "install", *options, release, env=environment)
    program = (python.with_name("gz_testauto"), "run", "smoke_campaign")
    options = ("--simulator", "embedded", "--out", "results")
    # Each of several processes would compile the code of the simulator.
    run(*program, *options, "--workers", 1, "--worlds", 1, cwd=tmp_path, env=environment)
    output = run(*program, *options, "--workers", 2, cwd=tmp_path, env=environment)
    assert "fgm" in output
    assert (tmp_path / "results" / "report.html").is_file()
