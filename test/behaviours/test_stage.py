"""The loop: who is asked when, what holds from when on, and what happens to who fails."""

import re

import numpy as np
import pytest
from stage_scenes import PERIOD_S, person, place, run, staged

from gz_testauto.base.errors import SceneError, SimulatorError
from gz_testauto.base.observation import Twist2D
from gz_testauto.behaviours.stage import Filter
from gz_testauto.behaviours.tracker import HIGH, LOW, Tracker
from gz_testauto.simulators.changes import SetModel, SetVisual


class Noting(Tracker):
    def __init__(self, name, priority, log):
        self.name, self.priority, self.log = name, priority, log

    def update(self, period):
        self.log.append((self.name, round(period.time_s, 6)))


class Failing(Tracker):
    name = "careless"

    def update(self, period):
        if period.time_s > 0.15:
            raise KeyError("nobody")


class Moving(Tracker):
    name = "mover"

    def update(self, period):
        period.change(SetModel("walker", linear_mps=(1.0, 0.0, 0.0)))


def test_trackers_are_asked_in_every_period_by_priority_and_then_by_name(tmp_path):
    log = []
    names = [("b", LOW), ("c", HIGH), ("a", LOW), ("d", HIGH)]
    stage = staged(tmp_path, (), trackers=[Noting(name, rank, log) for name, rank in names])
    run(stage, 0.3)
    order = ["c", "d", "a", "b"]
    assert log == [(name, time_s) for time_s in (0.0, 0.1, 0.2) for name in order]


def test_a_tracker_that_is_removed_is_asked_no_more_and_names_are_taken_once(tmp_path):
    log = []
    stage = staged(tmp_path, (), trackers=[Noting("a", HIGH, log)])
    with pytest.raises(ValueError, match="there is a tracker named 'a' already"):
        stage.add(Noting("a", LOW, log))
    stage.step(PERIOD_S)
    stage.remove("a")
    with pytest.raises(ValueError, match="there is no tracker named 'a'"):
        stage.remove("a")
    stage.step(PERIOD_S)
    assert len(log) == 1


def test_what_is_asked_for_holds_from_the_beginning_of_the_period(tmp_path):
    stage = staged(tmp_path, [person("walker", 2.0, 2.0)], trackers=[Moving()])
    assert place(stage.step(PERIOD_S), "walker") == pytest.approx((2.1, 2.0, 0.02), abs=1e-6)


def test_a_tracker_that_fails_ends_the_trial_by_name(tmp_path):
    stage = staged(tmp_path, (), trackers=[Failing()])
    run(stage, 0.2)
    says = "tracker 'careless' (Failing) failed at 0.20 s: KeyError: 'nobody'"
    with pytest.raises(SceneError, match=re.escape(says)):
        stage.step(PERIOD_S)
    with pytest.raises(SimulatorError, match="this simulation is over: tracker 'careless'"):
        stage.step(PERIOD_S)


def test_a_change_that_is_refused_ends_the_trial_with_the_simulators_words(tmp_path):
    class Wrong(Tracker):
        name = "wrong"

        def update(self, period):
            period.change(SetVisual("nobody::link::visual", visible=False))

    stage = staged(tmp_path, (), trackers=[Wrong()])
    with pytest.raises(SimulatorError, match="unknown visual 'nobody::link::visual'"):
        stage.step(PERIOD_S)


class Recorded(Filter):
    def __init__(self):
        self.stamps, self.commands = [], []

    def scanned(self, scan):
        self.stamps.append(round(scan.stamp_s, 6))
        return scan

    def commanded(self, command, time_s, duration_s):
        self.commands.append((round(time_s, 6), command.linear_mps))
        return Twist2D(command.linear_mps / 2, command.angular_radps)


def test_filters_see_each_scan_once_and_the_command_in_every_period(tmp_path):
    filter_ = Recorded()
    stage = staged(tmp_path, (), filters=[filter_])
    stage.drive(Twist2D(1.0, 0.0))
    snapshots = run(stage, 2.0)
    stage.snapshot()
    assert filter_.stamps == sorted(set(filter_.stamps))
    assert len(filter_.stamps) == 20
    assert filter_.commands == [(round(0.1 * i, 6), 1.0) for i in range(20)]
    speeds = np.diff([place(snapshot, "robot")[0] for snapshot in snapshots[-5:]]) / PERIOD_S
    assert speeds == pytest.approx(np.full(4, 0.5), rel=0.02)


def test_without_trackers_and_filters_a_stage_gives_the_bits_of_the_simulation(tmp_path):
    def drive(simulation):
        rows = []
        for index in range(30):
            simulation.drive(Twist2D(0.6, 0.3 * (-1) ** index))
            snapshot = simulation.step(PERIOD_S)
            rows.append(np.array(snapshot.models["robot"].pose.position).tobytes())
        return rows

    assert drive(staged(tmp_path, ())) == drive(staged(tmp_path, ())._inner)
