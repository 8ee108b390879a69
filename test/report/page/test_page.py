"""The page as text: its content, and content of results that must not become active."""

import base64
import hashlib
import html
import json
import os
import re
import sqlite3
import time

import pytest
from page_results import HOSTILE, Parsed, make_page, results
from scripted import record
from table_results import store_table

from gz_testauto.analysis.comparison import PairedCounts, rate_difference
from gz_testauto.analysis.overview import analyze
from gz_testauto.base.errors import ResultsError
from gz_testauto.cli.main import main
from gz_testauto.metrics.traffic import lane_departure_share
from gz_testauto.report.page import page as page_module
from gz_testauto.report.page.page import PAGE, write_final_page
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.records import AttemptRecord
from gz_testauto.results.store import ResultStore, load_campaign
from gz_testauto.spec.campaign import StopSpec
from gz_testauto.trial.outcome import Outcome


@pytest.mark.slow
def test_names_and_messages_of_results_are_escaped(tmp_path):
    out = results(tmp_path / "out", (f"w{HOSTILE}", "plain"), ("fgm", f"p{HOSTILE}"), HOSTILE)
    directory = CampaignDirectory(out)
    with ResultStore.open(directory) as store:
        lost = record(
            9,
            world="plain",
            world_index=1,
            repetition=1,
            outcome=Outcome.INVALID,
            detail=HOSTILE,
            trajectory="",
        )
        store.finish(lost)
        store.add_invalid_attempt(AttemptRecord(9, 1, HOSTILE, 1.0, ""))
    text = make_page(out).html
    page = Parsed(text)
    clean = Parsed(make_page(results(tmp_path / "clean")).html)
    tags, clean_tags = ({tag for tag, _ in one.elements} for one in (page, clean))
    assert tags - clean_tags <= {"caption"}
    assert set(page.scripts) == {"script", "style", "data", "d0", "d1"}
    assert "alert" not in page.scripts["script"] and "49" not in page.text.split("Reproduce")[0]
    assert not [name for _, found in page.elements for name in found if name.startswith("on")]
    for said in (f"w{HOSTILE}", f"p{HOSTILE}", HOSTILE):
        assert said in page.text
    assert json.loads(page.scripts["data"])["worlds"][0]["name"] == f"w{HOSTILE}"
    assert HOSTILE in json.loads(page.scripts["d0"])["trials"][1]["contacts"][0][1]


def test_share_of_time_off_the_road_is_in_the_first_table_of_the_page(tmp_path):
    out = results(tmp_path / "out", later=("world_0002",))
    assert ">off road<" not in make_page(out).html
    metrics = {"spl": 1.0, "lane_departure_share": 0.936}
    ended = record(4, world="world_0002", world_index=2, trajectory="", metrics=metrics)
    with ResultStore.open(CampaignDirectory(out)) as store:
        store.declare([lane_departure_share])
        store.finish(ended)
    table = make_page(out).html.split('<section id="rates">')[1].split("</table>")[0]
    heading, *rows = table.split("<tbody>")
    columns = re.findall(r'<th scope="col"[^>]*>([^<]*)<', heading)
    cells = [re.findall("<td[^>]*>([^<]*)<", row) for row in rows[0].split("</tr>")]
    position = columns.index("off road") - 1  # without the heading of the row
    assert cells[0][position] == "93.6 %"
    assert cells[1][position] in ("-", "–")


def test_control_and_bidirectional_characters_in_names_are_escaped(tmp_path):
    out = results(tmp_path / "out", ("w\u202egnp", "a\x1b[2J"), ("fgm", "p\x07"))
    text = make_page(out).html
    assert not {"\u202e", "\x1b", "\x07"} & set(text)
    page = Parsed(text)
    assert r"w\u202egnp" in page.text
    names = [world["name"] for world in json.loads(page.scripts["data"])["worlds"]]
    assert names == [r"w\u202egnp", r"a\x1b[2J"]


def test_policy_allows_only_the_script_of_the_package_and_no_loading(tmp_path):
    page = Parsed(make_page(results(tmp_path / "out")).html)
    policy = next(a["content"] for tag, a in page.elements if "http-equiv" in a)
    for name in ("script", "style"):
        digest = hashlib.sha256(page.scripts[name].encode()).digest()
        assert f"{name}-src 'sha256-{base64.b64encode(digest).decode()}'" in policy
    assert policy.startswith("default-src 'none'")
    loaded = [a.get("src", "") + a.get("href", "") for _, a in page.elements]
    assert [one for one in loaded if not one.startswith(("#", "data:"))] == [""] * loaded.count("")
    assert not [a for _, a in page.elements if "style" in a]


@pytest.mark.slow
def test_page_reports_the_winner_with_interval_and_worlds(tmp_path):
    worlds = [f"world_{i:04d}" for i in range(8)]
    out = results(tmp_path / "out", worlds)
    page = Parsed(make_page(out).html)
    said = " ".join(page.text.split())
    assert "The success rate of fgm was significantly higher than that of dwa." in said
    assert "fgm reached the goal in 8 of 8 worlds, dwa in 0." in said
    interval = rate_difference(PairedCounts(0, 8, 0, 0))
    low, high = 100 * interval.low, 100 * interval.high
    assert f"95 % CI {low:+.1f} to {high:+.1f}, Gaffke" in said
    assert "exact McNemar test, p = 0.008" in said
    assert "Only fgm (8): world_0000 world_0001" in said
    links = [a["href"] for tag, a in page.elements if tag == "a" and "tabindex" not in a]
    cells = [link for link in links if re.fullmatch(r"#w\d+p\d", link)]
    assert cells == [f"#w{world}p{planner}" for world in range(8) for planner in (0, 1)]
    assert "Clopper–Pearson" in said
    assert "simulator 1" in said
    assert "sha256:" in said


@pytest.mark.slow
def test_verdict_of_an_early_stop_has_the_interval_of_the_stopping_test(
    tmp_path,
):
    worlds = [f"world_{i:04d}" for i in range(9)]
    rule = StopSpec(when="decided", alpha=0.2, max_worlds=40)
    later = [f"world_{i:04d}" for i in range(9, 60)]
    out = results(tmp_path / "out", worlds, stop=rule, later=later)
    end = analyze(load_campaign(out).results).early_stop
    assert end.decided
    low, high = 100 * end.pairs[0].difference.low, 100 * end.pairs[0].difference.high
    said = " ".join(Parsed(make_page(out).html).text.split())
    assert "The success rate of fgm was significantly higher than that of dwa." in said
    assert f"80 % CI {low:+.1f} to {high:+.1f}, confidence sequence by betting" in said
    assert "The campaign stopped after 9 of at most 40 worlds" in said
    assert "its result is valid at every number of worlds" in said
    assert "success by the test that ends the campaign" in said


@pytest.mark.slow
def test_only_the_stopping_test_decides_a_pair_of_an_early_stop(tmp_path):
    worlds = [f"world_{i:04d}" for i in range(6)]
    said = []
    for alpha in (0.2, 0.01):
        rule = StopSpec(when="decided", alpha=alpha, equivalence_margin=0.05)
        out = results(tmp_path / f"{alpha}", worlds, stop=rule)
        said.append(Parsed(make_page(out).html).text)
    assert "The success rate of fgm was significantly higher than that of dwa." in said[0]
    assert "The success rates of fgm and dwa did not differ significantly." in said[1]
    assert "99 % CI" in said[1] and "The campaign reached its limit of" in said[1]


def test_page_of_few_worlds_reports_no_significant_difference(tmp_path):
    page = Parsed(make_page(results(tmp_path / "out")).html)
    assert "The success rates of fgm and dwa did not differ significantly." in page.text


def test_a_collision_with_an_unknown_obstacle_is_drawn_at_the_robot(tmp_path):
    page = Parsed(make_page(results(tmp_path / "out")).html)
    (touch,) = json.loads(page.scripts["d0"])["trials"][1]["contacts"]
    assert touch[0] == 1000 and touch[2:] == [0.5, 1.0, 0.0]


def test_the_same_results_give_the_same_bytes(tmp_path):
    out = results(tmp_path / "out")
    assert make_page(out).html == make_page(out).html


def test_a_damaged_or_missing_trajectory_is_reported_and_omitted(tmp_path):
    out = results(tmp_path / "out")
    (out / "trajectories" / "1.npz").write_bytes(b"PK\x03\x04 no more")
    (out / "trajectories" / "2.npz").unlink()
    page = make_page(out)
    assert [re.search(r"[12]\.npz", line).group() for line in page.problems] == ["1.npz", "2.npz"]
    assert all("\n" not in line for line in page.problems)
    parsed = Parsed(page.html)
    trials = [t for block in ("d0", "d1") for t in json.loads(parsed.scripts[block])["trials"]]
    assert ["path" in trial for trial in trials] == [True, False, False, True]
    assert "1.npz" in trials[1]["problem"] and trials[1]["metrics"]
    assert html.escape(page.problems[0]) in page.html


def test_all_missing_worlds_are_named(tmp_path):
    out = results(tmp_path / "out", [f"w{i}" for i in range(12)])
    for path in (out / "trajectories").iterdir():
        path.unlink()
    page = make_page(out)
    assert len(page.problems) == 24 and "and 4 more" in page.html
    said = Parsed(page.html).text
    assert all(problem in said for problem in page.problems)


def test_a_directory_without_results_is_rejected_in_one_line(tmp_path, capsys):
    with pytest.raises(ResultsError, match="no campaign"):
        make_page(tmp_path)
    assert main(["report", str(tmp_path), "--html", str(tmp_path / "page.html")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "page.html").exists()


def test_the_page_is_created_without_a_damaged_manifest(tmp_path):
    out = results(tmp_path / "out")
    (out / "manifest.json").write_text("{")
    page = make_page(out)
    assert "manifest.json" in page.problems[0]
    assert "world_0001" in page.html


def test_a_page_that_cannot_be_created_does_not_fail_the_campaign(tmp_path):
    (said,) = write_final_page(tmp_path)
    assert said.startswith("no page was written: ")


@pytest.mark.slow
def test_campaign_writes_its_report_page_at_the_end(run):
    done = run(lambda trial: Outcome.REACHED)
    assert write_final_page(done.out) == (f"page: {done.out / PAGE}",)
    page = Parsed((done.out / PAGE).read_text())
    said = " ".join(page.text.split())
    assert "The success rates were 100.0 % for straight and 100.0 % for fgm. No planner " in said
    assert "always within 0.25 m of the present position for 10 s" in said
    campaign = json.loads(page.scripts["data"])
    command = {"start": f"gz_testauto replay {done.out}", "worlds": {}}
    assert campaign["replay"] == [{**command, "planner": name} for name in ("straight", "fgm")]
    assert campaign["figures"][0]["heading"] == "density of obstacles"
    assert page.text.count("A length can be less than the shortest path") == 2
    assert page.text.count("–: the drive has ended before the time shown") == 1
    world = json.loads(page.scripts["d0"])
    assert world["start"] == [-3.0, 0.0, 0.0] and world["goals"] == [[3.0, 0.0, 0.5]]
    assert len(world["placed"]) % 3 == 0 and {"r"} in map(set, campaign["shapes"])
    assert len(campaign["footprint"]) >= 3


def test_the_page_of_a_campaign_is_written_again_only_after_a_change(tmp_path):
    out = results(tmp_path / "out")
    page = out / PAGE

    def write_page_again():
        page.write_text("kept")
        os.utime(page, ns=(time.time_ns() + 10**9,) * 2)
        assert write_final_page(out) == (f"page: {page}",)
        return page.read_text() != "kept"

    assert not write_page_again()
    (out / ".lock").write_text("1")
    later_ns = time.time_ns() + 10**10
    os.utime(out / ".lock", ns=(later_ns, later_ns))
    assert not write_page_again()
    for changed_file in (out / "results.sqlite", out / "trajectories"):
        os.utime(changed_file, ns=(later_ns, later_ns))
        assert write_page_again()
        os.utime(changed_file, ns=(0, 0))
    page.unlink()
    write_final_page(out)
    assert page.is_file()


@pytest.mark.slow
def test_a_world_that_has_changed_is_drawn_without_obstacles(run):
    done = run(lambda trial: Outcome.REACHED)
    path = done.out / "worlds" / "world_0001.world"
    path.write_text(path.read_text() + "<!-- changed -->")
    page = make_page(done.out)
    named = [line for line in page.problems if "world_0001" in line]
    assert any("drawn without obstacles" in line and "has changed" in line for line in named)
    scripts = Parsed(page.html).scripts
    assert json.loads(scripts["d0"])["placed"] and not json.loads(scripts["d1"])["placed"]


def test_the_page_of_a_campaign_draws_a_limited_number_of_worlds_failures_first(
    tmp_path, monkeypatch
):
    out = results(tmp_path / "out", worlds=("w0", "w1", "w2"), planners=("fgm",))
    with sqlite3.connect(out / "results.sqlite") as connection:
        connection.execute("UPDATE trials SET outcome = 'collided' WHERE world = 'w2'")
    connection.close()
    monkeypatch.setattr(page_module, "MOST_DRAWN", 2)
    lines = write_final_page(out)
    assert "not on the page: pictures of 1 of 3 worlds; gz_testauto report DIR --html" in lines[-2]
    scripts = Parsed((out / PAGE).read_text()).scripts
    blocks = [json.loads(scripts[name]) for name in ("d0", "d1", "d2")]
    assert ["omitted" in block for block in blocks] == [False, True, False]
    assert [["path" in trial for trial in block["trials"]] for block in blocks] == [
        [True],
        [False],
        [True],
    ]
    assert not any("pictures of" in problem for problem in make_page(out).problems)


@pytest.mark.parametrize(("failures", "is_strong"), [(0, False), (20, True)])
def test_metric_is_emphasized_only_if_the_success_rates_differ(tmp_path, failures, is_strong):
    rows = ["world,planner,outcome,time_s"]
    for world in range(40):
        rows.append(f"w{world},a,reached,10")
        rows.append(f"w{world},b,{'collided' if world < failures else 'reached'},20")
    text = make_page(store_table("\n".join(rows), tmp_path / "out")).html
    assert "time was 10.0 s lower for a than for b" in text
    assert ("<strong>" in text) == is_strong


def test_page_shows_with_arrows_which_values_are_better(tmp_path):
    text = make_page(results(tmp_path / "out")).html
    assert re.search(r'<th scope="col" title="[^"]*">length ↓ \(m\) \*</th>', text)
    assert "↓: smaller values are better" in text
