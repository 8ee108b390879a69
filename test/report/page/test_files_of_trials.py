"""Links of the page to the logs and bags of trials."""

import dataclasses

import pytest
from scripted import record

from gz_testauto.report.page.page import files_of_trials
from gz_testauto.report.sources import Source
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.opened import OpenedResults


@pytest.fixture
def directory(tmp_path):
    listed = {
        "w--a b--0": "100.5 w--a b--0\n140.0 w--c--0\n",  # a warm run
        "w--a b--0.2": "120.0 w--a b--0\n",
        "damaged": "x w--d--0\n\n99 \nnan w--c--0\n",
    }
    for name, lines in listed.items():
        (tmp_path / "out" / "logs" / name).mkdir(parents=True)
        (tmp_path / "out" / "logs" / name / "trials.txt").write_text(lines)
    (tmp_path / "out" / "logs" / "w--d--0").mkdir()
    (tmp_path / "out" / "bags").mkdir()
    (tmp_path / "out" / "bags" / "w--c--0.bag").touch()
    return tmp_path / "out"


def of(directory, page_directory, planner, world="w", **changed):
    source = dataclasses.replace(Source.of(OpenedResults(directory), [planner]), **changed)
    return files_of_trials([source], page_directory)(record(world=world, planner=planner))


def test_trial_links_the_logs_of_its_last_attempt_and_its_bag(directory):
    assert of(directory, directory, "a b") == {"logs": "logs/w--a%20b--0.2"}
    assert of(directory, directory, "c") == {"logs": "logs/w--a%20b--0", "bag": "bags/w--c--0.bag"}
    assert of(directory, directory, "d") == {}


def test_links_are_relative_to_the_directory_of_the_page(directory, tmp_path):
    (tmp_path / "pages").mkdir()
    links = of(directory, tmp_path / "pages", "c")
    assert links["bag"] == "../out/bags/w--c--0.bag"
    assert (tmp_path / "pages" / links["bag"]).is_file()


def test_trial_of_a_compared_campaign_has_the_files_of_its_own_names(directory):
    renamed = {"planners": {"c (new)": "c"}, "worlds": {"shown": "w"}}
    links = of(directory, directory, "c (new)", world="shown", **renamed)
    assert links["bag"] == "bags/w--c--0.bag"


def test_page_from_a_server_has_no_links(directory):
    assert of(directory, None, "c") == {}


def test_results_without_logs_have_no_log_directories(tmp_path):
    assert CampaignDirectory(tmp_path).log_directories() == {}
