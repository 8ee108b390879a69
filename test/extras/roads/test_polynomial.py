"""Actors on random polynomials, like the obstacles of DynaBARN."""

from pathlib import Path
from typing import List

import numpy as np
import pytest
import shapely

from gz_testauto.actors.creation import ActorPlacementArea, ObstacleOutlines, create_actors
from gz_testauto.base.errors import SpecError
from gz_testauto.base.pose import Pose2D
from gz_testauto.extras.roads.polynomial import dynabarn_path, dynabarn_speeds
from gz_testauto.spec.actors import ActorSpec
from gz_testauto.spec.loader import parse
from gz_testauto.spec.model import Spec

WALL = shapely.box(2.0, -5.0, 2.2, 5.0)
GROUND = ActorPlacementArea(ObstacleOutlines({"wall": WALL}), Pose2D(0.0, 0.0), 0.6)


class Actors(Spec):
    actors: List[ActorSpec]


def actors(line):
    return parse(f"actors:\n  - {line}", Actors, Path("actors.yaml")).actors


@pytest.mark.parametrize("order", [1, 2, 3, 4, 6])
def test_paths_of_polynomials_cross_the_field_from_border_to_border(order):
    for seed in range(40):
        points = dynabarn_path(np.random.default_rng(seed), order)
        assert points.shape == (12, 2)
        assert np.abs(points).max() <= 10.0 + 1e-9
        steps = np.diff(points[:, 0])
        assert np.allclose(steps, steps[0])
        ends = np.abs(points[[0, -1]]).max(axis=1)
        assert ends == pytest.approx([10.0, 10.0], abs=1e-5)


def test_paths_have_both_directions_and_are_reproducible():
    paths = [dynabarn_path(np.random.default_rng(seed), 2) for seed in range(30)]
    again = [dynabarn_path(np.random.default_rng(seed), 2) for seed in range(30)]
    assert all(np.array_equal(a, b) for a, b in zip(paths, again))
    assert {bool(path[0, 0] < path[-1, 0]) for path in paths} == {True, False}


def test_speeds_of_legs_are_within_their_bounds_around_the_mean():
    speeds = dynabarn_speeds(np.random.default_rng(1), 2000, 1.0, 0.4, (0.5, 1.5))
    assert ((speeds >= 0.5) & (speeds < 1.5)).all()
    assert speeds.mean() == pytest.approx(1.0, abs=0.02)
    assert 0.2 < speeds.std() < 0.3


def test_speeds_keep_bounds_that_are_much_narrower_than_the_deviation():
    speeds = dynabarn_speeds(np.random.default_rng(1), 5, 1.0, 1e9, (0.99, 1.01))
    assert ((speeds >= 0.99) & (speeds <= 1.01)).all()


def test_polynomials_start_away_from_the_robot_and_each_other():
    spec = actors("{name: p, behavior: polynomial, count: 10, order: [1, 4]}")
    for world in range(5):
        created = create_actors(spec, 5, world, 0, GROUND)
        places = np.array([one.pose.position[:2] for actor in created for one in actor.models])
        assert np.hypot(*places.T).min() >= 0.6 + 0.5 + 1.5
        distances = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1))
        assert distances[~np.eye(10, dtype=bool)].min() >= 1.1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("polynomial, order: [3, 1]", "'order' must be two integers from 1 to 9"),
        ("polynomial, mean_speed_mps: 4.0", "outside 'speed_bounds_mps'"),
        ("polynomial, order: [3, 6], half_size_m: 2", "needs 7 columns of points"),
    ],
)
def test_invalid_polynomial_is_rejected_with_a_remedy(line, message):
    with pytest.raises(SpecError, match=message):
        actors(f"{{name: w, behavior: {line}}}")
