"""Groups of people: formations and forces known on paper, and their motion."""

import itertools
import math

import numpy as np
import pytest
import shapely
from people_scenes import PERIOD_S, actors_of, created, loaded, poses, walked

from gz_testauto.base.errors import PlacementError, SpecError
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.extras.people.groups import GroupSpec, formation, group_force
from gz_testauto.extras.people.pedestrian import PedestrianSpec
from gz_testauto.results.inputs import modules_of
from gz_testauto.simulators import open_simulator

FIELD = "region: {rectangle: {x_m: [-30, 30], y_m: [-30, 30]}}"
AHEAD = np.array([1.0, 0.0])
FAR = Pose2D(-40.0, -40.0)


def people(count, group, region=FIELD, keys=""):
    return f"{{name: p, behavior: pedestrian, count: {count}, {region}, group: {group}{keys}}}"


def test_sizes_of_groups_are_repeated_and_the_last_group_has_the_rest():
    names = [f"p_{index}" for index in range(8)]
    assert [len(part) for part in GroupSpec(size=3).parts(names)] == [3, 3, 2]
    parts = GroupSpec(size=(2, 1)).parts(names)
    assert [len(part) for part in parts] == [2, 1, 2, 1, 2]
    assert sum(parts, ()) == tuple(names)


def test_people_who_walk_start_side_by_side():
    starts = formation(Pose2D(1.0, 2.0, math.pi / 2), 3, 0.25, talking=False)
    places = np.array([one[:2] for one in starts])
    assert places == pytest.approx(np.array([(1.85, 2.0), (1.0, 2.0), (0.15, 2.0)]), abs=1e-12)
    assert {one.yaw_rad for one in starts} == {math.pi / 2}


@pytest.mark.parametrize(("count", "radius_m"), [(2, 0.5), (3, 1 / math.sqrt(3)), (4, 0.5**0.5)])
def test_people_who_talk_are_on_a_circle_and_face_its_center(count, radius_m):
    for x_m, y_m, yaw_rad in formation(Pose2D(1.0, 2.0, 0.3), count, 0.25, talking=True):
        assert math.hypot(x_m - 1.0, y_m - 2.0) == pytest.approx(radius_m)
        ahead = (x_m + radius_m * math.cos(yaw_rad), y_m + radius_m * math.sin(yaw_rad))
        assert ahead == pytest.approx((1.0, 2.0))


def test_large_people_start_at_a_larger_distance():
    first, second = formation(Pose2D(0.0, 0.0), 2, 0.6, talking=False)
    assert first.distance_to(*second[:2]) == pytest.approx(1.4)


@pytest.mark.parametrize(
    ("others", "force"),
    [
        ([(0.0, 0.9)], (0.0, 0.0)),  # at the side, at a distance from 0.8 to 1 m
        ([(0.0, 0.7)], (0.0, -1.0)),  # too near: β3
        ([(0.0, 0.75)], (0.0, -0.5)),  # a little too near
        ([(0.0, 1.1)], (0.0, 1.5)),  # the center is 0.05 m too far
        ([(0.0, 1.2)], (0.0, 3.0)),  # the center is farther than (2 - 1) / 2 m: β2
        ([(-0.9, 0.0)], (-4.0 * math.pi / 2 * 1.5, 0.0)),  # behind: β1 · 90° · velocity
        ([(-0.6, 0.6)], (-4.0 * math.pi / 4 * 1.5, 0.0)),
        ([(0.9, 0.0)], (0.0, 0.0)),  # ahead
        ([(0.0, 0.9), (0.0, 1.8)], (0.0, 0.0)),  # the center at 0.9 m; the limit is 1 m
        ([(0.0, 1.0), (0.0, 2.3)], (0.0, 3.0)),  # the center at 1.1 m
        ([], (0.0, 0.0)),
        ([(0.0, 0.0)], (0.0, 0.0)),  # at the same position
    ],
)
def test_force_of_a_group_has_the_value_on_paper(others, force):
    others = np.array(others, dtype=float).reshape(-1, 2)
    found = group_force(np.zeros(2), others, np.array([1.5, 0.0]), AHEAD)
    assert found == pytest.approx(force, abs=1e-12)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_force_of_a_group_is_continuous(count):
    """Rounding errors of the positions do not change the force of a group in a row."""
    row = [np.array([0.0, 0.85 * (index - (count - 1) / 2)]) for index in range(count)]
    for index, here in enumerate(row):
        others = np.array(row[:index] + row[index + 1 :])
        for away in ((0.0, 0.0), (1e-9, 0.0), (-1e-9, 0.0), (0.0, 1e-9), (0.0, -1e-9)):
            exact, rounded = (
                group_force(place, others, np.array([1.3, 0.0]), AHEAD)
                for place in (here, here + away)
            )
            assert exact == pytest.approx(rounded, abs=1e-6)


@pytest.mark.slow
@pytest.mark.gazebo
def test_people_have_the_same_bits_in_both_simulators(tmp_path):
    """The robot is far away, so that only the people and their targets determine the motion."""
    crowd = "region: {rectangle: {x_m: [-20, -8], y_m: [-6, 6]}}"
    group = people(12, "{size: [1, 2, 3, 4]}", crowd, ", speed_mps: [0.9, 1.3]")
    talking = group.replace("name: p, ", "name: q, ").replace("count: 12", "count: 2")
    talking = talking.replace("[1, 2, 3, 4]", "2, talking: true")
    found = []
    for name in ("embedded", "gazebo"):
        actors = created([group, talking], start=Pose2D(90.0, 0.0))
        with open_simulator(name) as simulator:
            simulation = loaded(tmp_path, actors, Pose2D(90.0, 0.0), simulator)
            found.append(poses(simulation, [actor.name for actor in actors], 15.0))
    assert found[0].tobytes() == found[1].tobytes()


def test_walking_group_keeps_the_published_distance_and_slows_with_its_size():
    speeds = {}
    for count in (1, 3):
        keys = ", speed_mps: 1.3, min_robot_gap_m: 3"
        actors = created([people(count, f"{{size: {count}}}", keys=keys)], start=FAR)
        found = walked(actors, 60.0)[50:]
        steps_m = np.hypot(*np.diff(found.mean(axis=1), axis=0).T)
        speeds[count] = np.median(steps_m) / PERIOD_S
        if count == 3:
            offsets = found[:, :, None] - found[:, None]
            nearest_m = np.sort(np.hypot(*np.moveaxis(offsets, 3, 0)))[:, :, 1]
            assert 0.75 < np.median(nearest_m) < 1.0 and np.percentile(nearest_m, 99) < 1.2
    # Moussaïd et al. 2010: 0.04 m/s (low density) to 0.08 m/s (moderate density) per person
    assert 0.04 <= (speeds[1] - speeds[3]) / 2 <= 0.08


@pytest.mark.parametrize("talking", [False, True])
def test_members_repel_each_other_below_the_distance_of_a_group(talking):
    """The social force, 3 m/s² at contact at 0.5 m and 0.625 of it at the side, acts fully below
    0.7 m and not above 0.8 m."""
    group = f"{{size: 2, talking: {str(talking).lower()}}}"
    first = created([people(2, group)], start=FAR)[0]
    for apart_m, ramp in ((0.85, 0.0), (0.75, 0.5), (0.6, 1.0)):
        first.pose = Pose((0.0, 0.0, 0.02))
        first.group.positions = [("p_0", np.zeros(2)), ("p_1", np.array([0.0, apart_m]))]
        strength = ramp * 0.625 * 3.0 * math.exp((0.5 - apart_m) / 0.2)
        assert first._repulsion_by_members(AHEAD) == pytest.approx((0.0, -strength), abs=1e-12)


@pytest.mark.slow
def test_members_of_groups_do_not_overlap():
    region = "region: {rectangle: {x_m: [-8, 8], y_m: [-8, 8]}}"
    for seed in range(2):
        actors = created([people(12, "{size: [2, 3, 4, 3]}", region)], FAR, seed)
        found = walked(actors, 30.0)
        for first, second in itertools.combinations(range(12), 2):
            if actors[first].group is actors[second].group:
                apart_m = np.hypot(*(found[:, first] - found[:, second]).T)
                assert apart_m.min() > 0.5


def test_group_that_talks_stays_and_faces_its_center(tmp_path):
    actors = created([people(3, "{size: 3, talking: true}", keys=", min_robot_gap_m: 3")])
    names = [actor.name for actor in actors]
    found = poses(loaded(tmp_path, actors), names, 6.0)
    assert np.abs(found[-1, :, :2] - found[0, :, :2]).max() < 0.02
    center = found[-1, :, :2].mean(axis=0)
    for x_m, y_m, yaw_rad in found[-1]:
        assert math.cos(yaw_rad - math.atan2(center[1] - y_m, center[0] - x_m)) > 0.99


def test_members_of_a_group_have_the_same_speed_reaction_and_group():
    shares = ", reaction: {shares: {scared: 0.5, curious: 0.5}}, speed_mps: [0.5, 1.5]"
    actors = created([people(12, "{size: 3}", keys=shares)])
    for first in range(0, 12, 3):
        group = actors[first : first + 3]
        assert len({(id(one.group), one.reaction, one.speed_mps) for one in group}) == 1
    assert len({actor.speed_mps for actor in actors}) == 4
    assert {actor.reaction.kind for actor in actors} == {"scared", "curious"}


def test_group_waits_for_a_member_that_stops(tmp_path):
    keys = ", speed_mps: 1.2, reaction: {kind: surprised, distance_m: 3, duration_s: 60}"
    actors = created([people(2, "{size: 2}", keys=keys)])
    first, second = actors
    simulation = loaded(tmp_path, actors)
    state = type(simulation.snapshot().models["p_0"])
    placed = {"p_0": Pose2D(-2.0, 2.0, 0.0), "p_1": Pose2D(-2.0, 2.8, 0.0)}
    simulation.set_states({name: state(pose.to_pose(0.02)) for name, pose in placed.items()})
    first.group._target, first.group._until_s = np.array([20.0, 2.4]), 60.0
    second.reaction = second.reaction._replace(distance_m=0.5)
    found = poses(simulation, ["p_0", "p_1"], 5.0)
    assert found[-1, 0, :2] == pytest.approx((-2.0, 2.0), abs=0.1)
    assert found[-1, 1, :2] == pytest.approx((-2.0, 2.8), abs=0.3)
    assert first.group._until_s == pytest.approx(60.0 + 5.0, abs=0.5)


def test_restarted_people_move_identically():
    shares = ", reaction: {shares: {scared: 0.5, curious: 0.5}}, pause_s: 0.5"
    actors = created([people(6, "{size: [3, 2, 1]}", keys=shares)], start=FAR)
    found = []
    for _ in range(2):
        for number, actor in enumerate(actors):
            actor.start(np.random.default_rng([5, number]))
        found.append(walked(actors, 8.0))
    assert found[0].tobytes() == found[1].tobytes()


def test_group_pauses_at_its_target_and_leaves_a_blocked_path():
    (leader, *_) = actors = created([people(2, "{size: 2}", keys=", pause_s: 3")], start=FAR)
    group = leader.group
    center = np.mean([start[:2] for start in group.starts], axis=0)
    group._target = center + np.array([0.6, 0.0])
    group._until_s = 60.0
    found = walked(actors, 2.0)
    assert not group.heading.any() and group._target is None
    assert np.hypot(*(found[-1] - found[-5]).mean(axis=0)) < 0.1
    group._target, group._until_s = np.array([50.0, 0.0]), -1.0
    walked(actors, 0.1)
    assert group._target is None or not np.array_equal(group._target, [50.0, 0.0])


def test_path_of_a_group_is_wide_enough_for_it():
    walls = {
        "low": shapely.box(-1.0, -30.0, 0.0, -0.5),
        "high": shapely.box(-1.0, 0.5, 0.0, 30.0),
    }
    (leader, *_) = created([people(3, "{size: 3}")], start=FAR, obstacles=walls)
    here = np.array([-3.0, 0.0])
    for _ in range(20):
        leader.group._draw_target(here, 0.0, 1.0)
        line = shapely.LineString([here, leader.group._target])
        assert leader._surroundings.distance_m(line) > 0.8 + 0.25


def test_group_without_space_is_rejected_with_its_size():
    region = "region: {circle: {x_m: 5, y_m: 0, radius_m: 0.01}}"
    walls = {"low": shapely.box(0.0, -9.0, 9.0, -0.4), "high": shapely.box(0.0, 0.4, 9.0, 9.0)}
    line = people(4, "{size: 4, talking: true}", region)
    with pytest.raises(PlacementError, match=r"actor 'p_0', 4 people.*group\.size"):
        created([line], obstacles=walls)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (people(4, "{size: 0}"), ("people.yaml:2", "group.size")),
        (people(4, "{size: 9}"), ("people.yaml:2", "group.size")),
        (people(4, "{size: []}"), ("people.yaml:2", "group.size")),
        (people(2, "{size: 3}"), ("count 2", "3 people", "increase 'count'")),
        (people(4, "{size: 2}", keys=", yield_distance_m: 1"), ("'group'", "'yield_distance_m'")),
        (people(4, "{}"), ("people.yaml:2", "group", "size")),
    ],
)
def test_invalid_group_is_rejected_with_its_place(line, words):
    with pytest.raises(SpecError) as raised:
        actors_of(line)
    assert all(word in str(raised.value) for word in words), str(raised.value)


def test_results_depend_on_the_modules_of_people_and_of_their_base_class():
    found = modules_of(PedestrianSpec)
    assert {"gz_testauto.extras.people.groups", "gz_testauto.extras.people.reactions"} <= set(found)
    assert "gz_testauto.actors.social_force" in found
