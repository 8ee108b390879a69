"""The loop: the order of calls, the time at which changes apply, and exceptions."""

import re

import numpy as np
import pytest
from actor_scenes import PERIOD_S, person, place, run, simulated

from gz_testauto.actors.hook import HIGH, LOW, Hook
from gz_testauto.actors.simulation import Filter
from gz_testauto.base.errors import SceneError, SimulatorError
from gz_testauto.base.observation import Twist2D
from gz_testauto.simulators.changes import SetModel, SetVisual


class Noting(Hook):
    def __init__(self, name, priority, log):
        self.name, self.priority, self.log = name, priority, log

    def before_step(self, context):
        self.log.append((self.name, round(context.time_s, 6)))


class Failing(Hook):
    name = "careless"

    def before_step(self, context):
        if context.time_s > 0.15:
            raise KeyError("missing")


class FailingAfterwards(Hook):
    name = "careless"

    def before_step(self, context):
        pass

    def after_step(self, snapshot):
        if snapshot.time_s > 0.15:
            raise KeyError("missing")


class Moving(Hook):
    name = "mover"

    def before_step(self, context):
        context.change(SetModel("walker", linear_mps=(1.0, 0.0, 0.0)))


def test_hooks_are_called_before_each_step_by_priority_and_then_by_name(tmp_path):
    log = []
    names = [("b", LOW), ("c", HIGH), ("a", LOW), ("d", HIGH)]
    simulation = simulated(tmp_path, (), hooks=[Noting(name, rank, log) for name, rank in names])
    run(simulation, 0.3)
    order = ["c", "d", "a", "b"]
    assert log == [(name, time_s) for time_s in (0.0, 0.1, 0.2) for name in order]


def test_removed_hook_is_not_called_and_names_are_unique(tmp_path):
    log = []
    simulation = simulated(tmp_path, (), hooks=[Noting("a", HIGH, log)])
    with pytest.raises(ValueError, match="a hook named 'a' exists already"):
        simulation.add(Noting("a", LOW, log))
    simulation.step(PERIOD_S)
    simulation.remove("a")
    with pytest.raises(ValueError, match="no hook is named 'a'"):
        simulation.remove("a")
    simulation.step(PERIOD_S)
    assert len(log) == 1


def test_requested_changes_hold_from_the_start_of_the_step(tmp_path):
    simulation = simulated(tmp_path, [person("walker", 2.0, 2.0)], hooks=[Moving()])
    assert place(simulation.step(PERIOD_S), "walker") == pytest.approx((2.1, 2.0, 0.02), abs=1e-6)


@pytest.mark.parametrize(("hook", "complete_s"), [(Failing(), 0.2), (FailingAfterwards(), 0.1)])
def test_failing_hook_ends_the_trial_with_its_name(tmp_path, hook, complete_s):
    simulation = simulated(tmp_path, (), hooks=[hook])
    run(simulation, complete_s)
    message = f"hook 'careless' ({type(hook).__name__}) failed at 0.20 s: KeyError: 'missing'"
    with pytest.raises(SceneError, match=re.escape(message)):
        simulation.step(PERIOD_S)
    with pytest.raises(SimulatorError, match="this simulation is over: hook 'careless'"):
        simulation.step(PERIOD_S)


def test_rejected_change_ends_the_trial_with_the_error_of_the_simulator(tmp_path):
    class Wrong(Hook):
        name = "wrong"

        def before_step(self, context):
            context.change(SetVisual("unknown::link::visual", visible=False))

    simulation = simulated(tmp_path, (), hooks=[Wrong()])
    with pytest.raises(SimulatorError, match="unknown visual 'unknown::link::visual'"):
        simulation.step(PERIOD_S)


class Recorded(Filter):
    def __init__(self):
        self.stamps, self.commands = [], []

    def scanned(self, scan):
        self.stamps.append(round(scan.stamp_s, 6))
        return scan

    def commanded(self, command, time_s, duration_s):
        self.commands.append((round(time_s, 6), command.linear_mps))
        return Twist2D(command.linear_mps / 2, command.angular_radps)


def test_filters_receive_each_scan_once_and_the_command_in_every_step(tmp_path):
    filter_ = Recorded()
    simulation = simulated(tmp_path, (), filters=[filter_])
    simulation.drive(Twist2D(1.0, 0.0))
    snapshots = run(simulation, 2.0)
    simulation.snapshot()
    assert filter_.stamps == sorted(set(filter_.stamps))
    assert len(filter_.stamps) == 20
    assert filter_.commands == [(round(0.1 * i, 6), 1.0) for i in range(20)]
    speeds = np.diff([place(snapshot, "robot")[0] for snapshot in snapshots[-5:]]) / PERIOD_S
    assert speeds == pytest.approx(np.full(4, 0.5), rel=0.02)


def test_simulation_without_hooks_and_filters_is_unchanged_bit_by_bit(tmp_path):
    def drive(simulation):
        rows = []
        for index in range(30):
            simulation.drive(Twist2D(0.6, 0.3 * (-1) ** index))
            snapshot = simulation.step(PERIOD_S)
            rows.append(np.array(snapshot.models["robot"].pose.position).tobytes())
        return rows

    assert drive(simulated(tmp_path, ())) == drive(simulated(tmp_path, ())._inner)
