"""The reactions of people to the robot, and their keys."""

import math

import numpy as np
import pytest
import shapely
from people_scenes import ROBOT_RADIUS_M, actors_of, created, loaded, poses, spot

from gz_testauto.base.errors import SpecError
from gz_testauto.base.pose import Pose2D
from gz_testauto.extras.people.reactions import DEFAULTS, HALF_VIEW_RAD, KINDS, ReactionSpec, sees
from gz_testauto.spec.actors import ActorSpec

REGION = "region: {rectangle: {x_m: [-9, 9], y_m: [-9, 9]}}"


def walk(tmp_path, reaction, start, goal, duration_s, robot_mps=0.0, obstacles=None, more=""):
    """Return the poses of a person that walks to a point, and of the robot."""
    keys = f"{spot(*start)}, speed_mps: 1.2, reaction: {reaction}{more}"
    actors = created([f"{{name: p, behavior: pedestrian, {keys}}}"], obstacles=obstacles)
    (person,) = actors
    person._region = shapely.Point(*goal).buffer(0.01)
    simulation = loaded(tmp_path, actors)
    x_m, y_m = goal[0] - start[0], goal[1] - start[1]
    state = simulation.snapshot().models["p"]
    turned = Pose2D(*start, math.atan2(y_m, x_m)).to_pose(0.02)
    simulation.set_states({"p": type(state)(turned)})
    found = poses(simulation, ["p", "robot"], duration_s, robot_mps)
    return found[:, 0], found[:, 1]


def distances(person, robot):
    return np.hypot(*(person - robot)[:, :2].T)


def bearing(person, robot):
    """Return the angle (rad) between a person's heading and the robot."""
    x_m, y_m = (robot - person)[:2]
    return abs((math.atan2(y_m, x_m) - person[2] + math.pi) % (2 * math.pi) - math.pi)


def test_person_without_new_keys_moves_as_social_force(tmp_path):
    keys = f"{REGION}, count: 4, speed_mps: [0.8, 1.4], pause_s: 1, yield_distance_m: 0.5"
    found = []
    for behavior in ("pedestrian", "social_force"):
        actors = created([f"{{name: p, behavior: {behavior}, {keys}}}"])
        names = [actor.name for actor in actors]
        found.append(poses(loaded(tmp_path, actors), names, 6.0))
    assert found[0].tobytes() == found[1].tobytes()


def test_impassive_person_does_not_avoid_the_robot(tmp_path):
    regular, _ = walk(tmp_path, "regular", (-4.0, 0.9), (4.0, 0.9), 5.0)
    impassive, _ = walk(tmp_path, "impassive", (-4.0, 0.9), (4.0, 0.9), 5.0)
    assert abs(impassive[:, 1] - 0.9).max() < 1e-3
    assert abs(regular[:, 1] - 0.9).max() > 0.05


@pytest.mark.parametrize(("reaction", "stops"), [("regular", True), ("impassive", False)])
def test_impassive_person_does_not_yield_to_the_robot(tmp_path, reaction, stops):
    yields = ", yield_distance_m: 1.5"
    person, _ = walk(tmp_path, reaction, (-4.0, 0.9), (4.0, 0.9), 4.0, more=yields)
    assert bool(person[-1, 0] < -1.0) is stops


def test_surprised_person_stops_and_looks_at_the_robot_for_a_time(tmp_path):
    reaction = "{kind: surprised, distance_m: 4, duration_s: 3}"
    person, robot = walk(tmp_path, reaction, (-7.0, 2.0), (7.0, 2.0), 14.0)
    away = distances(person, robot)
    stopped = np.flatnonzero(np.hypot(*np.diff(person[:, :2], axis=0).T) < 1e-9)
    assert len(stopped) == 30
    assert away[stopped[0]] == pytest.approx(4.0, abs=0.13)
    assert bearing(person[stopped[-1]], robot[stopped[-1]]) < 1e-3
    assert person[-1, 0] > 4.0


def test_path_continues_after_a_long_reaction(tmp_path):
    """The path of 8 m has a limit of 11 s, which does not include the 12 s of the reaction."""
    reaction = "{kind: surprised, distance_m: 4, duration_s: 12}"
    person, _ = walk(tmp_path, reaction, (-4.0, 1.5), (4.0, 1.5), 14.0)
    headings = np.diff(person[125:, :2], axis=0)
    assert (headings[:, 0] > 0.0).all()


def test_curious_person_approaches_and_stops_near_the_robot(tmp_path):
    person, robot = walk(tmp_path, "curious", (-6.0, 3.0), (6.0, 8.0), 20.0)
    away = distances(person, robot)
    assert away[-1] == pytest.approx(1.5, abs=0.05)
    speeds = np.hypot(*np.diff(person[:, :2], axis=0).T) / 0.1
    # the desired speed is 1.8 m/s at 10 m and proportional to the distance
    assert speeds[40] == pytest.approx(0.18 * away[40], rel=0.1)
    assert bearing(person[-1], robot[-1]) < 1e-3


def test_curious_person_keeps_a_gap_to_a_large_robot(tmp_path):
    reaction = "{kind: curious, stop_distance_m: 0.2}"
    person, robot = walk(tmp_path, reaction, (-4.0, 1.0), (4.0, 1.0), 14.0)
    assert distances(person, robot)[-1] == pytest.approx(ROBOT_RADIUS_M + 0.25 + 0.3, abs=0.1)


def test_scared_person_keeps_a_larger_distance(tmp_path):
    start, goal = (-5.0, 0.5), (5.0, 0.5)
    regular = distances(*walk(tmp_path, "regular", start, goal, 12.0))
    scared = distances(*walk(tmp_path, "scared", start, goal, 12.0))
    assert scared.min() > 2.0 > regular.min()


def test_threatening_person_stays_ahead_of_the_robot(tmp_path):
    person, robot = walk(tmp_path, "threatening", (4.0, 1.5), (-6.0, 1.5), 12.0, robot_mps=0.4)
    late = slice(80, None)
    away = distances(person, robot)
    ahead = np.array([np.cos(robot[:, 2]), np.sin(robot[:, 2])]).T
    along = ((person - robot)[:, :2] * ahead).sum(axis=1)
    assert along[late] == pytest.approx(away[late], abs=0.05)
    assert away[late].min() > ROBOT_RADIUS_M + 0.25
    assert away[late].max() < 1.6
    assert bearing(person[-1], robot[-1]) < 0.2


def test_person_does_not_react_to_a_robot_behind_a_wall(tmp_path):
    wall = {"wall": shapely.box(-8.0, 1.0, 8.0, 1.2)}
    person, _ = walk(tmp_path, "surprised", (-5.0, 2.0), (5.0, 2.0), 5.0, obstacles=wall)
    assert person[-1, 0] > 0.0


def test_field_of_view_is_about_100_degrees_to_each_side():
    for angle_rad, seen in ((0.0, True), (HALF_VIEW_RAD - 0.01, True), (1.8, False), (3.1, False)):
        for sign in (-1.0, 1.0):
            point = (2.0 + math.cos(1.0 + sign * angle_rad), 1.0 + math.sin(1.0 + sign * angle_rad))
            assert sees((2.0, 1.0, 1.0), point) is seen


def test_shares_determine_how_often_each_reaction_is_drawn():
    spec = ReactionSpec(shares={"curious": 0.5, "regular": 0.2, "scared": 0.3})
    random = np.random.default_rng(3)
    drawn = [spec.draw(random) for _ in range(2000)]
    for kind, share in (("curious", 0.5), ("regular", 0.2), ("scared", 0.3)):
        assert sum(one.kind == kind for one in drawn) / 2000 == pytest.approx(share, abs=0.04)
    assert {one.distance_m for one in drawn if one.kind == "curious"} == {10.0}


def test_reactions_of_an_entry_do_not_depend_on_the_number_of_actors():
    shares = "reaction: {shares: {regular: 0.5, scared: 0.5}}"
    line = f"{{name: p, behavior: pedestrian, {REGION}, {shares}, count: %d}}"
    few, many = (created([line % count], seed=4) for count in (5, 9))
    kinds = [actor.reaction.kind for actor in many]
    assert [actor.reaction.kind for actor in few] == kinds[:5]
    assert set(kinds) == {"regular", "scared"}


@pytest.mark.parametrize("kind", KINDS)
def test_each_reaction_has_its_default_parameters(kind):
    (spec,) = actors_of(f"{{name: p, behavior: pedestrian, {REGION}, reaction: {kind}}}")
    drawn = spec.reaction.draw(np.random.default_rng(0))
    assert drawn.kind == kind
    assert {key: getattr(drawn, key) for key in DEFAULTS[kind]} == DEFAULTS[kind]


@pytest.mark.parametrize("reaction", ["curious", "{shares: {regular: 0.4, scared: 0.6}}"])
def test_stored_person_is_read_as_the_same_person(reaction):
    keys = f"{REGION}, reaction: {reaction}, count: 4, group: {{size: [2, 1]}}"
    (spec,) = actors_of(f"{{name: p, behavior: pedestrian, {keys}}}")
    assert ActorSpec.model_validate_json(spec.model_dump_json()) == spec


@pytest.mark.parametrize(
    ("reaction", "words"),
    [
        ("shy", ("people.yaml:2", "reaction", '"shy"', "threatening")),
        ("{kind: shy}", ("people.yaml:2", "reaction.kind", "shy")),
        ("{kind: regular, distance_m: 2}", ("people.yaml:2", "'distance_m'", "'regular'")),
        ("{kind: scared, duration_s: 2}", ("'duration_s'", "'scared'", "distance_m, speed_mps")),
        ("{shares: {regular: 0.5, scared: 0.4}}", ("people.yaml:2", "'shares' is 0.9")),
        ("{shares: {regular: 1}, distance_m: 3}", ("'distance_m'", "'shares'")),
        ("{kind: curious, shares: {regular: 1}}", ("either 'kind' or 'shares'",)),
        ("{}", ("either 'kind' or 'shares'",)),
    ],
)
def test_invalid_reaction_is_rejected_with_its_place(reaction, words):
    with pytest.raises(SpecError) as raised:
        actors_of(f"{{name: p, behavior: pedestrian, {REGION}, reaction: {reaction}}}")
    assert all(word in str(raised.value) for word in words), str(raised.value)
