"""The seam between a campaign and what runs its trials.

:func:`gz_testauto.campaign.runner.run_campaign` owns the plan, the store, the log, resuming,
retrying and stopping; a :class:`TrialExecutor` owns one thing, running a trial to its end.
There is one in-process in lock-step (:mod:`gz_testauto.trial.lockstep`), and over ROS one of this
package's nodes and one of the user's launch files.

Call order, all from one thread::

    executor = make_executor(campaign)     # a PreparedCampaign; starts nothing yet
    executor.open()                        # starts or finds the simulator
    executor.identity                      # name and version, for the manifest
    result = executor.execute(trial, should_stop)
    executor.recover()                     # after execute raised: make it usable again
    executor.close()                       # always, also after failures

What an executor needs about a trial it asks of the
:class:`~gz_testauto.trial.setup.PreparedCampaign`:

* ``campaign.watch(trial)``: a :class:`~gz_testauto.trial.monitor.TrialMonitor`, which is shown
  every snapshot, records it and says when the trial is over;
* of a :class:`~gz_testauto.trial.setup.PreparedBuiltin`, a campaign of this package's planners:
  ``campaign.scene(trial)``, world file, robot, start pose and seed for the simulator;
  ``campaign.task(trial, visited)``, goal, way-points on the known map, limits and seed for the
  planner, when it has been at so many goals;
  ``campaign.planner(trial)``, the plugin under test and its parameters;
* of a :class:`~gz_testauto.trial.setup.PreparedStack`, a campaign on the user's own launch files:
  ``campaign.navigation(trial)``, what drives the robot, and ``campaign.spec.stack``.

An executor for one of the two takes its campaign by ``require_builtin`` or ``require_stack``.
The loop of an executor is::

    watch = campaign.watch(trial)
    verdict = watch.observe(snapshot)                  # at time 0, before anything moves
    while verdict is None:
        raise_if(should_stop)                          # TrialStopped
        watch.commanded(twist)                         # what the navigation asked for, if known
        verdict = watch.observe(next_snapshot)         # or watch.planner_aborted(reason)
        # where watch.goal_is_new: send watch.goal
    return watch.result(verdict, cycles=..., wall_time_s=...)
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
"""Asked at least once per control period; True means: end the trial now, as not done."""


class TrialStopped(Exception):
    """Raised by ``execute`` when ``should_stop()`` said so; the trial counts as not begun."""


@dataclass(frozen=True)
class SimulatorIdentity:
    """What simulated, for the manifest. Trials of one campaign must share it."""

    name: str
    version: str


@dataclass(frozen=True, eq=False)
class TrialResult:
    """A trial that ended in a way that says something about the planner.

    ``detail`` is one line for the reader, such as ``touched obstacle_box_3 at 12.4 s``.
    """

    outcome: Outcome
    recording: Recording
    detail: str = ""

    def __post_init__(self) -> None:
        if not self.outcome.valid:
            raise ValueError("an invalid trial has no result: raise SimulatorError instead")

    def with_numbers(self, numbers: Mapping[str, float]) -> "TrialResult":
        """The same with further numbers in its recording."""
        if not numbers:
            return self
        recording = replace(self.recording, numbers={**self.recording.numbers, **numbers})
        return replace(self, recording=recording)

    def with_series(self, series: Mapping[str, np.ndarray]) -> "TrialResult":
        """The same with further arrays in its recording."""
        if not series:
            return self
        recording = replace(self.recording, series={**self.recording.series, **series})
        return replace(self, recording=recording)


@contextlib.contextmanager
def scene_faults(repeatable: bool) -> Iterator[None]:
    """Within, let a ``SceneError`` through where the simulator is repeatable; elsewhere it becomes
    a ``SimulatorError``, since another try may end otherwise."""
    try:
        yield
    except SceneError as error:
        if repeatable:
            raise
        raise SimulatorError(error.full) from error


class TrialExecutor(abc.ABC):
    """Runs trials one after the other. See the module for the call order."""

    @abc.abstractmethod
    def open(self) -> None:
        """Start or find whatever the trials need. Raises ``SimulatorError`` or
        ``NavigatorError`` when that fails, ``MissingDependencyError`` when it cannot be, and
        ``TrialStopped`` when it was asked to stop meanwhile."""

    @property
    @abc.abstractmethod
    def identity(self) -> SimulatorIdentity:
        """Name and version of the simulator; known once open."""

    @abc.abstractmethod
    def execute(self, trial: Trial, should_stop: StopRequest) -> TrialResult:
        """Run one trial from a fresh world to its end and say how it ended.

        Raises ``SimulatorError`` or ``NavigatorError`` when the trial is invalid, the message
        being the cause that results keep; of these ``SceneError`` only where another try would
        end by the same cause. ``TrialStopped`` when asked to stop. Anything else that it raises
        is a bug and ends the campaign.
        """

    @abc.abstractmethod
    def recover(self) -> None:
        """Called after an invalid trial: start afresh whatever may have been harmed. Raises as
        :meth:`open` does."""

    @abc.abstractmethod
    def close(self) -> None:
        """End everything that was started. Idempotent; also called when ``open`` failed."""
