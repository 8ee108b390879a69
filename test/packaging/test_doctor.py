"""What `gz_testauto doctor` tells, and how it ends."""

import json

import pytest

from gz_testauto.cli import doctor
from gz_testauto.cli.main import main
from gz_testauto.simulators.gazebo import installation


@pytest.fixture
def no_gazebo(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(installation.ROOT_VARIABLE, raising=False)


def test_without_gazebo_it_says_what_follows_and_how_to_get_one(no_gazebo, capsys):
    main(["doctor"])
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("Gazebo"))
    assert "campaigns run in the embedded simulator" in line
    assert "./bootstrap" in line


def test_what_is_not_needed_does_not_fail_it(monkeypatch, capsys):
    monkeypatch.setattr(
        doctor,
        "examine",
        lambda: iter(
            [
                doctor.Finding("Python", True, "3.8"),
                doctor.Finding("display", False, "no windows", needed=False),
            ]
        ),
    )
    assert main(["doctor"]) == 0
    assert "(not needed)" in capsys.readouterr().out


def test_programs_can_read_it(no_gazebo, capsys):
    main(["doctor", "--json"])
    findings = {finding["name"]: finding for finding in json.loads(capsys.readouterr().out)}
    assert findings["Python"]["found"]
    assert not findings["Gazebo"]["found"]
    assert not findings["gzclient"]["needed"]
