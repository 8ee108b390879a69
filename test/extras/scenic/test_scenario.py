"""A scenario in Scenic as the set of obstacles that a service call places."""

import importlib.util
import shutil
from pathlib import Path

import pytest

pytest.importorskip("rospy")

from gz_testauto.base.errors import SpecError
from gz_testauto.extras.scenic import live_obstacles as scenario
from gz_testauto.ros.obstacles import spec_argument
from gz_testauto.ros.obstacles.node import obstacle_message
from gz_testauto.ros.obstacles.spec_argument import label_of, read_set, read_spec
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.scene import read_scene
from gz_testauto.spec.obstacles import ObstacleSpec
from gz_testauto.worlds.spawner import Draw, ObstacleSpawner

SCENIC = Path(__file__).resolve().parents[3] / "config" / "scenic"
needs_scenic = pytest.mark.skipif(
    importlib.util.find_spec("scenic") is None,
    reason="needs Scenic 3: pip install 'gz_testauto[scenic]'",
)

SCENE = """
workspace = Workspace(RectangularRegion(0 @ 0, 0, 8, 8))
ego = new Turtlebot3 at 0 @ 0
table = new CafeTable at 2 @ 2, facing 30 deg
new DemoCube on table
new Crate in RectangularRegion(-2 @ 0, 0, 2, 4), with width 0.7
new TrafficCone at -2 @ -3.5
pillar = new Object at 3 @ -3, with shape CylinderShape(), with width 0.4, with length 0.4
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a scenario and its models, and a separate cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    shutil.copytree(SCENIC / "models", tmp_path / "models")
    shutil.copy(SCENIC / "models.yaml", tmp_path)
    (tmp_path / "room.scenic").write_text(SCENE)
    return tmp_path


class Simulator:
    """A simulator that parses spawned models without a model path."""

    def __init__(self):
        self.models = {}

    def model_names(self):
        return {"ground_plane", *self.models}

    def poses(self, names):
        return {name: self.models[name].pose for name in names if name in self.models}

    def spawn(self, models):
        for name, sdf in models.items():
            document = SdfDocument.parse(sdf, name)
            (self.models[name],) = read_scene(document, model_path=()).models.values()

    def delete(self, names):
        for name in names:
            del self.models[name]


@needs_scenic
@pytest.mark.slow
def test_a_scenic_scene_is_spawned_replaced_and_deleted_as_one_set(place):
    simulator = Simulator()
    spawner = ObstacleSpawner(simulator)
    draw = Draw(read_set(str(place / "room.scenic")), "room", 3)
    placed = spawner.spawn(draw, replace=True)
    names = [
        "obstacle_cafe_table_0",
        "obstacle_demo_cube_0",
        "obstacle_crate_0",
        "obstacle_traffic_cone_0",
        "obstacle_object_0",
    ]
    assert [obstacle.name for obstacle in placed] == names  # in the order of the scenario
    table, cube, crate = (simulator.models[name] for name in names[:3])
    assert table.pose.position[:2] == pytest.approx((2, 2), abs=1e-6)
    assert table.bounds[2, 0] + 0.03 < cube.bounds[2, 0] < table.bounds[2, 1] + 0.001  # foot or top
    assert not cube.static
    assert crate.static == placed[2].static
    assert obstacle_message(placed[2]).size.x == pytest.approx(0.7, abs=1e-6)

    again = spawner.respawn()
    assert [obstacle.name for obstacle in again] == names
    assert again[2].pose.position != placed[2].pose.position  # what is drawn
    assert again[0].pose == placed[0].pose  # what is fixed
    assert spawner.clear() == len(names)


@needs_scenic
@pytest.mark.slow
def test_an_obstacle_set_has_the_poses_of_its_generated_world(place):
    from gz_testauto.extras.scenic.source import ScenicSource

    world = ScenicSource(place / "room.scenic", place / "models.yaml", 3).generate(1)
    (drawn,) = [one for one in world.obstacles if one.type == "crate"]
    text = f"{{scenic: {{file: {place}/room.scenic, models: {place}/models.yaml}}}}"
    crate = read_set(text).draw(3, 1)[2]
    assert crate.pose.position == pytest.approx(drawn.pose[:3], abs=1e-6)


def test_a_scenic_file_is_distinguished_from_an_obstacle_specification(place):
    text = f"{{scenic: {{file: {place}/room.scenic, models: {place}/models.yaml}}}}"
    (place / "set.yaml").write_text("scenic:\n  file: room.scenic\n  models: models.yaml\n")
    for argument in (str(place / "room.scenic"), text, str(place / "set.yaml")):
        assert isinstance(read_set(argument), scenario.Scenario)
    assert isinstance(read_set("obstacles"), ObstacleSpec)
    assert label_of(text) == spec_argument.INLINE


@pytest.mark.parametrize(
    ("argument", "complaint"),
    [
        ("", "spec is empty"),
        ("nothing.scenic", "is neither a name nor a file"),
        ("{scenic: {file: nothing.scenic}}", r"inline:1: scenic\.file .*nothing\.scenic"),
        ("{scenic: {file: room.scenic, model: models.yaml}}", r"inline:1: scenic: .*'models'"),
    ],
)
def test_an_invalid_scenic_section_is_rejected_with_the_reason(argument, complaint):
    with pytest.raises(SpecError, match=complaint):
        read_set(argument)


def test_the_multiplier_rejects_a_scenic_file(place):
    with pytest.raises(SpecError, match="scenic"):
        read_spec(f"{{scenic: {{file: {place}/room.scenic, models: {place}/models.yaml}}}}")
