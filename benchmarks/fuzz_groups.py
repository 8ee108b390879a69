"""Groups of inputs of the fuzzer: the valid files, and the commands that read them in this
process."""

import shutil
from pathlib import Path
from typing import Any, Callable, NamedTuple

import numpy as np
import trimesh
from fuzz_edits import (
    archive_edits,
    byte_edits,
    edit_archive,
    edited,
    execute,
    statements,
    text_edits,
)
from hypothesis import strategies as st

from gz_testauto.base.errors import GzTestautoError
from gz_testauto.campaign.resume import open_or_create_campaign
from gz_testauto.cli import main as command
from gz_testauto.grid.map_server import read_map, write_map
from gz_testauto.grid.occupancy import OccupancyGrid
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.trial.checks import check_trials

ROOT = Path(__file__).resolve().parents[1]
MOST_WORLDS = 20
"""Largest number of worlds of a damaged campaign. The creation of many worlds is not an error."""

SPEC = """
obstacles:
  - {type: box, name: crate, count: [1, 3], size_x_m: [0.3, 0.6], size_y_m: 0.4, static: true}
  - type: cylinder
    count: 2
    radius_m: {mean: 0.3, stddev: 0.1, min: 0.2, max: 0.5}
    x_m: [-3, 3]
    y_m: {choice: [-2, 0, 2], weights: [1, 2, 1]}
  - {type: sphere, count: 1, radius_m: 0.3, density_kgpm3: 100}
region: &room {rectangle: {x_m: [-3, 3], y_m: [-3, 3]}}
keep_out: [{center: start, radius_m: 0.8}, {center: goal, radius_m: 0.8}]
min_gap_m: 0.2
mission: {start: [-3, 0], goal: [3, 0], footprint_m: [[0.3, 0.2], [-0.3, 0.2], [0, -0.2]]}
solvable: {margin_m: 0.1}
sampling: {method: lhs, block: 4}
"""
CAMPAIGN = """
name: fuzz
seed: 3
worlds: {base: room.world, obstacles: spec.yaml, count: 2}
robot:
  model: package://gz_testauto/models/wheelchair/model.sdf
  start: {x_m: -3.0, y_m: 0.0, yaw_rad: 0.0}
goal: {x_m: 3.0, y_m: 0.0, tolerance_m: 0.5}
planners:
  - straight
  - {name: gaps, plugin: fgm}
repetitions: 1
simulator: embedded
control_period_s: 0.1
limits: {timeout_s: 1.0, stuck_window_s: 10.0}
metrics: {safety_distance_m: 1.0}
"""
FOLDER_CAMPAIGN = CAMPAIGN.replace(
    "{base: room.world, obstacles: spec.yaml, count: 2}", "{directory: worlds}"
)
ACTORS = """
actors:
  - {name: walker, behavior: wander, count: 2, region: {rectangle: {x_m: [-3, 3], y_m: [-2, 2]}},
     speed_mps: [0.5, 1.2], min_robot_gap_m: 0.2, yield_distance_m: 0.5}
  - {name: guard, behavior: patrol, waypoints_m: [[-2, 2.2], [0, 2.2]], pause_s: 1.0}
  - {name: door, behavior: door, pose: {x_m: 0, y_m: -2}, kind: swinging, trigger_distance_m: 4.0}
  - {name: shadow, behavior: follow, start: {x_m: -3.5, y_m: 2.0}, offset_m: [-1, 0, 1]}
  - {name: thinker, behavior: tree, file: walker.xml, start: {x_m: -2, y_m: -2.2}}
randomize:
  - {name: grip, term: friction, select: {names: "ground_plane::.*"}, set: [0.4, 1.0]}
  - {name: load, term: mass, select: {names: "robot::base"}, scale: [0.8, 1.3]}
  - {name: gust, term: push, select: {names: "robot::base"}, set: 20, when: {every_s: [0.2, 0.4]}}
  - {name: noise, term: scan_noise, set: {mean: 0.02, stddev: 0.01, min: 0, max: 0.1}}
  - {name: delay, term: scan_delay, set: [0, 0.2], when: world}
  - {name: paint, term: color, select: {names: "walker.*"}, set: [0, 1], shared: true}
  - {name: shove, term: pose, select: {names: "door"}, add: [0, 0.1], yaw_rad: 0.1}
"""
TREE = """<root BTCPP_format="4" main_tree_to_execute="main"><BehaviorTree ID="main"><Fallback>
<Sequence><IsNear trigger_distance_m="1.5" model="robot"/>
<ChangeVisual diffuse="1 0 0" visible="true"/></Sequence>
<Timeout msec="900"><RandomSequence><GoTo x_m="-2" y_m="-1.8" speed_mps="0.5"/><Sleep msec="200"/>
</RandomSequence></Timeout></Fallback></BehaviorTree></root>
"""
MODEL = """<?xml version="1.0"?>
<sdf version="1.6"><model name="thing"><static>false</static><pose>0 0 0.25 0 0 0</pose>
<link name="link"><inertial><mass>5</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz>
</inertia></inertial><collision name="c"><pose>0 0 0 0 0 0.3</pose><geometry><box>
<size>0.5 0.4 0.5</size></box></geometry><surface><friction><ode><mu>0.6</mu></ode></friction>
</surface></collision><visual name="v"><geometry><cylinder><radius>0.2</radius><length>0.5</length>
</cylinder></geometry></visual></link></model></sdf>
"""
CONFIG = """<?xml version="1.0"?>
<model><name>thing</name><version>1.0</version><sdf version="1.6">model.sdf</sdf>
<sdf version="1.4">old.sdf</sdf><description>A thing.</description></model>
"""
WORLD = """<?xml version="1.0"?>
<sdf version="1.6"><world name="default">
<physics type="ode"><max_step_size>0.001</max_step_size></physics><gravity>0 0 -9.8</gravity>
<include><uri>model://ground_plane</uri></include>
<include><uri>{thing}</uri><name>thing_1</name><pose>1 0 0.25 0 0 0</pose></include>
<model name="walls"><static>1</static><link name="l">
<collision name="a"><pose>0 3 1 0 0 0</pose><geometry><box><size>8 0.2 2</size></box></geometry>
</collision><collision name="b"><pose>-4.5 0 1 0 0 0.1</pose><geometry><mesh><uri>{mesh}</uri>
<scale>1 1 1</scale></mesh></geometry></collision></link></model>
<model name="obstacle_crate_0"><pose>2 1 0.5 0 0 0.4</pose><link name="link"><inertial>
<mass>1</mass></inertial><collision name="c"><geometry><box><size>1 1 1</size></box></geometry>
</collision></link><plugin name="p" filename="libnone.so"/></model>
<state world_name="default"><model name="obstacle_crate_0"><pose>2 1.5 0.5 0 0 0.4</pose>
<scale>1 1 1</scale><link name="link"><pose>2 1.5 0.5 0 0 0.4</pose></link></model></state>
</world></sdf>
"""
LAUNCH = """<launch><arg name="world"/><arg name="gui" default="false"/>
<include file="x.launch" pass_all_args="false"><arg name="a" value="$(arg world)"/></include>
</launch>
"""
DAE = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset>
<created>2020-01-01T00:00:00Z</created><modified>2020-01-01T00:00:00Z</modified>
<unit name="u" meter="1"/><up_axis>Z_UP</up_axis></asset><library_geometries><geometry id="g"
name="g"><mesh><source id="p"><float_array id="pa" count="12">0 0 0 2 0 0 0 4 0 0 0 8</float_array>
<technique_common><accessor source="#pa" count="4" stride="3"><param name="X" type="float"/>
<param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices><triangles count="4">
<input semantic="VERTEX" source="#v" offset="0"/><p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles></mesh>
</geometry></library_geometries><library_visual_scenes><visual_scene id="s"><node id="n" name="a">
<translate>1 0 0</translate><rotate>0 0 1 30</rotate><instance_geometry url="#g"/></node>
</visual_scene></library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>
"""
MESHES = ("part.stl", "part_ascii.stl", "part.obj", "part.dae")


def write_seeds(seeds):
    """Write valid input files into a new directory, and a finished campaign into its subdirectory
    ``results``."""
    seeds.mkdir()
    shutil.copy(ROOT / "worlds" / "room.world", seeds)
    shutil.copy(ROOT / "models" / "wheelchair" / "model.sdf", seeds / "robot.sdf")
    box = trimesh.creation.box((0.3, 4.0, 2.0))
    (seeds / "part.stl").write_bytes(trimesh.exchange.stl.export_stl(box))
    (seeds / "part_ascii.stl").write_text(trimesh.exchange.stl.export_stl_ascii(box))
    (seeds / "part.obj").write_text(trimesh.exchange.obj.export_obj(box))
    (seeds / "part.dae").write_text(DAE)
    (seeds / "thing").mkdir()
    (seeds / "thing" / "model.sdf").write_text(MODEL)
    (seeds / "thing" / "model.config").write_text(CONFIG)
    for mesh in MESHES:
        (seeds / world_of(mesh)).write_text(WORLD.format(thing="thing", mesh=mesh))
    (seeds / "spec.yaml").write_text(SPEC)
    (seeds / "campaign.yaml").write_text(CAMPAIGN)
    (seeds / "start.launch").write_text(LAUNCH)
    write_map(OccupancyGrid(np.eye(20, dtype=bool), 0.1, -1.0, -1.0), seeds, "binary")
    plain = " ".join("0" if bit else "254" for bit in np.eye(20).ravel())
    (seeds / "plain.pgm").write_text(f"P2\n# plain\n20 20\n255\n{plain}\n")
    text = (seeds / "binary.yaml").read_text().replace("binary.pgm", "plain.pgm")
    (seeds / "plain.yaml").write_text(text)
    multiplied = verb("multiply", seeds / "room.world", "--spec", seeds / "spec.yaml", "--count", 2,
                      "--out", seeds / "worlds")()  # fmt: skip
    assert multiplied == run(seeds, seeds / "results")() == 0


def world_of(mesh):
    """Return the name of the world with a mesh."""
    return f"{mesh.replace('.', '')}.world"


def warm_up(seeds, groups):
    """Import modules and compile functions before the first fork. Raise ``SystemExit`` if a command
    rejects valid files."""
    scratch = seeds.parent / "warm"
    for group in groups:
        for edits in group.whole:
            directory = scratch / f"{group.name}-{len(list(scratch.glob('*')))}"
            directory.mkdir(parents=True)
            status = group.make(directory, edits)()
            if status not in (0, 1):
                raise SystemExit(f"the valid files of {group.name} are rejected")
    shutil.rmtree(scratch, ignore_errors=True)  # no group has edits without damage


def verb(*arguments) -> Callable[[], int]:
    return lambda: command.main([str(argument) for argument in arguments])


def guarded(call) -> Callable[[], int]:
    """Return a function that executes a call and handles errors as a verb of the command line."""

    def run():
        try:
            call()
        except GzTestautoError as error:
            print(f"gz_testauto: {error}")
            return 2
        return 0

    return run


def copied(directory, *names, folder=""):
    """Copy valid files into the directory of a case, or into a folder of it."""
    seeds = directory.parent / "seeds"
    if not seeds.is_dir():  # while warming up
        seeds = directory.parents[1] / "seeds"
    (directory / folder).mkdir(exist_ok=True)
    for name in names:
        source = seeds / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, directory / folder / name)


def damage(path, edits):
    path.write_bytes(edited(path.read_bytes(), edits))


def reader(name, read, *others):
    """Return the function of a group that damages the file ``name`` and calls ``read`` with its
    path. The files ``others`` are copied, too."""

    def make(directory, edits):
        copied(directory, Path(name).parts[0], *others)
        damage(directory / name, edits)
        return guarded(lambda: read(directory / name))

    return make


def map_world(directory, world, name, edits):
    copied(directory, "thing", *MESHES, world)
    damage(directory / name, edits)
    return verb("map", directory / world, "--resolution", "0.1", "--out", directory / "maps")


def multiply(directory, world, name, edits):
    copied(directory, "thing", *MESHES, "spec.yaml", world)
    damage(directory / name, edits)
    return verb("multiply", directory / world, "--spec", directory / "spec.yaml", "--count", "2",
                "--out", directory / "out")  # fmt: skip


def prepare(path):
    """Execute all steps of the verb ``run`` before the start of a simulator."""
    spec = load(path, CampaignSpec)
    if (spec.worlds.count or 0) > MOST_WORLDS:
        return
    directory = CampaignDirectory(path.parent / "out")
    with directory.locked():
        prepared, store = open_or_create_campaign(spec, directory)
        with store:
            check_trials(prepared.bed, prepared.trials)


def prepare_text(directory, text):
    (directory / "campaign.yaml").write_text(text)
    return guarded(lambda: prepare(directory / "campaign.yaml"))


def run_text(directory, text):
    (directory / "campaign.yaml").write_text(text)
    return run(directory, directory / "out", "--planners", "straight")


def run(directory, out, *options):
    return verb("run", directory / "campaign.yaml", "--out", out, "--workers", "1", *options)


def actors(directory, edits):
    name, changes = edits
    copied(directory, "room.world", "spec.yaml")
    (directory / "campaign.yaml").write_text(CAMPAIGN + ACTORS)
    (directory / "walker.xml").write_text(TREE)
    damage(directory / name, changes)
    return run(directory, directory / "out", "--planners", "straight")


def run_world(directory, edits):
    copied(directory, "thing", *MESHES, "partobj.world", folder="worlds")
    damage(directory / "worlds" / "partobj.world", edits)
    return run_text(directory, FOLDER_CAMPAIGN)


def robot(directory, edits):
    copied(directory, "room.world", "robot.sdf", "spec.yaml")
    damage(directory / "robot.sdf", edits)
    model = "package://gz_testauto/models/wheelchair/model.sdf"
    return prepare_text(directory, CAMPAIGN.replace(model, "robot.sdf"))


def worlds_json(directory, edits):
    copied(directory, "worlds")
    damage(directory / "worlds" / "worlds.json", edits)
    return prepare_text(directory, FOLDER_CAMPAIGN)


def launch(directory, edits):
    from gz_testauto.trial.launch_files import check_launches

    copied(directory, "room.world", "spec.yaml", "start.launch")
    damage(directory / "start.launch", edits)
    text = CAMPAIGN.replace(
        "simulator: embedded",
        "stack: {simulator: {file: start.launch, "
        "args: {world: '{world}'}}, navigation: {file: start.launch}}",
    )
    text = text.replace("  - straight\n  - {name: gaps, plugin: fgm}",
                        "  - {name: a, launch: {args: {gui: true}}}")  # fmt: skip
    (directory / "campaign.yaml").write_text(text)
    return guarded(lambda: check_launches(load(directory / "campaign.yaml", CampaignSpec)))


def static_map(directory, edits):
    stem, suffix, changes = edits
    copied(directory, f"{stem}.yaml", f"{stem}.pgm")
    damage(directory / f"{stem}.{suffix}", changes)
    return guarded(lambda: read_map(directory / f"{stem}.yaml"))


def damaged_results(directory, edits):
    kind, changes = edits
    copied(directory, "results")
    results = directory / "results"
    if kind == "sql":
        for statement in changes:
            execute(results / "results.sqlite", statement)
    elif kind == "npz":
        for path in sorted((results / "trajectories").glob("*.npz")):
            edit_archive(path, changes)
    elif kind == "bytes":
        name, file_edits = changes
        for path in sorted(results.glob(name)):
            damage(path, file_edits)
    return results


def report(directory, edits):
    edits, output = edits
    results = damaged_results(directory, edits)
    options = {"csv": ["--csv", "-"], "json": ["--json"], "plots": ["--plots", directory / "p"]}
    return verb("report", results, *options.get(output, []))


def resume(directory, edits):
    results = damaged_results(directory, edits)
    copied(directory, "room.world", "spec.yaml", "campaign.yaml")
    return run(directory, results)


class Group(NamedTuple):
    """A group of inputs. ``share`` is its share of all cases. ``make(directory, edits)`` returns
    the call of a command. ``whole`` are edits that cause no damage, for the first call."""

    name: str
    share: float
    make: Callable[[Path, Any], Callable[[], int]]
    edits: st.SearchStrategy
    whole: tuple


few = st.lists(text_edits, min_size=1, max_size=2)
_worlds = st.sampled_from(("room.world", "partobj.world"))
result_edits = st.one_of(
    st.tuples(st.just("sql"), st.lists(statements, min_size=1, max_size=3)),
    st.tuples(st.just("npz"), archive_edits),
    st.tuples(
        st.just("bytes"),
        st.tuples(st.sampled_from(("manifest.json", "campaign.json", "worlds/worlds.json")), few),
    ),
    st.tuples(
        st.just("bytes"),
        st.tuples(
            st.sampled_from(("results.sqlite", "trajectories/*.npz", "worlds/*.world")),
            st.lists(byte_edits, min_size=1, max_size=3),
        ),
    ),
)
_NOTHING = ("none", None)
GROUPS = (
    Group("map", 22, lambda directory, edits: map_world(directory, edits[0], *edits),
          st.tuples(_worlds, few), (("room.world", []), ("partobj.world", []))),
    Group("mesh", 14, lambda directory, edits: map_world(directory, world_of(edits[0]), *edits),
          st.tuples(st.sampled_from(MESHES), few), tuple((name, []) for name in MESHES)),
    Group("model", 6, lambda directory, edits: map_world(directory, "partobj.world", *edits),
          st.tuples(st.sampled_from(("thing/model.sdf", "thing/model.config")), few),
          (("thing/model.sdf", []),)),
    Group("multiply-world", 10, lambda directory, edits: multiply(directory, edits[0], *edits),
          st.tuples(_worlds, few), (("room.world", []), ("partobj.world", []))),
    Group("multiply-spec", 12,
          lambda directory, edits: multiply(directory, "room.world", "spec.yaml", edits), few,
          ([],)),
    Group("campaign", 10, reader("campaign.yaml", prepare, "room.world", "spec.yaml"), few, ([],)),
    Group("actors", 8, actors, st.tuples(st.sampled_from(("campaign.yaml", "walker.xml")), few),
          (("campaign.yaml", []),)),
    Group("robot", 6, robot, few, ([],)),
    Group("run-world", 4, run_world, few, ([],)),
    Group("worlds.json", 4, worlds_json, few, ([],)),
    Group("launch", 3, launch, few, ([],)),
    Group("static-map", 8, static_map,
          st.tuples(st.sampled_from(("binary", "plain")), st.sampled_from(("yaml", "pgm")), few),
          (("binary", "yaml", []), ("plain", "pgm", []))),
    Group("report", 12, report,
          st.tuples(result_edits, st.sampled_from(("table", "table", "csv", "json", "json"))),
          ((_NOTHING, "table"), (_NOTHING, "csv"), (_NOTHING, "json"))),
    Group("plots", 1, report, st.tuples(result_edits, st.just("plots")), ((_NOTHING, "plots"),)),
    Group("replay", 4, lambda *case: verb("replay", damaged_results(*case), "0", "straight"),
          result_edits, (_NOTHING,)),
    Group("resume", 3, resume, result_edits, (_NOTHING,)),
)  # fmt: skip
