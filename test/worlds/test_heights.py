"""Shapes above a robot do not obstruct it: clearance, shortest path and solvable agree."""

import json
import math

import pytest

from gz_testauto.base.errors import PlacementError
from gz_testauto.base.pose import Pose2D
from gz_testauto.base.resources import share_directory
from gz_testauto.campaign.world_source import gather_worlds, mission_of_robot
from gz_testauto.sampling.naming import obstacle_name
from gz_testauto.sampling.site import RequiredMission
from gz_testauto.sdf.floor import obstructing_heights
from gz_testauto.sdf.robot import read_robot
from gz_testauto.sdf.scene import read_scene
from gz_testauto.spec.loader import parse
from gz_testauto.spec.obstacles import ObstacleSpec
from gz_testauto.spec.worlds import WorldsSpec
from gz_testauto.trial.clearance import ObstacleField, footprint_at
from gz_testauto.trial.testbed import read_body, robot_limits
from gz_testauto.worlds.multiply import multiply, required_mission
from gz_testauto.worlds.source import Missions

LOW, TALL = (0.0, 0.3), (0.0, 1.8)
BAR = """<sdf version="1.6"><world name="w"><model name="{name}"><static>1</static>
<pose>5 0 {height} 0 0 0</pose><link name="l"><collision name="c"><geometry>
<box><size>0.2 8 0.2</size></box></geometry></collision></link></model></world></sdf>"""

BALL = """
obstacles: [{type: sphere, count: 1, x_m: 5, y_m: 0, radius_m: 1}]
mission: {start: [0, 0], goal: [10, 0], footprint_m: [[0.2, 0.2], [-0.2, 0.2], [-0.2, -0.2]]}
"""


def spec_of(text):
    return parse(text, ObstacleSpec, "obstacles.yaml")


@pytest.fixture
def campaign(smoke, tmp_path):
    """A mission of 10 m under a bar at 1.5 m, for a robot with these heights."""

    def make(height_m, name="bar"):
        directory = tmp_path / "worlds"
        directory.mkdir(exist_ok=True)
        (directory / "bar.world").write_text(BAR.format(name=name, height=1.5))
        robot = smoke.robot.model_copy(
            update={
                "height_m": height_m,
                "start": smoke.robot.start.model_copy(update={"x_m": 0.0, "y_m": 0.0}),
            }
        )
        goal = smoke.goal.model_copy(update={"x_m": 10.0, "y_m": 0.0})
        worlds = WorldsSpec.model_validate({"directory": directory})
        return smoke.model_copy(update={"robot": robot, "goal": goal, "worlds": worlds})

    return make


@pytest.mark.parametrize("name", ["bar", obstacle_name("bar", 0)])
def test_shortest_path_passes_below_a_shape_above_the_robot(campaign, name):
    spec = campaign(LOW, name)
    robot = read_body(spec)
    (world,) = gather_worlds(spec, robot, "nowhere")
    assert world.shortest_path_m == pytest.approx(10.0)
    field = ObstacleField(read_scene(world.path), obstructing_heights(LOW))
    under = footprint_at(robot_limits(spec, robot).footprint_m, Pose2D(5.0, 0.0, 0.0))
    assert field.nearest(under, field.initial_states).distance_m == math.inf


def test_shortest_path_of_a_higher_robot_avoids_the_shape(campaign):
    spec = campaign(TALL)
    (world,) = gather_worlds(spec, read_body(spec), "nowhere")
    assert world.shortest_path_m > 12.0


@pytest.mark.parametrize("height_m,free", [("", False), (", height_m: [0, 0.3]", True)])
def test_a_world_is_solvable_by_a_path_below_a_bar(tmp_path, height_m, free):
    gate = BAR.format(name="gate", height=1.5).replace("0.2 8 0.2", "0.2 100 0.2")
    shut = '<model name="{0}"><static>1</static><pose>5 {1} 0.5 0 0 0</pose><link name="l">'
    shut += '<collision name="c"><geometry><box><size>30 1 1</size></box></geometry></collision>'
    shut += "</link></model>"
    walls = shut.format("left", 6) + shut.format("right", -6)
    ends = (
        shut.replace("30 1 1", "1 12 1").replace("<pose>5", "<pose>{1}").replace("{1} 0.5", "0 0.5")
    )
    walls += ends.format("front", -9) + ends.format("back", 19)
    base = tmp_path / "gate.world"
    base.write_text(gate.replace("</world>", walls + "</world>"))
    spec = spec_of(
        "obstacles: [{type: box, count: 1, x_m: 8, y_m: 3, size_x_m: 0.5, size_y_m: 0.5}]\n"
        "solvable: true\n"
        "mission: {start: [0, 0], goal: [10, 0], footprint_m: [[0.2, 0.2], [-0.2, 0.2], [0, -0.2]]"
        f"{height_m}}}"
    )
    if not free:
        with pytest.raises(PlacementError, match="even without obstacles"):
            multiply(base, spec, 1, 7, tmp_path / "out")
        return
    (made,) = multiply(base, spec, 1, 7, tmp_path / "out")
    assert made.shortest_path_m == pytest.approx(10.0)


@pytest.mark.parametrize("height_m", [(0.0, 0.3), (0.0, 1.8)])
def test_the_manifest_has_the_shortest_path_of_the_written_world(tmp_path, campaign, height_m):
    """A ball obstructs a low robot only with its part below the height of the robot."""
    base = tmp_path / "empty.world"
    base.write_text('<sdf version="1.6"><world name="w"></world></sdf>')
    mission = RequiredMission((0.0, 0.0), (10.0, 0.0), 0.3, obstructing_heights(height_m))
    (made,) = multiply(base, spec_of(BALL), 1, 7, tmp_path / "out", mission=mission)
    high = height_m[1]
    reach = 0.3 + (1.0 if high > 1.0 else math.sqrt(1.0 - (1.0 - high) ** 2))
    tangent = math.sqrt(25 - reach**2)
    around = 2 * tangent + reach * 2 * math.asin(reach / 5)
    assert made.shortest_path_m == pytest.approx(around, rel=2e-3)


def test_shortest_paths_for_other_heights_are_computed_again(tmp_path, campaign):
    spec = campaign(LOW)
    directory = spec.worlds.directory
    robot = read_body(spec)
    mission = mission_of_robot(spec, robot, Missions(spec).of("bar"))
    text = "obstacles: [{type: box, count: 1, x_m: 8, y_m: 3}]"
    multiply(directory / "bar.world", spec_of(text), 1, 7, tmp_path / "out", mission=mission)
    manifest = tmp_path / "out" / "worlds.json"
    data = json.loads(manifest.read_text())
    assert data["inputs"]["mission"]["heights_m"] == [0.02, 0.3]
    data["worlds"][0]["shortest_path_m"] = 13.28

    def path_for(heights):
        data["inputs"]["mission"] = {**data["inputs"]["mission"], "heights_m": heights}
        manifest.write_text(json.dumps(data))
        worlds = WorldsSpec.model_validate({"directory": tmp_path / "out"})
        (world,) = gather_worlds(spec.model_copy(update={"worlds": worlds}), robot, "nowhere")
        return world.shortest_path_m

    assert path_for([0.02, 0.3]) == 13.28
    assert path_for([0.02, 2.0]) == pytest.approx(10.0)


@pytest.mark.slow
def test_obstructed_heights_of_a_mission_are_those_of_its_robot():
    model = share_directory() / "models" / "wheelchair" / "model.sdf"
    mission = f"mission: {{start: [0, 0], goal: [1, 0], robot: {model}}}"
    spec = spec_of(f"obstacles: [{{type: box, count: 1, x_m: 8, y_m: 3}}]\n{mission}")
    assert required_mission(spec.mission).heights == obstructing_heights(read_robot(model).height_m)
