"""The examples for real robots, on the real gazebo_ros and move_base, where these are installed.

What ``test_stack_campaign.py`` asks of this package's own nodes as a stack is asked here of the
users'.
"""

import os
import uuid
from pathlib import Path

import numpy as np
import pytest
import rospkg
from graph import MARK, marked_processes

from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.simulator import chosen_executor
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load, parse
from gz_testauto.trial.launch_files import check_launches
from gz_testauto.trial.plan import TrialSelection

CONFIG = Path(__file__).resolve().parents[3] / "config"
NEEDED = {
    "turtlebot3": ("turtlebot3_description", "turtlebot3_navigation", "dwa_local_planner", "amcl"),
    "urdf_robot": ("move_base", "dwa_local_planner", "fake_localization", "map_server", "xacro"),
}


@pytest.fixture(params=sorted(NEEDED))
def campaign(request):
    """The file of one of the examples."""
    return CONFIG / request.param / "campaign.yaml"


def require_packages(campaign):
    """Skip, with the reason, where the example's packages are not installed."""
    for package in NEEDED[campaign.parent.name]:
        try:
            rospkg.RosPack().get_path(package)
        except rospkg.ResourceNotFound:
            pytest.skip(f"no ROS package {package} here: install ros-noetic-navigation, turtlebot3")


@pytest.mark.gazebo_ros
@pytest.mark.parametrize("run", ["fresh", "warm"])
def test_two_parameter_sets_give_valid_trials_and_leave_no_process(
    campaign, run, tmp_path, monkeypatch
):
    require_packages(campaign)
    mark = uuid.uuid4().hex
    monkeypatch.setenv(MARK, mark)
    text = campaign.read_text().replace("run: fresh", f"run: {run}")
    cap = "max_real_time_factor: 1.0\n"  # a machine that is busy with other tests has less
    text = text.replace(cap, f"{cap}  min_real_time_factor: 0.3\n")
    spec = parse(text, CampaignSpec, campaign)
    out = tmp_path / "out"
    results = run_campaign(
        spec, out, chosen_executor(spec, out), selection=TrialSelection(worlds=1)
    )
    assert [record.outcome.valid for record in results.trials] == [True, True]
    for record in results.trials:
        assert record.metrics["global_plans"] > 0
        assert record.metrics["local_plan_m"] > 0.0
        assert record.metrics["real_time_factor"] > spec.stack.min_real_time_factor
    assert set(marked_processes(mark)) == {os.getpid()} & set(marked_processes(mark))


EVERYTHING = """
actors:
  - {name: guard, behavior: patrol, waypoints_m: [[-4, 4.2], [4, 4.2]], speed_mps: 0.8}
  - {name: passer, behavior: flow, waypoints_m: [[-4, -4.2], [-3, -4.2]], absence_s: 0.5}
  - {name: walker, behavior: wander, region: {rectangle: {x_m: [-2, 4], y_m: [2.9, 3.4]}}}
  - {name: crowd, behavior: social_force, region: {rectangle: {x_m: [-2, 4], y_m: [-3.4, -2.9]}}}
  - {name: crosser, behavior: cross, start: {x_m: 2, y_m: -4.3}, goal_m: [4, -4.3],
     trigger_distance_m: 12}
  - {name: timer, behavior: script, waypoints_m: [[-4.4, -3], [-4.4, 3]], speed_mps: 0.5}
  - {name: shadow, behavior: follow, start: {x_m: 4.4, y_m: 2}, target: guard, distance_m: 1.0}
  - {name: hatch, behavior: door, pose: {x_m: 4.4, y_m: -1.5, yaw_rad: 1.57},
     size_m: [0.8, 0.08, 1.0], trigger: crosser, trigger_distance_m: 12}
randomize:
  - {name: lamp, term: light, select: {names: ".*"}, set: [0.2, 1.0]}
  - {name: fall, term: gravity, set: [9.0, 9.4]}
  - {name: gust, term: push, select: {names: "urdf_robot::base_footprint"}, set: 2,
     when: {every_s: 2}}
  - {name: shift, term: pose, select: {names: "guard"}, add: 0.001, when: {every_s: 50}}
"""


@pytest.mark.gazebo_ros
def test_all_actors_and_terms_of_stacks_work_in_each_warm_trial(tmp_path):
    pytest.importorskip("gz_testauto.extras.roads", reason="needs the behavior flow")
    campaign = CONFIG / "urdf_robot" / "campaign.yaml"
    require_packages(campaign)
    text = campaign.read_text().replace("run: fresh", "run: warm")
    cap = "max_real_time_factor: 1.0\n"  # a machine that is busy with other tests has less
    text = text.replace(cap, f"{cap}  min_real_time_factor: 0.1\n  max_truth_gap_s: 5.0\n")
    spec = parse(text + EVERYTHING, CampaignSpec, campaign)
    out = tmp_path / "out"
    run_campaign(spec, out, chosen_executor(spec, out), selection=TrialSelection(worlds=1))
    with ResultStore.read(CampaignDirectory(out)) as store:
        results = store.results()
        recordings = [store.trajectory(record) for record in results.trials]
    assert [record.outcome.valid for record in results.trials] == [True, True]
    for name in ("drawn_lamp", "drawn_fall"):
        assert len({record.metrics[name] for record in results.trials}) == 1
    for recording in recordings:
        moved = {
            name: np.nanmax(np.ptp(recording.series[f"actor_{name}"], axis=0)[:2])
            for name in ("guard", "walker", "crowd", "crosser", "timer", "shadow", "hatch")
        }
        assert min(moved.values()) > 0.3, moved
        guard = recording.series["actor_guard"]
        assert guard[0] == pytest.approx((-4.0, 4.2, 0.0), abs=0.1)
        is_present = np.isfinite(recording.series["actor_passer"][:, 0]).astype(int)
        assert (np.diff(is_present) == 1).any() and (np.diff(is_present) == -1).any()


def test_launch_files_of_the_examples_exist_and_declare_their_arguments(campaign):
    spec = load(campaign, CampaignSpec)
    simulator = spec.stack.simulator
    assert (simulator.package, str(simulator.file)) == ("gazebo_ros", "empty_world.launch")
    # gazebo_ros can be missing here; all other files are next to the campaign.
    ours = spec.stack.model_copy(update={"simulator": spec.stack.robot})
    check_launches(spec.model_copy(update={"stack": ours}))
