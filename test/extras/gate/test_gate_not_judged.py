"""A gate lists expected results that it did not judge, and does not pass unless they are declared.

Each case is read from the exit status, the terminal, JUnit XML and JSON.
"""

import functools
import json
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from gate_tables import PASSES, WORSE, gate_results, table

from gz_testauto.base.errors import ResultsError
from gz_testauto.cli.main import main
from gz_testauto.extras.gate import request as gate_request
from gz_testauto.trial.plan import TrialSelection


@pytest.fixture
def gate(tmp_path, capsys, monkeypatch):
    """Runs a gate twice, for lines and for JSON; returns all that it reports."""
    cached = functools.lru_cache(gate_request.evaluate_gate)
    monkeypatch.setattr(gate_request, "evaluate_gate", cached)

    def start(*command):
        xml = tmp_path / "gate.xml"
        xml.write_text("of the last run")
        capsys.readouterr()
        status = main(["gate", *command, "--junit", str(xml)])
        lines = capsys.readouterr().out.splitlines()
        assert main(["gate", *command, "--json"]) == status
        document = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
        suite = ElementTree.parse(xml).getroot().find("testsuite")
        cases = {
            kind: [
                case.find(kind).get("message")
                for case in suite.iter("testcase")
                if case.find(kind) is not None
            ]
            for kind in ("error", "failure", "skipped")
        }
        assert int(suite.get("errors")) == len(cases["error"])
        assert int(suite.get("skipped")) == len(cases["skipped"])
        properties = [(p.get("name"), p.get("value")) for p in suite.iter("property")]
        return SimpleNamespace(
            status=status,
            lines=lines,
            document=document,
            cases=cases,
            properties=properties,
            suite=suite,
        )

    return start


@pytest.fixture
def results(tmp_path):
    return lambda name, text: gate_results(tmp_path, name, text)


def require_error(ended, said):
    """Assert that every output of the gate reports ``said`` as an error."""
    assert ended.status == 2
    assert ended.document["verdict"] == "undecided"
    (line,) = [line for line in ended.lines if line.startswith("not judged: ")]
    assert said in line
    assert line in ended.cases["error"]
    (entry,) = ended.document["not_judged"]
    assert not entry["allowed"]
    assert entry["reason"] in line
    assert ("not_judged", entry["reason"]) in ended.properties
    return line


def require_allowed(ended, said):
    """Assert that the gate passes, and that every output lists ``said`` as allowed."""
    assert ended.status == 0
    assert ended.document["verdict"] == "passed"
    (line,) = [line for line in ended.lines if line.startswith("not judged, allowed: ")]
    assert said in line
    assert ended.cases == {"error": [], "failure": [], "skipped": [line]}
    (entry,) = ended.document["not_judged"]
    assert entry["allowed"]
    assert ("allowed", entry["reason"]) in ended.properties
    names = [case.get("name") for case in ended.suite.iter("testcase")]
    assert f"not judged, allowed: {entry['reason']}".replace("%", "percent") in names


def test_a_planner_that_is_missing_is_an_error_unless_it_is_declared_as_removed(results, gate):
    new, old = results("new_ones", table(fgm=PASSES)), results("old", table(fgm=PASSES, dwa=PASSES))
    said = "the new results have no trials of planner dwa"
    ended = gate(new, "--baseline", old)
    line = require_error(ended, said)
    starts = [shown.partition(":")[0] for shown in ended.lines if not shown.startswith(" ")]
    assert starts == ["not judged", "PASSED fgm", "note"]
    assert line.endswith("; run it, or declare --removed-planner dwa")
    require_allowed(gate(new, "--baseline", old, "--removed-planner", "dwa"), said)


def test_a_new_planner_is_an_error_unless_it_is_declared(results, gate):
    new, old = results("new_ones", table(fgm=PASSES, dwa=PASSES)), results("old", table(fgm=PASSES))
    line = require_error(gate(new, "--baseline", old), "the baseline has no trials of planner dwa")
    assert "--baseline-planner NAME (one of fgm), or declare --new-planner dwa" in line
    ended = gate(new, "--baseline", old, "--new-planner", "dwa")
    require_allowed(ended, "planner dwa has no baseline, as declared")
    assert ("new_planners", "dwa") in ended.properties
    assert ended.document["allowed"]["new_planners"] == ["dwa"]


def test_a_new_planner_must_still_be_good_enough_by_itself(results, gate):
    new, old = results("new_ones", table(fgm=PASSES, dwa=WORSE)), results("old", table(fgm=PASSES))
    options = ("--baseline", old, "--new-planner", "dwa", "--min-success", "0.9")
    ended = gate(new, *options)
    assert ended.status == 1
    assert ended.lines[0] == "FAILED dwa: 60.0 %, at least 90 % required"


def test_a_gate_without_a_question_does_not_pass(results, gate):
    new, old = results("new_ones", table(dwa=PASSES)), results("old", table(fgm=PASSES))
    ended = gate(new, "--baseline", old, "--new-planner", "dwa", "--removed-planner", "fgm")
    assert ended.status == 2
    assert "--min-success RATE" in ended.lines[0]
    assert ended.document["answers"] == []
    assert len(ended.cases["error"]) == 1


def test_a_declaration_that_is_not_needed_is_a_note(results, gate):
    both = results("new_ones", table(fgm=PASSES)), results("old", table(fgm=PASSES))
    ended = gate(both[0], "--baseline", both[1], "--new-planner", "fgm", "--removed-planner", "dwa")
    assert ended.status == 0
    notes = [line for line in ended.lines if "has no effect" in line]
    assert notes == [
        "note: --new-planner fgm has no effect: the planner is not new here",
        "note: --removed-planner dwa has no effect: the planner is not removed here",
    ]
    assert {f"note: {note}" for note in ended.document["notes"]} >= set(notes)
    assert {f"note: {value}" for name, value in ended.properties if name == "note"} >= set(notes)


@pytest.mark.slow
def test_worlds_in_one_of_the_results_only_are_an_error_unless_their_number_is_allowed(
    results, gate
):
    new = results("new_ones", table(fgm="1" * 120))
    old = results("old", table(first_world=10, fgm="1" * 115))
    ended = gate(new, "--baseline", old)
    assert ended.status == 2
    assert [line for line in ended.lines if line.startswith("not judged")] == [
        "not judged: 10 of 120 worlds of the new results are not in the baseline: w000, w001, "
        "w002, w003, w004 and 5 more; run the missing trials, or declare "
        "--allow-missing-worlds 15",
        "not judged: 5 of 115 worlds of the baseline are not in the new results: w120, w121, "
        "w122, w123, w124; run the missing trials, or declare --allow-missing-worlds 15",
    ]
    assert len(ended.cases["error"]) == 2
    assert [len(entry["worlds"]) for entry in ended.document["not_judged"]] == [10, 5]
    assert gate(new, "--baseline", old, "--allow-missing-worlds", "14").status == 2
    ended = gate(new, "--baseline", old, "--allow-missing-worlds", "15")
    assert ended.status == 0
    assert len(ended.cases["skipped"]) == 2
    assert ("allow_missing_worlds", "15") in ended.properties
    texts = [
        case.find("skipped").text
        for case in ended.suite.iter("testcase")
        if case.find("skipped") is not None
    ]
    assert "not judged w009" in texts[0]


@pytest.mark.slow
def test_worlds_without_a_planner_are_an_error_unless_their_number_is_allowed(results, gate):
    both = results("both", table(mine="1" * 118 + "..", theirs="." * 3 + "1" * 117))
    said = "5 worlds without a trial of mine or theirs: w000, w001, w002, w118, w119"
    command = (both, "--baseline-planner", "theirs")
    line = require_error(gate(*command), said)
    assert line.endswith("; run the missing trials, or declare --allow-missing-worlds 5")
    assert gate(*command, "--allow-missing-worlds", "4").status == 2
    require_allowed(gate(*command, "--allow-missing-worlds", "5"), said)


@pytest.mark.slow
def test_missing_worlds_of_one_planner_are_added_to_those_of_all_planners(results, gate):
    new = results("new_ones", table(dwa="1" * 120, fgm="1" * 117 + "..."))
    old = results("old", table(first_world=2, dwa="1" * 118, fgm="1" * 118))
    ended = gate(new, "--baseline", old, "--allow-missing-worlds", "4")
    assert ended.status == 2
    assert [entry["allowed"] for entry in ended.document["not_judged"]] == [True, False]
    (line,) = ended.cases["error"]
    assert "3 worlds without a trial of fgm (new) or fgm (baseline): w117, w118, w119" in line
    assert line.endswith("--allow-missing-worlds 5")
    assert gate(new, "--baseline", old, "--allow-missing-worlds", "5").status == 0


@pytest.mark.slow
def test_half_of_the_trials_invalid_is_an_error_unless_that_share_is_allowed(results, gate):
    new = results("new_ones", table(fgm="1x" * 100))
    old = results("old", table(fgm="1" * 200))
    said = "100 of 200 trials of fgm (new) are invalid (50 %, allowed 1 %): w001, w003"
    line = require_error(gate(new, "--baseline", old), said)
    assert "repeat them with `run --retry-invalid`, or declare --max-invalid 0.5" in line
    assert gate(new, "--baseline", old, "--max-invalid", "0.49").status == 2
    ended = gate(new, "--baseline", old, "--max-invalid", "0.5")
    require_allowed(ended, "100 of 200 trials of fgm (new) are invalid (50 %, allowed 50 %)")
    assert ("max_invalid", "0.5") in ended.properties


def test_the_share_that_a_message_recommends_is_sufficient(results, gate):
    out = results("new_ones", table(fgm="1" * 93 + "x" * 7 + "1" * 3))
    line = require_error(gate(out, "--min-success", "0.5"), "7 of 103 trials of fgm are invalid")
    share = line.rpartition(" ")[2]
    require_allowed(gate(out, "--min-success", "0.5", "--max-invalid", share), "7 of 103 trials")


@pytest.mark.slow
def test_one_invalid_trial_in_a_hundred_is_allowed_and_listed(results, gate):
    out = results("new_ones", table(fgm="x" + "1" * 99))
    require_allowed(gate(out, "--min-success", "0.5"), "1 of 100 trials of fgm is invalid")
    out = results("fewer", table(fgm="x" + "1" * 98))
    require_error(gate(out, "--min-success", "0.5"), "1 of 99 trials of fgm is invalid")


@pytest.mark.slow
def test_invalid_trials_of_both_compared_planners_count_and_those_of_others_do_not(results, gate):
    both = results("both", table(mine=PASSES, theirs="x" * 10 + "1" * 90, other="x" * 100))
    ended = gate(both, "--planner", "mine", "--baseline-planner", "theirs")
    require_error(ended, "10 of 100 trials of theirs are invalid")


def test_verdict_stays_failed_if_a_world_is_missing(results, gate):
    new, old = results("new_ones", table(fgm=WORSE)), results("old", table(fgm="1" * 101))
    ended = gate(new, "--baseline", old)
    assert ended.status == 1
    assert ended.document["verdict"] == "failed"
    assert (len(ended.cases["failure"]), len(ended.cases["error"])) == (1, 1)


@pytest.mark.slow
def test_a_campaign_that_has_not_ended_is_an_error(run, gate):
    half = run(selection=TrialSelection(worlds=1))
    names = ["world_0000", "world_0001"]
    command = (str(half.out), "--min-success", "0.01")
    ended = gate(*command)
    assert ended.status == 2
    said = f"1 of {len(names)} worlds of the results is unfinished, or after an unfinished world: "
    (line,) = [line for line in ended.cases["error"] if said + names[1] in line]
    assert "judge the first by --worlds 1, or declare --allow-missing-worlds 1" in line
    ended = gate(*command, "--worlds", "1")
    assert ended.document["not_judged"] == []
    ended = gate(*command, "--allow-missing-worlds", "1")
    assert [entry["allowed"] for entry in ended.document["not_judged"]] == [True]


@pytest.mark.parametrize(
    ("new", "baseline", "unfinished"),
    [("half", "half", 2), ("half", "whole", 1), ("whole", "half", 1)],
)
def test_worlds_that_were_not_generated_are_unfinished(
    run, gate, tmp_path, new, baseline, unfinished
):
    for role, part in (("new", new), ("baseline", baseline)):
        count = 1 if part == "half" else None
        run(out=tmp_path / role, selection=TrialSelection(worlds=count))
    command = (str(tmp_path / "new"), "--baseline", str(tmp_path / "baseline"))
    command += ("--not-worse-than", "0.5")
    ended = gate(*command)
    assert ended.status == 2
    missing = [entry["worlds"] for entry in ended.document["not_judged"]]
    assert missing == [["world_0001"]] * unfinished
    ended = gate(*command, "--allow-missing-worlds", "1")
    assert all(entry["allowed"] for entry in ended.document["not_judged"])


def test_a_planner_of_the_campaign_that_was_never_run_is_an_error(run, gate, smoke):
    part = run(selection=TrialSelection(planners=("fgm",)))
    others = [planner.name for planner in smoke.planners if planner.name != "fgm"]
    ended = gate(str(part.out), "--min-success", "0.01")
    reasons = [entry["reason"] for entry in ended.document["not_judged"]]
    assert reasons == [f"the results have no trials of planner {p}" for p in others]
    declared = [word for name in others for word in ("--removed-planner", name)]
    ended = gate(str(part.out), "--min-success", "0.01", *declared)
    assert all(entry["allowed"] for entry in ended.document["not_judged"])
    assert ended.document["answers"][0]["worlds"] == 2


@pytest.mark.slow
def test_a_metric_that_is_unknown_in_some_worlds_is_an_error(results, gate):
    text = table(fgm=PASSES)
    new = results("new_ones", text.replace(",20.03\n", ",\n").replace(",20.07\n", ",\n"))
    command = (new, "--baseline", results("old", text), "--metric", "time_s:9:0:60")
    said = "time_s is unknown in 2 worlds for fgm (new) or fgm (baseline): w003, w007"
    require_error(gate(*command), said)
    require_allowed(gate(*command, "--allow-missing-worlds", "2"), said)


@pytest.mark.slow
def test_a_metric_that_depends_on_a_parameter_is_reported_as_not_compared(
    run, smoke, tmp_path, gate
):
    one = run(out=tmp_path / "one")
    metrics = smoke.metrics.model_copy(update={"safety_distance_m": 0.3})
    other = run(spec=smoke.model_copy(update={"metrics": metrics}), out=tmp_path / "other")
    command = (str(other.out), "--baseline", str(one.out), "--metric", "safety:1:0:100")
    ended = gate(*command)
    assert any(
        line.startswith("not judged: safety is not compared: it depends on") for line in ended.lines
    )
    assert not [a for a in ended.document["answers"] if "(safety)" in a["subject"]]
    assert any("metrics.safety_distance_m" in note for note in ended.document["notes"])
    ended = gate(*command, "--ignore-differences")
    assert any("(safety)" in a["question"] for a in ended.document["answers"])


class TestAnError:
    """An error of any kind replaces the JUnit file of the previous run."""

    def end(self, tmp_path, capsys, *command):
        """Return status, JSON and the error in JUnit."""
        xml = tmp_path / "gate.xml"
        xml.write_text("<testsuite tests='1' errors='0' failures='0'/>")
        capsys.readouterr()
        status = main(["gate", *command, "--junit", str(xml), "--json"])
        printed = capsys.readouterr()
        (error,) = ElementTree.parse(xml).getroot().iter("error")
        assert ElementTree.parse(xml).getroot().get("errors") == "1"
        return status, json.loads(printed.out), printed.err, error.get("message")

    def test_during_evaluation_is_reported_in_every_output(
        self, results, tmp_path, capsys, monkeypatch
    ):
        out = results("new_ones", table(fgm=PASSES))

        def evaluate(*_):
            (text,) = [e.text for e in ElementTree.parse(tmp_path / "gate.xml").iter("error")]
            assert text.startswith("not finished")
            raise ResultsError("results.sqlite: is damaged")

        monkeypatch.setattr(gate_request, "evaluate", evaluate)
        ended = self.end(tmp_path, capsys, out, "--min-success", "0.5")
        status, document, printed, message = ended
        assert status == 2
        assert (document["verdict"], document["error"]) == ("error", "results.sqlite: is damaged")
        assert printed == "gz_testauto: results.sqlite: is damaged\n"
        assert message == "results.sqlite: is damaged"

    def test_of_the_program_is_reported_in_junit(self, results, tmp_path, capsys, monkeypatch):
        out = results("new_ones", table(fgm=PASSES))

        def evaluate(*_):
            raise ZeroDivisionError("division by zero")

        monkeypatch.setattr(gate_request, "evaluate", evaluate)
        xml = tmp_path / "gate.xml"
        with pytest.raises(ZeroDivisionError):
            main(["gate", out, "--min-success", "0.5", "--junit", str(xml)])
        (error,) = ElementTree.parse(xml).getroot().iter("error")
        assert error.get("message") == "ZeroDivisionError: division by zero"

    def test_junit_of_an_interrupted_gate_is_not_finished(self, results, tmp_path, monkeypatch):
        out = results("new_ones", table(fgm=PASSES))

        def evaluate(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(gate_request, "evaluate", evaluate)
        xml = tmp_path / "gate.xml"
        xml.write_text("of the last run")
        assert main(["gate", out, "--min-success", "0.5", "--junit", str(xml)]) == 130
        (error,) = ElementTree.parse(xml).getroot().iter("error")
        assert error.get("message").startswith("not finished")

    @pytest.mark.parametrize(
        ("options", "complaint"),
        [
            (("--planner", "nobody", "--min-success", "0.5"), "unknown planner 'nobody'"),
            (("--baseline", "/nowhere"), "/nowhere: the directory does not exist"),
            (("--min-success", "9"), "--min-success is 9.0"),
        ],
    )
    def test_in_the_request_is_reported_in_every_output(
        self, results, tmp_path, capsys, options, complaint
    ):
        out = results("new_ones", table(fgm=PASSES))
        status, document, printed, message = self.end(tmp_path, capsys, out, *options)
        assert status == 2
        assert complaint in document["error"]
        assert complaint in printed
        assert complaint in message

    def test_no_common_world_names_how_imported_worlds_are_paired(self, results, tmp_path, capsys):
        new, old = table(fgm=PASSES), table(first_world=200, fgm=PASSES)
        command = (results("new_ones", new), "--baseline", results("old", old))
        status, _, _, message = self.end(tmp_path, capsys, *command)
        assert status == 2
        assert message == (
            "new, baseline: have no world in common: they were imported without files, and no two "
            "worlds have the same name"
        )


def test_the_only_planner_of_a_baseline_is_compared_under_its_other_name_with_a_note(results, gate):
    new, old = results("new_ones", table(dwa=PASSES)), results("old", table(fgm=PASSES))
    ended = gate(new, "--baseline", old)
    assert ended.status == 0
    assert "note: dwa is compared with fgm, the only planner of the baseline" in ended.lines


@pytest.mark.slow
def test_differences_that_are_accepted_are_listed(run, smoke, tmp_path, gate):
    one = run(out=tmp_path / "one")
    changed = smoke.model_copy(
        update={"limits": smoke.limits.model_copy(update={"timeout_s": 7.0})}
    )
    other = run(spec=changed, out=tmp_path / "other")
    assert main(["gate", str(other.out), "--baseline", str(one.out)]) == 2
    ended = gate(str(other.out), "--baseline", str(one.out), "--ignore-differences")
    said = "compared although it differs (--ignore-differences): limits.timeout_s: 7.0, and "
    assert [note for note in ended.document["notes"] if said in note]


def test_unequal_numbers_of_trials_are_listed(results, gate):
    text = table(fgm="1" * 20)
    out = results("new_ones", text + text.splitlines()[-1].replace("w019", "w003") + "\n")
    ended = gate(out, "--min-success", "0.5")
    assert "note: fgm has 1 to 2 trials per world" in ended.lines
    assert not [
        line
        for line in gate(results("equal", text), "--min-success", "0.5").lines
        if "per world" in line
    ]


def test_no_negative_zero_is_shown(results, gate):
    text = table(fgm=PASSES)
    new, old = results("new_ones", text), results("old", text)
    ended = gate(new, "--baseline", old, "--metric", "time_s:2:0:60")
    assert not [line for line in ended.lines if "-0.0" in line]
    (answer,) = [a for a in ended.document["answers"] if a["unit"] == "s"]
    assert str(answer["value"]) == "0.0"


def test_unknown_numbers_are_null_in_json(results, gate):
    new, old = results("new_ones", table(fgm="1")), results("old", table(fgm="0"))
    ended = gate(new, "--baseline", old, "--metric", "time_s:2:0:60")
    assert ended.status == 2
    (answer,) = [a for a in ended.document["answers"] if a["unit"] == "s"]
    assert (answer["low"], answer["high"]) == (None, None)


def test_no_name_in_junit_has_a_percent_sign(results, gate):
    text = table(fgm=PASSES).replace("fgm", "fgm 50%d")
    out = results("new_ones", text)
    ended = gate(out, "--min-success", "0.5", "--name", "100 % of worlds")
    assert ended.status == 0
    names = [
        case.get(key) for case in ended.suite.iter("testcase") for key in ("name", "classname")
    ]
    assert not [name for name in (*names, ended.suite.get("name")) if "%" in name]
    assert "the success rate of fgm 50percentd is at least 50 percent" in names
