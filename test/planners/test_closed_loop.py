"""Planners driving a robot through worlds, in the simulator ``kinematic``.

The worlds are small and show one property each; how well a planner does in random
ones is a campaign's task, not a test's.
"""

import math

import numpy as np
import pytest

from gz_testauto.base.observation import Twist2D
from gz_testauto.base.pose import Pose2D
from gz_testauto.base.resources import share_directory
from gz_testauto.planners import PLANNERS, make_planner
from gz_testauto.planners.interface import Observation, RobotLimits, Task
from gz_testauto.sdf.robot import read_robot
from gz_testauto.simulators.interface import Scene
from gz_testauto.simulators.kinematic import KinematicSimulator

PERIOD_S = 0.1
START, GOAL = Pose2D(0.0, 0.0, 0.0), Pose2D(12.0, 0.0, 0.0)

BLOCK = """<model name="{name}"><static>true</static><pose>{x} {y} 0.5 0 0 {yaw}</pose>
<link name="link"><collision name="c"><geometry><box><size>{w} {h} 1</size></box></geometry>
</collision></link></model>"""

FLOOR = """<model name="floor"><static>true</static><link name="link"><collision name="c">
<geometry><plane><normal>0 0 1</normal></plane></geometry></collision></link></model>"""

CLUTTER = [
    (3.5, 0.4, 1.2, 1.2, 0.3),
    (6.5, -1.6, 1.0, 2.0, 0.0),
    (6.5, 2.6, 1.0, 2.0, 0.0),
    (9.0, 0.5, 0.8, 0.8, 0.8),
]


@pytest.fixture(scope="module")
def robot():
    return read_robot(share_directory() / "models" / "wheelchair" / "model.sdf")


def write_world(path, blocks):
    models = "".join(
        BLOCK.format(name=f"block_{index}", x=x, y=y, w=w, h=h, yaw=yaw)
        for index, (x, y, w, h, yaw) in enumerate(blocks)
    )
    path.write_text(f'<sdf version="1.6"><world name="default">{FLOOR}{models}</world></sdf>')
    return path


def drive(robot, world, name, timeout_s=90.0):
    """Return the outcome, and where the base was at each period, shape (n, 3)."""
    limits = RobotLimits(robot.footprint_m)
    planner = make_planner(name)
    waypoints = np.linspace((START.x_m, START.y_m), (GOAL.x_m, GOAL.y_m), 25)
    planner.begin(Task(GOAL, 0.5, waypoints, limits, PERIOD_S))
    poses, command = [], Twist2D()
    with KinematicSimulator() as simulator:
        simulation = simulator.load(Scene(world, robot, START))
        snapshot = simulation.snapshot()
        while snapshot.time_s < timeout_s:
            pose = snapshot.models[robot.name].pose.planar
            poses.append(pose)
            if snapshot.contacts:
                return "collided", np.array(poses)
            if pose.distance_to(GOAL.x_m, GOAL.y_m) <= 0.5:
                return "reached", np.array(poses)
            command = planner.plan(Observation(snapshot.time_s, pose, command, snapshot.scan))
            simulation.drive(command)
            snapshot = simulation.step(PERIOD_S)
    return "timed_out", np.array(poses)


def present(*names):
    """Return the names without those of an extra that is deleted."""
    return [name for name in names if name in PLANNERS.names()]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", present("straight", "fgm", "fgm_improved", "dwa", "dwa_fox", "sst", "dki_sst")
)
def test_every_planner_reaches_the_goal_in_an_empty_world(robot, tmp_path, name):
    outcome, poses = drive(robot, write_world(tmp_path / "empty.world", []), name)
    assert outcome == "reached"
    aside_m = 0.3 if name == "sst" else 0.1  # it does not use lanes
    assert np.abs(poses[:, 1]).max() < aside_m


@pytest.mark.slow
@pytest.mark.parametrize("name", present("fgm", "fgm_improved", "dwa", "dwa_fox", "sst", "dki_sst"))
def test_planner_reaches_the_goal_in_a_world_where_straight_collides(robot, tmp_path, name):
    world = write_world(tmp_path / "clutter.world", CLUTTER)
    assert drive(robot, world, "straight")[0] == "collided"
    assert drive(robot, world, name)[0] == "reached"


@pytest.mark.slow
def test_repeated_trial_is_identical_bit_by_bit(robot, tmp_path):
    world = write_world(tmp_path / "clutter.world", CLUTTER)
    first, second = (drive(robot, world, "fgm_improved")[1] for _ in range(2))
    assert first.tobytes() == second.tobytes()


def test_fgm_improved_passes_a_gate_that_fgm_avoids(robot, tmp_path):
    # A wall with a gate of 1.3 m straight ahead: too narrow for the circumscribed circle
    # (1.36 m), wide enough for the chair (0.65 m).
    gate = [(5.0, side * 2.65, 0.4, 4.0, 0.0) for side in (-1, 1)]
    world = write_world(tmp_path / "gate.world", gate)
    outcome, poses = drive(robot, world, "fgm_improved")
    assert outcome == "reached"
    assert np.abs(poses[:, 1]).max() < 0.6
    outcome, poses = drive(robot, world, "fgm")
    assert outcome != "reached" or np.abs(poses[:, 1]).max() > 4.0


@pytest.mark.slow
@pytest.mark.parametrize("name", present("fgm_improved", "dwa", "dwa_fox", "dki_sst"))
def test_planner_never_touches_a_wall_across_the_corridor(robot, tmp_path, name):
    wall = write_world(tmp_path / "wall.world", [(6.0, 0.0, 0.4, 40.0, 0.0)])
    outcome, poses = drive(robot, wall, name, timeout_s=30.0)
    assert outcome == "timed_out"
    assert np.isfinite(poses).all()
    assert math.hypot(*(poses[-1, :2] - poses[0, :2])) > 1.0
