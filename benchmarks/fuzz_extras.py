"""Further groups of inputs of the fuzzer: those of the extras, packages of ROS, and requests to
the services of the nodes.

The valid files come from the tests of the extras. A group whose library is not installed is
omitted.
"""

import importlib.util
import os
import shutil
import sys

import numpy as np
from fuzz_edits import byte_edits, edit_archive, text_edits
from fuzz_groups import (
    CAMPAIGN,
    ROOT,
    TREE,
    Group,
    _results,
    copied,
    damage,
    damaged_results,
    few,
    guarded,
    verb,
)
from hypothesis import strategies as st
from PIL import Image

from gz_testauto.actors.bodies import read_body
from gz_testauto.base.registry import Registry
from gz_testauto.base.ros_packages import ros_packages
from gz_testauto.extras.learning.demonstrations import Demonstrations
from gz_testauto.extras.learning.policies.files import PolicyCard, read_policy, write_policy
from gz_testauto.extras.learning.policies.policy import LinearPolicy
from gz_testauto.extras.learning.spec import EnvironmentCampaignSpec
from gz_testauto.extras.scenic.descriptor import load_descriptor
from gz_testauto.extras.simulator_comparison.recordings.csv_file import write_channels
from gz_testauto.extras.simulator_comparison.recordings.read import read_recordings
from gz_testauto.extras.simulator_comparison.recordings.spec import RecordingSpec
from gz_testauto.extras.simulator_comparison.spec import BenchSpec
from gz_testauto.extras.simulator_comparison.terrain.kinds import ImageTerrain
from gz_testauto.spec.loader import load, parse
from gz_testauto.spec.road import RoadSpec

sys.path.insert(0, str(ROOT / "test" / "ros"))
sys.path.insert(0, str(ROOT / "test" / "extras" / "simulator_comparison"))
from bags import READ, as_bag
from synthetic import drive

TABLE = """world,planner,repetition,outcome,time_s,spl,detail
world_0000,a,0,reached,12.5,0.9,fine
world_0000,b,0,collided,3.5,0,"touched a box, twice"
world_0001,a,0,timed_out,60,,
world_0001,b,0,invalid,,,
"""
ENVIRONMENT = """
environment:
  observations: [{term: lidar, beams: 8, range_m: 4.0}, plan]
"""
PACKAGE = """<?xml version="1.0"?>
<package format="3"><name>neighbor</name><version>1.0.0</version><description>x</description>
<maintainer email="a@example.org">a</maintainer><license>MIT</license>
<export><gz_testauto planners="gz_testauto.planners.straight:StraightPlanner"/></export></package>
"""
URDF = """<?xml version="1.0"?>
<robot name="thing"><link name="base"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"
ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry><box size="0.5 0.4 0.3"/></geometry>
</collision></link></robot>
"""
HEIGHTS = """<?xml version="1.0"?>
<sdf version="1.6"><world name="default"><model name="hills"><static>1</static><link name="l">
<collision name="c"><geometry><heightmap><uri>hills.png</uri><size>8 8 1</size><pos>0 0 0</pos>
</heightmap></geometry></collision><collision name="w"><pose>0 3 1 0 0 0</pose><geometry><box>
<size>4 0.2 3</size></box></geometry></collision></link></model></world></sdf>
"""
CHANNELS = ("imu.csv", "odometry.csv")


def write_extra_seeds(seeds):
    """Write valid input files of the extras into the directory of the core's files."""
    (seeds / "trials.csv").write_text(TABLE)
    (seeds / "environment.yaml").write_text(CAMPAIGN + ENVIRONMENT)
    (seeds / "walker.xml").write_text(TREE)
    (seeds / "neighbor").mkdir()
    (seeds / "neighbor" / "package.xml").write_text(PACKAGE)
    (seeds / "thing.urdf").write_text(URDF)
    (seeds / "hills.world").write_text(HEIGHTS)
    hills = np.maximum(0, 40 - 10 * np.hypot(*np.mgrid[-8:9, -8:9])).astype(np.uint8)
    Image.fromarray(hills).save(seeds / "hills.png")
    recording = drive(1, speed_mps=lambda time_s: 0.5 + 0.2 * np.sin(0.9 * time_s), noise=0.1)
    write_channels(recording, seeds / "channels")
    if importlib.util.find_spec("rosbags"):
        as_bag(recording, seeds / "drive.bag", "ROS 1")
    shutil.copy(ROOT / "test" / "extras" / "opendrive" / "town.xodr", seeds)
    text = (ROOT / "config" / "simulator_comparison" / "farley.yaml").read_text()
    (seeds / "bench.yaml").write_text(text.replace("../..", str(ROOT)))
    scenic = ROOT / "config" / "scenic"
    text = (scenic / "models.yaml").read_text()
    (seeds / "models.yaml").write_text(text.replace(": models", f": {scenic / 'models'}"))
    terms = [("lidar", {"beams": 8, "range_m": 4.0}), ("plan", {})]
    card = PolicyCard(kind="linear", observations=[{"term": name, **keys} for name, keys in terms])
    write_policy(seeds / "policy.npz", LinearPolicy(np.linspace(-1.0, 1.0, 26), 12), card)
    arrays = {name: np.zeros((3, 2)) for name in Demonstrations.__dataclass_fields__}
    Demonstrations(**arrays).write(seeds / "shown.npz")


def table(directory, edits):
    copied(directory, "trials.csv")
    damage(directory / "trials.csv", edits)
    return verb("import", directory / "trials.csv", "--out", directory / "out")


def recording(directory, edits):
    name, changes = edits
    copied(directory, "channels")
    damage(directory / "channels" / name, changes)
    files = {channel: str(directory / "channels" / f"{channel}.csv") for channel in
             ("imu", "odometry")}  # fmt: skip
    spec = RecordingSpec.model_validate({"imu": {}, "odometry": {}, "cases": {"straight": [files]}})
    return guarded(lambda: read_recordings(spec))


def bag(directory, edits):
    copied(directory, "drive.bag")
    damage(directory / "drive.bag", edits)
    keys = {name: READ[name] for name in ("imu", "odometry")}
    spec = RecordingSpec.model_validate(
        {**keys, "cases": {"straight": [str(directory / "drive.bag")]}}
    )
    return guarded(lambda: read_recordings(spec))


def bench(directory, edits):
    copied(directory, "bench.yaml")
    damage(directory / "bench.yaml", edits)
    return guarded(lambda: load(directory / "bench.yaml", BenchSpec))


def road(directory, edits):
    copied(directory, "town.xodr")
    damage(directory / "town.xodr", edits)
    text = "{opendrive: town.xodr, route: [1.0.-1, 2.0.-1]}"
    return guarded(lambda: parse(text, RoadSpec, directory / "campaign.yaml"))


def descriptor(directory, edits):
    copied(directory, "models.yaml")
    damage(directory / "models.yaml", edits)
    return guarded(lambda: load_descriptor(directory / "models.yaml"))


def environment(directory, edits):
    copied(directory, "room.world", "spec.yaml", "environment.yaml")
    damage(directory / "environment.yaml", edits)
    return guarded(lambda: load(directory / "environment.yaml", EnvironmentCampaignSpec))


def policy(directory, edits):
    kind, changes = edits
    copied(directory, "policy.npz")
    if kind == "archive":
        edit_archive(directory / "policy.npz", changes)
    else:
        damage(directory / "policy.npz", changes)
    return guarded(lambda: read_policy(directory / "policy.npz"))


def demonstrations(directory, edits):
    kind, changes = edits
    copied(directory, "shown.npz")
    if kind == "archive":
        edit_archive(directory / "shown.npz", changes)
    else:
        damage(directory / "shown.npz", changes)
    return guarded(lambda: Demonstrations.read(directory / "shown.npz"))


def height_map(directory, edits):
    """Run a campaign on the height map. The verb map does not read its image: it is ground."""
    copied(directory, "hills.world", "hills.png")
    damage(directory / "hills.png", edits)
    (directory / "worlds").mkdir()
    for name in ("hills.world", "hills.png"):
        shutil.move(str(directory / name), str(directory / "worlds"))
    text = CAMPAIGN.replace("{base: room.world, obstacles: spec.yaml, count: 2}",
                            "{directory: worlds}")  # fmt: skip
    (directory / "campaign.yaml").write_text(text)
    return verb("run", directory / "campaign.yaml", "--out", directory / "out", "--workers", "1",
                "--planners", "straight")  # fmt: skip


def terrain_image(directory, edits):
    copied(directory, "hills.png")
    damage(directory / "hills.png", edits)
    axis = np.linspace(-1.0, 1.0, 9)
    spec = ImageTerrain.model_validate(
        {"kind": "image", "name": "hills", "image": str(directory / "hills.png"), "relief_m": 0.5}
    )
    return guarded(lambda: spec.relief(*np.meshgrid(axis, axis), np.random.default_rng(1)))


def package(directory, edits):
    copied(directory, "neighbor")
    damage(directory / "neighbor" / "package.xml", edits)

    def names():
        os.environ["ROS_PACKAGE_PATH"] = str(directory)
        ros_packages()
        Registry("planner", {}).names()

    return guarded(names)


def urdf(directory, edits):
    copied(directory, "thing.urdf")
    damage(directory / "thing.urdf", edits)
    return guarded(lambda: read_body(directory / "thing.urdf"))


def services(simulator):
    """Return a function that sends the requests of a seed to the services of a simulator node."""

    def make(directory, request_seed):
        from service_requests import check_responses, launched

        uri = launched(simulator, directory.parent)

        def call():
            os.environ["ROS_MASTER_URI"] = uri
            return check_responses(request_seed, directory)

        return call

    return make


def compare(directory, edits):
    one = damaged_results(directory, edits)
    shutil.copytree(directory.parent / "seeds" / "results", directory / "other", dirs_exist_ok=True)
    return verb("compare", one, directory / "other")


def gate(directory, edits):
    return verb("gate", damaged_results(directory, edits), "--planner", "gaps", "--min-success",
                "0.01", "--junit", directory / "gate.xml")  # fmt: skip


_bytes = st.lists(byte_edits, min_size=1, max_size=3)
_archives = st.one_of(
    st.tuples(st.just("bytes"), _bytes),
    st.tuples(
        st.just("archive"),
        st.tuples(st.floats(0, 1, exclude_max=True), st.sampled_from((0, 8)),
                  st.lists(text_edits, max_size=2), st.booleans()),
    ),
)  # fmt: skip
EXTRA_GROUPS = (
    Group("table", 6, table, few, ([],)),
    Group("recording", 6, recording, st.tuples(st.sampled_from(CHANNELS), few), (("imu.csv", []),)),
    Group("bag", 6, bag, _bytes, ([],)),
    Group("bench", 4, bench, few, ([],)),
    Group("opendrive", 6, road, few, ([],)),
    Group("descriptor", 3, descriptor, few, ([],)),
    Group("environment", 4, environment, few, ([],)),
    Group("policy", 5, policy, _archives, (("bytes", []),)),
    Group("demonstrations", 3, demonstrations, _archives, (("bytes", []),)),
    Group("height-map", 4, height_map, _bytes, ([],)),
    Group("terrain", 3, terrain_image, _bytes, ([],)),
    Group("package.xml", 3, package, few, ([],)),
    Group("compare", 3, compare, _results, ()),
    Group("gate", 4, gate, _results, ()),  # undecided without damage
    *(
        Group(name, 0.1, services(simulator), st.integers(0, 2**32), ())
        for name, simulator in (("services", "embedded"), ("services-gazebo", "gazebo"))
        if importlib.util.find_spec("rospy") is not None
    ),
)  # fmt: skip
