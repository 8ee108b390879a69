"""The margin of the static map on each side, if no path leads through the world."""

import dataclasses
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import shapely

from gz_testauto.base.errors import SpecError
from gz_testauto.base.pose import Pose2D
from gz_testauto.sampling.site import OPEN_MARGIN_M
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.spec.obstacles import ObstacleSpec
from gz_testauto.trial.static_maps import MapInputs, StaticMaps
from gz_testauto.trial.testbed import read_body, robot_limits
from gz_testauto.worlds.record import WorldRecord
from gz_testauto.worlds.source import Missions

CONFIG = Path(__file__).resolve().parents[2] / "config"
QUARTERS = range(4)


def turned(x, y, quarter):
    """A point turned about the origin by quarters, counter-clockwise."""
    for _ in range(quarter):
        x, y = -y, x
    return x, y


def box(name, x, y, size_x, size_y):
    return (
        f'<model name="{name}"><static>1</static><pose>{x} {y} 0.5 0 0 0</pose><link name="l">'
        f'<collision name="c"><geometry><box><size>{size_x} {size_y} 1</size></box></geometry>'
        "</collision></link></model>"
    )


@pytest.fixture
def known(smoke, tmp_path):
    """The map of a world with these models, its world, and the limits of the robot."""

    def make(models, start, goal, **robot):
        path = tmp_path / "given.world"
        path.write_text(f'<sdf version="1.6"><world name="w">{models}</world></sdf>')
        start = smoke.robot.start.model_copy(update=dict(zip(("x_m", "y_m"), start)))
        obstacles = ObstacleSpec.model_validate(
            {
                "obstacles": [{"type": "box", "count": 1}],
                "region": {"circle": {"x_m": 0, "y_m": 0, "radius_m": 0.1}},
            }
        )
        worlds = smoke.worlds.model_copy(update={"base": path, "obstacles": obstacles})
        goal = smoke.goal.model_copy(update=dict(zip(("x_m", "y_m"), goal)))
        update = {"robot": smoke.robot.model_copy(update={"start": start, **robot})}
        spec = smoke.model_copy(update={**update, "worlds": worlds, "goal": goal})
        body = read_body(spec)
        limits = robot_limits(spec, body)
        world, mission = WorldRecord(0, "g", path, ""), Missions(spec).of("g")
        return StaticMaps(spec, body, limits), world, mission, limits

    return make


@pytest.mark.parametrize("quarter", QUARTERS)
def test_path_around_a_wall_is_the_shorter_one_on_each_side(known, smoke, quarter):
    """The wall is at y from -6 m to 2 m, so its end at 2 m is the nearer one."""
    size = (0.2, 8) if quarter % 2 == 0 else (8, 0.2)
    wall = box("wall", *turned(0, -2, quarter), *size)
    ends = turned(-3, 0, quarter), turned(3, 0, quarter)
    map_, world, mission, limits = known(wall, *ends)
    (way,) = map_.waypoints(world, mission)
    back = np.array([turned(x, y, -quarter % 4) for x, y in way])
    assert 2 < back[:, 1].max() < 4
    assert back[:, 1].min() > -1
    x_min, y_min, x_max, y_max = map_.grid(map_.inputs(world, mission)).bounds
    reach = {
        turned(1, 0, quarter): 3 + limits.circumscribed_radius_m + 0.2,
        turned(0, 1, quarter): 2 + 0.2,
        turned(-1, 0, quarter): 3 + limits.circumscribed_radius_m + 0.2,
        turned(0, -1, quarter): 6 + 0.2,
    }
    room = limits.circumscribed_radius_m + smoke.global_plan.margin_m
    sides = {(1, 0): x_max, (0, 1): y_max, (-1, 0): -x_min, (0, -1): -y_min}
    for side, found in sides.items():
        assert found == pytest.approx(reach[side] + OPEN_MARGIN_M + room, abs=0.75), side


def test_map_is_computed_once_for_equal_inputs(known):
    map_, world, mission, _ = known("", (-4, 0), (4, 0))
    first = map_.waypoints(world, mission)
    assert map_.waypoints(dataclasses.replace(world, name="again"), mission)[0] is first[0]
    assert not first[0].flags.writeable


def test_height_of_the_map_is_that_of_the_campaign_or_of_the_lidar(known, smoke):
    map_, _, _, _ = known("", (-4, 0), (4, 0), scan_height_m=0.7)
    assert map_.scan_height_m == 0.7
    map_, _, _, _ = known("", (-4, 0), (4, 0))
    assert map_.scan_height_m == read_body(smoke).lidar.mount.position[2]


def test_model_below_the_height_of_the_lidar_is_not_on_the_map(known):
    low = box("low", 0, 0, 0.2, 8)
    map_, world, mission, _ = known(low, (-3, 0), (3, 0), scan_height_m=0.99)
    assert abs(map_.waypoints(world, mission)[0][:, 1]).max() > 4
    map_, world, mission, _ = known(low, (-3, 0), (3, 0), scan_height_m=1.01)
    assert abs(map_.waypoints(world, mission)[0][:, 1]).max() == 0


def test_error_without_a_path_contains_the_nearest_model(known):
    crates = box("far", 3.9, 0, 1, 1) + box("near", 3, 0.8, 1, 1) + box("other", 3, -0.95, 1, 1)
    map_, world, mission, _ = known(crates, (-3, 0), (3, 0))
    with pytest.raises(SpecError, match=r"\(3, 0\) .* 0\.30 m .*near"):
        map_.waypoints(world, mission)


def test_messages_name_start_and_goal_poses_by_their_campaign_keys():
    start, first, last = Pose2D(0, 0), Pose2D(1, 0), Pose2D(2, 0)
    drive = MapInputs(None, start, (first, last))
    assert drive.legs == ((start, first), (first, last))
    assert [drive.named(pose) for pose in (start, first, last)] == [
        "robot.start", "goal 1 of 2", "goal 2 of 2"
    ]  # fmt: skip
    assert MapInputs(None, start, (last,)).named(last) == "goal"


@pytest.mark.slow
def test_map_of_a_stack_contains_the_areas_of_actors(tmp_path):
    spec = load(CONFIG / "own_stack_campaign.yaml", CampaignSpec)
    path = tmp_path / "given.world"
    path.write_text(f'<sdf version="1.6"><world name="w">{box("low", 0, 5, 1, 1)}</world></sdf>')
    worlds = spec.worlds.model_copy(update={"base": path, "obstacles": None})
    body = read_body(spec)

    def reach(*grounds):
        actors = tuple(SimpleNamespace(name="a", ground=ground) for ground in grounds)
        own = spec.model_copy(update={"worlds": worlds, "actors": actors})
        map_ = StaticMaps(own, body, robot_limits(own, body))
        mission = Missions(own).of("given")
        world = WorldRecord(0, "given", path, "")
        return map_.grid(map_.inputs(world, mission)).bounds

    alone = reach()
    assert reach(None, shapely.Polygon()) == alone
    wider = reach(None, shapely.box(40, 0, 41, 1))
    assert wider[2] > 41 > alone[2]
    assert wider[:2] == alone[:2]
