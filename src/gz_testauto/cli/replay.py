"""Run one trial of a campaign again and compare the outcome.

The trial runs with the campaign, world, robot, seed and simulator of the results directory. If one
of these has changed, the difference is printed and no trial runs. If the code of the planner has
changed, a line reports the change, and the trial shows its effect. The results do not change.
`gz_testauto perturb` measures whether the outcome is robust.

Exit status 0: the outcome and the trajectory are identical, bit by bit; 1: they differ.

A trial with your own navigation stack rarely has an identical trajectory; exit status 0 then means
that the outcome is equal. The output of the stack and the bag are in a new directory, which is
printed. Programs of the author of the results, such as launch files, policies of Stable-Baselines3,
xacro files and plugins of worlds, are listed, and you must confirm, unless you use --trust.

example:
  gz_testauto replay results/paper 139 fgm
  gz_testauto replay results/paper world_0139 fgm_improved --gui
  gz_testauto replay results/paper 139 fgm --bag world_139.bag
"""

import argparse
import functools
import os
import shlex
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable, Optional

from gz_testauto.analysis.repeatability import compare_recordings
from gz_testauto.base.errors import ResultsError, SimulatorError, SpecError
from gz_testauto.base.escaping import escape_text
from gz_testauto.base.registry import Registry, unknown_name
from gz_testauto.campaign.resume import changed_planners, open_for_replay
from gz_testauto.campaign.selection import world_name
from gz_testauto.campaign.signals import StopSignals
from gz_testauto.campaign.simulator import chosen_executor
from gz_testauto.cli.trust import add_trust_argument, require_trust
from gz_testauto.results.directory import PAGE, CampaignDirectory
from gz_testauto.results.opened import OpenedResults, open_results
from gz_testauto.results.records import TrialRecord
from gz_testauto.results.store import ResultStore
from gz_testauto.simulators import options_taken
from gz_testauto.spec.campaign import BuiltinCampaignSpec, CampaignSpec, StackCampaignSpec
from gz_testauto.trial.executor import TrialResult, TrialStopped, close_completely
from gz_testauto.trial.plan import PreparedCampaign
from gz_testauto.trial.real_time_factor import low_factor_cause
from gz_testauto.trial.testbed import TestBed
from gz_testauto.trial.trial import Trial, trial_label
from gz_testauto.workers.interface import ExecutorFactory

GROUP = ("start", 4)

# Functions with the path of a new bag and ``--gui`` as parameters, which return a factory of
# executors that write the bag.
BAG_WRITERS = Registry("bag writer", {})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, help="results directory, or pack, of a campaign")
    parser.add_argument("world", help="name or number of the world")
    parser.add_argument("planner", help="name of the planner")
    parser.add_argument(
        "--repetition",
        type=int,
        default=0,
        metavar="N",
        help="index of the repetition (default: %(default)s)",
    )
    parser.add_argument(
        "--gui",
        action="store_true",
        help="show the trial in a window (gazebo, embedded), in real time unless --speed is set",
    )
    parser.add_argument(
        "--speed",
        type=float,
        metavar="FACTOR",
        help="highest real-time factor (default: 1 with --gui, otherwise unlimited)",
    )
    parser.add_argument(
        "--bag",
        type=Path,
        metavar="FILE",
        help="write a rosbag of ROS 1 with the topics of a real robot: scans, odometry, tf, "
        "estimated pose, map, goals and results of move_base, and commands",
    )
    add_trust_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    with open_results(arguments.directory) as results:
        return _replay(results, arguments)


def _replay(results: OpenedResults, arguments: argparse.Namespace) -> int:
    directory = CampaignDirectory(results.path)
    with ResultStore.read(directory) as store:
        trust = functools.partial(require_trust, is_trusted=arguments.trust)
        campaign = open_for_replay(directory, store, trust)
        trial = find_trial(campaign, arguments.world, arguments.planner, arguments.repetition)
        stored_record = {record.trial: record for record in store.results().trials}.get(trial.index)
        recording = (
            store.trajectory(stored_record) if stored_record and stored_record.trajectory else None
        )
    bed, on_stack = campaign.bed, isinstance(campaign.spec, StackCampaignSpec)
    for plugin in changed_planners(directory, campaign):
        print(f"the code of planner {plugin} has changed since the campaign", file=sys.stderr)
    with StopSignals() as stop:
        try:
            if on_stack:
                result = run_once(bed, trial, _stack_executor(bed.spec, arguments), stop)
            else:
                if arguments.gui:
                    _require_window(campaign, results, trial)
                speed = arguments.speed or (1.0 if arguments.gui else 0.0)
                executor = (
                    BAG_WRITERS.get("ros1")(arguments.bag, arguments.gui)
                    if arguments.bag
                    else chosen_executor(campaign.spec, directory.path, arguments.gui)
                )
                result = run_once(
                    bed, trial, executor, _delayed(stop, bed.spec.control_period_s, speed)
                )
        except TrialStopped:
            return stop.exit_status
    slow = low_factor_cause(campaign.spec, result.recording)
    if slow:
        raise SimulatorError(f"{trial.world.name} {trial.planner.name}: not comparable: {slow}")
    detail = escape_text(result.detail)
    print(f"{escape_text(trial.world.name)} {trial.planner.name}: {result.outcome.value}, {detail}")
    if stored_record is None or recording is None:
        print("the campaign has no valid result of this trial to compare with")
        return 0
    if stored_record.outcome is not result.outcome:
        print(f"stored: {stored_record.outcome.value}, {escape_text(stored_record.detail)}")
    agreement = compare_recordings(recording, result.recording)
    if agreement.identical and stored_record.outcome is result.outcome:
        print(f"identical to the stored trial, bit by bit ({agreement.samples[0]} samples)")
        return 0
    if agreement.identical:
        print("the trajectory is identical, bit by bit, but the outcome differs")
    else:
        if on_stack and stored_record.outcome is result.outcome:
            print("the outcome is equal")
        print(
            f"the trajectory differs from {agreement.first_difference_s:.2f} s on, by "
            f"{agreement.deviation_m:.3g} m at most ({agreement.samples[0]} samples before, "
            f"{agreement.samples[1]} now)"
        )
    return 0 if on_stack and stored_record.outcome is result.outcome else 1


def find_trial(campaign: PreparedCampaign, world: str, planner: str, repetition: int) -> Trial:
    """Return the trial of a world, planner and repetition. Raises ``ResultsError`` or
    ``SpecError``, which lists existing names, if it does not exist."""
    world = world_name(world, campaign.worlds)
    planners = [entry.name for entry in campaign.spec.planners]
    if planner not in planners:
        raise ResultsError(unknown_name("planner", planner, planners))
    for trial in campaign.trials:
        if trial.label == trial_label(world, planner, repetition):
            return trial
    raise ResultsError(
        f"--repetition is {repetition}; it must be less than the number of repetitions, "
        f"{campaign.spec.repetitions}"
    )


def require_result(stored_record: Optional[TrialRecord], trial: Trial) -> TrialRecord:
    if stored_record is None or not stored_record.outcome.valid:
        raise ResultsError(
            f"{escape_text(trial.world.name)} {trial.planner.name}: the campaign has no valid "
            "result of this trial; run it first, or choose another trial"
        )
    return stored_record


def _require_window(campaign: PreparedCampaign, results: OpenedResults, trial: Trial) -> None:
    assert isinstance(campaign.spec, BuiltinCampaignSpec), "a stack is handled before"
    simulator = campaign.spec.simulator
    if "gui" in options_taken(simulator):
        has_display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
        if has_display:
            return
        reason = "--gui needs a display, but DISPLAY and WAYLAND_DISPLAY are not set"
    else:
        reason = f"--gui is not supported: the simulator {simulator!r} has no window"

    page = results.path.absolute() / PAGE if results.pack is None else Path(PAGE).absolute()
    directory = results.typed.absolute()
    command = f"gz_testauto report {shlex.quote(str(directory))} --html {shlex.quote(str(page))}"
    hint = "" if page.is_file() else f" (written by `{command}`)"
    raise SpecError(
        f"{reason}; instead, open the page {page}#w{trial.world.world_index}{hint} in a "
        "browser and press 'play'"
    )


def _stack_executor(spec: CampaignSpec, arguments: argparse.Namespace) -> ExecutorFactory:
    if arguments.bag:
        raise SpecError("--bag is not supported with stack; set the key stack.bag instead")
    if arguments.gui or arguments.speed:
        raise SpecError(
            "--gui and --speed are not supported with stack; set stack.max_real_time_factor or "
            "arguments of the launch files instead"
        )
    out = Path(tempfile.mkdtemp(prefix=f"gz_testauto_replay_{spec.name}_"))
    print(f"the output of the stack is in {out}", file=sys.stderr)
    return chosen_executor(spec, out)


def run_once(
    bed: TestBed,
    trial: Trial,
    make_executor: ExecutorFactory,
    should_stop: Callable[[], bool],
) -> TrialResult:
    executor = make_executor(bed)
    try:
        executor.open()
        return executor.execute(trial, should_stop)
    finally:
        close_completely(executor.close)


def _delayed(stop: Callable[[], bool], period_s: float, speed: float) -> Callable[[], bool]:
    """Return a function that waits and then calls ``stop``, for one call per control period of
    ``period_s``. It limits the real-time factor to ``speed``, if positive."""
    if speed <= 0.0:
        return stop
    period_s /= speed
    due_s = time.monotonic()

    def delayed() -> bool:
        nonlocal due_s
        due_s = max(due_s + period_s, time.monotonic())
        time.sleep(max(due_s - time.monotonic(), 0.0))
        return stop()

    return delayed
