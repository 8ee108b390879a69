"""Campaigns with several robots in each world: each has an outcome, together they repeat."""

import pytest
import yaml
from finished import results

from gz_testauto.analysis.repeatability import compare_recordings
from gz_testauto.base.resources import share_directory
from gz_testauto.cli.main import main
from gz_testauto.sdf.robot import read_robot
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.trial.testbed import bed_of, read_body

pytestmark = pytest.mark.slow


def campaign(folder, robots, **changes):
    """The smallest campaign with further robots, embedded, as a file."""
    share = share_directory()
    data = yaml.safe_load((share / "config" / "smoke_campaign.yaml").read_text())
    data["worlds"]["base"] = str(share / "worlds" / "room.world")
    data.update({"simulator": "embedded", "robots": robots, **changes})
    written = folder / "robots.yaml"
    written.write_text(yaml.safe_dump(data))
    return written


def robot(name, start, goal, **keys):
    x, y, yaw = start
    return {
        "name": name,
        "start": {"x_m": x, "y_m": y, "yaw_rad": yaw},
        "goal": {"x_m": goal[0], "y_m": goal[1]},
        **keys,
    }


EAST = robot("east", (-3.0, 3.4, 0.0), (3.0, 3.4), planner="straight")
WEST = robot("west", (3.0, 3.4, 3.14159), (-3.0, 3.4), planner="straight")
GUEST = robot("guest", (-3.0, -3.4, 0.0), (-1.0, -3.4))


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("robots")
    file, out = campaign(folder, [EAST, WEST, GUEST]), folder / "alone"
    assert main(["run", str(file), "--out", str(out), "--workers", "1"]) == 0
    return file, out


def test_each_robot_drives_to_its_own_goal_and_has_its_own_outcome(alone):
    trials, recordings = results(alone[1])
    assert len(trials) == 4
    for record, recording in zip(trials, recordings):
        way = recording.series["actor_guest"]
        assert way[0, :2] == pytest.approx([-3.0, -3.4], abs=0.05)
        assert record.metrics["guest_reached"] == 1.0
        assert record.metrics["guest_collided"] == 0.0
        assert way[-1, :2] == pytest.approx([-1.0, -3.4], abs=0.7), "and stands there"
        assert "guest reached, after" in record.detail


def test_head_on_collision_is_the_outcome_of_both_robots(alone):
    trials, _ = results(alone[1])
    for record in trials:
        both = [{what: record.metrics[f"{name}_{what}"] for what in ("collided", "time_s")}
                for name in ("east", "west")]  # fmt: skip
        assert both[0]["collided"] == both[1]["collided"] == 1.0
        assert both[0]["time_s"] == pytest.approx(both[1]["time_s"], abs=0.11)
        assert 2.0 < both[0]["time_s"] < 4.0, "6 m apart, at 1 m/s each"
        assert "east collided, touched west" in record.detail


def test_two_workers_with_several_robots_give_identical_results(alone, tmp_path):
    file, out = alone
    assert main(["run", str(file), "--out", str(tmp_path / "two"), "--workers", "2"]) == 0
    (trials, recordings), (_, again) = results(out), results(tmp_path / "two")
    assert len(recordings) == len(trials)
    for first, second in zip(recordings, again):
        assert compare_recordings(first, second).identical


@pytest.mark.parametrize(
    "robots, changes, said",
    [
        ([robot("robot", (2, 2, 0), (0, 2))], {}, "a robot is named 'robot'; rename the robot"),
        ([robot("a", (2, 2, 0), (0, 2))] * 2, {}, "these appear twice: a"),
        ([robot("a", (-3, 0.3, 0), (0, 2))], {}, "'robot' and 'a' overlap"),
        ([robot("a", (50, 50, 0), (0, 2))], {}, "robot 'a': "),
        ([robot("a", (2, 2, 0), (0, 2), planner="nobody")], {}, "unknown planner 'nobody'"),
        ([robot("a", (2, 2, 0), (0, 2), parameters={"x": 1})], {}, "a has 'parameters'"),
        ([robot("a", (2, 2, 0), (9.0, 2))], {}, "no path from (2, 2) to (9, 2)"),
    ],
)
def test_invalid_companion_robots_are_rejected_with_their_name(
    tmp_path, capsys, robots, changes, said
):
    file = campaign(tmp_path, robots, **changes)
    assert main(["run", str(file), "--out", str(tmp_path / "out"), "--workers", "1"]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_simulator_for_one_robot_rejects_a_campaign_with_several_robots(tmp_path, capsys):
    file = campaign(tmp_path, [GUEST], simulator="gazebo_ros")
    assert main(["run", str(file), "--out", str(tmp_path / "out"), "--workers", "1"]) == 2
    told = capsys.readouterr().err
    assert "'gazebo_ros'" in told or "No module named" in told


def test_companion_robot_with_a_separate_model_has_the_outline_of_that_model(tmp_path):
    jackal = share_directory() / "models" / "jackal_sized" / "model.sdf"
    file = campaign(tmp_path, [GUEST, {**EAST, "model": str(jackal)}])
    data = yaml.safe_load(file.read_text())
    given = [[0.6, 0.4], [-0.6, 0.4], [-0.6, -0.4], [0.6, -0.4]]
    data["robot"].update(footprint_m=given, height_m=[0.0, 1.5])
    file.write_text(yaml.safe_dump(data))
    spec = load(file, CampaignSpec)
    guest, east = bed_of(spec, read_body(spec)).companions
    assert guest.limits.footprint_m == tuple(map(tuple, given))
    assert guest.robot.height_m == (0.0, 1.5)
    own = read_robot(jackal, "east")
    assert east.limits.footprint_m == own.footprint_m
    assert east.robot.height_m == own.height_m
