"""Comparison of two simulators by equal velocity commands, with the robot of a campaign and a
pushed box."""

import math

import numpy as np
import pytest

from gz_testauto.base.errors import SpecError
from gz_testauto.base.resources import share_directory
from gz_testauto.extras.simulator_comparison.bench.plan import Plan, PlannedRun
from gz_testauto.extras.simulator_comparison.bench.simulator_process import SimulatorRunner
from gz_testauto.extras.simulator_comparison.bench.store import BenchDirectory
from gz_testauto.extras.simulator_comparison.maneuvers import PERIOD_S
from gz_testauto.extras.simulator_comparison.measures.interface import find_measure
from gz_testauto.extras.simulator_comparison.open_loop import open_loop_bench
from gz_testauto.extras.simulator_comparison.recordings.recording import RunRecording, Series
from gz_testauto.extras.simulator_comparison.spec import BenchSpec
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load

CONFIG = share_directory() / "config"


def both(campaign, **robot):
    """Return a campaign in two simulators, with changed limits of the robot."""
    spec = load(CONFIG / campaign, CampaignSpec)
    spec = spec.model_copy(update={"robot": spec.robot.model_copy(update=robot)})
    return [spec.model_copy(update={"simulator": name}) for name in ("gazebo", "embedded")]


def test_open_loop_maneuvers_use_the_speed_limits_of_the_robot():
    limits = {"max_linear_mps": 0.8, "max_angular_radps": 1.2, "max_linear_accel_mps2": 0.7}
    bench = open_loop_bench(*both("smoke_campaign.yaml", **limits))
    assert bench.reference == "gazebo" and not bench.reference_is_robot
    assert [entry.name for entry in bench.ranked] == ["embedded"]
    drives = {one.name: (one.linear_mps, one.angular_radps) for one in bench.maneuvers}
    assert drives == {
        "rest": (0.0, 0.0),
        "straight": (0.8, 0.0),
        "stop": (0.8, 0.0),
        "push": (0.4, 0.0),
        "turn": (0.0, 0.6),
        "circle": (0.4, 0.6),
    }
    assert bench.robot.max_linear_accel_mps2 == 0.7


def test_open_loop_maneuvers_respect_the_steering_limit():
    (first, second) = both("road/pedestrian_campaign.yaml")
    steering = first.robot.steering
    drives = {one.name: one for one in open_loop_bench(first, second).maneuvers}
    assert "turn" not in drives
    radius_m = drives["circle"].linear_mps / drives["circle"].angular_radps
    assert radius_m >= steering.wheelbase_m / math.tan(steering.max_rad)


def test_simulator_without_exact_steps_is_rejected():
    first, second = both("smoke_campaign.yaml")
    ros = second.model_copy(update={"simulator": "gazebo_ros"})
    with pytest.raises(SpecError, match=r"gazebo_ros cannot be stepped by exactly 0.01 s"):
        open_loop_bench(first, ros)


def test_a_step_that_does_not_divide_the_sample_period_is_rejected_before_a_run():
    first, second = both("smoke_campaign.yaml")
    slow = second.model_copy(update={"simulator_options": {"step_s": 0.004}})
    with pytest.raises(SpecError, match=r"step_s of embedded is 0.004 s, .* 0.0025 or 0.005"):
        open_loop_bench(first, slow)


def bench_with(*drives):
    return BenchSpec.model_validate(
        {
            "name": "bench",
            "robot": {"model": share_directory() / "models" / "wheelchair"},
            "terrains": [{"name": "flat", "kind": "flat"}],
            "maneuvers": list(drives),
            "measure_load": False,
            "entries": [{"name": "embedded", "simulator": "embedded"}],
            "weights": {"box_pushed": 1},
        }
    )


@pytest.mark.slow
def test_only_the_push_maneuver_moves_the_box(tmp_path):
    plan = Plan(bench_with("push", {"name": "straight", "duration_s": 2.0}))
    host, directory = SimulatorRunner(), BenchDirectory(tmp_path)
    driven = {}
    for name in ("push", "straight"):
        host.open("embedded", {})
        driven[name] = host.run_maneuver(
            plan.request(PlannedRun("embedded", "flat", name, 0), directory)
        ).recording
    host.end()
    assert driven["straight"].box is None
    robot, box = driven["push"].odometry.values, driven["push"].box
    ways = [np.hypot(*(way - way[0]).T) for way in (robot[:, :2], box.values)]
    assert ways[1][int(0.5 / PERIOD_S)] == pytest.approx(
        0.0, abs=1e-3
    )  # it is in front of the robot
    assert 0.5 < ways[1][-1] < 2.8
    # after the contact they move together
    assert ways[0][-1] - ways[1][-1] == pytest.approx(0.5, abs=0.1)


def test_push_maneuver_on_terrain_with_relief_is_rejected():
    terrains = [{"name": "rough", "kind": "gravel"}]
    data = bench_with("push").model_dump(mode="json")
    with pytest.raises(ValueError, match="push needs a terrain of kind flat"):
        BenchSpec.model_validate({**data, "terrains": terrains})


def test_default_maneuvers_do_not_include_push_and_turn():
    data = bench_with("push").model_dump(mode="json", exclude={"maneuvers"})
    names = [one.name for one in BenchSpec.model_validate(data).maneuvers]
    assert names == ["rest", "straight", "circle", "stop", "s_curve"]


def test_box_measure_is_the_difference_of_displacements():
    def pushed(to_m):
        places = np.linspace([1.0, 2.0], to_m, 10)
        return RunRecording.of("pushed", {"box": Series(np.arange(10.0), places)})

    between = find_measure("box_pushed").between
    assert between(pushed([4.0, 6.0]), pushed([1.0, 2.5])) == pytest.approx(4.5)
