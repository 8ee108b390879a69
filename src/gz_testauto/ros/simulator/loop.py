"""The thread that runs the simulation: it steps, and executes calls between steps.

Each iteration publishes the state, waits for the controller or the clock, and steps. Only this
thread uses the simulation; service handlers pass their calls to :meth:`SimulationLoop.perform`.
The module does not use ROS: results are passed to callbacks.
"""

import dataclasses
import queue
import time
from concurrent.futures import Future, wait
from typing import Any, Callable, Optional, Tuple, TypeVar

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.observation import Snapshot, Twist2D
from gz_testauto.ros.simulator.step_scheduler import StepScheduler
from gz_testauto.simulators.interface import Scene, Simulation, Simulator
from gz_testauto.trial.actors import TrialActors

Result = TypeVar("Result")
NO_ACTORS = TrialActors()
IDLE_POLL_S = 0.2
"""Longest wait of an idle loop between two checks whether to stop, in seconds."""


@dataclasses.dataclass(frozen=True, eq=False)
class Period:
    """One finished control period: the snapshot at its end, the command in force, whether it
    started without the controller's answer, and whether time was held for that. ``command`` is
    None until the first command."""

    scene: int
    snapshot: Snapshot
    command: Optional[Twist2D] = None
    late: bool = False
    held: bool = False


class SimulationLoop:
    """Runs a simulator's current scene in one thread."""

    def __init__(
        self,
        simulator: Simulator,
        scheduler: StepScheduler,
        period_s: float,
        on_scene: Callable[[Scene, Period], None],
        on_period: Callable[[Period], None],
        on_failure: Callable[[SimulatorError], None],
    ) -> None:
        self._simulator = simulator
        self._scheduler = scheduler
        self._period_s = period_s
        self._on_scene = on_scene
        self._on_period = on_period
        self._on_failure = on_failure
        self._calls: queue.Queue[Tuple[Callable[[], Any], Future[Any]]] = queue.Queue()
        self._simulation: Optional[Simulation] = None
        self._command: Optional[Twist2D] = None
        self._command_epoch = 0
        self._seen_early: Optional[Snapshot] = None
        self._ended = False
        self.paused = False
        self.scene: Optional[Scene] = None
        self.scene_number = 0
        self._actors = NO_ACTORS

    # Methods for any thread.

    def perform(self, call: Callable[[], Result]) -> Result:
        """Run ``call`` on the loop's thread between two steps; return or raise its result."""
        future = self._enqueue(call)
        while not future.done():
            if self._ended:
                raise SimulatorError("the simulator is shutting down")
            wait([future], timeout=IDLE_POLL_S)
        return future.result()

    def command(self, command: Twist2D) -> None:
        """Set the command from the next step on, without waiting. It is ignored if no scene is
        loaded, while one is loading, and if there is no robot."""
        epoch = self._command_epoch
        self._enqueue(lambda: self._on_command(command, epoch))

    def end(self) -> None:
        """Make :meth:`run` return soon."""
        self._ended = True

    # Methods for the loop's thread: from a call, or from run.

    @property
    def simulation(self) -> Simulation:
        """The current scene's simulation. Raises ``SimulatorError`` if no scene is loaded."""
        if self._simulation is None:
            raise SimulatorError("no world is loaded")
        return self._simulation

    @property
    def simulator(self) -> Simulator:
        """The simulator that runs all scenes."""
        return self._simulator

    def snapshot(self) -> Snapshot:
        """Return the present snapshot. Its contacts and IMU samples are repeated in the snapshot of
        the current period."""
        snapshot = self.simulation.snapshot()
        self._seen_early = _merged(self._seen_early, snapshot)
        return snapshot

    def load(self, scene: Scene, actors: TrialActors = NO_ACTORS) -> Snapshot:
        """Make ``scene`` with ``actors`` the current scene, at its time 0, and publish it."""
        self._simulation, self.scene, self._command, self._seen_early = None, None, None, None
        self._actors.close()
        self._actors = actors
        simulation = actors.simulation(self._simulator.load(actors.scene(scene)))
        snapshot = simulation.snapshot()
        self._command_epoch += 1  # ignores commands for the previous scene
        self._simulation, self.scene = simulation, scene
        self.scene_number += 1
        self.paused = False
        self._scheduler.start_scene(time.monotonic())
        self._on_scene(scene, Period(self.scene_number, snapshot, held=self._scheduler.holds))
        return snapshot

    def set_scheduler(self, scheduler: StepScheduler) -> None:
        """Use another scheduler from now on."""
        self._scheduler = scheduler
        self._scheduler.start_scene(time.monotonic())

    def run(self) -> None:
        """Run until :meth:`end` is called."""
        try:
            while not self._ended:
                try:
                    self._iterate()
                except SimulatorError as error:
                    self._simulation = None
                    self._on_failure(error)
        finally:
            self._ended = True

    def _iterate(self) -> None:
        """Execute one call, or wait for one, or step."""
        idle = self._simulation is None or self.paused
        now = time.monotonic()
        due = now + IDLE_POLL_S if idle else self._scheduler.wait_until()
        try:
            if due > now:
                call, future = self._calls.get(timeout=min(due - now, IDLE_POLL_S))
            else:
                call, future = self._calls.get_nowait()
        except queue.Empty:
            if not idle and time.monotonic() >= due:
                self._step()
            return
        try:
            future.set_result(call())
        except Exception as error:
            future.set_exception(error)

    def _step(self) -> None:
        simulation = self.simulation
        late = self._scheduler.stepped(time.monotonic())
        if self._command is not None and simulation.robot is not None:
            simulation.drive(self._command)
        snapshot = _merged(self._seen_early, simulation.step(self._period_s))
        self._seen_early = None
        self._on_period(
            Period(self.scene_number, snapshot, self._command, late, self._scheduler.holds)
        )

    def _enqueue(self, call: Callable[[], Any]) -> "Future[Any]":
        future: Future[Any] = Future()
        self._calls.put((call, future))
        return future

    def _on_command(self, command: Twist2D, epoch: int) -> None:
        if self._simulation is not None and epoch == self._command_epoch:
            self._command = command
            self._scheduler.commanded()


def _merged(earlier: Optional[Snapshot], snapshot: Snapshot) -> Snapshot:
    """Return ``snapshot`` with the samples and contacts of an earlier one of the same control
    period."""
    if earlier is None:
        return snapshot
    return dataclasses.replace(
        snapshot,
        imu=(*earlier.imu, *snapshot.imu),
        contacts=(*earlier.contacts, *snapshot.contacts),
    )
