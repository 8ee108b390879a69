"""Worlds of a benchmark: chosen by file, each with its own drive and its published figures."""

import csv
import io

import numpy as np
import pytest

from gz_testauto.base.errors import ResultsError, SpecError
from gz_testauto.campaign import simulator
from gz_testauto.campaign.simulator import simulator_options
from gz_testauto.campaign.world_source import gather_worlds
from gz_testauto.report.export import to_csv
from gz_testauto.results.manifest import campaign_inputs
from gz_testauto.simulators.gazebo.robot import DriveCommand
from gz_testauto.simulators.kinematic import KinematicSimulator
from gz_testauto.spec.campaign import BuiltinCampaignSpec
from gz_testauto.spec.model import PoseSpec
from gz_testauto.spec.worlds import WorldsSpec
from gz_testauto.trial.plan import PreparedCampaign
from gz_testauto.trial.testbed import bed_of, read_body
from gz_testauto.worlds.source import Missions

MODEL = (
    '<model name="{name}"><static>1</static><pose>{x} {y} 0.5 0 0 0</pose><link name="l">'
    '<collision name="c"><geometry><cylinder><radius>0.1</radius><length>1</length></cylinder>'
    "</geometry></collision></link></model>"
)


@pytest.fixture
def directory(tmp_path):
    """Three worlds with a cylinder each, further to the left from one to the next."""
    for number in (0, 6, 12):
        cylinder = MODEL.format(name="unit_cylinder_0", x=0, y=1 + number / 6)
        kind = "easy" if number < 12 else "hard"
        plugin = f"<!-- lib{kind}_{number}.so -->"
        (tmp_path / f"world_{number}.world").write_text(
            f'<sdf version="1.6"><world name="w">{plugin}{cylinder}</world></sdf>'
        )
        np.save(tmp_path / f"path_{number}.npy", np.array([[0, 0], [10, 0], [20, 10]]))
    return tmp_path


@pytest.fixture
def spec(smoke, directory):
    def make(**worlds):
        worlds = WorldsSpec.model_validate({"directory": directory, **worlds})
        return smoke.model_copy(update={"worlds": worlds})

    return make


def records(spec):
    return gather_worlds(spec, read_body(spec), "nowhere")


def test_campaign_uses_the_listed_world_files_in_their_order(spec):
    chosen = records(spec(files=["world_12.world", "world_6.world"]))
    assert [world.name for world in chosen] == ["world_12", "world_6"]
    directory = chosen[0].path.parent
    (directory / "world_12.world").rename(directory / "hall.sdf")
    assert [world.name for world in records(spec(files=["hall.sdf"]))] == ["hall"]
    with pytest.raises(SpecError, match=r"unknown world 'world_7\.world'; did you mean"):
        records(spec(files=["world_7.world"]))


def test_one_world_file_can_be_used_twice_with_different_missions(spec):
    there = {"file": "world_0.world", "name": "there", "goal": {"x_m": 2.0, "y_m": -1.0}}
    back = {
        "file": "world_0.world",
        "name": "back",
        "start": {"x_m": 2.0, "y_m": -1.0, "yaw_rad": 3.0},
        "goal": {"x_m": -3.0, "y_m": 0.0},
    }
    chosen = spec(files=["world_6.world", there, back])
    worlds = records(chosen)
    campaign = PreparedCampaign(bed_of(chosen, read_body(chosen)), worlds)
    trials = {trial.world.name: trial for trial in campaign.trials}
    for world, start, goal in (
        ("world_6", (-3.0, 0.0), (3.0, 0.0)),
        ("there", (-3.0, 0.0), (2.0, -1.0)),
        ("back", (2.0, -1.0), (-3.0, 0.0)),
    ):
        trial = trials[world]
        scene, task = campaign.bed.scene(trial), campaign.bed.task(trial)
        assert (scene.start.x_m, scene.start.y_m) == start
        assert (task.goal.x_m, task.goal.y_m) == goal
        assert campaign.bed.rules(trial).goal == task.goal
        assert tuple(task.waypoints_m[0]) == start
        assert tuple(task.waypoints_m[-1]) == goal
    assert worlds[1].shortest_path_m == pytest.approx(np.hypot(5, 1), rel=1e-3)


def test_world_can_have_intermediate_goals_that_differ_from_those_of_the_campaign(spec):
    on_the_way = {"file": "world_0.world", "name": "around", "via": [{"x_m": 0.0, "y_m": -3.0}]}
    alone = {"file": "world_0.world", "name": "alone", "goal": {"x_m": 3.0, "y_m": 0.0}}
    chosen = spec(files=["world_6.world", on_the_way, alone])
    via = [PoseSpec(x_m=-4.0, y_m=-3.0)]
    chosen = chosen.model_copy(update={"goal": chosen.goal.model_copy(update={"via": via})})
    goals = {
        name: [goal[:2] for goal in Missions(chosen).of(name).goals]
        for name in ("world_6", "around")
    }
    assert goals == {
        "world_6": [(-4.0, -3.0), (3.0, 0.0)],
        "around": [(0.0, -3.0), (3.0, 0.0)],
    }
    assert len(Missions(chosen).of("alone").goals) == 1
    worlds = records(chosen)
    assert worlds[1].shortest_path_m == pytest.approx(2 * np.hypot(3, 3))  # clear of the cylinder
    inputs = campaign_inputs(chosen)
    assert inputs["goal.via[0].x_m"] == "-4.0"
    assert inputs["worlds.files[1].via[0].y_m"] == "-3.0"
    assert not any(name.startswith("worlds.files[2].via") for name in inputs)
    published = spec(files=[on_the_way], published={"path_m": {"points": "path_{number}.npy"}})
    with pytest.raises(SpecError, match=r"^worlds\.published\.path_m: .* around has"):
        records(published)


def test_obstacle_names_of_the_campaign_apply_to_static_map_and_simulator(spec):
    def free(spec):
        known = bed_of(spec, read_body(spec)).static_map
        world = records(spec)[0]
        return known.grid(known.inputs(world, Missions(spec).of(world.name))).is_free(0, 1)

    named = spec(obstacle_names=r"unit_cylinder_\d+")
    assert free(named)
    assert not free(spec())
    gazebo = named.model_copy(update={"simulator": "gazebo"})
    assert simulator_options(gazebo)["obstacle_names"] == r"unit_cylinder_\d+"
    twice = gazebo.model_copy(update={"simulator_options": {"obstacle_names": "x"}})
    with pytest.raises(SpecError, match=r"options\.obstacle_names.* worlds\.obstacle_names"):
        simulator_options(twice)


def test_obstacle_names_must_match_the_complete_name_of_a_model(spec):
    with pytest.raises(SpecError, match=r"obstacle_names is 'unit_cylinder'.* unit_cylinder_0"):
        records(spec(obstacle_names="unit_cylinder"))


def test_published_numbers_are_read_from_paths_worlds_and_tables(spec, directory):
    (directory / "index.csv").write_text("world,rank\nworld_6,0.25\nworld_0.world,7\n")
    worlds = records(
        spec(
            files=["world_0.world", "world_6.world"],
            published={
                "path_m": {"points": "path_{number}.npy", "cell_m": 0.1, "origin_m": (-1.0, 0.0)},
                "difficulty": {"match": r"lib(easy|hard)_\d+\.so"},
                "rank": {"table": directory / "index.csv", "column": "rank"},
            },
        )
    )
    # From (-3, 0) to (-1, 0), to (0, 0), to (1, 1), and to the goal (3, 0).
    assert worlds[0].published_path_m == pytest.approx(2 + 1 + np.sqrt(2) + np.hypot(2, 1))
    assert worlds[0].published["difficulty"] == "easy"
    assert [world.published["rank"] for world in worlds] == [7.0, 0.25]


@pytest.mark.slow
def test_robot_faster_than_the_drive_plugin_turns_is_rejected_before_trials(spec, monkeypatch):
    class Slow(KinematicSimulator):
        def turn_limit_radps(self, robot):
            return DriveCommand(robot).limit_radps

    monkeypatch.setattr(simulator, "open_simulator", lambda name, **options: Slow())
    robot = spec().robot.model_copy(update={"max_angular_radps": 4.0})
    fast = spec().model_copy(update={"robot": robot})
    with pytest.raises(SpecError, match=r"max_angular_radps is 4; .* less than 3\.142 rad/s"):
        simulator.start_simulator(bed_of(fast, read_body(fast)))


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ({"points": "no_{number}.npy"}, "no_0.npy cannot be read: No such file"),
        ({"points": "world_{number}.world"}, "cannot be read"),
        ({"match": "(medium)"}, "\\(medium\\).*world_0\\.world"),
    ],
)
def test_missing_published_number_is_rejected_with_the_file_name(spec, source, complaint):
    with pytest.raises(SpecError, match=complaint):
        records(spec(files=["world_0.world"], published={"figure": source}))


def test_published_numbers_are_columns_of_the_results_and_must_not_change(spec, run, directory):
    published = {"path_m": {"points": "path_{number}.npy"}, "kind": {"match": "lib(easy|hard)"}}
    chosen = spec(files=["world_0.world", "world_12.world"], published=published)
    results = run(spec=chosen).results
    rows = list(csv.DictReader(io.StringIO(to_csv(results))))
    assert [row["world_kind"] for row in rows] == ["easy", "easy", "hard", "hard"]
    assert {float(row["world_path_m"]) for row in rows} == {results.worlds[0].published_path_m}
    assert BuiltinCampaignSpec.model_validate(chosen.model_dump()) == chosen
    np.save(directory / "path_12.npy", np.array([[0, 0], [30, 0]]))
    with pytest.raises(ResultsError, match=r"worlds\.published.* 60\.0"):
        run(spec=chosen)
