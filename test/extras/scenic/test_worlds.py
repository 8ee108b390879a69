"""Scenarios become worlds in which nothing is amiss, read from the files alone."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

import gz_testauto
from gz_testauto.base.errors import PlacementError, ResourceError, SpecError
from gz_testauto.sdf.scene import read_scene

EXAMPLES = Path(__file__).resolve().parents[3] / "config" / "scenic"
SOURCE = Path(__file__).resolve().parents[3] / "src"
ROBOTS = {"fetch": (0.25, 1.0), "turtlebot3": (0.07, 0.15)}

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("needs_scenic")]

PAIR = """<sdf version="1.6"><model name="pair"><link name="a"><collision name="c"><geometry><box>
<size>1 1 1</size></box></geometry></collision></link><link name="b"><pose>0.5 0 1 0 0 0</pose>
<collision name="c"><geometry><box><size>1 1 1</size></box></geometry></collision></link></model>
</sdf>"""
BARREL = """<sdf version="1.6"><model name="barrel"><static>true</static><link name="l">
<collision name="c"><geometry><cylinder><radius>0.5</radius><length>1</length></cylinder></geometry>
</collision></link></model></sdf>"""
ROOM = "workspace = Workspace(RectangularRegion(0 @ 0, 0, 8, 8))\n"

SCENARIOS = {
    "empty_room": (None, 10.0),
    "things": (None, 10.0),
    "fetch": (None, 10.0),
    "storage": (None, 40.0),
    "resized": (
        ROOM + "new Crate at 0 @ 0, with width 0.7, with length 0.3, with height 0.5\n"
        "for i in range(6):\n"
        "    new Crate with width Range(0.3, 0.9), with height Range(0.2, 0.5)\n",
        10.0,
    ),
    "stacked": (
        ROOM + "t = new CafeTable\na = new Crate on t, with width 0.3, with length 0.3\n"
        "b = new DemoCube on a\nnew DemoCube on b\nnew DemoCube left of b by 0.01\n",
        10.0,
    ),
    "beside": (
        ROOM + "ego = new Fetch at 0 @ 0\ns = new Bookshelf at 2 @ 2, facing Range(0, 360) deg\n"
        "new TrafficCone ahead of s by Range(0.1, 1)\nnew Crate left of s\n"
        "new TrafficCone at s offset by 0 @ -1\nnew DemoCube on s\n"
        "new Waypoint ahead of s by 0.5\n",
        10.0,
    ),
    "described": (
        ROOM + "class Barrel:\n    shape: CylinderShape()\n    width: 0.5\n    length: 0.5\n"
        "    height: Range(0.5, 1)\n    color: (0.1, 0.2, 0.8)\n"
        "b = new Barrel in workspace\nnew Barrel in workspace\nnew Object on b, with width 0.2, "
        "with length 0.2, with height 0.2\nnew Object at (-2, -2), facing 30 deg\n"
        "require (distance from b to (0, 0)) > 1\n",
        10.0,
    ),
}


def source_of(tmp_path, name, seed, **options):
    from gz_testauto.extras.scenic.source import ScenicSource

    text, _ = SCENARIOS[name]
    path = EXAMPLES / f"{name}.scenic"
    if text is not None:
        path = tmp_path / f"{name}.scenic"
        path.write_text(text)
    return ScenicSource(path, EXAMPLES / "models.yaml", seed, **options)


@pytest.mark.parametrize("name", SCENARIOS)
def test_worlds_of_the_example_scenarios_are_valid(name, tmp_path):
    from output_check import faults_of

    from gz_testauto.extras.scenic.output import write_scenes

    half = SCENARIOS[name][1] / 2
    out = tmp_path / "out"
    worlds = write_scenes(source_of(tmp_path, name, 11), 3, out, plots=False)
    assert len(worlds) == 3
    assert faults_of(out, (-half, -half, half, half), ROBOTS) == []


def test_a_seed_gives_identical_world_files_in_any_directory(tmp_path):
    made = []
    for number in (1, 2):
        place = tmp_path / f"place{number}"
        place.mkdir()
        environment = {**os.environ, "PYTHONHASHSEED": str(number), "PYTHONPATH": str(SOURCE)}
        subprocess.run(
            [
                *(sys.executable, "-m", "gz_testauto.cli.main", "scenic"),
                *(str(EXAMPLES / "fetch.scenic"), str(EXAMPLES / "models.yaml")),
                *("--out", "out", "-n", "2", "--seed", "3"),
            ],
            cwd=str(place),
            env=environment,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        files = sorted(path for path in place.rglob("*") if path.is_file())
        made.append({str(path.relative_to(place)): path.read_bytes() for path in files})
    assert made[0] == made[1]
    assert {"out/world_0001.png", "out/world_0001.svg", "out/world_0001.yaml"} <= set(made[0])


def test_a_world_depends_only_on_the_seed_and_its_index(tmp_path):
    source = source_of(tmp_path, "fetch", 5)
    last_first = [source.generate(index).content for index in (2, 0)]
    fresh = source_of(tmp_path, "fetch", 5)
    assert [fresh.generate(index).content for index in (0, 2)] == last_first[::-1]
    assert fresh.generate(1).content != fresh.generate(0).content
    assert source_of(tmp_path, "fetch", 6).generate(0).content != last_first[1]


@pytest.mark.slow
def test_worlds_do_not_depend_on_the_number_of_processes(tmp_path, monkeypatch):
    from gz_testauto.extras.scenic.output import write_scenes

    made = []
    for workers, alone_s in ((1, 5.0), (2, 0.0)):
        monkeypatch.setattr("gz_testauto.extras.scenic.output.ALONE_S", alone_s)
        out, told = tmp_path / f"by_{workers}", []
        source = source_of(tmp_path, "fetch", 3)
        worlds = write_scenes(
            source, 3, out, progress=lambda *done, told=told: told.append(done), workers=workers
        )
        assert [world.name for world in worlds] == ["world_0000", "world_0001", "world_0002"]
        assert told == [(1, 3), (2, 3), (3, 3)]
        files = sorted(path for path in out.rglob("*") if path.is_file())
        made.append({str(path.relative_to(out)): path.read_bytes() for path in files})
    assert made[0] == made[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("require (distance from ego to box) > 50", PlacementError, r"`require` on line 4"),
        (
            "import multiprocessing, os\n"
            "if multiprocessing.current_process().name != 'MainProcess':\n"
            "    os._exit(1)",
            ResourceError,
            r"a worker process exited .*worlds of .*\.scenic.*--workers",
        ),
    ],
)
def test_an_error_in_a_worker_process_is_reported(
    text, error, says, workshop, tmp_path, monkeypatch
):
    from gz_testauto.extras.scenic.output import write_scenes

    monkeypatch.setattr("gz_testauto.extras.scenic.output.ALONE_S", 0.0)
    workshop.box("box", "1 1 1")
    source = workshop.source(
        "workspace = Workspace(RectangularRegion(0 @ 0, 0, 9, 9))\n"
        f"ego = new Box\nbox = new Box\n{text}\n"
    )
    with pytest.raises(error, match=says):
        write_scenes(source, 5, tmp_path / "out", plots=False, workers=2)
    assert not list(tmp_path.glob("*out*"))


def test_a_scene_generated_with_keep_placed_is_valid(tmp_path):
    from output_check import faults_of

    from gz_testauto.extras.scenic.output import write_scenes

    source = source_of(tmp_path, "storage", 2, parameters={"count": 60}, keep=True)
    write_scenes(source, 1, tmp_path / "out", plots=False)
    assert len(source.generate(0).obstacles) == 60
    assert faults_of(tmp_path / "out", (-15, -15, 15, 15)) == []


def only_model(world, tmp_path, name):
    path = tmp_path / "only.world"
    path.write_bytes(world.content)
    path_of_models = [tmp_path / "parts", EXAMPLES / "models", EXAMPLES.parents[1] / "models"]
    return read_scene(path, path_of_models).models[name]


def test_a_model_with_its_origin_at_a_corner_is_placed_by_its_center(workshop, tmp_path):
    workshop.box("brick", "1 2 3", pose="0.5 1 1.5 0 0 0")
    source = workshop.source("new Brick at 4 @ 5, facing 90 deg")
    model = only_model(source.generate(0), tmp_path, "brick_0")
    assert np.allclose(model.bounds, [[3, 5], [4.5, 5.5], [0, 3]], atol=1e-4)


@pytest.mark.parametrize("spelling", ["LampAndStand", "Lampandstand"])
def test_a_class_has_the_name_of_gzscenic_and_that_with_the_letters_of_its_model(
    workshop, tmp_path, spelling
):
    workshop.box("LampAndStand", "1 2 3")
    world = workshop.source(f"new {spelling} at 4 @ 5, facing 90 deg").generate(0)
    bounds = only_model(world, tmp_path, "lamp_and_stand_0").bounds
    assert np.allclose(bounds[:2], [[3, 5], [4.5, 5.5]], atol=1e-4)


@pytest.mark.parametrize(("front", "low"), [("y", [2, 4.5]), ("x", [2.5, 4])])
def test_the_front_of_a_model_points_in_the_direction_of_the_object(workshop, tmp_path, front, low):
    workshop.box("long", "2 1 1", front=front)
    world = workshop.source("new Long at 3 @ 5, facing 0 deg").generate(0)
    model = only_model(world, tmp_path, "long_0")
    assert np.allclose(model.bounds[:2, 0], low)
    assert model.pose.yaw_rad == pytest.approx({"y": 0.0, "x": np.pi / 2}[front])


def test_a_mission_item_that_faces_west_has_yaw_pi(workshop):
    workshop.entry("robot", "MISSION_ONLY", width=0.5, length=0.5)
    world = workshop.source("new Robot at 1 @ 2, facing 90 deg").generate(0)
    assert world.mission == {
        "robot": [{"heading": pytest.approx(np.pi), "x": 1.0, "y": 2.0, "z": 0.0}]
    }


def test_a_class_can_define_a_default_heading(workshop):
    workshop.entry("robot", "MISSION_ONLY", front="y")
    world = workshop.source(
        "class Tilted(Robot):\n    parentOrientation: 30 deg\n"
        "new Tilted at 0 @ 0\nnew Tilted at 3 @ 0, facing 50 deg\n"
        "class Later(Tilted):\n    yaw: 10 deg\nnew Later at 6 @ 0\n"
    ).generate(0)
    headings = [np.degrees(item["heading"]) for item in world.mission["robot"]]
    assert headings == pytest.approx([30, 50, 40])


def test_only_drawn_objects_are_named_as_obstacles(workshop):
    workshop.box("brick", "1 1 1")
    world = workshop.source(
        "new Brick at 4 @ 5, facing 0 deg\nnew Brick at Range(0, 1) @ 1, facing 0 deg\n"
        "new Brick at 8 @ 8\n"
    ).generate(0)
    assert [name.text for name, _ in world.objects] == [
        "brick_0",
        "obstacle_brick_1",
        "obstacle_brick_2",
    ]
    assert [record.name for record in world.obstacles] == ["obstacle_brick_1", "obstacle_brick_2"]


def test_an_explicit_height_of_an_object_is_not_changed(workshop, tmp_path):
    workshop.box("brick", "1 1 1", pose="0 0 0.5 0 0 0")
    workshop.box("low", "1 1 1", pose="0 0 0.5 0 0 0", z=0.25)
    world = workshop.source(
        "new Brick at (4, 5, 3), facing 0 deg\nnew Brick at 0 @ 0, with z 2, facing 0 deg\n"
        "new Low at 8 @ 8, facing 0 deg\n"
    ).generate(0)
    floors = [
        only_model(world, tmp_path, name).bounds[2, 0] for name in ("brick_0", "brick_1", "low_0")
    ]
    assert np.allclose(floors, [2.5, 2.0, 0.25])


def test_a_leaning_object_rests_on_its_lowest_point(workshop, tmp_path):
    workshop.box("brick", "1 1 1")
    world = workshop.source("new Brick at 4 @ 5, facing (0, 30 deg, 20 deg)").generate(0)
    assert only_model(world, tmp_path, "brick_0").bounds[2, 0] == pytest.approx(0, abs=1e-4)


def test_the_default_size_of_an_object_is_that_of_its_model(workshop, tmp_path):
    workshop.box("brick", "1 2 1")
    world = workshop.source(
        "new Brick at 0 @ 0, facing 0 deg\nnew Brick at 5 @ 5, facing 0 deg, with length 3.3\n"
    ).generate(0)
    sizes = [np.ptp(only_model(world, tmp_path, f"brick_{n}").bounds, axis=1) for n in (0, 1)]
    assert np.allclose(sizes, [[1, 2, 1], [1, 3.3, 1]], atol=1e-6)


def test_resizing_a_model_with_a_fixed_size_is_rejected(workshop):
    workshop.box("brick", "1 2 1", dynamic_size=False)
    with pytest.raises(SpecError, match=r"brick_0 .* is fixed .*`dynamic_size: false`"):
        workshop.source("new Brick at 0 @ 0, facing 0 deg, with length 3")


@pytest.mark.parametrize("length", [0.1, 3, 20])
def test_a_scenario_can_resize_a_model_to_any_size(workshop, tmp_path, length):
    workshop.box("brick", "1 1 1")
    workshop.model("pair", PAIR, dynamic_size=True)
    workshop.model("two", PAIR.replace("pair", "two"))
    world = workshop.source(
        f"new Brick at 0 @ 0, facing 0 deg, with length {length}\n"
        f"new Pair at 10 @ 0, facing 0 deg, with length {length}\n"
        f"new Two at 20 @ 0, facing 0 deg, with length {length}\n"
    ).generate(0)
    for name in ("brick_0", "pair_0", "two_0"):
        assert np.ptp(only_model(world, tmp_path, name).bounds, axis=1)[1] == pytest.approx(length)


def test_dynamic_size_drawn_gives_a_random_size(workshop):
    workshop.box("brick", "1 2 4", dynamic_size="drawn")
    workshop.model("barrel", BARREL, dynamic_size="drawn")
    source = workshop.source(
        "new Brick at 0 @ 0, facing 0 deg\nnew Barrel at 9 @ 0, facing 0 deg\n"
        "new Brick at 20 @ 0, facing 0 deg, with width 7\n"
        "new Barrel at 30 @ 0, facing 0 deg, with length 7\n"
    )
    worlds = [source.generate(index) for index in range(20)]
    sizes = np.array(
        [[(o.width, o.length, o.height) for _, o in world.objects] for world in worlds], float
    )
    bricks, barrels, asked, asked_barrels = sizes.transpose(1, 0, 2)
    assert np.all(bricks >= [0.5, 1, 2]) and np.all(bricks <= [2, 4, 8])
    assert np.all(bricks.min(axis=0) < [0.8, 1.6, 3.2]), "down to half"
    assert np.all(bricks.max(axis=0) > [1.6, 3.2, 6.4]), "up to double"
    assert np.array_equal(barrels[:, 0], barrels[:, 1]), "it stays round"
    assert np.all(asked[:, 0] == 7) and np.ptp(asked[:, 1]) > 0.5
    assert np.all(asked_barrels[:, :2] == 7)
    assert {name.text[:9] for name, _ in worlds[0].objects} == {"obstacle_"}, "they are drawn"


@pytest.mark.parametrize("name", ["grey_wall", "GREY-WALL"])
def test_a_wall_of_the_descriptor_replaces_the_built_in_wall(workshop, tmp_path, name):
    workshop.box(name, "0.2 1 2")
    source = workshop.source("create_room(6, 4)\nnew GreyWall at 0 @ 0\n")
    world = source.generate(0)
    assert {obj.gz_model for _, obj in world.objects} == {name}
    assert not any("obstacle" in name.text for name, _ in world.objects), "it has a heading"
    own = only_model(world, tmp_path, world.objects[4][0].text)
    assert np.allclose(np.ptp(own.bounds, axis=1), [0.2, 1, 2])


def test_a_model_named_like_a_behavior_gets_a_suffixed_class_name(workshop):
    workshop.box("stand", "1 1 1")
    workshop.entry("robot", "MISSION_ONLY")
    source = workshop.source(
        "workspace = Workspace(RectangularRegion(0 @ 0, 0, 9, 9))\nego = new Robot at 3 @ 3\n"
        "new StandModel at 0 @ 0, with behavior Stand()\n",
        dynamic=True,
    )
    assert source.generate(0).objects


def test_walls_of_a_room_can_touch_at_the_corners(workshop, tmp_path):
    world = workshop.source("create_room(6, 4)").generate(0)
    path = tmp_path / "room.world"
    path.write_bytes(world.content)
    from shapely import unary_union

    walls = read_scene(path).models.values()
    outline = unary_union([w.footprint(0.5, 0.5) for w in walls if not w.is_ground]).buffer(1e-9)
    assert outline.geom_type == "Polygon"
    assert len(outline.interiors) == 1


def test_models_are_drawn_in_the_workspace_of_the_scenario(workshop):
    workshop.box("brick", "0.1 0.1 0.1")
    source = workshop.source(
        "workspace = Workspace(RectangularRegion(100 @ 50, 0, 2, 2))\nnew Brick\n"
    )
    for index in range(5):
        x, y, *_ = source.generate(index).obstacles[0].pose
        assert abs(x - 100) < 1
        assert abs(y - 50) < 1


def test_an_impossible_scenario_is_rejected_with_the_most_violated_requirement(workshop):
    workshop.box("brick", "1.5 1.5 1")
    source = workshop.source(
        "workspace = Workspace(RectangularRegion(0 @ 0, 0, 2.2, 2.2))\nfor i in range(3):\n"
        "    new Brick\nrequire 1 < 2\n"
    )
    complaint = r"in 2000 draws of scenes\. .* tested alone: obstacle_brick_\d "
    with pytest.raises(PlacementError, match=complaint):
        source.generate(0)


def test_a_requirement_that_no_scene_satisfies_is_reported_with_its_line(workshop):
    workshop.box("brick", "1 1 1")
    source = workshop.source("x = Range(0, 1)\nnew Brick at x @ 0\n\nrequire x > 2 + 0 * x\n")
    complaint = r"tested alone: `require` on line 4 \(100% of draws\)"
    with pytest.raises(PlacementError, match=complaint):
        source.generate(0)


INFEASIBLE = [
    (  # "within the workspace" is tested first and fails often, but objects always collide
        "workspace = Workspace(RectangularRegion(0 @ 0, 0, 1.6, 1.6))\n"
        "for i in range(10):\n    new Brick\n",
        r"obstacle_brick_\d+ without collision \(\d+% of draws\); "
        r"obstacle_brick_\d+ within the workspace \(\d+% of draws\)\. ",
    ),
    (
        "ego = new Brick at 0 @ 0\nnew Brick at Range(-0.1, 0.1) @ 0\n",
        r"(obstacle_)?brick_\d+ without collision \(100% of draws\)\. ",
    ),
    (
        "workspace = Workspace(RectangularRegion(0 @ 0, 0, 3, 3))\n"
        "x = Range(0, 1)\nnew Brick at x @ 0\nnew Brick\nrequire x > 2\n",
        r"`require` on line 5 \(100% of draws\); obstacle_brick_\d .*\. ",
    ),
    (
        "x = Range(0, 1)\nnew Brick at 0 @ 0\nrequire x > 2 + 0 * x\n",
        r"`require` on line 3 \(100% of draws\)\. ",
    ),
    (
        "new Brick in RectangularRegion(9 @ 9, 0, 1, 1).intersect(RectangularRegion(0 @ 0, 0.1, "
        "Range(1, 2), 1))\n",
        r"a position to draw( \(.*\))? \(100% of draws\)\. ",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize(("text", "named"), INFEASIBLE)
def test_the_most_frequently_violated_requirement_is_reported(
    workshop, monkeypatch, text, named, keep
):
    from gz_testauto.extras.scenic import sampler

    monkeypatch.setattr(sampler, "MOST_DRAWS", 20)
    monkeypatch.setattr(sampler, "MOST_KEEPING_DRAWS", 20)
    monkeypatch.setattr(sampler, "KEEPING_DRAWS", 2)
    monkeypatch.setattr(sampler, "DIAGNOSED", 50)
    workshop.box("brick", "0.5 0.5 1")
    source = workshop.source(text, keep=keep)
    drawn = []
    with pytest.raises(PlacementError, match=f"tested alone: {named}"):
        source.generate(0, lambda draws, limit: drawn.append((draws, limit)))
    limit = 20 + 2 * len(source.program.scenario.objects) if keep else 20
    assert drawn == [(number, limit) for number in range(limit)]


@pytest.mark.slow
def test_draws_are_reported_during_the_generation_of_a_world(
    workshop, tmp_path, monkeypatch, capsys
):
    from gz_testauto.cli.main import main
    from gz_testauto.extras.scenic import cli as scenic
    from gz_testauto.extras.scenic import sampler

    monkeypatch.setattr(sampler, "MOST_KEEPING_DRAWS", 20)
    monkeypatch.setattr(scenic, "DRAWS_SHOWN_S", 0.0)
    workshop.box("brick", "1 1 1")
    scenario = workshop.scenario("x = Range(0, 1)\nnew Brick at x @ 0\nrequire x > 2\n")
    made = ["scenic", str(scenario), str(workshop.descriptor), "--out", str(tmp_path / "out")]
    assert main([*made, "--keep-placed"]) == 2
    said = capsys.readouterr().err
    assert "drawing a world: 219 of at most 220 draws\n" in said
    assert "`require` on line 3 (100% of draws)" in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ego = new Brick\nrequire always ego.x > 0\n", ":2: `always` refers to time"),
        ("ego = new Brick\nrequire eventually ego.x > 0\n", ":2: `eventually` refers to time"),
        ("ego = new Brick\nrequire (ego.x > 0) until (ego.x < 0)\n", ":2: `until` refers to time"),
        ("behavior Go():\n    wait\nnew Brick\n", ":1: a `behavior` refers to time"),
        ("monitor M():\n    wait\nrequire monitor M()\n", ":1: a `monitor` refers to time"),
        ("x = 1\nmodel scenic.simulators.webots.model\n", ":2: scenic.simulators.webots.model is"),
        ("from scenic.simulators.gta.model import Car\n", ":1: scenic.simulators.gta.model is"),
        ("x = 1\nego = Brick at 0 @ 0\n", ":2: "),
        ("x = 1\nnew Brick at undefined_name\n", ":2: NameError"),
        ("x = 1\nnew Brik at 0 @ 0\n", ":2: NameError: name 'Brik' is not defined"),
        ("x = 1\n\nnew Brick offset by 1 @ 2\n", ":3: referred to ego object not yet assigned"),
        ("x = 1\nego = Brick\n", ":2: "),
    ],
)
def test_a_program_error_is_reported_with_file_and_line(workshop, text, said):
    workshop.box("brick", "1 1 1")
    with pytest.raises(SpecError) as refused:
        workshop.source(text)
    assert f"test.scenic{said}" in str(refused.value)


def test_a_scenic_2_syntax_error_suggests_the_option_convert(workshop):
    workshop.box("brick", "1 1 1")
    with pytest.raises(SpecError, match="--convert"):
        workshop.source("ego = Brick at 0 @ 0\n")


def test_a_statement_without_effect_is_reported_with_its_line(workshop):
    workshop.box("brick", "1 1 1")
    source = workshop.source("ego = new Brick at 0 @ 0\nterminate after 5 seconds\n")
    (note,) = source.notes
    assert ":2: `terminate after` has no effect" in note and "worlds.scenic.dynamic" in note


def test_a_model_below_the_ground_is_reported(workshop):
    workshop.box("sunk", "1 1 1", pose="0 0 0.5 0 0 0", static="false", z=-0.5)
    workshop.box("level", "1 1 1", z=0.5)
    source = workshop.source("ego = new Level\nnew Sunk at 2 @ 0\n")
    (note,) = source.notes
    assert note.startswith("sunk: ") and "z of -0.5" in note and "-0.50 m" in note


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "ego = new Object at 0 @ 0\nx = 1\nnew Object at 0.5 @ 0",
            r"\(.*test\.scenic:3\) at .* intersects .*\(.*test\.scenic:1\) at",
        ),
        (
            "ego = new Object with shape MeshShape.fromFile('nothere.obj')",
            r"test\.scenic:1: 'nothere.obj' is not a file.*localPath\('nothere.obj'\)",
        ),
        (
            "ego = new Object with shape MeshShape.fromFile(localPath('nothere.obj'))",
            r"test\.scenic:1: '/.*/nothere.obj' is not a file; correct the path$",
        ),
    ],
)
def test_an_unsupported_statement_is_rejected_with_its_line(workshop, text, says):
    with pytest.raises(SpecError, match=says):
        workshop.source(f"{text}\nworkspace = Workspace(RectangularRegion(0 @ 0, 0, 9, 9))\n")


def test_the_import_of_gzscenic_is_accepted(workshop):
    workshop.box("brick", "1 1 1")
    world = workshop.source(
        "from gzscenic.model import *\nnew Brick at 1 @ 1, facing 0 deg\n"
    ).generate(0)
    assert b"brick_0" in world.content


def test_a_global_parameter_can_be_overridden(workshop):
    workshop.box("brick", "0.2 0.2 0.2")
    text = "param count = 2\nfor i in range(globalParameters.count):\n    new Brick\n"
    assert len(workshop.source(text).generate(0).objects) == 2
    assert len(workshop.source(text, parameters={"count": 5}).generate(0).objects) == 5


@pytest.mark.parametrize(
    ("text", "given", "names"),
    [
        ("param crates = 2, gap = 1\n", "cratez", "'crates'"),
        ("n = globalParameters.crates\n", "cratez", "'crates'"),
        ("n = globalParameters['crates']\n", "cratez", "'crates'"),
        ("n = globalParameters.get('crates', 2)\n", "cratez", "'crates'"),
        ("if False:\n    param 'the crates' = 2\n", "the crate", "'the crates'"),
        ("from parts import *\n", "cratez", "'crates'"),
    ],
)
def test_an_unknown_global_parameter_is_rejected(workshop, text, given, names):
    workshop.scenario("param crates = 2\n", "parts.scenic")
    text += "new Object at 0 @ 0\n"
    known = names.strip("'")
    workshop.source(text, parameters={known: 4})
    complaint = (
        rf"test\.scenic: unknown parameter '{given}'; did you mean {names}\? Known: .*{known}"
    )
    with pytest.raises(SpecError, match=complaint):
        workshop.source(text, parameters={known: 4, given: 4})


def test_a_parameter_of_a_scenario_without_parameters_is_rejected(workshop):
    with pytest.raises(SpecError, match=r"unknown parameter 'crates'\. Known: none; .*`param NAME"):
        workshop.source("new Object at 0 @ 0\n", parameters={"crates": 4})


def test_a_scenario_that_reads_all_global_parameters_accepts_any_name(workshop):
    text = "boxes = dict(globalParameters)\nnew Object at boxes['shift'] @ 0\n"
    ((_, placed),) = workshop.source(text, parameters={"shift": 4}).generate(0).objects
    assert placed.position.x == 4


def test_hash_of_a_library_does_not_depend_on_its_folder(workshop, tmp_path, monkeypatch, capsys):
    from gz_testauto.cli.main import main
    from gz_testauto.extras.scenic.source import ScenicSource

    monkeypatch.setenv("PYTHONPATH", str(Path(gz_testauto.__file__).parents[1]))
    workshop.box("brick", "1 1 1")
    scenario = workshop.scenario("new Brick at 0 @ 0\n")
    files = [str(scenario), str(workshop.descriptor)]
    assert main(["scenic", *files, "--dump-library", str(workshop.folder / "lib.scenic")]) == 0
    assert "lib.scenic" in capsys.readouterr().out
    workshop.scenario("model lib\nnew Brick at 0 @ 0\n")
    deep = tmp_path / "a" / "b" / "c"
    copies = [workshop.folder / name for name in ("test.scenic", "models.yaml", "lib.scenic")]
    deep.mkdir(parents=True)
    for file in copies:
        shutil.copy(file, deep)
    shutil.copytree(workshop.folder / "parts", deep / "parts")
    one, other = (ScenicSource(f / "test.scenic", f / "models.yaml", 1) for f in (tmp_path, deep))
    assert list(one.inputs["named_files_sha256"]) == ["lib.scenic"]
    assert one.inputs == other.inputs


def test_an_imported_module_is_recorded_relative_to_its_pythonpath_folder(tmp_path, monkeypatch):
    from gz_testauto.extras.scenic.imports import named_files

    for place in (tmp_path / "x", tmp_path / "y" / "z"):
        (place / "modules" / "parts").mkdir(parents=True)
        (place / "modules" / "parts" / "boxes.py").write_text("")
        (place / "s.scenic").write_text("from parts.boxes import Box\n")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path / "x" / "modules"))
        assert list(named_files(place / "s.scenic")) == ["parts/boxes.py"]


def test_existing_files_in_the_output_directory_are_never_removed(workshop, tmp_path):
    from gz_testauto.extras.scenic.output import write_scenes

    workshop.box("brick", "1 1 1")
    source = workshop.source("new Brick")
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.tex").write_text("years of work")
    with pytest.raises(SpecError, match="contains other files"):
        write_scenes(source, 1, out)
    assert (out / "thesis.tex").read_text() == "years of work"
    mine = tmp_path / "mine"
    write_scenes(source, 1, mine, plots=False)
    first = (mine / "world_0000.world").read_bytes()
    (mine / "notes.txt").write_text("kept")
    write_scenes(source, 2, mine, plots=False)
    assert (mine / "notes.txt").read_text() == "kept"
    assert (mine / "world_0000.world").read_bytes() == first
    assert json.loads((mine / "worlds.json").read_text())["count"] == 2
    with pytest.raises(SpecError, match="generated with other values of"):
        write_scenes(workshop.source("new Brick", seed=2), 2, mine, plots=False)


def test_a_mission_file_has_the_format_of_gzscenic(tmp_path):
    from gz_testauto.extras.scenic.output import files_of

    source = source_of(tmp_path, "fetch", 1)
    mission = yaml.safe_load(files_of(source, source.generate(0), plots=False)["world_0000.yaml"])
    assert {kind: len(items) for kind, items in mission.items()} == {"fetch": 1, "waypoint": 2}
    assert mission["fetch"] == [{"heading": pytest.approx(np.pi / 2), "x": 0.0, "y": 0.0, "z": 0.0}]


DOCUMENTED = {
    "only an object": "ego = new Object\n",
    "a cone that leans": "ego = new Object with shape ConeShape(), with width 2, with length 2,\n"
    "    with height 1.5, facing (-90 deg, 45 deg, 0)\n",
    "one of three shapes": "ego = new Object with shape Uniform(BoxShape(), SpheroidShape(), "
    "ConeShape()),\n    with width Range(1, 2), with height Range(1, 3),\n"
    "    facing (Range(0, 360) deg, Range(0, 360) deg, Range(0, 360) deg)\n",
    "spheres in a region": "region = RectangularRegion((0, 0, 0), 0, 10, 10)\n"
    "workspace = Workspace(region)\nfor i in range(3):\n"
    "    new Object in region, with shape SpheroidShape()\n",
    "on the workspace and on each other": "workspace = "
    "Workspace(RectangularRegion((0, 0, 0), 0, 4, 4))\n"
    "floor = workspace\nchair = new Object on floor\n"
    "ego = new Object on chair, with shape ConeShape(dimensions=(0.25, 0.25, 0.25))\n",
    "classes with methods": "class Vehicle:\n    pass\n"
    "class Taxicab(Vehicle):\n    magicNumber: 42\n"
    "    def myMethod(self, x):\n        return self.width + self.magicNumber + x\n"
    "ego = new Taxicab with magicNumber 1729\ny = ego.myMethod(3.14)\n",
    "places beside places": "ego = new Object at (0, 0, 0)\n"
    "spot = new OrientedPoint at 3 @ 3, facing 20 deg\nnew Object left of spot by 0.25\n"
    "new Object ahead of ego by 2, facing 5 deg relative to spot\nnew Object beyond spot by 3\n"
    "new Object at ego offset by -3 @ -3\nnew Object offset along 30 deg by (-6, 0)\n",
    "seen and unseen": "workspace = Workspace(RectangularRegion(0 @ 0, 0, 16, 16))\n"
    "ego = new Object with viewAngle 120 deg\na = new Object visible, with requireVisible True\n"
    "b = new Object at (Range(-6, 6), Range(3, 7))\nrequire ego can see b\n"
    "require[0.5] (distance from b to a) > 2\nrequire (relative heading of a) < 180 deg\n",
    "mutation and fields": "workspace = Workspace(CircularRegion(0 @ 0, 8))\n"
    "ego = new Object at 0 @ 0\ntaxi = new Object at 4 @ 0, facing 30 deg\nmutate taxi by 0.2\n"
    'new Object following VectorField("f", lambda pos: 0) from ego for 4\n',
    "a modular scenario": "workspace = Workspace(RectangularRegion(0 @ 0, 0, 12, 12).difference("
    "CircularRegion(0 @ 0, 2)))\nscenario Main():\n    setup:\n"
    "        ego = new Object in workspace\n"
    "        new Object in workspace, facing toward (0, 0)\n        terminate after 5 seconds\n",
    "many regions": "workspace = Workspace(PolygonalRegion([(-5, -5), (5, -5), (0, 5)]))\n"
    'grid = PointSetRegion("pts", [(0, 0), (1, -2), (-2, -3)])\n'
    "line = PolylineRegion([(-3, -4), (3, -4)])\n"
    "new Object on line, with width 0.2, with length 0.2\nnew Object in grid, with width 0.3\n"
    "ego = new Object on workspace, facing 30 deg, with width 0.4\n"
    "new Object contained in RectangularRegion(0 @ -2, 0, 4, 3), with width 0.4\n",
    "fallen over on a floor": "workspace = Workspace(RectangularRegion(0 @ 0, 0, 10, 10))\n"
    "floor = new Object at (0, 0, -0.005), with width 10, with length 10, with height 0.01\n"
    "ego = new Object at (-3, -3)\n"
    "room = RectangularRegion(2 @ 2, 0, 5, 5)\n"
    "a = new Object contained in room, facing (Range(0, 360 deg), 90 deg, 0), on floor,\n"
    "    with height 1.5\n"
    "b = new Object at 2 @ -3, facing Uniform((0, -90 deg, 0), (0, 0, 90 deg)), on floor,\n"
    "    with length 0.5\n",
    "facing up to something": "ball = new Object at (0, 0, 1.25), with allowCollisions True\n"
    "ego = new Object at 3 @ 0, facing directly toward ball, with height 0.4\n",
}


@pytest.mark.parametrize("name", DOCUMENTED)
def test_examples_of_the_scenic_documentation_generate_worlds(name, workshop, tmp_path):
    from output_check import faults_of

    from gz_testauto.extras.scenic.output import write_scenes

    write_scenes(workshop.source(DOCUMENTED[name]), 2, tmp_path / "out", plots=False)
    faults = [fault for fault in faults_of(tmp_path / "out") if "0.7500 m high" not in fault]
    assert faults == []


def test_an_object_next_to_a_hovering_object_keeps_its_height(workshop):
    world = workshop.source(
        "a = new Object at (4, 0, 2)\nnew Object left of a by 1, with height 0.5\n"
    ).generate(0)
    assert [float(obj.position.z) for _, obj in world.objects] == [2, 2]


def test_classes_and_objects_of_an_imported_module_are_supported(workshop, tmp_path):
    workshop.scenario(
        "class Barrel:\n    width: 0.5\n    length: 0.5\n    height: 0.8\n"
        "class Tall(Barrel):\n    height: 1.6\nnew Object at 3 @ 3, facing 0 deg\n",
        "parts.scenic",
    )
    world = workshop.source(
        "from parts import *\nego = new Barrel at 0 @ 0, facing 0 deg\n"
        "new Tall at 1 @ 1, facing 0 deg\n"
    ).generate(0)
    heights = {
        name: only_model(world, tmp_path, name).bounds[2]
        for name in ("barrel_0", "tall_0", "object_0")
    }
    assert np.allclose(heights["barrel_0"], (0, 0.8), atol=1e-3)
    assert np.allclose(heights["tall_0"], (0, 1.6), atol=1e-3)
    assert np.allclose(heights["object_0"], (0, 1.0), atol=1e-3)


def test_an_imported_library_of_another_simulator_is_rejected(workshop):
    workshop.scenario("x = 1\nmodel scenic.simulators.webots.model\n", "parts.scenic")
    with pytest.raises(SpecError, match=r"parts\.scenic:2: scenic\.simulators\.webots\.model is"):
        workshop.source("from parts import *\nnew Object\n")


def test_a_position_from_an_unlimited_region_is_rejected(workshop):
    with pytest.raises(SpecError, match="define a workspace"):
        workshop.source("ego = new Object\nnew Object visible\n").generate(0)
