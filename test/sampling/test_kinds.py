"""A kind of obstacle of another package: the example of docs/worlds.md."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from gz_testauto.base.errors import SpecError
from gz_testauto.base.pose import Pose
from gz_testauto.report.page.encoding import ShapeTable
from gz_testauto.sampling.models import ObstacleModel, type_of
from gz_testauto.sdf.floor import ANY_ROBOT, Heights
from gz_testauto.sdf.scene import read_scene
from gz_testauto.simulators import open_simulator
from gz_testauto.simulators.interface import NamedModel, Scene
from gz_testauto.spec.loader import parse
from gz_testauto.spec.obstacles import OBSTACLE_KINDS, ObstacleSpec
from gz_testauto.trial.clearance import ObstacleField
from gz_testauto.worlds.base import BaseWorld
from gz_testauto.worlds.multiply import multiply

CHECKOUT = Path(__file__).resolve().parents[2]
PLAIN = CHECKOUT / "worlds" / "plain.world"
SPEC = """region: {circle: {x_m: 0, y_m: 0, radius_m: 4}}
min_gap_m: 0.2
obstacles: [{type: capsule, count: 3, radius_m: [0.2, 0.4], length_m: 0.8, density_kgpm3: 50}]
"""


@pytest.fixture(autouse=True)
def installed(tmp_path, monkeypatch):
    text = (CHECKOUT / "docs" / "worlds.md").read_text()
    code, metadata = (
        re.search(f"```{language}\n(.*?)```", text[text.index("A kind of obstacle") :], re.S).group(
            1
        )
        for language in ("python", "toml")
    )
    group, entry = re.fullmatch(r'\[project.entry-points."(.*)"\]\n(.*)\n', metadata).groups()
    folder = tmp_path / "site"
    (folder / "kinds-1.dist-info").mkdir(parents=True)
    (folder / "my_kinds.py").write_text(code)
    (folder / "kinds-1.dist-info" / "METADATA").write_text("Name: kinds\nVersion: 1\n")
    (folder / "kinds-1.dist-info" / "entry_points.txt").write_text(
        f"[{group}]\n" + entry.replace('"', "")
    )
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(OBSTACLE_KINDS, "_discovered", False)
    monkeypatch.setattr(OBSTACLE_KINDS, "_loaders", dict(OBSTACLE_KINDS._loaders))


@pytest.fixture
def spec(installed):
    return parse(SPEC, ObstacleSpec, Path("capsules.yaml"))


@pytest.fixture
def worlds(spec, tmp_path):
    return multiply(PLAIN, spec, 2, 5, tmp_path / "worlds")


def test_unknown_key_of_an_added_kind_is_reported_with_the_known_keys():
    text = SPEC.replace("length_m: 0.8", "length: 0.8").replace("0.2, 0.4]", "-1, 0.4]")
    with pytest.raises(SpecError) as raised:
        parse(text, ObstacleSpec, Path("capsules.yaml"))
    below, unknown = sorted(str(raised.value).splitlines(), key=len)
    assert below.startswith("capsules.yaml:3: obstacles[0].radius_m")
    assert unknown.startswith("capsules.yaml:3: obstacles[0]: unknown key 'length'")
    assert "did you mean 'length_m'?" in unknown and "radius_m" in unknown


def test_the_error_for_an_unknown_kind_lists_the_kinds_of_other_packages():
    with pytest.raises(SpecError, match=r"obstacles\[0\].type.*'capsul'.*'capsule'.*sphere"):
        parse(SPEC.replace("type: capsule", "type: capsul"), ObstacleSpec, Path("c.yaml"))


def test_obstacles_of_an_added_kind_are_in_world_and_manifest(worlds, tmp_path):
    record = worlds.worlds[0]
    models = read_scene(record.path).models
    sizes = [dict(each.size) for each in record.obstacles]
    assert [each.type for each in record.obstacles] == ["capsule"] * 3
    for each, size in zip(record.obstacles, sizes):
        placed = models[each.name].collisions[0].geometry
        assert (placed.radius, placed.length) == (size["radius_m"], size["length_m"])
        assert size["length_m"] == 0.8 and 0.2 <= size["radius_m"] <= 0.4
        volume_m3 = 3.141592653589793 * size["radius_m"] ** 2 * (0.8 + 4 / 3 * size["radius_m"])
        assert each.mass_kg == pytest.approx(50 * volume_m3)
        assert models[each.name].bounds[2, 0] == pytest.approx(0.0, abs=1e-6)
    prints = [models[each.name].footprint(-9, 9) for each in record.obstacles]
    assert min(a.distance(b) for a, b in zip(prints, prints[1:])) >= 0.199
    assert BaseWorld(record.path).summary == "3 capsule"
    data = json.loads((tmp_path / "worlds" / "worlds.json").read_text())
    assert set(data["worlds"][0]["obstacles"][0]["size"]) == {"radius_m", "length_m"}


def test_added_obstacle_kind_obstructs_only_within_the_heights_of_the_robot():
    model = ObstacleModel.unit("capsule")
    assert model.height_m((0.5, 0.8)) == pytest.approx(1.8)
    assert model.cut((0.5, 0.8), Heights(0.0, 1.0)).polygon.area == pytest.approx(0.785, abs=0.002)
    low = model.cut((0.5, 0.8), Heights(0.0, 0.2)).polygon  # the cap: a circle of radius 0.4 m
    assert low.area == pytest.approx(3.1416 * (0.5**2 - 0.3**2), abs=0.002)
    assert type_of(read_scene(model.document).models["capsule"]) == "capsule"


@pytest.mark.slow
def test_embedded_simulator_spawns_an_added_kind(worlds):
    record = worlds.worlds[0]
    first = record.obstacles[0]
    text = ObstacleModel.unit("capsule").sdf("added", Pose(), (0.5, 1.0), 9.0, True)
    added = NamedModel("added", f'<sdf version="1.6">{text}</sdf>', Pose((8.0, 0.0, 1.0)))
    with open_simulator("embedded") as simulator:
        simulation = simulator.load(Scene(record.path))
        simulation.spawn([added])
        models = simulation.step(0.1).models
    assert models["added"].pose.position == pytest.approx((8.0, 0.0, 1.0))
    assert models[first.name].pose.position == pytest.approx(first.pose[:3], abs=1e-3)


def test_plots_and_page_draw_an_added_kind(worlds):
    record = worlds.worlds[0]
    outlines = ObstacleField(read_scene(record.path), ANY_ROBOT).outlines()
    table = ShapeTable()
    table.place(outlines[each.name] for each in record.obstacles)
    radii_mm = [1000 * each.size["radius_m"] for each in record.obstacles]
    assert [shape["r"] for shape in table.shapes] == pytest.approx(radii_mm, abs=1)


@pytest.mark.ros
def test_ros_messages_and_markers_contain_an_added_kind(spec):
    from genpy import Time
    from visualization_msgs.msg import Marker

    from gz_testauto.ros.obstacles.node import markers, obstacle_message
    from gz_testauto.sampling.placement import Placer
    from gz_testauto.sampling.site import Site

    obstacle = Placer(spec, Site()).place(np.random.default_rng(3)).obstacles[0]
    radius_m = obstacle.size[0]
    size = obstacle_message(obstacle).size
    assert obstacle_message(obstacle).type == "capsule"
    assert (size.x, size.y, size.z) == pytest.approx(
        (2 * radius_m, 2 * radius_m, 0.8 + 2 * radius_m)
    )
    _, shown = markers([obstacle], Time()).markers
    assert (shown.type, shown.ns) == (Marker.CYLINDER, "capsule")
