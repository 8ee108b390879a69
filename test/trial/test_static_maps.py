"""The bounds of static maps, the paths on them, and the error if no path exists."""

import pickle

import pytest

from gz_testauto.base.errors import SpecError
from gz_testauto.sdf.scene import read_scene
from gz_testauto.spec.campaign import GlobalPlanSpec
from gz_testauto.spec.model import PoseSpec
from gz_testauto.spec.obstacles import ObstacleSpec
from gz_testauto.spec.road import RoadSpec
from gz_testauto.trial.static_maps import StaticMaps
from gz_testauto.trial.testbed import read_body, robot_limits
from gz_testauto.worlds.record import WorldRecord
from gz_testauto.worlds.source import Missions
from gz_testauto.worlds.static_map import map_of


def box(name, x, y, size):
    return (
        f'<model name="{name}"><static>1</static><pose>{x} {y} 0.5 0 0 0</pose><link name="l">'
        f'<collision name="c"><geometry><box><size>{size} 1</size></box></geometry></collision>'
        "</link></model>"
    )


@pytest.fixture
def known(smoke, tmp_path):
    """Return the static map of a world with these models, start and goal, and the world."""

    def make(models, start, goal, obstacles=None, via=(), **changes):
        path = tmp_path / "given.world"
        path.write_text(f'<sdf version="1.6"><world name="w">{models}</world></sdf>')
        start = smoke.robot.start.model_copy(update=dict(zip(("x_m", "y_m"), start)))
        before = [PoseSpec(x_m=x, y_m=y) for x, y in via]
        goal = smoke.goal.model_copy(update={"x_m": goal[0], "y_m": goal[1], "via": before})
        obstacles = obstacles or {
            "obstacles": [{"type": "box", "count": 1}],
            "region": {"circle": {"x_m": 0, "y_m": 0, "radius_m": 0.1}},
        }
        worlds = smoke.worlds.model_copy(
            update={"base": path, "obstacles": ObstacleSpec.model_validate(obstacles)}
        )
        robot = smoke.robot.model_copy(update={"start": start})
        parts = {"worlds": worlds, "robot": robot, "goal": goal, **changes}
        spec = smoke.model_copy(update=parts)
        model = read_body(spec)
        map_ = StaticMaps(spec, model, robot_limits(spec, model))
        return map_, WorldRecord(0, "given", path, "", None), Missions(spec).of("given")

    return make


def test_each_of_several_goals_has_a_path_on_one_map(known):
    map_, world, mission = known(WALLS, (-9, 0), (12, 1), via=[(0, 0), (-12, 3)])
    ways = map_.waypoints(world, mission)
    assert [(tuple(way[0]), tuple(way[-1])) for way in ways] == [
        ((-9, 0), (0, 0)),
        ((0, 0), (-12, 3)),
        ((-12, 3), (12, 1)),
    ]
    grid = map_.grid(map_.inputs(world, mission))
    assert grid.is_free(-12, 3)
    assert grid.is_free(12, 1)


def test_adopted_plans_are_equal_and_read_only_without_reading_the_world_again(known):
    first, world, mission = known(WALLS, (-9, 0), (12, 1))
    (expected,) = first.waypoints(world, mission)
    second, world, mission = known(WALLS, (-9, 0), (12, 1))
    second.adopt(pickle.loads(pickle.dumps(first.plans)))
    world.path.unlink()
    (waypoints,) = second.waypoints(world, mission)
    assert waypoints.tobytes() == expected.tobytes()
    assert not waypoints.flags.writeable


def test_unreachable_intermediate_goal_is_rejected_with_its_number(known):
    map_, world, mission = known(WALLS, (-9, 0), (12, 1), via=[(0, 0), (0, 2)])
    with pytest.raises(SpecError, match=r"goal 2 of 3 \(0, 2\) is 0\.00 m from model left"):
        map_.waypoints(world, mission)


WALLS = box("left", 0, 2, "10 0.2") + box("right", 0, -2, "10 0.2")


def test_start_and_goal_can_be_outside_the_bounds_of_the_models(known):
    map_, world, mission = known(WALLS, (-9, 0), (12, 1))
    (way,) = map_.waypoints(world, mission)
    assert way[0].tolist() == [-9, 0]
    assert way[-1].tolist() == [12, 1]
    grid = map_.grid(map_.inputs(world, mission))
    assert grid.is_free(-9, 0)
    assert grid.is_free(12, 1)


def test_path_between_walls_is_preferred_to_a_path_around_the_world(known):
    crate = box("crate", 0, 0.7, "1 1")  # leaves less than the margin, but room enough
    map_, world, mission = known(WALLS + crate, (-9, 0), (9, 0))
    assert abs(map_.waypoints(world, mission)[0][:, 1]).max() < 2


def test_path_leads_around_a_world_that_blocks_the_direct_path(known):
    map_, world, mission = known(box("block", 0, 0, "2 2"), (-4, 0), (4, 0))
    (way,) = map_.waypoints(world, mission)
    assert abs(way[:, 1]).max() > 1
    assert map_.grid(map_.inputs(world, mission)).is_free(*way[len(way) // 2])


@pytest.mark.parametrize(
    ("start", "goal", "outside"),
    [
        ((-4, -1), (3, 0), None),
        ((-4.1, 0), (3, 0), "robot.start"), ((0, 1.1), (3, 0), "robot.start"),
        ((-3, 0), (4.1, 0), "goal"), ((-3, 0), (0, -1.1), "goal"),
    ],
)  # fmt: skip
def test_start_and_goal_must_be_within_the_bounds_of_the_campaign(known, start, goal, outside):
    plan = GlobalPlanSpec(bounds_m=(-4, -1, 4, 1))
    map_, world, mission = known("", start, goal, global_plan=plan)
    if outside is None:
        assert map_.waypoints(world, mission)[0][-1].tolist() == [*goal]
        assert map_.bounds(world, mission) == plan.bounds_m
        return
    with pytest.raises(SpecError, match=rf"bounds_m is .*, but {outside} .* is not inside"):
        map_.waypoints(world, mission)


def test_waypoints_on_a_road_follow_the_first_lane_of_the_route(known):
    lanes = [
        {"name": "left", "center_m": [(-9, 2), (9, 2)], "right": "right"},
        {"name": "right", "center_m": [(-9, -2), (9, -2)], "left": "left"},
    ]
    road = RoadSpec.model_validate({"lanes": lanes, "route": ["right"]})
    map_, world, mission = known("", (-5, 0), (6, 0), road=road)
    (way,) = map_.waypoints(world, mission)
    assert way[0].tolist() == [-5, -2]
    assert way[-1].tolist() == [6, -2]
    assert len(map_.lanes(mission)) == 2


def test_empty_world_has_a_static_map(known):
    map_, world, mission = known("", (-4, 0), (4, 0))
    assert abs(map_.waypoints(world, mission)[0][:, 1]).max() == 0
    assert not map_.grid(map_.inputs(world, mission)).occupied.any()


def test_map_contains_the_regions_of_random_obstacles(known):
    groups = [
        {"type": "box", "count": 1, "region": {"circle": {"x_m": 30, "y_m": 0, "radius_m": 2}}},
        {"type": "sphere", "count": 1, "x_m": 0, "y_m": {"choice": [-40, 5]}},
    ]
    map_, world, mission = known(WALLS, (-3, 0), (3, 0), {"obstacles": groups})
    grid = map_.grid(map_.inputs(world, mission))
    assert grid.is_free(31.9, 0)
    assert grid.is_free(0, -40)


def test_map_contains_the_band_of_random_obstacles_along_the_path(known):
    groups = [{"type": "box", "count": 1, "region": {"along_path": {"width_m": 8}}}]
    map_, world, mission = known("", (-3, 0), (3, 0), {"obstacles": groups}, via=[(0, 9)])
    grid = map_.grid(map_.inputs(world, mission))
    assert grid.is_free(-6.9, 0)
    assert grid.is_free(0, 12.9)
    assert grid.is_free(6.9, -3.9)


def test_static_map_has_the_bounds_of_the_models_if_they_contain_all_regions(known, smoke):
    map_, world, mission = known(WALLS, (-3, 0), (3, 0))
    assert (
        map_.grid(map_.inputs(world, mission)).bounds == map_of(read_scene(world.path), 0.1).bounds
    )
    spec = smoke.model_copy()
    model = read_body(spec)
    map_ = StaticMaps(spec, model, robot_limits(spec, model))
    resolution = spec.global_plan.resolution_m
    drive = map_.inputs(world, mission)
    assert map_.grid(drive).bounds == map_of(read_scene(spec.worlds.base), resolution).bounds


def closed(side):
    half = side / 2
    return "".join(
        box(f"wall_{i}", x * half, y * half, f"{0.2 if x else side} {0.2 if y else side}")
        for i, (x, y) in enumerate(((1, 0), (-1, 0), (0, 1), (0, -1)))
    )


@pytest.mark.parametrize(
    ("models", "goal", "says"),
    [
        (
            closed(6),
            (9, 0),
            r"separate .*; move robot.start or goal",
        ),
        (
            closed(20) + box("north", 0, 5.1, "0.2 9.6") + box("south", 0, -5.1, "0.2 9.6"),
            (4, 0),
            r"m wide, .*narrower.*; move .* robot's footprint",
        ),
        (
            closed(20) + box("crate", 4, 1, "1 1"),
            (4, 0.4),
            r"goal \(4, 0.4\) is 0.10 m from model crate",
        ),
    ],
)
def test_static_map_without_a_path_is_rejected_with_cause_and_remedy(known, models, goal, says):
    map_, world, mission = known(models, (-2, 0), goal)
    with pytest.raises(SpecError, match=says):
        map_.waypoints(world, mission)


@pytest.mark.parametrize(
    ("goal", "said"),
    [
        ((1e6, 0), r"goal reaches 1e\+06 m from the origin"),
        ((2000, 1000), r"more than 1e\+07 cells of 0\.1 m.*goal reaches 2e\+03 m"),
    ],
)
def test_goal_too_far_away_for_a_search_is_rejected(known, goal, said):
    map_, world, mission = known(WALLS, (-3, 0), goal)
    with pytest.raises(SpecError, match=said):
        map_.waypoints(world, mission)


def test_worlds_with_the_same_map_share_a_plan_and_others_do_not(smoke, tmp_path):
    def world(name, y):
        path = tmp_path / f"{name}.world"
        border = box("far", -6, 0, "0.5 8") + box("near", 6, 0, "0.5 8")
        models = border + box("wall", 0, y, "0.5 3")
        path.write_text(f'<sdf version="1.6"><world name="w">{models}</world></sdf>')
        return WorldRecord(0, name, path, "")

    worlds = smoke.worlds.model_copy(update={"base": None, "directory": tmp_path})
    start = smoke.robot.start.model_copy(update={"x_m": -3.0, "y_m": 0.0})
    goal = smoke.goal.model_copy(update={"x_m": 3.0, "y_m": 0.0})
    robot = smoke.robot.model_copy(update={"start": start})
    spec = smoke.model_copy(update={"worlds": worlds, "robot": robot, "goal": goal})
    body = read_body(spec)
    maps, mission = StaticMaps(spec, body, robot_limits(spec, body)), Missions(spec).of("")
    (low,), (same,), (high,) = (
        maps.waypoints(world(name, y), mission) for name, y in (("a", -1), ("b", -1), ("c", 1))
    )
    assert same is low
    assert low[:, 1].max() > 0.5 and high[:, 1].min() < -0.5
