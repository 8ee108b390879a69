import threading
import time

import pytest

from gz_testauto.actors.hook import Hook, HookResults
from gz_testauto.base.errors import SimulatorError, UnstablePhysicsError
from gz_testauto.base.observation import Contact, ModelState, Snapshot, Twist2D
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.base.resources import share_directory
from gz_testauto.ros.simulator.clock import SceneClock
from gz_testauto.ros.simulator.gazebo_services import GazeboServices
from gz_testauto.ros.simulator.loop import SimulationLoop
from gz_testauto.ros.simulator.step_scheduler import LockstepScheduler, RealTimeScheduler
from gz_testauto.sdf.robot import read_robot
from gz_testauto.simulators.interface import NamedModel, Scene, Simulation, Simulator
from gz_testauto.trial.actors import TrialActors

FOREVER_S = 3600.0
PATIENCE_S = 60.0
ROBOT = read_robot(share_directory() / "models" / "wheelchair", "robot")


class Belt(Simulation):
    """A robot on a line that follows commands exactly. A step raises if ``dead`` is set."""

    def __init__(self):
        super().__init__(step_size_s=0.1, robot=ROBOT)
        self.time_s, self.x_m, self.speed_mps = 0.0, 0.0, 0.0
        self.threads = set()
        self.contacts = ()
        self.dead = self.diverged = False

    def _snapshot(self):
        self.threads.add(threading.get_ident())
        contacts, self.contacts = self.contacts, ()
        state = ModelState(Pose((self.x_m, 0.0, 0.0)))
        return Snapshot(self.time_s, {"robot": state}, {}, contacts=contacts)

    def _drive(self, command):
        self.speed_mps = command.linear_mps

    def _step(self, count):
        if self.diverged:
            raise UnstablePhysicsError("the belt diverged")
        if self.dead:
            raise SimulatorError("the belt tore")
        self.time_s += count * self.step_size_s
        self.x_m += self.speed_mps * count * self.step_size_s

    def _model_names(self):
        return {"robot"}

    def _spawn(self, models):
        raise NotImplementedError

    def _delete(self, names):
        assert list(names) == ["robot"]

    def _set_states(self, states):
        self.x_m = states["robot"].pose.position[0]

    def _save_world(self, path):
        raise NotImplementedError


class BeltSimulator(Simulator):
    name, version = "belt", "1"

    def _load(self, scene):
        self.simulation = Belt()
        return self.simulation

    def _close(self):
        pass


class LoopThread:
    """A loop in a separate thread, with the periods that it published."""

    def __init__(self, scheduler):
        self.periods, self.failures, self.scenes = [], [], []
        self.shown = threading.Condition()
        self.simulator = BeltSimulator()
        self.scheduler = scheduler
        self.loop = SimulationLoop(
            self.simulator, scheduler, 0.1, self._scene, self._period, self.failures.append
        )
        self.thread = threading.Thread(target=self.loop.run)
        self.thread.start()

    def _scene(self, scene, period):
        self.scenes.append(period)

    def _period(self, period):
        with self.shown:
            self.periods.append(period)
            self.shown.notify_all()

    def load(self):
        self.loop.perform(lambda: self.loop.load(Scene("any.world")))

    def await_periods(self, count):
        with self.shown:
            assert self.shown.wait_for(lambda: len(self.periods) >= count, PATIENCE_S)

    def waits(self):
        """Return true if no period starts without a command."""
        due_s = self.loop.perform(self.scheduler.wait_until)
        return due_s > time.monotonic() + FOREVER_S / 2


@pytest.fixture
def running(request):
    running = LoopThread(request.param)
    yield running
    running.loop.end()
    running.thread.join(PATIENCE_S)
    assert not running.thread.is_alive()


def held(command_timeout_s=FOREVER_S, start_timeout_s=FOREVER_S):
    return pytest.mark.parametrize(
        "running", [LockstepScheduler(0.1, command_timeout_s, start_timeout_s)], indirect=True
    )


free = pytest.mark.parametrize("running", [RealTimeScheduler(float("inf"), 0.1)], indirect=True)


@held()
def test_held_time_advances_by_one_period_per_command(running):
    running.load()
    assert running.waits()
    for count in (1, 2, 3):
        running.loop.command(Twist2D(1.0, 0.0))
        running.await_periods(count)
        assert running.waits()
        assert len(running.periods) == count
    assert [p.snapshot.time_s for p in running.periods] == pytest.approx([0.1, 0.2, 0.3])
    assert running.periods[-1].snapshot.models["robot"].pose.position[0] == pytest.approx(0.3)


@held()
def test_a_command_applies_in_the_next_period_and_is_part_of_its_snapshot(running):
    running.load()
    running.loop.command(Twist2D(0.5, 0.1))
    running.await_periods(1)
    assert running.scenes[0].command is None
    assert running.periods[0].command == Twist2D(0.5, 0.1)
    assert running.periods[0].late is False
    assert running.scenes[0].held
    assert running.periods[0].held


@held()
def test_next_period_has_the_poses_at_which_models_were_placed(running):
    running.load()
    moved = ModelState(Pose((7.0, 0.0, 0.0)))
    running.loop.perform(lambda: running.loop.set_states({"robot": moved}))
    for count in (1, 2):
        running.loop.command(Twist2D(0.5, 0.0))
        running.await_periods(count)
    assert running.periods[0].placed == {"robot": moved.pose}
    assert running.periods[0].snapshot.models["robot"].pose.position[0] == pytest.approx(7.05)
    assert running.periods[1].placed == {}
    running.loop.perform(lambda: running.loop.set_states({"robot": moved}))
    running.load()
    running.loop.command(Twist2D(0.5, 0.0))
    running.await_periods(3)
    assert running.periods[2].placed == {}


@held(command_timeout_s=0.1, start_timeout_s=0.1)
def test_period_after_a_command_timeout_is_late(running):
    running.load()
    running.await_periods(2)
    assert [period.late for period in running.periods[:2]] == [True, False]


@held()
def test_time_continues_after_the_robot_is_deleted(running):
    running.load()
    running.loop.command(Twist2D(0.5, 0.0))
    running.await_periods(1)
    running.loop.perform(lambda: running.loop.simulation.delete(["robot"]))
    running.loop.command(Twist2D(0.5, 0.0))
    running.await_periods(2)
    assert running.failures == []
    assert running.periods[1].snapshot.time_s == pytest.approx(0.2)


@free
def test_periods_without_lockstep_are_not_held(running):
    running.load()
    running.await_periods(1)
    assert not running.scenes[0].held
    assert not running.periods[0].held


@held()
def test_a_command_for_the_previous_scene_is_ignored(running):
    running.load()
    entered, leave = threading.Event(), threading.Event()

    def slow_load(scene):
        entered.set()
        leave.wait(PATIENCE_S)
        return Belt()

    running.simulator.load = slow_load
    loading = threading.Thread(target=running.load)
    loading.start()
    assert entered.wait(PATIENCE_S)
    running.loop.command(Twist2D(1.0, 0.0))
    leave.set()
    loading.join(PATIENCE_S)
    assert len(running.scenes) == 2
    assert running.waits()
    assert not running.periods


@pytest.mark.slow
@free
def test_the_simulation_is_used_by_one_thread_only(running):
    running.load()
    threads = [
        threading.Thread(target=running.loop.perform, args=(running.loop.snapshot,))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    running.await_periods(10)
    assert running.simulator.simulation.threads == {running.thread.ident}


@free
def test_calls_are_executed_while_time_is_unlimited(running):
    running.load()
    running.await_periods(10)
    done = threading.Event()
    threading.Thread(target=running.loop.perform, args=(done.set,), daemon=True).start()
    assert done.wait(PATIENCE_S)


@free
def test_time_does_not_advance_while_paused(running):
    running.load()

    def pause():
        running.loop.paused = True

    running.loop.perform(pause)
    count = len(running.periods)
    time.sleep(0.1)
    assert len(running.periods) == count


@held()
def test_contacts_of_a_requested_snapshot_are_repeated_in_the_next_period(running):
    running.load()
    touch = Contact(0.0, "robot::l::c", "wall::l::c")
    running.simulator.simulation.contacts = (touch,)
    assert running.loop.perform(running.loop.snapshot).contacts == (touch,)
    running.loop.command(Twist2D())
    running.await_periods(1)
    assert running.periods[0].snapshot.contacts == (touch,)


class Counts(Hook):
    numbers = ("steps",)
    steps = 0

    def before_step(self, context):
        self.steps += 1

    def results(self):
        return HookResults({"steps": 1 / (3 - self.steps)})


@held()
def test_periods_contain_the_numbers_of_hooks_at_their_ends(running):
    actors = TrialActors((Counts("counts"),))
    running.loop.perform(lambda: running.loop.load(Scene("any.world"), actors))
    for count in (1, 2):
        running.loop.command(Twist2D())
        running.await_periods(count)
    found = [period.numbers for period in (*running.scenes, *running.periods)]
    assert found == [{"steps": 1 / 3}, {"steps": 1 / 2}, {"steps": 1.0}]
    running.loop.command(Twist2D())
    deadline = time.monotonic() + PATIENCE_S
    while not running.failures and time.monotonic() < deadline:
        time.sleep(0.01)
    assert "hook 'counts'" in str(running.failures[0])
    assert "ZeroDivisionError" in str(running.failures[0])


@free
def test_a_failed_simulation_is_reported_and_another_can_be_loaded(running):
    running.load()
    running.await_periods(1)
    running.simulator.simulation.dead = True
    deadline = time.monotonic() + PATIENCE_S
    while not running.failures and time.monotonic() < deadline:
        time.sleep(0.01)
    assert [str(error) for error in running.failures] == ["the belt tore"]
    with pytest.raises(SimulatorError, match="has ended: the belt tore; call /gazebo/reset_world"):
        running.loop.perform(running.loop.snapshot)
    running.load()
    running.await_periods(len(running.periods) + 1)


@free
def test_reset_world_loads_the_scene_of_a_failed_simulation_again(running):
    services = GazeboServices(running.loop, SceneClock())
    running.load()
    running.loop.load_again = lambda: running.loop.load(running.loop.scene)
    running.simulator.simulation.dead = True
    deadline = time.monotonic() + PATIENCE_S
    while not running.failures and time.monotonic() < deadline:
        time.sleep(0.01)
    running.loop.perform(lambda: services.reset_world(None))
    running.await_periods(len(running.periods) + 1)
    assert [scene.scene for scene in running.scenes] == [1, 2]


def end_by(running, perform, failure):
    """Load a scene, end its simulation after a call through ``perform``, and await the failure."""
    running.load()
    running.loop.load_again = lambda: running.loop.load(running.loop.scene)
    simulation = running.simulator.simulation
    perform(lambda: setattr(simulation, failure, True))
    deadline = time.monotonic() + PATIENCE_S
    while not running.failures and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(running.failures) == 1


@free
def test_scene_is_loaded_again_if_physics_become_unstable_after_a_change(running):
    running.loop.recovers = True
    end_by(running, running.loop.perform_change, "diverged")
    running.await_periods(len(running.periods) + 1)
    assert str(running.failures[0]) == "the belt diverged"
    assert [scene.scene for scene in running.scenes] == [1, 2]
    running.loop.perform(running.loop.snapshot)


@free
def test_scene_that_another_rejected_scene_has_ended_is_loaded_again(running):
    running.loop.recovers = True
    running.load()
    running.loop.load_again = lambda: running.loop.load(running.loop.scene)
    load, scenes = running.simulator._load, []

    def reject_first(scene):
        scenes.append(scene.world)
        if len(scenes) == 1:
            raise SimulatorError("gzserver does not load it")
        return load(scene)

    running.simulator._load = reject_first
    with pytest.raises(SimulatorError, match="gzserver does not load it"):
        running.loop.perform_change(lambda: running.loop.load(Scene("other.world")))
    running.await_periods(len(running.periods) + 1)
    assert scenes == ["other.world", "any.world"]
    assert "another scene was loaded" in str(running.failures[0])
    running.simulator.simulation.dead = True  # a failure without a rejected scene
    deadline = time.monotonic() + PATIENCE_S
    while not running.loop.has_failed and time.monotonic() < deadline:
        time.sleep(0.01)
    assert scenes == ["other.world", "any.world"]


@free
@pytest.mark.parametrize(
    ("recovers", "method", "failure"),
    [
        (False, "perform_change", "diverged"),
        (True, "perform", "diverged"),
        (True, "perform_change", "dead"),
    ],
)
def test_simulation_ends_in_a_campaign_without_a_change_and_after_another_failure(
    running, recovers, method, failure
):
    running.loop.recovers = recovers
    end_by(running, getattr(running.loop, method), failure)
    assert running.loop.has_failed
    assert [scene.scene for scene in running.scenes] == [1]


@free
def test_failure_to_load_the_scene_again_is_reported(running):
    running.loop.recovers = True

    def load(scene):
        raise OSError("the world is gone")

    def diverge():
        running.simulator.simulation.diverged = True
        running.simulator.load = load

    running.load()
    running.loop.load_again = lambda: running.loop.load(running.loop.scene)
    running.loop.perform_change(diverge)
    deadline = time.monotonic() + PATIENCE_S
    while not running.failures and time.monotonic() < deadline:
        time.sleep(0.01)
    assert "cannot be loaded again: the world is gone" in str(running.failures[0])
    with pytest.raises(SimulatorError, match="the belt diverged"):
        running.loop.perform(running.loop.snapshot)


@held()
def test_a_call_that_ends_the_simulation_is_reported(running):
    running.load()
    with pytest.raises(SimulatorError, match="over: torn"):
        running.loop.perform(
            lambda: running.simulator.simulation.end("torn") or running.loop.snapshot()
        )
    assert running.loop.has_failed
    assert len(running.failures) == 1


@held()
def test_a_scene_that_the_simulator_rejects_does_not_end_the_present_one(running):
    running.load()
    twice = (NamedModel("a", ""), NamedModel("a", ""))
    with pytest.raises(SimulatorError, match="two models"):
        running.loop.perform(lambda: running.loop.load(Scene("other.world", models=twice)))
    with pytest.raises(SimulatorError, match=r"pose is .*nan"):
        scene = Scene("other.world", ROBOT, Pose2D(float("nan"), 0.0))
        running.loop.perform(lambda: running.loop.load(scene))
    running.loop.command(Twist2D(1.0, 0.0))
    running.await_periods(1)
    assert running.loop.scene.world == "any.world"


@free
def test_an_error_of_a_call_is_raised_in_the_caller(running):
    with pytest.raises(ZeroDivisionError):
        running.loop.perform(lambda: 1 / 0)


def test_call_of_a_stopped_loop_raises_an_error():
    running = LoopThread(RealTimeScheduler(1.0, 0.1))
    running.loop.end()
    running.thread.join(PATIENCE_S)
    with pytest.raises(SimulatorError, match="shutting down"):
        running.loop.perform(lambda: None)
