"""Actors that appear and leave during a trial."""

import numpy as np
import pytest

from gz_testauto.actors.creation import ActorPlacementArea, ObstacleOutlines, create_actors
from gz_testauto.actors.patrol import PatrolSpec
from gz_testauto.actors.script import ScriptSpec
from gz_testauto.actors.simulation import ActorSimulation
from gz_testauto.base.errors import PlacementError
from gz_testauto.base.observation import Twist2D
from gz_testauto.base.pose import Pose2D
from gz_testauto.base.resources import share_directory
from gz_testauto.sdf.robot import read_robot
from gz_testauto.simulators import open_simulator
from gz_testauto.simulators.interface import Scene

PERIOD_S = 0.1
WORLD = share_directory() / "worlds" / "plain.world"
FAR = Pose2D(50.0, 50.0)
OUTLINE = np.array([(0.5, 0.3), (-0.5, 0.3), (-0.5, -0.3), (0.5, -0.3)])


def script(name, waypoints_m, **keys):
    data = {"name": name, "behavior": "script", "waypoints_m": waypoints_m, **keys}
    return ScriptSpec.model_validate(data)


def created(*specs):
    area = ActorPlacementArea(ObstacleOutlines({}), FAR, 0.6, robots={"robot": OUTLINE})
    return create_actors(specs, 1, 0, 0, area)


def run(simulator, actors, duration_s=4.0, command=None, start=FAR):
    robot = read_robot(share_directory() / "models" / "wheelchair", "robot")
    models = tuple(model for actor in actors for model in actor.models)
    simulation = ActorSimulation(simulator.load(Scene(WORLD, robot, start, models=models)), actors)
    if command is not None:
        simulation.drive(command)
    return [simulation.step(PERIOD_S) for _ in range(round(duration_s / PERIOD_S))]


def present(snapshots, name):
    return [name in snapshot.models for snapshot in snapshots]


def place(snapshots, name):
    poses = [snapshot.models[name].pose for snapshot in snapshots if name in snapshot.models]
    return np.array([pose.position[:2] for pose in poses])


@pytest.mark.parametrize(
    "name", ["embedded", pytest.param("gazebo", marks=[pytest.mark.gazebo, pytest.mark.slow])]
)
def test_an_actor_is_present_between_its_times_and_starts_when_it_appears(name):
    guest = script("guest", [[2.0, 0.0], [8.0, 0.0]], appear_s=0.75, leave_s=2.05)
    with open_simulator(name) as simulator:
        snapshots = run(simulator, created(guest), start=Pose2D(0.0, 0.0))
    # The first whole step starts at 0.8 s, and the last one ends at 2.0 s.
    assert present(snapshots, "guest") == [0.85 < s.time_s < 2.05 for s in snapshots]
    walked = place(snapshots, "guest")
    assert walked[0] == pytest.approx((2.0, 0.0), abs=1e-6)
    assert np.diff(walked[:, 0]) == pytest.approx(0.1, abs=1e-6)
    nearest_m = np.array([float(np.nanmin(s.scan.ranges_m)) for s in snapshots])
    is_seen = nearest_m < 4.0
    assert is_seen.tolist() == [0.85 < s.time_s < 2.05 for s in snapshots]


def test_an_actor_that_leaves_without_appearing_later_is_present_from_the_start():
    patrol = {"name": "p", "behavior": "patrol", "waypoints_m": [[1, 1], [4, 1]], "leave_s": 1.0}
    with open_simulator("embedded") as simulator:
        snapshots = run(simulator, created(PatrolSpec.model_validate(patrol)), 2.0)
    assert present(snapshots, "p") == [s.time_s < 1.05 for s in snapshots]


def test_two_actors_can_appear_at_one_place_after_each_other():
    """Both come out of one door."""
    through = [[-2.0, 0.0], [4.0, 0.0]]
    first, second = script("a", through), script("b", through, appear_s=1.0)
    with open_simulator("embedded") as simulator:
        snapshots = run(simulator, created(first, second))
    assert place(snapshots, "b")[0] == pytest.approx((-2.0, 0.0), abs=1e-6)
    with pytest.raises(PlacementError, match=r"overlap .* set 'appear_s' .* 'behavior: recorded'"):
        created(first, script("b", through))


def test_an_actor_waits_until_the_robot_has_left_its_place():
    """The robot leaves the place (0.58 m + 0.25 m) at 0.5 m/s, after more than 1.6 s."""
    guest = script("guest", [[0.0, 0.0], [0.0, 3.0]], appear_s=0.5)
    with open_simulator("embedded") as simulator:
        snapshots = run(simulator, created(guest), 4.0, Twist2D(0.5, 0.0), Pose2D(0.0, 0.0))
    first = present(snapshots, "guest").index(True)
    robot = snapshots[first - 1].models["robot"].pose.position
    assert 0.8 < np.hypot(*robot[:2]) < 0.95
    # The timetable starts when the actor appears.
    assert np.diff(place(snapshots, "guest")[:, 1]) == pytest.approx(0.1, abs=1e-6)
    assert not any("guest" in contact.second for s in snapshots for contact in s.contacts)


def test_a_flow_is_absent_outside_of_its_times():
    pytest.importorskip("gz_testauto.extras.roads", reason="needs the behavior flow")
    from gz_testauto.extras.roads.flow import FlowSpec

    keys = {"waypoints_m": [[1, 1], [2, 1]], "absence_s": 0.1, "appear_s": 1.0, "leave_s": 3.0}
    flow = FlowSpec.model_validate({"name": "f", "behavior": "flow", **keys})
    with open_simulator("embedded") as simulator:
        snapshots = run(simulator, created(flow))
    times = [s.time_s for s in snapshots if "f" in s.models]
    assert times[0] == pytest.approx(1.1)
    assert times[-1] <= 3.0


def test_an_actor_must_appear_before_it_leaves():
    with pytest.raises(ValueError, match="p leaves at 2 s, but appears at 3 s; 'leave_s' must be"):
        script("p", [[0, 0]], appear_s=3.0, leave_s=2.0)
