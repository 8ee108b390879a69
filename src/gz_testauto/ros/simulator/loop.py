"""The loop that runs a simulation in one thread, and executes calls between steps.

Only this thread uses the simulation. Service handlers use :meth:`SimulationLoop.perform`.
"""

import dataclasses
import queue
import time
from concurrent.futures import Future, wait
from typing import Any, Callable, Dict, Mapping, Optional, Tuple, TypeVar

from gz_testauto.base.errors import GzTestautoError, SimulatorError, UnstablePhysicsError
from gz_testauto.base.observation import ModelState, Snapshot, Twist2D
from gz_testauto.base.pose import Pose
from gz_testauto.ros.simulator.step_scheduler import StepScheduler
from gz_testauto.simulators.interface import Scene, Simulation, Simulator
from gz_testauto.trial.actors import TrialActors

Result = TypeVar("Result")
NO_ACTORS = TrialActors()
REMEDY = "call /gazebo/reset_world to load the same world again, or ~load_scene"
IDLE_POLL_S = 0.2


@dataclasses.dataclass(frozen=True, eq=False)
class Period:
    """One finished control period, with the snapshot at its end.

    ``late`` is True if the period started without a new command, and ``held`` if time was held for
    it. ``numbers`` are those that hooks have recorded so far. ``placed`` are the poses at which
    models were placed before the period.
    """

    scene: int
    snapshot: Snapshot
    command: Optional[Twist2D] = None
    late: bool = False
    held: bool = False
    numbers: Mapping[str, float] = dataclasses.field(default_factory=dict)
    placed: Mapping[str, Pose] = dataclasses.field(default_factory=dict)


class SimulationLoop:
    def __init__(
        self,
        simulator: Simulator,
        scheduler: StepScheduler,
        period_s: float,
        on_scene: Callable[[Scene, Period], None],
        on_period: Callable[[Period], None],
        on_failure: Callable[[SimulatorError], None],
    ) -> None:
        self.simulator = simulator
        self._scheduler = scheduler
        self._period_s = period_s
        self._on_scene = on_scene
        self._on_period = on_period
        self._on_failure = on_failure
        self._calls: queue.Queue[Tuple[Callable[[], Any], Future[Any]]] = queue.Queue()
        self._simulation: Optional[Simulation] = None
        self._failure: Optional[SimulatorError] = None
        self.load_again: Optional[Callable[[], object]] = None
        """Loads the current scene again. The caller of :meth:`load` sets it."""
        self.recovers = False
        """Load the scene again if its physics became unstable after :meth:`perform_change`, or if
        it ended because the simulator rejected another scene."""
        self._is_changed = self._is_rejected = False
        self._command: Optional[Twist2D] = None
        self._command_epoch = 0
        self._seen_early: Optional[Snapshot] = None
        self._placed_poses: Dict[str, Pose] = {}
        self._has_ended = False
        self.paused = False
        self.scene: Optional[Scene] = None
        self.scene_number = 0
        self._actors = NO_ACTORS

    # Methods that any thread can call.

    def perform(self, call: Callable[[], Result]) -> Result:
        """Run ``call`` on the loop's thread between two steps, wait for it, and return its result.
        Raises ``SimulatorError`` at shutdown."""
        future = self._enqueue(call)
        while not future.done():
            if self._has_ended:
                raise SimulatorError("the simulator is shutting down")
            wait([future], timeout=IDLE_POLL_S)
        return future.result()

    def perform_change(self, call: Callable[[], Result]) -> Result:
        """Run ``call`` as :meth:`perform` does, and record that it can have changed the scene."""

        def change() -> Result:
            self._is_changed = True
            return call()

        return self.perform(change)

    def command(self, command: Twist2D) -> None:
        """Set the velocity command from the next step on, without waiting.

        The command is ignored without a robot, and while a scene is loading.
        """
        epoch = self._command_epoch
        self._enqueue(lambda: self._on_command(command, epoch))

    def end(self) -> None:
        self._has_ended = True

    # Methods that must run on the loop's thread: in a call, or in run().

    @property
    def simulation(self) -> Simulation:
        """The loaded simulation. Raises ``SimulatorError`` if there is none, or it has failed."""
        if self._failure is not None:
            raise SimulatorError(f"the simulation has ended: {self._failure}; {REMEDY}")
        if self._simulation is None:
            raise SimulatorError("no world is loaded; load one with the service ~load_scene")
        return self._simulation

    @property
    def has_failed(self) -> bool:
        return self._failure is not None

    def snapshot(self) -> Snapshot:
        """Return the current snapshot between two steps. Its contacts and IMU samples are also part
        of the snapshot of the next period."""
        snapshot = self.simulation.snapshot()
        self._seen_early = _merge_snapshots(self._seen_early, snapshot)
        return snapshot

    def set_states(self, states: Mapping[str, ModelState]) -> None:
        self.simulation.set_states(states)
        self._placed_poses.update({name: state.pose for name, state in states.items()})

    def load(self, scene: Scene, actors: TrialActors = NO_ACTORS) -> Snapshot:
        """Load a scene, publish its snapshot at time 0, and return it.

        If the simulator rejects the scene before it ends the present scene, the present scene
        continues.
        """
        try:
            simulation = actors.simulation(self.simulator.load(actors.scene(scene)))
            snapshot = simulation.snapshot()
        except Exception:
            actors.close()
            self._is_rejected = True
            raise
        self._actors.close()
        self._actors = actors
        self._command_epoch += 1  # to ignore commands for the previous scene
        self._simulation, self.scene, self._failure = simulation, scene, None
        self._command, self._seen_early, self._placed_poses = None, None, {}
        self._is_changed = self._is_rejected = False
        self.scene_number += 1
        self.paused = False
        self._scheduler.start_scene(time.monotonic())
        first = Period(
            self.scene_number,
            snapshot,
            held=self._scheduler.holds,
            numbers=actors.numbers_so_far(),
        )
        self._on_scene(scene, first)
        return snapshot

    def set_scheduler(self, scheduler: StepScheduler) -> None:
        self._scheduler = scheduler
        self._scheduler.start_scene(time.monotonic())

    def run(self) -> None:
        try:
            while not self._has_ended:
                try:
                    self._iterate()
                except SimulatorError as error:
                    self._fail(error)
        finally:
            self._has_ended = True

    def _check_simulation(self) -> None:
        # A call can have ended the simulation.
        if self._simulation is not None:
            try:
                self.snapshot()
            except SimulatorError as error:
                self._fail(error)

    def _fail(self, error: SimulatorError) -> None:
        self._simulation, self._failure = None, error
        # Without a change, the same scene would fail again and again.
        is_unstable = isinstance(error, UnstablePhysicsError) and self._is_changed
        if self.recovers and (is_unstable or self._is_rejected) and self.load_again is not None:
            try:
                self.load_again()
            except (GzTestautoError, OSError, ValueError) as load_error:
                self._failure = SimulatorError(
                    f"{error}; the scene cannot be loaded again: {load_error}"
                )
        self._on_failure(self._failure or error)

    def _iterate(self) -> None:
        """Execute one call; without a call, step if the next period is due."""
        is_idle = self._simulation is None or self.paused
        now_s = time.monotonic()
        due_s = now_s + IDLE_POLL_S if is_idle else self._scheduler.wait_until()
        try:
            if due_s > now_s:
                call, future = self._calls.get(timeout=min(due_s - now_s, IDLE_POLL_S))
            else:
                call, future = self._calls.get_nowait()
        except queue.Empty:
            if not is_idle and time.monotonic() >= due_s:
                self._step()
            return
        try:
            future.set_result(call())
        except Exception as error:
            if isinstance(error, SimulatorError):
                self._check_simulation()
            future.set_exception(error)

    def _step(self) -> None:
        simulation = self.simulation
        is_late = self._scheduler.stepped(time.monotonic())
        if self._command is not None and simulation.robot is not None:
            simulation.drive(self._command)
        snapshot = _merge_snapshots(self._seen_early, simulation.step(self._period_s))
        self._seen_early = None
        placed_poses, self._placed_poses = self._placed_poses, {}
        self._on_period(
            Period(
                self.scene_number,
                snapshot,
                self._command,
                is_late,
                self._scheduler.holds,
                self._actors.numbers_so_far(),
                placed_poses,
            )
        )

    def _enqueue(self, call: Callable[[], Any]) -> "Future[Any]":
        future: Future[Any] = Future()
        self._calls.put((call, future))
        return future

    def _on_command(self, command: Twist2D, epoch: int) -> None:
        if self._simulation is not None and epoch == self._command_epoch:
            self._command = command
            self._scheduler.commanded()


def _merge_snapshots(earlier_snapshot: Optional[Snapshot], snapshot: Snapshot) -> Snapshot:
    if earlier_snapshot is None:
        return snapshot
    return dataclasses.replace(
        snapshot,
        imu=(*earlier_snapshot.imu, *snapshot.imu),
        contacts=(*earlier_snapshot.contacts, *snapshot.contacts),
    )
