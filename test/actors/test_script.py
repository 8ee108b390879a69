"""Actors with a timetable: their pose is known for every time, and they reach it."""

import numpy as np
import pytest
from actor_scenes import PERIOD_S, person, simulated

from gz_testauto.actors.script import Script, Timetable
from gz_testauto.base.pose import Pose2D
from gz_testauto.base.resources import share_directory
from gz_testauto.sdf.robot import read_robot
from gz_testauto.simulators import open_simulator
from gz_testauto.simulators.interface import Scene

CORNER = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 3.0]])


def at(timetable, *times_s):
    return timetable.at(np.array(times_s))


def test_timetable_has_the_speed_of_each_leg_and_stays_at_the_end():
    timetable = Timetable(CORNER, np.array([2.0, 1.0]))
    assert timetable.duration_s == 5.0
    found = at(timetable, -1.0, 0.0, 1.0, 2.0, 3.5, 5.0, 99.0)
    expected = [(0, 0), (0, 0), (2, 0), (4, 0), (4, 1.5), (4, 3), (4, 3)]
    assert found[:, :2] == pytest.approx(np.array(expected, dtype=float))
    assert found[:, 2] == pytest.approx([0, 0, 0, np.pi / 2, np.pi / 2, np.pi / 2, np.pi / 2])


def test_timetable_waits_at_each_point():
    timetable = Timetable(CORNER, np.array([2.0, 1.0]), wait_s=1.5)
    found = at(timetable, 2.0, 3.4, 3.5, 4.5)
    assert found[:, :2] == pytest.approx(np.array([(4, 0), (4, 0), (4, 0), (4, 1)], dtype=float))


def test_timetable_back_and_forth_returns_along_the_path_and_repeats():
    timetable = Timetable(CORNER, np.array([2.0, 1.0]), repeat="back_and_forth")
    assert timetable.duration_s == 10.0
    found = at(timetable, 6.5, 9.0, 10.0, 11.0)
    assert found[:, :2] == pytest.approx(np.array([(4, 1.5), (2, 0), (0, 0), (2, 0)], dtype=float))
    assert found[0, 2] == pytest.approx(-np.pi / 2)


def test_timetable_in_a_loop_closes_the_path():
    timetable = Timetable(CORNER, np.array([2.0, 1.0, 2.5]), repeat="loop")
    assert timetable.duration_s == 7.0
    assert at(timetable, 6.0)[0, :2] == pytest.approx([2.0, 1.5])


def test_actor_with_one_waypoint_stays_there():
    timetable = Timetable(np.array([[1.0, 2.0]]), np.empty(0))
    assert timetable.at(np.array([0.0, 9.0]), 0.5) == pytest.approx(np.array([[1, 2, 0.5]] * 2))


def test_invalid_timetable_is_rejected():
    with pytest.raises(ValueError, match="the same position"):
        Timetable(np.array([[1, 1], [1, 1]]), np.array([1.0]))


def errors_m(simulation, script, periods):
    """Return the largest distance (m) and angle (rad) from the script at the ends of steps."""
    found = []
    for _ in range(periods):
        snapshot = simulation.step(PERIOD_S)
        x_m, y_m, yaw_rad = snapshot.models[script.name].pose.planar
        due = script.expected(np.array([snapshot.time_s]))[0]
        turn = np.remainder(yaw_rad - due[2] + np.pi, 2 * np.pi) - np.pi
        found.append((np.hypot(x_m - due[0], y_m - due[1]), abs(turn)))
    return np.array(found).max(axis=0)


WINDING = np.array([[2.0, -3.0], [3.0, -1.0], [2.5, 1.0], [3.5, 3.0]])


def test_script_is_exact_at_every_step(tmp_path):
    script = Script(
        "walker", (), Timetable(WINDING, np.array([1.3, 0.7, 2.1]), 0.3, "back_and_forth")
    )
    simulation = simulated(tmp_path, [person("walker", 2.0, -3.0)], [script])
    away_m, turned_rad = errors_m(simulation, script, 150)
    assert away_m < 1e-9
    assert turned_rad < 1e-9


@pytest.mark.slow
@pytest.mark.gazebo
def test_script_is_exact_in_gazebo(tmp_path):
    from gz_testauto.actors.simulation import ActorSimulation

    robot = read_robot(share_directory() / "models" / "wheelchair", "robot")
    script = Script(
        "walker", (), Timetable(WINDING, np.array([1.3, 0.7, 2.1]), 0.3, "back_and_forth")
    )
    script.start(np.random.default_rng(0))
    world = share_directory() / "worlds" / "plain.world"
    with open_simulator("gazebo") as simulator:
        models = (person("walker", 2.0, -3.0),)
        scene = Scene(world, robot, Pose2D(0.0, 0.0), 1, models=models)
        away_m, turned_rad = errors_m(ActorSimulation(simulator.load(scene), [script]), script, 60)
    assert away_m < 1e-9
    assert turned_rad < 1e-4


def test_script_waits_for_the_robot_and_for_its_delay(tmp_path):
    timetable = Timetable(np.array([[2.0, 0.0], [2.0, 4.0]]), np.array([1.0]))
    early = Script("early", (), timetable, delay_s=0.5, trigger_distance_m=2.5)
    late = Script("late", (), timetable, trigger_distance_m=1.0)
    simulation = simulated(
        tmp_path, [person("early", 2.0, 0.0), person("late", 2.0, 0.0)], [early, late]
    )
    for _ in range(20):
        snapshot = simulation.step(PERIOD_S)
    assert snapshot.models["early"].pose.position[1] == pytest.approx(1.5, abs=1e-6)
    assert snapshot.models["late"].pose.position[1] == pytest.approx(0.0, abs=1e-6)
    assert late.activity == "script, waits for the robot"
    ahead = np.array([2.0, 3.0])
    assert early.expected(ahead)[:, 1] == pytest.approx([1.5, 2.5])
    assert late.expected(ahead)[:, 1] == pytest.approx([0.0, 0.0])
