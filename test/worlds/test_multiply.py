import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
import shapely
from lxml import etree

from gz_testauto.base.errors import PlacementError, SdfError, SpecError
from gz_testauto.sampling.site import RequiredMission
from gz_testauto.sdf.scene import read_scene
from gz_testauto.spec.loader import load, parse
from gz_testauto.spec.obstacles import ObstacleSpec
from gz_testauto.worlds.base import BaseWorld
from gz_testauto.worlds.manifest import read_worlds
from gz_testauto.worlds.multiply import WorldGenerator, multiply

ROOT = Path(__file__).resolve().parents[2]
ROOM = ROOT / "worlds" / "room.world"

SPEC_TEXT = """
obstacles:
  - {type: box, count: 2, size_x_m: [0.3, 0.6], size_y_m: [0.3, 0.6]}
  - {type: cylinder, count: 2, radius_m: [0.1, 0.3]}
region: {rectangle: {x_m: [-3, 3], y_m: [-3, 3]}}
min_gap_m: 0.2
"""


def spec_of(text=SPEC_TEXT, **changes):
    return parse(text, ObstacleSpec, Path("forest.yaml")).model_copy(update=changes)


def files_of(directory):
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


def test_equal_inputs_give_identical_worlds_in_any_directory(tmp_path):
    for name in ("one", "other"):
        multiply(ROOM, spec_of(), 5, 7, tmp_path / name)
    assert files_of(tmp_path / "one") == files_of(tmp_path / "other")
    assert len(files_of(tmp_path / "one")) == 6


@pytest.mark.parametrize("method", ["uniform", "lhs", "sobol"])
def test_a_world_depends_only_on_seed_and_index(tmp_path, method):
    spec = spec_of(SPEC_TEXT + f"sampling: {{method: {method}, block: 4}}\n")
    multiply(ROOM, spec, 9, 7, tmp_path / "many")
    multiply(ROOM, spec, 3, 7, tmp_path / "few")
    many, few = files_of(tmp_path / "many"), files_of(tmp_path / "few")
    for name in few:
        assert name == "worlds.json" or few[name] == many[name]
    generator = WorldGenerator(BaseWorld(ROOM), spec, 7)
    for index in (8, 2, 5):
        entry = generator.generate(index, tmp_path)
        assert entry.path.read_bytes() == many[f"world_{index:04d}.world"]
    multiply(ROOM, spec, 3, 8, tmp_path / "other_seed")
    assert not set(files_of(tmp_path / "other_seed").values()) & set(many.values())


@pytest.mark.parametrize("models", ["", "x", "y"])
def test_density_is_computed_in_an_empty_base_world_and_with_one_wall(tmp_path, models):
    size = {"x": "8 0.1 1", "y": "0.1 8 1"}.get(models)
    wall = f"""<model name="wall"><static>1</static><pose>0 0 0.5 0 0 0</pose><link name="l">
        <collision name="c"><geometry><box><size>{size}</size></box></geometry></collision>
        </link></model>"""
    base = tmp_path / "base.world"
    base.write_text(f"<sdf version='1.6'><world name='w'>{wall if models else ''}</world></sdf>")
    made = multiply(
        base, spec_of(), 2, 7, tmp_path / "out", mission=RequiredMission((-9, -9), (9, 9), 0.3)
    )
    for entry in made:
        covered = sum(
            np.prod(list(o.size.values())[:2])
            if o.type == "box"
            else np.pi * o.size["radius_m"] ** 2
            for o in entry.obstacles
        )
        assert entry.difficulty.density == pytest.approx(covered / 6.8**2, rel=0.03)


def test_worlds_are_generated_from_a_base_world_in_utf_16(tmp_path):
    base = tmp_path / "wide.world"
    text = ROOM.read_text().replace(
        '<?xml version="1.0"?>', '<?xml version="1.0" encoding="UTF-16"?>'
    )
    base.write_bytes(text.encode("UTF-16"))
    (made,) = multiply(base, spec_of(), 1, 7, tmp_path / "out")
    assert set(read_scene(made.path).models) >= {"walls", "obstacle_box_0"}


def test_an_obstacle_with_a_scale_of_zero_is_rejected(tmp_path):
    (first,) = multiply(ROOM, spec_of(), 1, 7, tmp_path / "out")
    scaled = '<model name="obstacle_box_0"><scale>0 1 1</scale></model>'
    state = f'<state world_name="default">{scaled}</state>'
    base = tmp_path / "flat.world"
    base.write_text(first.path.read_text().replace("</world>", state + "</world>"))
    with pytest.raises(SdfError, match="model 'obstacle_box_0' has a size of 0"):
        multiply(base, spec_of(), 1, 7, tmp_path / "again")


def test_a_world_has_the_obstacles_of_the_manifest(tmp_path):
    mission = RequiredMission((-4, -4), (4, 4), 0.3)
    made = multiply(ROOM, spec_of(), 3, 7, tmp_path / "out", mission=mission)
    assert read_worlds(tmp_path / "out") == made
    for entry in made:
        scene = read_scene(entry.path)
        assert set(scene.models) == {"ground_plane", "walls"} | {o.name for o in entry.obstacles}
        assert entry.shortest_path_m >= np.hypot(8, 8) - 1e-9
        for obstacle in entry.obstacles:
            model = scene.models[obstacle.name]
            assert tuple(map(float, model.pose.to_text().split())) == obstacle.pose
            geometry = model.collisions[0].geometry
            if obstacle.type == "box":
                assert geometry.size == tuple(obstacle.size.values())
            else:
                assert (geometry.radius, geometry.length) == tuple(obstacle.size.values())
            assert model.bounds[2, 0] == pytest.approx(0.0, abs=1e-9)


def test_generated_world_has_the_other_elements_of_the_base_world(tmp_path):
    base = tmp_path / "base.world"
    text = ROOM.read_text().replace(
        "    <gui", "    <!-- keep me -->\n    <plugin name='p' filename='libp.so'/>\n    <gui"
    )
    base.write_text(text)
    multiply(base, spec_of(), 1, 7, tmp_path / "out")
    made = (tmp_path / "out" / "world_0000.world").read_text()
    without = re.sub(r'\s*<model name="obstacle_.*?</model>', "", made, flags=re.DOTALL)
    squeeze = str.maketrans("", "", " \n")
    expected = text.replace("'", '"').translate(squeeze)
    assert without.replace("'", '"').translate(squeeze) == expected
    assert "<!-- keep me -->" in made


def saved_world(tmp_path, name="saved.world"):
    """A world as the spawner leaves it, saved by Gazebo: with a <state> that overrides."""
    first = multiply(ROOM, spec_of(), 1, 3, tmp_path / "first").worlds[0]
    root = etree.fromstring(first.path.read_bytes())
    state = etree.SubElement(root.find("world"), "state", world_name="default")
    for obstacle in first.obstacles:
        model = etree.SubElement(state, "model", name=obstacle.name)
        x, y, z = obstacle.pose[:3]
        etree.SubElement(model, "pose").text = f"{x + 0.01} {y} {z} 0 0 0"
        link = etree.SubElement(model, "link", name="link")
        etree.SubElement(link, "pose").text = f"{x + 0.01} {y} {z} 0 0 0"
    path = tmp_path / name
    path.write_bytes(etree.tostring(root))
    return path


def test_the_obstacles_of_a_saved_world_are_drawn_with_new_poses_and_sizes(tmp_path):
    base = saved_world(tmp_path)
    fixed = SPEC_TEXT.replace("count: 2", "count: 9").replace(", radius_m: [0.1, 0.3]", "")
    made = multiply(base, spec_of(fixed), 4, 7, tmp_path / "out")
    before = {m.name: m for m in BaseWorld(base).obstacles}
    assert len(before) == 4
    for entry in made:
        assert [o.name for o in entry.obstacles] == list(before)
        content = entry.path.read_text()
        assert "<state" not in content
        scene = read_scene(entry.path)
        for obstacle in entry.obstacles:
            model = scene.models[obstacle.name]
            assert model.pose.to_text() != before[obstacle.name].pose.to_text()
            if obstacle.type == "cylinder":  # the paper's rule: what is not drawn stays
                old = before[obstacle.name].collisions[0].geometry
                assert model.collisions[0].geometry == old
    first = [o.pose for o in made.worlds[0].obstacles]
    assert first != [o.pose for o in made.worlds[1].obstacles]


FOREIGN = """<sdf version="1.6"><world name="elsewhere">
  <include><uri>{crate}</uri><name>crate_1</name><pose>1 1 0 0 0 0</pose></include>
  <model name="wrapped"><pose>-2 0 0 0 0 0</pose>
    <include><uri>{crate}</uri><pose>0 0 0 0 0 0.3</pose></include></model>
  <model name="pillar"><static>1</static><link name="l"><collision name="c"><geometry>
    <cylinder><radius>0.2</radius><length>3</length></cylinder></geometry></collision></link></model>
</world></sdf>"""

CRATE = """<sdf version="1.5"><model name="crate"><link name="l"><pose>0 0 0.25 0 0 0</pose>
  <collision name="c"><geometry><box><size>0.5 0.5 0.5</size></box></geometry></collision>
</link></model></sdf>"""


def foreign_world(tmp_path):
    model = tmp_path / "crate"
    model.mkdir()
    (model / "model.sdf").write_text(CRATE)
    (model / "model.config").write_text(
        "<model><name>crate</name><sdf version='1.5'>model.sdf</sdf></model>"
    )
    path = tmp_path / "foreign.world"
    path.write_text(FOREIGN.format(crate=model.as_uri()))
    return path


def test_a_pattern_finds_obstacles_in_includes_and_nested_models(tmp_path):
    base = foreign_world(tmp_path)
    # The wrapped crate is turned in its wrapper, so it can be scaled, not stretched.
    spec = spec_of(
        SPEC_TEXT.replace("region", "  - {type: model, count: 0, scale: [1, 2]}\nregion")
    )
    pattern = re.compile(r"crate_\d+|wrapped")
    made = multiply(base, spec, 3, 7, tmp_path / "out", pattern=pattern)
    for entry in made:
        scene = read_scene(entry.path)
        assert set(scene.models) == {"crate_1", "wrapped", "pillar"}
        assert scene.models["pillar"].pose.position == (0.0, 0.0, 0.0)
        for obstacle in entry.obstacles:
            model = scene.models[obstacle.name]
            assert model.pose.position == pytest.approx(obstacle.pose[:3])
            assert model.bounds[2, 0] == pytest.approx(0.0, abs=1e-6)
    sizes = {tuple(obstacle.size.values()) for entry in made for obstacle in entry.obstacles}
    assert len(sizes) == 6


def test_the_error_for_a_pattern_without_a_match_lists_the_models(tmp_path):
    with pytest.raises(SpecError, match=r"'tree_\.\*'. Models: ground_plane, walls"):
        multiply(ROOM, spec_of(), 1, 0, tmp_path / "out", pattern=re.compile("tree_.*"))
    assert not (tmp_path / "out").exists()


def test_obstacle_without_an_entry_is_reported_with_its_name(tmp_path):
    base = saved_world(tmp_path)
    only_spheres = (
        "obstacles: [{type: sphere, count: 1}]\nregion: {circle: {x_m: 0, y_m: 0, radius_m: 3}}\n"
    )
    with pytest.raises(SpecError, match=r"'obstacle_box_0' is a box.*add an entry"):
        multiply(base, spec_of(only_spheres), 1, 0, tmp_path / "out")


def test_worlds_of_other_inputs_are_not_replaced(tmp_path):
    out = tmp_path / "out"
    multiply(ROOM, spec_of(), 2, 7, out)
    before = files_of(out)
    wider = spec_of(min_gap_m=0.3)
    for arguments, what in (
        ((spec_of(), 2, 8), r"\(seed differs\)"),
        ((wider, 2, 7), r"\(spec_sha256 differs\)"),
        ((wider, 2, 8), r"\(seed, spec_sha256 differ\)"),
    ):
        with pytest.raises(SpecError, match=what):
            multiply(ROOM, *arguments, out)
    assert files_of(out) == before
    multiply(ROOM, spec_of(), 3, 8, out, force=True)
    assert len(read_worlds(out)) == 3


def test_number_of_worlds_from_the_same_inputs_can_change(tmp_path):
    out = tmp_path / "out"
    multiply(ROOM, spec_of(), 4, 7, out)
    before = files_of(out)
    multiply(ROOM, spec_of(), 2, 7, out)
    assert sorted(files_of(out)) == ["world_0000.world", "world_0001.world", "worlds.json"]
    multiply(ROOM, spec_of(), 4, 7, out)
    assert files_of(out) == before


@pytest.mark.parametrize("force", [False, True])
def test_a_directory_with_other_files_is_never_changed(tmp_path, force):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(SpecError, match=r"not written by .multiply. \(thesis\.tex\)"):
        multiply(ROOM, spec_of(), 1, 7, tmp_path, force=force)
    assert files_of(tmp_path) == {"thesis.tex": b"years of work"}
    for name in "abc":
        (tmp_path / name).touch()
    with pytest.raises(SpecError, match=r"\(a, b, c, \.\.\.\)"):
        multiply(ROOM, spec_of(), 1, 7, tmp_path, force=force)


def test_progress_is_the_number_of_generated_worlds(tmp_path):
    calls = []
    multiply(ROOM, spec_of(), 3, 7, tmp_path / "out", progress=lambda *call: calls.append(call))
    assert calls == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, OSError])
def test_an_interrupted_run_leaves_the_directory_unchanged(tmp_path, stop):
    out = tmp_path / "out"
    multiply(ROOM, spec_of(), 2, 7, out)
    before = files_of(out)

    def interrupt(done, count):
        if done == 3:
            raise stop

    with pytest.raises(stop):
        multiply(ROOM, spec_of(), 5, 7, out, progress=interrupt)
    assert files_of(out) == before
    assert os.listdir(tmp_path) == ["out"]


def test_the_error_for_obstacles_that_do_not_fit_names_the_world(tmp_path):
    crowded = spec_of(SPEC_TEXT.replace("count: 2", "count: 40"), max_tries=500, min_gap_m=0.5)
    with pytest.raises(
        PlacementError, match=r"world_0000: found room for \d+ of 80 obstacles after 500"
    ):
        multiply(ROOM, crowded, 2, 7, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("base", "count", "seed", "problem"),
    [
        ("none.world", 1, 0, r"none\.world: cannot be read: No such file"),
        ("broken.world", 1, 0, r"broken\.world:1:\d+: "),
        ("model.sdf", 1, 0, "no <world>"),
        ("room.world", 0, 0, "count is 0"),
        ("room.world", 1, -1, "seed is -1"),
    ],
)
def test_invalid_input_of_multiply_is_rejected(tmp_path, base, count, seed, problem):
    (tmp_path / "broken.world").write_text("<sdf version='1.6'><world name='w'></sdf>")
    (tmp_path / "model.sdf").write_text(
        "<sdf version='1.6'><model name='m'><link name='l'/></model></sdf>"
    )
    (tmp_path / "room.world").write_bytes(ROOM.read_bytes())
    with pytest.raises((SpecError, SdfError), match=problem):
        multiply(tmp_path / base, spec_of(), count, seed, tmp_path / "out")


def test_worlds_of_a_directory_without_a_manifest_are_read(tmp_path):
    for name in ("b.world", "a.world"):
        (tmp_path / name).write_bytes(ROOM.read_bytes())
    worlds = read_worlds(tmp_path)
    assert [world.name for world in worlds] == ["a", "b"]
    assert worlds.worlds[0].shortest_path_m is None
    assert worlds.worlds[0].obstacles == ()


def replace_in(path, old, new):
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda d: (d / "world_0001.world").unlink(), r"world_0001\.world: the file is missing"),
        (
            lambda d: replace_in(d / "worlds.json", "world_0001.", "x" * 300),
            "xxworld: the file is miss",
        ),
        (
            lambda d: (d / "world_0001.world").write_text("<sdf/>"),
            "0001.world: the file differs from",
        ),
        (
            lambda d: replace_in(d / "worlds.json", "world_0001", "world_0000"),
            "it lists world_0000 twice",
        ),
        (lambda d: (d / "worlds.json").write_text('{"schema'), "cannot be read: Unterminated"),
        (lambda d: (d / "worlds.json").write_text('{"schema_version": 9}'), "schema version 9"),
        (lambda d: (d / "worlds.json").write_text('{"schema_version": 1}'), "is damaged"),
    ],
)
def test_a_damaged_set_of_worlds_is_rejected(tmp_path, damage, problem):
    multiply(ROOM, spec_of(), 2, 7, tmp_path / "out")
    damage(tmp_path / "out")
    with pytest.raises(SpecError, match=problem):
        read_worlds(tmp_path / "out")


def test_an_empty_or_missing_directory_is_rejected(tmp_path):
    with pytest.raises(SpecError, match=r"contains no \.world files"):
        read_worlds(tmp_path)
    with pytest.raises(SpecError, match="directory does not exist"):
        read_worlds(tmp_path / "none")


def test_the_manifest_has_all_inputs_and_obstacles(tmp_path):
    spec = spec_of(SPEC_TEXT + "sampling: lhs\n")
    multiply(ROOM, spec, 2, 7, tmp_path / "out", mission=RequiredMission((-4, -4), (4, 4), 0.3))
    data = json.loads((tmp_path / "out" / "worlds.json").read_text())
    assert data["schema_version"] == 1
    assert data["inputs"]["seed"] == 7
    mission = {"start": [-4, -4], "goal": [4, 4], "radius_m": 0.3, "heights_m": [0.02, 2.0]}
    assert data["inputs"]["mission"] == mission
    assert set(data["coverage"]) == {"discrepancy", "independent"}
    world = data["worlds"][1]
    assert set(world["difficulty"]) == {
        *("density", "mean_clearance_m", "narrowest_gap_m", "average_visibility_m"),
        *("dispersion", "characteristic_dimension_m", "tortuosity"),
    }
    assert world["file"] == "world_0001.world"
    assert set(world["obstacles"][0]) == {"name", "type", "pose", "size", "mass_kg", "static"}
    assert set(world["obstacles"][0]["size"]) == {"size_x_m", "size_y_m", "size_z_m"}


def test_example_specification_generates_the_worlds_of_the_paper(tmp_path):
    spec = load(ROOT / "config" / "obstacles.yaml", ObstacleSpec)
    made = multiply(ROOT / "worlds" / "arena.world", spec, 3, 7, tmp_path / "out")
    for world in made:
        types = [obstacle.type for obstacle in world.obstacles]
        assert (types.count("box"), types.count("cylinder")) == (8, 8)
        assert 31.1 < world.shortest_path_m < 60


def test_band_and_density_give_the_same_worlds_for_the_same_seed(tmp_path):
    text = """
obstacles: [{type: box, count: {per_100_m2: [20, 80]}, size_x_m: 0.2, size_y_m: 0.2}]
region: {along_path: {width_m: 2}}
"""
    mission = RequiredMission((-4, -4), (4, 4), 0.3, via=((4, -4),))
    for name in ("first", "second"):
        worlds = multiply(ROOM, spec_of(text), 4, 7, tmp_path / name, mission=mission)
    assert files_of(tmp_path / "first") == files_of(tmp_path / "second")
    path = shapely.LineString([(-4, -4), (4, -4), (4, 4)])
    counts = [len(world.obstacles) for world in worlds]
    assert 6 <= min(counts) < max(counts) <= 27  # about 33 m² at most
    for world in worlds:
        for obstacle in world.obstacles:
            assert path.distance(shapely.Point(obstacle.pose[:2])) <= 1.0
    with pytest.raises(PlacementError, match=r"along_path needs a mission"):
        multiply(ROOM, spec_of(text), 4, 7, tmp_path / "third")
