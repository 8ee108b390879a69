"""Comparison of the embedded simulator with known values."""

import math
import re

import embedded_scenes as scenes
import numpy as np
import pytest

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.observation import ModelState, Twist2D
from gz_testauto.base.pose import Pose
from gz_testauto.base.resources import share_directory
from gz_testauto.sdf.robot import read_robot
from gz_testauto.simulators import open_simulator
from gz_testauto.simulators.changes import Push, SetModel
from gz_testauto.simulators.embedded import EmbeddedSimulator
from gz_testauto.simulators.interface import NamedModel, Scene

GRAVITY_MPS2 = 9.8


@pytest.fixture(scope="module")
def simulator():
    with open_simulator("embedded") as simulator:
        yield simulator


@pytest.fixture
def robot():
    return scenes.wheelchair()


def planar(snapshot, name="robot"):
    return snapshot.models[name].pose.planar


def _velocity_at(state, place_m):
    """Return the world-frame position of a point (m) in the robot's frame."""
    arm = state.pose.rotation @ np.array(place_m)
    return np.array(state.linear_mps) + np.cross(state.angular_radps, arm)


def _terrain(folder, heights_m, lowest_m):
    """Return a model with terrain of 12.8 m by 12.8 m. The rows of ``levels`` have decreasing y,
    and the lowest point of the terrain is at ``lowest_m``."""
    image = pytest.importorskip("PIL.Image")
    relief_m = float(np.ptp(heights_m))
    gray = np.rint(255 * (heights_m - heights_m.min()) / relief_m).astype(np.uint8)
    image.fromarray(gray).save(folder / "terrain.png")
    return scenes.model(
        "terrain",
        f"<heightmap><uri>file://{folder}/terrain.png</uri><size>12.8 12.8 {relief_m}</size>"
        f"<pos>0 0 {lowest_m}</pos></heightmap>",
    )


def _sloping_terrain(folder, slope_rad):
    """Return terrain that rises in the direction of +x, through the origin, by two gray levels per
    cell up to 254. The last column is lower by one step."""
    rise_m = 0.1 * math.tan(slope_rad)
    columns = np.arange(129.0)
    columns[-1] -= 0.5  # 255, the brightest
    return _terrain(folder, np.tile(columns * rise_m, (129, 1)), lowest_m=-64 * rise_m)


class TestDriving:
    def test_robot_reaches_and_keeps_the_commanded_speed(self, simulator, robot, tmp_path):
        simulation = scenes.load(simulator, scenes.write_world(tmp_path), robot)
        snapshots = scenes.drive(simulation, Twist2D(1.0, 0.0), 5.0)
        end = planar(snapshots[-1])
        assert end.x_m - planar(snapshots[59]).x_m == pytest.approx(2.0, rel=0.01)
        assert end.x_m == pytest.approx(5.0, abs=0.15)  # less while it accelerates
        assert (end.y_m, end.yaw_rad) == pytest.approx((0, 0), abs=1e-3)
        assert snapshots[-1].models["robot"].linear_mps == pytest.approx((1, 0, 0), abs=0.01)

    @pytest.mark.parametrize("rate_radps", [0.3, 1.0, -1.0])
    @pytest.mark.parametrize("step_s", [0.001, 0.005])
    def test_rotation_in_place_has_an_error_below_one_percent(
        self, robot, tmp_path, rate_radps, step_s
    ):
        with open_simulator("embedded", step_s=step_s) as simulator:
            simulation = scenes.load(simulator, scenes.write_world(tmp_path), robot)
            snapshots = scenes.drive(simulation, Twist2D(0.0, rate_radps), 4.0)
        yaws = np.unwrap([planar(snapshot).yaw_rad for snapshot in snapshots])
        assert (yaws[-1] - yaws[19]) / 3.0 == pytest.approx(rate_radps, rel=0.01)
        assert math.hypot(*planar(snapshots[-1])[:2]) < 0.01

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("skid", "turn_radps"), [("wheels", 0.0), ("wheels", 0.5), ("servo", 0.5)]
    )
    def test_cylinder_wheels_do_not_shake_on_a_level_height_map(self, tmp_path, skid, turn_radps):
        heights = np.zeros((129, 129))
        heights[[0, -1]] = heights[:, [0, -1]] = 0.02
        world = scenes.write_world(tmp_path, floor=_terrain(tmp_path, heights, 0.0))
        rover = scenes.rover(tmp_path, scenes.SKID_STEER)
        with EmbeddedSimulator(step_s=0.002, skid=skid) as simulator:
            simulation = scenes.load(simulator, world, rover)
            simulation.drive(Twist2D(0.5, turn_radps))
            rises = [simulation.step(0.002).models["robot"].linear_mps[2] for _ in range(1000)]
        assert np.std(np.diff(rises[500:]) / 0.002) < 0.1  # m/s²

    def test_cylinder_wheels_climb_a_step_of_a_height_map(self, tmp_path):
        heights = np.zeros((129, 129))
        heights[:, 75:] = 0.04  # from x = 1.0 m
        world = scenes.write_world(tmp_path, floor=_terrain(tmp_path, heights, 0.0))
        rover = scenes.rover(tmp_path, scenes.SKID_STEER)
        with EmbeddedSimulator(step_s=0.002, skid="wheels") as simulator:
            snapshots = scenes.drive(scenes.load(simulator, world, rover), Twist2D(0.5, 0.0), 5.0)
        state = snapshots[-1].models["robot"]
        assert state.pose.position[0] > 2.0
        assert state.pose.position[2] == pytest.approx(0.04, abs=0.002)

    def test_robot_stops_by_friction_within_half_a_second(self, simulator, robot, tmp_path):
        simulation = scenes.load(simulator, scenes.write_world(tmp_path), robot)
        before = planar(scenes.drive(simulation, Twist2D(1.0, 0.0), 3.0)[-1])
        after = scenes.drive(simulation, Twist2D(0.0, 0.0), 0.5)[-1]
        assert planar(after).x_m - before.x_m == pytest.approx(1.0**2 / (2 * 4.5), rel=0.2)
        assert after.models["robot"].linear_mps[0] == pytest.approx(0.0, abs=0.02)

    def test_reported_twist_matches_the_motion_of_the_robot(self, simulator, robot, tmp_path):
        simulation = scenes.load(simulator, scenes.write_world(tmp_path), robot, (0, 0, 0.5))
        first, second = scenes.drive(simulation, Twist2D(0.5, 0.5), 3.0, 0.005)[-2:]
        passed_s = second.time_s - first.time_s
        moved = np.subtract(
            second.models["robot"].pose.position, first.models["robot"].pose.position
        )
        assert second.models["robot"].linear_mps == pytest.approx(moved / passed_s, abs=0.005)
        assert second.models["robot"].angular_radps == pytest.approx((0, 0, 0.5), abs=0.01)
        base = second.links["robot::base"]
        assert base.linear_mps == pytest.approx(second.models["robot"].linear_mps, abs=1e-9)
        wheel = second.links["robot::left_wheel"]
        assert math.hypot(*wheel.linear_mps[:2]) == pytest.approx(0.5 - 0.5 * 0.27, abs=0.01)

    @pytest.mark.parametrize("plugin", [scenes.SKID_STEER, scenes.SKID_STEER_OF_GAZEBO_ROS])
    def test_skid_steer_servos_follow_the_command(self, simulator, tmp_path, plugin):
        rover = scenes.rover(tmp_path, plugin)
        simulation = scenes.load(simulator, scenes.write_world(tmp_path), rover)
        snapshots = scenes.drive(simulation, Twist2D(0.5, 0.5), 4.0)
        state = snapshots[-1].models["robot"]
        assert math.hypot(*state.linear_mps[:2]) == pytest.approx(0.5, rel=0.01)
        assert state.angular_radps[2] == pytest.approx(0.5, rel=0.01)

    @pytest.mark.parametrize("plugin", [scenes.SKID_STEER, scenes.SKID_STEER_OF_GAZEBO_ROS])
    @pytest.mark.parametrize(("step_s", "turn_radps"), [(0.005, 0.5), (0.01, 0.5), (0.005, -2.0)])
    def test_skid_steer_wheels_slide_by_coulombs_law_for_each_step_size(
        self, tmp_path, plugin, step_s, turn_radps
    ):
        rover = scenes.rover(tmp_path, plugin)
        with EmbeddedSimulator(step_s=step_s, skid="wheels") as simulator:
            simulation = scenes.load(simulator, scenes.write_world(tmp_path), rover)
            snapshots = scenes.drive(simulation, Twist2D(0.0, turn_radps), 2.0)
        expected = turn_radps * scenes.rims_turn_share()
        assert snapshots[-1].models["robot"].angular_radps[2] == pytest.approx(expected, rel=0.01)
        assert snapshots[-1].models["robot"].pose.position[2] == pytest.approx(0, abs=1e-3)

    @pytest.mark.slow
    @pytest.mark.parametrize("step_s", [0.001, 0.005])
    def test_robot_on_sliding_wheels_turns_at_a_steady_rate(self, tmp_path, step_s):
        """A heavy robot has wide wheels with equal loads on both rims."""
        husky = read_robot(share_directory() / "models" / "husky_a200")
        with EmbeddedSimulator(step_s=step_s, skid="wheels") as simulator:
            simulation = scenes.load(simulator, scenes.write_world(tmp_path), husky)
            simulation.drive(Twist2D(0.0, 0.5))
            simulation.step(1.0)
            rates = [simulation.step(0.1).models["robot"].angular_radps[2] for _ in range(40)]
        assert max(rates) - min(rates) < 1e-3 * min(rates)

    @pytest.mark.parametrize("drawn", [True, False])
    def test_sliding_wheel_rests_on_an_obstacle_under_its_rim(self, tmp_path, drawn):
        """The wheel is a cylinder, or a mesh of a cylinder."""
        path = scenes.rover(tmp_path, scenes.SKID_STEER).path
        if not drawn:
            trimesh = pytest.importorskip("trimesh")
            trimesh.creation.annulus(0.08, 0.12, 0.08, sections=48).export(tmp_path / "tire.stl")
            tire = f"<mesh><uri>file://{tmp_path}/tire.stl</uri></mesh>"
            path.write_text(re.sub("<cylinder>.*?</cylinder>", tire, path.read_text()))
        rails = [scenes.box(f"rail{side}", 0, side * 0.28, 0.01, "4 0.01 0.02") for side in (-1, 1)]
        with EmbeddedSimulator(skid="wheels") as simulator:
            world = scenes.write_world(tmp_path, *rails)
            simulation = scenes.load(simulator, world, read_robot(path))
            simulation.set_states({"robot": ModelState(Pose((0.0, 0.0, 0.021)))})
            standing = simulation.step(0.5).models["robot"].pose
            driven = scenes.drive(simulation, Twist2D(0.5, 0.0), 2.0)[-1].models["robot"].pose
        assert standing.position[2] == pytest.approx(0.02, abs=1e-3)
        assert driven.position == pytest.approx((1.0, 0.0, 0.02), abs=0.03)
        assert driven.position[2] == pytest.approx(0.02, abs=1e-3)

    def test_skid_steer_wheels_drive_straight_and_stop_by_friction(self, tmp_path):
        rover = scenes.rover(tmp_path, scenes.SKID_STEER)
        with EmbeddedSimulator(skid="wheels") as simulator:
            simulation = scenes.load(simulator, scenes.write_world(tmp_path), rover)
            before = scenes.drive(simulation, Twist2D(1.5, 0.0), 1.0)[-1].models["robot"]
            after = scenes.drive(simulation, Twist2D(), 0.5)[-1].models["robot"]
        assert before.linear_mps == pytest.approx((1.5, 0, 0), abs=0.01)
        stopped_m = after.pose.position[0] - before.pose.position[0]
        assert stopped_m == pytest.approx(1.5**2 / (2 * 1.0 * GRAVITY_MPS2), rel=0.04)
        assert after.linear_mps == pytest.approx((0, 0, 0), abs=1e-3)

    def test_skid_steer_robot_starts_as_fast_as_friction_allows_without_tipping(self, tmp_path):
        rover = scenes.rover(tmp_path, scenes.SKID_STEER.replace("<max_force>20", "<max_force>500"))
        with EmbeddedSimulator(step_s=0.001, skid="wheels") as simulator:
            simulation = scenes.load(simulator, scenes.write_world(tmp_path), rover)
            simulation.step(0.5)
            start = scenes.drive(simulation, Twist2D(1.0, 0.0), 0.2, 0.01)
        states = [snapshot.models["robot"] for snapshot in start]
        assert states[3].linear_mps[0] == pytest.approx(0.04 * GRAVITY_MPS2, rel=0.1)
        assert max(abs(state.pose.rpy[1]) for state in states) < 2e-3
        assert states[-1].linear_mps[0] == pytest.approx(1.0, abs=0.01)

    def test_skid_steer_wheels_keep_turning_when_models_are_added_and_removed(self, tmp_path):
        rover = scenes.rover(tmp_path, scenes.SKID_STEER)
        late = f'<sdf version="1.6">{scenes.box("x", 0, 0, 0)}</sdf>'
        ends = []
        for visited in (False, True):
            with EmbeddedSimulator(skid="wheels") as simulator:
                simulation = scenes.load(simulator, scenes.write_world(tmp_path), rover)
                scenes.drive(simulation, Twist2D(0.3, 1.0), 0.5)
                if visited:
                    simulation.spawn([NamedModel("late", late, Pose((5.0, 0.0, 0.5)))])
                    simulation.step(0.5)
                    simulation.delete(["late"])
                    ends.append(simulation.step(0.5).models["robot"].pose)
                else:
                    ends.append(simulation.step(1.0).models["robot"].pose)
        assert ends[1].position == pytest.approx(ends[0].position, abs=1e-6)
        assert ends[1].yaw_rad == pytest.approx(ends[0].yaw_rad, abs=1e-6)
        assert abs(ends[0].yaw_rad) > 0.3

    def test_motors_hold_skid_steer_wheels_against_a_push(self, tmp_path):
        weak = scenes.SKID_STEER.replace("<max_force>20", "<max_force>1")
        with EmbeddedSimulator(skid="wheels") as simulator:
            world = scenes.write_world(tmp_path)
            simulation = scenes.load(simulator, world, scenes.rover(tmp_path, weak))
            simulation.step(0.5)
            simulation.apply([Push("robot::base", (50.0, 0.0, 0.0), duration_s=1.0)])
            state = simulation.step(1.0).models["robot"]
        # 4 wheels that hold with 1 N m at 0.12 m; their own inertia of 0.0072 kg m² turns along
        expected = (50 - 4 * 1 / 0.12) / (24 + 4 * 0.0072 / 0.12**2)
        assert state.linear_mps[0] == pytest.approx(expected, rel=0.01)

    @pytest.mark.slow
    @pytest.mark.parametrize("step_s", [0.001, 0.005])
    def test_wheels_hold_a_robot_on_sloping_terrain(self, tmp_path, step_s):
        slope_rad = math.radians(6.0)
        world = scenes.write_world(tmp_path, floor=_sloping_terrain(tmp_path, slope_rad))
        rover = scenes.rover(tmp_path, scenes.SKID_STEER)
        with EmbeddedSimulator(step_s=step_s, skid="wheels") as simulator:
            simulation = scenes.load(simulator, world, rover)
            placed = Pose.from_rpy(0.0, 0.0, 0.001, 0.0, -slope_rad, 0.0)
            simulation.set_states({"robot": ModelState(placed)})
            early, late = (simulation.step(1.0).models["robot"].pose for _ in range(2))
        assert late.rpy == pytest.approx((0, -slope_rad, 0), abs=1e-3)
        assert late.position[2] == pytest.approx(late.position[0] * math.tan(slope_rad), abs=5e-4)
        assert late.position[:2] == pytest.approx(early.position[:2], abs=1e-3)  # it does not roll

    @pytest.mark.slow
    @pytest.mark.parametrize("step_s", [0.001, 0.005])
    def test_wheels_climb_a_step_within_one_cell_of_terrain(self, tmp_path, step_s):
        heights = np.where(np.arange(129) * 0.1 - 6.4 > 0.9, 0.06, 0.0)
        floor = _terrain(tmp_path, np.tile(heights, (129, 1)), lowest_m=0.0)
        rover = scenes.rover(tmp_path, scenes.SKID_STEER)
        with EmbeddedSimulator(step_s=step_s, skid="wheels") as simulator:
            simulation = scenes.load(simulator, scenes.write_world(tmp_path, floor=floor), rover)
            snapshots = scenes.drive(simulation, Twist2D(0.5, 0.0), 4.0)
        end = snapshots[-1].models["robot"].pose
        assert end.position == pytest.approx((1.9, 0, 0.06), abs=0.1)
        assert end.position[2] == pytest.approx(0.06, abs=1e-3)
        assert end.rpy == pytest.approx((0, 0, 0), abs=0.02)
        pitches = [-snapshot.models["robot"].pose.rpy[1] for snapshot in snapshots]
        assert max(pitches) == pytest.approx(math.asin(0.06 / 0.4), abs=0.02)

    def test_torque_limit_of_the_plugin_limits_the_acceleration(self, simulator, tmp_path):
        weak = scenes.SKID_STEER_OF_GAZEBO_ROS.replace("<torque>20", "<torque>0.6")
        simulation = scenes.load(
            simulator, scenes.write_world(tmp_path), scenes.rover(tmp_path, weak)
        )
        moved_m = planar(scenes.drive(simulation, Twist2D(1.0, 0.0), 1.0)[-1]).x_m
        # 4 wheels of 0.6 N m and 0.12 m push 24 kg with 20 N: less than 1 m/s after a second
        assert moved_m == pytest.approx(20 / 24 / 2, rel=0.1)  # MuJoCo 3.2 damps a bit more

    @pytest.mark.parametrize("raised_m", [0.0005, -0.002])
    def test_robot_moves_although_its_casters_carry_it(self, tmp_path, caplog, raised_m):
        """Wheels half a millimeter above the ground carry the robot in Gazebo, too."""
        path = tmp_path / "robot.sdf"
        path.write_text(caster_robot(raised_m), encoding="utf-8")
        with open_simulator("embedded") as simulator:
            simulation = scenes.load(simulator, scenes.write_world(tmp_path), read_robot(path))
            end = planar(scenes.drive(simulation, Twist2D(0.3, 0.0), 3.0)[-1])
            turned = planar(scenes.drive(simulation, Twist2D(0.0, 0.3), 3.0)[-1])
        assert end.x_m == pytest.approx(0.9, rel=0.1)
        assert turned.yaw_rad == pytest.approx(0.9, rel=0.15)
        assert ("the casters carry the robot" in caplog.text) == (raised_m > 0)

    def test_wheels_with_high_friction_do_not_sink(self, tmp_path):
        """In MuJoCo, a friction coefficient of 10 makes a contact a hundred times softer."""
        path = tmp_path / "robot.sdf"
        path.write_text(caster_robot(-0.003, mu=1e5), encoding="utf-8")
        floor = scenes.FLOOR.replace(
            "</geometry>", f"</geometry><surface>{scenes.friction(100)}</surface>"
        )
        with open_simulator("embedded") as simulator:
            world = scenes.write_world(tmp_path, floor=floor)
            simulation = scenes.load(simulator, world, read_robot(path))
            snapshot = scenes.drive(simulation, Twist2D(0.3, 0.0), 3.0)[-1]
        assert snapshot.models["robot"].pose.position[2] == pytest.approx(0.003, abs=1e-3)
        assert planar(snapshot).x_m == pytest.approx(0.9, rel=0.05)

    def test_robot_with_hanging_wheels_does_not_move(self, tmp_path, caplog):
        path = tmp_path / "robot.sdf"
        path.write_text(caster_robot(0.005), encoding="utf-8")
        with open_simulator("embedded") as simulator:
            simulation = scenes.load(simulator, scenes.write_world(tmp_path), read_robot(path))
            end = planar(scenes.drive(simulation, Twist2D(0.3, 0.0), 3.0)[-1])
        assert abs(end.x_m) < 0.05
        assert "the casters carry the robot" not in caplog.text


def caster_robot(raised_m, mu=1.0):
    """Return a robot with two casters of low friction, and with wheels that are raised (m) and have
    the friction ``mu``."""
    inertia = "<inertia><ixx>{0}</ixx><iyy>{0}</iyy><izz>{0}</izz></inertia>"
    casters = "".join(
        f"""<collision name="caster_{x_m}"><pose>{x_m} 0 0.05 0 0 0</pose><geometry><sphere>
<radius>0.05</radius></sphere></geometry><surface><friction><ode><mu>0.01</mu><mu2>0.01</mu2></ode>
</friction></surface></collision>"""
        for x_m in (0.2, -0.2)
    )
    wheels = "".join(
        f"""<link name="{side}_wheel"><pose>0 {y_m} {0.1 + raised_m} 0 0 0</pose><inertial>
<mass>0.5</mass>{inertia.format(0.002)}</inertial><collision name="c">
<pose>0 0 0 1.5707963 0 0</pose><geometry><cylinder><radius>0.1</radius><length>0.04</length>
</cylinder></geometry><surface>{scenes.friction(mu)}</surface></collision></link>
<joint name="{side}" type="revolute"><parent>base</parent><child>{side}_wheel</child>
<axis><xyz>0 1 0</xyz></axis></joint>"""
        for side, y_m in (("left", 0.2), ("right", -0.2))
    )
    return f"""<sdf version="1.6"><model name="bot"><link name="base"><inertial><pose>0 0 0.15 0 0 0
</pose><mass>10</mass>{inertia.format(0.3)}</inertial><collision name="body">
<pose>0 0 0.2 0 0 0</pose><geometry><box><size>0.4 0.3 0.1</size></box></geometry>
</collision>{casters}</link>{wheels}
<plugin name="d" filename="libDiffDrivePlugin.so"><left_joint>left</left_joint>
<right_joint>right</right_joint></plugin></model></sdf>"""


class TestBodies:
    def test_dropped_box_accelerates_with_gravity_and_comes_to_rest(self, simulator, tmp_path):
        world = scenes.write_world(tmp_path, scenes.box("box", 0, 0, 3.0, static=False))
        simulation = scenes.load(simulator, world)
        falling = simulation.step(0.5).models["box"]
        assert falling.pose.position[2] == pytest.approx(3 - GRAVITY_MPS2 / 2 * 0.25, abs=0.02)
        assert falling.linear_mps[2] == pytest.approx(-GRAVITY_MPS2 * 0.5, abs=0.05)
        assert simulation.step(2.0).models["box"].pose.position[2] == pytest.approx(0.5, abs=2e-3)

    @pytest.mark.parametrize(("mu", "floor_mu"), [(0.3, 1.0), (1.0, 0.3), (0.3, 100.0)])
    def test_sliding_box_is_braked_by_the_smaller_friction(self, simulator, tmp_path, mu, floor_mu):
        floor = scenes.FLOOR.replace(
            "</geometry>", f"</geometry><surface>{scenes.friction(floor_mu)}</surface>"
        )
        box = scenes.box("box", 0, 0, 0.1, "1 1 0.2", static=False, surface=scenes.friction(mu))
        simulation = scenes.load(simulator, scenes.write_world(tmp_path, box, floor=floor))
        simulation.step(0.5)
        pose = simulation.snapshot().models["box"].pose
        simulation.set_states({"box": ModelState(pose, (2.0, 0.0, 0.0), (0.0, 0.0, 0.0))})
        end = simulation.step(2.0).models["box"]
        stopped_m = 2.0**2 / (2 * 0.3 * GRAVITY_MPS2)
        assert end.pose.position[0] == pytest.approx(stopped_m, rel=0.05)
        assert end.linear_mps[0] == pytest.approx(0.0, abs=1e-2)

    def test_ball_moves_with_the_specified_twist(self, simulator, tmp_path):
        ball = scenes.model(
            "ball", "<sphere><radius>0.1</radius></sphere>", "0 0 5 0 0 0", static=False
        )
        simulation = scenes.load(simulator, scenes.write_world(tmp_path, ball))
        pose = Pose.from_rpy(0, 0, 5, 0, 0, 0.7)
        simulation.set_states({"ball": ModelState(pose, (2.0, 1.0, 0.0), (0.0, 0.0, 3.0))})
        assert simulation.snapshot().models["ball"].linear_mps == pytest.approx((2, 1, 0))
        end = simulation.step(0.5).models["ball"]
        assert end.pose.position[:2] == pytest.approx((1.0, 0.5), abs=1e-6)
        assert end.angular_radps == pytest.approx((0, 0, 3), abs=1e-6)
        assert end.pose.yaw_rad == pytest.approx(0.7 + 1.5, abs=1e-3)

    def test_robot_pushes_a_box(self, simulator, robot, tmp_path):
        world = scenes.write_world(
            tmp_path, scenes.box("box", 2, 0, 0.25, "0.5 0.5 0.5", static=False)
        )
        snapshots = scenes.drive(scenes.load(simulator, world, robot), Twist2D(0.5, 0.0), 5.0)
        last = snapshots[-1]
        nose_m = planar(last).x_m + 0.6
        assert last.models["box"].pose.position[0] - 0.25 == pytest.approx(nose_m, abs=0.02)
        touched = [contact for s in snapshots for contact in s.contacts]
        assert {(contact.first, contact.second) for contact in touched} == {
            ("robot::base::chassis", "box::link::collision")
        }
        assert touched[0].normals[0] == pytest.approx((-1, 0, 0), abs=0.05)
        assert touched[0].positions_m[0][0] == pytest.approx(1.75, abs=0.05)
        assert 0 <= touched[0].depths_m[0] < 0.02

    def test_shapes_without_a_common_collision_bit_do_not_collide(self, simulator, tmp_path):
        bits = "<contact><collide_bitmask>{}</collide_bitmask></contact>"
        world = scenes.write_world(
            tmp_path,
            scenes.box("shelf", 0, 0, 1.0, surface=bits.format("0x01")),
            scenes.box("ghost", 0, 0, 3.0, static=False, surface=bits.format("0x02")),
        )
        simulation = scenes.load(simulator, world)
        assert simulation.step(2.0).models["ghost"].pose.position[2] == pytest.approx(0.5, abs=2e-3)

    def test_collision_bits_of_each_of_many_static_shapes_have_an_effect(self, simulator, tmp_path):
        bits = "<contact><collide_bitmask>{}</collide_bitmask></contact>"
        world = scenes.write_world(
            tmp_path,
            *(scenes.box(f"far{i}", 9 + i, 0, 0, surface=bits.format("0x01")) for i in range(9)),
            scenes.box("shelf", 0, 0, 1.0, surface=bits.format("0x02")),
            scenes.box("box", 0, 0, 3.0, static=False, surface=bits.format("0x02")),
            floor=scenes.FLOOR.replace(
                "</geometry>", f"</geometry><surface>{bits.format('0x01')}</surface>"
            ),
        )
        simulation = scenes.load(simulator, world)
        assert simulation.step(2.0).models["box"].pose.position[2] == pytest.approx(2, abs=2e-3)

    def test_box_rests_on_the_last_of_many_static_shapes(self, simulator, tmp_path):
        shelves = [scenes.box(f"shelf{i}", 2 * i, 0, 1.0) for i in range(9)]
        box = scenes.box("box", 16, 0, 3.0, static=False)
        simulation = scenes.load(simulator, scenes.write_world(tmp_path, *shelves, box))
        assert simulation.step(2.0).models["box"].pose.position[2] == pytest.approx(2, abs=2e-3)

    def test_box_rests_on_a_floor_that_is_the_last_of_several_static_shapes(
        self, simulator, tmp_path
    ):
        shelves = [scenes.box(f"shelf{i}", 4 + 2 * i, 0, 1.0) for i in range(3)]
        box = scenes.box("box", 0, 0, 0.499, static=False)
        world = scenes.write_world(tmp_path, *shelves, box, scenes.FLOOR, floor="")
        simulation = scenes.load(simulator, world)
        assert simulation.step(2.0).models["box"].pose.position[2] == pytest.approx(0.5, abs=2e-3)

    def test_static_shapes_keep_their_poses_when_mujoco_resets_a_diverged_state(
        self, simulator, tmp_path
    ):
        shelves = [scenes.box(f"shelf{i}", 2 * i, 0, 1.0) for i in range(9)]
        box = scenes.box("box", 0, 0, 0.5, static=False)
        world = scenes.write_world(tmp_path, *shelves, box, scenes.FLOOR, floor="")
        simulation = scenes.load(simulator, world)
        engine = simulation._engine
        poses = engine.data.geom_xpos.copy()
        engine.step(())
        engine.data.qpos[0] = math.nan
        engine.refresh()
        assert engine.data.geom_xpos.tolist() == poses.tolist()
        with pytest.raises(SimulatorError, match="the physics became unstable"):
            engine.check()

    def test_door_rotates_on_its_hinge_to_its_limit(self, simulator, tmp_path):
        door = """<model name="door"><link name="frame"><pose>0 0 1 0 0 0</pose></link>
        <link name="leaf"><pose>0.5 0 1 0 0 0</pose><inertial><mass>5</mass><inertia>
        <ixx>0.1</ixx><iyy>0.5</iyy><izz>0.5</izz></inertia></inertial></link>
        <joint name="wall" type="fixed"><parent>world</parent><child>frame</child></joint>
        <joint name="hinge" type="revolute"><pose>-0.5 0 0 0 0 0</pose><parent>frame</parent>
        <child>leaf</child><axis><xyz>0 1 0</xyz><limit><lower>-1</lower><upper>1</upper></limit>
        <dynamics><damping>1</damping></dynamics></axis></joint></model>"""
        simulation = scenes.load(simulator, scenes.write_world(tmp_path, door))
        links = simulation.step(5.0).links
        x, _, z = links["door::leaf"].pose.position
        assert (x, z) == pytest.approx((0.5 * math.cos(1), 1 - 0.5 * math.sin(1)), abs=0.02)
        assert links["door::frame"].pose.position == pytest.approx((0, 0, 1), abs=1e-9)

    @pytest.mark.parametrize(
        ("axis", "at_rad", "angle_rad"),
        [("0 1 0", 0.0, 0.0), ("0 0 0", 0.0, 0.0), ("0 1 0", 0.5, 0.5)],
    )
    def test_joint_with_equal_limits_does_not_move(
        self, simulator, tmp_path, axis, at_rad, angle_rad
    ):
        arm = f"""<model name="arm"><link name="post"/><link name="bar"><pose>0.5 0 1 0 0 0</pose>
        </link><joint name="foot" type="fixed"><parent>world</parent><child>post</child></joint>
        <joint name="lock" type="revolute"><pose>-0.5 0 0 0 0 0</pose><parent>post</parent>
        <child>bar</child><axis><xyz>{axis}</xyz><limit><lower>{at_rad}</lower>
        <upper>{at_rad}</upper></limit></axis></joint></model>"""
        simulation = scenes.load(simulator, scenes.write_world(tmp_path, arm))
        x, _, z = simulation.step(2.0).links["arm::bar"].pose.position
        expected = (0.5 * math.cos(angle_rad), 1 - 0.5 * math.sin(angle_rad))
        assert (x, z) == pytest.approx(expected, abs=0.01)

    @pytest.mark.parametrize("deep_m", [0.02, 0.1, 4.0])
    @pytest.mark.parametrize("by", ["load", "spawn", "set_states"])
    def test_model_that_starts_inside_the_floor_rises_without_jumping(
        self, simulator, tmp_path, deep_m, by
    ):
        size = "1 1 8"
        low = scenes.box("b", 3, 0, 4 - deep_m, size, static=False)
        world = scenes.write_world(tmp_path, *([low] if by == "load" else []))
        simulation = scenes.load(simulator, world)
        pose = Pose((3.0, 0.0, 4.0 - deep_m))
        if by != "load":
            simulation.step(0.5)
            begun = pose if by == "spawn" else Pose((3.0, 0.0, 20.0))
            simulation.spawn([NamedModel("b", low, begun)])
        if by == "set_states":
            simulation.step(0.5)
            simulation.set_states({"b": ModelState(pose)})
        heights = [simulation.step(0.1).models["b"].pose.position[2] for _ in range(10)]
        assert max(heights) < 4.01
        state = simulation.snapshot().models["b"]
        assert state.pose.position == pytest.approx((3, 0, 4), abs=0.003)
        assert np.linalg.norm(state.linear_mps) < 0.01

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

    @pytest.mark.parametrize("how", ["set_states", "apply"])
    def test_static_model_can_be_moved_although_it_is_part_of_the_world(
        self, simulator, tmp_path, how
    ):
        pillars = [scenes.box(f"pillar{i}", 10 + 2 * i, 0, 0.5) for i in range(50)]
        falling = scenes.box("falling", 0, 0, 3.0, static=False)
        table = scenes.box("table", 0.2, 0, 1.0, "1 1 0.1")
        world = scenes.write_world(tmp_path, *pillars, falling, table)
        simulation = simulator.load(Scene(world))
        assert simulation._engine.model.nbody == 2  # the world and what falls
        simulation.step(0.5)
        away = Pose((5.0, 0.0, 1.0))
        before = simulation.snapshot()
        if how == "apply":
            simulation.apply([SetModel("table", away)])
        else:
            simulation.set_states({"table": ModelState(away)})
        assert simulation._engine.model.nbody == 3
        assert before.models["table"].pose == Pose((0.2, 0.0, 1.0))
        assert before.links["table::link"].pose == Pose((0.2, 0.0, 1.0))
        assert simulation.snapshot().links["table::link"].pose == away
        assert list(simulation.snapshot().models) == list(before.models)
        falls = [simulation.step(0.1).models for _ in range(10)]
        assert falls[-1]["falling"].pose.position == pytest.approx((0, 0, 0.5), abs=0.002)
        assert falls[-1]["table"].pose == away

        world = scenes.write_world(tmp_path, *pillars, falling)
        sdf = f'<sdf version="1.6">{table}</sdf>'
        table_pose = Pose((0.2, 0.0, 1.0))
        expected = simulator.load(Scene(world, models=(NamedModel("table", sdf, table_pose),)))
        assert expected._engine.model.nbody == 3  # models of a scene can be actors
        expected.step(0.5)
        expected.set_states({"table": ModelState(away)})
        assert [expected.step(0.1).models for _ in range(10)] == falls


class TestSensors:
    def test_imu_samples_have_the_update_rate_and_correct_stamps(self, simulator, robot, tmp_path):
        simulation = scenes.load(simulator, scenes.write_world(tmp_path), robot)
        samples = [sample for _ in range(4) for sample in simulation.step(0.25).imu]
        assert [sample.stamp_s for sample in samples] == pytest.approx(
            np.arange(1, 101) / 100, abs=1e-9
        )

    def test_imu_measures_the_centripetal_acceleration(self, simulator, robot, tmp_path):
        simulation = scenes.load(simulator, scenes.write_world(tmp_path), robot)
        snapshots = scenes.drive(simulation, Twist2D(0.8, 0.8), 4.0)
        samples = [sample for snapshot in snapshots[40:] for sample in snapshot.imu]
        mean = np.mean([sample.linear_mps2 for sample in samples], axis=0)
        assert mean[1] == pytest.approx(0.64, abs=0.03)
        assert mean[2] == pytest.approx(GRAVITY_MPS2, abs=0.05)

    @pytest.mark.parametrize("skid", ["servo", "wheels"])
    def test_imu_sample_is_the_change_of_velocity_over_the_physics_step(self, tmp_path, skid):
        imu = '<sensor name="imu" type="imu"><pose>0.2 0.1 0.3 0 0 0.5</pose></sensor>'
        rover = scenes.rover(tmp_path, scenes.SKID_STEER, extra=imu)
        with EmbeddedSimulator(skid=skid) as simulator:
            simulation = scenes.load(simulator, scenes.write_world(tmp_path), rover)
            simulation.step(0.1)
            snapshots = [
                simulation.snapshot(),
                *scenes.drive(simulation, Twist2D(1, 1), 0.2, 0.005),
            ]
        for before, after in zip(snapshots, snapshots[1:]):
            velocities = [_velocity_at(s.models["robot"], (0.2, 0.1, 0.3)) for s in (before, after)]
            change = (velocities[1] - velocities[0]) / 0.005 + (0, 0, GRAVITY_MPS2)
            turned = Pose(quaternion=after.imu[0].quaternion).rotation
            assert after.imu[0].linear_mps2 == pytest.approx(turned.T @ change, abs=1e-6)
        felt = [snapshot.imu[0].linear_mps2[0] for snapshot in snapshots[1:]]
        assert max(felt) > 1.0  # it accelerated

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


def test_static_nested_model_does_not_move_and_holds_joined_links(simulator, tmp_path):
    block = "<collision name='c'><geometry><box><size>1 1 1</size></box></geometry></collision>"
    crate = f"""<model name="outer"><pose>0 0 3 0 0 0</pose><model name="shelf"><static>1</static>
    <link name="l">{block}</link></model><link name="crate"><pose>0 0 1.5 0 0 0</pose>{block}</link>
    </model>"""
    simulation = scenes.load(simulator, scenes.write_world(tmp_path, crate))
    snapshot = simulation.step(2.0)
    assert snapshot.links["outer::shelf::l"].pose.position == (0, 0, 3)
    assert snapshot.links["outer::crate"].pose.position == pytest.approx((0, 0, 4), abs=0.01)


class TestMeshes:
    """In a hollow mesh a robot rests, drives and stops as between boxes."""

    @pytest.fixture(scope="class")
    def room(self, tmp_path_factory):
        """Return one closed mesh of a floor and four walls, 0.1 m thick, with 6 m x 6 m inside."""
        trimesh = pytest.importorskip("trimesh")
        from shapely.geometry import box

        folder = tmp_path_factory.mktemp("room")
        walls = trimesh.creation.extrude_polygon(box(-3.1, -3.1, 3.1, 3.1) - box(-3, -3, 3, 3), 1.0)
        floor = trimesh.creation.box((6.2, 6.2, 0.1))
        floor.apply_translation((0, 0, -0.05))
        trimesh.util.concatenate([walls, floor]).export(folder / "room.stl")
        mesh = f"<mesh><uri>file://{folder}/room.stl</uri></mesh>"  # MuJoCo's hull: a solid block
        return scenes.write_world(folder, scenes.model("room", mesh), floor="")

    def test_robot_rests_in_a_room_mesh_as_on_a_plane(self, simulator, robot, room, tmp_path):
        here = scenes.load(simulator, room, robot, (1, -1, 0.5)).step(2.0)
        plane = scenes.load(simulator, scenes.write_world(tmp_path), robot, (1, -1, 0.5)).step(2.0)
        ours, paper = here.models["robot"].pose, plane.models["robot"].pose
        assert ours.position == pytest.approx(paper.position, abs=1e-4)
        assert ours.rpy[:2] == pytest.approx(paper.rpy[:2], abs=1e-4)
        assert ours.yaw_rad == pytest.approx(0.5, abs=2e-3)
        assert not here.contacts

    def test_robot_drives_to_the_wall_of_a_room_mesh(self, simulator, robot, room):
        simulation = scenes.load(simulator, room, robot)
        end = scenes.drive(simulation, Twist2D(0.5, 0.0), 7.0)[-1]
        front = max(x for x, _ in robot.footprint_m)
        assert planar(end).x_m + front == pytest.approx(3.0, abs=0.02)
        assert any("room::link::collision" in (c.first, c.second) for c in end.contacts)

    def test_robot_drives_under_a_table_mesh(self, simulator, tmp_path):
        trimesh = pytest.importorskip("trimesh")
        rover = scenes.rover(tmp_path, scenes.SKID_STEER)  # 0.3 m high, 0.6 m wide
        parts = [trimesh.creation.box((1.2, 1.2, 0.05))]
        parts[0].apply_translation((0, 0, 0.5))
        for x, y in ((-0.55, -0.55), (-0.55, 0.55), (0.55, -0.55), (0.55, 0.55)):
            parts.append(trimesh.creation.box((0.1, 0.1, 0.5)))
            parts[-1].apply_translation((x, y, 0.25))
        trimesh.util.concatenate(parts).export(tmp_path / "table.stl")
        mesh = f"<mesh><uri>file://{tmp_path}/table.stl</uri></mesh>"
        world = scenes.write_world(tmp_path, scenes.model("table", mesh, "1.5 0 0 0 0 0"))
        snapshots = scenes.drive(scenes.load(simulator, world, rover), Twist2D(0.5, 0.0), 6.0)
        assert planar(snapshots[-1]).x_m > 2.4
        assert not any(snapshot.contacts for snapshot in snapshots)


@pytest.mark.parametrize("roll", [0.0, -math.pi / 2])
def test_cylinder_that_rotates_above_a_plane_does_not_jump(tmp_path, roll):
    """For a cylinder that is exactly upright, MuJoCo computes a penetration as large as the radius.
    The frame of the cylinder is the frame of its link, or is rotated in the link like that of a
    wheel."""
    path = tmp_path / "spin.world"
    path.write_text(
        '<sdf version="1.6"><world name="w"><model name="floor"><static>1</static><link name="l">'
        '<collision name="c"><geometry><plane><normal>0 0 1</normal></plane></geometry>'
        f'</collision></link></model><model name="top"><pose>0 0 0.87 {-roll} 0 0</pose>'
        '<link name="l"><gravity>0</gravity><inertial><mass>70</mass><inertia><ixx>18</ixx>'
        '<iyy>18</iyy><izz>18</izz></inertia></inertial><collision name="c">'
        f"<pose>0 0 0 {roll} 0 0</pose><geometry><cylinder><radius>0.25</radius>"
        "<length>1.7</length></cylinder></geometry></collision></link></model></world></sdf>"
    )
    simulation = EmbeddedSimulator().load(Scene(path))
    for period in range(100):
        rate = 0.06 * (period - 50)
        simulation.apply([SetModel("top", None, (0.0, 0.0, 0.0), (0.0, 0.0, rate))])
        position = simulation.step(0.1).models["top"].pose.position
        assert position == pytest.approx((0.0, 0.0, 0.87), abs=1e-6)
