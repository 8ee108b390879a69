"""Processes, failures and repeatability of the simulator gazebo."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import embedded_scenes as scenes
import numpy as np
import pytest

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.observation import Twist2D
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.base.resources import share_directory
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.robot import read_robot
from gz_testauto.sdf.scene import read_scene
from gz_testauto.simulators.gazebo import GazeboSimulator
from gz_testauto.simulators.gazebo.installation import find_gazebo
from gz_testauto.simulators.gazebo.server import ServerProcess
from gz_testauto.simulators.gazebo.world import WorldLink, pose_from
from gz_testauto.simulators.interface import NamedModel, Scene
from gz_testauto.simulators.world_file import PhysicsSettings

pytestmark = pytest.mark.gazebo

ARENA = share_directory() / "worlds" / "arena.world"
ROBOT = read_robot(Path(__file__).parents[1] / "data" / "robot.sdf")
BOX = """<model name="{name}"><static>{static}</static><pose>{x} {y} 0.5 0 0 0.2</pose>
<link name="link"><inertial><mass>20</mass><inertia><ixx>3</ixx><iyy>3</iyy><izz>3</izz></inertia>
</inertial><collision name="c"><geometry><box><size>1 0.8 1</size></box></geometry></collision>
</link></model>"""


def write_world(directory, name="test.world", models="", base=ARENA):
    path = directory / name
    path.write_text(base.read_text().replace("</world>", models + "</world>"))
    return path


def boxes(static, shift=0.0):
    places = ((3, 0.5), (4, -3), (-3, 2), (1, 4))
    return "".join(
        BOX.format(name=f"obstacle_box_{i}", static=static, x=x + shift, y=y)
        for i, (x, y) in enumerate(places)
    )


@pytest.fixture(scope="module")
def simulator():
    with GazeboSimulator() as simulator:
        yield simulator


@pytest.fixture
def simulation(simulator, tmp_path):
    return simulator.load(Scene(write_world(tmp_path, models=boxes("true")), ROBOT))


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("<mass>20", "<mass>-1", "has a mass of -1 kg"),
        ("<mass>20", "<mass>nan", "<mass> is 'nan'"),
        ("<box><size>1 0.8 1</size></box>", "<mesh><uri>/dev/zero</uri></mesh>", "/dev/zero"),
        (
            "</model>",
            '<joint name="j" type="fixed"><parent>link</parent><child>absent</child></joint>'
            "</model>",
            "the child 'absent', which is not a link",
        ),
    ],
)
def test_model_that_other_simulators_reject_is_not_spawned(simulation, old, new, match):
    box = BOX.format(name="box", static="false", x=6, y=6)
    with pytest.raises(SimulatorError, match=match):
        simulation.spawn([NamedModel("box", box.replace(old, new))])
    assert "box" not in simulation.step(0.1).models


LOOSE = (
    "<pose frame=>1 2 3 0 0 0.5</pose>",
    "<pose>1 2 3</pose>",
    "<pose>1 2 3 0.1 0.2</pose>",
    "<pose>1 2 3 0.1 0.2 0.3 0.4</pose>",
    "<pose frame='m0'>1 0 0 0 0 0</pose>",
)


@pytest.mark.parametrize("version", ["1.6", "1.8"])
def test_sdf_poses_are_read_as_gazebo_reads_them(tmp_path, version):
    models = "".join(
        f'<model name="m{i}"><static>1</static>{pose}<link name="l"/></model>'
        for i, pose in enumerate(LOOSE)
    )
    text = f'<sdf version="{version}"><world name="default">{models}</world></sdf>'
    scene = read_scene(SdfDocument.parse(text, repair=True))
    server = ServerProcess(find_gazebo(), text, 1)
    try:
        link = WorldLink(server)
        listed = link.list_models()
        link.close()
    finally:
        server.close()
    for name, model in scene.models.items():
        theirs = pose_from(listed[name].pose)
        assert model.pose.position == pytest.approx(theirs.position)
        assert model.pose.rotation == pytest.approx(theirs.rotation)


def own_address():
    """Return an address of this machine that is not loopback; None without such an address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends no packet: selects the route
        except OSError:
            return None
        address = probe.getsockname()[0]
    return None if address.startswith("127.") else address


def trace(simulation, periods=40):
    """Return all sensor readings, as bytes, of a robot that drives against a box."""
    generator = np.random.default_rng(2)
    rows = [simulation.snapshot().scan.ranges_m.tobytes()]
    for _ in range(periods):
        simulation.drive(Twist2D(0.8, float(generator.uniform(-0.5, 0.8))))
        snapshot = simulation.step(0.1)
        for name in sorted(snapshot.models):
            pose = snapshot.models[name].pose
            rows.append(np.array([*pose.position, *pose.quaternion]).tobytes())
        state = snapshot.models["robot"]
        rows.append(np.array([*state.linear_mps, *state.angular_radps]).tobytes())
        rows.append(snapshot.scan.ranges_m.tobytes())
        rows.append(repr(snapshot.contacts).encode())
        rows.append(repr([np.round(s.linear_mps2, 6).tolist() for s in snapshot.imu]).encode())
    return rows


class TestRepeating:
    @pytest.mark.parametrize("static", ["true", "false"])
    def test_readings_are_bit_identical_after_other_trials(self, tmp_path, static):
        world = write_world(tmp_path, "a.world", boxes(static))
        other = write_world(tmp_path, "b.world", boxes(static, 0.7))
        scene = Scene(world, ROBOT, Pose2D(0.0, 0.0, 0.1), seed=5)
        with GazeboSimulator() as simulator:
            fresh = trace(simulator.load(scene))
            trace(simulator.load(Scene(other, ROBOT, Pose2D(-2.0, 0.0, 2.0), seed=6)))
            second = trace(simulator.load(scene))
            third = trace(simulator.load(scene))
        assert fresh == second
        assert fresh == third

    def test_server_is_replaced_after_the_maximum_number_of_trials(self, tmp_path):
        worlds = [write_world(tmp_path, f"{n}.world", boxes("true", n)) for n in range(3)]
        with GazeboSimulator(trials_per_server=2) as simulator:
            assert simulator.processes == ()
            servers = []
            for world in worlds:
                simulator.load(Scene(world, ROBOT))
                servers.append(simulator.processes)
            (pid,) = servers[-1]
            assert b"gzserver" in Path(f"/proc/{pid}/cmdline").read_bytes()
        assert servers[0] == servers[1] != servers[2]
        assert simulator.processes == ()

    def test_world_with_a_different_base_starts_a_new_server(self, simulator, tmp_path):
        simulator.load(Scene(write_world(tmp_path, "a.world"), ROBOT))
        first = simulator._server.pid
        wall = BOX.format(name="wall", static="true", x=5, y=5)
        simulator.load(Scene(write_world(tmp_path, "b.world", wall), ROBOT))
        assert simulator._server.pid != first


class TestSensing:
    def test_scan_exists_at_time_zero_and_in_every_period(self, simulation):
        assert simulation.snapshot().scan.stamp_s == 0.0
        stamps = [simulation.step(0.1).scan.stamp_s for _ in range(10)]
        assert stamps == pytest.approx([0.1 * n for n in range(1, 11)])

    def test_scans_keep_the_update_rate_for_short_and_long_steps(self, simulation):
        stamps = [simulation.step(0.02).scan.stamp_s for _ in range(10)]
        assert stamps == pytest.approx([0, 0, 0, 0, 0.1, 0.1, 0.1, 0.1, 0.1, 0.2])
        assert simulation.step(0.35).scan.stamp_s == pytest.approx(0.5)

    def test_imu_sample_exists_at_the_end_of_every_step(self, simulation):
        samples = [sample for _ in range(20) for sample in simulation.step(0.1).imu]
        assert [s.stamp_s for s in samples] == pytest.approx([0.1 * n for n in range(1, 21)])

    @pytest.mark.parametrize("step_s", [0.01, 0.1])
    def test_imu_measures_acceleration_for_each_step_size(self, simulation, step_s):
        simulation.step(0.5)
        simulation.drive(Twist2D(0.6, 0.0))
        samples = [s for _ in range(round(0.5 / step_s)) for s in simulation.step(step_s).imu]
        gained_mps = sum(s.linear_mps2[0] for s in samples) * step_s
        assert gained_mps == pytest.approx(0.6, abs=0.05)
        assert np.mean([s.linear_mps2[2] for s in samples]) == pytest.approx(9.8, abs=0.1)

    def test_contacts_have_names_positions_and_stamps(self, simulation):
        simulation.drive(Twist2D(1.0, 0.0))
        contacts = [c for _ in range(35) for c in simulation.step(0.1).contacts]
        assert {c.first.split("::")[0] for c in contacts} | {
            c.second.split("::")[0] for c in contacts
        } == {"robot", "obstacle_box_0"}
        first = contacts[0]
        assert {first.first, first.second} == {"robot::base::body", "obstacle_box_0::link::c"}
        # from 0.7 m, the front of the body, to 2.5 m, at 1 m/s
        assert first.stamp_s == pytest.approx(1.8, abs=0.15)
        assert first.positions_m[0][0] == pytest.approx(2.5, abs=0.15)
        assert [c.stamp_s for c in contacts] == sorted(c.stamp_s for c in contacts)

    def test_snapshot_has_links_and_rotating_wheels(self, simulation):
        simulation.drive(Twist2D(0.5, 0.0))
        snapshot = simulation.step(1.0)
        wheel = snapshot.links["robot::left_wheel"].pose
        robot = snapshot.models["robot"].pose
        assert wheel.position[0] == pytest.approx(robot.position[0], abs=1e-3)
        assert wheel.position[1] == pytest.approx(0.3, abs=0.01)
        assert len(snapshot.links) == 3 + len([n for n in snapshot.models if n != "robot"])


class TestPlanes:
    def test_plane_is_moved_by_its_pose_but_not_rotated(self, simulator, tmp_path):
        sticker = scenes.model(
            "sticker", "<plane><normal>0 0 1</normal></plane>", "0 4 1.25 1.57 0 0"
        )
        ball = scenes.model(
            "ball", "<sphere><radius>0.2</radius></sphere>", "0 -2 1.6 0 0 0", False
        )
        world = scenes.write_world(tmp_path, sticker, ball, floor="")
        ends = scenes.load(simulator, world).step(1.0).models["ball"].pose
        assert ends.position == pytest.approx((0, -2, 1.45), abs=0.01)


class TestChangingTheWorld:
    def test_sensors_of_a_new_server_measure_after_a_model_was_deleted(self, tmp_path):
        """The periods of gzserver's sensor threads used to depend on chance at the start: in two of
        three servers the sensors stopped here."""
        scene = Scene(write_world(tmp_path), ROBOT)
        box = BOX.format(name="box", static="false", x=0, y=0)
        for _ in range(5):
            with GazeboSimulator(stall_timeout_s=10.0) as simulator:
                simulation = simulator.load(scene)
                simulation.spawn([NamedModel("box", box, Pose((3.0, 0.5, 0.5)))])
                simulation.step(0.2)
                simulation.delete(["box"])
                assert simulation.step(0.2).time_s == pytest.approx(0.4)

    def test_saved_world_contains_no_added_elements(self, simulator, simulation, tmp_path):
        simulator.load(Scene(write_world(tmp_path, models=boxes("false")), ROBOT)).step(0.1)
        simulation = simulator.load(Scene(write_world(tmp_path, models=boxes("false")), ROBOT))
        saved = tmp_path / "saved.world"
        simulation.save_world(saved)
        text = saved.read_text()
        assert "gz_testauto" not in text
        world = SdfDocument.read(saved).world
        names = {model.get("name") for model in world.findall("model")}
        assert {"robot", "ground_plane", "obstacle_box_0", "obstacle_box_3"} <= names
        lidar = next(s for s in world.iter("sensor") if s.get("type") == "ray")
        assert float(lidar.findtext("update_rate")) == 10.0
        assert {r.text for r in world.iter("real_time_update_rate")} == {"1000.0"}
        assert {r.text for r in world.iter("max_step_size")} == {"0.001"}

    def test_description_uses_the_names_of_models_in_the_scene(self, simulation):
        links = simulation.describe().links_of("robot")
        assert set(links) == {"robot::base", "robot::left_wheel", "robot::right_wheel"}

    def test_spawned_box_accelerates_with_gravity(self, simulation):
        simulation.set_physics(PhysicsSettings(0.001, 1000.0, (0.0, 0.0, -2.0)))
        model = BOX.format(name="x", static="false", x=0, y=0)
        text = f'<sdf version="1.6">{model}</sdf>'
        simulation.spawn([NamedModel("falling", text, Pose((-6.0, -6.0, 5.0)))])
        for _ in range(10):
            snapshot = simulation.step(0.1)
        assert simulation.physics().gravity_mps2 == (0.0, 0.0, -2.0)
        assert snapshot.models["falling"].pose.position[2] == pytest.approx(4.0, abs=0.02)

    def test_spawned_probe_has_no_subscriber_until_its_model_is_inserted(
        self, simulator, tmp_path, monkeypatch
    ):
        """gzserver used to crash if such a probe measured while a model was inserted."""
        topic = "box/link/gz_testauto_spawned_probe/scan"
        box = NamedModel("box", BOX.format(name="box", static="false", x=0, y=0), Pose((6, 0, 1)))
        connected = []
        for _ in range(4):  # models of every other scene have the same names on the server
            simulation = simulator.load(Scene(write_world(tmp_path), ROBOT))
            link = simulation._link
            spawn = link.spawn

            def noted(models, link=link, spawn=spawn):
                names = [f"{model.name}/{topic.partition('/')[2]}" for model in models]
                connected.extend(name for name in names if link.node.is_connected(link.topic(name)))
                spawn(models)

            monkeypatch.setattr(link, "spawn", noted)
            simulation.spawn([box])
            simulation.step(0.1)
            simulation.delete(["box"])
            simulation.spawn([box])
            assert simulation.step(0.1).models["box"].pose.position[2] < 1.0
            monkeypatch.undo()
        assert connected == []

    def test_if_one_model_is_rejected_no_spawned_model_remains(self, simulation):
        simulation._link.stall_timeout_s = 3.0  # this server is not used again
        box = BOX.format(name="x", static="false", x=0, y=0)
        good = NamedModel("good", f'<sdf version="1.6">{box}</sdf>', Pose((-6.0, -6.0, 0.5)))
        odd = '<sdf version="9.9"><model name="x"><link name="l"/><joint name="j"/></model></sdf>'
        before = set(simulation.snapshot().models)
        with pytest.raises(SimulatorError):
            simulation.spawn([good, NamedModel("odd", odd)])
        assert set(simulation.snapshot().models) == before
        simulation.spawn([good])
        assert set(simulation.step(0.1).models) == {*before, "good"}

    def test_spawn_error_contains_the_error_of_gazebo(self, simulation):
        simulation._link.stall_timeout_s = 3.0  # this server is not used again
        text = """<sdf version="1.6"><model name="x"><link name="l"/>
        <plugin name="p" filename="libNobodyHasThis.so"/></model></sdf>"""
        odd = '<sdf version="1.6"><model name="x"><link name="l"/><joint name="j"/></model></sdf>'
        before = set(simulation.snapshot().models)
        with pytest.raises(SimulatorError):
            simulation.spawn([NamedModel("odd", odd.replace("1.6", "9.9"))])
        with pytest.raises(SimulatorError, match="libNobodyHasThis"):
            simulation.spawn([NamedModel("plugged", text)])
        assert set(simulation.snapshot().models) == before


class TestFailing:
    def test_step_on_a_dead_server_raises_and_the_next_load_succeeds(
        self, simulator, simulation, tmp_path
    ):
        simulation.step(0.1)
        os.kill(simulator._server.pid, signal.SIGKILL)
        begun = time.monotonic()
        with pytest.raises(SimulatorError, match="SIGKILL"):
            for _ in range(3):
                simulation.step(0.1)
        assert time.monotonic() - begun < 15.0
        again = simulator.load(Scene(write_world(tmp_path), ROBOT))
        assert again.step(0.1).time_s == pytest.approx(0.1)

    def test_step_on_a_stalled_server_raises(self, tmp_path):
        with GazeboSimulator(stall_timeout_s=5.0) as simulator:
            simulation = simulator.load(Scene(write_world(tmp_path), ROBOT))
            os.kill(simulator._server.pid, signal.SIGSTOP)
            with pytest.raises(SimulatorError, match="stalled"):
                simulation.step(0.1)
            assert simulator.load(Scene(write_world(tmp_path), ROBOT)).step(0.1).scan is not None

    @pytest.mark.parametrize("where", ["world", "robot"])
    def test_error_names_the_missing_plugin(self, simulator, tmp_path, where):
        plugin = '<plugin name="p" filename="libNobodyHasThis.so"/>'
        world, robot = write_world(tmp_path, models=plugin if where == "world" else ""), ROBOT
        if where == "robot":
            path = tmp_path / "robot.sdf"
            path.write_text(ROBOT.path.read_text().replace("</model>", plugin + "</model>"))
            robot = read_robot(path)
        with pytest.raises(SimulatorError, match="libNobodyHasThis"):
            simulator.load(Scene(world, robot))

    def test_server_accepts_connections_on_loopback_only(self, simulator, simulation):
        def greeting(host):
            with socket.create_connection((host, simulator._server.port), timeout=1.0) as peer:
                try:
                    return peer.recv(8)
                except OSError:
                    return b""

        assert greeting("127.0.0.1")
        outside = own_address()
        if outside is None:
            pytest.skip("this machine has no other address than loopback")
        assert greeting(outside) == b""

    def test_two_simulators_do_not_affect_each_other(self, simulator, simulation, tmp_path):
        with GazeboSimulator() as other:
            second = other.load(Scene(write_world(tmp_path, "o.world"), ROBOT, Pose2D(5, 5, 1)))
            simulation.drive(Twist2D(0.5, 0.0))
            simulation.step(0.5)
            assert second.step(0.1).models["robot"].pose.planar == pytest.approx(
                (5, 5, 1), abs=0.01
            )
        assert simulation.step(0.5).models["robot"].pose.position[0] == pytest.approx(0.5, abs=0.05)

    @pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
    def test_gzserver_exits_when_its_parent_process_exits(self, tmp_path, end):
        script = f"""
import time
from pathlib import Path
from gz_testauto.simulators.gazebo import GazeboSimulator
from gz_testauto.simulators.interface import Scene
simulator = GazeboSimulator()
simulation = simulator.load(Scene(Path({str(write_world(tmp_path))!r})))
print(simulator._server.pid, flush=True)
while True:
    simulation.step(0.1)
"""
        process = subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
        )
        server = int(process.stdout.readline())
        process.send_signal(end)
        process.wait(60)
        process.stdout.close()
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and _alive(server):
            time.sleep(0.05)
        assert not _alive(server)


def _alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
