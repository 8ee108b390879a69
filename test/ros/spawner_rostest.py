#!/usr/bin/env python3
"""The spawner's services against a running simulator: whole sets, or none."""

import importlib.util
import sys
import tempfile
import unittest
from pathlib import Path

import rospy
import rostest
from gazebo_msgs import srv as gazebo
from graph import Heard, assert_registered_as_declared, await_true, require_gazebo, service
from gz_testauto.msg import ObstacleSet
from gz_testauto.srv import LoadScene, LoadSceneRequest
from service_requests import check_many_responses
from visualization_msgs.msg import MarkerArray

from gz_testauto import srv
from gz_testauto.base import resources
from gz_testauto.ros.obstacles import interface
from gz_testauto.sdf.scene import read_scene
from gz_testauto.spec.loader import parse
from gz_testauto.spec.obstacles import ObstacleSpec
from gz_testauto.worlds.manifest import read_worlds
from gz_testauto.worlds.multiply import multiply

ROOM = resources.share_directory() / "worlds" / "room.world"
ARENA = resources.share_directory() / "worlds" / "arena.world"
ROBOT = resources.share_directory() / "models" / "wheelchair" / "model.sdf"
SPEC = """
obstacles:
  - {type: box, count: 2, size_x_m: [0.4, 0.8], size_y_m: [0.4, 0.8], size_z_m: 1.2}
  - {type: cylinder, count: 1, radius_m: [0.2, 0.4], length_m: 1.2}
region: {rectangle: {x_m: [-2, 2], y_m: [-3, 3]}}
min_gap_m: 0.2
"""
SCENARIO = resources.share_directory() / "config" / "scenic" / "things.scenic"
NAMES = ["obstacle_box_0", "obstacle_box_1", "obstacle_cylinder_0"]


class SpawnerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        rospy.init_node("spawner_rostest")
        if rospy.get_param("/simulator/simulator") == "gazebo":
            require_gazebo()
        cls.spawn = service("/obstacle_spawner/spawn", srv.SpawnObstacles)
        cls.clear = service("/obstacle_spawner/clear", srv.ClearObstacles)
        cls.respawn = service("/obstacle_spawner/respawn", srv.RespawnObstacles)
        cls.save_world = service("/obstacle_spawner/save_world", srv.SaveWorld)
        cls.list = service("/obstacle_spawner/list", srv.ListObstacles)
        cls.multiply = service("/world_multiplier/multiply", srv.MultiplyWorld)
        cls.world = service("/gazebo/get_world_properties", gazebo.GetWorldProperties)
        cls.state = service("/gazebo/get_model_state", gazebo.GetModelState)
        cls.delete = service("/gazebo/delete_model", gazebo.DeleteModel)
        cls.load_scene = service("/simulator/load_scene", LoadScene)
        cls.trouble = {}
        cls.spawn_model = service("/gazebo/spawn_sdf_model", gazebo.SpawnModel)
        cls.trouble_service = rospy.Service(
            "/trouble/spawn_sdf_model", gazebo.SpawnModel, cls.spawn_model_in_trouble
        )
        cls.spawn_in_trouble = service("/spawner_in_trouble/spawn", srv.SpawnObstacles)
        cls.list_in_trouble = service("/spawner_in_trouble/list", srv.ListObstacles)
        cls.sets = Heard("/obstacle_spawner/obstacles", ObstacleSet)
        cls.markers = Heard("/obstacle_spawner/markers", MarkerArray)

    @classmethod
    def spawn_model_in_trouble(cls, request):
        """Handle ``/gazebo/spawn_sdf_model`` of the second spawner: forward the request, except for
        one fault that a test has set."""
        trouble = cls.trouble.pop(request.model_name, "")
        if trouble == "refuse":
            return gazebo.SpawnModelResponse(False, "no room")
        answer = cls.spawn_model(request)
        if trouble == "time out":
            return gazebo.SpawnModelResponse(False, f"spawn service timed out: {answer}")
        return answer

    def test_the_nodes_register_the_declared_topics_services_and_parameters(self):
        assert_registered_as_declared(self, interface.SPAWNER, "/obstacle_spawner")
        assert_registered_as_declared(self, interface.MULTIPLIER, "/world_multiplier")

    def setUp(self):
        request = LoadSceneRequest(world=str(ROOM), robot_model=str(ROBOT), seed=1)
        request.start.x = -3.5
        response = self.load_scene(request)
        self.assertTrue(response.success, response.message)
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)

    def shown(self):
        return sorted(name for name in self.world().model_names if name.startswith("obstacle_"))

    def place(self, seed=3, replace=True, spec=SPEC):
        response = self.spawn(spec, seed, replace)
        self.assertTrue(response.success, response.message)
        return response.obstacles

    def test_spawned_obstacles_have_the_poses_and_sizes_of_the_response(self):
        obstacles = self.place()
        self.assertEqual([obstacle.name for obstacle in obstacles], NAMES)
        self.assertEqual(self.shown(), NAMES)
        for obstacle in obstacles:
            found = self.state(obstacle.name, "world").pose.position
            self.assertAlmostEqual(found.x, obstacle.pose.position.x, places=3)
            self.assertAlmostEqual(found.y, obstacle.pose.position.y, places=3)
            self.assertAlmostEqual(obstacle.size.z, 1.2)
            self.assertTrue(0.4 <= obstacle.size.x <= 0.8)
        cylinder = obstacles[2]
        self.assertEqual(cylinder.type, "cylinder")
        self.assertAlmostEqual(cylinder.size.x, cylinder.size.y)

    def test_requests_with_extreme_values_leave_a_simulator_that_steps(self):
        """``benchmarks/fuzz.py --groups services`` sends more."""
        check_many_responses(self, 200)

    def test_the_same_seed_gives_the_same_set_also_for_seed_0(self):
        first, other, again = self.place(0), self.place(1), self.place(0)
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)

    def test_a_respawn_is_the_next_world_that_multiply_draws(self):
        self.place(seed=9)
        response = self.respawn()
        self.assertTrue(response.success, response.message)
        self.assertEqual(response.draw, 1)
        spec = parse(SPEC, ObstacleSpec, Path("inline"))
        worlds = multiply(ROOM, spec, 2, 9, Path(self.scratch.name) / "worlds")
        drawn = list(worlds)[1].obstacles
        self.assertEqual([o.name for o in drawn], [o.name for o in response.obstacles])
        for there, here in zip(drawn, response.obstacles):
            self.assertAlmostEqual(there.pose[0], here.pose.position.x, places=6)
            self.assertAlmostEqual(there.pose[1], here.pose.position.y, places=6)

    @unittest.skipUnless(SCENARIO.exists(), "the extra scenic is deleted")
    @unittest.skipIf(importlib.util.find_spec("scenic") is None, "needs Scenic 3")
    def test_a_scenario_is_placed_and_can_be_replaced(self):
        placed = self.place(seed=3, spec=str(SCENARIO))
        names = [obstacle.name for obstacle in placed]
        self.assertEqual(
            names,
            [
                "obstacle_cafe_table_0",
                "obstacle_traffic_cone_0",
                "obstacle_traffic_cone_1",
                "obstacle_crate_0",
            ],
        )
        self.assertEqual(self.shown(), sorted(names))
        for obstacle in placed:
            found = self.state(obstacle.name, "world").pose.position
            self.assertAlmostEqual(found.x, obstacle.pose.position.x, places=2)
            self.assertAlmostEqual(found.y, obstacle.pose.position.y, places=2)
        self.assertTrue(self.respawn().success)
        self.place(seed=3)
        self.assertEqual(self.shown(), NAMES)

    def test_added_obstacles_keep_the_present_ones_and_get_the_next_numbers(self):
        self.place(seed=3)
        added = self.place(seed=4, replace=False)
        self.assertEqual(
            [obstacle.name for obstacle in added],
            ["obstacle_box_2", "obstacle_box_3", "obstacle_cylinder_1"],
        )
        self.assertEqual(len(self.shown()), 6)
        self.assertEqual(len(self.list().obstacles), 6)

    def test_replace_deletes_the_previous_set(self):
        self.place(seed=3)
        region = "{circle: {x_m: 1, y_m: 1, radius_m: 1}}"
        self.place(spec=f"{{obstacles: [{{type: sphere, count: 1}}], region: {region}}}")
        self.assertEqual(self.shown(), ["obstacle_sphere_0"])

    def test_clear_deletes_all_obstacles_and_no_other_model(self):
        before = set(self.world().model_names)
        self.place()
        response = self.clear()
        self.assertTrue(response.success, response.message)
        self.assertEqual(set(self.world().model_names), before)
        self.assertEqual(self.list().obstacles, [])

    def test_list_omits_obstacles_that_another_node_deleted(self):
        self.place(seed=5)
        self.assertTrue(self.delete("obstacle_box_0").success)
        answer = self.list()
        self.assertEqual([obstacle.name for obstacle in answer.obstacles], NAMES[1:])
        self.assertEqual((answer.spec, answer.seed, answer.draw), ("inline", 5, 0))
        await_true(lambda: self.sets.last.seed == 5, "the latched set")
        await_true(
            lambda: {marker.text for marker in self.markers.last.markers} >= set(NAMES),
            "the latched markers",
        )

    def test_a_set_that_does_not_fit_is_rejected_with_the_number_placed(self):
        self.place()
        crowded = SPEC.replace("count: 2", "count: 200") + "max_tries: 500\n"
        response = self.spawn(crowded, 1, True)
        self.assertFalse(response.success)
        self.assertRegex(
            response.message,
            r"no obstacle was spawned.*found room for \d+ of 201 obstacles after 500",
        )
        self.assertEqual(self.shown(), NAMES)

    def test_a_rejected_spawn_restores_the_previous_set(self):
        before = self.spawn_in_trouble(SPEC, 3, True)
        self.assertTrue(before.success, before.message)
        self.trouble["obstacle_box_1"] = "refuse"
        response = self.spawn_in_trouble(SPEC, 4, True)
        self.assertFalse(response.success)
        self.assertIn("obstacle_box_1 was not spawned: no room", response.message)
        self.assertEqual(self.shown(), NAMES)
        again = self.list_in_trouble().obstacles
        self.assertEqual([o.name for o in again], [o.name for o in before.obstacles])
        for now, then in zip(again, before.obstacles):
            self.assertAlmostEqual(now.pose.position.x, then.pose.position.x, places=3)
            self.assertAlmostEqual(now.pose.position.y, then.pose.position.y, places=3)
            self.assertEqual(now.size, then.size)

    def test_added_obstacles_are_deleted_if_one_is_rejected(self):
        self.spawn_in_trouble(SPEC, 3, True)
        self.trouble["obstacle_cylinder_1"] = "refuse"
        self.assertFalse(self.spawn_in_trouble(SPEC, 4, False).success)
        self.assertEqual(self.shown(), NAMES)

    def test_a_reported_timeout_is_ignored_if_the_model_appears(self):
        self.trouble["obstacle_box_1"] = "time out"
        response = self.spawn_in_trouble(SPEC, 3, True)
        self.assertTrue(response.success, response.message)
        self.assertEqual(self.shown(), NAMES)

    def test_a_saved_world_can_be_loaded_and_multiplied(self):
        self.place()
        path = Path(self.scratch.name) / "saved.world"
        response = self.save_world(str(path))
        self.assertTrue(response.success, response.message)
        self.assertEqual(response.path, str(path))
        self.assertEqual([n for n in read_scene(path).models if n in NAMES], NAMES)
        loaded = self.load_scene(LoadSceneRequest(world=str(path), seed=1))
        self.assertTrue(loaded.success, loaded.message)
        self.assertEqual(self.shown(), NAMES)
        out = Path(self.scratch.name) / "many"
        made = self.multiply(str(path), SPEC, 3, 1, str(out))
        self.assertTrue(made.success, made.message)
        self.assertEqual(len(made.worlds), 3)
        self.assertEqual(len(read_worlds(out)), 3)

    def test_wrong_arguments_are_rejected_with_the_fault(self):
        for spec, seed, said in (
            ("nonsense", 0, "nonsense"),
            ("", 0, "spec"),
            ("{obstacles: [{type: cube, count: 1}]}", 0, "cube"),
            ("{obstacles: [{type: box, count: -1}]}", 0, "count is -1"),
            (SPEC, -1, "seed is -1"),
        ):
            response = self.spawn(spec, seed, True)
            self.assertFalse(response.success)
            self.assertIn(said, response.message)
        response = self.save_world("/nowhere/at/all.world")
        self.assertFalse(response.success)
        self.assertIn("/nowhere/at", response.message)

    def test_a_specification_is_found_by_name(self):
        self.assertEqual(self.load_scene(LoadSceneRequest(world=str(ARENA))).success, True)
        self.assertEqual(len(self.place(spec="obstacles")), 16)
        self.assertEqual(self.list().spec, "obstacles")


if __name__ == "__main__":
    rostest.rosrun("gz_testauto", "spawner", SpawnerTest, sys.argv)
