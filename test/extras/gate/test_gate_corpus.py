"""Each world of a regression corpus is judged by itself, and belongs to no rate or test."""

import json
import xml.etree.ElementTree as etree
from types import SimpleNamespace

import pytest
import yaml
from gate_tables import PASSES, gate_results, table

from gz_testauto.base.errors import ResultsError, SceneError, SpecError
from gz_testauto.base.resources import share_directory
from gz_testauto.cli import trust
from gz_testauto.cli.main import main
from gz_testauto.extras.gate import corpus as corpus_module
from gz_testauto.extras.gate import request as gate_request
from gz_testauto.extras.gate.corpus import (
    HISTORY,
    add_to_history,
    corpus_planners,
    judge_corpus,
    read_corpus,
    read_history,
    run_corpus,
)
from gz_testauto.extras.gate.interface import GateParameters
from gz_testauto.extras.gate.options import GateOptions
from gz_testauto.extras.gate.questions import Verdict
from gz_testauto.spec.campaign import BuiltinPlannerSpec, StackCampaignSpec
from gz_testauto.trial.outcome import Outcome


@pytest.fixture
def corpus(smoke, tmp_path):
    """A function that writes one failure of a corpus; returns the directory of the corpus."""
    room = (share_directory() / "worlds" / "room.world").read_text()

    def write(name, details=None, **changes):
        folder = tmp_path / "corpus" / name
        folder.mkdir(parents=True)
        (folder / "shrunk.world").write_text(room)
        data = smoke.model_dump(mode="json", exclude_defaults=True)
        goal = {"x_m": 3.0, "y_m": 0.0}
        data["worlds"] = {"directory": ".", "files": [{"file": "shrunk.world", "goal": goal}]}
        data.update(changes)
        (folder / "campaign.yaml").write_text(yaml.safe_dump(data))
        if details is not None:
            (folder / "shrunk.json").write_text(json.dumps(details))
        return folder.parent

    return write


@pytest.fixture
def outcomes(monkeypatch):
    """The outcomes of trials by planner, instead of simulations; a text is an invalid scene."""
    found = {}

    class Runner:
        def __init__(self, spec):
            self.spec = spec

        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

        def run(self, world, planner, should_stop):
            outcome = found[planner]
            if isinstance(outcome, str):
                raise SceneError(outcome)
            recording = SimpleNamespace(duration_s=4.0)
            return SimpleNamespace(
                outcome=outcome, failed=not outcome.success, detail="after 4 s", recording=recording
            )

    monkeypatch.setattr(corpus_module, "TrialRunner", Runner)
    return found


def planners(*names):
    return [BuiltinPlannerSpec(name=name, plugin="straight") for name in names]


def test_worlds_are_ordered_by_expected_time_to_failure(corpus):
    robust, fragile = {"same": 10, "valid": 10}, {"same": 1, "valid": 10}
    corpus("a_unknown")
    corpus("b_fragile", {"time_s": 5.0, "robustness": fragile})
    corpus("c_robust", {"time_s": 20.0, "robustness": robust})
    directory = corpus("d_fast", {"time_s": 2.0})
    worlds = read_corpus(directory)
    assert [one.name for one in worlds] == ["d_fast", "c_robust", "b_fragile", "a_unknown"]
    assert [one.expected_s for one in worlds[:3]] == pytest.approx([4.0, 20 * 12 / 11, 30.0])


def test_world_that_failed_last_is_first(corpus):
    corpus("fast", {"time_s": 1.0})
    corpus("slow", {"time_s": 30.0})
    directory = corpus("slower", {"time_s": 40.0})
    assert [one.name for one in read_corpus(directory)] == ["fast", "slow", "slower"]
    add_to_history(directory, ["slow"])
    assert [one.name for one in read_corpus(directory)] == ["slow", "fast", "slower"]
    add_to_history(directory, ["slower"])
    assert [one.name for one in read_corpus(directory)] == ["slower", "slow", "fast"]


def test_history_contains_each_failed_world_once_the_latest_first(tmp_path):
    add_to_history(tmp_path, [])
    assert not (tmp_path / HISTORY).exists() and read_history(tmp_path) == ()
    add_to_history(tmp_path, ["a", "b"])
    add_to_history(tmp_path, ["c", "b"])
    assert read_history(tmp_path) == ("c", "b", "a")


def test_unchanged_history_is_not_written_again(tmp_path, monkeypatch):
    add_to_history(tmp_path, ["a"])
    monkeypatch.setattr(corpus_module, "write_atomically", pytest.fail)
    add_to_history(tmp_path, ["a"])


def test_damaged_history_is_rejected(tmp_path):
    (tmp_path / HISTORY).write_text(json.dumps({"failed_worlds": [1]}))
    with pytest.raises(SpecError, match=r"history\.json: the file is damaged: failed_worlds\.0"):
        read_history(tmp_path)


def test_failures_are_added_to_the_history_of_the_corpus(corpus, outcomes):
    outcomes.update(old=Outcome.COLLIDED, new=Outcome.REACHED, odd="models overlap")
    corpus("first")
    directory = corpus("second")
    judge_corpus(directory, planners("new", "odd"))
    assert read_history(directory) == ()
    judge_corpus(directory, planners("new", "old"))
    assert read_history(directory) == ("first", "second")


def test_corpus_that_cannot_be_written_is_judged(corpus, outcomes, monkeypatch):
    def refuse(directory, failed):
        raise ResultsError("history.json: cannot be written: read-only file system")

    monkeypatch.setattr(corpus_module, "add_to_history", refuse)
    outcomes.update(old=Outcome.COLLIDED)
    lines = []
    judged = judge_corpus(corpus("first"), planners("old"), lines.append)
    assert judged.failed_worlds == ("first",)
    assert "read-only file system" in lines[-1]


def test_campaign_with_several_worlds_is_a_corpus(corpus):
    files = [{"file": "shrunk.world", "name": name} for name in ("door", "corner")]
    directory = corpus("mine", worlds={"directory": ".", "files": files})
    assert [one.name for one in read_corpus(directory)] == ["mine/corner", "mine/door"]


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (lambda path: None, "the directory of the corpus does not exist"),
        (lambda path: path.mkdir(), "no */campaign.yaml"),
    ],
)
def test_directory_without_failures_is_rejected(tmp_path, capsys, prepare, message):
    results = gate_results(tmp_path, "results", table(fgm=PASSES))
    prepare(tmp_path / "corpus")
    with pytest.raises(Exception, match=message.replace("*", r"\*")):
        read_corpus(tmp_path / "corpus")
    assert main(["gate", results, "--corpus", str(tmp_path / "corpus")]) == 2
    assert "imported" in capsys.readouterr().err


def test_campaign_without_world_files_and_damaged_details_are_rejected(corpus, smoke):
    worlds = smoke.model_dump(mode="json", exclude_defaults=True)["worlds"]
    with pytest.raises(Exception, match=r"generated.campaign\.yaml: worlds\.files is not set"):
        read_corpus(corpus("generated", worlds=worlds))


def test_damaged_details_are_rejected(corpus):
    with pytest.raises(Exception, match=r"damaged.shrunk\.json: time_s or robustness is invalid"):
        read_corpus(corpus("damaged", {"time_s": "long"}))


def test_each_planner_is_judged_in_each_world(corpus, outcomes):
    outcomes.update(old=Outcome.COLLIDED, new=Outcome.REACHED, odd="models overlap")
    corpus("first")
    lines = []
    judged = judge_corpus(corpus("second"), planners("old", "new", "odd"), lines.append)
    verdicts = {(one.world, one.planner): one.verdict for one in judged.verdicts}
    for world in ("first", "second"):
        assert verdicts[world, "old"] is Verdict.FAILED
        assert verdicts[world, "new"] is Verdict.PASSED
        assert verdicts[world, "odd"] is Verdict.UNDECIDED
    assert judged.failed_worlds == ("first", "second")
    assert len(lines) == 6
    assert lines[0] == "FAILED: corpus world first: old collided, after 4 s"
    assert "no valid trial: models overlap" in lines[2]


@pytest.fixture
def gated(corpus, outcomes, smoke, tmp_path, monkeypatch, capsys):
    """Runs a gate with a corpus of two worlds; returns exit status, JSON, JUnit cases and text."""
    outcomes.update(fgm=Outcome.REACHED)
    results = gate_results(tmp_path, "results", table(fgm=PASSES))
    spec = smoke.model_copy(update={"planners": tuple(planners("fgm"))})
    monkeypatch.setattr(gate_request, "read_campaign", lambda directory: (spec, None))
    corpus("first")
    directory, junit = corpus("second"), tmp_path / "gate.xml"

    def start(*options):
        arguments = ["gate", results, "--corpus", str(directory), "--junit", str(junit), *options]
        status = main([*arguments, "--json"])
        document = json.loads(capsys.readouterr().out)
        assert main(arguments) == status
        cases = {
            one.get("name"): [child.tag for child in one if child.tag != "system-out"]
            for one in etree.parse(junit).iter("testcase")
        }
        stored = json.loads((tmp_path / "results" / "corpus.json").read_text())
        assert stored == document["corpus"]
        return status, document, cases, capsys.readouterr().out

    return start


@pytest.mark.slow
def test_corpus_alone_needs_no_other_question(gated):
    status, document, cases, text = gated()
    assert status == 0 and document["answers"] == []
    assert cases == {"corpus: fgm in first": [], "corpus: fgm in second": []}
    assert text == "PASSED: 2 of 2 trials in the 2 worlds of the corpus corpus\n"


@pytest.mark.slow
def test_failed_world_fails_the_gate_and_changes_no_rate(gated, outcomes):
    _, before, _, _ = gated("--min-success", "0.9")
    outcomes.update(fgm=Outcome.STUCK)
    status, document, cases, text = gated("--min-success", "0.9")
    assert status == 1 and document["verdict"] == "failed"
    assert document["answers"] == before["answers"]
    assert document["answers"][0]["worlds"] == 100
    assert cases["corpus: fgm in first"] == ["failure"]
    assert text.splitlines()[0] == "FAILED: corpus world first: fgm stuck, after 4 s"


@pytest.mark.slow
def test_invalid_world_leaves_the_gate_undecided(gated, outcomes):
    outcomes.update(fgm="models overlap")
    status, document, cases, _ = gated()
    assert status == 2 and document["verdict"] == "undecided"
    assert cases["corpus: fgm in first"] == ["error"]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), [(GateOptions, "--trust"), (GateParameters, "~trust")])
def test_programs_of_a_corpus_need_permission(corpus, outcomes, smoke, monkeypatch, kind, name):
    monkeypatch.setattr(trust, "runs_xacro", lambda model: True)
    outcomes.update(straight=Outcome.REACHED)
    options = kind(corpus=corpus("first"), planner=("straight",))
    with pytest.raises(ResultsError, match=f"xacro file .*\n.*use {name} if you trust"):
        run_corpus(smoke, options, (), print, lambda: False)
    trusted = options.model_copy(update={"trust": True})
    (verdict,) = run_corpus(smoke, trusted, (), print, lambda: False).verdicts
    assert verdict.verdict is Verdict.PASSED


def test_planners_of_a_corpus_are_those_of_the_campaign(smoke):
    spec = smoke.model_copy(update={"planners": tuple(planners("old", "new"))})
    assert [one.name for one in corpus_planners(spec, ())] == ["old", "new"]
    assert [one.name for one in corpus_planners(spec, (), "old")] == ["new"]
    with pytest.raises(SpecError, match=r"unknown planner 'nwe'.*'new'"):
        corpus_planners(spec, ["nwe"])
    with pytest.raises(SpecError, match=r"campaign own: .*stack"):
        corpus_planners(StackCampaignSpec.model_construct(name="own"), ())


@pytest.mark.slow
def test_corpus_fails_for_one_planner_and_passes_for_another(corpus, smoke):
    box = (
        "<model name='obstacle_box_0'><static>true</static><pose>0 0.15 0.6 0 0 0</pose>"
        "<link name='l'><collision name='c'><geometry><box><size>0.6 0.6 1.2</size></box>"
        "</geometry></collision></link></model></world>"
    )
    directory = corpus("blocked", simulator="kinematic")
    world = directory / "blocked" / "shrunk.world"
    world.write_text(world.read_text().replace("</world>", box))
    made, fixed = (BuiltinPlannerSpec(name=name, plugin=name) for name in ("straight", "fgm"))
    (failed,) = judge_corpus(directory, [made]).verdicts
    assert (failed.verdict, failed.outcome) == (Verdict.FAILED, "collided")
    (passed,) = judge_corpus(directory, [fixed]).verdicts
    assert (passed.verdict, passed.outcome) == (Verdict.PASSED, "reached")
