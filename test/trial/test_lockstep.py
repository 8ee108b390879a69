"""Complete trials in the kinematic simulator, with generated worlds, planners and results."""

import dataclasses
import math
import re

import numpy as np
import pytest
from scripted import Ahead, short_recording
from threadpoolctl import threadpool_info, threadpool_limits

from gz_testauto.analysis.repeatability import compare_recordings
from gz_testauto.base.errors import LostTrialsError, SimulatorError, SpecError
from gz_testauto.base.observation import Twist2D
from gz_testauto.base.pose import wrap_angle
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.trial_runner import TrialRunner
from gz_testauto.planners import PLANNERS
from gz_testauto.planners.interface import LocalPlanner, PlannerAborted
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore
from gz_testauto.simulators.kinematic import KinematicSimulator
from gz_testauto.spec.campaign import BuiltinPlannerSpec, LimitsSpec
from gz_testauto.spec.localization import LocalizationSpec
from gz_testauto.spec.model import PoseSpec
from gz_testauto.trial.actors import TrialActors
from gz_testauto.trial.lockstep import LockstepExecutor
from gz_testauto.trial.outcome import Outcome
from gz_testauto.trial.plan import TrialSelection
from gz_testauto.trial.testbed import bed_of, read_body


class Scripted(LocalPlanner):
    """A planner that drives forward for five cycles, and then calls ``self.end``."""

    def begin(self, task):
        self.cycles = 0

    def plan(self, observation):
        self.cycles += 1
        if self.cycles > 5:
            return self.end()
        return Twist2D(0.2, 0.0)


class Aborts(Scripted):
    def end(self):
        raise PlannerAborted("walled in")


class Crashes(Scripted):
    def end(self):
        return [][1]


class CommandsNothingSane(Scripted):
    def end(self):
        return Twist2D(float("nan"), 0.0)


class DrivesOn(Scripted):
    def end(self):
        return Twist2D(0.2, 0.0)


class StandsStill(Scripted):
    def end(self):
        return Twist2D(0.0, 0.0)


class NotesBlasThreads(Scripted):
    seen = ()

    def end(self):
        NotesBlasThreads.seen = blas_threads()
        raise PlannerAborted("noted")


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


for planner in (Aborts, Crashes, CommandsNothingSane, DrivesOn, StandsStill, NotesBlasThreads):
    PLANNERS.register(planner.__name__, planner)


@pytest.fixture
def drive(smoke, tmp_path):
    def start(*planners, simulator=KinematicSimulator, **options):
        entries = tuple(BuiltinPlannerSpec(name=name, plugin=name) for name in planners)
        spec = smoke.model_copy(update={"planners": entries, **options.pop("spec", {})})
        return run_campaign(
            spec,
            options.pop("out", tmp_path / "out"),
            lambda campaign: LockstepExecutor(campaign, lambda _: simulator()),
            **options,
        )

    return start


@pytest.mark.slow
def test_straight_collides_and_fgm_reaches_its_goals(drive):
    results = drive("straight", "fgm")
    by_planner = {
        name: [record.outcome for record in results.of(name)] for name in ("straight", "fgm")
    }
    assert Outcome.COLLIDED in by_planner["straight"]
    assert by_planner["fgm"] == [Outcome.REACHED, Outcome.REACHED]
    fgm = results.of("fgm")[0]
    assert 0.9 < fgm.metrics["spl"] <= 1.0
    assert fgm.metrics["clearance_min_m"] > 0.0
    assert fgm.metrics["cycle_mean_s"] > 0.0
    assert results.of("straight")[0].metrics["spl"] == 0.0


@pytest.mark.parametrize(
    ("planner", "says"),
    [
        ("Aborts", "walled in"),
        ("Crashes", "IndexError"),
        ("CommandsNothingSane", "nan, 0.0"),
    ],
)
def test_planner_that_fails_has_the_outcome_planner_aborted(drive, planner, says):
    record = drive(planner, selection=TrialSelection(worlds=1)).trials[0]
    assert record.outcome is Outcome.PLANNER_ABORTED
    assert says in record.detail
    assert record.metrics["cycle_mean_s"] > 0.0


class Heading(LocalPlanner):
    """A planner that drives to its goal, and records its tasks."""

    tasks = ()

    def begin(self, task):
        Heading.tasks += (task,)
        self.goal = task.goal

    def plan(self, observation):
        pose = observation.pose
        bearing = math.atan2(self.goal.y_m - pose.y_m, self.goal.x_m - pose.x_m)
        turn = wrap_angle(bearing - pose.yaw_rad)
        return Twist2D(0.5 if abs(turn) < 0.3 else 0.0, max(-1.0, min(1.0, 2.0 * turn)))


PLANNERS.register("Heading", Heading)


def test_several_goals_are_visited_in_order(drive, smoke, tmp_path):
    Heading.tasks = ()
    # along the side of the room at the start, back, and along it again: without obstacles
    start = smoke.robot.start
    near, far = (start.x_m, start.y_m), (start.x_m, start.y_m + 1.5)
    goal = smoke.goal.model_copy(
        update={
            "x_m": far[0],
            "y_m": far[1],
            "tolerance_m": 0.2,
            "via": [PoseSpec(x_m=x, y_m=y) for x, y in (far, near)],
        }
    )
    record = drive("Heading", spec={"goal": goal}, selection=TrialSelection(worlds=1)).trials[0]
    assert record.outcome is Outcome.REACHED, record.detail
    assert record.detail.endswith("the last of 3 goals")
    assert [tuple(task.goal[:2]) for task in Heading.tasks] == [far, near, far]
    assert [tuple(task.waypoints_m[0]) for task in Heading.tasks] == [near, far, near]
    with ResultStore.read(CampaignDirectory(tmp_path / "out")) as store:
        recording = store.trajectory(record)
        shortest_m = store.worlds()[0].shortest_path_m
    for reached_s, place in zip(recording.goal_times_s, (far, near, far)):
        at = recording.pose[np.searchsorted(recording.time_s, reached_s), :2]
        assert np.hypot(*(at - place)) <= 0.2
    assert (np.diff(recording.goal_times_s) > 0).all()
    assert recording.goal_times_s[-1] == recording.time_s[-1]
    assert len(recording.cycle_time_s) == len(recording.time_s) - 1
    assert shortest_m == pytest.approx(4.5, abs=1e-6)  # through all of them
    assert record.metrics["spl"] == pytest.approx(min(1.0, 4.5 / record.metrics["distance_m"]))


class BehindSpec(LocalizationSpec):
    """The specification of an estimate 0.3 m behind the true position, along x."""

    estimate: str = "behind"

    @property
    def is_true(self):
        return False

    def estimator(self, inputs):
        assert inputs.robot == "robot" and inputs.wheel_separation_m > 0.0 and inputs.has_imu
        return Ahead(-0.3)


class NotesPoses(Scripted):
    poses, task = (), None

    def begin(self, task):
        super().begin(task)
        NotesPoses.poses, NotesPoses.task = (), task

    def plan(self, observation):
        NotesPoses.poses += (observation.pose,)
        return super().plan(observation)

    def end(self):
        raise PlannerAborted("noted")


PLANNERS.register("NotesPoses", NotesPoses)


def test_planner_receives_the_estimated_pose_and_its_own_tolerance(drive, tmp_path):
    localization = BehindSpec(arrival_tolerance_m=0.2)
    record = drive(
        "NotesPoses", spec={"localization": localization}, selection=TrialSelection(worlds=1)
    ).trials[0]
    with ResultStore.read(CampaignDirectory(tmp_path / "out")) as store:
        recording = store.trajectory(record)
    received = np.array(NotesPoses.poses)
    assert received[:, 0] == pytest.approx(recording.pose[: len(received), 0] - 0.3)
    assert received[:, 1:] == pytest.approx(recording.pose[: len(received), 1:])
    assert NotesPoses.task.goal_tolerance_m == 0.2
    assert record.metrics["localization_error_m"] == pytest.approx(0.3)


def test_planner_that_aborts_before_the_last_goal_has_not_reached_it(drive, smoke, tmp_path):
    start = smoke.robot.start
    goal = smoke.goal.model_copy(update={"via": [PoseSpec(x_m=start.x_m, y_m=start.y_m)]})
    record = drive("Aborts", spec={"goal": goal}, selection=TrialSelection(worlds=1)).trials[0]
    assert record.outcome is Outcome.PLANNER_ABORTED
    assert record.detail == "walled in, on the path to goal 2 of 2"
    assert record.metrics["spl"] == 0.0
    with ResultStore.read(CampaignDirectory(tmp_path / "out")) as store:
        times_s = store.trajectory(record).goal_times_s
    assert times_s[0] == 0.0 and math.isnan(times_s[1])


def test_trial_with_one_goal_has_no_goal_times(drive, tmp_path):
    record = drive("Aborts", selection=TrialSelection(worlds=1)).trials[0]
    assert record.detail == "walled in"
    with np.load(tmp_path / "out" / "trajectories" / record.trajectory) as arrays:
        assert "goal_times_s" not in arrays.files


def test_robot_that_does_not_move_is_stuck(drive):
    record = drive("StandsStill", selection=TrialSelection(worlds=1)).trials[0]
    assert record.outcome is Outcome.STUCK
    assert "commanded" not in record.detail


def test_detail_of_stuck_robot_states_the_commanded_distance(drive, monkeypatch):
    kinematic = KinematicSimulator.load

    def load(self, scene):
        simulation = kinematic(self, scene)
        simulation.drive = lambda command, robot="robot": None  # its wheels do not move it
        return simulation

    monkeypatch.setattr(KinematicSimulator, "load", load)
    record = drive("DrivesOn", selection=TrialSelection(worlds=1)).trials[0]
    assert record.outcome is Outcome.STUCK
    assert "; it drove 0.00 m in this time, but 2.00 m were commanded" in record.detail


def test_difference_between_two_recordings_is_found_and_measured():
    first = short_recording()
    pose = first.pose.copy()
    pose[12:, 1] += 0.25
    agreement = compare_recordings(first, dataclasses.replace(first, pose=pose))
    assert not agreement.identical
    assert agreement.first_difference_s == pytest.approx(1.2)
    assert agreement.deviation_m == pytest.approx(0.25)
    last_bit = first.pose.copy()
    last_bit[5, 0] = np.nextafter(last_bit[5, 0], 2.0)
    assert not compare_recordings(first, dataclasses.replace(first, pose=last_bit)).identical


def test_linear_algebra_uses_one_thread_only_while_trials_run(drive):
    with threadpool_limits(limits=2, user_api="blas"):
        before = blas_threads()
        assert set(before) == {2}
        drive("NotesBlasThreads")
        assert NotesBlasThreads.seen == [1] * len(before)
        assert blas_threads() == before


class Unstartable(KinematicSimulator):
    def __init__(self):
        raise AssertionError("a simulator was started before the input was checked")


def test_unknown_planner_parameter_is_rejected_before_a_simulator_starts(drive, smoke):
    planners = (BuiltinPlannerSpec(name="fgm", plugin="fgm", parameters={"alhpa": 1.0}),)
    with pytest.raises(SpecError, match="'alhpa'"):
        drive(simulator=Unstartable, spec={"planners": planners})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "says"),
    [
        ({"x_m": 5.1}, "the goal .* is inside"),
        ({"via": [PoseSpec(x_m=5.1, y_m=0.0)]}, "goal 1 of 2 .* is inside"),
        ({"x_m": 99.0}, "the static map has no path"),
    ],
)
def test_unreachable_goal_is_rejected_before_a_simulator_starts(
    drive, smoke, place, says, tmp_path
):
    ready = tmp_path / "ready"
    ready.mkdir()
    (ready / "a.world").write_bytes(smoke.worlds.base.read_bytes())
    goal = smoke.goal.model_copy(update=place)
    worlds = type(smoke.worlds)(directory=ready)
    with pytest.raises(SpecError, match=says):
        drive("fgm", simulator=Unstartable, spec={"goal": goal, "worlds": worlds})


def test_error_for_a_start_inside_an_obstacle_names_the_world_and_the_obstacle(
    drive, smoke, tmp_path
):
    ready = tmp_path / "ready"
    ready.mkdir()
    crate = (
        '<model name="crate"><static>1</static><pose>-2.6 0 0.5 0 0 0</pose><link name="l">'
        '<collision name="c"><geometry><box><size>1 1 1</size></box></geometry></collision>'
        "</link></model></world>"
    )
    world = smoke.worlds.base.read_text()
    (ready / "clear.world").write_text(world)
    (ready / "shut.world").write_text(world.replace("</world>", crate))
    worlds = type(smoke.worlds)(directory=ready)
    with pytest.raises(SpecError, match=r"world shut .*start inside crate at \(-3, 0\)"):
        drive("fgm", simulator=Unstartable, spec={"worlds": worlds})


@pytest.mark.parametrize("part", ["drive", "lidar"])
def test_model_without_drive_or_lidar_is_rejected(drive, smoke, tmp_path, part):
    text = smoke.robot.model.read_text()
    model = tmp_path / "model.sdf"
    if part == "drive":
        text = re.sub(r"<plugin.*?</plugin>", "", text, flags=re.DOTALL)
    else:
        text = text.replace('type="ray"', 'type="sonar"')
    model.write_text(text)
    robot = smoke.robot.model_copy(update={"model": model})
    with pytest.raises(SpecError, match=rf"no (supported )?{part}"):
        drive("fgm", simulator=Unstartable, spec={"robot": robot})


def test_world_that_contains_the_robot_is_rejected(drive, smoke, tmp_path):
    ready = tmp_path / "ready"
    ready.mkdir()
    world = smoke.worlds.base.read_text()
    saved = world.replace("</world>", '<model name="robot"><link name="l"/></model></world>')
    (ready / "saved.world").write_text(saved)
    worlds = type(smoke.worlds)(directory=ready)
    with pytest.raises(SpecError, match="already named 'robot'"):
        drive("fgm", simulator=Unstartable, spec={"worlds": worlds})


def test_control_period_between_two_physics_steps_is_rejected(drive):
    with pytest.raises(SpecError, match=r"control_period_s is 0\.1234.* max_step_size"):
        drive("fgm", simulator=Unstartable, spec={"control_period_s": 0.1234})


def test_control_period_between_two_steps_of_the_simulator_is_rejected_with_a_remedy(smoke):
    """The world has steps of 1 ms, but ``embedded`` has steps of 5 ms."""
    spec = smoke.model_copy(update={"control_period_s": 0.033})
    says = r"0\.033, but the physics steps of 'embedded' are 0\.005 s; .* such as 0\.035"
    with TrialRunner(spec, "embedded") as runner, pytest.raises(SimulatorError, match=says):
        runner.run("world_0000", "fgm")
    assert runner.simulated == 0
    spec = smoke.model_copy(update={"control_period_s": 0.035})
    with TrialRunner(spec, "embedded") as runner:
        assert runner.run("world_0000", "fgm").outcome.valid


@pytest.fixture
def bed(smoke):
    return bed_of(smoke, read_body(smoke))


class ClosedAtTheSecondTime(KinematicSimulator):
    """A simulator whose first closing is interrupted by Ctrl-C."""

    attempts = 0

    def _close(self):
        self.attempts += 1
        if self.attempts == 1:
            raise KeyboardInterrupt
        super()._close()


def test_interrupted_closing_of_the_simulator_is_finished_by_the_next_call(bed):
    simulator = ClosedAtTheSecondTime()
    executor = LockstepExecutor(bed, lambda _: simulator)
    executor.open()
    with pytest.raises(KeyboardInterrupt):
        executor.close()
    for _ in range(2):
        executor.close()
    assert simulator.attempts == 2
    with pytest.raises(SimulatorError, match="not running"):
        executor.identity  # noqa: B018


class FailsToClose(KinematicSimulator):
    attempts = 0

    def _close(self):
        self.attempts += 1
        raise SimulatorError("cannot be closed")


def test_simulator_that_cannot_be_closed_is_closed_once(bed):
    simulator = FailsToClose()
    executor = LockstepExecutor(bed, lambda _: simulator)
    executor.open()
    with pytest.raises(SimulatorError, match="cannot be closed"):
        executor.close()
    executor.close()
    assert simulator.attempts == 1


class FailsToLoad(KinematicSimulator):
    def _load(self, scene):
        raise SimulatorError("cannot be loaded")


def test_actors_are_closed_if_the_scene_cannot_be_loaded(drive, monkeypatch):
    closed = []
    monkeypatch.setattr(TrialActors, "close", lambda self: closed.append(self))
    with pytest.raises(LostTrialsError, match="cannot be loaded"):
        drive("straight", simulator=FailsToLoad, spec={"limits": LimitsSpec(max_attempts=1)})
    assert len(closed) == 1
