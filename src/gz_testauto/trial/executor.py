"""Define the interface between a campaign and the executors of its trials.

A :class:`TrialExecutor` runs a single trial to its end. :mod:`gz_testauto.campaign.runner` plans
and stores trials, and resumes and stops campaigns.

Call order, all from one thread::

    executor = make_executor(bed)          # a TestBed; starts nothing yet
    executor.open()                        # starts or finds the simulator
    executor.identity                      # name and version, for the manifest
    result = executor.execute(trial, should_stop)
    executor.recover()                     # after execute raised: make it usable again
    executor.close()                       # always, also after failures

An executor gets what it needs of a trial from the
:class:`~gz_testauto.trial.testbed.TestBed`:

* ``bed.without(trial.omitted)``: the test bed without the entries that the trial omits, which
  replaces ``bed`` in the following calls;
* ``bed.actors(trial)``: everything that moves besides the robots, and ``bed.robots``, the test beds
  of all robots;
* ``bed.monitor(trial, models)``: a :class:`~gz_testauto.trial.monitor.TrialMonitor`, which
  records every snapshot and returns the end of the trial; ``models`` are those of the scene that
  are not in the world file;
* with planners of this package (:class:`~gz_testauto.trial.testbed.BuiltinTestBed`):
  ``bed.scene(trial)`` with world file, robot, start pose and seed for the simulator;
  ``bed.task(trial, visited)`` with goal, waypoints on the static map, limits and seed for the
  planner, after ``visited`` goals; ``bed.planner(trial)`` with the plug-in and its parameters;
* with a navigation stack (:class:`~gz_testauto.trial.testbed.StackTestBed`):
  ``bed.navigation(trial)`` with the launch file that drives the robot, and ``bed.spec.stack``.

An executor for one of these two classes calls ``require_builtin`` or ``require_stack``.
The loop of an executor is::

    monitor = bed.monitor(trial)
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
from typing import Callable, Iterator, Mapping, Optional, Tuple

import numpy as np

from gz_testauto.base.errors import SceneError, SimulatorError
from gz_testauto.metrics.recording import Recording
from gz_testauto.trial.outcome import Outcome
from gz_testauto.trial.trial import Trial

StopRequest = Callable[[], bool]  # called at least once per control period; True stops the trial


def close_completely(close: Callable[[], object]) -> None:
    """Call ``close``; after an interruption by Ctrl-C, call it again and raise the interrupt."""
    # A second Ctrl-C can arrive at any moment, also while the first one closes the simulator.
    try:
        close()
    except KeyboardInterrupt:
        close()
        raise


class TrialStopped(Exception):
    """Raised by ``execute`` after ``should_stop()`` returned True; the trial has no result."""


@dataclass(frozen=True)
class SimulatorIdentity:
    """The name and version of a simulator, the same for all trials of a campaign."""

    name: str
    version: str


@dataclass(frozen=True, eq=False)
class TrialResult:
    """The result of a valid trial.

    ``detail`` describes the outcome in one line, for example ``touched obstacle_box_3 at 12.4 s``.
    ``notices`` state for the report which checks and values the trial does not have.
    """

    outcome: Outcome
    recording: Recording
    detail: str = ""
    notices: Tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.outcome.valid:
            raise ValueError(
                "a TrialResult cannot be invalid; for an invalid trial, raise SimulatorError "
                "instead"
            )

    def with_values(
        self, numbers: Mapping[str, float], series: Optional[Mapping[str, np.ndarray]] = None
    ) -> "TrialResult":
        all_numbers = {**self.recording.numbers, **numbers}
        all_series = {**self.recording.series, **(series or {})}
        recording = replace(self.recording, numbers=all_numbers, series=all_series)
        return replace(self, recording=recording)


@contextlib.contextmanager
def scene_faults(repeatable: bool) -> Iterator[None]:
    """Replace a ``SceneError`` in this context by a ``SimulatorError``: the trial is repeated.

    A ``SceneError`` of a ``repeatable`` simulator is not replaced: it would occur again.
    """
    try:
        yield
    except SceneError as error:
        if repeatable:
            raise
        # another attempt at the trial can have a different outcome
        raise SimulatorError(error.full) from error


class TrialExecutor(abc.ABC):
    """An executor of single trials."""

    @abc.abstractmethod
    def open(self) -> None:
        """Start or find the programs that trials need.

        Raises ``SimulatorError`` or ``NavigatorError`` if a program does not start,
        ``MissingDependencyError`` if it is not installed, and ``TrialStopped`` if a stop was
        requested.
        """

    @property
    @abc.abstractmethod
    def identity(self) -> SimulatorIdentity:
        """Return the name and version of the simulator. Call :meth:`open` first."""

    @abc.abstractmethod
    def execute(self, trial: Trial, should_stop: StopRequest) -> TrialResult:
        """Run one trial from a newly loaded world to its end, and return the result.

        Raises ``SimulatorError`` or ``NavigatorError`` if the trial is invalid; the message is
        stored in the results. Raises ``SceneError`` only if another attempt would fail for the same
        cause, and ``TrialStopped`` if a stop was requested. Any other exception is a bug and ends
        the campaign.
        """

    @abc.abstractmethod
    def recover(self) -> None:
        """Restart the programs after an invalid trial. Raises the errors of :meth:`open`."""

    @abc.abstractmethod
    def close(self) -> None:
        """Stop all started programs. Idempotent; also called if ``open`` failed.

        A second Ctrl-C can interrupt a call by ``KeyboardInterrupt``; the next call finishes it.
        """
