"""The gate, as continuous integration runs it."""

import json
import re
from unittest import mock
from xml.etree import ElementTree

import pytest
from gate_tables import GOOD, PASSES, WORSE, gate_results, table

from gz_testauto.cli.main import main
from gz_testauto.extras.gate.report import _remedy_text
from gz_testauto.trial.plan import TrialSelection


@pytest.fixture
def results(tmp_path):
    """Makes a results directory of a table."""
    return lambda name, text: gate_results(tmp_path, name, text)


def test_a_planner_passes_against_itself(results, capsys):
    new, old = results("new_ones", table(fgm=GOOD)), results("old_ones", table(fgm=GOOD))
    assert main(["gate", new, "--baseline", old, "--not-worse-than", "0.05"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "PASSED fgm: 90.0 %, was 90.0 %, at most 5 points less allowed"
    assert said[1].startswith("  the success rate of fgm (new) equals that of fgm (baseline)")
    assert said[3:] == [
        "note: the trials of new and baseline were imported, so robot, limits and goal are unknown"
    ]


def test_planner_that_is_worse_fails_and_the_worlds_are_named(results, tmp_path, capsys):
    new, old = results("new_ones", table(fgm=WORSE)), results("old_ones", table(fgm=GOOD))
    xml = tmp_path / "gate.xml"
    command = ["gate", new, "--baseline", old, "--junit", str(xml), "--name", "navigation"]
    assert main(command) == 1
    said = capsys.readouterr().out
    assert said.startswith("FAILED fgm: 60.0 %, was 90.0 %, at most 5 points less allowed\n  the ")
    assert "30.0 percentage points lower" in said
    assert "was worse in 30 worlds: w000, w001, w002, w010, w011 and 25 more" in said
    root = ElementTree.parse(xml).getroot()
    (failure,) = root.iter("failure")
    assert failure.get("message") == said.splitlines()[0]
    assert failure.text.startswith("\n".join(map(str.strip, said.splitlines()[:4])))
    assert failure.text.count("\nworse in w0") == 30
    assert root.get("failures") == "1"


def test_gate_with_too_few_worlds_is_undecided_and_reports_the_required_number(results, capsys):
    new, old = results("new_ones", table(fgm="1" * 10)), results("old_ones", table(fgm="1" * 10))
    assert main(["gate", new, "--baseline", old]) == 3
    said = capsys.readouterr().out
    more = int(re.search(r"UNDECIDED fgm: .*; about (\d+) more worlds needed\n", said)[1])
    assert f"\n  a decision needs about {more} more worlds" in said
    enough = "1" * (10 + more)
    new, old = results("more", table(fgm=enough)), results("more_old", table(fgm=enough))
    assert main(["gate", new, "--baseline", old]) == 0


@pytest.mark.parametrize(
    ("needed", "printed"),
    [(1, "1 more world "), (66, "66 more"), (101, "110 more"), (7882, "7900 more")],
)
def test_number_of_further_worlds_is_rounded_up_to_two_digits(needed, printed):
    answer = mock.Mock(more_worlds=needed, value=0.5, fixed=False)
    assert f"about {printed}" in _remedy_text(answer)


def test_bounds_have_the_error_probability_of_their_verdict(results, capsys):
    """A failure shares alpha among all questions. Higher values of time_s are worse."""
    new, old = results("new_ones", table(fgm=GOOD)), results("old_ones", table(fgm=GOOD))
    rules = ["--not-worse-than", "0.05", "--metric", "time_s:2:0:60", "--alpha", "0.02"]
    main(["gate", new, "--baseline", old, *rules])
    said = capsys.readouterr().out
    time, success = (said[said.index(kind) :] for kind in ("the mean time", "the success rate"))
    bounds = re.compile(r"lower \S+ .* at (\S+) % confidence, upper \S+ .* at (\S+) % confidence")
    assert bounds.search(success).groups() == ("98", "99")
    assert bounds.search(time).groups() == ("99", "98")


def test_two_planners_of_one_campaign_are_compared(results, capsys):
    both = results("both", table(mine=WORSE, theirs=GOOD))
    assert main(["gate", both, "--baseline-planner", "theirs"]) == 1
    said = capsys.readouterr().out
    assert said.startswith("FAILED mine: 60.0 %, theirs had 90.0 %, at most 5 points less allowed")
    assert main(["gate", both, "--planner", "theirs", "--baseline-planner", "mine"]) == 0
    capsys.readouterr()
    assert main(["gate", both, "--planner", "mine", "--baseline-planner", "nobody"]) == 2
    error = capsys.readouterr().err
    assert "unknown planner 'nobody'" in error and "add it to the campaign and run it" in error


def test_gate_fails_below_the_required_success_rate(results, capsys):
    out = results("new_ones", table(fgm=GOOD))
    assert main(["gate", out, "--min-success", "0.75"]) == 0
    assert main(["gate", out, "--min-success", "0.99"]) == 1
    assert main(["gate", out, "--min-success", "0.9"]) == 3
    said = capsys.readouterr().out
    assert "is 90.0 %; at least 90 % is required" in said
    assert "\nUNDECIDED fgm: 90.0 %, at least 90 % required" in said


def test_metric_is_compared_in_the_worlds_in_which_both_planners_have_a_value(results, capsys):
    slower = table(fgm=GOOD).replace(",2", ",3")  # ten seconds more
    new, old = results("new_ones", slower), results("old_ones", table(fgm=GOOD))
    assert main(["gate", new, "--baseline", old, "--metric", "time_s:2:0:60"]) == 1
    said = capsys.readouterr().out
    first, second, third, *_ = said.splitlines()
    assert first == "FAILED fgm: time_s 30.490 s, was 20.490 s, at most 2 s more allowed"
    assert second.startswith(
        "  the mean time (time_s) of fgm (new) is 10.000 s higher than that of fgm (baseline); the "
        "allowed increase is 2 s"
    )
    assert "90 worlds; 10 worlds excluded" in third
    assert "\nPASSED fgm: 90.0 %, was 90.0 %" in said
    assert main(["gate", new, "--baseline", old, "--metric", "time_s:15:0:60"]) == 0
    assert main(["gate", new, "--baseline", old, "--metric", "tim_s:15:0:60"]) == 2
    assert "unknown metric 'tim_s'; did you mean 'time_s'" in capsys.readouterr().err


def test_a_gate_for_a_fixed_number_of_worlds_rejects_another_number(results, capsys):
    new, old = results("new_ones", table(fgm=PASSES)), results("old_ones", table(fgm=PASSES))
    command = ["gate", new, "--baseline", old, "--not-worse-than", "0.05", "--fixed-worlds"]
    assert main([*command, "100"]) == 0
    assert "one-sided bounds: lower -3.0 percentage points" in capsys.readouterr().out
    assert main([*command, "90"]) == 2
    assert "--fixed-worlds is 90, but the new results have 100 worlds" in capsys.readouterr().err
    assert main([*command, "1"]) == 2
    assert "--fixed-worlds is 1; it must be >= 2" in capsys.readouterr().err


def test_a_metric_without_known_bounds_is_rejected_with_a_remedy(results, capsys):
    new, old = results("new_ones", table(fgm=PASSES)), results("old_ones", table(fgm=PASSES))
    assert main(["gate", new, "--baseline", old, "--metric", "time_s:2"]) == 2
    assert "state them: time_s:2:LOWEST:HIGHEST" in capsys.readouterr().err


def test_the_time_limit_bounds_the_time(run, capsys):
    out = str(run().out)
    main(["gate", out, "--baseline-planner", "straight", "--metric", "time_s:2"])
    assert "mean time (time_s)" in capsys.readouterr().out


def test_json_contains_every_verdict(results, capsys):
    new, old = results("new_ones", table(fgm=GOOD)), results("old_ones", table(fgm=GOOD))
    capsys.readouterr()
    assert main(["gate", new, "--baseline", old, "--min-success", "0.9", "--json"]) == 3
    document = json.loads(capsys.readouterr().out)
    assert document["answers"][1]["summary"].startswith("PASSED fgm: 90.0 %, was 90.0 %")
    assert document["answers"][1]["means"] == [0.9, 0.9]
    assert document["verdict"] == "undecided"
    assert [answer["verdict"] for answer in document["answers"]] == ["undecided", "passed"]


def test_json_has_no_characters_that_a_terminal_interprets(results, capsys):
    name = "fgm\u202e\x9b"
    path = results("ones", table(**{name: PASSES}))
    capsys.readouterr()
    assert main(["gate", path, "--min-success", "0.9", "--json"]) == 0
    text = capsys.readouterr().out
    assert text.isascii()
    assert json.loads(text)["answers"][0]["planner"] == name


def test_only_trials_before_the_first_unfinished_world_count(run, capsys):
    half = run(selection=TrialSelection(trials=frozenset({0, 2, 3})))
    command = ["gate", str(half.out), "--baseline-planner", "straight"]
    assert main([*command, "--allow-missing-worlds", "2"]) == 2
    assert main(command) == 2
    assert "UNDECIDED fgm: no world has the trials" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ((), "--baseline DIR or --baseline-planner NAME or --min-success RATE"),
        (("--not-worse-than", "0.1"), "no baseline; specify --baseline DIR or --"),
        (("--min-success", "90"), "--min-success is 90.0; it must be < 1"),
        (("--min-success", "0.9", "--alpha", "0"), "--alpha is 0.0; it must be > 0"),
        (("--baseline-planner", "fgm", "--planner", "fgm"), "is compared with itself"),
        (("--baseline-planner", "fgm", "--metric", "safety"), "NAME:MARGIN"),
        (("--baseline-planner", "fgm", "--metric", "safety:-1"), "it must be > 0"),
        (("--baseline", "/nowhere"), "/nowhere: the directory does not exist"),
        (("--min-success", "0.9", "--max-invalid", "1"), "--max-invalid is 1.0; it must be < 1"),
        (("--min-success", "0.9", "--allow-missing-worlds", "-1"), "it must be >= 0"),
        (("--min-success", "0.9", "--worlds", "6"), "--worlds is 6; it must be between 1 and 5"),
    ],
)
def test_invalid_question_is_an_error_of_one_line(results, capsys, options, complaint):
    out = results("new_ones", table(fgm="1" * 5))
    capsys.readouterr()
    assert main(["gate", out, *options]) == 2
    said = capsys.readouterr().err
    assert complaint in said
    assert said.count("\n") == 1


def test_names_from_results_are_escaped_in_junit(results, tmp_path):
    text = table(fgm=WORSE).replace("w000", '"<b>&\x07w"')
    old = table(fgm=GOOD).replace("w000", '"<b>&\x07w"')
    xml = tmp_path / "gate.xml"
    command = ["gate", results("new_ones", text), "--baseline", results("old_ones", old)]
    assert main([*command, "--junit", str(xml)]) == 1
    (failure,) = ElementTree.parse(xml).getroot().iter("failure")
    assert "worse in <b>&\\x07w" in failure.text


@pytest.mark.ros
def test_junit_is_read_back_by_the_parser_of_rostest(results, tmp_path):
    junitxml = pytest.importorskip("rosunit.junitxml")
    xml = tmp_path / "gate.xml"
    new, old = results("new_ones", table(fgm=WORSE)), results("old_ones", table(fgm=GOOD))
    command = ["gate", new, "--baseline", old, "--min-success", "0.6", "--junit", str(xml)]
    assert main(command) == 1
    read = junitxml.read(str(xml), "gate")
    assert (read.num_tests, read.num_failures, read.num_errors) == (2, 1, 1)
    failed = [case for case in read.test_case_results if case.failures]
    assert "w002" in failed[0].failures[0].text


@pytest.mark.slow
def test_power_reports_the_detectable_differences(results, capsys):
    assert main(["power", "--worlds", "100", "--rates", "0.9,0.7", "--discordant", "0.25"]) == 0
    said = capsys.readouterr().out
    assert "100 worlds, of which 25.0 % are discordant" in said
    assert re.search(r"of 20\.0 points is .* a probability of (9\d|more than 99) %", said)
    losses = re.findall(r"fails a planner that is about (\d+) points worse", said)
    assert [20 < int(loss) < 40 for loss in losses] == [True, True]
    both = results("both", table(mine=WORSE, theirs=GOOD))
    assert main(["power", "--worlds", "60", "--pilot", both]) == 0
    said = capsys.readouterr().out
    assert "30.0 % [21.2, 40.0] are discordant (mine and theirs in 100 worlds" in said


@pytest.mark.slow
def test_power_of_a_pilot_whose_planners_never_differ_is_not_certain(results, capsys):
    both = results("equal", table(mine=GOOD, theirs=GOOD))
    assert main(["power", "--worlds", "100", "--pilot", both]) == 0
    said = capsys.readouterr().out
    assert "of which at most 3.0 % are discordant (upper 95 % bound" in said
    assert "100 %" not in said


@pytest.mark.slow
def test_power_takes_a_pilot_with_repetitions(results, capsys):
    rows = ["world,planner,repetition,outcome"]
    for world in range(40):
        for repetition in range(3):
            rows.append(f"w{world},a,{repetition},reached")
            ended = "reached" if (world + repetition) % 3 else "collided"
            rows.append(f"w{world},b,{repetition},{ended if world % 2 else 'reached'}")
    assert main(["power", "--worlds", "40", "--pilot", results("three", "\n".join(rows))]) == 0
    said = capsys.readouterr().out
    assert "50.0 % [33.8, 66.2] are discordant" in said
    assert "(Gaffke's test, alpha 0.05)" in said
    assert re.search(r"of 16\.7 points is .* a probability of more than 99 %", said)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--rates", "0.9"), "specify two rates"),
        (("--rates", "0.9,0.5", "--pilot", "x"), "specify either --pilot DIR or --rates A,B"),
        (("--pilot", "/nowhere"), "/nowhere: the directory does not exist"),
        (("--rates", "0.9,0.8", "--discordant", "0.01"), "'discordant' is 0.01; it must be"),
        (("--rates", "0.9,0.8", "--margin", "5"), "--margin is 5.0; it must be < 1"),
    ],
)
def test_invalid_plan_is_an_error(capsys, options, complaint):
    assert main(["power", "--worlds", "50", *options]) == 2
    assert complaint in capsys.readouterr().err
