"""The examples for real robots, on the real gazebo_ros and move_base, where these are installed.

What ``test_stack_campaign.py`` asks of this package's own nodes as a stack is asked here of the
users'.
"""

import os
import uuid
from pathlib import Path

import pytest
import rospkg
from graph import MARK, marked_processes

from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.simulator import chosen_executor
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


def test_launch_files_of_the_examples_exist_and_declare_their_arguments(campaign):
    spec = load(campaign, CampaignSpec)
    simulator = spec.stack.simulator
    assert (simulator.package, str(simulator.file)) == ("gazebo_ros", "empty_world.launch")
    # gazebo_ros can be missing here; all other files are next to the campaign.
    ours = spec.stack.model_copy(update={"simulator": spec.stack.robot})
    check_launches(spec.model_copy(update={"stack": ours}))
