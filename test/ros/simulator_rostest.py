#!/usr/bin/env python3
"""Services and topics of the simulator node, with the semantics of gazebo_ros."""

import importlib.util
import math
import pathlib
import sys
import tempfile
import unittest

import rospy
import rostest
from gazebo_msgs import srv
from gazebo_msgs.msg import LinkStates, ModelState, ModelStates
from geometry_msgs.msg import Pose, Twist
from graph import Heard, assert_registered_as_declared, await_true, require_gazebo, service
from gz_testauto.srv import LoadScene, LoadSceneRequest
from nav_msgs.msg import Odometry
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu, LaserScan
from service_requests import check_many_responses
from std_msgs.msg import ColorRGBA, String
from std_srvs.srv import Empty

from gz_testauto import srv as own
from gz_testauto.base import resources
from gz_testauto.ros.simulator import interface

ROOM = resources.share_directory() / "worlds" / "room.world"
ROBOT = resources.share_directory() / "models" / "wheelchair" / "model.sdf"
BOX = """<?xml version="1.0"?><sdf version="1.6"><model name="any"><pose>0 0 0.25 0 0 0</pose>
<static>true</static><link name="link"><collision name="shape"><geometry><box>
<size>0.5 0.5 0.5</size></box></geometry></collision></link></model></sdf>"""
URDF = """<?xml version="1.0"?><robot name="any"><link name="base"><inertial><mass value="5"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
<collision><origin xyz="0 0 0.25"/><geometry><box size="0.5 0.5 0.5"/></geometry></collision>
</link></robot>"""


PROPERTIES = (
    "set_link_state",
    "get_link_properties",
    "set_link_properties",
    "get_light_properties",
    "set_light_properties",
    "apply_body_wrench",
    "set_model_configuration",
)
PUCK = """<?xml version="1.0"?><sdf version="1.6"><model name="any"><link name="body"><gravity>0
</gravity><inertial><mass>2</mass><inertia><ixx>0.02</ixx><iyy>0.02</iyy><izz>0.02</izz></inertia>
</inertial><collision name="shape"><geometry><sphere><radius>0.1</radius></sphere></geometry>
</collision><visual name="skin"><geometry><sphere><radius>0.1</radius></sphere></geometry></visual>
</link></model></sdf>"""


def pose(x=0.0, y=0.0, z=0.0, yaw=0.0):
    message = Pose()
    message.position.x, message.position.y, message.position.z = x, y, z
    message.orientation.z, message.orientation.w = math.sin(yaw / 2), math.cos(yaw / 2)
    return message


class SimulatorNodeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        rospy.init_node("simulator_rostest")
        cls.real = rospy.get_param("/simulator/simulator") == "gazebo"
        if cls.real:
            require_gazebo()
        for name in ("spawn_sdf_model", "spawn_urdf_model"):
            setattr(cls, name, service(f"/gazebo/{name}", srv.SpawnModel))
        for name in ("delete_model", "get_model_state", "set_model_state", "get_link_state"):
            setattr(cls, name, service(f"/gazebo/{name}", getattr(srv, _camel(name))))
        for name in ("get_world_properties", "get_model_properties"):
            setattr(cls, name, service(f"/gazebo/{name}", getattr(srv, _camel(name))))
        for name in ("get_physics_properties", "set_physics_properties"):
            setattr(cls, name, service(f"/gazebo/{name}", getattr(srv, _camel(name))))
        for name in ("pause_physics", "unpause_physics", "reset_world", "reset_simulation"):
            setattr(cls, name, service(f"/gazebo/{name}", Empty))
        for name in PROPERTIES:
            setattr(cls, name, service(f"/gazebo/{name}", getattr(srv, _camel(name))))
        cls.load_scene = service("/simulator/load_scene", LoadScene)
        for name in ("get_model_states", "set_model_states", "set_visuals", "set_lights"):
            setattr(cls, name, service(f"/simulator/{name}", getattr(own, _camel(name))))
        for name in ("spawn_models", "delete_models"):
            setattr(cls, name, service(f"/simulator/{name}", getattr(own, _camel(name))))
        cls.clock = Heard("/clock", Clock)
        cls.odom = Heard("/odom", Odometry)
        cls.models = Heard("/gazebo/model_states", ModelStates)
        cls.drive = rospy.Publisher("/cmd_vel", Twist, queue_size=1)
        cls.place = rospy.Publisher("/gazebo/set_model_state", ModelState, queue_size=1)

    def setUp(self):
        response = self.load(x=-3.0)
        self.assertTrue(response.success, response.message)

    def load(self, world=ROOM, x=0.0):
        request = LoadSceneRequest(world=str(world), robot_model=str(ROBOT), seed=1)
        request.start.x = x
        return self.load_scene(request)

    def spawn(self, name, at, frame="", xml=BOX):
        return self.spawn_sdf_model(name, xml, "", at, frame)

    def names(self):
        return self.get_world_properties().model_names

    def position(self, name, frame=""):
        answer = self.get_model_state(name, frame)
        self.assertTrue(answer.success, answer.status_message)
        return answer.pose.position

    def assert_at(self, name, x, y, z=None, frame=""):
        found = self.position(name, frame)
        self.assertAlmostEqual(found.x, x, places=3)
        self.assertAlmostEqual(found.y, y, places=3)
        if z is not None:
            self.assertAlmostEqual(found.z, z, places=3)

    def puck(self, name, x, y, z=1.0):
        response = self.spawn_sdf_model(name, PUCK, "", pose(x, y, z), "")
        self.assertTrue(response.success, response.status_message)

    def test_the_node_registers_the_declared_topics_services_and_parameters(self):
        installed = importlib.util.find_spec("costmap_converter") is not None
        absent = () if installed else ("~obstacle_array",)
        assert_registered_as_declared(self, interface.NODE, "/simulator", absent)

    def test_a_world_in_xacro_is_expanded(self):
        with tempfile.TemporaryDirectory() as folder:
            world = pathlib.Path(folder, "room.world.xacro")
            root = '<sdf xmlns:xacro="http://www.ros.org/wiki/xacro"'
            box = f'<xacro:if value="1">{BOX[BOX.index("<model") : -6]}</xacro:if></world>'
            text = ROOM.read_text().replace("<sdf", root).replace("</world>", box)
            world.write_text(text)
            response = self.load(world)
        self.assertTrue(response.success, response.message)
        self.assertIn("any", self.names())

    def test_many_states_are_returned_and_set_in_one_request(self):
        for index in range(3):
            self.puck(f"many_{index}", -2.0 + index, 2.0)
        names = [f"many_{index}" for index in range(3)]
        told = self.get_model_states(names)
        self.assertTrue(told.success, told.message)
        self.assertEqual([state.model_name for state in told.states], names)
        moved = [
            ModelState(model_name=name, pose=pose(-1.0, 0.5 * i, 1.0))
            for i, name in enumerate(names)
        ]
        self.assertTrue(self.set_model_states(moved).success)
        for index, state in enumerate(self.get_model_states(names).states):
            self.assertAlmostEqual(state.pose.position.y, 0.5 * index, delta=1e-3)
        refused = self.get_model_states(["many_0", "nobody"])
        self.assertEqual(
            (refused.success, "'nobody'" in refused.message), (False, True), refused.message
        )
        refused = self.set_model_states([*moved, ModelState(model_name="nobody")])
        self.assertEqual(
            (refused.success, "'nobody'" in refused.message), (False, True), refused.message
        )
        self.assertIn("robot", [state.model_name for state in self.get_model_states([]).states])
        for name in names:
            self.delete_model(name)

    def test_many_models_are_spawned_and_deleted_in_one_request_or_none(self):
        names = [f"row_{index}" for index in range(3)]
        places = [pose(-2.0 + index, 3.0, 0.5) for index in range(3)]
        answer = self.spawn_models(names, [BOX] * 3, places)
        self.assertTrue(answer.success, answer.message)
        self.assert_at("row_1", -1.0, 3.0)
        for given in ((["row_3", "row_1"], [BOX] * 2, places[:2]), (["row_3"], [BOX], [])):
            self.assertFalse(self.spawn_models(*given).success)
        answer = self.spawn_models(["row_3", "row_4"], [BOX, "<sdf/>"], places[:2])
        self.assertFalse(answer.success)
        answer = self.delete_models(["row_0", "unknown"])
        self.assertEqual((answer.success, "'unknown'" in answer.message), (False, True))
        self.assertEqual([name for name in self.names() if "row_" in name], names)
        answer = self.delete_models([*names, names[0]])
        self.assertEqual((answer.success, answer.message), (True, "3 models deleted"))
        self.assertEqual([name for name in self.names() if "row_" in name], [])

    def test_a_push_changes_the_velocity_by_impulse_over_mass(self):
        self.puck("pushed", -2.0, 2.5)
        set_mass = srv.SetLinkPropertiesRequest(link_name="pushed::body", mass=4.0)
        self.assertTrue(self.set_link_properties(set_mass).success)
        self.assertEqual(self.get_link_properties("pushed::body").mass, 4.0)
        push = srv.ApplyBodyWrenchRequest(body_name="pushed::body")
        push.wrench.force.x = 20.0
        push.duration = rospy.Duration(0.1)
        response = self.apply_body_wrench(push)
        self.assertTrue(response.success, response.status_message)

        def speed():
            before = self.get_model_states(["pushed"])
            rospy.sleep(0.2)
            after = self.get_model_states(["pushed"])
            moved = after.states[0].pose.position.x - before.states[0].pose.position.x
            return moved / max((after.stamp - before.stamp).to_sec(), 1e-3)

        await_true(lambda: abs(speed() - 0.5) < 0.02, "the speed of 2 N s on 4 kg", 10.0)
        self.delete_model("pushed")

    def test_visuals_and_lights_are_changed_and_invalid_requests_are_rejected(self):
        self.puck("painted", -2.0, 3.0)
        red = ColorRGBA(1.0, 0.0, 0.0, 1.0)
        visual = "painted::body::skin"
        changed = self.set_visuals([visual], [red], [], [0.5], [])
        self.assertTrue(changed.success, changed.message)
        refused = self.set_visuals([visual], [red, red], [], [], [])
        self.assertEqual(refused.message, "1 names need 1 of diffuse, or none, not 2")
        refused = self.set_visuals(["painted::body::skn"], [red], [], [], [])
        self.assertIn("unknown visual 'painted::body::skn'; did you mean", refused.message)
        refused = self.set_visuals([visual], [ColorRGBA(2.0, 0.0, 0.0, 1.0)], [], [], [])
        self.assertIn("it must be at most 1", refused.message)
        refused = self.set_lights(["nobody"], [red], [], [])
        self.assertIn("unknown light 'nobody'", refused.message)
        self.delete_model("painted")

    def test_a_spawned_model_has_the_requested_name_and_the_composed_pose(self):
        answer = self.spawn("crate", pose(1.0, 2.0))
        self.assertTrue(answer.success, answer.status_message)
        self.assertEqual(answer.status_message, "SpawnModel: Successfully spawned entity")
        self.assertIn("crate", self.names())
        self.assert_at("crate", 1.0, 2.0, 0.25)

    def test_a_name_in_use_is_rejected_with_the_message_of_gazebo_ros(self):
        self.assertTrue(self.spawn("crate", pose(1.0, 2.0)).success)
        answer = self.spawn("crate", pose(2.0, 2.0))
        self.assertFalse(answer.success)
        self.assertEqual(answer.status_message, "SpawnModel: Failure - entity already exists.")
        self.assert_at("crate", 1.0, 2.0)

    def test_a_model_is_spawned_relative_to_another(self):
        self.assertTrue(self.spawn("first", pose(1.0, 1.0, yaw=math.pi / 2)).success)
        answer = self.spawn("second", pose(1.0, 0.0, -0.25), frame="first")
        self.assertTrue(answer.success, answer.status_message)
        self.assert_at("second", 1.0, 2.0)
        self.assert_at("second", 1.0, 0.0, frame="first")

    def test_an_unknown_reference_frame_is_rejected(self):
        answer = self.spawn("crate", pose(), frame="nowhere")
        self.assertFalse(answer.success)
        self.assertIn("reference reference_frame not found", answer.status_message)
        self.assertNotIn("crate", self.names())

    def test_text_that_is_no_model_is_rejected_and_the_simulation_continues(self):
        for xml in ("", "<html/>", "<sdf version='1.6'><model"):
            answer = self.spawn("crate", pose(), xml=xml)
            self.assertFalse(answer.success)
            self.assertIn("input model_xml not SDF or URDF", answer.status_message)
        self.assertTrue(self.spawn("crate", pose(1.0, 1.0)).success)

    def test_urdf_is_converted_and_spawned(self):
        if not self.real:
            self.skipTest("the conversion is Gazebo's")
        answer = self.spawn_urdf_model("crate", URDF, "", pose(1.0, 2.0), "world")
        self.assertTrue(answer.success, answer.status_message)
        self.assert_at("crate", 1.0, 2.0)

    def test_sdf_is_rejected_as_urdf(self):
        answer = self.spawn_urdf_model("crate", BOX, "", pose(), "")
        self.assertFalse(answer.success)
        self.assertEqual(answer.status_message, "SpawnModel: Failure - entity format is invalid.")

    def test_a_deleted_model_cannot_be_deleted_again(self):
        self.assertTrue(self.spawn("crate", pose(1.0, 2.0)).success)
        self.assertTrue(self.delete_model("crate").success)
        self.assertNotIn("crate", self.names())
        answer = self.delete_model("crate")
        self.assertFalse(answer.success)
        self.assertEqual(answer.status_message, "DeleteModel: model does not exist")

    def test_requests_for_a_missing_model_are_rejected(self):
        self.assertEqual(
            self.get_model_state("ghost", "").status_message,
            "GetModelState: model does not exist",
        )
        self.assertEqual(
            self.set_model_state(ModelState(model_name="ghost")).status_message,
            "SetModelState: model does not exist",
        )
        self.assertEqual(
            self.get_model_properties("ghost").status_message,
            "GetModelProperties: model does not exist",
        )

    def test_a_state_is_set_by_service_and_by_topic(self):
        self.assertTrue(self.spawn("crate", pose(1.0, 2.0)).success)
        answer = self.set_model_state(ModelState("crate", pose(2.0, -1.0, 0.25), Twist(), "world"))
        self.assertEqual(answer.status_message, "SetModelState: set model state done")
        self.assert_at("crate", 2.0, -1.0)
        await_true(self.place.get_num_connections, "/gazebo/set_model_state")
        self.place.publish(ModelState("crate", pose(-1.0, 0.0, 0.25), Twist(), "robot"))
        await_true(lambda: abs(self.position("crate").x + 4.0) < 0.01, "the crate behind the robot")

    def test_model_properties_list_links_collisions_and_joints(self):
        self.assertTrue(self.spawn("crate", pose(1.0, 2.0)).success)
        crate = self.get_model_properties("crate")
        self.assertTrue(crate.success, crate.status_message)
        self.assertEqual(crate.body_names, ["link"])
        self.assertEqual(crate.geom_names, ["shape"])
        self.assertTrue(crate.is_static)
        robot = self.get_model_properties("robot")
        self.assertFalse(robot.is_static)
        self.assertGreaterEqual(len(robot.joint_names), 2)

    def test_the_state_of_a_link_is_returned_for_its_scoped_name(self):
        if not self.real:
            self.skipTest("this simulator reports no links")
        states = Heard("/gazebo/link_states", LinkStates)
        self.run_for(0.5)
        await_true(lambda: states.last is not None, "/gazebo/link_states")
        scoped = next(name for name in states.last.name if name.startswith("robot::"))
        answer = self.get_link_state(scoped, "robot")
        self.assertTrue(answer.success, answer.status_message)
        self.assertLess(abs(answer.link_state.pose.position.x), 1.5)
        answer = self.get_link_state("robot::ghost", "")
        self.assertIn("link not found", answer.status_message)

    def run_for(self, seconds, speed=0.0, turn=0.0):
        """Command the robot and wait for this simulated time."""
        await_true(self.drive.get_num_connections, "/cmd_vel")
        begin = rospy.Time.now()
        command = Twist()
        command.linear.x, command.angular.z = speed, turn

        def over():
            self.drive.publish(command)
            return (rospy.Time.now() - begin).to_sec() >= seconds

        await_true(over, f"{seconds} s of simulated time")

    def test_the_robot_follows_commands_and_all_topics_are_published(self):
        scans, samples = Heard("/scan", LaserScan), Heard("/imu", Imu)
        await_true(lambda: rospy.Time.now() > rospy.Time(), "/clock")
        self.run_for(3.0, speed=0.5)
        found = self.position("robot")
        self.assertGreater(found.x, -2.4)
        self.assertLess(abs(found.y), 0.05)
        odom = self.odom.last
        self.assertEqual((odom.header.frame_id, odom.child_frame_id), ("odom", "base_link"))
        self.assertAlmostEqual(odom.twist.twist.linear.x, 0.5, delta=0.05)
        self.assertGreater(len(scans.messages), 10)
        stamps = [scan.header.stamp for scan in scans.messages]
        self.assertEqual(stamps, sorted(set(stamps)))
        self.assertGreater(len(samples.messages), 10)
        self.assertIn("robot", self.models.last.name)

    def test_time_does_not_advance_while_paused(self):
        self.run_for(0.3)
        self.pause_physics()
        self.assertTrue(self.get_physics_properties().pause)
        before = self.get_world_properties().sim_time
        rospy.rostime.wallsleep(0.5)
        self.assertEqual(self.get_world_properties().sim_time, before)
        self.unpause_physics()
        self.run_for(0.3)
        self.assertGreater(self.get_world_properties().sim_time, before)

    def test_reset_world_resets_poses_and_time_continues(self):
        self.run_for(2.0, speed=0.5)
        self.run_for(0.5)
        before = self.get_world_properties().sim_time
        self.reset_world()
        self.assertAlmostEqual(self.position("robot").x, -3.0, delta=0.1)
        self.assertGreaterEqual(self.get_world_properties().sim_time, before)

    def test_reset_simulation_resets_poses_and_time(self):
        self.run_for(2.0, speed=0.5)
        self.run_for(0.5)
        self.pause_physics()  # or a slow machine needs a second for the question
        self.reset_simulation()
        self.assertLess(self.get_world_properties().sim_time, 1.0)
        self.unpause_physics()
        self.assertAlmostEqual(self.position("robot").x, -3.0, delta=0.1)

    def test_a_new_scene_starts_at_its_start_pose_and_later_than_the_previous_one(self):
        self.run_for(0.5, speed=0.5)
        before = rospy.Time.now()
        response = self.load(x=2.0)
        self.assertTrue(response.success, response.message)
        self.assertGreater(response.stamp, before)
        self.assertAlmostEqual(self.position("robot").x, 2.0, delta=0.01)
        stamps = [message.clock for message in self.clock.messages]
        after_resets = [a for a, b in zip(stamps, stamps[1:]) if b < a and b.to_sec() > 1.0]
        self.assertEqual(after_resets, [])

    def test_a_missing_world_is_named_and_another_can_be_loaded(self):
        response = self.load(world="/nowhere/lost.world")
        self.assertFalse(response.success)
        self.assertIn("/nowhere/lost.world", response.message)
        self.assertTrue(self.load().success)

    def test_requests_with_extreme_values_leave_a_simulator_that_steps(self):
        """``benchmarks/fuzz.py --groups services`` sends more."""
        check_many_responses(self, 40)

    def test_invalid_numbers_are_rejected_and_the_simulation_continues(self):
        for x in (math.nan, math.inf, 1e300):
            for field in ("linear", "angular"):
                twist = Twist()
                getattr(twist, field).x = x
                state = ModelState("robot", pose(-3.0), twist, "")
                self.assertFalse(self.set_model_state(state).success, (x, field))
                self.assertFalse(self.set_model_states([state]).success, (x, field))
            state = ModelState("robot", pose(x), Twist(), "")
            self.assertFalse(self.set_model_state(state).success, x)
            push = srv.ApplyBodyWrenchRequest(body_name="robot::base", duration=rospy.Duration(1))
            push.wrench.force.x = x
            self.assertFalse(self.apply_body_wrench(push).success, x)
            self.assertFalse(self.set_link_properties(link_name="robot::base", mass=x).success, x)
            now = self.get_physics_properties()
            for step_s, rate_hz in ((x, 1000.0), (now.time_step, x)):
                set_physics = self.set_physics_properties
                changed = set_physics(step_s, rate_hz, now.gravity, now.ode_config)
                self.assertFalse(changed.success, (step_s, rate_hz))
            command = Twist()
            command.linear.x = x
            await_true(self.drive.get_num_connections, "/cmd_vel")
            self.drive.publish(command)
        self.run_for(2.0, speed=0.5)
        self.assertGreater(self.position("robot").x, -2.9)

    def test_service_clients_can_continue_after_the_physics_becomes_unstable(self):
        if self.real:
            self.skipTest("Gazebo reports no unstable physics")
        failures = Heard("/simulator/failure", String)
        await_true(lambda: failures.connected, "/simulator/failure")
        twist = Twist()
        twist.angular.z = 300.0
        self.assertTrue(self.set_model_state(ModelState("robot", pose(-3.0), twist, "")).success)
        await_true(lambda: failures.last is not None, "a failure", 30.0)
        self.assertIn("unstable", failures.last.data)
        state = self.get_world_properties()
        self.assertTrue(state.success, state.status_message)
        self.run_for(2.0, speed=0.5)
        self.assertGreater(self.position("robot").x, -2.9)

    def test_a_rejected_world_does_not_end_the_present_scene(self):
        with tempfile.NamedTemporaryFile("w", suffix=".world") as damaged:
            damaged.write(ROOM.read_text()[:-200])
            damaged.flush()
            self.run_for(1.0, speed=0.5)
            before = self.position("robot").x
            response = self.load(world=damaged.name)
        self.assertIn(damaged.name, response.message)
        self.assertFalse(response.success)
        self.run_for(1.0, speed=0.5)
        self.assertGreater(self.position("robot").x, before + 0.2)

    def test_the_update_rate_can_be_set_and_other_changes_are_rejected(self):
        now = self.get_physics_properties()
        self.assertTrue(now.success, now.status_message)
        self.assertAlmostEqual(now.time_step, 0.001)
        self.assertAlmostEqual(now.gravity.z, -9.8)
        answer = self.set_physics_properties(now.time_step, 500.0, now.gravity, now.ode_config)
        self.assertTrue(answer.success, answer.status_message)
        self.assertAlmostEqual(self.get_physics_properties().max_update_rate, 500.0)
        stiffer = self.get_physics_properties().ode_config
        stiffer.erp = 0.9
        answer = self.set_physics_properties(now.time_step, 500.0, now.gravity, stiffer)
        self.assertFalse(answer.success)
        self.assertIn("ode_config", answer.status_message)
        back = self.set_physics_properties(
            now.time_step, now.max_update_rate, now.gravity, now.ode_config
        )
        self.assertTrue(back.success)


def _camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


if __name__ == "__main__":
    rostest.rosrun("gz_testauto", "simulator", SimulatorNodeTest, sys.argv)
