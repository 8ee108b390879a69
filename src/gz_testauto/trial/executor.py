"""The interface between a campaign and the executors of its trials.

A :class:`TrialExecutor` runs a single trial to its end; plan, store, log, resuming, attempts and
stopping are in :func:`gz_testauto.campaign.runner.run_campaign`. One executor runs trials in
lock-step in this process (:mod:`gz_testauto.trial.lockstep`). Over ROS, one uses the nodes of this
package and one the launch files of the user.

Call order, all from one thread::

    executor = make_executor(campaign)     # a PreparedCampaign; starts nothing yet
    executor.open()                        # starts or finds the simulator
    executor.identity                      # name and version, for the manifest
    result = executor.execute(trial, should_stop)
    executor.recover()                     # after execute raised: make it usable again
    executor.close()                       # always, also after failures

An executor gets the data of a trial from the
:class:`~gz_testauto.trial.setup.PreparedCampaign`:

* ``campaign.monitor(trial)``: a :class:`~gz_testauto.trial.monitor.TrialMonitor`, which
  records every snapshot and returns the end of the trial;
* of a :class:`~gz_testauto.trial.setup.PreparedBuiltin`, a campaign of this package's planners:
  ``campaign.scene(trial)``, world file, robot, start pose and seed for the simulator;
  ``campaign.task(trial, visited)``, goal, waypoints on the static map, limits and seed for the
  planner, after ``visited`` goals;
  ``campaign.planner(trial)``, the plug-in under test and its parameters;
* of a :class:`~gz_testauto.trial.setup.PreparedStack`, a campaign on the user's launch files:
  ``campaign.navigation(trial)``, the launch that drives the robot, and ``campaign.spec.stack``.

An executor for one of the two kinds calls ``require_builtin`` or ``require_stack``.
The loop of an executor is::

    monitor = campaign.monitor(trial)
    verdict = monitor.observe(snapshot)                # at time 0, before any motion
    while verdict is None:
        raise_if(should_stop)                          # TrialStopped
        monitor.commanded(twist)                       # the navigation's command, if known
        verdict = monitor.observe(next_snapshot)       # or monitor.planner_aborted(reason)
        # if monitor.goal_is_new: send monitor.goal
    return monitor.result(verdict, cycles=..., wall_time_s=...)
"""

import abc
import contextlib
from dataclasses import dataclass, replace
from typing import Callable, Iterator, Mapping

import numpy as np

from gz_testauto.base.errors import SceneError, SimulatorError
from gz_testauto.metrics.recording import Recording
from gz_testauto.trial.outcome import Outcome
from gz_testauto.trial.plan import Trial

StopRequest = Callable[[], bool]
"""A function that is called at least once per control period; True: stop the trial as not run."""


class TrialStopped(Exception):
    """Raised by ``execute`` when ``should_stop()`` returned True; the trial counts as not
    started."""


@dataclass(frozen=True)
class SimulatorIdentity:
    """Name and version of the simulator, for the manifest. Trials of one campaign must share it."""

    name: str
    version: str


@dataclass(frozen=True, eq=False)
class TrialResult:
    """The result of a valid trial.

    ``detail`` is a description in one line, such as ``touched obstacle_box_3 at 12.4 s``.
    """

    outcome: Outcome
    recording: Recording
    detail: str = ""

    def __post_init__(self) -> None:
        if not self.outcome.valid:
            raise ValueError("an invalid trial has no result: raise SimulatorError instead")

    def with_numbers(self, numbers: Mapping[str, float]) -> "TrialResult":
        """Return the result with further numbers in its recording."""
        if not numbers:
            return self
        recording = replace(self.recording, numbers={**self.recording.numbers, **numbers})
        return replace(self, recording=recording)

    def with_series(self, series: Mapping[str, np.ndarray]) -> "TrialResult":
        """Return the result with further arrays in its recording."""
        if not series:
            return self
        recording = replace(self.recording, series={**self.recording.series, **series})
        return replace(self, recording=recording)


@contextlib.contextmanager
def scene_faults(repeatable: bool) -> Iterator[None]:
    """Pass ``SceneError`` on if the simulator is repeatable; otherwise convert it into
    ``SimulatorError``, since another attempt can have another outcome."""
    try:
        yield
    except SceneError as error:
        if repeatable:
            raise
        raise SimulatorError(error.full) from error


class TrialExecutor(abc.ABC):
    """An executor of trials, one after the other. See the module for the call order."""

    @abc.abstractmethod
    def open(self) -> None:
        """Start or find the programs that trials need.

        Raises ``SimulatorError`` or ``NavigatorError`` if that fails, ``MissingDependencyError`` if
        it is not possible, and ``TrialStopped`` if a stop was requested.
        """

    @property
    @abc.abstractmethod
    def identity(self) -> SimulatorIdentity:
        """Return name and version of the simulator; known once open."""

    @abc.abstractmethod
    def execute(self, trial: Trial, should_stop: StopRequest) -> TrialResult:
        """Run one trial from a fresh world to its end and return its result.

        Raises ``SimulatorError`` or ``NavigatorError`` for an invalid trial, with the cause for the
        results as message; ``SceneError`` only if another attempt would end with the same cause;
        and ``TrialStopped`` if a stop was requested. Any other exception is a bug and ends the
        campaign.
        """

    @abc.abstractmethod
    def recover(self) -> None:
        """Restart the programs that an invalid trial can have harmed. Raises as :meth:`open`
        does."""

    @abc.abstractmethod
    def close(self) -> None:
        """Stop all started programs. Idempotent; also called if ``open`` failed."""
