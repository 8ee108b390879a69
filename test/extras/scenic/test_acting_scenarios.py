"""Campaigns through worlds of a scenario that acts: repeated, side by side, refused."""

import numpy as np
import pytest
import yaml

pytest.importorskip("scenic.core", reason="needs Scenic 3: pip install 'gz_testauto[scenic]'")

import contextlib

from finished import results

from gz_testauto.actors.bodies import CONTACT_GROUPS
from gz_testauto.analysis.repeatability import compare_recordings
from gz_testauto.base.resources import share_directory
from gz_testauto.campaign.world_source import gather_worlds
from gz_testauto.cli.main import main
from gz_testauto.simulators import open_simulator
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.trial.lockstep import LockstepExecutor
from gz_testauto.trial.plan import PreparedCampaign
from gz_testauto.trial.testbed import bed_of, read_body
from gz_testauto.worlds.source import missions_of

pytestmark = pytest.mark.slow

EXAMPLES = share_directory() / "config" / "scenic"


def campaign(folder, **section):
    """The crossing of the examples in two worlds, as a file."""
    data = yaml.safe_load((EXAMPLES / "crossing_campaign.yaml").read_text())
    data["worlds"]["count"] = 2
    data["worlds"]["scenic"].update(
        {
            "file": str(EXAMPLES / "crossing.scenic"),
            "models": str(EXAMPLES / "models.yaml"),
            **section,
        }
    )
    data["simulator"] = "embedded"
    written = folder / "crossing.yaml"
    written.write_text(yaml.safe_dump(data))
    return written


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("crossing")
    file, out = campaign(folder), folder / "alone"
    assert main(["run", str(file), "--out", str(out), "--workers", "1"]) == 0
    return file, out


def test_the_pedestrian_crosses_and_the_door_slides_while_the_planner_drives(alone):
    trials, recordings = results(alone[1])
    assert len(trials) == 4 and all(record.outcome.valid for record in trials)
    assert any(record.outcome.value == "reached" for record in trials)
    for recording in recordings:
        pedestrian = recording.series["actor_obstacle_pedestrian_0"]
        door = recording.series["actor_door_0"]
        assert abs(pedestrian[0, 0]) == pytest.approx(3.5, abs=1e-6)
        assert np.ptp(door[:, 1]) < 0.01, "along its wall"
        assert door[0, 0] == pytest.approx(0.0, abs=1e-6)
    through = [r for record, r in zip(trials, recordings) if record.outcome.value == "reached"]
    for recording in through:
        assert recording.series["actor_door_0"][-1, 0] == pytest.approx(-1.9, abs=0.01)


def test_results_contain_the_records_of_the_whole_trial(alone):
    trials, recordings = results(alone[1])
    for trial, recording in zip(trials, recordings):
        time_s, distance_m = recording.series["recorded_pedestrian_distance_m"].T
        assert np.allclose(time_s, recording.time_s)
        way = recording.series["actor_obstacle_pedestrian_0"][:, :2] - recording.pose[:, :2]
        above_m2 = distance_m**2 - (way**2).sum(axis=1)
        assert np.ptp(above_m2) < 1e-4, "the middles differ in height by the same"
        column = "recorded_pedestrian_distance_m"
        assert trial.metrics[f"{column}_min"] == pytest.approx(distance_m.min())
        assert trial.metrics[f"{column}_mean"] == pytest.approx(distance_m.mean())
        assert trial.metrics[f"{column}_max"] == pytest.approx(distance_m.max())
        door = recording.series["actor_door_0"]
        assert trial.metrics["recorded_door_x_m"] == pytest.approx(door[-1, 0], abs=1e-6)


def test_two_workers_and_a_repetition_give_identical_results(alone, tmp_path):
    file, out = alone
    twice = tmp_path / "twice"
    one = ["run", str(file), "--out", str(twice)]
    assert main([*one, "--workers", "1", "--planners", "dwa_fox"]) == 0
    assert main([*one, "--workers", "2"]) == 0
    trials, recordings = results(out)
    again, replayed = results(twice)
    by_key = {(r.world, r.planner): one for r, one in zip(again, replayed)}
    for record, recording in zip(trials, recordings):
        assert compare_recordings(recording, by_key[record.world, record.planner]).identical


@pytest.mark.parametrize(
    "worlds, said",
    [
        ({"mission": {"goal": "waypoint"}}, "dynamic needs the key mission.start"),
        (
            {"dynamic": False},
            "a `behavior` refers to time: .*worlds.scenic.dynamic: true",
        ),
        (
            {"mission": {"start": "fetch", "goal": "waypoint"}},
            "is turtlebot3, but worlds.scenic.mission.start|no 'fetch'",
        ),
    ],
)
def test_an_invalid_dynamic_scenario_is_rejected_before_the_first_trial(
    tmp_path, capsys, worlds, said
):
    import re

    file = campaign(tmp_path, **worlds)
    assert main(["run", str(file), "--out", str(tmp_path / "out")]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert re.search(said, told), told
    assert not list(tmp_path.glob("out/**/*.npz"))


MEETING = """
from math import cos, pi, sin
workspace = Workspace(RectangularRegion(0 @ 0, 0, 40, 40))
ego = new Turtlebot3 at 15 @ -15, facing 0 deg
goal = new Waypoint at 15 @ 15, facing 0 deg

class Person:
    shape: CylinderShape()
    width: 0.5
    length: 0.5
    height: 1.7

for i in range(15):
    new Person at (5 * cos(i * pi / 8)) @ (5 * sin(i * pi / 8)), with behavior WalkTo(0 @ 0, 1.5)
"""


@pytest.mark.parametrize("name", ["embedded", pytest.param("gazebo", marks=pytest.mark.gazebo)])
def test_agents_that_touch_keep_their_plane_and_reach_their_points(name, tmp_path):
    """Each of the 15 agents and the actor has its own contact group."""
    play = tmp_path / "meeting.scenic"
    play.write_text(MEETING)
    file = campaign(tmp_path, file=str(play))
    data = yaml.safe_load(file.read_text())
    actor = {
        "name": "guard",
        "behavior": "script",
        "waypoints_m": [[-4, 3], [4, -3]],
        "speed_mps": 2.0,
    }
    data.update(actors=[actor], planners=["straight"], simulator=name)
    file.write_text(yaml.safe_dump(data))
    spec = load(file, CampaignSpec)
    robot = read_body(spec)
    worlds = gather_worlds(spec, robot, tmp_path / "worlds")
    prepared = PreparedCampaign(bed_of(spec, robot), worlds, missions_of(spec, tmp_path / "worlds"))
    executor = LockstepExecutor(prepared.bed, lambda _: open_simulator(name))
    with contextlib.closing(executor):
        executor.open()
        loaded = executor.load_trial(prepared.trials[0])
        names = [model.name for model in loaded.actors.models]
        assert len(names) == CONTACT_GROUPS
        start = loaded.simulation.snapshot().models
        for _ in range(50):
            models = loaded.simulation.step(0.1).models
            for model in names:
                pose = models[model].pose
                assert abs(pose.position[2] - start[model].pose.position[2]) < 1e-3, model
                assert pose.tilt_rad < 1e-3, model
        loaded.actors.close()
    assert models["guard"].pose.position[:2] == pytest.approx((4, -3), abs=2e-3)
    for model in names[1:]:
        assert models[model].pose.position[:2] == pytest.approx((0, 0), abs=5e-3), model
