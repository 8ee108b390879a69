"""What a stranger reads of a comparison, on a terminal and on the page: who won, how sure that is,
what would change it, and what all of it rests on."""

import dataclasses
import html.parser
import io
import json
import re

import pytest
from benches import CASES, TOLD, find_without_reading, paper, recorded, simulated, told_of

from gz_testauto.extras.simulator_comparison.estimates import Measured
from gz_testauto.extras.simulator_comparison.findings import as_data, find
from gz_testauto.extras.simulator_comparison.recordings.align import Length
from gz_testauto.extras.simulator_comparison.report.page import page_html, write_page
from gz_testauto.extras.simulator_comparison.report.sentences import baseline_lines, relative
from gz_testauto.extras.simulator_comparison.report.terminal import print_findings
from gz_testauto.extras.simulator_comparison.run_conditions import GroundProbeSummary, InvalidRun
from gz_testauto.extras.simulator_comparison.sensitivity import WeightChange
from gz_testauto.extras.simulator_comparison.spec import BenchSpec
from gz_testauto.report.plain import report_console


def printed(found):
    """The terminal's text, its lines not longer than a terminal's."""
    text = io.StringIO()
    print_findings(found, report_console(text))
    assert max(map(len, text.getvalue().splitlines())) <= 80
    return text.getvalue()


class Page(html.parser.HTMLParser):
    """Text of a page outside of its style."""

    def __init__(self, text):
        super().__init__()
        self.words, self.elements, self._style = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self._style = tag == "style"

    def handle_data(self, data):
        if not self._style:
            self.words.append(data)

    @property
    def said(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def of_paper():
    return paper()


@pytest.fixture(scope="module")
def both(of_paper):
    """The paper's report as terminal and page have it, each in one line."""
    return " ".join(printed(of_paper).split()), Page(page_html(of_paper)).said


@pytest.mark.slow
@pytest.mark.parametrize(
    "said",
    [
        "The winner changes: by the printed scores coppeliasim has the greatest total, by the "
        "measurements and rules gazebo.",
        "coppeliasim has the greatest total, but with weights within ±20 % it is first in 51.3 % "
        "of draws, gazebo in 48.7 %; 95 % are needed.",
        "gazebo has the greatest total, but with weights within ±20 % it is first in 60.3 % of "
        "draws, coppeliasim in 39.7 %; 95 % are needed.",
        "imu_linear_error from 10 to 9.955 (−0.45 %) makes gazebo first.",
        "imu_linear_error from 10 to 10.479 (+4.8 %) makes coppeliasim first.",
        "Tables 6 and 8, coppeliasim straight over gravel: the printed means and ranges give "
        "1.237 rad/s by equation (7), as printed.",
        "Tables 7 and 9, coppeliasim straight over gravel: the printed means and ranges give "
        "23.43 m/s² by equation (7); 23.19 m/s² is printed.",
        "Nothing was measured here: values are quoted",
        "Published values have no interval and are taken as they are.",
        "coppeliasim 49.100 51.3 % 26.2 %",
        "gazebo 49.087 48.7 % 39.2 %",
        "morse 32.145 0.0 % 0.0 %",
        "webots 44.226 0.0 % 34.6 %",
        "coppeliasim 49.094 39.7 % 26.8 %",
        "gazebo 49.224 60.3 % 41.0 %",
        "morse 31.629 0.0 % 0.0 %",
        "webots 43.485 0.0 % 32.2 %",
        "Farley et al. 2022, Table 3; 2022-11-01",
    ],
)
def test_the_paper_s_report_says_what_follows_from_its_numbers(both, said):
    for text in both:
        assert said in text


def test_no_winner_is_said_of_either_ranking(both):
    for text in both:
        assert text.count("No winner.") == 2


@pytest.fixture(scope="module")
def of_simulators():
    return told_of()


@pytest.fixture(scope="module")
def of_both(of_simulators):
    return " ".join(printed(of_simulators).split()), Page(page_html(of_simulators)).said


@pytest.mark.slow
@pytest.mark.parametrize(
    "said",
    [
        "Measured against the real robot's recordings, real.",
        "lost is first by what is known of all, but what is not known could change that: "
        "imu_linear_error of lost; gain of lost.",
        "imu_linear_error does not count: not known of lost.",
        "Totals, whatever would be scored in what does not count: near ",
        "not measured: gravel/s_curve was not driven",
        "ties with the reference",
        "the reference's own repetitions",
        "near: gazebo 11.10.2 (engine: ode)",
        "sunk is not ranked: its ground gravel is refused.",
        "sunk on gravel: the surface is 13.0 mm off",
        "13.00 mm",
        "0.40 mm",
        "lost, gravel/s_curve, repetition 3 is invalid: the robot is more than 0.15 m below the "
        "ground.",
        "Others used 34 % of the machine while loads were measured.",
        "its page; 2026-11-01",
        "noise_density (no drive of the reference is for it).",
        "Intervals, 95 %: bootstrap over repetitions",
    ],
)
def test_a_report_of_drives_says_what_was_compared_and_what_was_left_out(of_both, said):
    terminal, page = of_both
    assert said in terminal
    # a table has the entry in a cell of its own
    assert said.replace("near: gazebo", "near gazebo") in page


def test_totals_and_the_lead_have_intervals_where_measurements_have(of_simulators, of_paper):
    table = printed(of_simulators)
    assert re.search(r"^loud +2\.\d+ \[2\.\d+, 2\.\d+\] ", table, re.MULTILINE)
    assert re.search(r"lost leads loud by 0\.\d+ \[0\.\d+, 0\.\d+\] of 3", table)
    assert "95 %\n" not in printed(of_paper)


def test_without_a_real_robot_it_is_called_agreement(of_simulators):
    spec = of_simulators.spec.model_copy(update={"reference_is_robot": False})
    told = dataclasses.replace(of_simulators, spec=spec)
    for text in (printed(told), Page(page_html(told)).said):
        assert "this is agreement with it, not accuracy" in " ".join(text.split())
        assert "real robot" not in text


@pytest.mark.slow
def test_seven_entries_with_long_names_fit_a_terminal():
    names = ("near", *(f"a_simulator_with_option_{number}" for number in range(6)))
    text = printed(simulated(names, repetitions=1))
    for name in names:
        assert name in text.replace("\n", "")


def test_the_page_names_how_to_make_it_again_and_what_was_asked_for(of_simulators, tmp_path):
    folder = tmp_path / "of today"
    folder.mkdir()
    write_page(of_simulators, folder / "report.html")
    page = Page((folder / "report.html").read_text(encoding="utf-8"))
    assert f"gz_testauto simulators report '{folder}'" in page.said
    assert f"gz_testauto simulators compare '{folder}/bench.json' --out" in page.said
    assert "reference: real" in page.said
    assert re.search(
        r"gz_testauto \S+, Python 3\.\d+\.\d+, numpy \S+, scipy \S+; seed 0\.", page.said
    )


def test_each_case_has_its_spectra_with_a_line_for_each_entry(of_simulators):
    page = Page(page_html(of_simulators))
    plots = [a["aria-label"] for tag, a in page.elements if tag == "svg" and "aria-label" in a]
    assert plots == [f"Spectra of {case}" for case in CASES]
    lines = [a["class"] for tag, a in page.elements if tag == "polyline"]
    # the reference, near and loud on both; lost and sunk on the flat only
    both = ["line reference", "line p0", "line p1"]
    assert sorted(lines) == sorted([*both, *both, "line p2", "line p3"])


def test_nothing_is_loaded_and_no_script_runs(of_simulators):
    page = Page(page_html(of_simulators))
    assert "script" not in {tag for tag, _ in page.elements}
    policy = next(a["content"] for tag, a in page.elements if "http-equiv" in a)
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    targets = [a[name] for _, a in page.elements for name in ("src", "href") if name in a]
    assert all(target.startswith(("#", "data:")) for target in targets)
    anchors = {a["id"] for _, a in page.elements if "id" in a}
    assert {target[1:] for target in targets if target.startswith("#")} <= anchors
    assert not [a for _, a in page.elements if "style" in a]


def test_markup_in_names_and_remarks_is_shown_and_does_nothing():
    hostile = "<img src=x onerror=alert(1)>\x1b[2J"
    told = dataclasses.replace(TOLD, notes=(hostile,))
    found = dataclasses.replace(told_of(), conditions=told)
    text = page_html(found)
    assert "<img" not in text and "\x1b" not in text
    assert "\x1b" not in printed(found)
    assert r"<img src=x onerror=alert(1)>\x1b[2J" in Page(text).said


def test_an_entry_on_wrong_ground_takes_nothing_from_the_others():
    names = ("near", "loud", "sunk")
    told = dataclasses.replace(TOLD, grounds=TOLD.grounds[-1:], invalid=())
    found = simulated(names, told, repetitions=2)
    assert found.ranking.table.entries == ("near", "loud")
    assert found.ranking.table.left_out == {}
    assert found.ranking.verdict.winner == "near"
    assert "sunk" in found.measured


def test_a_simulator_without_a_valid_drive_of_a_case_takes_nothing_from_the_others():
    terrains = sorted({case.split("/")[0] for case in CASES})
    names = ("ode", "near", "loud", "lost")
    spec = BenchSpec.model_validate(
        {
            "name": "husky",
            "robot": {"model": "husky"},
            "terrains": [{"name": name, "kind": "flat"} for name in terrains],
            "drives": sorted({case.split("/")[1] for case in CASES}),
            "entries": [{"name": name, "simulator": "embedded"} for name in names],
            "reference": "ode",
            "weights": {"real_time_factor": 2, "imu_linear_error": 4},
        }
    )
    drives = {
        name: recorded(at, 0.3 if name != "loud" else 0.6, repetitions=2, load_s=0.2)
        for at, name in enumerate(names, 1)
    }
    del drives["lost"][CASES[1]]
    found = find(spec, drives)
    assert found.not_ranked == {"lost": f"it has no valid drive of {CASES[1]}"}
    assert found.ranking.table.entries == ("near", "loud")
    assert found.ranking.table.left_out == {}


@pytest.mark.slow
def test_invalid_drives_of_a_case_are_told_in_one_sentence():
    why = "the robot has tipped over after 1.00 s"
    drives = tuple(InvalidRun("lost", CASES[1], number, why) for number in (0, 3))
    found = simulated(told=dataclasses.replace(TOLD, invalid=drives))
    said = f"lost, {CASES[1]}, repetitions 1, 4 are invalid; the first: {why}."
    assert all(said in text for text in said_by_both(found))


@pytest.mark.slow
def test_who_was_not_measured_does_not_beat_the_baseline():
    found = simulated(("near", "loud", "lost"), repetitions=2)
    spec = found.spec.model_copy(update={"baseline": "loud"})
    lost = {name: Measured.absent(one.measure, "x") for name, one in found.measured["lost"].items()}
    measured = {**found.measured, "lost": lost}
    told = baseline_lines(dataclasses.replace(found, spec=spec, measured=measured))
    assert told == ["near: nearer than loud in all that was measured."]


def said_by_both(found):
    """The report as terminal and page have it, each in one line."""
    return " ".join(printed(found).split()), Page(page_html(found)).said


def test_entries_that_are_all_refused_are_not_ranked_and_it_is_said_why():
    told = dataclasses.replace(
        TOLD,
        grounds=tuple(
            GroundProbeSummary(name, "gravel", 0.013, 0.55, 0.55, "the surface is 13.0 mm off")
            for name in ("near", "loud")
        ),
        invalid=(),
    )
    found = simulated(("near", "loud"), told, repetitions=2)
    assert found.not_ranked == dict.fromkeys(("near", "loud"), "its ground gravel is refused")
    for text in said_by_both(found):
        assert (
            "There is nothing to rank. No entry can be compared (near: its ground gravel is "
            "refused; loud: its ground gravel is refused)."
        ) in text
        assert "SMAA" not in text and "Scores" not in text
        assert "near on gravel: the surface is 13.0 mm off" in text
    ranking = json.loads(json.dumps(as_data(found), allow_nan=False))["ranking"]
    assert (ranking["ranked"], ranking["winner"], ranking["entries"]) == (False, None, {})
    assert "near: its ground gravel is refused" in ranking["verdict"]


def test_one_entry_alone_is_not_called_first():
    found = simulated(("near",))
    for text in said_by_both(found):
        assert "There is nothing to rank. near alone is compared" in text
        assert "is first" not in text and "100.0 %" not in text
    assert as_data(found)["ranking"]["winner"] is None


@pytest.mark.slow
def test_measures_that_count_and_have_no_interval_are_named_beside_the_verdict():
    said = "Without an interval, and so the same in all draws: "
    once = simulated(("near", "loud"), repetitions=1)
    for text in said_by_both(once):
        assert f"{said}real_time_factor, imu_linear_error, gain." in text
    for text in said_by_both(simulated(("near", "loud"), repetitions=3)):
        assert said not in text


@pytest.mark.slow
def test_what_is_known_of_no_entry_is_named_in_the_verdict():
    found = simulated(("near", "loud"), repetitions=2)
    spec = found.spec.model_copy(
        update={"weights": {**found.spec.weights, "memory": 1.0, "open_source": 2.0}}
    )
    drives = {name: recorded(at, 0.3, 2) for at, name in enumerate(("real", "near", "loud"))}
    for text in said_by_both(find_without_reading(spec, drives, TOLD)):
        assert (
            "Of no entry is known, and so it does not count: real_time_factor, memory, open_source."
        ) in text


def test_a_case_cut_to_its_shortest_recording_is_named_with_it():
    aligned = dataclasses.replace(
        told_of().aligned,
        lengths={"flat/straight": Length(4.0, "short.csv", 6.0)},
        band_hz=8.0,
        slowest="slow.csv",
    )
    for text in said_by_both(dataclasses.replace(told_of(), aligned=aligned)):
        assert (
            "flat/straight: all are compared over 4 s, as long as the shortest, short.csv." in text
        )
        assert "up to 8 Hz, not 20: slow.csv has no faster ones." in text


@pytest.mark.parametrize(
    ("needed", "said"), [(9.955, "−0.45 %"), (17.6, "+76 %"), (3.8, "−62 %"), (27.26, "+173 %")]
)
def test_the_change_of_a_weight_is_told_in_percent_without_powers_of_ten(needed, said):
    assert relative(WeightChange("ros", 10.0, needed, "other")) == said
