"""Limits of termination rules, contacts, levels and real-time factors, at their boundaries."""

import dataclasses
import math
from types import SimpleNamespace

import numpy as np
import pytest
from frozen_data import mutable_dataclasses
from scripted import short_recording

from gz_testauto import trial
from gz_testauto.base.errors import SceneError, SimulatorError
from gz_testauto.base.observation import Contact
from gz_testauto.base.pose import Pose2D
from gz_testauto.metrics.recording import Recording
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.scene import read_scene
from gz_testauto.trial.contacts import ContactClassifier, EpisodeLog
from gz_testauto.trial.outcome import Outcome
from gz_testauto.trial.real_time_factor import (
    is_low_factor_cause,
    low_factor_cause,
    low_real_time_factor,
)
from gz_testauto.trial.recorder import _FreeSpace as FreeSpace
from gz_testauto.trial.stability import LowestLevels
from gz_testauto.trial.static_maps import MapInputs
from gz_testauto.trial.termination import (
    TerminationRules,
    check_termination,
    is_stuck,
    require_plausible,
    require_upright,
    tilted_since_s,
)

RULES = TerminationRules(
    goal=Pose2D(10.0, 0.0),
    tolerance_m=0.5,
    timeout_s=60.0,
    stuck_window_s=4.0,
    stuck_distance_m=0.25,
    max_linear_mps=1.0,
    max_tilt_rad=0.8,
)


def steps(*points, period_s=0.5):
    time_s = 3.0 + period_s * np.arange(len(points))
    return time_s, np.array([(*point, 0.0)[:3] for point in points], dtype=float)


@pytest.mark.parametrize(("end", "plausible"), [((0.9, 1.19), True), ((0.9, 1.21), False)])
def test_motion_of_half_a_meter_more_than_twice_the_top_speed_is_a_jump(end, plausible):
    course = steps((0, 0), end)  # 1.5 m in 0.5 s: 0.9² + 1.2²
    if plausible:
        require_plausible(RULES, *course)
    else:
        with pytest.raises(SimulatorError, match=r"jumped 1\.51 m in 0\.5 s at 3\.50 s"):
            require_plausible(RULES, *course)


@pytest.mark.parametrize(("height_m", "plausible"), [(1.0, True), (0.99, False), (11.1, True)])
def test_downward_motion_above_ten_meters_per_second_is_a_fall(height_m, plausible):
    course = steps((0, 0, 6.0), (0, 0, height_m))
    if plausible:
        require_plausible(RULES, *course)
    else:
        with pytest.raises(SceneError, match=r"moves down at 10\.0 m/s"):
            require_plausible(RULES, *course)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_robot_position_that_is_not_a_number_is_rejected(axis):
    time_s, position_m = steps((0, 0, 0), (0, 0, 0))
    position_m[-1, axis] = math.nan
    with pytest.raises(SimulatorError, match="is not finite"):
        require_plausible(RULES, time_s, position_m)


def test_robot_with_its_top_at_the_lowest_point_of_the_world_has_not_fallen():
    require_plausible(RULES, *steps((0, 0, -3)), top_m=-2.0, bottom_m=-2.0)
    require_upright(RULES, (0, 0, -3), 0.8, -2.0, -2.0)
    with pytest.raises(SceneError):
        require_plausible(RULES, *steps((0, 0, -3)), top_m=-2.01, bottom_m=-2.0)
    with pytest.raises(SceneError):
        require_upright(RULES, (0, 0, -3), 0.0, -2.01, -2.0)
    with pytest.raises(SceneError):
        require_upright(RULES, (0, 0, 0), 0.81, 1.0, 0.0)


@pytest.mark.parametrize(
    ("x_m", "stuck"),
    [
        ([0.0] * 9, True),
        ([0.24] * 8 + [0.0], True),
        ([0.25] * 8 + [0.0], False),
        ([0.0] * 4 + [0.26] + [0.0] * 4, False),
        ([5.0] + [0.0] * 8, False),
        ([5.0] + [0.0] * 9, True),
        ([0.0] * 8, False),
    ],
)
def test_robot_that_stays_within_the_distance_for_the_window_is_stuck(x_m, stuck):
    for course in (steps(*((x, 7.0) for x in x_m)), steps(*((7.0, x) for x in x_m))):
        assert is_stuck(RULES, *course) == stuck


def test_stuck_window_includes_the_sample_before_its_start():
    time_s = np.array([0.0, 0.9, 3.0, 5.0])  # the window starts at 1 s
    position_m = np.zeros((4, 3))
    assert is_stuck(RULES, time_s, position_m)
    position_m[1, 0] = 0.3
    assert not is_stuck(RULES, time_s, position_m)
    position_m[:2, 0] = 0.3, 0.0
    assert is_stuck(RULES, time_s, position_m)


@pytest.mark.parametrize(
    ("tilts", "since_s"),
    [
        ([0.9, 0.9], 3.0),
        ([0.0, 0.9, 0.9], 3.5),
        ([0.9, 0.8, 0.9], 4.0),
        ([0.9, 0.9, 0.8], None),
        ([0.9, math.nan, 0.9], 4.0),
    ],
)
def test_tilt_is_counted_from_the_last_upright_sample(tilts, since_s):
    time_s = 3.0 + 0.5 * np.arange(len(tilts))
    assert tilted_since_s(RULES, time_s, np.array(tilts)) == since_s


def test_timeout_reports_the_remaining_distance():
    time_s = np.array([56.0, 58.0, 59.9, 60.0])
    position_m = np.array([[0.0, 0, 0], [2.0, 0, 0], [3.0, 0, 0], [4.0, 0, 0]])
    assert check_termination(RULES, time_s[:-1], position_m[:-1]) is None
    verdict = check_termination(RULES, time_s, position_m)
    assert (verdict.outcome, verdict.detail[:6]) == (Outcome.TIMED_OUT, "6.00 m")


def test_error_texts_contain_the_number_of_the_present_goal():
    rules = TerminationRules(**{**vars(RULES), "further": (Pose2D(1, 0), Pose2D(2, 0))})
    counts = []
    for _ in range(2):
        counts.append((rules.visited, rules.count, rules.goal.x_m, rules.goal_text))
        rules = rules.for_next_goal
    assert counts == [(0, 3, 10.0, "goal 1 of 3"), (1, 3, 1, "goal 2 of 3")]
    assert (rules.goal.x_m, rules.further, rules.goal_text) == (2, (), "goal 3 of 3")
    assert RULES.goal_text == "the goal"
    drive = MapInputs("w", Pose2D(0, 0), (Pose2D(1, 0), Pose2D(2, 0)))
    assert [(a.x_m, b.x_m) for a, b in drive.legs] == [(0, 1), (1, 2)]
    names = [drive.named(pose) for pose in (drive.start, *drive.goals)]
    assert names == ["robot.start", "goal 1 of 2", "goal 2 of 2"]
    assert drive._replace(goals=(Pose2D(1, 0),)).named(Pose2D(1, 0)) == "goal"


@pytest.mark.parametrize(
    ("normal_z", "height_m", "rests"),
    [(0.9, 1.05, True), (-0.9, 1.05, True), (0.89, 1.0, False), (1.0, 1.06, False)],
)
def test_level_contacts_up_to_five_centimeters_high_support_the_robot(normal_z, height_m, rests):
    normal = (math.sqrt(1.0 - normal_z**2), 0.0, normal_z)
    contact = Contact(0.0, "robot::l::c", "sheet::l::c", ((0.0, 0.0, height_m),), (normal,))
    partner = ContactClassifier("robot", []).partner(contact, robot_bottom_m=1.0)
    assert partner == (None if rests else "sheet")


def test_contacts_up_to_half_a_second_after_each_other_are_one_episode():
    log = EpisodeLog()
    for time_s in (1.0, 1.5, 1.25, 2.0, 2.75):
        log.touch(time_s, "box", time_s, "contact")
    found = [(one.start_s, one.end_s, one.speed_mps) for one in log.episodes]
    assert found == [(1.0, 2.0, 1.0), (2.75, 2.75, 2.75)]


LEVELS = """<sdf version="1.6"><world name="w">
<model name="slope"><static>1</static><pose>1 2 3 0 0 0</pose><link name="l"><collision name="c">
  <geometry><plane><normal>-0.6 0 0.8</normal></plane></geometry></collision></link></model>
<model name="wall"><static>1</static><link name="l"><collision name="c">
  <geometry><plane><normal>1 0 0</normal></plane></geometry></collision></link></model>
<model name="floor"><static>1</static><pose>0 0 -1 0 0 0</pose><link name="l"><collision name="c">
  <geometry><box><size>9 9 0.02</size></box></geometry></collision></link></model>
<model name="pit"><static>1</static><pose>0 0 -7 0 0 0</pose><link name="l"><collision name="c">
  <geometry><sphere><radius>0.5</radius></sphere></geometry></collision></link></model>
</world></sdf>"""


def levels(text):
    return LowestLevels(read_scene(SdfDocument.parse(text, "w.world")))


def test_lowest_level_is_the_local_plane_or_the_lowest_shape():
    found = levels(LEVELS)
    assert found.bottom_m(1.0, 2.0) == pytest.approx(-7.5)
    assert found.bottom_m(-99.0, 2.0) == pytest.approx((3.0 - 0.6 * 99.0) / 0.8)
    slope = levels(LEVELS[: LEVELS.index('<model name="floor">')] + "</world></sdf>")
    assert slope.bottom_m(1.0, 2.0) == pytest.approx((3.0 + 0.6) / 0.8)
    assert slope.floor_m(5.0, 8.0) == pytest.approx((3.0 + 0.6 * 5.0) / 0.8)
    assert slope.floor_m(-3.0, 2.0) == pytest.approx((3.0 - 0.6 * 3.0) / 0.8)
    empty = levels('<sdf version="1.6"><world name="w"/></sdf>')
    assert empty.bottom_m(0.0, 0.0) == empty.floor_m(0.0, 0.0) == -math.inf


def recording(simulated_s, wall_s):
    samples = 2 if simulated_s else 1
    zeros = np.zeros((samples, 3))
    return Recording(
        time_s=np.array([5.0, 5.0 + simulated_s])[:samples],
        pose=zeros,
        twist=zeros,
        command=zeros[:, :2],
        clearance_m=zeros[:, 0],
        cycle_time_s=np.empty(0),
        cycle_cpu_s=np.empty(0),
        wall_time_s=wall_s,
    )


def test_trial_below_the_parallel_real_time_factor_is_repeated_alone():
    spec = SimpleNamespace(limits=SimpleNamespace(min_parallel_real_time_factor=2.0))
    assert low_real_time_factor(spec, recording(4.0, 4.0)) == 1.0
    assert low_real_time_factor(spec, recording(4.0, 2.0)) is None
    assert low_real_time_factor(spec, recording(4.0, math.nan)) is None


@pytest.mark.parametrize(
    ("simulated_s", "wall_s", "least", "shown"),
    [(7.97, 10.0, 0.8, "0.79"), (8.0, 10.0, 0.8, ""), (0.0, 10.0, 0.8, ""),
     (1.0, 10.0, None, ""), (1.0, math.nan, 0.8, "")],
)  # fmt: skip
def test_trial_on_a_stack_below_its_real_time_factor_is_invalid(simulated_s, wall_s, least, shown):
    spec = SimpleNamespace(least_real_time_factor=least)
    cause = low_factor_cause(spec, recording(simulated_s, wall_s))
    assert (f"{shown}, below" in cause) if shown else cause == ""
    assert is_low_factor_cause(cause) == bool(shown)


def test_displayed_real_time_factor_below_the_limit_is_rounded_down():
    found = short_recording()
    slow = dataclasses.replace(found, wall_time_s=found.duration_s / 0.797)
    cause = low_factor_cause(SimpleNamespace(least_real_time_factor=0.8), slow)
    assert cause.startswith("real-time factor 0.79, below stack.min_real_time_factor = 0.8: ")


def test_nearby_pose_is_free_if_its_motion_is_less_than_the_clearance():
    free = FreeSpace(Pose2D(1.0, 1.0, 3.1), 0.5, 0.5)
    assert free.contains(Pose2D(1.0, 1.0, 3.1))
    assert free.contains(Pose2D(1.3, 1.39, 3.1))  # 0.492 m
    assert not free.contains(Pose2D(1.3, 1.4, 3.1))  # 0.5 m
    turned = 3.1 + 0.9 - 2 * math.pi  # 0.9 rad at 0.5 m: 0.45 m
    assert free.contains(Pose2D(1.04, 1.0, turned))
    assert not free.contains(Pose2D(1.06, 1.0, turned))


def test_outcomes_have_the_documented_properties():
    def having(name):
        return {one.value for one in Outcome if getattr(one.declaration, name)}

    assert having("success") == {"reached"}
    assert having("crash") == {"collided", "tipped_over"}
    assert having("rare") == {"tipped_over", "left_road", "false_arrival", "failed"}
    everything = {one.value for one in Outcome}
    assert everything - having("valid") == {"invalid"}
    assert everything - having("terminal") == {"timed_out", "stuck"}
    assert Outcome("tipped_over").label == "tipped over"
    assert (Outcome.TIPPED_OVER.heading, Outcome.STUCK.heading) == ("tipped", "stuck")


def test_dataclasses_of_trials_are_frozen():
    assert mutable_dataclasses(trial) == []
