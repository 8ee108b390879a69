"""Adaptation of worlds to Gazebo's physics engines, and rejected worlds."""

import math

import numpy as np
import pytest
import trimesh
from lxml import etree
from PIL import Image

from gz_testauto.base.errors import SimulatorError, SpecError
from gz_testauto.base.observation import Twist2D
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.base.resources import share_directory
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.robot import read_robot
from gz_testauto.simulators import check_options, open_simulator
from gz_testauto.simulators.changes import Push, SetFriction, SetGravity
from gz_testauto.simulators.gazebo import GazeboSimulator
from gz_testauto.simulators.gazebo.engines import restore_collisions
from gz_testauto.simulators.gazebo.instruments import SUFFIX, instrument_model, instrument_robot
from gz_testauto.simulators.gazebo.split_world import split_world
from gz_testauto.simulators.interface import NamedModel, PlacedRobot, Scene

MODELS = share_directory() / "models"
PLAIN = share_directory() / "worlds" / "plain.world"
HUSKY = read_robot(MODELS / "husky_a200")
PERIOD_NS = 100_001_000

WORLD = """<sdf version="1.6"><world name="hall"><gravity>0 0 -3.7</gravity>
<physics type="{engine}"><max_step_size>0.002</max_step_size></physics>{models}</world></sdf>"""
TERRAIN = """<model name="hills"><static>true</static><pose>{place}</pose><link name="l">
<pose>0 0 0.1 0 0 0</pose><collision name="c"><geometry><heightmap><uri>file://{image}</uri>
<size>8 8 0.3</size><pos>{above}</pos></heightmap></geometry></collision></link></model>"""
PROBE = """<model name="p{number}"><pose>{x} {y} {z} 0 0 0</pose><link name="l"><inertial>
<mass>1</mass><inertia><ixx>0.001</ixx><iyy>0.001</iyy><izz>0.001</izz></inertia></inertial>
<collision name="c"><geometry><sphere><radius>0.02</radius></sphere></geometry><surface><friction>
<ode><mu>0</mu><mu2>0</mu2></ode></friction></surface></collision></link>
<joint name="j" type="prismatic"><parent>world</parent><child>l</child><axis><xyz>0 0 1</xyz>
<dynamics><damping>2</damping></dynamics></axis></joint></model>"""
WALL = """<model name="wall"><static>true</static><pose>{pose}</pose><link name="l">
<collision name="c"><pose>{own}</pose><geometry><plane><normal>{normal}</normal></plane></geometry>
</collision></link></model>"""
LUMP = """<sdf version="1.6"><model name="lump"><link name="l">{parts}</link></model></sdf>"""
PART = """<collision name="c{number}"><pose>0 0 {z} 0 0 0</pose><geometry><box><size>1 1 0.1</size>
</box></geometry><surface><friction><ode><mu>{mu}</mu></ode></friction></surface></collision>"""


def write(folder, models="", engine="ode"):
    path = folder / "hall.world"
    path.write_text(WORLD.format(models=models, engine=engine))
    return path


def split_text(path, engine):
    return split_world(path, 5000.0, engine=engine)


@pytest.fixture
def levels(request):
    """Return the gray levels of hills, all above 0. Row 0 has the largest y."""
    pixels = getattr(request, "param", 33)
    x, y = np.meshgrid(np.linspace(-4, 4, pixels), np.linspace(4, -4, pixels))
    hills = 0.6 + 0.25 * np.sin(1.3 * x + 0.4) * np.cos(0.9 * y) + 0.03 * x
    return np.round(hills / hills.max() * 255).astype(np.uint8)


@pytest.fixture
def terrain(tmp_path, levels):
    image = tmp_path / "hills.png"
    Image.fromarray(levels).save(image)

    def text(place="0 0 0 0 0 0", above="0 0 0"):
        return TERRAIN.format(image=image, place=place, above=above)

    return text


class TestChoosing:
    @pytest.mark.parametrize("engine", ["bullet", "dart"])
    def test_changing_the_physics_engine_keeps_step_and_gravity(self, tmp_path, engine):
        split = split_text(write(tmp_path), engine)
        world = etree.fromstring(split.base).find("world")
        assert world.find("physics").get("type") == engine
        assert split.engine == engine
        assert world.findtext("physics/max_step_size") == "0.002"
        assert world.findtext("gravity") == "0 0 -3.7"

    def test_default_physics_engine_is_specified_by_the_world(self, tmp_path):
        split = split_text(write(tmp_path, engine="bullet"), None)
        assert split.engine == "bullet"
        assert split.base == split_text(write(tmp_path), "bullet").base

    def test_simbody_is_rejected_with_the_reason(self, tmp_path):
        with pytest.raises(SimulatorError, match=r"hall\.world:\d+: 'simbody' cannot be stepped"):
            split_text(write(tmp_path, engine="simbody"), None)
        assert split_text(write(tmp_path, engine="simbody"), "ode").engine == "ode"

    @pytest.mark.gazebo
    @pytest.mark.parametrize(
        ("engine", "says"),
        [("simbody", "'simbody' cannot be stepped"), ("physx", "must be one of ode, bullet, dart")],
    )
    def test_unknown_engine_option_is_rejected(self, engine, says):
        with pytest.raises(SpecError, match=says):
            open_simulator("gazebo", engine=engine)

    def test_campaign_accepts_the_engine_option(self):
        check_options("gazebo", {"engine": "bullet"})
        with pytest.raises(SpecError, match="engine is 3"):
            check_options("gazebo", {"engine": 3})


class TestTerrain:
    def test_height_map_has_equal_poses_in_bullet_and_ode(self, tmp_path, terrain, levels):
        text = terrain(place="1 2 0.4 0 0 0.3", above="0 0 0.5")
        split = split_text(write(tmp_path, text), "bullet")
        collision = etree.fromstring(split.base).find(".//collision")
        x, y, z, roll, pitch, yaw = map(float, collision.findtext("pose").split())
        place = Pose.from_rpy(1, 2, 0.5, 0, 0, 0.3) * Pose.from_rpy(x, y, z, roll, pitch, yaw)
        middle_m = 0.3 * (levels.min() / levels.max() + 1) / 2
        assert place.position == pytest.approx((0, 0, 0.5 + middle_m), abs=1e-9)
        assert place.yaw_rad == pytest.approx(0.3)
        size = collision.findtext("geometry/heightmap/size").split()
        assert [float(side) for side in size] == pytest.approx([8 * 65 / 64, 8 * 65 / 64, 0.3])

    def test_ode_height_map_is_not_changed(self, tmp_path, terrain):
        assert split_text(write(tmp_path, terrain()), None).originals == {}

    def test_ode_mesh_has_the_heights_of_the_map(self, tmp_path, terrain, levels):
        text = terrain(place="1 2 0.4 0 0 0.3", above="0 0 0.5")
        split = split_world(write(tmp_path, text), 5000.0, meshes=tmp_path)
        saved = etree.fromstring(split.base).find("world")
        collision = saved.find(".//collision")
        x, y, z, roll, pitch, yaw = map(float, collision.findtext("pose").split())
        place = Pose.from_rpy(1, 2, 0.5, 0, 0, 0.3) * Pose.from_rpy(x, y, z, roll, pitch, yaw)
        assert place.position == pytest.approx((0, 0, 0.5), abs=2e-6)
        assert place.yaw_rad == pytest.approx(0.3)
        mesh = trimesh.load(collision.findtext("geometry/mesh/uri")[len("file://") :])
        assert len(mesh.faces) == 2 * 32 * 32
        assert (mesh.face_normals[:, 2] > 0).all()
        corners = mesh.triangles.reshape(-1, 3)
        columns, rows = np.rint((corners[:, 0] + 4) * 4), np.rint((4 - corners[:, 1]) * 4)
        heights = levels[rows.astype(int), columns.astype(int)] / levels.max() * 0.3
        assert corners[:, 2] == pytest.approx(heights, abs=1e-6)
        restore_collisions(saved, split.originals)
        assert collision.findtext("geometry/heightmap/size") == "8 8 0.3"
        assert collision.find("geometry/mesh") is None

    def test_height_map_meshes_are_rejected_for_engines_other_than_ode(self, tmp_path, terrain):
        world = write(tmp_path, terrain())
        split = split_world(world, 5000.0, engine="bullet", meshes=tmp_path)
        assert "<mesh>" not in split.base
        with pytest.raises(ValueError, match="'height_maps' is 'meshes'"):
            GazeboSimulator(engine="bullet", height_maps="meshes")
        with pytest.raises(SpecError, match="height_maps is 'no'"):
            check_options("gazebo", {"height_maps": "no"})

    def test_dart_rejects_a_height_map(self, tmp_path, terrain):
        with pytest.raises(SimulatorError, match="hills::l::c is a height map, and in DART"):
            split_text(write(tmp_path, terrain()), "dart")

    def test_bullet_plane_is_placed_as_in_ode(self, tmp_path):
        text = WALL.format(pose="5 1 0.5 0 1 0.3", normal="0 2 0", own="1 0 0 0.2 0 0")
        split = split_text(write(tmp_path, text), "bullet")
        saved = etree.fromstring(split.base).find("world")
        (collision,) = saved.iterfind(".//collision")
        place = Pose.from_rpy(5, 1, 0.5, 0, 1, 0.3)
        z = (place * Pose.from_rpy(1, 0, 0, 0.2, 0, 0)).position[2]
        own = Pose.from_values(map(float, collision.findtext("pose").split()))
        assert (place * own).position[1] == pytest.approx(z / 2)
        assert (place * own).rotation[:, 2] == pytest.approx((0, 1, 0))
        assert collision.findtext("geometry/plane/normal") == "0 0 1"
        restore_collisions(saved, split.originals)
        assert collision.findtext("pose") == "1 0 0 0.2 0 0"
        assert collision.findtext("geometry/plane/normal") == "0 2 0"

    @pytest.mark.parametrize("engine", ["ode", "bullet", "dart"])
    def test_level_ground_is_not_changed(self, tmp_path, engine):
        text = WALL.format(pose="5 1 0.5 0 0 0.3", normal="0 0 1", own="1 0 0 0 0 0")
        assert split_text(write(tmp_path, text), engine).originals == {}

    @pytest.mark.parametrize(
        "pose, normal, own",
        [
            ("0 0 0 0 0 0", "1 0 0", "0 0 0 0 0 0"),
            ("0 0 0 0 0 0", "0 0 1", "0 0 0.1 0 0 0"),
            ("0 0 0.5 0 0.1 0", "0 0 1", "0 0 0 0 0 0"),
            ("0 0 0.5 0 0 0", "0 0 2", "0 0 0 0 0 0"),
        ],
    )
    def test_dart_rejects_a_plane_that_it_places_elsewhere(self, tmp_path, pose, normal, own):
        text = WALL.format(pose=pose, normal=normal, own=own)
        with pytest.raises(
            SimulatorError, match=r"hall.world:\d+: wall::l::c is a plane, and DART"
        ):
            split_text(write(tmp_path, text), "dart")

    @pytest.mark.gazebo
    @pytest.mark.parametrize("engine", ["ode", "bullet"])
    def test_ball_rests_on_a_plane_at_the_distance_along_its_normal(self, tmp_path, engine):
        slope = WALL.format(pose="5 1 1 0 0.3 0", normal="-0.2 0 1", own="0 0 0 0 0 0")
        world = write(tmp_path, slope + PROBE.format(number=0, x=1, y=0, z=1.5), engine)
        with GazeboSimulator(engine=engine) as simulator:
            ball = simulator.load(Scene(world)).step(2.0).models["p0"].pose
        assert ball.position[2] == pytest.approx(1 + 0.2 * 1 + 0.02, abs=0.01)

    def test_restored_collisions_equal_the_original_ones(self, tmp_path, terrain):
        rail = PART.format(number=2, z=1, mu=0.2).replace("c2", "rail")
        text = terrain(place="1 2 0.4 0 0 0.3").replace("</link>", rail + "</link>")
        split = split_text(write(tmp_path, text), "bullet")
        saved = etree.fromstring(split.base).find("world")
        hills, rail = saved.iterfind(".//collision")
        assert hills.findtext("geometry/heightmap/size") != "8 8 0.3"
        assert rail.findtext("surface/friction/ode/mu") == "1"
        restore_collisions(saved, split.originals)
        assert hills.findtext("geometry/heightmap/size") == "8 8 0.3"
        assert [part.tag for part in hills] == ["geometry"]
        assert rail.findtext("surface/friction/ode/mu") == "0.2"
        assert rail.findtext("pose") == "0 0 1 0 0 0"

    @pytest.mark.gazebo
    @pytest.mark.parametrize(
        ("engine", "levels"), [("bullet", 33), ("bullet", 100), ("ode", 100)], indirect=["levels"]
    )
    def test_bodies_rest_on_a_height_map_at_its_heights(self, tmp_path, terrain, levels, engine):
        """Maps without 2^n + 1 pixels per side have the same heights."""

        def height_m(x, y):
            cell_m = 8 / (len(levels) - 1)
            column, row = (x + 4) / cell_m, (4 - y) / cell_m
            j, i = int(column), int(row)
            down, right = row - i, column - j
            a = levels[i : i + 2, j : j + 2] / levels.max() * 0.3
            return (1 - down) * (a[0] @ (1 - right, right)) + down * (a[1] @ (1 - right, right))

        def slope(x, y, d=1e-3):
            along = (height_m(x + d, y) - height_m(x - d, y)) / (2 * d)
            return math.hypot(along, (height_m(x, y + d) - height_m(x, y - d)) / (2 * d))

        places = np.random.default_rng(3).uniform(-3.7, 3.7, size=(20, 2)).tolist()
        probes = "".join(
            PROBE.format(number=n, x=x, y=y, z=height_m(x, y) + 0.45)
            for n, (x, y) in enumerate(places)
        )
        world = write(tmp_path, terrain(place="0 0 0.7 0 0 0", above="0 0 0.4") + probes)
        with GazeboSimulator(engine=engine) as simulator:
            models = simulator.load(Scene(world)).step(3.0).models
        for n, (x, y) in enumerate(places):
            rests_m = models[f"p{n}"].pose.position[2] - 0.02 * math.hypot(1, slope(x, y))
            assert rests_m == pytest.approx(0.4 + height_m(x, y), abs=1e-3)


class TestFriction:
    def lump(self, engine, *mus):
        parts = "".join(PART.format(number=n, z=n + 0.05, mu=mu) for n, mu in enumerate(mus))
        lump = NamedModel("lump", LUMP.format(parts=parts))
        instrumented = instrument_model(lump, PERIOD_NS, SUFFIX, engine)
        read = etree.fromstring(instrumented.model.sdf).iterfind(".//collision")
        return [float(c.findtext("surface/friction/ode/mu")) for c in read], instrumented.originals

    @pytest.mark.parametrize("engine", ["bullet", "dart"])
    def test_link_gets_the_friction_of_its_collision_on_the_floor(self, engine):
        mus, before = self.lump(engine, 0.2, 0.9, 0.4)
        assert mus == [0.2, 0.2, 0.2]
        assert list(before) == ["lump::l::c1", "lump::l::c2"]

    def test_ode_keeps_the_friction_of_each_collision(self):
        assert self.lump("ode", 0.2, 0.9)[0] == [0.2, 0.9]

    def test_common_friction_of_the_collisions_of_a_link_is_logged(self, caplog):
        self.lump("bullet", 0.31, 0.9)
        assert "lump" in caplog.text
        assert "get mu 0.31" in caplog.text


def test_dart_rejects_a_robot_with_a_lidar():
    wheelchair = read_robot(MODELS / "wheelchair")
    with pytest.raises(SimulatorError, match=r"DART .* 'lidar'"):
        instrument_robot(wheelchair, Pose2D(0, 0, 0), PERIOD_NS, "", "dart")
    instrument_robot(HUSKY, Pose2D(0, 0, 0), PERIOD_NS, "", "dart")


def drive(engine):
    """Return the snapshots of a new server with a Husky that drives a curve and a second robot."""
    others = (PlacedRobot(read_robot(MODELS / "husky_a200", "second"), Pose2D(0.0, 2.0, 0.0)),)
    rows = []
    with GazeboSimulator(engine=engine, period_s=0.01) as simulator:
        assert simulator.version.endswith(f" with {engine}")
        simulation = simulator.load(Scene(PLAIN, HUSKY, Pose2D(0.0, 0.0, 0.3), others=others))
        for turn in (0.0, 0.4, -0.4, 0.2):
            simulation.drive(Twist2D(0.5, turn))
            simulation.drive(Twist2D(0.3, 0.0), "second")
            snapshot = simulation.step(0.1)
            poses = [state.pose for state in snapshot.models.values()]
            samples = [*snapshot.imu, *snapshot.others["second"].imu]
            assert len(samples) == 20
            rows.append((poses, [(one.stamp_s, one.linear_mps2) for one in samples]))
    return rows


@pytest.mark.gazebo
@pytest.mark.slow
@pytest.mark.parametrize("engine", ["ode", "bullet", "dart"])
def test_new_servers_give_bit_identical_results_at_100_hz(engine):
    assert drive(engine) == drive(engine)


@pytest.mark.gazebo
def test_change_that_an_engine_does_not_support_is_rejected(tmp_path):
    with GazeboSimulator(engine="bullet") as simulator:
        assert {Push, SetFriction, SetGravity} & simulator.changes == {SetGravity}
        simulation = simulator.load(Scene(PLAIN, HUSKY))
        with pytest.raises(SimulatorError, match="SetFriction"):
            simulation.apply([SetFriction("ground_plane::link::collision", 0.5)])
        saved = tmp_path / "saved.world"
        simulation.save_world(saved)
    assert SdfDocument.read(saved).world.find("physics").get("type") == "ode"
