"""Comparison of the simulator pybullet with known values."""

import math

import embedded_scenes as scenes
import numpy as np
import pytest
from PIL import Image

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.observation import ModelState, Twist2D
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.robot import read_robot
from gz_testauto.simulators import open_simulator
from gz_testauto.simulators.changes import SetGravity, SetJoint, SetModel
from gz_testauto.simulators.interface import NamedModel

pytest.importorskip("pybullet", reason="no PyBullet here: pip install gz_testauto[pybullet]")

GRAVITY_MPS2 = 9.8


@pytest.fixture(scope="module")
def simulator():
    with open_simulator("pybullet") as simulator:
        yield simulator


def tilted(angle_rad):
    """Return the gravity that a body on a slope has in the frame of the slope, which falls in the
    direction of +x."""
    down, along = math.cos(angle_rad), math.sin(angle_rad)
    return SetGravity(mps2=(GRAVITY_MPS2 * along, 0.0, -GRAVITY_MPS2 * down))


def ball(name, x, y, z, radius=0.1):
    """Return a solid box of 5 kg."""
    about = 0.4 * 5.0 * radius**2
    return scenes.model(
        name,
        f"<sphere><radius>{radius}</radius></sphere>",
        f"{x} {y} {z} 0 0 0",
        static=False,
    ).replace("0.2</i", f"{about}</i")


def planar(snapshot, name="robot"):
    return snapshot.models[name].pose.planar


class TestFriction:
    def slide(self, simulator, folder, angle_rad, duration_s):
        sled = scenes.box(
            "sled", 0, 0, 0.05, "0.4 0.4 0.1", static=False, surface=scenes.friction(0.5)
        )
        simulation = scenes.load(simulator, scenes.write_world(folder, sled))
        simulation.step(0.3)
        simulation.apply([tilted(angle_rad)])
        speeds = []
        for _ in range(round(duration_s / 0.1)):
            speeds.append(simulation.step(0.1).models["sled"].linear_mps[0])
        return speeds, simulation.snapshot().models["sled"].pose.position[0]

    def test_box_below_the_angle_of_friction_does_not_move(self, simulator, tmp_path):
        angle = math.atan(0.5) - math.radians(2)
        _, moved_m = self.slide(simulator, tmp_path, angle, 1.0)
        assert moved_m == pytest.approx(0.0, abs=1e-3)

    def test_box_above_the_angle_of_friction_accelerates(self, simulator, tmp_path):
        angle = math.atan(0.5) + math.radians(5)
        speeds, _ = self.slide(simulator, tmp_path, angle, 1.2)
        expected = GRAVITY_MPS2 * (math.sin(angle) - 0.5 * math.cos(angle))
        assert speeds[-1] - speeds[1] == pytest.approx(expected, rel=0.02)

    @pytest.mark.parametrize("towards_rad", [0.0, 0.6])
    @pytest.mark.parametrize(("mu", "floor_mu"), [(0.3, 1.0), (1.0, 0.3), (0.3, 100.0)])
    def test_sliding_box_is_braked_by_the_smaller_friction(
        self, simulator, tmp_path, mu, floor_mu, towards_rad
    ):
        floor = scenes.FLOOR.replace(
            "</geometry>", f"</geometry><surface>{scenes.friction(floor_mu)}</surface>"
        )
        box = scenes.box("box", 0, 0, 0.05, "1 1 0.1", static=False, surface=scenes.friction(mu))
        simulation = scenes.load(simulator, scenes.write_world(tmp_path, box, floor=floor))
        simulation.step(0.2)
        velocity = (2.0 * math.cos(towards_rad), 2.0 * math.sin(towards_rad), 0.0)
        simulation.apply([SetModel("box", linear_mps=velocity)])
        end = simulation.step(1.0).models["box"]
        stopped_m = 2.0**2 / (2 * 0.3 * GRAVITY_MPS2)
        assert math.hypot(*end.pose.position[:2]) == pytest.approx(stopped_m, rel=0.02)

    def test_rolling_ball_has_five_sevenths_of_the_acceleration_without_friction(
        self, simulator, tmp_path
    ):
        world = scenes.write_world(tmp_path, ball("ball", 0, 0, 0.1))
        simulation = scenes.load(simulator, world)
        simulation.apply([tilted(math.radians(10))])
        speed = simulation.step(1.0).models["ball"].linear_mps[0]
        assert speed == pytest.approx(5 / 7 * GRAVITY_MPS2 * math.sin(math.radians(10)), rel=0.002)


class TestBodies:
    def test_falling_ball_accelerates_with_gravity(self, simulator, tmp_path):
        world = scenes.write_world(tmp_path, ball("ball", 0, 0, 3.0))
        fallen_m = 3.0 - scenes.load(simulator, world).step(0.7).models["ball"].pose.position[2]
        # velocities are updated first, so it is ahead by half a step
        exact_m = GRAVITY_MPS2 * 0.7**2 / 2 + GRAVITY_MPS2 * 0.7 * 0.001 / 2
        assert fallen_m == pytest.approx(exact_m, abs=1e-6)

    def test_falling_box_does_not_bounce(self, simulator, tmp_path):
        simulation = scenes.load(simulator, scenes.write_world(tmp_path, ball("ball", 0, 0, 1.1)))
        simulation.step(0.46)  # it lands after 0.452 s
        heights = [simulation.step(0.01).models["ball"].pose.position[2] for _ in range(30)]
        assert max(heights) < 0.1 + 0.05**2 * 1.0  # at most 5 % of the speed

    def test_ball_moves_with_the_specified_twist(self, simulator, tmp_path):
        simulation = scenes.load(simulator, scenes.write_world(tmp_path, ball("ball", 0, 0, 5.0)))
        pose = Pose.from_rpy(0, 0, 5, 0, 0, 0.7)
        simulation.set_states({"ball": ModelState(pose, (2.0, 1.0, 0.0), (0.0, 0.0, 3.0))})
        end = simulation.step(0.5).models["ball"]
        assert end.pose.position[:2] == pytest.approx((1.0, 0.5), abs=1e-6)
        assert end.angular_radps == pytest.approx((0, 0, 3), abs=1e-6)
        assert end.pose.yaw_rad == pytest.approx(0.7 + 1.5, abs=1e-3)

    def test_link_rotates_about_its_center_of_mass(self, simulator, tmp_path):
        odd = """<model name="odd"><pose>0 0 5 0 0 0</pose><link name="l"><gravity>0</gravity>
        <inertial><pose>0.5 0 0 0 0 0</pose><mass>2</mass><inertia><ixx>0.2</ixx><iyy>0.3</iyy>
        <izz>0.4</izz><ixy>0.05</ixy></inertia></inertial></link></model>"""
        simulation = scenes.load(simulator, scenes.write_world(tmp_path, odd))
        simulation.apply([SetModel("odd", None, (0.0, 0.0, 0.0), (0.0, 0.0, 1.0))])
        assert simulation.snapshot().models["odd"].linear_mps == pytest.approx((0, 0, 0))
        position = simulation.step(1.0).models["odd"].pose.position
        # the center moves at ω × r, and the link's origin rotates about it
        expected = (0.5 - 0.5 * math.cos(1.0), 0.5 - 0.5 * math.sin(1.0), 5.0)
        assert position == pytest.approx(expected, abs=1e-3)

    def test_door_rotates_on_its_hinge_to_its_limit(self, simulator, tmp_path):
        door = """<model name="door"><link name="frame"><pose>0 0 1 0 0 0</pose></link>
        <link name="leaf"><pose>0.5 0 1 0 0 0</pose><inertial><mass>5</mass><inertia>
        <ixx>0.1</ixx><iyy>0.5</iyy><izz>0.5</izz></inertia></inertial></link>
        <joint name="wall" type="fixed"><parent>world</parent><child>frame</child></joint>
        <joint name="hinge" type="revolute"><pose>-0.5 0 0 0 0 0</pose><parent>frame</parent>
        <child>leaf</child><axis><xyz>0 1 0</xyz><limit><lower>-1</lower><upper>1</upper></limit>
        <dynamics><damping>1</damping></dynamics></axis></joint></model>"""
        simulation = scenes.load(simulator, scenes.write_world(tmp_path, door))
        links = simulation.step(4.0).links
        x, _, z = links["door::leaf"].pose.position
        assert (x, z) == pytest.approx((0.5 * math.cos(1), 1 - 0.5 * math.sin(1)), abs=2e-3)
        assert links["door::frame"].pose.position == pytest.approx((0, 0, 1), abs=1e-9)

    def test_link_on_a_world_joint_has_the_period_of_a_pendulum(self, simulator, tmp_path):
        pendulum = """<model name="p"><pose>1 2 3 0 0 0.4</pose><link name="bob"><inertial>
        <pose>0 0 -0.5 0 0 0</pose><mass>2</mass><inertia><ixx>0.01</ixx><iyy>0.01</iyy>
        <izz>0.01</izz></inertia></inertial></link><joint name="pin" type="revolute">
        <parent>world</parent><child>bob</child><axis><xyz>0 1 0</xyz></axis></joint></model>"""
        simulation = scenes.load(simulator, scenes.write_world(tmp_path, pendulum))
        simulation.apply([SetJoint("p::pin", position=0.05)])
        period_s = 2 * math.pi * math.sqrt((0.01 + 2 * 0.25) / (2 * GRAVITY_MPS2 * 0.5))
        simulation.step(round(period_s / 2, 3))
        pose = simulation.snapshot().links["p::bob"].pose
        assert pose.position == pytest.approx((1, 2, 3), abs=1e-6)
        assert pose.tilt_rad == pytest.approx(0.05, rel=0.01)
        simulation.set_states({"p": ModelState(Pose((5.0, 5.0, 1.0)))})
        assert simulation.step(0.1).links["p::bob"].pose.position == pytest.approx((5, 5, 1))

    def test_universal_joint_swings_about_both_axes(self, simulator, tmp_path):
        """The period of a swing about each axis is that of a pendulum about the same axis."""
        bob = """<model name="p"><link name="bob"><pose>0 0 3 0 0 0</pose><inertial>
        <pose>0 0 -0.5 0 0 0</pose><mass>2</mass><inertia><ixx>0.01</ixx><iyy>0.01</iyy>
        <izz>0.01</izz></inertia></inertial></link><joint name="pin" type="universal">
        <parent>world</parent><child>bob</child><axis><xyz>1 0 0</xyz></axis>
        <axis2><xyz>0 1 0</xyz></axis2></joint></model>"""
        simulation = scenes.load(simulator, scenes.write_world(tmp_path, bob, floor=""))
        sideways = SetGravity(mps2=(0.01 * GRAVITY_MPS2, 0.02 * GRAVITY_MPS2, -GRAVITY_MPS2))
        simulation.apply([sideways])
        period_s = 2 * math.pi * math.sqrt((0.01 + 2 * 0.25) / (2 * GRAVITY_MPS2 * 0.5))
        pose = simulation.step(round(period_s / 2, 3)).links["p::bob"].pose
        assert pose.position == pytest.approx((0, 0, 3), abs=1e-6)
        # the largest angle is twice the angle of gravity
        down = pose.rotation @ (0.0, 0.0, -1.0)
        assert down[:2] == pytest.approx((0.02, 0.04), rel=0.02)

    def test_slider_falls_along_its_axis_to_its_limit(self, simulator, tmp_path):
        slider = """<model name="s"><pose>0 0 4 0 0 0</pose><link name="rail"/><link name="car">
        <pose>0.3 0 0 0 0 0</pose></link><joint name="foot" type="fixed"><parent>world</parent>
        <child>rail</child></joint><joint name="slide" type="prismatic"><parent>rail</parent>
        <child>car</child><axis><xyz>0 0 1</xyz><limit><lower>-1</lower><upper>0.1</upper></limit>
        </axis></joint></model>"""
        simulation = scenes.load(simulator, scenes.write_world(tmp_path, slider))
        falling = simulation.step(0.3).links["s::car"]
        assert falling.linear_mps == pytest.approx((0, 0, -0.3 * GRAVITY_MPS2), abs=1e-3)
        position = simulation.step(1.0).links["s::car"].pose.position
        assert position == pytest.approx((0.3, 0, 3), abs=1e-3)

    @pytest.mark.parametrize(("collide", "height_m"), [("true", 1.0), ("false", 0.0)])
    def test_links_of_a_model_collide_only_if_self_collide_is_set(
        self, simulator, tmp_path, collide, height_m
    ):
        block = "<collision name='c'><geometry><box><size>1 1 1</size></box></geometry></collision>"
        pile = f"""<model name="pile"><self_collide>{collide}</self_collide>
        <link name="low"><pose>0 0 0.5 0 0 0</pose>{block}</link>
        <link name="high"><pose>0 0 1.7 0 0 0</pose>{block}</link></model>"""
        simulation = scenes.load(simulator, scenes.write_world(tmp_path, pile))
        links = simulation.step(1.0).links
        apart_m = links["pile::high"].pose.position[2] - links["pile::low"].pose.position[2]
        assert apart_m == pytest.approx(height_m, abs=5e-3)

    def test_ball_joint_is_rejected_with_its_name(self, simulator, tmp_path):
        chain = """<model name="c"><link name="a"/><link name="b"/><joint name="knee" type="ball">
        <parent>a</parent><child>b</child></joint></model>"""
        with pytest.raises(SimulatorError, match="'knee' is of the type 'ball'"):
            scenes.load(simulator, scenes.write_world(tmp_path, chain))

    def test_spring_moves_a_joint_to_its_reference(self, simulator, tmp_path):
        arm = """<model name="arm"><link name="bar"><gravity>0</gravity></link>
        <joint name="pin" type="revolute"><parent>world</parent><child>bar</child><axis>
        <xyz>0 0 1</xyz><dynamics><spring_stiffness>4</spring_stiffness><damping>2</damping>
        <spring_reference>0.3</spring_reference></dynamics></axis></joint></model>"""
        simulation = scenes.load(simulator, scenes.write_world(tmp_path, arm))
        assert simulation.step(8.0).links["arm::bar"].pose.yaw_rad == pytest.approx(0.3, abs=1e-3)

    def test_shapes_without_a_common_collision_bit_do_not_collide(self, simulator, tmp_path):
        bits = "<contact><collide_bitmask>{}</collide_bitmask></contact>"
        world = scenes.write_world(
            tmp_path,
            scenes.box("shelf", 0, 0, 1.0, surface=bits.format("0x01")),
            scenes.box("ghost", 0, 0, 3.0, static=False, surface=bits.format("0x02")),
        )
        simulation = scenes.load(simulator, world)
        assert simulation.step(2.0).models["ghost"].pose.position[2] == pytest.approx(0.5, abs=1e-3)

    @pytest.mark.parametrize(("deep_m", "off_m"), [(0.02, 0.003), (0.1, 0.003), (4.0, 0.05)])
    @pytest.mark.parametrize("by", ["load", "spawn", "set_states"])
    def test_model_that_starts_inside_the_floor_rises_without_jumping(
        self, simulator, tmp_path, deep_m, off_m, by
    ):
        low = scenes.box("b", 3, 0, 4 - deep_m, "1 1 8", static=False)
        world = scenes.write_world(tmp_path, *([low] if by == "load" else []))
        simulation = scenes.load(simulator, world)
        pose = Pose((3.0, 0.0, 4.0 - deep_m))
        if by != "load":
            simulation.step(0.1)
            begun = pose if by == "spawn" else Pose((3.0, 0.0, 20.0))
            simulation.spawn([NamedModel("b", low, begun)])
        if by == "set_states":
            simulation.step(0.1)
            simulation.set_states({"b": ModelState(pose)})
        heights = [simulation.step(0.1).models["b"].pose.position[2] for _ in range(6)]
        assert max(heights) < 4.0 + off_m
        position = simulation.snapshot().models["b"].pose.position
        assert position == pytest.approx((3, 0, 4), abs=off_m)

    def test_overlapping_boxes_are_separated_without_jumping(self, simulator, tmp_path):
        boxes = [scenes.box(name, x, 0, 0.5, static=False) for name, x in (("a", 3), ("b", 3.6))]
        simulation = scenes.load(simulator, scenes.write_world(tmp_path, *boxes))
        models = simulation.step(1.0).models
        a, b = (models[name].pose.position for name in "ab")
        assert b[0] - a[0] == pytest.approx(1.0, abs=0.02)
        assert (a[0] + b[0]) / 2 == pytest.approx(3.3, abs=0.02)

    def test_adding_and_removing_models_does_not_change_other_models(self, simulator, tmp_path):
        world = scenes.write_world(tmp_path, scenes.box("box", 0, 0, 9.0, static=False))
        undisturbed = scenes.load(simulator, world)
        undisturbed.step(0.2)
        expected = undisturbed.step(0.2).models["box"]
        simulation = scenes.load(simulator, world)
        simulation.step(0.2)
        sdf = f'<sdf version="1.6">{scenes.box("x", 0, 0, 0)}</sdf>'
        simulation.spawn([NamedModel("late", sdf, Pose((5.0, 0.0, 0.5)))])
        simulation.delete(["late"])
        assert simulation.step(0.2).models["box"] == expected

    def test_failed_spawn_adds_no_model(self, simulator, tmp_path):
        simulation = scenes.load(simulator, scenes.write_world(tmp_path))
        egg = scenes.model("egg", "<ellipsoid><radii>1 1 2</radii></ellipsoid>", static=False)
        block = scenes.box("block", 0, 0, 0)
        brought = [
            NamedModel(name, f'<sdf version="1.8">{sdf}</sdf>', Pose((3.0, 0.0, 2.0)))
            for name, sdf in (("block", block), ("egg", egg))
        ]
        with pytest.raises(SimulatorError, match="egg::link::collision"):
            simulation.spawn(brought)
        assert set(simulation.step(0.1).models) == {"floor"}
        simulation.spawn(brought[:1])

    @pytest.mark.parametrize(
        ("geometry", "says"),
        [
            ("<ellipsoid><radii>1 1 2</radii></ellipsoid>", "is of the type ellipsoid, which"),
            ("<box><size>1 0 1</size></box>", "has a size of 0; every size must be above 0"),
            ("<plane><normal>0 0 1</normal></plane>", "is a plane in a model that can move"),
        ],
    )
    def test_unsupported_shape_is_rejected_with_its_name(self, simulator, tmp_path, geometry, says):
        world = scenes.write_world(
            tmp_path, scenes.model("egg", geometry, "0 0 2 0 0 0", static=False), version="1.8"
        )
        with pytest.raises(SimulatorError, match=f"egg::link::collision {says}"):
            scenes.load(simulator, world)


class TestGround:
    """Surfaces have the poses in the SDF, for contacts and for rays."""

    def test_height_map_has_the_heights_of_its_pixels(self, simulator, tmp_path):
        heights = np.random.default_rng(4).integers(0, 256, (17, 17))
        heights[0, 0], heights[8, 8] = 255, 60
        Image.fromarray(heights.astype(np.uint8)).save(tmp_path / "hills.png")
        hills = scenes.model(
            "hills",
            f"<heightmap><uri>file://{tmp_path}/hills.png</uri><size>3.2 3.2 0.5</size>"
            "<pos>0 0 0.25</pos></heightmap>",
        )
        probe = ball("probe", 0, 0, 2.0, 0.001).replace(
            "</link>",
            "<sensor name='down' type='ray'><ray><scan><horizontal><samples>1</samples>"
            "<min_angle>0</min_angle><max_angle>0</max_angle></horizontal></scan><range>"
            "<min>0.01</min><max>9</max></range></ray></sensor></link>",
        )
        path = tmp_path / "probe.sdf"
        path.write_text(f'<sdf version="1.6">{probe}</sdf>')
        simulation = scenes.load(
            simulator, scenes.write_world(tmp_path, hills, floor=""), read_robot(path)
        )
        for row, column in ((0, 0), (8, 8), (3, 12), (16, 5), (9, 1)):
            x, y = (column - 8) * 0.2, (8 - row) * 0.2
            x, y = x - math.copysign(1e-4, x), y - math.copysign(1e-4, y)
            pose = Pose.from_rpy(x, y, 2.0, 0, math.pi / 2, 0)
            simulation.set_states({"robot": ModelState(pose)})
            scan = simulation.step(0.001).scan
            height_m = 2.0 - float(scan.ranges_m[0])
            assert height_m == pytest.approx(0.25 + heights[row, column] / 255 * 0.5, abs=1e-3)

    def test_flat_height_map_or_mesh_supports_models_like_a_plane(self, simulator, tmp_path):
        trimesh = pytest.importorskip("trimesh")
        pixels = np.full((17, 17), 100)
        pixels[0, 0], pixels[16, 16] = 0, 255
        Image.fromarray(pixels.astype(np.uint8)).save(tmp_path / "flat.png")
        level_m = 100 / 255 * 0.5
        flat = scenes.model(
            "flat",
            f"<heightmap><uri>file://{tmp_path}/flat.png</uri><size>8 8 0.5</size></heightmap>",
        )
        trimesh.creation.box((4, 4, 0.5)).export(tmp_path / "slab.stl")
        slab = scenes.model(
            "slab", f"<mesh><uri>file://{tmp_path}/slab.stl</uri></mesh>", "20 0 0 0 0 0"
        )
        crate = trimesh.creation.box((0.4, 0.4, 0.2))
        crate.export(tmp_path / "crate.stl")
        mesh = f"<mesh><uri>file://{tmp_path}/crate.stl</uri></mesh>"
        things = [
            scenes.box("a", 1, 0, level_m + 0.11, "0.4 0.4 0.2", static=False),
            scenes.model("b", mesh, f"0 1 {level_m + 0.11} 0 0 0", static=False),
            scenes.box("c", 20, 1, 0.36, "0.4 0.4 0.2", static=False),
            scenes.model("d", mesh, "20 -1 0.36 0 0 0", static=False),
        ]
        world = scenes.write_world(tmp_path, flat, slab, *things, floor="")
        models = scenes.load(simulator, world).step(1.0).models
        for name, expected in (("a", level_m), ("b", level_m), ("c", 0.25), ("d", 0.25)):
            assert models[name].pose.position[2] - 0.1 == pytest.approx(expected, abs=1e-4)


class TestDriving:
    @pytest.fixture
    def robot(self):
        return scenes.wheelchair()

    def test_robot_stops_by_friction_within_half_a_second(self, simulator, robot, tmp_path):
        simulation = scenes.load(simulator, scenes.write_world(tmp_path), robot)
        before = planar(scenes.drive(simulation, Twist2D(1.0, 0.0), 1.5)[-1])
        after = scenes.drive(simulation, Twist2D(0.0, 0.0), 0.6)[-1]
        assert planar(after).x_m - before.x_m == pytest.approx(1.0**2 / (2 * 4.9), rel=0.2)
        assert after.models["robot"].linear_mps[0] == pytest.approx(0.0, abs=0.02)

    def test_reported_twist_matches_the_motion_of_the_robot(self, simulator, robot, tmp_path):
        simulation = scenes.load(simulator, scenes.write_world(tmp_path), robot, (0, 0, 0.5))
        first, second = scenes.drive(simulation, Twist2D(0.5, 0.5), 1.5, 0.005)[-2:]
        passed_s = second.time_s - first.time_s
        moved = np.subtract(
            second.models["robot"].pose.position, first.models["robot"].pose.position
        )
        assert second.models["robot"].linear_mps == pytest.approx(moved / passed_s, abs=0.005)
        assert second.models["robot"].angular_radps == pytest.approx((0, 0, 0.5), abs=0.01)
        wheel = second.links["robot::left_wheel"]
        assert math.hypot(*wheel.linear_mps[:2]) == pytest.approx(0.5 - 0.5 * 0.27, abs=0.01)

    @pytest.mark.slow
    @pytest.mark.parametrize("plugin", [scenes.SKID_STEER, scenes.SKID_STEER_OF_GAZEBO_ROS])
    def test_skid_steer_robot_drives_straight_and_turns_by_friction(
        self, simulator, tmp_path, plugin
    ):
        rover = scenes.rover(tmp_path, plugin)
        simulation = scenes.load(simulator, scenes.write_world(tmp_path), rover)
        state = scenes.drive(simulation, Twist2D(0.5, 0.0), 1.5)[-1].models["robot"]
        assert state.linear_mps == pytest.approx((0.5, 0, 0), abs=0.01)
        state = scenes.drive(simulation, Twist2D(0.0, 0.5), 1.5)[-1].models["robot"]
        assert 0.02 < state.angular_radps[2] < 0.5  # the wheels slide

    def test_torque_limit_of_the_plugin_limits_the_acceleration(self, simulator, tmp_path):
        weak = scenes.SKID_STEER_OF_GAZEBO_ROS.replace("<torque>20", "<torque>0.6")
        simulation = scenes.load(
            simulator, scenes.write_world(tmp_path), scenes.rover(tmp_path, weak)
        )
        moved_m = planar(scenes.drive(simulation, Twist2D(1.0, 0.0), 1.0)[-1]).x_m
        # 4 wheels of 0.6 N m and 0.12 m push 24 kg and 0.0072 kg m² a wheel for a second
        mass_kg = 24 + 4 * 0.0072 / 0.12**2
        assert moved_m == pytest.approx(20 / mass_kg / 2, rel=0.02)


class TestSensors:
    def test_imu_samples_have_the_update_rate_and_correct_stamps(self, simulator, tmp_path):
        robot = scenes.wheelchair()
        simulation = scenes.load(simulator, scenes.write_world(tmp_path), robot)
        samples = [sample for _ in range(4) for sample in simulation.step(0.25).imu]
        assert [sample.stamp_s for sample in samples] == pytest.approx(
            np.arange(1, 101) / 100, abs=1e-9
        )

    def test_imu_away_from_the_axis_measures_the_centripetal_acceleration(
        self, simulator, tmp_path
    ):
        """A disc rotates freely at 3 rad/s. The sensor is 0.4 m from the axis and measures ω² r
        inwards."""
        path = tmp_path / "disc.sdf"
        path.write_text(
            """<sdf version="1.6"><model name="disc"><link name="l"><gravity>0</gravity>
            <inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia>
            </inertial><collision name="c"><geometry><cylinder><radius>0.5</radius><length>0.1
            </length></cylinder></geometry></collision><sensor name="imu" type="imu">
            <pose>0.4 0 0.1 0 0 1.5707963267948966</pose><update_rate>100</update_rate></sensor>
            </link></model></sdf>"""
        )
        simulation = scenes.load(
            simulator, scenes.write_world(tmp_path, floor=""), read_robot(path)
        )
        spinning = ModelState(Pose((0.0, 0.0, 2.0)), (0.0, 0.0, 0.0), (0.0, 0.0, 3.0))
        simulation.set_states({"robot": spinning})
        for sample in simulation.step(0.5).imu:
            assert sample.angular_radps == pytest.approx((0, 0, 3), abs=1e-6)
            # the sensor's x axis is tangential, so the axis is to its left
            assert sample.linear_mps2 == pytest.approx((0.0, 3.6, 9.8), abs=0.01)

    def test_imu_at_rest_measures_gravity(self, simulator, tmp_path):
        simulation = scenes.load(simulator, scenes.write_world(tmp_path), scenes.wheelchair())
        simulation.step(0.5)
        felt = np.array([sample.linear_mps2 for sample in simulation.step(0.5).imu])
        assert np.linalg.norm(felt, axis=1) == pytest.approx(GRAVITY_MPS2, abs=1e-4)

    @pytest.mark.slow
    def test_contact_has_the_force_between_robot_and_box(self, simulator, tmp_path):
        smooth = scenes.friction(0.0)
        box = scenes.box("box", 1, 0, 0.25, "0.5 0.5 0.5", static=False, surface=smooth)
        simulation = scenes.load(simulator, scenes.write_world(tmp_path, box), scenes.wheelchair())
        snapshots = scenes.drive(simulation, Twist2D(0.5, 0.0), 1.5)
        touched = [contact for snapshot in snapshots for contact in snapshot.contacts]
        assert {(contact.first, contact.second) for contact in touched} == {
            ("robot::base::chassis", "box::link::collision")
        }
        assert touched[0].normals[0] == pytest.approx((-1, 0, 0), abs=0.05)
        assert touched[0].positions_m[0][0] == pytest.approx(0.75, abs=0.01)
        given_ns = sum(force[0] for contact in touched for force in contact.forces_n) / 1000
        assert given_ns == pytest.approx(-5.0 * snapshots[-1].models["box"].linear_mps[0], rel=0.01)

    @pytest.mark.slow
    def test_lidar_noise_depends_on_the_seed_of_the_scene(self, simulator, tmp_path):
        noise = "<noise><type>gaussian</type><mean>0.1</mean><stddev>0.02</stddev></noise>"
        rover = scenes.rover(tmp_path, scenes.SKID_STEER, lidar_noise=noise)
        world = scenes.write_world(tmp_path, scenes.box("wall", 3.5, 0, 0.5, "1 9 1"))

        def ranges(seed):
            simulation = scenes.load(simulator, world, rover, seed=seed)
            return simulation.step(0.1).scan.ranges_m

        ahead = np.stack([ranges(seed)[45] for seed in range(30)])
        assert ahead.mean() == pytest.approx(2.9, abs=0.02)
        assert ahead.std() == pytest.approx(0.02, rel=0.5)
        assert np.array_equal(ranges(7), ranges(7))
