"""Two runs have one experiment ID, and ``--verify`` names the input that has changed."""

import json
from importlib import metadata

import pytest
from standard_cards import edit_json, write_set

from gz_testauto.base.errors import SpecError
from gz_testauto.cli.main import main
from gz_testauto.extras.standard_set import classes, runs
from gz_testauto.extras.standard_set.classes import StandardSet
from gz_testauto.results.store import load_campaign


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the folder of a small set in the kinematic simulator, which replaces the set."""
    place = tmp_path / "share" / "config" / "standard"
    write_set(place)
    monkeypatch.setattr(classes, "share_directory", lambda: tmp_path / "share")
    monkeypatch.setattr(runs, "SIMULATOR", "kinematic")
    monkeypatch.setattr("gz_testauto.report.page.page.write_final_page", lambda out: ())
    return place


def benchmark(out, *options, planners=("straight",)):
    return main(["benchmark", *planners, "--out", str(out), "--workers", "1", *options])


def card_in(out, planner="straight"):
    return json.loads((out / planner / "card.json").read_text(encoding="utf-8"))


def verify(card, out, *options):
    return main(["benchmark", "--verify", str(card), "--out", str(out), "--workers", "1", *options])


@pytest.mark.slow
def test_two_runs_in_two_directories_have_the_same_id(folder, tmp_path, capsys):
    assert benchmark(tmp_path / "one", "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    assert benchmark(tmp_path / "elsewhere" / "two", "--json") == 0
    assert json.loads(capsys.readouterr().out)["cards"][0]["id"] == summary["cards"][0]["id"]
    assert summary["cards"][0]["id"] == card_in(tmp_path / "one")["id"]
    assert summary["cards"][0]["total"]["worlds"] == 6
    content = {**card_in(tmp_path / "one"), "about": None}
    assert str(tmp_path) not in json.dumps(content)


@pytest.mark.slow
def test_a_subset_is_continued_to_the_complete_set_without_repeating_trials(folder, tmp_path):
    out = tmp_path / "out"
    assert benchmark(out, "--worlds", "1", "--only", "near") == 0
    assert card_in(out)["id"].startswith("std1-1w1-")
    before = load_campaign(out / "straight" / "near").results.trials
    assert benchmark(out) == 0
    after = load_campaign(out / "straight" / "near").results.trials
    assert after[:1] == before and len(after) == 3
    assert benchmark(tmp_path / "fresh") == 0
    assert card_in(out)["id"] == card_in(tmp_path / "fresh")["id"]


@pytest.mark.slow
def test_planner_file_and_stored_card_are_compared(folder, tmp_path, capsys):
    file = tmp_path / "slow.yaml"
    file.write_text("{name: my_gap, plugin: fgm, parameters: {slowest: 0.3}}\n")
    assert benchmark(tmp_path / "a") == 0
    capsys.readouterr()
    card = tmp_path / "a" / "straight" / "card.json"
    assert benchmark(tmp_path / "b", "--against", str(card), "--json", planners=[str(file)]) == 0
    content = json.loads(capsys.readouterr().out)
    assert [one["planner"] for one in content["cards"]] == ["my_gap", "straight"]
    (pair,) = content["pairs"]
    assert pair["both"] + pair["first_only"] + pair["second_only"] + pair["neither"] == 6
    assert card_in(tmp_path / "b", "my_gap")["planner"]["parameters"] == {"slowest": 0.3}


def test_a_file_of_a_parameter_is_identified_by_its_content(folder, tmp_path):
    from gz_testauto.extras.standard_set.card import planner_identity
    from gz_testauto.spec.campaign import BuiltinPlannerSpec

    found = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        file = tmp_path / name / "policy.npz"
        file.write_bytes(b"same")
        spec = BuiltinPlannerSpec(name="mine", plugin="fgm", parameters={"file": str(file)})
        found.append(planner_identity(spec, {}))
    assert found[0] == found[1]
    assert found[0].parameters["file"].startswith("sha256:")


@pytest.mark.slow
def test_verify_reports_equal_bits(folder, tmp_path, capsys):
    assert benchmark(tmp_path / "out", "--worlds", "2") == 0
    capsys.readouterr()
    card = tmp_path / "out" / "straight" / "card.json"
    assert verify(card, tmp_path / "again") == 0
    out = capsys.readouterr().out
    assert card_in(tmp_path / "out")["id"] in out and "all 4 trials" in out


@pytest.mark.slow
def test_verify_in_the_same_directory_repeats_the_trials(folder, tmp_path):
    assert benchmark(tmp_path / "out", "--only", "near") == 0
    assert verify(tmp_path / "out" / "straight" / "card.json", tmp_path / "out") == 0
    again = load_campaign(tmp_path / "out" / "verify" / "straight" / "near")
    assert len(again.results.trials) == 3


@pytest.mark.slow
def test_verify_compares_a_part_of_the_card(folder, tmp_path, capsys):
    assert benchmark(tmp_path / "out") == 0
    card = tmp_path / "out" / "straight" / "card.json"
    capsys.readouterr()
    assert verify(card, tmp_path / "again", "--only", "far", "--worlds", "2") == 0
    assert "equal: std1-2w2-" in capsys.readouterr().out
    directory = tmp_path / "again" / "verify" / "straight"
    assert [path.name for path in directory.iterdir()] == ["far"]
    assert len(list((directory / "far" / "worlds").glob("world_*.world"))) == 2
    assert verify(card, tmp_path / "again", "--only", "forest") == 2
    assert "unknown class 'forest'" in capsys.readouterr().err


def test_verify_names_the_class_and_worlds_after_one_changed_byte(folder, tmp_path, capsys):
    assert benchmark(tmp_path / "out", "--only", "near") == 0
    base = folder / "base.world"
    base.write_text(base.read_text().replace("30 30", "30 31"))
    capsys.readouterr()
    assert verify(tmp_path / "out" / "straight" / "card.json", tmp_path / "again") == 1
    out = capsys.readouterr().out
    assert "class near: worlds.base" in out and "3 of 3 worlds changed: world_0000" in out
    assert "no trial ran" in out


def test_benchmark_rejects_worlds_that_differ_from_the_set(folder, tmp_path, capsys):
    base = folder / "base.world"
    base.write_text(base.read_text().replace("30 30", "30 31"))
    assert benchmark(tmp_path / "out") == 2
    error = capsys.readouterr().err
    assert "class near" in error and "world_0000" in error and str(folder) in error
    assert not (tmp_path / "out" / "straight" / "card.json").exists()


@pytest.mark.slow
def test_verify_names_a_changed_version_and_compares_the_trials(
    folder, tmp_path, capsys, monkeypatch
):
    assert benchmark(tmp_path / "out", "--only", "near") == 0
    installed = metadata.version
    monkeypatch.setattr(
        metadata, "version", lambda name: "0.1" if name == "numpy" else installed(name)
    )
    capsys.readouterr()
    assert verify(tmp_path / "out" / "straight" / "card.json", tmp_path / "again") == 1
    out = capsys.readouterr().out
    assert "version of numpy is 0.1, was" in out and "version of scipy" not in out
    assert "all 3 trials have the same bits" in out


@pytest.mark.slow
def test_verify_names_the_trial_with_another_outcome(folder, tmp_path, capsys):
    from gz_testauto.extras.standard_set.card import read_card, write_card
    from gz_testauto.trial.outcome import Outcome

    assert benchmark(tmp_path / "out", "--only", "near") == 0
    path = tmp_path / "out" / "straight" / "card.json"
    standard = StandardSet()
    card = read_card(path, standard)
    trials = card.classes["near"].trials
    other = {**vars(trials["world_0001"]), "outcome": Outcome.STUCK}
    trials["world_0001"] = type(trials["world_0001"])(**other)
    write_card(path, card, standard)
    capsys.readouterr()
    assert verify(path, tmp_path / "again") == 1
    out = capsys.readouterr().out
    assert "trial near world_0001" in out and "was stuck" in out and "1 of 3 trials" in out


def test_a_changed_campaign_file_is_rejected_with_its_path(folder, tmp_path, capsys):
    file = folder / "far.yaml"
    file.write_text(file.read_text() + "\n")
    assert benchmark(tmp_path / "out") == 2
    assert str(file) in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "planners", "named"),
    [
        (["--only", "forest"], ["straight"], "unknown class 'forest'"),
        ([], ["strait"], "did you mean 'straight'"),
        ([], ["straight", "straight"], "'straight' appears twice"),
        ([], ["missing.yaml"], "missing.yaml"),
        ([], [], "PLANNER is missing"),
        (["--verify", "card.json", "--retry-invalid"], [], "--retry-invalid has no meaning"),
    ],
)
def test_wrong_options_are_rejected_in_one_line(folder, tmp_path, capsys, options, planners, named):
    assert benchmark(tmp_path / "out", *options, planners=planners) == 2
    error = capsys.readouterr().err
    assert named in error and error.count("\n") == 1


def test_a_class_without_its_checkout_is_omitted_with_the_remedy(
    folder, tmp_path, capsys, monkeypatch
):
    edit_json(
        folder / "set.json", lambda content: content["classes"]["far"].update(needs="BARN_ROOT")
    )
    monkeypatch.delenv("BARN_ROOT", raising=False)
    assert benchmark(tmp_path / "out") == 0
    captured = capsys.readouterr()
    assert "class far needs" in captured.err and "BARN_ROOT=" in captured.err
    assert "Not included: far." in captured.out
    assert card_in(tmp_path / "out")["id"].startswith("std1-1-")
    assert benchmark(tmp_path / "none", "--only", "far") == 2
    monkeypatch.setenv("BARN_ROOT", str(tmp_path))
    with pytest.raises(SpecError, match="has no folder"):
        raise SpecError(StandardSet().missing("far"))
