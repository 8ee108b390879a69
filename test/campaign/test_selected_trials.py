"""Campaigns of selected worlds, and of the trials that failed in another campaign."""

import math

import pytest
from table_results import store_table

from gz_testauto.analysis.across import pair_campaigns
from gz_testauto.analysis.overview import analyze
from gz_testauto.base.errors import ResultsError, SimulatorError, SpecError
from gz_testauto.campaign.selection import require_failures, world_name
from gz_testauto.cli.main import main
from gz_testauto.report.verdicts import success_verdict
from gz_testauto.results.store import load_campaign
from gz_testauto.trial.outcome import Outcome
from gz_testauto.trial.plan import TrialSelection


def ends(**outcomes):
    """A script that ends the trials of ``world_planner`` as given, and all others at the goal."""

    def script(trial):
        key = f"w{trial.world.world_index}_{trial.planner.name}"
        return outcomes.get(key, Outcome.REACHED)

    return script


def seeds(results):
    return {f"{one.world}--{one.planner}--{one.repetition}": one.seed for one in results.trials}


def test_selected_world_runs_with_the_seeds_of_the_complete_campaign(run, tmp_path):
    complete = run(out=tmp_path / "complete")
    part = run(out=tmp_path / "part", selection=TrialSelection(only=("world_0001",)))
    assert part.executor.executed == ["world_0001--straight--0", "world_0001--fgm--0"]
    known = seeds(complete.results)
    assert seeds(part.results) == {name: known[name] for name in part.executor.executed}
    assert part.results.trials[0].trial == 2


def test_remaining_worlds_of_a_selection_can_run_later(run):
    assert run(selection=TrialSelection(only=("1",))).results.selection
    later = run()
    assert later.executor.executed == ["world_0000--straight--0", "world_0000--fgm--0"]
    assert later.results.selection == ""


@pytest.mark.parametrize("text", ["world_0001", "1"])
def test_world_is_found_by_name_and_by_number(run, text):
    assert world_name(text, run().results.worlds) == "world_0001"


def test_unknown_selected_world_is_rejected(run):
    with pytest.raises(SpecError, match=r"'world_7'.*world_0000"):
        run(selection=TrialSelection(only=("world_7",)))


def test_failed_trials_run_again_with_equal_seeds(run, tmp_path):
    first = run(
        ends(w0_fgm=Outcome.COLLIDED, w1_straight=Outcome.TIMED_OUT), out=tmp_path / "first"
    )
    again = run(out=tmp_path / "again", failed_in=load_campaign(first.out))
    assert again.executor.executed == ["world_0000--fgm--0", "world_0001--straight--0"]
    known = seeds(first.results)
    assert all(known[name] == seed for name, seed in seeds(again.results).items())
    assert "first" in again.results.selection


def test_new_planner_runs_in_the_worlds_in_which_another_one_failed(run, smoke, tmp_path):
    first = run(ends(w1_fgm=Outcome.STUCK), out=tmp_path / "first")
    planners = tuple(one.model_copy(update={"name": f"new_{one.name}"}) for one in smoke.planners)
    spec = smoke.model_copy(update={"planners": planners})
    again = run(spec=spec, out=tmp_path / "again", failed_in=load_campaign(first.out))
    assert again.executor.executed == ["world_0001--new_straight--0", "world_0001--new_fgm--0"]


def test_failed_trials_of_a_campaign_with_another_seed_are_rejected(run, smoke, tmp_path):
    first = run(ends(w0_fgm=Outcome.COLLIDED), out=tmp_path / "first")
    spec = smoke.model_copy(update={"seed": smoke.seed + 1})
    with pytest.raises(SpecError, match="--failed-of first: the file of world_0000"):
        run(spec=spec, out=tmp_path / "again", failed_in=load_campaign(first.out))


def test_failed_trials_with_another_seed_in_equal_worlds_are_rejected(run, smoke, tmp_path):
    first = run(ends(w1_fgm=Outcome.COLLIDED), out=tmp_path / "first")
    directory = {"base": None, "obstacles": None, "count": None, "directory": first.out / "worlds"}
    worlds = smoke.worlds.model_copy(update=directory)
    spec = smoke.model_copy(update={"worlds": worlds, "seed": smoke.seed + 1})
    with pytest.raises(SpecError, match="world_0001--fgm--0 has the seed"):
        run(spec=spec, out=tmp_path / "again", failed_in=load_campaign(first.out))


def test_selection_without_a_failed_trial_is_rejected(run, tmp_path):
    first = load_campaign(run(ends(w0_fgm=Outcome.COLLIDED), out=tmp_path / "first").out)
    with pytest.raises(SpecError, match="world_0000"):
        run(out=tmp_path / "a", failed_in=first, selection=TrialSelection(only=("world_0001",)))


def test_invalid_trial_is_not_a_failed_trial(run, smoke, tmp_path):
    limits = smoke.limits.model_copy(update={"max_attempts": 1})
    first = run(
        ends(w0_fgm=SimulatorError("died")), spec=smoke.model_copy(update={"limits": limits})
    ).out
    with pytest.raises(ResultsError, match="none of the 4 finished trials failed"):
        require_failures(load_campaign(first))


def test_imported_results_have_no_seeds_to_run_again(tmp_path):
    out = store_table("world,planner,outcome\na,p,collided\n", tmp_path / "theirs")
    with pytest.raises(ResultsError, match="imported"):
        require_failures(load_campaign(out))


def test_failed_trials_cannot_run_again_in_their_own_directory(run, capsys):
    out = run(ends(w0_fgm=Outcome.COLLIDED)).out
    command = ["run", "config/smoke_campaign.yaml", "--out", str(out), "--failed-of", str(out)]
    assert main(command) == 2
    assert "specify a new results directory" in capsys.readouterr().err


def test_selected_trials_have_no_intervals_and_no_tests(run, tmp_path, capsys):
    first = run(ends(w1_fgm=Outcome.COLLIDED), out=tmp_path / "first").out
    again = run(out=tmp_path / "again", failed_in=load_campaign(first)).out
    campaigns = [load_campaign(first), load_campaign(again)]
    across = pair_campaigns(campaigns, with_trials=True)
    assert across.only["first"] == ("world_0000",)
    analysis = analyze(across.results, across.pairs)
    pair = analysis.comparisons.pairs[-1]
    assert (pair.first, pair.second, pair.worlds) == ("fgm (first)", "fgm (again)", 1)
    assert pair.difference.value == -1.0
    assert not pair.difference.has_interval
    assert math.isnan(pair.p_value) and math.isnan(pair.p_adjusted)
    assert not any(one.success.has_interval for one in analysis.summaries)
    assert not success_verdict(pair).decided
    assert main(["compare", str(first), str(again)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "again has only trials that failed in first" in text
    assert "Only fgm (again): world_0001" in text
