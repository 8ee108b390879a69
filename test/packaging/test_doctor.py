"""Output and exit status of `gz_testauto doctor`."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from gz_testauto.cli import doctor
from gz_testauto.cli.main import main
from gz_testauto.simulators.gazebo import installation


@pytest.fixture
def no_gazebo(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(installation.ROOT_VARIABLE, raising=False)


def test_doctor_prints_effect_and_remedy_of_a_missing_gazebo(no_gazebo, capsys):
    main(["doctor"])
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("Gazebo"))
    assert "campaigns run in the embedded simulator" in line
    assert "./bootstrap" in line


def test_doctor_succeeds_if_an_optional_part_is_missing(monkeypatch, capsys):
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


def remedy_of(name, capsys):
    main(["doctor", "--json"])
    findings = {finding["name"]: finding for finding in json.loads(capsys.readouterr().out)}
    return findings[name]["remedy"]


def devel_space(place, source):
    """Create a devel space as catkin does."""
    (place / "src").mkdir(parents=True)
    devel = place / "devel"
    devel.mkdir()
    (devel / ".catkin").write_text(source)
    return devel


@pytest.fixture
def no_packages(monkeypatch):
    monkeypatch.setenv("ROS_PACKAGE_PATH", "")
    monkeypatch.setattr(
        doctor,
        "_check_ros_package",
        lambda name, without, needed=False, remedy="": doctor.Finding(
            name, False, without, needed, remedy
        ),
    )


@pytest.mark.slow
def test_doctor_does_not_suggest_bootstrap_in_a_catkin_workspace(
    no_packages, monkeypatch, tmp_path, capsys
):
    source = str(tmp_path / "src")
    devel = devel_space(tmp_path, source)
    monkeypatch.setenv("CMAKE_PREFIX_PATH", f"{devel}:/opt/ros/noetic")
    remedy = remedy_of("gazebo_msgs", capsys)
    assert "bootstrap" not in remedy
    assert "gazebo_ros_pkgs" in remedy
    assert source in remedy
    assert "overlay/gazebo_msgs" in remedy


def test_doctor_recognizes_the_workspace_of_bootstrap_as_a_checkout(
    no_packages, monkeypatch, tmp_path, capsys
):
    devel = devel_space(tmp_path / ".build", str(tmp_path))
    monkeypatch.setenv("CMAKE_PREFIX_PATH", str(devel))
    assert remedy_of("gazebo_msgs", capsys) == "run ./bootstrap setup in a checkout"


@pytest.mark.slow
def test_doctor_does_not_treat_an_installed_ros_as_a_workspace(
    no_packages, monkeypatch, tmp_path, capsys
):
    devel = devel_space(tmp_path, "")
    monkeypatch.setenv("CMAKE_PREFIX_PATH", str(devel))
    assert remedy_of("gazebo_msgs", capsys) == "run ./bootstrap setup in a checkout"


@pytest.mark.slow
def test_doctor_has_a_remedy_for_pip_without_sourced_ros(
    no_packages, monkeypatch, tmp_path, capsys
):
    monkeypatch.delenv("CMAKE_PREFIX_PATH", raising=False)
    monkeypatch.setattr(doctor, "share_directory", lambda: tmp_path)
    assert "source the setup.bash of the catkin workspace" in remedy_of("gazebo_msgs", capsys)


def test_doctor_lists_planners_simulators_and_metrics(no_gazebo, capsys):
    main(["doctor"])
    printed = capsys.readouterr().out
    lists = printed[printed.index("\nplanners ") :]
    assert max(map(len, lists.splitlines())) <= 80
    names = {part.split()[0]: part for part in lists.replace("\n ", " ").splitlines() if part}
    assert "fgm_improved, " in names["planners"]
    assert "kinematic" in names["simulators"]
    assert "clearance_min_m, " in names["metrics"]


def test_doctor_prints_json(no_gazebo, capsys):
    main(["doctor", "--json"])
    findings = {finding["name"]: finding for finding in json.loads(capsys.readouterr().out)}
    assert findings["Python"]["found"]
    assert not findings["Gazebo"]["found"]
    assert not findings["gzclient"]["needed"]


EXAMPLE = Path(__file__).resolve().parents[2] / "config" / "smoke_campaign.yaml"


def findings_of(path, capsys):
    status = main(["doctor", "--json", str(path)])
    return status, {one["name"]: one for one in json.loads(capsys.readouterr().out)}


@pytest.mark.slow
def test_doctor_reports_simulator_and_planners_of_a_campaign(capsys, tmp_path):
    path = tmp_path / "campaign.yaml"
    path.write_text(EXAMPLE.read_text().replace("../", f"{EXAMPLE.parents[1]}/"))
    status, found = findings_of(path, capsys)
    assert status == 0
    assert {"campaign", "simulator", "planner"} == set(found)


def test_doctor_reports_an_invalid_campaign_by_its_key(capsys, tmp_path):
    path = tmp_path / "campaign.yaml"
    path.write_text("name: a\nplanner: fgm\n")
    status, found = findings_of(path, capsys)
    assert status == 1
    assert "planner" in found["campaign"]["detail"]


@pytest.mark.slow
def test_doctor_reports_an_unknown_planner_of_a_campaign(capsys, tmp_path):
    path = tmp_path / "campaign.yaml"
    text = EXAMPLE.read_text().replace("../", f"{EXAMPLE.parents[1]}/")
    path.write_text(re.sub(r"(?m)^planners:.*$", "planners: [no_such]", text))
    status, found = findings_of(path, capsys)
    assert status == 1
    assert "no_such" in found["planner"]["detail"]


@pytest.mark.parametrize("distribution, status", [("", 0), ("noetic", 1)])
def test_doctor_requires_ros_only_if_it_is_sourced(monkeypatch, capsys, distribution, status):
    for name in ("ROS_DISTRO", "ROS_ROOT", "ROS_PACKAGE_PATH", "CMAKE_PREFIX_PATH"):
        monkeypatch.delenv(name, raising=False)
    if distribution:
        monkeypatch.setenv("ROS_DISTRO", distribution)
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "rospy" else find(name)
    )
    monkeypatch.setattr(doctor, "ros_packages", dict)
    assert main(["doctor"]) == status
    [line] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("ROS ")]
    assert line.split()[1] == ("NO" if distribution else "no")
