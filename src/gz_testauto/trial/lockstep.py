"""Runs trials in-process and in lock-step: simulate one control period, let the planner think.

The result depends neither on how busy the machine is nor on how long a planner thinks, and
nobody waits for real time. Owns the simulator's life and the loop of a trial.
"""

import functools
import time
from typing import Callable, Optional

from threadpoolctl import threadpool_limits

from gz_testauto.errors import SimulatorError
from gz_testauto.observation import Snapshot
from gz_testauto.planners import make_planner
from gz_testauto.planners.interface import Observation, PlannerGaveUp, Task
from gz_testauto.planners.timed import TimedPlanner
from gz_testauto.simulators.interface import Simulation, Simulator
from gz_testauto.trial.checks import require_drivable
from gz_testauto.trial.executor import (
    SimulatorIdentity,
    StopRequest,
    TrialExecutor,
    TrialResult,
    TrialStopped,
    scene_faults,
)
from gz_testauto.trial.monitor import TrialMonitor
from gz_testauto.trial.plan import Trial
from gz_testauto.trial.recorder import CycleTimes
from gz_testauto.trial.setup import PreparedBuiltin, PreparedCampaign, require_builtin

OpenSimulator = Callable[[PreparedBuiltin], Simulator]


class LockstepExecutor(TrialExecutor):
    """One simulator, all trials in this thread."""

    def __init__(self, campaign: PreparedCampaign, open_simulator: OpenSimulator) -> None:
        """Start nothing yet. Raises ``SpecError`` for a campaign on a stack of the user's own,
        a robot that cannot be driven or cannot see, or a planner that does not take its
        parameters."""
        self._campaign = require_builtin(campaign)
        require_drivable(self._campaign.robot)
        for planner in self._campaign.spec.planners:
            make_planner(planner.plugin, **planner.parameters)
        self._open_simulator = open_simulator
        self._simulator: Optional[Simulator] = None
        self._one_thread: Optional[threadpool_limits] = None

    def open(self) -> None:
        """Start the simulator.

        From here to :meth:`close`, linear algebra keeps to this thread: a planner's matrices are
        small, and helpers that spin for their share of one take the processor from the worker
        next door and the planner's time with it.
        """
        self._one_thread = threadpool_limits(limits=1, user_api="blas")
        self._simulator = self._open_simulator(self._campaign)

    @property
    def identity(self) -> SimulatorIdentity:
        """Of the simulator that runs."""
        simulator = self._require_simulator()
        return SimulatorIdentity(simulator.name, simulator.version)

    def execute(self, trial: Trial, should_stop: StopRequest) -> TrialResult:
        """Run one trial. See the interface."""
        campaign = self._campaign
        spec = campaign.planner(trial)
        planner = TimedPlanner(make_planner(spec.plugin, **spec.parameters))
        tasks = functools.partial(campaign.task, trial)
        first = tasks(0)
        staging = campaign.staging(trial)
        watch = campaign.watch(trial, staging.models)
        simulator = self._require_simulator()
        simulation = staging.stage(simulator.load(staging.scene(campaign.scene(trial))))
        planner.begin(first)
        period_s = campaign.spec.control_period_s
        try:
            with scene_faults(simulator.repeatable):
                result = drive(simulation, planner, watch, period_s, should_stop, tasks)
        finally:
            staging.close()
        return result.with_numbers(staging.numbers)

    def recover(self) -> None:
        """Close the simulator and start another."""
        self.close()
        self.open()

    def close(self) -> None:
        """Close the simulator."""
        simulator, self._simulator = self._simulator, None
        one_thread, self._one_thread = self._one_thread, None
        if simulator is not None:
            simulator.close()
        if one_thread is not None:
            one_thread.restore_original_limits()

    def _require_simulator(self) -> Simulator:
        if self._simulator is None:
            raise SimulatorError("the simulator is not open")
        return self._simulator


def drive(
    simulation: Simulation,
    planner: TimedPlanner,
    watch: TrialMonitor,
    control_period_s: float,
    should_stop: StopRequest,
    tasks: Callable[[int], Task],
) -> TrialResult:
    """Drive a loaded simulation to the trial's end, one control period (s) after the other.

    The planner has been given its task; ``tasks`` has that after so many goals. Raises
    ``TrialStopped`` and ``SimulatorError``.
    """
    began_s = time.monotonic()
    snapshot = simulation.snapshot()
    verdict = watch.observe(snapshot)
    while verdict is None:
        if should_stop():
            raise TrialStopped
        if watch.goal_is_new:
            planner.begin(tasks(watch.visited))
        try:
            command = planner.plan(_observation(snapshot, watch))
        except PlannerGaveUp as gave_up:
            verdict = watch.planner_aborted(str(gave_up))
            break
        watch.commanded(command)
        simulation.drive(command)
        snapshot = simulation.step(control_period_s)
        verdict = watch.observe(snapshot)
    cycles = CycleTimes(*planner.cycle_times_s)
    return watch.result(verdict, cycles, time.monotonic() - began_s)


def _observation(snapshot: Snapshot, watch: TrialMonitor) -> Observation:
    return Observation(snapshot.time_s, watch.pose, watch.twist, snapshot.scan)
