"""Obstacle sets in a simulated simulator that misplaces, keeps or loses models."""

from pathlib import Path

import pytest

from gz_testauto.base import resources
from gz_testauto.base.errors import PlacementError, SimulatorError, SpecError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.scene import read_scene
from gz_testauto.spec.loader import parse
from gz_testauto.spec.obstacles import ObstacleSpec
from gz_testauto.worlds.multiply import multiply
from gz_testauto.worlds.spawner import Draw, ObstacleSpawner

SPEC = parse(
    "{obstacles: [{type: box, count: 2}], region: {rectangle: {x_m: [-5, 5], y_m: [-5, 5]}}}",
    ObstacleSpec,
    Path("inline"),
)
ONE_PLACE = parse(
    "{obstacles: [{type: sphere, count: 1, radius_m: 0.3, x_m: 0, y_m: 0}]}",
    ObstacleSpec,
    Path("inline"),
)
ROOM = resources.share_directory() / "worlds" / "room.world"
WALLS = tuple(read_scene(ROOM).models)
AWAY = Pose((20.0, 0.0, 0.0))


class Simulator:
    """Models with a pose each. ``in_file`` are those of its initial world file: as in Gazebo 11,
    later models with these names get their poses."""

    def __init__(self, in_file=()):
        self.in_file = dict.fromkeys(in_file, AWAY)
        self.models = dict(self.in_file)
        self.undeletable = set()
        self.calls = []

    def model_names(self):
        return set(self.models)

    def poses(self, names):
        return {name: self.models[name] for name in names if name in self.models}

    def spawn(self, models):
        self.calls.append(len(models))
        for name, sdf in models.items():
            (model,) = read_scene(SdfDocument.parse(sdf, name)).models.values()
            x, y, _ = model.bounds.mean(axis=1)
            placed = Pose.from_rpy(x, y, 0, *model.pose.rpy)
            self.models[name] = self.in_file.get(name, placed)

    def delete(self, names):
        for name in set(names) - self.undeletable:
            self.models.pop(name, None)
        if set(names) & self.undeletable:
            raise SimulatorError("still there after being deleted")


def stand_as_answered(simulator, answered):
    shown = {name: pose.planar for name, pose in simulator.models.items()}
    return shown == {o.name: pytest.approx(o.pose.planar, abs=1e-5) for o in answered}


def test_spawner_avoids_names_for_which_gazebo_reuses_old_poses():
    simulator = Simulator(in_file=["obstacle_box_0", "obstacle_box_1"])
    spawner = ObstacleSpawner(simulator)
    for seed in (1, 2):
        placed = spawner.spawn(Draw(SPEC, "inline", seed), replace=True)
        assert [obstacle.name for obstacle in placed] == ["obstacle_box_2", "obstacle_box_3"]
        assert stand_as_answered(simulator, placed)


def test_no_obstacle_is_spawned_near_a_robot_that_is_not_in_the_base_world():
    simulator = Simulator(in_file=WALLS)
    simulator.models["robot"] = Pose((0.9, 0.0, 0.0))
    with pytest.raises(PlacementError):
        ObstacleSpawner(simulator, ROOM).spawn(Draw(ONE_PLACE, "inline", 1), replace=True)
    simulator.models["robot"] = Pose((3.0, 0.0, 0.0))
    (placed,) = ObstacleSpawner(simulator, ROOM).spawn(Draw(ONE_PLACE, "inline", 1), replace=True)
    assert placed.pose.planar[:2] == (0.0, 0.0)


def test_spawner_avoids_names_of_the_world_file_after_clear():
    simulator = Simulator(in_file=[f"obstacle_box_{number}" for number in range(5)])
    spawner = ObstacleSpawner(simulator)
    spawner.clear()
    placed = spawner.spawn(Draw(SPEC, "inline", 1), replace=False)
    assert [obstacle.name for obstacle in placed] == ["obstacle_box_5", "obstacle_box_6"]
    assert stand_as_answered(simulator, placed)


def test_obstacles_with_wrong_poses_are_removed_with_an_error():
    simulator = Simulator()
    simulator.in_file = {f"obstacle_box_{number}": AWAY for number in range(99)}
    with pytest.raises(SimulatorError, match=r"obstacle_box_2 is \d+\.\d+ m from"):
        ObstacleSpawner(simulator).spawn(Draw(SPEC, "inline", 1), replace=True)
    assert simulator.models == {}


def test_all_obstacles_are_restored_if_one_of_them_cannot_be_deleted():
    simulator = Simulator()
    spawner = ObstacleSpawner(simulator)
    before = spawner.spawn(Draw(SPEC, "inline", 1), replace=True)
    simulator.undeletable = {"obstacle_box_1"}
    with pytest.raises(SimulatorError, match="still there"):
        spawner.spawn(Draw(SPEC, "inline", 2), replace=True)
    assert stand_as_answered(simulator, before)
    assert len(spawner.obstacles()) == 2


def test_obstacles_are_spawned_again_from_the_next_draws_of_the_seed():
    spawner = ObstacleSpawner(Simulator())
    with pytest.raises(SpecError, match="call spawn first"):
        spawner.respawn()
    spawner.spawn(Draw(SPEC, "inline", 1), replace=True)
    respawned = [spawner.respawn(), spawner.respawn()]
    for number, obstacles in enumerate(respawned, 1):
        draw = ObstacleSpawner(Simulator()).spawn(Draw(SPEC, "inline", 1, number), replace=True)
        assert [one.pose for one in obstacles] == [one.pose for one in draw]
    assert respawned[0][0].pose != respawned[1][0].pose


@pytest.fixture
def saved(tmp_path):
    """A world file with a sphere in its middle."""
    spawner = ObstacleSpawner(Simulator(in_file=WALLS), ROOM)
    spawner.spawn(Draw(ONE_PLACE, "inline", 1), replace=True)
    spawner.save_world(tmp_path / "saved.world")
    return tmp_path / "saved.world"


def test_added_obstacles_keep_the_gap_to_those_of_the_base_world(saved):
    simulator = Simulator(in_file=[*WALLS, "obstacle_sphere_0"])
    spawner = ObstacleSpawner(simulator, saved)
    with pytest.raises(PlacementError, match=r"no obstacle was spawned.* room for 0 of 1 "):
        spawner.spawn(Draw(ONE_PLACE, "inline", 1), replace=False)
    spawner.clear()
    assert len(spawner.spawn(Draw(ONE_PLACE, "inline", 1), replace=False)) == 1


def test_present_obstacles_of_the_base_world_are_saved(saved, tmp_path):
    simulator = Simulator(in_file=[*WALLS, "obstacle_sphere_0"])
    spawner = ObstacleSpawner(simulator, saved)
    spawner.save_world(tmp_path / "again.world")
    assert "obstacle_sphere_0" in read_scene(tmp_path / "again.world").models
    spawner.clear()
    spawner.save_world(tmp_path / "bare.world")
    assert "obstacle_sphere_0" not in read_scene(tmp_path / "bare.world").models


def test_a_world_with_obstacles_of_unknown_shape_is_not_saved(tmp_path):
    spawner = ObstacleSpawner(Simulator(in_file=[*WALLS, "obstacle_sphere_0"]), ROOM)
    with pytest.raises(SpecError, match=r"^obstacle_sphere_0: "):
        spawner.save_world(tmp_path / "saved.world")


def test_base_world_of_another_simulator_is_rejected(tmp_path):
    spawner = ObstacleSpawner(Simulator(in_file=WALLS[1:]), ROOM)
    with pytest.raises(SpecError, match=rf"room\.world.* \({WALLS[0]}\); .*~base_world"):
        spawner.spawn(Draw(SPEC, "inline", 1), replace=True)
    with pytest.raises(SpecError, match=r"~base_world"):
        spawner.save_world(tmp_path / "saved.world")


def test_many_obstacles_are_spawned_and_deleted_in_few_calls_with_progress():
    simulator, reports = Simulator(), []
    spec = parse(
        "{obstacles: [{type: box, count: 250}], region: {circle: {x_m: 0, y_m: 0, radius_m: 99}}}",
        ObstacleSpec,
        Path("inline"),
    )
    spawner = ObstacleSpawner(simulator, report=reports.append)
    placed = spawner.spawn(Draw(spec, "inline", 1), replace=True)
    assert stand_as_answered(simulator, placed)
    assert simulator.calls == [100, 100, 50]
    assert reports == [f"spawned {number} of 250 obstacles" for number in (100, 200, 250)]
    assert spawner.clear() == 250
    assert simulator.models == {}
    assert reports[3:] == [f"deleted {number} of 250 obstacles" for number in (100, 200, 250)]


def test_clear_deletes_all_other_obstacles_if_one_cannot_be_deleted():
    simulator = Simulator(in_file=[f"obstacle_box_{number}" for number in range(250)])
    simulator.undeletable = {"obstacle_box_0"}
    with pytest.raises(SimulatorError, match="still there"):
        ObstacleSpawner(simulator).clear()
    assert set(simulator.models) == {"obstacle_box_0"}


def test_spawner_draws_the_obstacles_of_multiply_in_a_band(tmp_path):
    spec = parse(
        """
obstacles: [{type: box, count: {per_100_m2: [20, 80]}, size_x_m: 0.2, size_y_m: 0.2}]
region: {along_path: {width_m: 2}}
mission: {start: [-4, -4], goal: [4, 4], footprint_m: [[0.2, 0.2], [-0.2, 0.2], [0, -0.2]]}
""",
        ObstacleSpec,
        Path("inline"),
    )
    (world,) = multiply(ROOM, spec, 1, 7, tmp_path / "worlds")
    spawner = ObstacleSpawner(Simulator(in_file=WALLS), ROOM)
    placed = spawner.spawn(Draw(spec, "inline", 7), replace=True)
    assert [one.name for one in placed] == [one.name for one in world.obstacles]
    for obstacle, record in zip(placed, world.obstacles):
        assert obstacle.pose.planar == pytest.approx((*record.pose[:2], record.pose[5]), abs=1e-5)
