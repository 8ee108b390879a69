#!/usr/bin/env python3
"""A campaign over ROS by its launch file, from start to table: results, ends, what is left."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import unittest
import uuid
from pathlib import Path

import numpy as np
import rospy
import rostest
from graph import MARK, Heard, await_true, marked_processes, require_gazebo
from gz_testauto.msg import CampaignProgress, Snapshot

from gz_testauto.base import resources
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.simulators import open_simulator
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.trial.lockstep import LockstepExecutor
from gz_testauto.trial.plan import Selection

SMOKE = resources.share_directory() / "config" / "smoke_campaign.yaml"
ROOM = resources.share_directory() / "worlds" / "room.world"
OWN_STACK = "own_stack_campaign.yaml"
TRIALS = [("world_0000", "straight"), ("world_0000", "fgm")]
TRIALS += [("world_0001", planner) for _, planner in TRIALS]
MEASURED_IN_WALL_TIME = ("cycle_time_s", "cycle_cpu_s", "wall_time_s")
GONE_S = 120.0


class CampaignTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        rospy.init_node("campaign_rostest")
        cls.simulator = rospy.get_param("~simulator")
        if cls.simulator == "gazebo":
            require_gazebo()
        cls.progress = Heard("/campaign/progress", CampaignProgress)
        cls.snapshots = Heard("/simulator/snapshot", Snapshot)

    def setUp(self):
        self.mark = uuid.uuid4().hex
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.directory = Path(scratch.name)
        self.out = self.directory / "out"
        self.progress.messages.clear()
        self.snapshots.messages.clear()

    def launch(self, *arguments):
        """Start campaign.launch as a user does, on this test's master."""
        if not any(argument.startswith(("simulator:=", "stack:=")) for argument in arguments):
            arguments = (*arguments, f"simulator:={self.simulator}")
        process = subprocess.Popen(
            [
                *("roslaunch", "--wait", "gz_testauto", "campaign.launch"),
                *(f"out:={self.out}", *arguments),
            ],
            env={**os.environ, MARK: self.mark},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=GONE_S)

    def finish(self, process, timeout_s=600.0):
        said, _ = process.communicate(timeout=timeout_s)
        return said

    def rows(self):
        with contextlib.closing(sqlite3.connect(self.out / "results.sqlite")) as store:
            store.row_factory = sqlite3.Row
            return [dict(row) for row in store.execute("SELECT * FROM trials ORDER BY trial")]

    def await_trials(self, count):
        await_true(
            lambda: self.progress.last is not None and self.progress.last.finished >= count,
            f"{count} finished trials",
            300.0,
        )

    def assert_nothing_left(self):
        await_true(
            lambda: not marked_processes(self.mark),
            f"every process to end: {marked_processes(self.mark)}",
            GONE_S,
        )

    def test_1_two_worlds_by_two_planners_end_with_a_table_and_equal_the_direct_way(self):
        said = self.finish(self.launch(f"campaign:={SMOKE}"))
        rows = self.rows()
        self.assertEqual([(row["world"], row["planner"]) for row in rows], TRIALS, said)
        self.assertTrue(all(row["outcome"] != "invalid" for row in rows), said)
        self.assertIn("Campaign smoke", said)
        self.assertIn("Worlds by who reached the goal", said)
        log = (self.out / "campaign.log").read_text()
        self.assertEqual(log.count("Simulation Started! || Goal successfully published at"), 4)
        self.assertEqual(self.progress.last.state, "finished")
        self.assertEqual((self.progress.last.finished, self.progress.last.trials), (4, 4))
        self.assert_nothing_left()
        self.assert_equals_direct_way(SMOKE, rows)

    def assert_equals_direct_way(self, campaign, rows, planners=None):
        spec = load(campaign, CampaignSpec).model_copy(update={"simulator": self.simulator})
        direct = self.directory / "direct"

        def lockstep(campaign):
            return LockstepExecutor(campaign, lambda _: open_simulator(self.simulator))

        results = run_campaign(spec, direct, lockstep, selection=Selection(planners=planners))
        self.assertEqual(
            [(row["outcome"], row["detail"]) for row in rows],
            [(record.outcome.value, record.detail) for record in results.trials],
        )
        for record in results.trials:
            here = np.load(self.out / "trajectories" / record.trajectory)
            there = np.load(direct / "trajectories" / record.trajectory)
            self.assertEqual(sorted(here.files), sorted(there.files))
            for name in set(here.files) - set(MEASURED_IN_WALL_TIME):
                self.assertEqual(
                    here[name].tobytes(), there[name].tobytes(), f"{record.trajectory}: {name}"
                )

    def test_2_a_part_of_a_campaign_can_be_run_and_the_rest_later(self):
        self.finish(self.launch(f"campaign:={SMOKE}", "worlds:=1", "planners:=straight"))
        self.assertEqual([(r["world"], r["planner"]) for r in self.rows()], TRIALS[:1])
        first = self.rows()[0]
        self.finish(self.launch(f"campaign:={SMOKE}", "worlds:=1"))
        rows = self.rows()
        self.assertEqual([(r["world"], r["planner"]) for r in rows], TRIALS[:2])
        self.assertEqual(rows[0], first)
        self.assert_nothing_left()

    def test_3_interrupted_it_leaves_nothing_behind_and_continues_where_it_was(self):
        process = self.launch(f"campaign:={SMOKE}")
        self.await_trials(1)
        process.send_signal(signal.SIGINT)
        self.finish(process, GONE_S)
        self.assert_nothing_left()
        before = self.rows()
        self.assertTrue(1 <= len(before) < 4)
        self.finish(self.launch(f"campaign:={SMOKE}"))
        after = self.rows()
        self.assertEqual([(r["world"], r["planner"]) for r in after], TRIALS)
        self.assertEqual(after[: len(before)], before)

    def test_4_when_the_campaign_node_is_killed_everything_ends(self):
        process = self.launch(f"campaign:={SMOKE}")
        self.await_trials(1)
        self.kill("/campaign")
        self.finish(process, GONE_S)
        self.assert_nothing_left()

    def test_5_when_roslaunch_is_killed_everything_ends(self):
        process = self.launch(f"campaign:={SMOKE}")
        self.await_trials(1)
        process.kill()
        process.wait(GONE_S)
        self.assert_nothing_left()

    def test_6_a_simulator_node_that_dies_costs_one_attempt_and_no_trial(self):
        process = self.launch(f"campaign:={SMOKE}")
        self.await_trials(1)
        self.kill("/simulator")
        said = self.finish(process)
        rows = self.rows()
        self.assertEqual([(row["world"], row["planner"]) for row in rows], TRIALS, said)
        self.assertTrue(all(row["outcome"] != "invalid" for row in rows), said)
        self.assertGreaterEqual(max(row["attempts"] for row in rows), 2, said)
        self.assert_nothing_left()

    def test_7_a_planner_that_dies_or_is_late_costs_an_attempt_and_changes_no_trial(self):
        process = self.launch(f"campaign:={SMOKE}", "planners:=fgm")
        await_true(lambda: len(self.snapshots.messages) > 5, "the first trial to be under way")
        self.kill("/fgm/planner")
        self.await_trials(1)
        await_true(lambda: self.snapshots.last.scene_time > 1.0, "the second trial to be under way")
        self.kill("/fgm/planner", signal.SIGSTOP)
        said = self.finish(process)
        rows = self.rows()
        self.assertEqual([row["planner"] for row in rows], ["fgm", "fgm"], said)
        self.assertTrue(all(row["outcome"] == "reached" for row in rows), said)
        self.assertTrue(all(row["attempts"] >= 2 for row in rows), said)
        self.assertIn("fgm gave no answer in ", said)
        self.assert_nothing_left()
        self.assert_equals_direct_way(SMOKE, rows, planners=("fgm",))

    def test_8_what_a_user_has_to_mend_is_one_line_and_ends_the_launch(self):
        broken = self.directory / "broken.yaml"
        broken.write_text(SMOKE.read_text().replace("count: 2\n", "count: 0\n"))
        said = self.finish(self.launch(f"campaign:={broken}"))
        self.assertRegex(said, r"broken\.yaml:\d+: ")
        self.assertNotIn("Traceback", said)
        self.assert_nothing_left()

    def test_9_a_simulator_that_cannot_be_had_ends_the_launch_and_says_why(self):
        said = self.finish(self.launch(f"campaign:={SMOKE}", "simulator:=gazebbo"))
        self.assertIn("unknown simulator 'gazebbo'; did you mean 'gazebo'?", said)
        self.assertNotIn("Traceback", said)
        self.assert_nothing_left()

    def test_c_a_campaign_on_a_stack_of_the_users_own_needs_to_be_told_so(self):
        said = self.finish(self.launch(f"campaign:={SMOKE.with_name(OWN_STACK)}"))
        self.assertIn("add stack:=true", said)
        self.assertNotIn("Traceback", said)
        self.assertFalse(self.out.exists())
        self.assert_nothing_left()

    def test_a_planner_that_gives_up_ends_its_trials_as_it_does_in_the_direct_way(self):
        campaign = self.directory / "quits.yaml"
        text = SMOKE.read_text().replace("planners: [straight, fgm]", "planners: [quits]")
        campaign.write_text(text.replace("../worlds", str(ROOM.parent)))
        said = self.finish(self.launch(f"campaign:={campaign}"))
        rows = self.rows()
        self.assertEqual([row["outcome"] for row in rows], ["planner_aborted"] * 2, said)
        self.assertEqual([row["detail"] for row in rows], ["it is all too much"] * 2)
        self.assert_equals_direct_way(campaign, rows)

    def test_b_a_gzserver_that_dies_costs_one_attempt_and_no_trial(self):
        if self.simulator != "gazebo":
            self.skipTest("there is no gzserver")
        process = self.launch(f"campaign:={SMOKE}")
        self.await_trials(1)
        await_true(
            lambda: self.snapshots.last.scene == 2 and self.snapshots.last.scene_time > 1.0,
            "the second trial to be under way",
        )
        for pid, command in marked_processes(self.mark).items():
            if "gzserver" in command and not command.startswith("/bin/sh"):
                os.kill(pid, signal.SIGKILL)
        said = self.finish(process)
        rows = self.rows()
        self.assertEqual([(row["world"], row["planner"]) for row in rows], TRIALS, said)
        self.assertTrue(all(row["outcome"] != "invalid" for row in rows), said)
        self.assertGreaterEqual(rows[1]["attempts"], 2, said)
        self.assertIn("gzserver", said)
        self.assert_nothing_left()

    def test_d_a_campaign_on_a_stack_runs_to_its_table_and_leaves_nothing(self):
        stack = ("stack:=true", f"campaign:={SMOKE.with_name(OWN_STACK)}")
        said = self.finish(self.launch(*stack, "worlds:=1", "workers:=2"))
        outcomes = [(row["planner"], row["outcome"]) for row in self.rows()]
        self.assertEqual(outcomes, [("straight", "collided"), ("fgm", "reached")], said)
        self.assertIn("Campaign own_stack", said)
        self.assertEqual(self.progress.last.state, "finished")
        self.assertEqual((self.progress.last.finished, self.progress.last.trials), (2, 2))
        self.assert_nothing_left()

    def test_e_trials_side_by_side_equal_the_direct_way_though_a_worker_and_a_simulator_die(self):
        process = self.launch(f"campaign:={SMOKE}", "workers:=2")
        self.await_trials(1)
        self.kill("simulator")
        self.await_trials(2)
        for pid, command in marked_processes(self.mark).items():
            if "multiprocessing" in command and "spawn_main" in command:
                os.kill(pid, signal.SIGKILL)
                break
        said = self.finish(process)
        rows = self.rows()
        self.assertEqual([(row["world"], row["planner"]) for row in rows], TRIALS, said)
        self.assert_equals_direct_way(SMOKE, rows)
        self.assertEqual(self.progress.last.state, "finished")
        self.assert_nothing_left()

    def test_f_side_by_side_everything_ends_with_the_campaign_node(self):
        process = self.launch(f"campaign:={SMOKE}", "workers:=2")
        self.await_trials(1)
        self.kill("/campaign")
        self.finish(process, GONE_S)
        self.assert_nothing_left()

    def kill(self, node, number=signal.SIGKILL):
        """Send a signal to the process of a node of ours."""
        name = node.rsplit("/", 1)[-1]
        namespace = node[: -len(name) - 1]
        for pid, command in marked_processes(self.mark).items():
            if f"__name:={name}" in command and (not namespace or f"__ns:={namespace}" in command):
                os.kill(pid, number)
                return
        self.fail(f"no process of {node} among {marked_processes(self.mark)}")


if __name__ == "__main__":
    rostest.rosrun("gz_testauto", "campaign", CampaignTest, sys.argv)
