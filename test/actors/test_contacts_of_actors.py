"""Actors in contact keep their plane and their timetable."""

import math

import numpy as np
import pytest
import shapely
from actor_scenes import PERIOD_S, person, simulated

from gz_testauto.actors.actor import Actor
from gz_testauto.actors.bodies import CONTACT_GROUPS, actor_body_of, in_contact_group
from gz_testauto.actors.creation import ActorPlacementArea, ObstacleOutlines, create_actors
from gz_testauto.actors.follow import FollowSpec
from gz_testauto.actors.patrol import PatrolSpec
from gz_testauto.actors.script import ScriptSpec
from gz_testauto.actors.simulation import ActorSimulation
from gz_testauto.base.errors import PlacementError, SceneError
from gz_testauto.base.observation import ModelState
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.base.resources import share_directory
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.dynamics import read_inertial
from gz_testauto.simulators import open_simulator
from gz_testauto.simulators.interface import Scene

CAR = {"size_m": [4.5, 1.8, 1.5], "mass_kg": 1200}
FAR = Pose2D(50.0, 50.0, 0.0)


def script(name, waypoints_m, **keys):
    given = {"name": name, "behavior": "script", "waypoints_m": waypoints_m, **keys}
    return ScriptSpec.model_validate(given)


def created(specs, has_bit_masks=False):
    area = ActorPlacementArea(ObstacleOutlines({}), FAR, 0.3, has_bit_masks)
    return create_actors(specs, 1, 0, 0, area)


def to_center(count):
    angles = np.arange(count) * 2 * math.pi / count
    return [
        script(f"p{number}", [[4 * math.cos(angle), 4 * math.sin(angle)], [0, 0]])
        for number, angle in enumerate(angles)
    ]


MEETINGS = {
    "head-on": [script("a", [[-2, 0], [2, 0]]), script("b", [[2, 0], [-2, 0]])],
    "overtaking": [
        script("a", [[-2, 0], [1, 0]], speed_mps=0.5),
        script("b", [[-3, 0.2], [4, 0.2]], speed_mps=1.5),
    ],
    "cars": [
        script("a", [[-4, 0], [4, 0]], body=CAR),
        script("b", [[4, 0.5], [-4, 0.5]], body=CAR),
    ],
    "pile-up of 16": to_center(CONTACT_GROUPS),
}


def run(simulator, actors, duration_s=8.0):
    models = tuple(model for actor in actors for model in actor.models)
    world = share_directory() / "worlds" / "plain.world"
    simulation = ActorSimulation(simulator.load(Scene(world, None, models=models)), actors)
    snapshots = [simulation.step(PERIOD_S) for _ in range(round(duration_s / PERIOD_S))]
    return [{model.name: one.models[model.name].pose for model in models} for one in snapshots]


@pytest.mark.parametrize(
    "name", ["embedded", pytest.param("gazebo", marks=[pytest.mark.gazebo, pytest.mark.slow])]
)
def test_actors_in_contact_keep_their_plane_and_timetable(name):
    with open_simulator(name) as simulator:
        for meeting, specs in MEETINGS.items():
            poses = run(simulator, created(specs))
            all_poses = [pose for one in poses for pose in one.values()]
            assert max(abs(pose.position[2] - 0.02) for pose in all_poses) < 1e-3, meeting
            assert max(pose.tilt_rad for pose in all_poses) < 1e-3, meeting
            for spec in specs:
                end = spec.waypoints_m[-1]
                found = next(pose for name, pose in poses[-1].items() if name == spec.name)
                assert found.position[:2] == pytest.approx(end, abs=2e-3), meeting


@pytest.mark.parametrize(
    "name", ["embedded", pytest.param("gazebo", marks=[pytest.mark.gazebo, pytest.mark.slow])]
)
def test_scripts_that_push_each_other_make_the_trial_invalid(name):
    named = r"actor 'p0' was pushed 0\.\d\d m off its timetable at \d\.\d\d s, .* actor 'p16'"
    with open_simulator(name) as simulator, pytest.raises(SceneError, match=named):
        run(simulator, created(to_center(20)))


@pytest.mark.parametrize(
    "name", ["embedded", pytest.param("gazebo", marks=[pytest.mark.gazebo, pytest.mark.slow])]
)
def test_patrols_that_push_each_other_make_the_trial_invalid(name):
    patrols = [
        PatrolSpec(name=spec.name, behavior="patrol", waypoints_m=spec.waypoints_m)
        for spec in to_center(20)
    ]
    named = r"actor 'p\d+' was pushed 0\.\d\d m off its path at \d\.\d\d s, .* actor 'p\d+'"
    with open_simulator(name) as simulator, pytest.raises(SceneError, match=named):
        run(simulator, created(patrols))


def test_sixteen_patrols_cross_without_a_contact():
    patrols = [
        PatrolSpec(name=spec.name, behavior="patrol", waypoints_m=spec.waypoints_m, pause_s=0.3)
        for spec in to_center(16)
    ]
    with open_simulator("embedded") as simulator:
        poses = run(simulator, created(patrols), 20.0)
    for patrol in patrols:
        path = shapely.LineString(patrol.waypoints_m)
        points = shapely.points([one[patrol.name].position[:2] for one in poses])
        assert shapely.distance(points, path).max() < 2e-3


def test_bit_masks_of_the_world_let_two_scripts_push_each_other():
    actors = created(MEETINGS["head-on"], has_bit_masks=True)
    with open_simulator("embedded") as simulator, pytest.raises(SceneError, match="'a' was pushed"):
        run(simulator, actors)


def test_a_wall_that_stops_a_script_keeps_the_trial_valid(tmp_path):
    """The world has a wall at x = 5 m, and the actors can touch each other."""
    actors = created(
        [script("a", [[3, 0], [7, 0]]), script("b", [[7, 4], [7, 0]], speed_mps=0.1)],
        has_bit_masks=True,
    )
    models = [model for actor in actors for model in actor.models]
    simulation = simulated(tmp_path, models, actors)
    snapshots = [simulation.step(PERIOD_S) for _ in range(60)]
    assert actors[0].touchable
    assert snapshots[-1].models["a"].pose.position[0] < 5.0


def test_only_actors_whose_paths_cross_need_different_contact_groups():
    """Sixteen pairs meet in separate places. By their numbers, both actors would have one group."""
    pairs = [
        [
            script(f"{name}{y}", [[-sign * 3, 2 * y], [sign * 3, 2 * y]])
            for name, sign in (("a", 1), ("b", -1))
        ]
        for y in range(CONTACT_GROUPS)
    ]
    actors = created([first for first, _ in pairs] + [second for _, second in pairs])
    assert not any(actor.touchable for actor in actors)
    masks = {actor.name: actor.models[0].sdf.split("bitmask>")[1] for actor in actors}
    assert all(masks[f"a{y}"] != masks[f"b{y}"] for y in range(CONTACT_GROUPS))


def test_an_actor_without_a_known_path_shares_no_contact_group_while_one_is_free():
    follower = FollowSpec(
        name="f", behavior="follow", target="robot", speed_mps=1.0, start={"x_m": 0, "y_m": -9}
    )
    scripts = [script(f"s{y}", [[-3, 2 * y], [3, 2 * y]]) for y in range(CONTACT_GROUPS)]
    actors = created([follower, *scripts])
    assert actors[0].models[0].sdf.count("bitmask>1<") == 1
    assert not any("bitmask>1<" in actor.models[0].sdf for actor in actors[1:])


def test_actors_with_overlapping_starts_are_rejected():
    with pytest.raises(PlacementError, match=r"'first' and 'second' overlap at the start"):
        created([script("first", [[0, 0], [9, 0]]), script("second", [[0, 0.4], [9, 0]])])
    beside = [script("a", [[0, 0], [9, 0]], body=CAR), script("b", [[0, 2], [9, 2]], body=CAR)]
    assert len(created(beside)) == 2


def test_bit_masks_of_the_world_or_robot_disable_contact_groups():
    actors = created(MEETINGS["head-on"], has_bit_masks=True)
    assert not any("bitmask" in actor.models[0].sdf for actor in actors)
    groups = [actor.models[0].sdf for actor in created(MEETINGS["head-on"])]
    assert ["<collide_bitmask>1<" in groups[0], "<collide_bitmask>2<" in groups[1]] == [True, True]


def test_bit_mask_of_a_model_is_kept():
    body = person("a", 0, 0).sdf.replace(
        "</collision>",
        "<surface><contact><collide_bitmask>6</collide_bitmask></contact></surface></collision>",
    )
    assert "<collide_bitmask>6<" in in_contact_group(body, 3)


def test_moment_about_the_vertical_axis_is_kept_in_a_tilted_link():
    """The link is rolled by 90 degrees, so that its y axis is vertical."""
    text = (
        '<model name="m"><link name="l"><pose>0 0 1 1.5707963267948966 0 0</pose><inertial>'
        "<mass>3</mass><pose>0.1 0.2 0.3 0 0 0</pose><inertia><ixx>1</ixx><iyy>2</iyy><izz>3</izz>"
        "<ixy>0</ixy><ixz>0</ixz><iyz>0</iyz></inertia></inertial></link></model>"
    )
    model = SdfDocument.parse(f'<sdf version="1.6">{text}</sdf>').model
    document = SdfDocument.parse(actor_body_of(model, "1.6", "m"))
    found = read_inertial(document, next(document.root.iter("link")))
    assert found.mass_kg == 3.0
    assert found.center_m == pytest.approx((0.1, 0.2, 0.3))
    assert np.diag(found.matrix) == pytest.approx([1e8, 2.0, 1e8])


class Lifted(Actor):
    """An actor that moves horizontally, and is lifted from outside after 0.5 s."""

    def act(self, context):
        self.set_twist((0.1, 0.0, 0.0))


def lifted(tmp_path, pose):
    actor = Lifted("lifted")
    simulation = simulated(tmp_path, [person("lifted", 2, 2)], [actor])
    for _ in range(5):
        simulation.step(PERIOD_S)
    x, y, _ = simulation.snapshot().models["lifted"].pose.position
    simulation.set_states({"lifted": pose(x, y)})
    return simulation


def test_lifted_actor_returns_to_its_height(tmp_path):
    simulation = lifted(tmp_path, lambda x, y: ModelState(Pose((x, y, 0.05))))
    after = [simulation.step(PERIOD_S).models["lifted"].pose.position[2] for _ in range(3)]
    assert after[-1] == pytest.approx(0.02, abs=2e-4)


@pytest.mark.parametrize(
    ("z_m", "roll_rad", "named"), [(0.5, 0.0, r"lifted by 0\.48 m"), (0.02, 0.3, r"0\.30 rad")]
)
def test_actor_off_its_plane_ends_the_trial_with_its_name(tmp_path, z_m, roll_rad, named):
    simulation = lifted(
        tmp_path, lambda x, y: ModelState(Pose.from_rpy(x, y, z_m, roll_rad, 0.0, 0.0))
    )
    with pytest.raises(SceneError, match=rf"actor 'lifted' .*{named}"):
        simulation.step(PERIOD_S)
