"""The ID of a score card is that of its inputs and results, and damaged cards are rejected."""

from dataclasses import replace

import numpy as np
import pytest
from standard_cards import VERSIONS, card, edit_json, trial

from gz_testauto.base.errors import ResultsError
from gz_testauto.extras.standard_set.card import (
    card_bytes,
    read_card,
    recording_bits,
    success,
    write_card,
)
from gz_testauto.extras.standard_set.classes import StandardSet
from gz_testauto.extras.standard_set.pairs import compare_cards, require_comparable
from gz_testauto.extras.standard_set.report import (
    latex,
    markdown,
    notes,
    print_card,
    print_pairs,
    to_json,
)
from gz_testauto.metrics.recording import Recording
from gz_testauto.report.plain import WIDTH, report_console


@pytest.fixture(scope="module")
def standard():
    return StandardSet()


def recording(**changes):
    rows = 3
    values = {
        "time_s": np.arange(rows, dtype=float),
        "pose": np.zeros((rows, 3)),
        "twist": np.zeros((rows, 3)),
        "command": np.full((rows, 2), np.nan),
        "clearance_m": np.ones(rows),
        "cycle_time_s": np.zeros(rows),
        "cycle_cpu_s": np.zeros(rows),
    }
    return Recording(**{**values, **changes})


def test_invalid_trials_do_not_count():
    found = success([trial("r"), trial("?"), trial("c")])
    assert found.value == 0.5 and found.method == "Clopper–Pearson"


def test_id_does_not_depend_on_the_machine(standard):
    one = card(clutter="rct", about={"platform": "a", "command_wall_s": 3.0})
    other = card(clutter="rct", about={"platform": "b"})
    assert one.id_of(standard) == other.id_of(standard)


@pytest.mark.parametrize(
    "changed",
    [
        card(clutter="rcc"),
        card(clutter="rct", name="dwa"),
        card(clutter="rct", versions={**VERSIONS, "numpy": "2.1"}),
        card(crowd="rct"),
        card(clutter="rct", planned=5),
    ],
)
def test_id_depends_on_each_input_and_result(standard, changed):
    assert changed.digest != card(clutter="rct").digest


@pytest.mark.parametrize("change", [{"bits": "f" * 16}, {"world_sha256": "f" * 64}])
def test_id_depends_on_the_bits_of_each_trial_and_world(change):
    one = card(clutter="rct")
    trials = {**one.classes["clutter"].trials, "world_1": trial("c", 1, **change)}
    other = replace(one, classes={"clutter": replace(one.classes["clutter"], trials=trials)})
    assert other.digest != one.digest


def test_id_states_classes_and_subset(standard):
    assert card(open_field="r", crowd="c").id_of(standard).startswith("std1-16-")
    assert card(clutter="rc", planned=100).id_of(standard).startswith("std1-2w2-")


def test_written_card_is_read_unchanged(standard, tmp_path):
    path, one = tmp_path / "card.json", card(clutter="rc?", crowd="rt", about={"note": "é"})
    write_card(path, one, standard)
    assert read_card(path, standard) == one
    assert card_bytes(read_card(path, standard), standard) == path.read_bytes()


def test_a_metric_of_a_card_must_be_finite(standard, tmp_path):
    path = tmp_path / "card.json"
    write_card(path, card(clutter="rct"), standard)

    def edit(content):
        content["classes"]["clutter"]["trials"]["world_1"]["metrics"]["time_s"] = float("-inf")

    edit_json(path, edit)
    with pytest.raises(ResultsError, match=r"world_1.*time_s is -inf; it must be a finite number"):
        read_card(path, standard)


def test_each_changed_outcome_of_a_card_is_detected(standard, tmp_path):
    path = tmp_path / "card.json"
    write_card(path, card(clutter="rct"), standard)

    def edit(content):
        content["classes"]["clutter"]["trials"]["world_1"]["outcome"] = "reached"

    edit_json(path, edit)
    with pytest.raises(ResultsError) as error:
        read_card(path, standard)
    assert str(path) in str(error.value) and "damaged" in str(error.value)


@pytest.mark.parametrize(
    ("edit", "named"),
    [
        (lambda content: content.update(set_version=2), "version 2"),
        (lambda content: content.update(format=9), "format 9"),
        (lambda content: content.pop("set_version"), "not a score card"),
        (lambda content: content["planner"].pop("plugin"), "planner.plugin"),
        (
            lambda content: content["classes"]["clutter"]["trials"]["world_0"].update(outcome="x"),
            "classes.clutter.trials.world_0.outcome",
        ),
    ],
)
def test_card_of_another_version_or_with_invalid_fields_is_rejected(
    standard, tmp_path, edit, named
):
    path = tmp_path / "card.json"
    write_card(path, card(clutter="rct"), standard)
    edit_json(path, edit)
    with pytest.raises(ResultsError) as error:
        read_card(path, standard)
    assert str(path) in str(error.value) and named in str(error.value)
    assert "\n" not in str(error.value)


def test_bits_change_with_one_bit_of_a_pose_and_not_with_wall_times():
    pose = np.zeros((3, 3))
    pose[1, 0] = np.nextafter(0.0, 1.0)
    same = recording(cycle_time_s=np.ones(3), wall_time_s=4.0)
    assert recording_bits(same) == recording_bits(recording())
    assert recording_bits(recording(pose=pose)) != recording_bits(recording())
    series = recording(series={"actor_a": np.zeros((3, 3))})
    assert recording_bits(series) != recording_bits(recording())


def test_pairs_count_only_common_valid_worlds_of_all_classes():
    first = card("fgm", clutter="rrc?", crowd="rr")
    second = card("dwa", clutter="rccr", crowd="c")
    (pair,) = compare_cards([first, second])
    assert pair.counts == (1, 2, 0, 1)
    assert pair.difference.value == 0.5
    assert pair.p_value == pair.p_adjusted == 0.5


def test_worlds_with_another_hash_are_not_paired():
    one, other = card("fgm", clutter="rr"), card("dwa", clutter="cc")
    trials = {**other.classes["clutter"].trials, "world_1": trial("c", 7)}
    other = replace(other, classes={"clutter": replace(other.classes["clutter"], trials=trials)})
    assert compare_cards([one, other])[0].counts.worlds == 1


def test_p_values_are_adjusted_over_all_pairs():
    cards = [card("a", clutter="r" * 9), card("b", clutter="c" * 9), card("c", clutter="r" * 9)]
    pairs = compare_cards(cards)
    assert [pair.p_value for pair in pairs] == [2 / 2**9, 1.0, 2 / 2**9]
    assert [pair.p_adjusted for pair in pairs] == [6 / 2**9, 1.0, 6 / 2**9]


def test_same_planner_and_another_campaign_file_are_rejected(tmp_path):
    path = tmp_path / "dwa.json"
    one, other = card("fgm", clutter="r"), card("dwa", clutter="r")
    with pytest.raises(ResultsError, match="'fgm' appears twice"):
        require_comparable([one, card("fgm", clutter="c")], [path])
    files = {"campaign file": "sha256:9"}
    other = replace(other, classes={"clutter": replace(other.classes["clutter"], files=files)})
    with pytest.raises(ResultsError, match="clutter was run with another campaign file"):
        require_comparable([one, other], [path])


def test_notes_state_subset_missing_classes_and_invalid_trials(standard):
    text = " ".join(notes(card(clutter="r?", planned=100), standard))
    assert "first 2 worlds" in text
    assert "open_field" in text and "barn" in text
    assert "1 in clutter" in text
    complete = card(**dict.fromkeys(standard.classes, "r"))
    assert notes(complete, standard) == []


def test_printed_card_fits_the_terminal_and_has_class_and_total(standard, capsys):
    cards = [
        card("an_improved_planner", open_field="r" * 100, clutter="rct?" * 25),
        card("another_planner", open_field="r" * 100, clutter="cct?" * 25),
    ]
    console = report_console()
    for one in cards:
        print_card(one, standard, console)
    print_pairs(compare_cards(cards), console)
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= WIDTH
    (line,) = [line for line in out.splitlines() if line.startswith("clutter")][:1]
    assert line.split() == [
        "clutter",
        "75",
        "33.3",
        "[22.9,",
        "45.2]",
        "25",
        "25",
        "0.17",
        "10.0",
        "0.20",
    ]
    (total,) = [line for line in out.splitlines() if line.startswith("all classes")][:1]
    assert total.split()[2:4] == ["175", "71.4"]


def test_json_and_markdown_state_the_same_rates(standard):
    import json

    cards = [card("fgm", clutter="rrcc"), card("dwa", clutter="rccc")]
    pairs = compare_cards(cards)
    content = json.loads(to_json(cards, pairs, standard))
    assert content["cards"][0]["total"]["success"]["value"] == 0.5
    assert content["pairs"][0]["first_only"] == 1
    assert content["cards"][0]["id"] == cards[0].id_of(standard)
    table = markdown(cards, pairs, standard)
    assert "| `fgm` | 50.0 [6.8, 93.2] | 50.0 [6.8, 93.2] |" in table
    assert cards[1].id_of(standard) in table


def test_latex_has_the_best_rate_of_each_class_in_bold_and_the_differences(standard):
    cards = [card("fgm_improved", clutter="rrcc"), card("dwa", clutter="rccc", crowd="rr")]
    text = latex(cards, standard)
    assert text.count(r"\begin{table}") == 2 == text.count(r"\toprule")
    assert r"class (\%) & fgm\_improved & dwa \\" in text
    assert r"clutter & \textbf{50.0 [6.8, 93.2]} & 25.0 [0.6, 80.6] \\" in text
    assert r"all classes & \textbf{50.0 [6.8, 93.2]} & 25.0 [0.6, 80.6] \\" in text
    assert r"fgm\_improved $-$ dwa & 4 & 1 & 0 & +25.0" in text
    assert "crowd &" not in text and "4 worlds that all planners ran" in text
    assert cards[1].id_of(standard) in text


def test_latex_has_only_the_worlds_that_all_planners_ran(standard):
    cards = [card("mine", clutter="rc"), card("fgm", clutter="rrcc"), card("dwa", clutter="rrrr")]
    text = latex(cards, standard)
    assert r"clutter & 50.0 [1.3, 98.7] & \textbf{100.0 [15.8, 100.0]} & \textbf{100.0" in text
    assert r"fgm $-$ dwa & 2 & 0 & 0 & +0.0" in text
    assert cards[1].id_of(standard) in text  # of the complete card
