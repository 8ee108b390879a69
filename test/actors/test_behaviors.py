"""Actors follow their behavior, compared with values known on paper."""

import math

import numpy as np
import pytest
import shapely
from actor_scenes import person, place, run, simulated

from gz_testauto.actors.actor import Actor
from gz_testauto.actors.bodies import body_sdf, read_body
from gz_testauto.actors.creation import ActorPlacementArea, NewActor, ObstacleOutlines
from gz_testauto.actors.cross import Cross, CrossSpec
from gz_testauto.actors.door import Door, DoorSpec
from gz_testauto.actors.follow import Follow, FollowSpec
from gz_testauto.actors.patrol import Patrol, length_m, point_along
from gz_testauto.actors.wander import Wander, WanderSpec
from gz_testauto.base.errors import SpecError
from gz_testauto.base.observation import Twist2D
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.sdf.shapes import Box
from gz_testauto.simulators.interface import NamedModel

AT_ORIGIN = {"x_m": 0.0, "y_m": 0.0}


def follower(speed_mps, **keys):
    return Follow("f", FollowSpec(name="f", behavior="follow", start=AT_ORIGIN, **keys), speed_mps)


def crossing(trigger_distance_m, delay_s=0.0):
    keys = {"goal_m": (3.0, -2.0), "trigger_distance_m": trigger_distance_m}
    spec = CrossSpec(name="c", behavior="cross", start=AT_ORIGIN, **keys)
    return Cross("c", spec, 1.0, delay_s)


def door_of(**keys):
    pose = {"x_m": 2.5, "y_m": 0.0, "yaw_rad": math.pi / 2}
    return Door("d", DoorSpec(name="d", behavior="door", pose=pose, **keys), 1.0)


def positions(snapshots, name):
    return np.array([place(snapshot, name)[:2] for snapshot in snapshots])


class TestPatrol:
    def test_patrol_moves_back_and_forth_at_its_speed(self, tmp_path):
        patrol = Patrol("p", (), [(-2.0, 3.0), (1.0, 3.0)], 1.0)
        path = positions(run(simulated(tmp_path, [person("p", -2.0, 3.0)], [patrol]), 9.0), "p")
        assert path[29] == pytest.approx((1.0, 3.0), abs=1e-3)
        assert path[59] == pytest.approx((-2.0, 3.0), abs=2e-3)
        assert path[89] == pytest.approx((1.0, 3.0), abs=3e-3)

    def test_patrol_waits_at_its_waypoints(self, tmp_path):
        patrol = Patrol("p", (), [(-2.0, 3.0), (-1.0, 3.0)], 1.0, pause_s=1.0)
        path = positions(run(simulated(tmp_path, [person("p", -2.0, 3.0)], [patrol]), 2.5), "p")
        assert path[9:20] == pytest.approx(np.tile((-1.0, 3.0), (11, 1)), abs=1e-3)
        assert path[20][0] < -1.05

    def test_closed_patrol_moves_in_a_loop(self, tmp_path):
        square = [(-2.0, 3.0), (-1.0, 3.0), (-1.0, 4.0), (-2.0, 4.0)]
        patrol = Patrol("p", (), square, 1.0, closed=True)
        path = positions(run(simulated(tmp_path, [person("p", -2.0, 3.0)], [patrol]), 4.0), "p")
        assert path[[9, 19, 29, 39]] == pytest.approx(np.array([*square[1:], square[0]]), abs=3e-3)

    def test_starts_are_spread_along_the_path(self):
        points = [(0.0, 0.0), (4.0, 0.0)]
        assert length_m(points, closed=False) == 8.0
        assert point_along([(0.0, 0.0), (4.0, 0.0)], 6.0) == ((2.0, 0.0), 0)
        assert Patrol("p", (), points, 1.0, ahead_m=6.0).start_m == (2.0, 0.0)


class TestFollow:
    def test_follower_stops_at_its_distance(self, tmp_path):
        follow = follower(1.0, distance_m=2.0)
        simulation = simulated(tmp_path, [person("f", -6.0, 0.0)], [follow])
        last = run(simulation, 6.0)[-1]
        assert place(last, "f")[:2] == pytest.approx((-2.0, 0.0), abs=0.02)

    def test_follower_keeps_its_offset_from_the_target(self, tmp_path):
        follow = follower(5.0, offset_m=(-2.0, 0.0, 1.5))
        simulation = simulated(tmp_path, [person("f", -2.0, 0.0)], [follow])
        simulation.drive(Twist2D(0.8, 0.0))
        last = run(simulation, 3.0)[-1]
        assert place(last, "robot")[0] > 2.0
        behind = place(last, "robot") - place(last, "f")
        assert behind[0] == pytest.approx(2.08, abs=0.03)  # one step of the robot
        assert behind[2] == pytest.approx(-1.5, abs=0.02)


class TestCross:
    def test_actor_crosses_when_the_robot_is_near_and_stays_on_the_other_side(self, tmp_path):
        cross = crossing(3.0)
        simulation = simulated(tmp_path, [person("c", 3.0, 2.0)], [cross])
        run(simulation, 1.0)
        assert place(simulation.snapshot(), "c") == pytest.approx((3.0, 2.0, 0.02), abs=1e-6)
        simulation.drive(Twist2D(1.0, 0.0))
        run(simulation, 1.2)
        simulation.drive(Twist2D(0.0, 0.0))
        run(simulation, 5.0)
        assert place(simulation.snapshot(), "c")[:2] == pytest.approx((3.0, -2.0), abs=1e-3)

    def test_actor_waits_for_its_delay_before_it_crosses(self, tmp_path):
        cross = crossing(9.0, delay_s=0.55)
        path = positions(run(simulated(tmp_path, [person("c", 3.0, 2.0)], [cross]), 1.0), "c")
        assert path[5] == pytest.approx((3.0, 2.0), abs=1e-6)
        assert path[6] == pytest.approx((3.0, 1.9), abs=1e-3)


class TestDoor:
    def leaf(self, shift=0.0):
        sdf = body_sdf(Box((1.0, 0.08, 2.0)), 40.0, (shift, 0.0, 1.0))
        return NamedModel("d", sdf, Pose.from_rpy(2.5, 0.0, 0.02, 0, 0, math.pi / 2))

    def test_door_slides_open_for_its_target_and_closes_later(self, tmp_path):
        door = door_of(trigger="walker", trigger_distance_m=1.5, hold_open_s=0.5)
        there_and_away = Patrol("walker", (), [(2.5, 4.0), (2.5, 2.0)], 1.0)
        simulation = simulated(
            tmp_path, [self.leaf(), person("walker", 2.5, 4.0)], [door, there_and_away]
        )
        snapshots = run(simulation, 8.0)
        away = [abs(place(snapshot, "walker")[1]) for snapshot in snapshots]
        assert min(away) == pytest.approx(2.0, abs=0.01)
        assert place(snapshots[-1], "d")[:2] == pytest.approx((2.5, 0.0), abs=1e-3)
        near = door_of(trigger_distance_m=3.0, hold_open_s=0.5)
        simulation = simulated(tmp_path, [self.leaf()], [near])
        path = positions(run(simulation, 1.5), "d")
        assert path[4] == pytest.approx((2.5, 0.5), abs=1e-3)
        assert path[-1] == pytest.approx((2.5, 1.0), abs=1e-3)

    def test_door_swings_about_its_hinge(self, tmp_path):
        door = door_of(kind="swinging", trigger_distance_m=3.0, swing_rad=1.2)
        simulation = simulated(tmp_path, [self.leaf(0.5)], [door])
        for snapshot in run(simulation, 2.0):
            assert place(snapshot, "d")[:2] == pytest.approx((2.5, 0.0), abs=1e-3)
        assert snapshot.models["d"].pose.yaw_rad == pytest.approx(math.pi / 2 + 1.2, abs=1e-3)


class TestWander:
    region = shapely.box(-8, -8, 8, 8)
    wall = shapely.box(4.9, -4.0, 5.1, 4.0)

    def wander(self, name="w", **more):
        outlines = ObstacleOutlines({"wall": self.wall})
        ground = ActorPlacementArea(outlines, Pose2D(0.0, 0.0, 0.0), 0.5)
        new = NewActor(name, 0, np.random.default_rng(0), ground, ())
        region = {"rectangle": {"x_m": [-8, 8], "y_m": [-8, 8]}}
        spec = WanderSpec(name=name, behavior="wander", region=region, **more)
        return Wander(new, spec, self.region, 0.25, 1.0)

    @pytest.mark.slow
    def test_wanderer_stays_in_its_region_and_away_from_obstacles(self, tmp_path):
        path = positions(
            run(simulated(tmp_path, [person("w", 3.0, 5.0)], [self.wander()]), 60.0), "w"
        )
        assert np.abs(path).max() <= 8.0 + 1e-3
        away = [self.wall.distance(shapely.Point(*point)) for point in path]
        assert min(away) > 0.25 - 1e-3
        length = np.hypot(*np.diff(path, axis=0).T).sum()
        assert 45.0 < length <= 60.0 + 1e-2

    @pytest.mark.slow
    def test_trajectory_depends_on_the_seed(self, tmp_path):
        def trajectory(seed):
            simulation = simulated(tmp_path, [person("w", 3.0, 5.0)], [self.wander()], seed=seed)
            return positions(run(simulation, 10.0), "w").tobytes()

        assert trajectory(1) == trajectory(1)
        assert trajectory(1) != trajectory(2)

    def test_wanderer_gives_way_to_the_robot(self, tmp_path):
        wander = self.wander(yield_distance_m=1.5)
        simulation = simulated(tmp_path, [person("w", -2.5, 0.0)], [wander])
        wander._target, wander._going, wander._until_s = (3.0, 0.0), True, 100.0
        last = run(simulation, 3.0)[-1]
        assert 1.4 < place(last, "robot")[0] - place(last, "w")[0] < 2.0

    def test_wanderers_who_wait_for_each_other_move_on(self, tmp_path):
        places = {"a": (-2.0, 4.0), "b": (2.0, 4.0)}
        wanderers = [self.wander(name, yield_distance_m=1.0) for name in places]
        simulation = simulated(
            tmp_path, [person(name, *place) for name, place in places.items()], wanderers
        )
        for wanderer, (x_m, y_m) in zip(wanderers, places.values()):
            wanderer._target, wanderer._going, wanderer._until_s = (-x_m, y_m), True, 7.0
        snapshots = run(simulation, 60.0)
        for name in places:
            lengths_m = np.hypot(*np.diff(positions(snapshots, name), axis=0).T)
            assert lengths_m[20:40].sum() == 0.0  # both wait
            assert lengths_m[50:].sum() > 30.0


class Counting(Actor):
    fixed_period_s = 0.25

    def __init__(self, name, tags=()):
        super().__init__(name, tags)
        self.fixed, self.acted = [], 0

    def fixed_update(self, context):
        self.fixed.append(round(context.time_s, 6))

    def act(self, context):
        self.acted += 1
        self.set_twist((0.5, 0.0, 0.0))


class TestLife:
    def test_fixed_updates_have_their_rate_and_a_disabled_actor_stops(self, tmp_path):
        one = Counting("one")
        simulation = simulated(tmp_path, [person("one", -2.0, 2.0)], [one])
        run(simulation, 1.0)
        assert one.fixed == [0.0, 0.3, 0.5, 0.8]
        assert one.acted == 10
        one.enabled = False
        before = place(simulation.snapshot(), "one")
        last = run(simulation, 1.0)[-1]
        assert place(last, "one") == pytest.approx(before, abs=1e-6)
        assert one.acted == 10

    def test_other_actors_are_found_by_name_and_tag(self, tmp_path):
        one, two = Counting("one", ["people"]), Counting("two", ["people", "staff"])
        models = [person("one", -2.0, 2.0), person("two", -4.0, 2.0)]
        simulation = simulated(tmp_path, models, [two, one])
        simulation.step(0.1)
        assert one.context.actors == {"one": one, "two": two}
        assert one.context.tagged("people") == [one, two]
        assert one.context.names_of("staff") == ["two"]
        assert one.context.names_of("robot") == ("robot",)
        assert one.context.moving_models == ["robot", "one", "two"]
        with pytest.raises(ValueError, match="a hook named 'one' exists already"):
            simulation.add(Counting("one"))

    def test_actor_of_a_deleted_model_is_not_called(self, tmp_path):
        one = Counting("one")
        simulation = simulated(tmp_path, [person("one", -2.0, 2.0)], [one])
        run(simulation, 0.3)
        simulation.delete(["one"])
        run(simulation, 0.3)
        assert one.acted == 3

    def test_set_visuals_changes_all_visuals(self, tmp_path):
        class Blushing(Actor):
            def act(self, context):
                self.set_visuals(diffuse=(1.0, 0.0, 0.0, 1.0))

        simulation = simulated(tmp_path, [person("b", -2.0, 2.0)], [Blushing("b")])
        simulation.step(0.1)
        assert simulation.describe().visuals["b::link::visual"].diffuse == (1.0, 0.0, 0.0, 1.0)


class TestBodies:
    def test_user_model_of_an_actor_has_no_gravity(self, tmp_path):
        path = tmp_path / "cart.sdf"
        path.write_text(
            '<sdf version="1.6"><model name="cart"><static>true</static><link name="l">'
            "<inertial><mass>3</mass></inertial></link><plugin name='p' filename='x.so'/>"
            "</model></sdf>"
        )
        text = read_body(path)
        assert "<gravity>false</gravity>" in text
        assert "static" not in text
        assert "plugin" not in text

    def test_model_with_several_links_is_rejected(self, tmp_path):
        path = tmp_path / "train.sdf"
        path.write_text(
            '<sdf version="1.6"><model name="m"><link name="a"/><link name="b"/></model></sdf>'
        )
        with pytest.raises(SpecError, match=r"train\.sdf: the model has 2 links"):
            read_body(path)


def test_velocity_of_any_model_is_the_mean_over_the_last_step(tmp_path):
    class Watching(Actor):
        def act(self, context):
            self.seen = context.velocity_mps("p")
            self.own = self.linear_mps

    watching = Watching("w")
    patrol = Patrol("p", (), [(-2.0, 3.0), (4.0, 3.0)], 0.8)
    models = [person("p", -2.0, 3.0), person("w", -2.0, 5.0)]
    simulation = simulated(tmp_path, models, [watching, patrol])
    simulation.step(0.1)
    assert watching.seen == (0.0, 0.0, 0.0)
    run(simulation, 0.5)
    assert watching.seen == pytest.approx((0.8, 0.0, 0.0), abs=1e-3)
    assert watching.own == pytest.approx((0.0, 0.0, 0.0), abs=1e-6)
