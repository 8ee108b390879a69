"""Velocity commands and starting poses of maneuvers."""

import numpy as np
import pytest

from gz_testauto.base.errors import SpecError
from gz_testauto.base.pose import Pose2D
from gz_testauto.base.resources import share_directory
from gz_testauto.extras.simulator_comparison.maneuvers import (
    JITTER_M,
    KINDS,
    PERIOD_S,
    BenchRobotSpec,
    ManeuverSpec,
    compute_commands,
    draw_start,
    ideal_path,
    parallel_starts,
    recorded_commands,
    require_space,
    spawn_height_m,
)
from gz_testauto.extras.simulator_comparison.recordings.recording import Series
from gz_testauto.extras.simulator_comparison.signals import noise_density
from gz_testauto.extras.simulator_comparison.terrain import Terrain
from gz_testauto.sdf.robot import RobotBody

WHEELCHAIR = share_directory() / "models" / "wheelchair"
ROBOT = BenchRobotSpec(model=WHEELCHAIR, max_linear_accel_mps2=0.5, max_angular_accel_radps2=1.0)
BODY = RobotBody("robot", ((0.5, 0.3), (-0.5, 0.3), (-0.5, -0.3), (0.5, -0.3)), (0.0, 0.5))


def drive(name, **given):
    return ManeuverSpec.model_validate({"name": name, **given})


def terrain(heights_m, size_m=10.0):
    return Terrain("ground", np.asarray(heights_m, dtype=float), size_m, 1.0)


FLAT = terrain(np.zeros((17, 17)))


@pytest.mark.parametrize("kind", KINDS)
def test_commands_respect_the_acceleration_limits(kind):
    commands = compute_commands(drive(kind), ROBOT)
    assert len(commands) == round(KINDS[kind].duration_s / PERIOD_S)
    rates = np.abs(np.diff(commands, axis=0, prepend=np.zeros((1, 2)))) / PERIOD_S
    assert rates[:, 0].max() <= 0.5 + 1e-9
    assert rates[:, 1].max() <= 1.0 + 1e-9


def test_straight_maneuver_reaches_and_keeps_its_speed():
    commands = compute_commands(drive("straight"), ROBOT)
    assert commands[-1] == pytest.approx([0.5, 0.0])
    assert ideal_path(commands)[-1] == pytest.approx([8 * 0.5 - 0.25 + 0.0125, 0.0, 0.0])


def test_circle_radius_is_speed_divided_by_yaw_rate():
    way = ideal_path(compute_commands(drive("circle", duration_s=20.0), ROBOT))[40:]
    middle = way[:, :2] + np.column_stack([-np.sin(way[:, 2]), np.cos(way[:, 2])])
    assert np.ptp(middle, axis=0) == pytest.approx([0.0, 0.0], abs=1e-3)


def test_stop_ends_at_rest_and_s_curve_at_the_initial_heading():
    assert compute_commands(drive("stop"), ROBOT)[-1] == pytest.approx([0.0, 0.0])
    assert ideal_path(compute_commands(drive("s_curve"), ROBOT))[-1, 2] == pytest.approx(
        0.0, abs=0.03
    )


def test_maneuver_at_rest_is_long_enough_to_measure_noise():
    count = round(drive("rest").duration_s * 100)
    records = np.random.default_rng(0).standard_normal((100, count))
    densities = np.array([noise_density(record, 100.0) for record in records])
    assert np.mean(np.abs(densities / 0.1 - 1.0) < 0.1) >= 0.97


def test_a_maneuver_that_is_faster_than_the_robot_is_rejected():
    with pytest.raises(
        SpecError, match=r"maneuver fast: linear_mps is 2, but robot.max_linear_mps is"
    ):
        compute_commands(drive("fast", kind="straight", linear_mps=2.0), ROBOT)


def test_recorded_commands_are_held_until_the_next_command():
    recorded = Series(np.array([0.12, 0.2]), np.array([[0.3, 0.1], [0.4, 0.0]]))
    assert recorded_commands(recorded).tolist() == [
        [0.0, 0.0],
        [0.0, 0.0],
        [0.0, 0.0],
        [0.3, 0.1],
        [0.4, 0.0],
    ]


def test_repetitions_start_at_different_reproducible_poses():
    starts = [draw_start("flat/straight", repetition, 7) for repetition in range(20)]
    assert len(set(starts)) == 20
    assert max(abs(value) for start in starts for value in start[:2]) <= JITTER_M
    assert draw_start("flat/straight", 3, 7) == starts[3]
    assert draw_start("flat/straight", 3, 8) != starts[3]


def test_path_beyond_the_terrain_is_rejected_with_the_required_size():
    commands = compute_commands(drive("straight", duration_s=12.0), ROBOT)
    with pytest.raises(SpecError, match=r"flat/straight: .* \d+\.\d m of ground, but terrain"):
        require_space("flat/straight", commands, BODY, FLAT)
    require_space("flat/straight", commands, BODY, terrain(np.zeros((17, 17)), 30.0))


def test_paths_of_parallel_robots_do_not_intersect():
    commands = compute_commands(drive("circle", duration_s=15.0), ROBOT)
    starts = parallel_starts(5, "load/five", commands, BODY, terrain(np.zeros((17, 17)), 40.0))
    ways = [start.apply(ideal_path(commands)[:, :2]) for start in starts]
    apart = [np.linalg.norm(a[:, None] - b[None], axis=2).min() for a, b in zip(ways, ways[1:])]
    assert min(apart) > 2 * np.hypot(0.5, 0.3)
    with pytest.raises(SpecError, match=r"load/five: .* needs"):
        parallel_starts(5, "load/five", commands, BODY, FLAT)


def test_robot_is_spawned_above_the_highest_ground_below_its_footprint():
    heights = np.zeros((129, 129))
    heights[64, 68] = 0.04  # 0.31 m ahead of the center
    above = spawn_height_m(terrain(heights), BODY, Pose2D(0.0, 0.0, 0.0))
    assert 0.02 < above <= 0.042 + 1e-9
    assert spawn_height_m(terrain(heights), BODY, Pose2D(-2.0, 0.0, 0.0)) < 0.01
