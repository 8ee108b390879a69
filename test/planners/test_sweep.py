"""Arcs of a footprint against points."""

import math

import numpy as np
import pytest

from gz_testauto.base.observation import Twist2D
from gz_testauto.base.pose import Pose2D
from gz_testauto.planners.dwa_fox import FoxDynamicWindow
from gz_testauto.planners.interface import RobotLimits
from gz_testauto.planners.sweep import ConvexFootprint, arc_poses, sweep_arcs
from gz_testauto.planners.velocity_window import dynamic_window, stoppable
from gz_testauto.simulators.kinematic.motion import drive_arc

RECTANGLE = ((-0.5, -0.3), (0.6, -0.3), (0.6, 0.3), (-0.5, 0.3))
FOOTPRINT = ConvexFootprint(RECTANGLE)


@pytest.mark.parametrize(
    "point, distance", [((1.6, 0.0), 1.0), ((0.0, 0.5), 0.2), ((-0.9, 0.1), 0.4), ((0, 0), -0.3)]
)
def test_clearance_next_to_an_edge_is_exact(point, distance):
    found = FOOTPRINT.clearance_m(np.zeros((1, 3)), np.array([point]))
    assert found == pytest.approx([distance])


def test_clearance_depends_on_the_pose_of_the_footprint():
    # Turned by 90° at (2, 1) the front edge is at y = 1.6.
    poses = np.array([[2.0, 1.0, math.pi / 2]])
    assert FOOTPRINT.clearance_m(poses, np.array([[2.0, 2.0]])) == pytest.approx([0.4])


def test_clearance_without_points_is_infinite():
    assert FOOTPRINT.clearance_m(np.zeros((2, 3)), np.empty((0, 2))).tolist() == [np.inf, np.inf]


@pytest.mark.parametrize("twist", [(1.0, 0.0), (0.7, 0.9), (0.5, -2.0), (0.0, 1.0)])
def test_arcs_are_those_of_a_unicycle(twist):
    pose = arc_poses(np.array([twist]), np.array([[0.8]]))[0, 0]
    assert pose == pytest.approx(drive_arc(Pose2D(0, 0), Twist2D(*twist), 0.8), abs=1e-12)


def test_compiled_arcs_equal_those_of_numpy_bit_by_bit():
    generator = np.random.default_rng(4)
    twists = generator.uniform((0.0, -1.5), (1.0, 1.5), (12, 2))
    twists[::4, 1] = 0.0  # a line, for which numpy.sinc avoids a division by zero
    times = generator.uniform(0.0, 3.0, (12, 20))
    turns = twists[:, 1:] * times
    longitudinal = np.sinc(turns / np.pi)
    lateral = np.sin(turns / 2) * np.sinc(turns / 2 / np.pi)
    length = twists[:, :1] * times
    expected = np.stack([length * longitudinal, length * lateral, turns], axis=-1)
    assert arc_poses(twists, times).tobytes() == expected.tobytes()


def test_commands_can_be_integers():
    sweep = sweep_arcs(FOOTPRINT, np.array([[1, 0]]), np.empty((0, 2)), 3.0, 0.1, 20)
    assert stoppable(np.array([[1, 0]]), sweep, RobotLimits(RECTANGLE), 0.1).tolist() == [True]


def test_sweep_stops_before_points_ahead_and_passes_points_at_the_side():
    twists = np.array([[1.0, 0.0], [0.5, 0.0]])
    wall = np.array([[2.0, y] for y in np.linspace(-1, 1, 41)])
    sweep = sweep_arcs(FOOTPRINT, twists, wall, reach_m=3.0, margin_m=0.1, steps=300)
    assert sweep.blocked.all()
    assert sweep.distance_m == pytest.approx([1.3, 1.3], abs=0.02)
    beside = np.array([[x, 0.5] for x in np.linspace(0, 3, 31)])
    free = sweep_arcs(FOOTPRINT, twists, beside, reach_m=3.0, margin_m=0.1, steps=30)
    assert not free.blocked.any()
    assert free.distance_m == pytest.approx([3.0, 3.0])


def test_turn_in_place_is_blocked_by_a_point_at_the_corner():
    # The front corner is 0.67 m from the axis, the side 0.3 m: a point at 0.45 m is met.
    sweep = sweep_arcs(
        FOOTPRINT, np.array([[0.0, 1.0]]), np.array([[0.0, 0.45]]), 3.0, 0.0, steps=360
    )
    assert sweep.blocked[0]
    # Seen from the turning robot the point is at y = 0.45 cos θ: at the side when that is 0.3.
    assert sweep.angle_rad[0] == pytest.approx(math.acos(0.3 / 0.45), abs=math.pi / 180)


def test_footprint_within_the_margin_can_move_away_but_not_closer():
    touching = np.array([[0.6, 0.0]])
    ahead = sweep_arcs(FOOTPRINT, np.array([[1.0, 0.0]]), touching, 1.0, 0.1, 20)
    back = sweep_arcs(FOOTPRINT, np.array([[-1.0, 0.0]]), touching, 1.0, 0.1, 20)
    assert ahead.blocked[0]
    assert ahead.distance_m[0] == 0.0
    assert not back.blocked[0]


def test_window_has_the_commands_that_are_reachable_in_one_period():
    limits = RobotLimits(RECTANGLE, 1.0, 1.5, 1.0, 3.0)
    window = dynamic_window(Twist2D(0.95, 1.4), limits, 0.1, (3, 5))
    assert window.shape == (15, 2)
    assert window[:, 0].min() == pytest.approx(0.85)
    assert window[:, 0].max() == pytest.approx(1.0)
    assert window[:, 1].min() == pytest.approx(1.1)
    assert window[:, 1].max() == pytest.approx(1.5)


def test_admissible_commands_can_stop_in_time():
    limits = RobotLimits(RECTANGLE, 2.0, 1.5, 1.0, 3.0)
    wall = np.array([[0.6 + 0.1 + 0.5, 0.0]])
    twists = np.array([[v, 0.0] for v in (0.2, 0.7, 1.1, 2.0)])
    sweep = sweep_arcs(FOOTPRINT, twists, wall, 3.0, 0.1, 300)
    # v · 0.1 s + v²/2 <= 0.5 m: 0.04, 0.315, 0.715, 2.2
    assert stoppable(twists, sweep, limits, 0.1).tolist() == [True, True, False, False]


def test_dynamic_window_uses_the_specified_weights():
    assert FoxDynamicWindow(heading_weight=2.0).weights[0] == 2.0


def test_compiled_sweep_equals_a_check_of_all_pairs():
    generator = np.random.default_rng(11)
    wedge = ConvexFootprint(((0.8, 0.0), (-0.3, 0.35), (-0.4, -0.2)))
    for footprint in (FOOTPRINT, wedge):
        for _ in range(25):
            points = generator.uniform(-3.0, 3.0, (int(generator.integers(1, 60)), 2))
            twists = generator.uniform((0.0, -1.5), (1.0, 1.5), (12, 2))
            sweep = sweep_arcs(footprint, twists, points, 2.0, 0.1, 16)
            speed, rate = twists[:, 0], np.abs(twists[:, 1])
            end_s = np.minimum(2.0 / np.maximum(speed, 1e-6), np.pi / np.maximum(rate, 1e-6))
            poses = arc_poses(twists, end_s[:, None] * np.arange(1, 17) / 16)
            here = clearance_by_numpy(footprint, np.zeros((1, 3)), points)[0]
            allowed = 0.1 if here >= 0.1 else min(here, max(here - 0.01, 0.1 / 3))
            hit = clearance_by_numpy(footprint, poses.reshape(-1, 3), points) < allowed
            hit = hit.reshape(12, 16)
            free = np.where(hit.any(axis=1), hit.argmax(axis=1), 16)
            assert sweep.blocked.tolist() == hit.any(axis=1).tolist()
            assert sweep.distance_m.tolist() == (end_s * free / 16 * speed).tolist()


def clearance_by_numpy(footprint, poses, points):
    cos, sin = np.cos(poses[:, 2])[:, None], np.sin(poses[:, 2])[:, None]
    nx, ny = footprint.normals[:, 0], footprint.normals[:, 1]
    turned = np.stack([cos * nx - sin * ny, sin * nx + cos * ny], axis=-1)
    shift = (turned * poses[:, None, :2]).sum(axis=-1) + footprint.offsets_m
    return (turned @ points.T - shift[..., None]).max(axis=1).min(axis=1)


def test_dynamic_window_equals_linspace_bit_by_bit():
    limits = RobotLimits(RECTANGLE, 1.0, 1.5, 1.0, 3.0)
    for speed, rate in ((0.0, 0.0), (0.37, -0.71), (1.0, 1.5), (0.013, 1.449)):
        window = dynamic_window(Twist2D(speed, rate), limits, 0.1, (5, 13))
        linear = np.linspace(max(0.0, speed - 0.1), min(1.0, speed + 0.1), 5)
        angular = np.linspace(max(-1.5, rate - 3.0 * 0.1), min(1.5, rate + 3.0 * 0.1), 13)
        grid = np.stack(np.meshgrid(linear, angular, indexing="ij"), axis=-1).reshape(-1, 2)
        assert window.tobytes() == grid.tobytes()
    assert dynamic_window(Twist2D(0.5, 0.0), limits, 0.1, (1, 1)).tolist() == [[0.4, -3.0 * 0.1]]
