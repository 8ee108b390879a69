"""The map at the top of the page: lines and symbols by planner and outcome, links, and walls."""

import dataclasses
import re
import sqlite3
import xml.etree.ElementTree as ElementTree
from collections import Counter

import numpy as np
import pytest
import shapely
from page_results import Parsed, make_page, results
from scripted import short_recording
from table_results import store_table

from gz_testauto.report.page import campaign_map as campaign_map_module
from gz_testauto.report.page import page as page_module
from gz_testauto.report.page.campaign_map import (
    MOST_POINTS,
    _dense,
    _places_of_failures,
    campaign_map,
)
from gz_testauto.report.page.encoding import POSITION_M, ShapeTable, thinned_trajectory
from gz_testauto.report.page.page import PAGE, write_final_page
from gz_testauto.report.page.rooms import Rooms
from gz_testauto.results.records import CampaignResults
from gz_testauto.trial.outcome import Outcome

DISC, WALL = shapely.Point(2, 3).buffer(0.4, quad_segs=32), shapely.box(-5, 4, 5, 4.2)
RESULTS = CampaignResults("paper", planners=("fgm",), worlds=(), trials=(), planned=0)


def set_outcomes(out, **outcomes_of_worlds):
    """Store an outcome for the trials of dwa in each of some worlds."""
    with sqlite3.connect(out / "results.sqlite") as connection:
        for world, outcome in outcomes_of_worlds.items():
            connection.execute(
                "UPDATE trials SET outcome = ? WHERE world = ? AND planner = 'dwa'",
                (outcome, world),
            )
    connection.close()


def drawing(html):
    """Return the SVG element of the map."""
    section = html[html.index('<section id="campaign-map">') :]
    return ElementTree.fromstring(re.search(r"<svg.*?</svg>", section, re.DOTALL).group())


def numbers(svg, tag):
    """Count the links that contain an element of a kind, by planner and outcome."""
    return Counter(
        {
            (group.get("data-planner"), group.get("data-outcome")): len(found)
            for group in svg.iter("g")
            if (found := group.findall(f"a/{tag}"))
        }
    )


def content_of(placed_of_worlds, shapes=()):
    """Return the map of worlds with these outlines, each with one trial."""
    trial = {"planner": 0, "repetition": 0, "outcome": 0, **thinned_trajectory(short_recording())}
    blocks = [{"placed": placed, "trials": [trial]} for placed in placed_of_worlds]
    return campaign_map(RESULTS, blocks, shapes)


def walls(placed_of_worlds, shapes):
    return content_of(placed_of_worlds, shapes)["walls"]


def test_map_has_a_line_of_each_trial_and_a_symbol_of_each_failure(tmp_path):
    out = results(tmp_path / "out", ("w0", "w1", "w2"))
    set_outcomes(out, w1="stuck", w2="timed_out")
    html = make_page(out).html
    svg = drawing(html)
    failures = {("1", "collided"): 1, ("1", "stuck"): 1, ("1", "timed_out"): 1}
    assert numbers(svg, "path") == {("0", "reached"): 3, **failures}
    assert numbers(svg, "use") == failures
    symbols = {group.get("id"): group.find("text").text for group in svg.find("defs")}
    assert symbols == {"failure-collided": "✗", "failure-stuck": "■", "failure-timed_out": "○"}
    for use in svg.iter("use"):
        assert use.get("href")[1:] in symbols
        assert (use.get("x"), use.get("y")) == ("190", "0")  # cm; the robot drove 1.9 m
    titles = [link.find("title").text for link in svg.iter("a") if link.find("title") is not None]
    assert titles == ["w0, dwa: collided", "w2, dwa: timed out", "w1, dwa: stuck"]
    assert ".failure.stuck { fill: var(--stop); }" in Parsed(html).scripts["style"]


def test_rooms_and_doors_that_no_trial_used_are_marked_and_listed(tmp_path, monkeypatch):
    rooms = Rooms([(0.0, 0.0)], [(2.5, 3.0), (4.0, 1.0)], [], [(1.0, 1.26)])
    monkeypatch.setattr(campaign_map_module, "find_rooms", lambda *inputs: rooms)
    html = make_page(results(tmp_path / "out")).html
    group = next(one for one in drawing(html).iter("g") if one.get("class") == "unvisited")
    assert [(one.get("cx"), one.get("cy")) for one in group.findall("circle")] == [
        ("250", "-300"),
        ("400", "-100"),
    ]
    assert group.find("path").get("d").startswith("M100 -126m")
    text = " ".join(re.sub("<[^>]*>", "", html).split())
    assert (
        "1 of 3 rooms were entered by a trial, but not those around (2.5, 3.0), (4.0, 1.0) m."
        in text
    )
    assert "0 of 1 doors were passed by a trial, but not those at (1.0, 1.3) m." in text


def test_map_is_the_first_section_of_the_page(tmp_path):
    page = Parsed(make_page(results(tmp_path / "out")).html)
    sections = [attributes.get("id") for tag, attributes in page.elements if tag == "section"]
    assert sections[0] == "campaign-map"
    assert ("a", {"href": "#campaign-map"}) in page.elements


def test_failures_are_counted_by_square_with_the_trials_that_were_there(tmp_path):
    out = results(tmp_path / "out", ("w0", "w1", "w2"))
    set_outcomes(out, w1="stuck", w2="timed_out")
    html = make_page(out).html
    section = html[html.index("<summary>Failures by place") :].split("</details>")[0]
    rows = [re.findall(r"<t[dh].*?>(.*?)</t", row) for row in section.split("<tr>")[1:]]
    names = ["failures of fgm", "failures of dwa"]
    # all six trials drive from x = 0 to 1.9 m, and those of dwa fail there
    assert rows == [["x (m)", "y (m)", "trials", *names], ["1 to 2", "0 to 1", "6", "0", "3"]]


def test_square_of_a_trial_between_two_distant_points_is_counted():
    ends = np.array([[0.5, -0.5], [7.5, -0.5]])
    trials = [(0, {"planner": 0, "outcome": 0}, ends)]
    stuck = list(Outcome).index(Outcome.STUCK)
    trials += [(0, {"planner": 0, "outcome": stuck}, np.array([[3.2, -0.1], [3.2, -0.1]]))]
    assert _places_of_failures(
        RESULTS, trials, [_dense(points_m) for _, _, points_m in trials]
    ) == [(3, -1, 2, [1])]


def test_links_of_the_map_are_those_of_the_table_of_worlds(tmp_path):
    html = make_page(results(tmp_path / "out")).html
    links = {link.get("href") for link in drawing(html).iter("a")}
    assert links == {"#w0p0", "#w0p1", "#w1p0", "#w1p1"}
    table = html[html.index('<table id="matrix">') :]
    assert all(f'<a href="{link}">' in table for link in links)
    assert {"d0", "d1"} <= set(Parsed(html).scripts)
    # the links of the table are those for the keyboard
    assert {link.get("tabindex") for link in drawing(html).iter("a")} == {"-1"}


def test_each_checkbox_of_the_map_has_a_label_and_hides_its_trials(tmp_path):
    html = make_page(results(tmp_path / "out", planners=("fgm", "dwa"))).html
    style, svg = Parsed(html).scripts["style"], drawing(html)
    boxes = re.findall(r'<label><input type="checkbox" id="map-(\w+)-(\w+)" checked> <', html)
    assert boxes == [
        ("planner", "0"),
        ("planner", "1"),
        ("outcome", "reached"),
        ("outcome", "collided"),
    ]
    for key, value in boxes:
        rule = f"#campaign-map:has(#map-{key}-{value}:not(:checked)) [data-{key}='{value}'] "
        assert f"{rule}{{ display: none; }}" in style
        assert any(group.get(f"data-{key}") == value for group in svg.iter("g"))
    assert "fgm (2)" in html and "collided (2)" in html


def test_obstacles_of_all_worlds_are_drawn_once_on_the_map():
    table = ShapeTable()
    placed = [table.place([WALL, shapely.affinity.translate(DISC, i)]) for i in range(3)]
    assert walls(placed, table.shapes) == "M500 -400l0 -20 -1000 0 0 20z"


def test_walls_of_a_world_that_cannot_be_read_remain():
    table = ShapeTable()
    assert walls([table.place([WALL]), []], table.shapes).count("M") == 1


def test_map_of_one_world_has_all_its_obstacles():
    table = ShapeTable()
    path = walls([table.place([WALL, DISC])], table.shapes)
    assert path.count("M") == 2 and "zM240 -300l" in path


def test_map_shows_the_walls_around_the_trajectories():
    near, distant = shapely.box(-3, -3, 5, 3).boundary.buffer(0.1), shapely.box(0, 90, 1, 91)
    for wall, box in ((near, (-310, -310, 820, 620)), (distant, (-150, -150, 490, 300))):
        table = ShapeTable()
        assert content_of([table.place([wall])], table.shapes)["box"] == box


def test_map_without_common_obstacles_reports_that_it_draws_none(tmp_path):
    table = ShapeTable()
    assert walls([table.place([WALL]), table.place([DISC])], table.shapes) == ""
    html = make_page(results(tmp_path / "out")).html
    assert "No walls are drawn, since no obstacle is known to be in all worlds." in html


def test_page_without_trajectories_has_no_map(tmp_path):
    rows = "world,planner,outcome,time_s\nw0,a,reached,10\nw0,b,collided,20"
    html = make_page(store_table(rows, tmp_path / "out")).html
    assert '<section id="campaign-map">' not in html and ":has(#map-" not in html


def test_map_of_reached_goals_has_no_symbols(tmp_path):
    out = results(tmp_path / "out", planners=("fgm",))
    html = make_page(out).html
    svg = drawing(html)
    assert numbers(svg, "path") == {("0", "reached"): 2}
    assert not list(svg.iter("use")) and not list(svg.find("defs"))
    assert re.findall(r'id="map-outcome-(\w+)"', html) == ["reached"]


def test_trials_of_worlds_that_are_not_drawn_are_not_on_the_map(tmp_path, monkeypatch):
    out = results(tmp_path / "out", worlds=("w0", "w1", "w2"), planners=("fgm",))
    monkeypatch.setattr(page_module, "MOST_DRAWN", 2)
    write_final_page(out)
    html = (out / PAGE).read_text()
    assert [link.get("href") for link in drawing(html).iter("a")] == ["#w0p0", "#w1p0"]
    assert "2 of 3 trials are drawn." in html


@pytest.mark.parametrize("size_m", [0.001, 0.3])
def test_a_line_has_few_points_and_its_error_is_at_most_the_reported_tolerance(size_m):
    generator = np.random.default_rng(0)
    pose = np.column_stack(
        [np.linspace(0, 20, 400), size_m * generator.normal(size=400), np.zeros(400)]
    )
    recording = dataclasses.replace(
        short_recording(),
        time_s=0.05 * np.arange(400),
        pose=pose,
        twist=np.zeros((400, 3)),
        command=np.zeros((400, 2)),
        clearance_m=np.ones(400),
        series={},
    )
    trial = {"planner": 0, "repetition": 0, "outcome": 0, **thinned_trajectory(recording)}
    content = campaign_map(RESULTS, [{"placed": [], "trials": [trial]}], [])
    (((_, path),),) = (group["lines"] for group in content["groups"])
    steps = np.array(re.findall(r"-?\d+", path), float).reshape(-1, 2).cumsum(axis=0)
    assert len(steps) <= MOST_POINTS
    line = shapely.LineString(steps * (0.01, -0.01))
    distance_m = shapely.hausdorff_distance(shapely.LineString(pose[:, :2]), line)
    assert distance_m <= content["tolerance_cm"] / 100
    if size_m < POSITION_M:
        assert content["tolerance_cm"] <= 6


@pytest.mark.parametrize("samples", [1, 2])
def test_a_robot_that_did_not_move_is_a_dot(samples):
    trial = {
        "planner": 0,
        "repetition": 0,
        "outcome": 0,
        "path": [[0] * samples, [1000] + [0] * (samples - 1), [500] + [0] * (samples - 1), [0]],
    }
    content = campaign_map(RESULTS, [{"placed": [], "trials": [trial]}], [])
    assert content["groups"][0]["lines"] == [("#w0p0", "M100 -50l0 0")]


def test_map_has_a_scale_of_a_round_length(tmp_path):
    svg = drawing(make_page(results(tmp_path / "out")).html)
    (scale,) = (group for group in svg.iter("g") if group.get("class") == "scale")
    assert svg.get("viewBox") == "-150 -150 490 300"  # a quarter of 4.9 m is 1.2 m
    assert (scale.find("path").get("d"), scale.find("text").text) == ("M0 0h100", "1 m")


def test_map_names_the_repetitions_of_a_trial(tmp_path):
    out = results(tmp_path / "out")
    with sqlite3.connect(out / "results.sqlite") as connection:
        connection.execute("UPDATE trials SET repetition = 1 WHERE planner = 'dwa'")
    connection.close()
    assert "world_0000, dwa #1: collided" in make_page(out).html
