"""Repeats of all failed trials are stored, continued, and shown with the outcomes."""

import json
from types import SimpleNamespace

import page_results
import pytest
from scipy.stats import binom
from scripted import record

from gz_testauto.analysis.repeats import RepeatCount
from gz_testauto.base.errors import ResultsError
from gz_testauto.cli.main import main
from gz_testauto.extras.search import perturb_cli
from gz_testauto.extras.search.stored_robustness import ANSWERS, read_counts, section
from gz_testauto.results.records import CampaignResults
from gz_testauto.trial.outcome import Outcome
from gz_testauto.worlds.record import WorldRecord

PLANNERS = ("fgm", "dwa")


def results(*letters):
    """Results with one word per planner and one letter per world: stuck, reached or invalid."""
    outcomes = {"S": Outcome.STUCK, "R": Outcome.REACHED, "I": Outcome.INVALID}
    worlds = [WorldRecord(at, f"w{at}", None, "") for at in range(len(letters[0]))]
    trials = [
        record(
            at * len(letters) + place,
            world=world.name,
            world_index=at,
            planner=PLANNERS[place],
            outcome=outcomes[letters[place][at]],
        )
        for at, world in enumerate(worlds)
        for place in range(len(letters))
    ]
    return CampaignResults("c", PLANNERS[: len(letters)], tuple(worlds), len(trials), tuple(trials))


def write(directory, answers, name=ANSWERS):
    lines = [{"inputs": {"format": 1}}, *({"key": k, "answer": a} for k, a in answers)]
    (directory / name).write_text("".join(json.dumps(one) + "\n" for one in lines))


def repeats(label, *outcomes):
    return [
        (f"{label} perturbed {number}", {"outcome": outcome})
        for number, outcome in enumerate(outcomes)
    ]


def test_outcome_is_undecided_while_the_exact_interval_contains_80_percent():
    # All of n repeats agree: the lower end of the interval is 0.025 ** (1 / n).
    assert [RepeatCount(number, number).label for number in (1, 10, 16)] == ["undecided"] * 3
    assert RepeatCount(17, 17).label == "robust"
    # No repeat agrees: the upper end is 1 - 0.025 ** (1 / n).
    assert [RepeatCount(0, number).label for number in (1, 2, 3)] == ["undecided"] * 2 + ["fragile"]
    assert [RepeatCount(same, 20).label for same in (11, 12, 19, 20)] == [
        "fragile",
        "undecided",
        "undecided",
        "robust",
    ]
    assert RepeatCount(0, 0).label == "not tested"


@pytest.mark.parametrize("repeats", [5, 10, 20, 50])
@pytest.mark.parametrize(("share", "wrong"), [(0.75, "robust"), (0.85, "fragile")])
def test_at_most_one_in_forty_outcomes_has_the_wrong_label(repeats, share, wrong):
    labels = [RepeatCount(same, repeats).label == wrong for same in range(repeats + 1)]
    assert binom.pmf(range(repeats + 1), repeats, share) @ labels <= 0.025


def test_repeats_without_a_valid_scene_are_not_counted(tmp_path):
    write(tmp_path, repeats("w0--fgm--0", "stuck", None, "reached"))
    assert read_counts(tmp_path, results("S")) == {0: RepeatCount(1, 2)}
    write(tmp_path, repeats("w0--fgm--0", None, None))
    assert read_counts(tmp_path, results("S"))[0].label == "not tested"


def test_incomplete_last_line_and_invalid_trials_are_ignored(tmp_path):
    write(tmp_path, [*repeats("w0--fgm--0", "stuck"), *repeats("w1--fgm--0", "stuck")])
    with open(tmp_path / ANSWERS, "a") as file:
        file.write('{"key": "w0--fgm--0 pertur')
    assert read_counts(tmp_path, results("SI")) == {0: RepeatCount(1, 1)}


def test_answers_of_a_search_count_too(tmp_path):
    of_search = [
        *repeats("w0--fgm--0", "stuck", "stuck"),
        *repeats("w1--fgm--0", "stuck", "reached"),
        ("w1--fgm--0 in gazebo", {"outcome": "stuck", "detail": ""}),
    ]
    write(tmp_path, of_search, "search.jsonl")
    write(tmp_path, repeats("w0--fgm--0", "reached"))  # of the same repeat
    assert read_counts(tmp_path, results("SS")) == {0: RepeatCount(1, 2), 1: RepeatCount(1, 2)}


@pytest.mark.parametrize("line", ["[1]", "not json", '{"key": "w0--fgm--0 perturbed 1"}'])
def test_damaged_answers_are_an_error(tmp_path, line):
    (tmp_path / ANSWERS).write_text(f'{{"inputs": {{}}}}\n{line}\n')
    with pytest.raises(ResultsError, match=r"robustness.jsonl:2: the entry is damaged"):
        section(tmp_path, results("S"))


def test_section_counts_robust_fragile_and_untested_outcomes(tmp_path):
    answers = [
        *repeats("w0--fgm--0", *["stuck"] * 17),
        *repeats("w1--fgm--0", *["reached"] * 3),
        *repeats("w3--fgm--0", *["reached"] * 17),
        *repeats("w5--fgm--0", "stuck", "reached"),
    ]
    write(tmp_path, answers)
    found = section(tmp_path, results("SSSRRS", "RRRRRR"))
    assert found.tables[0].columns[1:5] == ("robust", "undecided", "fragile", "not tested")
    failures, successes, *_ = found.tables[0].rows
    # One to two of three outcomes: the interval is from that of 1 of 3 to that of 2 of 3.
    assert failures == ("fgm, failures", "1", "1", "1", "1", "33 to 67", "[1, 99]")
    assert successes == ("fgm, successes", "1", "0", "0", "1", "0", "-")
    listed = [(row[0], row[-1]) for row in found.tables[1].rows]
    assert listed == [
        ("w1--fgm--0", "fragile"),
        ("w5--fgm--0", "undecided"),
        ("w0--fgm--0", "robust"),
        ("w2--fgm--0", "not tested"),
        ("w3--fgm--0", "robust"),
    ]
    assert found.marks == {2: "fragile"}
    assert section(tmp_path, results("IIII")) is None


def test_table_of_worlds_marks_fragile_outcomes(tmp_path):
    out = page_results.results(tmp_path / "out")
    assert "fragile" not in page_results.make_page(out).html
    write(out, repeats("world_0000--dwa--0", "reached", "collided"))
    assert "fragile</a>" not in page_results.make_page(out).html
    write(out, repeats("world_0000--dwa--0", *["reached"] * 3))
    html = page_results.make_page(out).html
    assert html.count("</span> collided, fragile</a>") == 1
    assert html.count("</span> collided</a>") == 1


@pytest.fixture(scope="module")
def finished(smoke, tmp_path_factory):
    """A campaign in which the planner ``straight`` collides with a box in some of four worlds."""
    obstacles = {
        "obstacles": [{"type": "box", "count": 1, "size_z_m": 1.2}],
        "region": {"rectangle": {"x_m": [-0.1, 0.1], "y_m": [-2.0, 2.0]}},
    }
    data = smoke.model_dump(mode="json")
    data["worlds"] = {**data["worlds"], "obstacles": obstacles, "count": 4}
    data["simulator"] = "kinematic"
    data["planners"] = ["straight"]
    folder = tmp_path_factory.mktemp("perturbed")
    (folder / "campaign.yaml").write_text(json.dumps(data))
    out = folder / "out"
    assert main(["run", str(folder / "campaign.yaml"), "--workers", "1", "--out", str(out)]) == 0
    return out


def perturb(out, *options):
    return main(["perturb", str(out), "--workers", "1", "--trials", "all", *options])


@pytest.mark.slow
def test_killed_command_continues_with_the_same_answers(finished, monkeypatch, capsys):
    answers = finished / ANSWERS
    assert perturb(finished, "--count", "2") == 0
    assert "Robustness of outcomes" in capsys.readouterr().out
    complete, page = answers.read_bytes(), (finished / "report.html").read_bytes()
    assert len(complete.splitlines()) == 1 + 4 * 2
    answers.unlink()
    execute, calls = perturb_cli.RepeatTask.__call__, []

    def killed(task, repeat):
        calls.append(repeat)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return execute(task, repeat)

    monkeypatch.setattr(perturb_cli.RepeatTask, "__call__", killed)
    assert perturb(finished, "--count", "2") == 130
    with open(answers, "ab") as file:
        file.write(b'{"key": "incomp')
    assert perturb(finished, "--count", "2") == 0
    assert (answers.read_bytes(), len(calls)) == (complete, 4 + 5)
    assert (finished / "report.html").read_bytes() == page
    assert perturb(finished, "--count", "2") == 0
    assert len(calls) == 4 + 5
    assert "section-robustness-of-outcomes" in page_results.make_page(finished).html


@pytest.mark.slow
def test_invalid_repeats_are_reported_and_not_stored(finished, monkeypatch, capsys):
    (finished / ANSWERS).unlink(missing_ok=True)
    monkeypatch.setattr(perturb_cli.RepeatTask, "__call__", lambda *_: (None, "it crashed"))
    assert perturb(finished, "--count", "1") == 1
    assert "4 repeats have no valid outcome" in capsys.readouterr().err
    assert len((finished / ANSWERS).read_text().splitlines()) == 1


@pytest.mark.slow
def test_unknown_planner_and_empty_selection_are_rejected(finished, capsys):
    assert main(["perturb", str(finished), "0", "fgm"]) == 2
    assert "unknown planner 'fgm'" in capsys.readouterr().err
    empty = CampaignResults("c", ("straight",), (), 0, ())
    arguments = SimpleNamespace(planners=[], planner=None, world=None, worlds=None, trials="failed")
    with pytest.raises(ResultsError, match="no selected trial has failed"):
        perturb_cli._select_trials(SimpleNamespace(trials=()), empty, arguments)


def test_directory_without_results_is_rejected(tmp_path, capsys):
    assert main(["perturb", str(tmp_path)]) == 2
    assert str(tmp_path) in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
