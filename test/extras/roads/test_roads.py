"""Campaigns on roads: cars, planners with tracked objects, and rejected campaigns."""

import numpy as np
import pytest
import yaml
from finished import results

from gz_testauto.analysis.repeatability import compare_recordings
from gz_testauto.base.errors import SpecError
from gz_testauto.base.resources import share_directory
from gz_testauto.cli.main import main
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load

pytestmark = pytest.mark.slow

CONFIG = share_directory() / "config" / "road"


def campaign(tmp_path, **changes):
    """The campaign that comes with the package, with two of its worlds, as a file."""
    data = yaml.safe_load((CONFIG / "pedestrian_campaign.yaml").read_text())
    data["worlds"]["directory"] = str(share_directory() / "worlds")
    data["worlds"]["files"][0]["count"] = 2
    data["robot"]["model"] = str(share_directory() / "models" / "car" / "model.sdf")
    data["road"] = str(CONFIG / "street.yaml")
    data.update(simulator="embedded", **changes)
    written = tmp_path / "pedestrian.yaml"
    written.write_text(yaml.safe_dump(data))
    return written


def run(file, out, *options):
    return main(["run", str(file), "--out", str(out), *options])


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("roads")
    planners = [{"name": "dki_sst", "parameters": {"speed_share": 0.6, "latency_s": 0.3}}, "fgm"]
    file = campaign(folder, planners=planners)
    assert run(file, folder / "alone", "--workers", "1") == 0
    return file, results(folder / "alone")


def test_results_contain_lanes_outlines_and_measures_of_plans(alone):
    trials, recordings = alone[1]
    for record, recording in zip(trials, recordings):
        assert {"lane_0", "lane_1", "footprint", "outline_pedestrian"} <= set(recording.series)
        assert recording.series["lane_0"].shape == (2, 3)
        told = record.metrics
        assert told["lane_error_mean_m"] < 1.0
        assert (told["object_distance_min_m"] > 1e-3) == record.completed  # a contact is within
        assert ("plan_cost" in told) == (record.planner == "dki_sst")
    by_planner = {record.planner: record for record in trials}
    assert by_planner["dki_sst"].completed


def test_trials_on_roads_do_not_depend_on_the_number_of_workers(alone, tmp_path):
    file, (_, recordings) = alone
    assert run(file, tmp_path / "again", "--workers", "2") == 0
    for first, second in zip(recordings, results(tmp_path / "again")[1]):
        assert compare_recordings(first, second).identical


def test_noise_and_delay_of_tracking_change_the_trajectory(alone, tmp_path):
    tracking = {"delay_s": 0.3, "noise": {"position_m": 0.3}, "prediction": "constant_velocity"}
    planners = [{"name": "dki_sst", "parameters": {"speed_share": 0.6, "latency_s": 0.3}}]
    file = campaign(tmp_path, planners=planners, tracking=tracking)
    assert run(file, tmp_path / "out", "--workers", "1") == 0
    trials, recordings = results(tmp_path / "out")
    first = alone[1][1][0]
    assert all(record.outcome.valid for record in trials)
    n = min(len(first.pose), len(recordings[0].pose))
    assert np.abs(first.pose[:n] - recordings[0].pose[:n]).max() > 0.01


def test_a_goal_off_the_route_is_rejected_before_the_first_trial(tmp_path, capsys):
    file = campaign(tmp_path, goal={"x_m": -20.0, "y_m": -1.75, "tolerance_m": 4.0})
    assert run(file, tmp_path / "out") == 2
    assert "goal (-20, -1.75) is not after robot.start" in capsys.readouterr().err


def test_a_road_with_an_unknown_route_is_rejected(tmp_path):
    road = tmp_path / "road.yaml"
    road.write_text("lanes: [{name: a, center_m: [[0, 0], [1, 0]]}]\nroute: [elsewhere]\n")
    with pytest.raises(SpecError, match=r"road\.yaml:2: route: .*'elsewhere'"):
        load(campaign(tmp_path, road=str(road)), CampaignSpec)


def test_the_report_page_shows_lanes_and_moving_objects(alone):
    text = (alone[0].parent / "alone" / "report.html").read_text(encoding="utf-8")
    assert '"lanes":' in text
    assert '"objects":[{"name":"pedestrian"' in text.replace(" ", "")


def test_trajectory_plots_show_lanes_and_moving_objects(alone, tmp_path):
    pytest.importorskip("matplotlib")
    out = alone[0].parent / "alone"
    assert main(["report", str(out), "--plots", str(tmp_path), "--format", "svg"]) == 0
    drawn = (tmp_path / "world_0.svg").read_text()
    assert "#e6e6e6" in drawn  # the road
    assert drawn.count("stroke-dasharray") >= 2  # one trajectory of the pedestrian for each planner
