"""Trials whose planner receives an estimated pose: observations, arrival and metrics."""

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scripted import Ahead
from test_trial_monitor import at, monitor

from gz_testauto.actors.localization import as_estimated, compose, inverse
from gz_testauto.base.errors import SpecError
from gz_testauto.base.observation import TrackedObject, Twist2D
from gz_testauto.base.pose import Pose2D
from gz_testauto.randomization.terms import localization_scale
from gz_testauto.spec.loader import parse
from gz_testauto.spec.localization import Localization
from gz_testauto.spec.model import Spec
from gz_testauto.spec.randomize import FaultTerm
from gz_testauto.spec.worlds import RandomNumbers
from gz_testauto.trial.localization import EstimateRecorder, localization_errors
from gz_testauto.trial.lockstep import TrialRobot
from gz_testauto.trial.outcome import Outcome
from gz_testauto.trial.recorder import CycleTimes


def watched(*positions_m, goals=(Pose2D(10, 0),), ahead_m=0.8, tolerance_m=0.5, period_s=0.25):
    """Observe a robot at these positions on the x axis; return the monitor and its verdict."""
    watch = monitor(*goals, estimate=EstimateRecorder(Ahead(ahead_m), tolerance_m))
    verdict = None
    for tick, x_m in enumerate(positions_m):
        assert verdict is None, "the trial ended before the last position"
        verdict = watch.observe(at(period_s * tick, x_m))
    return watch, verdict


def test_arrival_by_the_estimate_alone_is_a_false_arrival_after_one_second():
    _, verdict = watched(8.0, 8.6, *[9.2] * 5)
    assert verdict.outcome is Outcome.FALSE_ARRIVAL
    assert "0.80 m from the goal" in verdict.detail and "(10.00, 0.00)" in verdict.detail


def test_robot_that_reaches_the_goal_within_one_second_of_its_arrival_has_reached():
    _, verdict = watched(8.0, 8.8, 9.0, 9.2, 9.4, 9.5)
    assert verdict.outcome is Outcome.REACHED


def test_arrival_is_final_even_if_the_estimate_leaves_the_goal():
    _, verdict = watched(8.6, 8.8, 8.6, 8.6, 8.6, 8.6)
    assert verdict.outcome is Outcome.FALSE_ARRIVAL
    assert watched(8.6, 8.8, 8.6, 8.6, 8.6)[1] is None


def test_time_of_arrival_starts_again_with_each_goal():
    goals = (Pose2D(9, 0), Pose2D(9.9, 0))
    path_m = (7.4, 7.6, 8.3, 8.6, 8.6, 8.6)
    assert watched(*path_m, goals=goals, ahead_m=1.0)[1] is None


def test_smaller_arrival_tolerance_is_used():
    assert watched(*[8.9] * 6, tolerance_m=0.25)[1] is None
    assert watched(*[9.0] * 5, tolerance_m=0.25)[1].outcome is Outcome.FALSE_ARRIVAL


def test_planner_receives_the_estimate_and_metrics_the_true_pose():
    watch, _ = watched(3.0, 3.1)
    assert watch.pose == Pose2D(3.1, 0.0, 0.0)
    seen = TrialRobot(None, watch, None).observation(at(0.25, 3.1))
    assert seen.pose.x_m == pytest.approx(3.9)
    assert seen.twist == Twist2D(0.3, 0.1)
    recording = watch.result(watch.planner_aborted("test"), CycleTimes()).recording
    assert recording.pose[:, 0].tolist() == [3.0, 3.1]
    assert recording.series["tf"][:, 0] == pytest.approx([3.8, 3.9])
    assert recording.numbers["localization_error_m"] == pytest.approx(0.8)


@pytest.mark.parametrize("ahead_m", [0.8, -0.8, 0.0])
def test_planner_receives_objects_relative_to_the_estimated_pose(ahead_m):
    watch, _ = watched(3.0, 3.1, ahead_m=ahead_m)
    motion = (1.0, 0.0, 0.0), np.zeros((3, 2)), np.zeros((0, 3)), 0.1
    walker = TrackedObject("walker", Pose2D(5.0, 1.0), *motion)
    tracker = SimpleNamespace(objects=(walker,))
    seen = TrialRobot(None, watch, None, tracker=tracker).observation(at(0.25, 3.1))
    assert seen.pose.x_m == pytest.approx(3.1 + ahead_m)
    assert seen.objects[0].pose == pytest.approx((5.0 + ahead_m, 1.0, 0.0))


def test_without_an_estimator_the_robot_knows_its_true_pose():
    watch = monitor()
    watch.observe(at(0.0, 3.0))
    seen = TrialRobot(None, watch, None).observation(at(0.0, 3.0))
    assert (seen.pose, seen.twist) == (watch.pose, watch.twist)
    recording = watch.result(watch.planner_aborted("test"), CycleTimes()).recording
    assert "tf" not in recording.series and not recording.numbers


def test_localization_error_omits_times_without_a_pose():
    truth = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [2.0, 0.0, 1.0]])
    poses = np.array([[0.0, 0.3, 0.0], [2.1, 0.0, 0.0], [math.nan] * 3])
    assert localization_errors(poses, truth) == pytest.approx(
        {
            "localization_error_m": 0.7,
            "localization_error_max_m": 1.1,
            "localization_error_end_m": 1.1,
        }
    )
    unknown = localization_errors(np.full((3, 3), math.nan), truth)
    assert all(math.isnan(value) for value in unknown.values())


def test_pose_and_inverse_compose_to_the_origin():
    pose = Pose2D(1.5, -2.0, 2.5)
    assert compose(pose, inverse(pose)) == pytest.approx((0.0, 0.0, 0.0), abs=1e-15)
    turned = compose(Pose2D(1.0, 2.0, math.pi / 2), Pose2D(3.0, 0.5, 0.25))
    assert turned == pytest.approx((0.5, 5.0, math.pi / 2 + 0.25))


def test_tracked_objects_have_the_same_position_relative_to_the_robot():
    outline, true, estimated = np.zeros((3, 2)), Pose2D(2.0, 1.0, 0.3), Pose2D(2.5, 0.8, 0.7)
    path = np.array([[4.0, 1.0, 0.1], [5.0, 1.5, 0.2]])
    one = TrackedObject("walker", Pose2D(4.0, 1.0, 0.1), (1.0, 0.5, 0.2), outline, path, 0.1)
    (moved,) = as_estimated([one], true, estimated)
    assert compose(inverse(estimated), moved.pose) == pytest.approx(
        compose(inverse(true), one.pose)
    )
    for before, after in zip(path, moved.path):
        assert compose(inverse(estimated), Pose2D(*after)) == pytest.approx(
            compose(inverse(true), Pose2D(*before))
        )
    assert math.hypot(*moved.velocity[:2]) == pytest.approx(math.hypot(1.0, 0.5))
    assert math.atan2(*moved.velocity[1::-1]) == pytest.approx(math.atan2(0.5, 1.0) + 0.4)


class Localized(Spec):
    localization: Localization = None


def localized(text):
    return parse(f"localization: {text}", Localized, Path("campaign.yaml")).localization


def test_name_of_an_estimate_is_sufficient():
    assert localized("truth") == localized("{estimate: truth}") and localized("truth").is_true


@pytest.mark.parametrize("text", ["driftt", "{estimate: driftt}"])
def test_unknown_estimate_is_rejected_with_its_line(text):
    with pytest.raises(SpecError, match=r"campaign.yaml:1: localization.*'driftt'.*truth"):
        localized(text)


def test_key_of_another_estimate_is_rejected():
    with pytest.raises(SpecError, match="localization: unknown key 'rate_hz'"):
        localized("{estimate: truth, rate_hz: 1}")


def scale_of(*terms, world=0, repetition=0):
    specs = [FaultTerm.model_validate(one) for one in terms]
    return localization_scale(specs, RandomNumbers(seed=3, world=world, repetition=repetition))


def test_terms_scale_all_errors_of_the_localization():
    term = {"name": "error", "term": "localization_error", "set": [0.5, 2.0]}
    noise = {"name": "noise", "term": "scan_noise", "set": 3.0}
    drawn = scale_of(term, noise)
    assert 0.5 < drawn < 2.0
    assert scale_of(noise) == 1.0
    assert scale_of(term, {**term, "name": "other", "set": 3.0}) == 3.0 * drawn
    assert scale_of(term, repetition=1) != drawn
    each_world = {**term, "when": "world"}
    assert (
        scale_of(each_world, repetition=1) == scale_of(each_world) != scale_of(each_world, world=1)
    )
