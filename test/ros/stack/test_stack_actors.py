"""Actors and randomization in trials on a user's stack, in which time is not held.

The stack is this package's simulator node and planner node, as in ``test_stack_campaign.py``.
"""

import re
from pathlib import Path

import numpy as np
import pytest

from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.simulator import chosen_executor
from gz_testauto.cli.main import main
from gz_testauto.planners import PLANNERS
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import parse
from gz_testauto.trial.outcome import Outcome
from gz_testauto.trial.plan import TrialSelection

pytest.importorskip("gz_testauto.extras.roads", reason="needs the behavior flow")

EXAMPLE = Path(__file__).resolve().parents[3] / "config" / "own_stack_campaign.yaml"

ACTORS = """
actors:
  - {name: guard, behavior: patrol, waypoints_m: [[-3, 2.5], [3, 2.5]], speed_mps: 0.8}
  - {name: passer, behavior: flow, waypoints_m: [[-3, -2.7], [-2, -2.7]], absence_s: 0.5}
  - {name: guest, behavior: script, waypoints_m: [[3, 3.3], [1, 3.3]], appear_s: 1, leave_s: 3}
randomize:
  - {name: lamp, term: light, select: {names: ".*"}, set: [0.2, 1.0]}
  - {name: fall, term: gravity, set: [9.7, 9.9]}
  - {name: gust, term: push, select: {names: "robot::base"}, set: 2, when: {every_s: 2}}
  - {name: shift, term: pose, select: {names: "guard"}, add: 0.001, when: {every_s: 50}}
"""

pytestmark = [pytest.mark.ros, pytest.mark.slow]


def example():
    """The example with limits for a busy machine."""
    text = EXAMPLE.read_text().replace("min_real_time_factor: 0.2", "min_real_time_factor: 0.02")
    return text.replace("max_truth_gap_s: 2.0", "max_truth_gap_s: 20.0")


@pytest.mark.timeout(300)
def test_actors_move_appear_and_disappear_and_restart_in_each_trial(tmp_path):
    text = example().replace("run: fresh", "run: warm") + ACTORS
    spec = parse(text, CampaignSpec, EXAMPLE)
    out = tmp_path / "out"
    run_campaign(spec, out, chosen_executor(spec, out), selection=TrialSelection(worlds=1))
    with ResultStore.read(CampaignDirectory(out)) as store:
        results = store.results()
        recordings = [store.trajectory(record) for record in results.trials]
    assert [record.outcome for record in results.trials] == [Outcome.COLLIDED, Outcome.REACHED]
    assert results.invalid_attempts == ()
    for name in ("drawn_lamp", "drawn_fall"):
        assert len({record.metrics[name] for record in results.trials}) == 1
    for recording in recordings:
        guard = recording.series["actor_guard"]
        assert guard[0] == pytest.approx((-3.0, 2.5, 0.0), abs=0.01)
        passed_s = np.diff(recording.time_s)
        speeds = np.hypot(*np.diff(guard[:, :2], axis=0).T) / passed_s
        assert np.median(speeds) == pytest.approx(0.8, abs=0.02)
    guest, time_s = recordings[1].series["actor_guest"], recordings[1].time_s
    present_s = time_s[np.isfinite(guest[:, 0])]
    assert 1.0 < present_s[0] < 1.5
    assert 2.5 < present_s[-1] < 3.2
    assert guest[time_s == present_s[0], 0] == pytest.approx(3.0, abs=0.2)
    there = np.isfinite(recordings[1].series["actor_passer"][:, 0]).astype(int)
    assert there[0] == 0
    assert (np.diff(there) == 1).sum() >= 2
    assert (np.diff(there) == -1).sum() >= 1


TRAFFIC = """
actors:
  - {name: guard, behavior: patrol, waypoints_m: [[-3, 2.5], [3, 2.5]], speed_mps: 0.8}
tracking: {prediction: constant_velocity}
road:
  lanes: [{name: way, center_m: [[-4, 0], [4, 0]], width_m: 4.0}]
  route: [way]
"""


@pytest.mark.skipif("sst" not in PLANNERS.names(), reason="the extra sst is deleted")
@pytest.mark.timeout(300)
def test_a_stack_receives_the_road_and_tracked_objects(tmp_path):
    told = "[{name: told_mps, topic: /move_base/TebLocalPlannerROS/obstacles, reduce: max,"
    told += " field: 'obstacles[0].velocities.twist.linear.x'}]"
    planner = "{plugin: sst, tracking: true, max_object_age: 0.5, on_road: true}"
    text = (
        example()
        .replace("  names:\n", f"  metrics: {told}\n  names:\n")
        .replace("count: 1, size_x_m: [0.4, 0.8]", "count: 1, size_x_m: [0.2, 0.3]")
        .replace("count: 1, radius_m: [0.2, 0.4]", "count: 1, radius_m: [0.1, 0.2]")
        .replace("  - {name: straight, launch: {args: {plugin: straight}}}\n", "")
        .replace("{plugin: fgm}", planner)
    )
    spec = parse(text + TRAFFIC, CampaignSpec, EXAMPLE)
    out = tmp_path / "out"
    run_campaign(spec, out, chosen_executor(spec, out), selection=TrialSelection(worlds=1))
    with ResultStore.read(CampaignDirectory(out)) as store:
        results = store.results()
        (record,) = results.trials
        recording = store.trajectory(record)
    assert results.invalid_attempts == ()
    assert record.outcome is Outcome.REACHED, record.detail
    # On a busy machine the guard catches up after a late step, so that it is faster than 0.8 m/s.
    speeds_mps = np.diff(recording.series["actor_guard"][:, 0]) / np.diff(recording.time_s)
    assert np.median(speeds_mps[speeds_mps > 0.0]) == pytest.approx(0.8, abs=0.02)
    assert np.abs(speeds_mps - record.metrics["told_mps"]).min() < 0.01
    assert recording.series["lane_0"].shape[1] == 3
    assert record.metrics["lane_error_mean_m"] < 1.0


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        (
            "randomize: [{name: noise, term: scan_noise, set: 0.01}]",
            "randomize 'noise': scan_noise is not supported",
        ),
        (
            'randomize: [{name: floor, term: friction, select: {names: ".*"}, set: 0.5}]',
            r"randomize 'floor': gazebo_ros.*friction of a collision",
        ),
        (
            "robots: [{name: b, start: {x_m: -3, y_m: 2}, goal: {x_m: 3, y_m: 2}}]",
            "own_stack: robots: .* one robot",
        ),
        (
            "actors: [{name: walls, behavior: patrol, waypoints_m: [[-3, 2], [3, 2]]}]",
            "the model 'walls' exists already; rename the actor",
        ),
    ],
)
def test_an_unsupported_change_is_rejected_before_any_process_starts(tmp_path, capsys, entry, says):
    file = tmp_path / "campaign.yaml"
    base = f"base: {EXAMPLE.parents[1]}/worlds"
    file.write_text(EXAMPLE.read_text().replace("base: ../worlds", base) + "\n" + entry + "\n")
    assert main(["run", str(file), "--out", str(tmp_path / "out")]) == 2
    assert re.search(says, " ".join(capsys.readouterr().err.split()))
