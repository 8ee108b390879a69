"""Further groups of inputs of the fuzzer: those of the extras, packages of ROS, and requests to
the services of the nodes. The valid files come from the tests of the extras."""

import importlib.util
import os
import shutil
import sys

import numpy as np
from fuzz_edits import archive_edits, byte_edits, edit_archive
from fuzz_groups import (
    CAMPAIGN,
    FOLDER_CAMPAIGN,
    ROOT,
    Group,
    copied,
    damage,
    damaged_results,
    few,
    guarded,
    reader,
    result_edits,
    run_text,
    verb,
)
from hypothesis import strategies as st
from PIL import Image

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
    (seeds / "neighbor").mkdir()
    (seeds / "neighbor" / "package.xml").write_text(PACKAGE)
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


def recording(directory, edits):
    name, changes = edits
    copied(directory, "channels")
    damage(directory / "channels" / name, changes)
    channels = ("imu", "odometry")
    files = {channel: str(directory / "channels" / f"{channel}.csv") for channel in channels}
    spec = RecordingSpec.model_validate({"imu": {}, "odometry": {}, "cases": {"straight": [files]}})
    return guarded(lambda: read_recordings(spec))


def read_bag(path):
    keys = {name: READ[name] for name in ("imu", "odometry")}
    read_recordings(RecordingSpec.model_validate({**keys, "cases": {"straight": [str(path)]}}))


def read_road(path):
    text = f"{{opendrive: {path.name}, route: [1.0.-1, 2.0.-1]}}"
    return parse(text, RoadSpec, path.parent / "campaign.yaml")


def read_package(path):
    os.environ["ROS_PACKAGE_PATH"] = str(path.parents[1])
    ros_packages()
    Registry("planner", {}).names()


def read_terrain(path):
    axis = np.linspace(-1.0, 1.0, 9)
    keys = {"kind": "image", "name": "hills", "image": str(path), "relief_m": 0.5}
    spec = ImageTerrain.model_validate(keys)
    return spec.relief(*np.meshgrid(axis, axis), np.random.default_rng(1))


def archive(name, read):
    """Return the function of a group that damages an archive or one of its members."""

    def make(directory, edits):
        kind, changes = edits
        copied(directory, name)
        (edit_archive if kind == "archive" else damage)(directory / name, changes)
        return guarded(lambda: read(directory / name))

    return make


def table(directory, edits):
    copied(directory, "trials.csv")
    damage(directory / "trials.csv", edits)
    return verb("import", directory / "trials.csv", "--out", directory / "out")


def height_map(directory, edits):
    """Run a campaign on the height map. The verb map does not read its image: it is ground."""
    copied(directory, "hills.world", "hills.png", folder="worlds")
    damage(directory / "worlds" / "hills.png", edits)
    return run_text(directory, FOLDER_CAMPAIGN)


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
    damaged = damaged_results(directory, edits)
    copied(directory, "results", folder="other")
    return verb("compare", damaged, directory / "other" / "results")


def gate(directory, edits):
    return verb("gate", damaged_results(directory, edits), "--planner", "gaps", "--min-success",
                "0.01", "--junit", directory / "gate.xml")  # fmt: skip


_bytes = st.lists(byte_edits, min_size=1, max_size=3)
_archives = st.one_of(
    st.tuples(st.just("bytes"), _bytes), st.tuples(st.just("archive"), archive_edits)
)
EXTRA_GROUPS = (
    Group("table", 6, table, few, ([],)),
    Group("recording", 6, recording, st.tuples(st.sampled_from(CHANNELS), few), (("imu.csv", []),)),
    Group("bag", 6, reader("drive.bag", read_bag), _bytes, ([],)),
    Group("bench", 4, reader("bench.yaml", lambda path: load(path, BenchSpec)), few, ([],)),
    Group("opendrive", 6, reader("town.xodr", read_road), few, ([],)),
    Group("descriptor", 3, reader("models.yaml", load_descriptor), few, ([],)),
    Group("environment", 4, reader("environment.yaml",
          lambda path: load(path, EnvironmentCampaignSpec), "room.world", "spec.yaml"), few, ([],)),
    Group("policy", 5, archive("policy.npz", read_policy), _archives, (("bytes", []),)),
    Group("demonstrations", 3, archive("shown.npz", Demonstrations.read), _archives,
          (("bytes", []),)),
    Group("height-map", 4, height_map, _bytes, ([],)),
    Group("terrain", 3, reader("hills.png", read_terrain), _bytes, ([],)),
    Group("package.xml", 3, reader("neighbor/package.xml", read_package), few, ([],)),
    Group("compare", 3, compare, result_edits, ()),
    Group("gate", 4, gate, result_edits, ()),  # undecided without damage
    *(
        Group(name, 0.1, services(simulator), st.integers(0, 2**32), ())
        for name, simulator in (("services", "embedded"), ("services-gazebo", "gazebo"))
        if importlib.util.find_spec("rospy") is not None
    ),
)  # fmt: skip
