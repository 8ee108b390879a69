"""Actors of a campaign: start poses, draws, and what is refused before a trial."""

import dataclasses
import re
from pathlib import Path
from typing import List

import numpy as np
import pytest
import shapely
from typing_extensions import Literal

from gz_testauto.actors.actor import Actor
from gz_testauto.actors.creation import ActorPlacementArea, ObstacleOutlines, create_actors
from gz_testauto.base.errors import PlacementError, SpecError
from gz_testauto.base.pose import Pose2D
from gz_testauto.spec.actors import BEHAVIORS, ActorSpec
from gz_testauto.spec.distributions import Fixed, PositiveDistribution
from gz_testauto.spec.loader import parse
from gz_testauto.spec.model import PoseSpec, Spec

WALL = shapely.box(2.0, -5.0, 2.2, 5.0)
GROUND = ActorPlacementArea(ObstacleOutlines({"wall": WALL}), Pose2D(0.0, 0.0), 0.6)


class Actors(Spec):
    actors: List[ActorSpec]


def actors(*lines):
    text = "actors:\n" + "\n".join(f"  - {line}" for line in lines)
    return parse(text, Actors, Path("actors.yaml")).actors


class Spin(Actor):
    def __init__(self, name, tags=(), rate_radps: float = 1.0):
        super().__init__(name, tags)
        self.rate_radps = rate_radps

    def act(self, context):
        self.set_twist((0.0, 0.0, 0.0), (0.0, 0.0, self.rate_radps))


class SpinSpec(ActorSpec):
    behavior: Literal["spin"]
    start: PoseSpec
    rate_radps: PositiveDistribution = Fixed(value=1.0)

    def create(self, new):
        return Spin(new.name, self.tags, new.draw(self.rate_radps)), self.start.pose


@pytest.fixture
def registered(monkeypatch):
    """Registers an actor type, as another package does, until the end of the test."""
    monkeypatch.setattr(BEHAVIORS, "_loaders", dict(BEHAVIORS._loaders))
    return BEHAVIORS.register


def test_actor_type_of_another_package_has_its_own_keys(registered):
    registered("spin", SpinSpec)
    line = "{name: top, behavior: spin, start: {x_m: -4, y_m: 1}, rate_radps: [0.5, 2.0]}"
    (top,) = create_actors(actors(line), 5, 0, 0, GROUND)
    assert isinstance(top, Spin) and 0.5 <= top.rate_radps <= 2.0
    assert starts([top]) == {"top": (-4.0, 1.0)}
    says = "actors.yaml:2: actors[0]: unknown key 'rate_rdps'; did you mean 'rate_radps'"
    with pytest.raises(SpecError, match=re.escape(says)):
        actors(line.replace("rate_radps", "rate_rdps"))
    with pytest.raises(SpecError, match=re.escape("actors[0].rate_radps is 0; it must be > 0")):
        actors(line.replace("[0.5, 2.0]", "0"))


def test_actor_class_of_another_package_has_the_parameters_of_its_constructor(registered):
    registered("spin", Spin)
    line = "{name: top, behavior: spin, start: {x_m: -4, y_m: 1}, parameters: {rate_radps: 2.0}}"
    (top,) = create_actors(actors(line), 5, 0, 0, GROUND)
    assert top.rate_radps == 2.0
    (wrong,) = (actors(line.replace("2.0", "fast")),)
    with pytest.raises(SpecError, match="rate_radps is 'fast'; it must be a valid number"):
        create_actors(wrong, 5, 0, 0, GROUND)


WALKERS = (
    "{name: walker, behavior: wander, count: 8, speed_mps: [0.5, 1.5], "
    "region: {rectangle: {x_m: [-6, 6], y_m: [-6, 6]}}}"
)
GUARD = "{name: guard, behavior: patrol, waypoints_m: [[-4, -4], [-4, 4]], count: 2}"


def starts(created):
    return {model.name: model.pose.position[:2] for actor in created for model in actor.models}


def test_actors_of_an_entry_with_count_have_its_name_as_a_tag():
    region = "{rectangle: {x_m: [-9, -2], y_m: [-4, 4]}}"
    roam = f"{{name: roam, behavior: wander, count: 2, tags: [person], region: {region}}}"
    single = "{name: single, behavior: script, waypoints_m: [[-9, 6], [9, 6]]}"
    created_actors = create_actors(actors(roam, single), 1, 0, 0, GROUND)
    tags = {actor.name: sorted(actor.tags) for actor in created_actors}
    assert tags == {"roam_0": ["person", "roam"], "roam_1": ["person", "roam"], "single": []}


def test_walkers_start_at_free_points_away_from_the_robot_and_each_other():
    for world in range(20):
        places = np.array(
            list(starts(create_actors(actors(WALKERS), 5, world, 0, GROUND)).values())
        )
        assert np.abs(places).max() <= 6.0
        assert np.hypot(*places.T).min() >= 0.6 + 0.25 + 1.5
        assert min(WALL.distance(shapely.Point(*place)) for place in places) > 0.25
        distances = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1))
        assert distances[~np.eye(8, dtype=bool)].min() >= 0.6


def test_walkers_start_away_from_all_robots():
    ground = dataclasses.replace(GROUND, companions=((Pose2D(-3.0, 3.0), 0.4),))
    for world in range(20):
        places = np.array(
            list(starts(create_actors(actors(WALKERS), 5, world, 0, ground)).values())
        )
        assert np.hypot(*(places - (-3.0, 3.0)).T).min() >= 0.4 + 0.25 + 1.5


def test_draws_are_reproducible_and_differ_between_worlds_and_repetitions():
    def drawn(world, repetition):
        created = create_actors(actors(WALKERS), 5, world, repetition, GROUND)
        speeds = [actor.speed_mps for actor in created]
        return (*starts(created).items(), *speeds)

    assert drawn(0, 0) == drawn(0, 0)
    assert len({drawn(world, repetition) for world in range(3) for repetition in range(3)}) == 9


def test_additional_entry_does_not_change_the_draws_of_previous_entries():
    alone, both = (
        create_actors(actors(*lines), 5, 0, 0, GROUND) for lines in ([WALKERS], [WALKERS, GUARD])
    )
    first, second = starts(alone), starts(both)
    assert {name: second[name] for name in first} == first


def test_starts_of_several_patrols_are_spread_along_the_path():
    assert starts(create_actors(actors(GUARD), 5, 0, 0, GROUND)) == {
        "guard_0": (-4.0, -4.0),
        "guard_1": (-4.0, 4.0),
    }


def test_full_region_is_reported_with_a_remedy():
    many = WALKERS.replace("count: 8", "count: 200").replace("[-6, 6]", "[-4, 4]")
    with pytest.raises(PlacementError, match=r"'walker_\d+' has no free start .* region"):
        create_actors(actors(many), 5, 0, 0, GROUND)


def test_path_through_an_obstacle_is_rejected():
    through = GUARD.replace("[-4, 4]", "[6, 4]")
    with pytest.raises(PlacementError, match=r"'guard_0': .* obstacle wall"):
        create_actors(actors(through), 5, 0, 0, GROUND)


def test_unknown_behavior_is_rejected_with_its_name():
    line = "{name: x, behavior: wandr, start: {x_m: 0, y_m: 5}}"
    with pytest.raises(SpecError, match="unknown behavior 'wandr'; did you mean 'wander'"):
        create_actors(actors(line), 5, 0, 0, GROUND)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{name: x}", "actors.yaml:2: actors[0] has no behavior; add patrol, wander"),
        (
            "{name: x, behavior: wander}",
            "actors.yaml:2: actors[0].region is missing",
        ),
        (
            "{name: x, behavior: patrol, waypoints_m: [[0, 0]]}",
            "actors[0].waypoints_m has 1 entries, too few; at least 2",
        ),
        (
            "{name: x, behavior: cross, start: {x_m: 0, y_m: 0}, goal_m: [1, 1], count: 2}",
            "x has count 2",
        ),
        (GUARD.replace("count: 2", "speed_mps: 0"), "speed_mps is 0; it must be > 0"),
        (GUARD.replace("count: 2", "sped_mps: 1"), "unknown key 'sped_mps'; did you mean"),
        (GUARD.replace("name: guard", "name: 'a b'"), 'name is "a b"; it must match'),
        (GUARD.replace("count: 2", "model: nowhere.sdf"), "file not found"),
    ],
)
def test_invalid_entry_is_rejected_with_its_line(line, message):
    with pytest.raises(SpecError, match=re.escape(message)):
        actors(line)


def test_free_path_is_checked_with_the_size_of_a_user_model(tmp_path):
    path = tmp_path / "cart.sdf"
    path.write_text(
        '<sdf version="1.6"><model name="cart"><link name="l"><collision name="c"><geometry><box>'
        "<size>3 4 1</size></box></geometry></collision></link></model></sdf>"
    )
    narrow = f"{{name: cart, behavior: patrol, waypoints_m: [[0, -4], [0, 4]], model: {path}}}"
    with pytest.raises(PlacementError, match=r"'cart': .* obstacle wall"):
        create_actors(actors(narrow), 5, 0, 0, GROUND)
    wide = narrow.replace("[0, -4], [0, 4]", "[-2, -4], [-2, 4]")
    assert starts(create_actors(actors(wide), 5, 0, 0, GROUND)) == {"cart": (-2.0, -4.0)}


def test_scripts_are_shifted_by_their_draws_and_must_be_free_of_obstacles():
    script = (
        "{name: w, behavior: script, waypoints_m: [[-4, 0], [-4, 2]], shift_x_m: [-1, 1], "
        "speed_mps: [0.5, 1.0], start_s: [0, 2]}"
    )
    xs = [starts(create_actors(actors(script), 5, world, 0, GROUND))["w"][0] for world in range(20)]
    assert -5.0 <= min(xs) < -4.5 and -3.5 < max(xs) <= -3.0
    again = [
        starts(create_actors(actors(script), 5, world, 0, GROUND))["w"][0] for world in range(20)
    ]
    assert xs == again
    with pytest.raises(PlacementError, match="obstacle wall"):
        create_actors(actors(script.replace("-4", "1.9")), 5, 0, 0, GROUND)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("script, waypoints_m: [[0, 0], [0, 0]]", "with the same position"),
        ("script, waypoints_m: [[0, 0], [1, 0]], repeat: loop", "at least three waypoints"),
        ("script, waypoints_m: [[0, 0], [1, 0]], speeds_mps: [1, 2]", "1 legs need 1"),
    ],
)
def test_invalid_script_is_rejected_with_a_remedy(line, message):
    with pytest.raises(SpecError, match=message):
        actors(f"{{name: w, behavior: {line}}}")


def test_swept_area_is_that_of_a_leaf_or_of_a_body_along_a_path():
    door, walker = actors(
        "{name: d, behavior: door, pose: {x_m: 0, y_m: 0}, size_m: [1.0, 0.2, 2.0]}",
        "{name: w, behavior: patrol, waypoints_m: [[0, 0], [2, 0]], body: {radius_m: 0.5}}",
    )
    assert door.swept_area.bounds == pytest.approx((-0.5, -0.1, 1.5, 0.1))
    assert walker.swept_area.bounds == pytest.approx((-0.5, -0.5, 2.5, 0.5))
