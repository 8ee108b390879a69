"""The social force model: forces known on paper, and trajectories of people."""

import math

import numpy as np
import pytest
import shapely
from actor_scenes import PERIOD_S, person, place, simulated

from gz_testauto.actors.creation import ActorPlacementArea, NewActor, ObstacleOutlines
from gz_testauto.actors.social_force import SocialForce, SocialForceSpec, driving, repulsion
from gz_testauto.base.pose import Pose2D
from gz_testauto.testing.simulator_suite import WALL

AHEAD = np.array([1.0, 0.0])


def spec_of(name="person", **keys):
    region = {"circle": {"x_m": 0.0, "y_m": 0.0, "radius_m": 1.0}}
    return SocialForceSpec(name=name, behavior="social_force", region=region, **keys)


def test_velocity_approaches_the_desired_velocity_with_the_relaxation_time():
    found = driving(np.array([1.0, 0.0]), np.array([0.0, 0.5]), spec_of(relaxation_time_s=0.5))
    assert found == pytest.approx([2.0, -1.0])


@pytest.mark.parametrize(
    ("away", "share"),
    [((-1.0, 0.0), 1.0), ((1.0, 0.0), 0.25), ((0.0, 1.0), 0.625), ((0.0, -1.0), 0.625)],
)
def test_neighbor_ahead_repels_most(away, share):
    (found,) = repulsion(np.array([away]), np.array([0.6]), AHEAD, spec_of())
    assert found == pytest.approx(share * 3.0 * math.exp(-0.4 / 0.2) * np.array(away))


def test_repulsion_is_maximal_at_contact_and_zero_at_the_same_position():
    separations = np.array([[-0.6, 0.0], [0.0, 0.0]])
    found = repulsion(separations, np.array([0.6, 0.6]), AHEAD, spec_of())
    assert found == pytest.approx(np.array([[-3.0, 0.0], [0.0, 0.0]]))


def bound_for(name, x_m, y_m, standing=None, **forces):
    """Return a person that walks to a point and stays there."""
    region = shapely.Point(x_m, y_m).buffer(0.01)
    ground = ActorPlacementArea(ObstacleOutlines(standing or {}), Pose2D(0.0, 0.0, 0.0), 0.6)
    new = NewActor(name, 0, np.random.default_rng(0), ground, ())
    return SocialForce(new, spec_of(name, pause_s=99.0, **forces), region, 0.25, 1.2)


def test_single_walker_has_its_speed_and_arrives(tmp_path):
    walker = bound_for("walker", 2.0, 4.0)
    simulation = simulated(tmp_path, [person("walker", 2.0, -4.0)], [walker])
    ys = np.array([place(simulation.step(PERIOD_S), "walker")[1] for _ in range(90)])
    speeds = np.diff(ys) / PERIOD_S
    # x' = v (1 - e^{-t/τ}), in steps of a period
    assert speeds[3] == pytest.approx(1.2 * (1 - (1 - PERIOD_S / 0.5) ** 5), rel=1e-3)
    assert speeds[20:50] == pytest.approx(1.2, rel=1e-2)
    assert ys[-1] == pytest.approx(4.0, abs=0.35)


def test_two_opposing_walkers_pass_each_other(tmp_path):
    up, down = bound_for("up", 2.0, 4.0), bound_for("down", 2.02, -4.0)
    models = [person("up", 2.0, -4.0), person("down", 2.02, 4.0)]
    simulation = simulated(tmp_path, models, [up, down])
    least = np.inf
    for _ in range(110):
        snapshot = simulation.step(PERIOD_S)
        offset = place(snapshot, "up") - place(snapshot, "down")
        least = min(least, float(np.hypot(*offset[:2])))
    assert least > 0.5
    assert place(snapshot, "up")[1] > 3.5
    assert place(snapshot, "down")[1] < -3.5


def test_walker_avoids_a_robot_at_rest(tmp_path):
    walker = bound_for("walker", 0.05, 4.0)
    simulation = simulated(tmp_path, [person("walker", 0.0, -4.0)], [walker])
    least = np.inf
    for _ in range(120):
        snapshot = simulation.step(PERIOD_S)
        least = min(least, float(np.hypot(*place(snapshot, "walker")[:2])))
    assert least > 0.6
    assert place(snapshot, "walker")[1] > 3.5


def test_walker_avoids_obstacles(tmp_path):
    assert "wall" in WALL  # at x = 5 m
    walls = {"wall": shapely.box(4.9, -5.0, 5.1, 5.0)}
    walker = bound_for("walker", 4.45, 4.0, walls)
    simulation = simulated(tmp_path, [person("walker", 4.45, -4.0)], [walker])
    xs = [place(simulation.step(PERIOD_S), "walker")[0] for _ in range(80)]
    assert max(xs) < 4.65
    assert min(xs) < 4.4
