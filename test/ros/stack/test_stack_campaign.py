"""A campaign on a user's own stack, from YAML to results, over real ROS.

The stack is this package's simulator node and planner node, started by their launch files as a
user's would be: ``config/own_stack_campaign.yaml``.
"""

import io
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from graph import MARK, await_true, marked_processes
from rich.console import Console

from gz_testauto.analysis.overview import analyze
from gz_testauto.base.errors import LostTrialsError, SpecError
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.simulator import chosen_executor
from gz_testauto.report.plain import WIDTH
from gz_testauto.report.table import print_report
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load, parse
from gz_testauto.trial.launch_files import check_launches
from gz_testauto.trial.lockstep import LockstepExecutor
from gz_testauto.trial.outcome import Outcome
from gz_testauto.trial.plan import TrialSelection

CONFIG = Path(__file__).resolve().parents[3] / "config"
EXAMPLE = CONFIG / "own_stack_campaign.yaml"

ON_A_BUSY_MACHINE = (
    ("min_real_time_factor: 0.2", "min_real_time_factor: 0.02"),
    ("max_truth_gap_s: 2.0", "max_truth_gap_s: 20.0"),
)

pytestmark = pytest.mark.ros


@pytest.fixture(autouse=True)
def mark(monkeypatch):
    """Marks all processes that a test starts, and finds them."""
    name = uuid.uuid4().hex
    monkeypatch.setenv(MARK, name)
    ours = os.getpid()
    return lambda: {pid: what for pid, what in marked_processes(name).items() if pid != ours}


def spec_with(*changes):
    """The example with changes, for a busy machine."""
    text = EXAMPLE.read_text()
    for old, new in (*ON_A_BUSY_MACHINE, *changes):
        assert old in text
        text = text.replace(old, new)
    return parse(text, CampaignSpec, EXAMPLE)


def trials(out):
    with ResultStore.read(CampaignDirectory(out)) as store:
        results = store.results()
        return results, {record.trial: store.trajectory(record) for record in results.trials}


def test_two_planners_have_the_expected_outcomes_and_leave_no_process(tmp_path, mark):
    spec = spec_with()
    out = tmp_path / "out"
    run_campaign(spec, out, chosen_executor(spec, out), selection=TrialSelection(worlds=1))
    assert mark() == {}
    results, recordings = trials(out)
    outcomes = {record.planner: record.outcome for record in results.trials}
    assert outcomes == {"straight": Outcome.COLLIDED, "fgm": Outcome.REACHED}
    assert results.invalid_attempts == ()
    # This package's planner has no costmap.
    assert [notice.partition(",")[0] for notice in results.notices] == [
        "costmap check", "clearing of costmaps", "check of the goal tolerance", "local plans",
        "recoveries",
    ]  # fmt: skip
    for record in results.trials:
        recording = recordings[record.trial]
        assert len(recording.series["odom"]) == len(recording.time_s)
        # Odometry of this simulator is the truth, some periods old on a busy machine.
        odometry, driven = recording.series["odom"][:, None, :2], recording.pose[None, :, :2]
        away = np.abs(odometry - driven).max(axis=2).min(axis=1).max()
        assert away < 1.0 * 2 * spec.control_period_s
        assert record.metrics["global_plans"] == 1
        assert math.isclose(record.metrics["global_plan_m"], 6.0, abs_tol=0.3)
        assert record.metrics["cycle_mean_s"] > 0.0
        assert math.isnan(record.metrics["recoveries"])
        assert 0.0 < record.metrics["real_time_factor"] < 2.5
        assert np.isfinite(recording.command[1:]).any()
    assert_replays(out, mark)


def assert_replays(out, mark):
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    command = [sys.executable, "-m", "gz_testauto.cli.main", "replay", str(out), "0", "straight"]
    asked = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False
    )
    assert asked.returncode == 2
    assert "launch file " in asked.stderr and "use --trust" in asked.stderr
    command.append("--trust")
    ran = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert ran.returncode == 0, ran
    assert re.search(r"^(the outcome is equal$|identical to the stored trial)", ran.stdout, re.M)
    kept = Path(re.search(r"^the output of the stack is in (.*)$", ran.stderr, re.M)[1])
    assert [path.name for path in (kept / "logs").iterdir()] == ["world_0000--straight--0"]
    shutil.rmtree(kept)
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before
    assert mark() == {}
    refused = subprocess.run([*command, "--gui"], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "stack.max_real_time_factor" in refused.stderr


def test_a_missing_launch_file_is_rejected_before_any_process_starts():
    spec = spec_with(("file: planner.launch", "file: planer.launch"))
    with pytest.raises(SpecError, match=r"unknown launch file .*did you mean 'planner.launch'"):
        check_launches(spec)


def test_a_missing_package_is_rejected_with_the_remedy():
    spec = spec_with(("package: gz_testauto\n    file: planner", "package: nowhere\n    file: p"))
    with pytest.raises(SpecError, match=r"'nowhere' was not found"):
        check_launches(spec)


def test_an_undeclared_launch_argument_is_rejected():
    spec = spec_with(("{plugin: fgm}", "{plugn: fgm}"))
    with pytest.raises(SpecError, match=r"planners\[1\].*'plugn'; did you mean 'plugin'"):
        check_launches(spec)


def masters(processes):
    """The ports of the roscores among them."""
    return {what.split("-p ")[1] for what in processes.values() if "roscore -p" in what}


VICTIMS = (
    # the process that is killed, and the start of the cause
    ("__name:=simulator", "stack.simulator (gz_testauto/simulator.launch)"),
    ("__name:=planner", "stack.navigation (gz_testauto/planner.launch)"),
    ("rosmaster", "roscore"),
)


class Killer(threading.Thread):
    """Kills one process of every attempt, in the middle of it."""

    def __init__(self, processes, victims):
        super().__init__(daemon=True)
        self.processes, self.victims = processes, list(victims)
        self.killed = []

    def run(self):
        seen = set()
        while self.victims:
            driving = {pid for pid, what in self.processes().items() if "__name:=planner" in what}
            if driving - seen:
                seen |= driving
                time.sleep(4.0)  # it is being driven, or about to be
                pid = self.find(self.victims[0])
                if pid is not None:
                    os.kill(pid, signal.SIGKILL)
                    self.killed.append(self.victims.pop(0))
            time.sleep(0.1)

    def find(self, what):
        for pid, command in self.processes().items():
            if what in command and "subreaper.py" not in command and "roslaunch" not in command:
                return pid
        return None


def test_a_killed_process_costs_one_attempt_with_its_cause(tmp_path, mark):
    spec = spec_with(
        ("run: fresh", "run: warm"),
        ("limits: {", "limits: {max_attempts: 6, "),
        ("count: 2\n", "count: 1\n"),
    )
    out = tmp_path / "out"
    killer = Killer(mark, [what for what, _ in VICTIMS])
    killer.start()
    fgm = TrialSelection(planners=("fgm",))
    results = run_campaign(spec, out, chosen_executor(spec, out), selection=fgm)
    assert killer.killed == [what for what, _ in VICTIMS]
    causes = [attempt.cause for attempt in results.invalid_attempts]
    assert [cause[: len(begin)] for cause, (_, begin) in zip(causes, VICTIMS)] == [
        begin for _, begin in VICTIMS
    ], causes
    assert [(record.outcome, record.attempts) for record in results.trials] == [
        (Outcome.REACHED, 4)
    ]
    assert mark() == {}


def test_a_killed_runner_leaves_no_process_and_its_campaign_can_be_continued(tmp_path, mark):
    file = tmp_path / "campaign.yaml"
    text = EXAMPLE.read_text().replace("../worlds", str(CONFIG.parent / "worlds"))
    for old, new in ON_A_BUSY_MACHINE:
        text = text.replace(old, new)
    file.write_text(text)
    spec = load(file, CampaignSpec)
    out = tmp_path / "out"
    command = [sys.executable, "-m", "gz_testauto.cli.main", "run", str(file)]
    runner = subprocess.Popen([*command, "--out", str(out), "--workers", "2"])
    try:
        await_true(lambda: len(masters(mark())) == 2, "two masters, one of each worker", 180.0)
        await_true(lambda: "__name:=planner" in " ".join(mark().values()), "a navigation", 180.0)
        time.sleep(3.0)
    finally:
        runner.kill()
        runner.wait(60)
    await_true(lambda: mark() == {}, "every process to end")
    with ResultStore.read(CampaignDirectory(out)) as store:
        finished = {record.trial for record in store.results().trials}
    results = run_campaign(
        spec, out, chosen_executor(spec, out), selection=TrialSelection(worlds=1), resume=True
    )
    assert {record.trial for record in results.trials} == finished | {0, 1}
    assert results.invalid_attempts == ()
    assert mark() == {}


def test_a_warm_run_has_the_outcomes_of_a_fresh_one_on_the_same_master(tmp_path, mark):
    spec = spec_with(
        ("run: fresh", "run: warm"),
        (
            "  max_real_time_factor",
            "  metrics:\n"
            "    - {name: planned_s, topic: /planner/cycle_time, field: wall_time, reduce: mean}\n"
            "    - {name: never_heard, topic: /nobody, field: data}\n"
            "  bag: {topics: [/odom, /cmd_vel], when: failed}\n"
            "  max_real_time_factor",
        ),
    )
    out = tmp_path / "out"
    run_campaign(spec, out, chosen_executor(spec, out))
    results, recordings = trials(out)
    collided, reached = Outcome.COLLIDED, Outcome.REACHED
    assert [record.outcome for record in results.trials] == [collided, reached] * 2
    assert results.invalid_attempts == ()
    assert [path.name for path in (out / "logs").iterdir()] == ["world_0000--straight--0"]
    logs = CampaignDirectory(out).log_directories()
    assert logs.keys() == {Path(record.trajectory).stem for record in results.trials}
    assert set(logs.values()) == {out / "logs" / "world_0000--straight--0"}
    for recording in recordings.values():
        plan = recording.series["global_plans"]
        assert plan[0, 0] >= 0.0
        assert np.hypot(*(plan[-1, 1:] - plan[0, 1:])) > 5.0  # meters
    assert sorted(path.name for path in (out / "bags").iterdir()) == [
        "world_0000--straight--0.bag",
        "world_0001--straight--0.bag",
    ]
    for record in results.trials:
        assert math.isclose(record.metrics["planned_s"], record.metrics["cycle_mean_s"])
        assert math.isnan(record.metrics["never_heard"])
    assert [metric.name for metric in results.declared][-2:] == ["planned_s", "never_heard"]
    page = io.StringIO()
    print_report(analyze(results), Console(width=WIDTH, file=page))
    assert "planned" in page.getvalue()
    assert mark() == {}


def test_a_missing_message_field_stops_the_campaign_with_the_existing_fields(tmp_path, mark):
    metric = "{name: x, topic: /odom, field: pose.pose.positon.x}"
    spec = spec_with(("  max_real_time_factor", f"  metrics: [{metric}]\n  max_real_time_factor"))
    out = tmp_path / "out"
    with pytest.raises(SpecError, match=r"/odom: .*no field 'positon'. use one of: position"):
        run_campaign(spec, out, chosen_executor(spec, out))
    assert mark() == {}


def test_a_trial_with_a_gap_in_the_ground_truth_is_invalid(tmp_path, mark):
    spec = spec_with(
        ("max_truth_gap_s: 20.0", "max_truth_gap_s: 0.01"),
        ("limits: {", "limits: {max_attempts: 1, "),
    )
    out = tmp_path / "out"
    part = TrialSelection(worlds=1, planners=("straight",))
    with pytest.raises(LostTrialsError, match=r"more than stack\.max_truth_gap_s = 0\.01"):
        run_campaign(spec, out, chosen_executor(spec, out), selection=part)


@pytest.mark.parametrize(
    ("was", "mistake", "says"),
    [
        (
            "global_plan: [/planner/plan]",
            "scan: /front/scan\n    odom: /odometry/filtered",
            "set stack.names.odom to the topic of the odometry; and no message on /front/scan; "
            "other topics of sensor_msgs/LaserScan: /scan; ",
        ),
        (
            'robot_name: "{robot}"',
            "robot_name: burger",
            "no model 'robot' in the world; other models than the world file's: burger; ",
        ),
    ],
)
def test_a_missing_name_is_reported_early_with_the_existing_names(
    tmp_path, mark, was, mistake, says
):
    spec = spec_with(
        (was, mistake),
        ("min_real_time_factor: 0.02", "start_timeout_s: 40"),
    )
    out = tmp_path / "out"
    part = TrialSelection(worlds=1, planners=("straight",))
    with pytest.raises(LostTrialsError, match="the attempt at") as lost:
        run_campaign(spec, out, chosen_executor(spec, out), selection=part)
    assert says in lost.value.full
    assert int(re.search(r"after (\d+) s", lost.value.full).group(1)) < 35
    assert mark() == {}


def test_a_launch_file_that_disables_simulated_time_is_named(tmp_path, mark):
    launch = tmp_path / "wall_time.launch"
    launch.write_text('<launch><param name="/use_sim_time" value="false"/></launch>')
    spec = spec_with(
        ("  names:\n", f"  robot: {{file: {launch}}}\n  names:\n"),
        ("limits: {", "limits: {max_attempts: 1, "),
    )
    out = tmp_path / "out"
    part = TrialSelection(worlds=1, planners=("straight",))
    with pytest.raises(LostTrialsError) as lost:
        run_campaign(spec, out, chosen_executor(spec, out), selection=part)
    assert f"stack.robot ({launch}) has set /use_sim_time to false" in lost.value.full
    assert mark() == {}


def test_commands_without_ros_reject_a_stack_with_the_remedy():
    with pytest.raises(SpecError, match="gz_testauto run"):
        LockstepExecutor(SimpleNamespace(spec=spec_with()), lambda campaign: None)
