#!/usr/bin/env python3
"""Campaigns started with campaign.launch: results, exit of processes, errors."""

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
from graph import (
    MARK,
    Heard,
    assert_registered_as_declared,
    await_true,
    marked_processes,
    require_gazebo,
)
from gz_testauto.msg import CampaignProgress, Snapshot

from gz_testauto.base import resources
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.ros.campaign import interface
from gz_testauto.simulators import open_simulator
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.trial.lockstep import LockstepExecutor

SMOKE = resources.share_directory() / "config" / "smoke_campaign.yaml"
ROOM = resources.share_directory() / "worlds" / "room.world"
OWN_STACK = "own_stack_campaign.yaml"
TRIALS = [("world_0000", "straight"), ("world_0000", "fgm")]
TRIALS += [("world_0001", planner) for _, planner in TRIALS]
FOUR_WORLDS = [(f"world_{number:04d}", "fgm") for number in range(4)]
THREE_PLANNERS = ("straight", "fgm", "quits")
QUICK = "kinematic"
"""The simulator of tests that do not depend on it."""
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
        """Start campaign.launch on the master of this test."""
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

    def assert_no_process_left(self):
        await_true(
            lambda: not marked_processes(self.mark),
            f"every process to end: {marked_processes(self.mark)}",
            GONE_S,
        )

    def test_1_a_campaign_prints_its_table_and_equals_one_without_ros_to_the_bit(self):
        campaign = self.campaign(planners="[straight, fgm, quits]")
        said = self.finish(self.launch(f"campaign:={campaign}"))
        rows = self.rows()
        expected = [(w, p) for w in ("world_0000", "world_0001") for p in THREE_PLANNERS]
        self.assertEqual([(row["world"], row["planner"]) for row in rows], expected, said)
        self.assertTrue(all(row["outcome"] != "invalid" for row in rows), said)
        gave_up = [(r["outcome"], r["detail"]) for r in rows if r["planner"] == "quits"]
        self.assertEqual(gave_up, [("planner_aborted", "it is all too much")] * 2, said)
        self.assertIn("Campaign smoke", said)
        self.assertIn("Worlds by planners that reached the goal", said)
        log = (self.out / "campaign.log").read_text()
        self.assertEqual(log.count("Simulation Started! || Goal successfully published at"), 6)
        self.assertEqual(self.progress.last.state, "finished")
        self.assertEqual((self.progress.last.finished, self.progress.last.trials), (6, 6))
        self.assert_no_process_left()
        self.assert_equals_in_process(campaign, rows, self.simulator)

    def campaign(self, planners="[straight, fgm]", worlds=2):
        """The smoke campaign with other planners and another number of worlds."""
        path = self.directory / "campaign.yaml"
        text = SMOKE.read_text().replace("../worlds", str(ROOM.parent))
        for old, new in (
            ("planners: [straight, fgm]", f"planners: {planners}"),
            ("count: 2\n", f"count: {worlds}\n"),
        ):
            self.assertIn(old, text)
            text = text.replace(old, new)
        path.write_text(text)
        return path

    def assert_equals_in_process(self, campaign, rows, simulator):
        spec = load(campaign, CampaignSpec).model_copy(update={"simulator": simulator})
        direct = self.directory / "direct"

        def lockstep(campaign):
            return LockstepExecutor(campaign, lambda _: open_simulator(simulator))

        results = run_campaign(spec, direct, lockstep)
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

    def test_2_an_interrupted_campaign_leaves_no_process_and_can_be_continued(self):
        common = (f"campaign:={SMOKE}", f"simulator:={QUICK}", "real_time_factor:=5.0")
        process = self.launch(*common, "planners:=fgm")
        self.await_trials(1)
        process.send_signal(signal.SIGINT)
        self.finish(process, GONE_S)
        self.assert_no_process_left()
        before = self.rows()
        self.assertEqual([(r["world"], r["planner"]) for r in before], [("world_0000", "fgm")])
        self.finish(self.launch(*common, "worlds:=1"))
        after = self.rows()
        self.assertEqual([(r["world"], r["planner"]) for r in after], TRIALS[:2])
        self.assertEqual(after[1], before[0])
        self.assert_no_process_left()

    def test_3_all_processes_exit_when_the_campaign_node_is_killed(self):
        process = self.launch(f"campaign:={SMOKE}")
        self.await_drive(0)
        assert_registered_as_declared(self, interface.NODE, "/campaign", ("/road",), "straight")
        self.kill("/campaign")
        self.finish(process, GONE_S)
        self.assert_no_process_left()

    def test_4_all_processes_exit_when_roslaunch_is_killed(self):
        process = self.launch(f"campaign:={SMOKE}")
        self.await_drive(0)
        process.kill()
        process.wait(GONE_S)
        self.assert_no_process_left()

    def test_5_a_process_that_is_killed_or_stopped_costs_one_attempt_and_changes_no_result(self):
        campaign = self.campaign(planners="[fgm]", worlds=4)
        process = self.launch(f"campaign:={campaign}")
        for trial, harm in enumerate(
            (
                lambda: self.kill("/fgm/planner"),
                lambda: self.kill("/simulator"),
                self.kill_gzserver if self.simulator == "gazebo" else lambda: None,
                lambda: self.kill("/fgm/planner", signal.SIGSTOP),
            )
        ):
            self.await_drive(trial)
            harm()
        said = self.finish(process)
        rows = self.rows()
        self.assertEqual([(row["world"], row["planner"]) for row in rows], FOUR_WORLDS, said)
        attempts = [row["attempts"] for row in rows]
        if self.simulator != "gazebo":
            del attempts[2]
        self.assertTrue(all(number >= 2 for number in attempts), said)
        self.assertIn("fgm sent no command in ", said)
        self.assert_no_process_left()
        self.assert_equals_in_process(campaign, rows, self.simulator)

    def await_drive(self, finished):
        """Wait until the robot drives in the trial after ``finished`` ones. A trial of fgm takes
        14 s of simulated time."""
        self.await_trials(finished)
        await_true(
            lambda: (
                self.snapshots.last is not None
                and 0.3 < self.snapshots.last.scene_time < 8.0
                and self.progress.last.finished == finished
            ),
            f"a trial after {finished} finished trials",
        )

    def test_6_an_error_in_the_campaign_file_stops_the_launch_without_a_traceback(self):
        broken = self.directory / "broken.yaml"
        broken.write_text(SMOKE.read_text().replace("count: 2\n", "count: 0\n"))
        said = self.finish(self.launch(f"campaign:={broken}"))
        self.assertRegex(said, r"broken\.yaml:\d+: ")
        self.assertNotIn("Traceback", said)
        self.assert_no_process_left()

    def test_7_an_unknown_simulator_stops_the_launch_with_the_nearest_name(self):
        said = self.finish(self.launch(f"campaign:={SMOKE}", "simulator:=gazebbo"))
        self.assertIn("unknown simulator 'gazebbo'; did you mean 'gazebo'?", said)
        self.assertNotIn("Traceback", said)
        self.assert_no_process_left()

    def test_8_stack_campaign_prints_its_table_and_leaves_no_process(self):
        stack = ("stack:=true", f"campaign:={SMOKE.with_name(OWN_STACK)}")
        said = self.finish(self.launch(*stack, "worlds:=1", "workers:=2"))
        outcomes = [(row["planner"], row["outcome"]) for row in self.rows()]
        self.assertEqual(outcomes, [("straight", "collided"), ("fgm", "reached")], said)
        self.assertIn("Campaign own_stack", said)
        self.assertEqual(self.progress.last.state, "finished")
        self.assertEqual((self.progress.last.finished, self.progress.last.trials), (2, 2))
        self.assert_no_process_left()

    def test_9_parallel_trials_equal_trials_without_ros_even_if_a_worker_is_killed(self):
        process = self.launch(f"campaign:={SMOKE}", "workers:=2", "simulator:=embedded")
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
        self.assert_equals_in_process(SMOKE, rows, "embedded")
        self.assertEqual(self.progress.last.state, "finished")
        self.assert_no_process_left()

    def test_a_all_processes_of_parallel_trials_exit_with_the_campaign_node(self):
        process = self.launch(f"campaign:={SMOKE}", "workers:=2", f"simulator:={QUICK}")
        self.await_trials(1)
        self.kill("/campaign")
        self.finish(process, GONE_S)
        self.assert_no_process_left()

    def kill_gzserver(self):
        """Kill Gazebo's server below the simulator node."""
        for pid, command in marked_processes(self.mark).items():
            if "gzserver" in command and not command.startswith("/bin/sh"):
                os.kill(pid, signal.SIGKILL)

    def kill(self, node, number=signal.SIGKILL):
        """Send a signal to the process of one of this package's nodes."""
        name = node.rsplit("/", 1)[-1]
        namespace = node[: -len(name) - 1]
        for pid, command in marked_processes(self.mark).items():
            if f"__name:={name}" in command and (not namespace or f"__ns:={namespace}" in command):
                os.kill(pid, number)
                return
        self.fail(f"no process of {node} among {marked_processes(self.mark)}")


if __name__ == "__main__":
    rostest.rosrun("gz_testauto", "campaign", CampaignTest, sys.argv)
