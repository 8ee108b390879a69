"""Texts of the report on a comparison of simulators, on the terminal and on the page."""

import dataclasses
import html.parser
import io
import json
import re

import numpy as np
import pytest
from benches import (
    CASES,
    CONDITIONS,
    find_without_reading,
    paper,
    recorded,
    simulated,
    simulated_report,
)
from synthetic import changed, maneuver

from gz_testauto.extras.simulator_comparison.bench.simulated import NO_CONDITIONS, InvalidRun
from gz_testauto.extras.simulator_comparison.estimates import Measured
from gz_testauto.extras.simulator_comparison.findings import evaluate_bench
from gz_testauto.extras.simulator_comparison.probe import GroundProbe
from gz_testauto.extras.simulator_comparison.recordings.recording import Length
from gz_testauto.extras.simulator_comparison.report.export import findings_to_json
from gz_testauto.extras.simulator_comparison.report.page import page_html, write_page
from gz_testauto.extras.simulator_comparison.report.sentences import baseline_lines, relative
from gz_testauto.extras.simulator_comparison.report.terminal import print_findings
from gz_testauto.extras.simulator_comparison.sensitivity import WeightChange
from gz_testauto.extras.simulator_comparison.spec import BenchSpec
from gz_testauto.report.plain import report_console


def terminal_text(found):
    """Return the report on the terminal, after checking that its lines have at most 80 columns."""
    text = io.StringIO()
    print_findings(found, report_console(text))
    assert max(map(len, text.getvalue().splitlines())) <= 80
    return text.getvalue()


class Page(html.parser.HTMLParser):
    """A parser that extracts the text and the elements of an HTML page."""

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
    def text_part(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def of_paper():
    return paper()


@pytest.fixture(scope="module")
def both(of_paper):
    """Return the report on the values of Farley et al. 2022, on the terminal and on the page, each
    in one line."""
    return " ".join(terminal_text(of_paper).split()), Page(page_html(of_paper)).text_part


@pytest.mark.slow
@pytest.mark.parametrize(
    "text_part",
    [
        "The winner changes: by the published scores coppeliasim has the greatest total, by the "
        "measurements and rules gazebo.",
        "coppeliasim has the greatest total, but with weights within ±20 % it is first in 51.3 % "
        "of draws, and gazebo in 48.7 %. The winner must be first in 95 %.",
        "gazebo has the greatest total, but with weights within ±20 % it is first in 60.3 % of "
        "draws, and coppeliasim in 39.7 %. The winner must be first in 95 %.",
        "imu_linear_error changes from 10 to 9.955 (−0.45 %), gazebo is first.",
        "imu_linear_error changes from 10 to 10.479 (+4.8 %), coppeliasim is first.",
        "Tables 6 and 8, coppeliasim straight over gravel: by equation (7) the published means "
        "and ranges give 1.237 rad/s; the published value is equal.",
        "Tables 7 and 9, coppeliasim straight over gravel: by equation (7) the published means "
        "and ranges give 23.43 m/s²; the published value is 23.19 m/s².",
        "All values are quoted from publications; nothing was measured.",
        "Published values have no interval and are not resampled.",
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
def test_report_on_the_paper_reproduces_its_results(both, text_part):
    for text in both:
        assert text_part in text


@pytest.mark.slow
def test_both_rankings_of_the_paper_have_no_winner(both):
    for text in both:
        assert text.count("There is no winner.") == 2


@pytest.fixture(scope="module")
def of_simulators():
    return simulated_report()


@pytest.fixture(scope="module")
def of_both(of_simulators):
    return " ".join(terminal_text(of_simulators).split()), Page(page_html(of_simulators)).text_part


@pytest.mark.slow
@pytest.mark.parametrize(
    "text_part",
    [
        "All measures compare an entry with recordings of the robot real.",
        "lost is first by the criteria that are known for all entries. These unknown values could "
        "change the first rank: "
        "imu_linear_error of lost; gain of lost.",
        "imu_linear_error does not count, because it is unknown for lost.",
        "Possible totals with any scores in the criteria that do not count: near ",
        "not measured: gravel/s_curve is missing",
        "ties with the reference",
        "the reference's own repetitions",
        "near: gazebo 11.10.2 (engine: ode)",
        "sunk is not ranked: its ground differs from terrain gravel.",
        "sunk on gravel: the surface is 13.0 mm off",
        "13.00 mm",
        "0.40 mm",
        "lost, gravel/s_curve, repetition 3 is invalid: the robot is more than 0.15 m below the "
        "ground.",
        "Others used 34 % of the machine while loads were measured.",
        "its page; 2026-11-01",
        "noise_density (the reference has no recording of the required terrain and maneuver).",
        "Method of the 95 % intervals: bootstrap over repetitions",
    ],
)
def test_report_lists_compared_and_omitted_entries(of_both, text_part):
    terminal, page = of_both
    assert text_part in terminal
    # in a table the entry has a separate cell
    assert text_part.replace("near: gazebo", "near gazebo") in page


@pytest.mark.slow
def test_totals_and_lead_have_intervals_if_measurements_have_intervals(of_simulators, of_paper):
    table = terminal_text(of_simulators)
    assert re.search(r"^loud +2\.\d+ \[2\.\d+, 2\.\d+\] ", table, re.MULTILINE)
    assert re.search(r"lost leads loud by 0\.\d+ \[0\.\d+, 0\.\d+\] of 3", table)
    assert "95 %\n" not in terminal_text(of_paper)


def test_report_without_a_real_robot_states_agreement(of_simulators):
    spec = of_simulators.spec.model_copy(update={"reference_is_robot": False})
    changed = dataclasses.replace(of_simulators, spec=spec)
    for text in (terminal_text(changed), Page(page_html(changed)).text_part):
        assert "They state agreement with it, not accuracy" in " ".join(text.split())
        assert "recordings of the robot" not in text


@pytest.mark.slow
def test_table_of_seven_entries_with_long_names_fits_a_terminal():
    names = ("near", *(f"a_simulator_with_option_{number}" for number in range(6)))
    text = terminal_text(simulated(names, repetitions=1))
    for name in names:
        assert name in text.replace("\n", "")


def test_page_contains_repetition_commands_and_specification(of_simulators, tmp_path):
    folder = tmp_path / "of today"
    folder.mkdir()
    write_page(of_simulators, folder / "report.html")
    page = Page((folder / "report.html").read_text(encoding="utf-8"))
    assert f"gz_testauto simulators report '{folder}'" in page.text_part
    assert f"gz_testauto simulators compare '{folder}/bench.json' --out" in page.text_part
    assert "reference: real" in page.text_part
    assert re.search(
        r"gz_testauto \S+, Python 3\.\d+\.\d+, numpy \S+, scipy \S+; seed 0\.", page.text_part
    )


def test_page_plots_spectra_of_all_entries_for_each_case(of_simulators):
    page = Page(page_html(of_simulators))
    plots = [a["aria-label"] for tag, a in page.elements if tag == "svg" and "aria-label" in a]
    assert plots == [f"Spectra of {case}" for case in CASES]
    lines = [a["class"] for tag, a in page.elements if tag == "polyline"]
    # the reference, near and loud on both; lost and sunk on the flat only
    both = ["line reference", "line p0", "line p1"]
    assert sorted(lines) == sorted([*both, *both, "line p2", "line p3"])


def test_report_lists_bias_and_gain_of_each_axis_with_sign():
    """The entry ``biased`` differs from the reference in two axes only."""

    def read(change):
        recording = maneuver("s_curve", 1)
        return {"flat/s_curve": [changed(recording, lambda values: values + change)] * 2}

    shift = np.array([0.0, 0.0, 0.0, -0.1, 0.0, 0.25])
    spec = BenchSpec.model_validate(
        {
            "name": "axes",
            "entries": [
                {"name": "real", "recording": {"cases": {"flat/s_curve": ["a.csv"]}}},
                {"name": "biased"},
            ],
            "reference": "real",
            "weights": {"linear_bias": 1},
        }
    )
    drives = {"real": read(0.0 * shift), "biased": read(shift)}
    found = find_without_reading(spec, drives, NO_CONDITIONS)
    differences = found.axes["biased"]["flat/s_curve"]
    assert differences.bias == pytest.approx(shift, abs=1e-9)
    assert np.array(differences.gain)[2:4] == pytest.approx([1.0, 1.0])
    terminal = next(line.split() for line in terminal_text(found).splitlines() if " bias " in line)
    assert terminal[0] == "biased"
    assert [float(terminal[5]), float(terminal[7])] == pytest.approx([-0.1, 0.25])
    assert "biased bias" in Page(page_html(found)).text_part
    exported = findings_to_json(found)["axes"]["biased"]["flat/s_curve"]
    assert exported["bias"]["a_x"] == pytest.approx(-0.1)
    assert exported["gain"]["ω_x"] is None


def test_page_loads_no_resources_and_runs_no_scripts(of_simulators):
    page = Page(page_html(of_simulators))
    assert "script" not in {tag for tag, _ in page.elements}
    policy = next(a["content"] for tag, a in page.elements if "http-equiv" in a)
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    targets = [a[name] for _, a in page.elements for name in ("src", "href") if name in a]
    assert all(target.startswith(("#", "data:")) for target in targets)
    anchors = {a["id"] for _, a in page.elements if "id" in a}
    assert {target[1:] for target in targets if target.startswith("#")} <= anchors
    assert not [a for _, a in page.elements if "style" in a]


def test_markup_in_names_and_remarks_is_escaped():
    hostile = "<img src=x onerror=alert(1)>\x1b[2J"
    changed = dataclasses.replace(CONDITIONS, notes=(hostile,))
    found = dataclasses.replace(simulated_report(), conditions=changed)
    text = page_html(found)
    assert "<img" not in text and "\x1b" not in text
    assert "\x1b" not in terminal_text(found)
    assert r"<img src=x onerror=alert(1)>\x1b[2J" in Page(text).text_part


def test_entry_on_wrong_ground_does_not_affect_other_entries():
    names = ("near", "loud", "sunk")
    changed = dataclasses.replace(CONDITIONS, grounds=CONDITIONS.grounds[-1:], invalid=())
    found = simulated(names, changed, repetitions=2)
    assert found.ranking.table.entries == ("near", "loud")
    assert found.ranking.table.left_out == {}
    assert found.ranking.verdict.winner == "near"
    assert "sunk" in found.measured


def test_entry_without_a_valid_run_does_not_affect_other_entries():
    terrains = sorted({case.split("/")[0] for case in CASES})
    names = ("ode", "near", "loud", "lost")
    spec = BenchSpec.model_validate(
        {
            "name": "husky",
            "robot": {"model": "husky"},
            "terrains": [{"name": name, "kind": "flat"} for name in terrains],
            "maneuvers": sorted({case.split("/")[1] for case in CASES}),
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
    found = evaluate_bench(spec, drives)
    assert found.not_ranked == {"lost": f"it has no valid run of {CASES[1]}"}
    assert found.ranking.table.entries == ("near", "loud")
    assert found.ranking.table.left_out == {}


@pytest.mark.slow
def test_invalid_runs_of_a_case_are_reported_in_one_sentence():
    why = "the robot has tipped over after 1.00 s"
    drives = tuple(InvalidRun("lost", CASES[1], number, why) for number in (0, 3))
    found = simulated(conditions=dataclasses.replace(CONDITIONS, invalid=drives))
    text_part = f"lost, {CASES[1]}, repetitions 1, 4 are invalid; reason of the first: {why}."
    assert all(text_part in text for text in both_texts(found))


@pytest.mark.slow
def test_unmeasured_entry_is_not_compared_with_the_baseline():
    found = simulated(("near", "loud", "lost"), repetitions=2)
    spec = found.spec.model_copy(update={"baseline": "loud"})
    lost = {name: Measured.absent(one.measure, "x") for name, one in found.measured["lost"].items()}
    measured = {**found.measured, "lost": lost}
    changed = baseline_lines(dataclasses.replace(found, spec=spec, measured=measured))
    assert changed == ["Closer to the reference than the baseline loud in all measures: near."]


def both_texts(found):
    """Return the report on the terminal and on the page, each in one line."""
    return " ".join(terminal_text(found).split()), Page(page_html(found)).text_part


def test_refused_entries_are_not_ranked_and_the_reason_is_reported():
    changed = dataclasses.replace(
        CONDITIONS,
        grounds=tuple(
            GroundProbe(name, "gravel", 0.013, 0.55, 0.55, "the surface is 13.0 mm off")
            for name in ("near", "loud")
        ),
        invalid=(),
    )
    found = simulated(("near", "loud"), changed, repetitions=2)
    assert found.not_ranked == dict.fromkeys(
        ("near", "loud"), "its ground differs from terrain gravel"
    )
    for text in both_texts(found):
        assert (
            "No ranking is possible. No entry can be compared (near: its ground differs from "
            "terrain gravel; loud: its ground differs from terrain gravel)."
        ) in text
        assert "SMAA" not in text and "Scores" not in text
        assert "near on gravel: the surface is 13.0 mm off" in text
    ranking = json.loads(json.dumps(findings_to_json(found), allow_nan=False))["ranking"]
    assert (ranking["ranked"], ranking["winner"], ranking["entries"]) == (False, None, {})
    assert "near: its ground differs from terrain gravel" in ranking["verdict"]


def test_single_entry_is_not_ranked():
    found = simulated(("near",))
    for text in both_texts(found):
        assert "No ranking is possible. Only near can be ranked" in text
        assert "is first" not in text and "100.0 %" not in text
    assert findings_to_json(found)["ranking"]["winner"] is None


@pytest.mark.slow
def test_weighted_measures_without_interval_are_listed_with_the_verdict():
    text_part = "Measures without an interval are equal in all draws: "
    once = simulated(("near", "loud"), repetitions=1)
    for text in both_texts(once):
        assert f"{text_part}real_time_factor, imu_linear_error, gain." in text
    for text in both_texts(simulated(("near", "loud"), repetitions=3)):
        assert text_part not in text


@pytest.mark.slow
def test_criteria_unknown_for_all_entries_are_listed_in_the_verdict():
    found = simulated(("near", "loud"), repetitions=2)
    spec = found.spec.model_copy(
        update={"weights": {**found.spec.weights, "memory": 1.0, "open_source": 2.0}}
    )
    drives = {name: recorded(at, 0.3, 2) for at, name in enumerate(("real", "near", "loud"))}
    for text in both_texts(find_without_reading(spec, drives, CONDITIONS)):
        assert (
            "Criteria that are unknown for all entries do not count: real_time_factor, memory, "
            "open_source."
        ) in text


def test_shortening_to_the_shortest_recording_is_reported():
    aligned = dataclasses.replace(
        simulated_report().aligned,
        lengths={"flat/straight": Length(4.0, "short.csv", 6.0)},
        band_hz=8.0,
        slowest="slow.csv",
    )
    for text in both_texts(dataclasses.replace(simulated_report(), aligned=aligned)):
        assert (
            "flat/straight: recordings are compared over 4 s, the duration of the shortest one, "
            "short.csv." in text
        )
        assert "up to 8 Hz instead of 20 Hz, because the sensor of slow.csv is slower." in text


@pytest.mark.parametrize(
    ("needed", "text_part"),
    [(9.955, "−0.45 %"), (17.6, "+76 %"), (3.8, "−62 %"), (27.26, "+173 %")],
)
def test_change_of_a_weight_is_printed_in_percent_without_exponent(needed, text_part):
    assert relative(WeightChange("ros", 10.0, needed, "other")) == text_part
