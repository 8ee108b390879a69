"""A campaign that stops when it is decided, in any order of trials and after kills."""

import random
import sqlite3

import pytest
from page_results import make_page
from scripted import CONFIG, ScriptedExecutor

from gz_testauto.analysis.early_stop import early_stop
from gz_testauto.analysis.overview import analyze
from gz_testauto.base.errors import SimulatorError, SpecError
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.cli.main import main
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore
from gz_testauto.spec.campaign import CampaignSpec, StopSpec
from gz_testauto.spec.loader import load
from gz_testauto.trial.outcome import Outcome
from gz_testauto.trial.plan import TrialSelection
from gz_testauto.workers.interface import Attempt, Workers

SMOKE = CONFIG / "smoke_campaign.yaml"


@pytest.fixture(scope="module")
def endless(smoke, tmp_path_factory):
    """The small campaign over 40 ready worlds, which differ in an unused element, with an end."""
    folder = tmp_path_factory.mktemp("worlds")
    base = smoke.worlds.base.read_text()
    for number in range(40):
        (folder / f"w{number:02d}.world").write_text(with_device(base, number))

    def make(**stop):
        worlds = type(smoke.worlds)(directory=folder)
        rule = StopSpec(**{"when": "decided", **stop})
        return smoke.model_copy(update={"worlds": worlds, "stop": rule})

    return make


def with_device(world, number):
    return world.replace("</world>", f"<audio><device>{number}</device></audio></world>")


def fgm_wins(trial):
    """In two worlds of three; both succeed in the others."""
    lost = trial.planner.name == "straight" and trial.world.world_index % 3
    return Outcome.COLLIDED if lost else Outcome.REACHED


REACHED_BY_FGM = {"fgm": Outcome.REACHED, "straight": Outcome.COLLIDED}


class OutOfOrder(Workers):
    """Five trials side by side, of which any ends next, drawn with a seed."""

    size = 5

    def __init__(self, executor, seed):
        self._executor, self._random, self._begun = executor, random.Random(seed), []

    def open(self, should_stop):
        self._executor.open()

    @property
    def identity(self):
        return self._executor.identity

    def begin(self, trial):
        self._begun.append(trial)

    def next_ended(self, should_stop):
        trial = self._begun.pop(self._random.randrange(len(self._begun)))
        try:
            return Attempt(trial, 0.1, self._executor.execute(trial, should_stop))
        except SimulatorError as error:
            return Attempt.invalid(trial, 0.1, error)

    def close(self):
        self._executor.close()


def run(spec, out, script=fgm_wins, seed=None, **options):
    executor = ScriptedExecutor(script)
    if seed is not None:
        options["make_workers"] = lambda make, campaign: OutOfOrder(make(campaign), seed)
    results = run_campaign(spec, out, lambda campaign: executor, **options)
    return results, executor


@pytest.fixture(scope="module")
def decided(endless, tmp_path_factory):
    """The directory and the results of a campaign that one worker ran until its decision."""
    out = tmp_path_factory.mktemp("decided") / "out"
    return out, run(endless(), out)[0]


@pytest.mark.slow
def test_copies_of_a_world_are_not_evaluated(smoke, tmp_path):
    """Otherwise one world would decide a campaign."""
    folder = tmp_path / "worlds"
    folder.mkdir()
    for number in range(12):
        (folder / f"w{number:02d}.world").write_bytes(smoke.worlds.base.read_bytes())
    worlds = type(smoke.worlds)(directory=folder)
    spec = smoke.model_copy(update={"worlds": worlds, "stop": StopSpec(when="decided")})
    results, _ = run(spec, tmp_path / "out", lambda trial: REACHED_BY_FGM[trial.planner.name])
    assert results.judged == ("w00",)
    assert len(results.trials) == 24
    assert not early_stop(results).decided


@pytest.mark.slow
def test_trials_in_copies_count_before_a_world_is_evaluated(smoke, tmp_path):
    """Otherwise the campaign would stop with a decision that the report does not confirm."""
    folder = tmp_path / "worlds"
    folder.mkdir()
    base = smoke.worlds.base.read_text()
    for number in range(40):
        (folder / f"w{number:02d}.world").write_text(with_device(base, number // 2))
    worlds = type(smoke.worlds)(directory=folder)
    spec = smoke.model_copy(update={"worlds": worlds, "stop": StopSpec(when="decided")})

    def opposite_in_the_copy(trial):
        is_copy = trial.world.world_index % 2
        won = trial.planner.name == ("straight" if is_copy else "fgm")
        return Outcome.REACHED if won else Outcome.COLLIDED

    results, _ = run(spec, tmp_path / "out", opposite_in_the_copy)
    assert len(results.trials) == 80
    assert results.judged == tuple(f"w{number:02d}" for number in range(0, 40, 2))
    assert not analyze(results).early_stop.decided


@pytest.mark.slow
def test_campaign_stops_when_its_comparison_is_decided(decided):
    _, results = decided
    end = early_stop(results)
    assert end.decided
    assert end.pairs[0].better == "fgm"
    assert len(results.judged) < 20 < len(results.worlds)
    assert len(results.trials) == 2 * len(results.judged)
    before = results.judged[:-1]
    assert not early_stop(type(results)(**{**vars(results), "judged": before})).decided
    assert end.pairs[0].difference.high < 0.0  # straight minus fgm


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_early_stop_uses_the_same_worlds_for_any_order_of_workers(endless, decided, tmp_path, seed):
    _, one = decided
    many, _ = run(endless(), tmp_path / "many", seed=seed)
    assert many.judged == one.judged
    assert early_stop(many) == early_stop(one)
    assert len(many.trials) >= len(one.trials)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_early_stop_uses_the_same_worlds_after_a_kill_and_resume(endless, decided, tmp_path, seed):
    class Killed(BaseException):
        pass

    _, one = decided
    done = []

    def dying(trial):
        done.append(trial)
        if len(done) % 9 == 0:
            raise Killed
        return fgm_wins(trial)

    for _ in range(30):
        try:
            results, _ = run(endless(), tmp_path / "killed", script=dying, seed=seed)
        except Killed:
            continue
        break
    assert len(done) > 27  # killed at least three times
    assert results.judged == one.judged
    assert early_stop(results) == early_stop(one)


@pytest.mark.slow
def test_second_run_of_a_decided_campaign_executes_no_trial(endless, decided):
    out, first = decided
    again, executor = run(endless(), out)
    assert executor.calls == []
    assert again == first


@pytest.mark.slow
def test_equal_planners_are_undecided_at_the_limit_of_worlds(endless, tmp_path):
    results, _ = run(endless(max_worlds=12), tmp_path / "out", script=lambda trial: Outcome.REACHED)
    assert not early_stop(results).decided
    assert len(results.trials) == results.planned == 24


@pytest.mark.slow
def test_a_campaign_stops_at_a_difference_within_the_equivalence_margin(endless, tmp_path):
    rule = {"equivalence_margin": 0.25}
    results, _ = run(endless(**rule), tmp_path / "out", script=lambda trial: Outcome.REACHED)
    end = early_stop(results)
    assert end.decided
    assert end.pairs[0].negligible
    assert end.worlds < 40


@pytest.mark.slow
def test_early_stop_evaluates_a_world_with_an_invalid_trial_after_its_repetition(endless, tmp_path):
    def broken(trial):
        return SimulatorError("died") if trial.world.world_index == 1 else fgm_wins(trial)

    spec = endless(max_worlds=40)
    part = TrialSelection(worlds=5)
    first, _ = run(spec, tmp_path / "out", script=broken, selection=part)
    assert first.judged == ("w00", "w02", "w03", "w04")
    mended, _ = run(spec, tmp_path / "out", selection=part, retry_invalid=True)
    assert mended.judged == ("w00", "w02", "w03", "w04", "w01")


@pytest.mark.slow
def test_death_of_a_worker_does_not_delay_the_early_stop(endless, decided, tmp_path):
    class Dies(OutOfOrder):
        died = False

        def next_ended(self, should_stop):
            if not self.died and self._begun:
                self.died = True
                return Attempt(self._begun.pop(0), 0.1, cause="killed", worker_died=True)
            return super().next_ended(should_stop)

    _, one = decided
    executor = ScriptedExecutor(fgm_wins)
    results = run_campaign(
        endless(),
        tmp_path / "out",
        lambda campaign: executor,
        make_workers=lambda make, campaign: Dies(make(campaign), 0),
    )
    assert results.judged == one.judged
    assert len(results.trials) < len(one.trials) + 30


@pytest.mark.slow
def test_report_contains_the_decision_of_the_early_stop_and_its_validity(decided, capsys):
    out, results = decided
    assert main(["report", str(out), "--complete"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    count = len(results.judged)
    assert f"Decided after {count} worlds of at most 40, alpha 0.05:" in text
    assert "fgm reached the goal more often than straight: straight − fgm -" in text
    assert "confidence sequence" in text and "bets on the discordant worlds" in text
    assert "The number of worlds depends on their outcomes." in text
    (pair,) = analyze(results).comparisons.pairs
    assert pair.worlds == count
    assert main(["report", str(out), "--json"]) == 0
    assert '"decided": true' in capsys.readouterr().out
    page = make_page(out).html
    assert f"Decided after {count} worlds of at most 40, alpha 0.05:" in page
    assert "The number of worlds depends on their outcomes." in page


@pytest.mark.slow
def test_changed_alpha_is_rejected_for_an_existing_results_directory(endless, tmp_path):
    run(endless(), tmp_path / "out", selection=TrialSelection(worlds=2))
    with pytest.raises(Exception, match=r"stop\.alpha is 0\.2, was 0\.05"):
        run(endless(alpha=0.2), tmp_path / "out")


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ("stop: {when: decided, max_worlds: 9}", "stop: max_worlds is 9; "),
        ("stop: {when: decided, baseline: dwa}", "unknown planner 'dwa'"),
        ("stop: {when: soon}", "'decided'"),
        ("stop: {when: decided, alpha: 0.9}", "it must be < 0.5"),
        ("stop: {alpha: 0.1}", "when"),
    ],
)
def test_invalid_stop_rule_is_rejected_with_its_line_in_the_campaign(tmp_path, lines, complaint):
    text = SMOKE.read_text().replace("../worlds", str(CONFIG.parent / "worlds"))
    file = tmp_path / "campaign.yaml"
    file.write_text(f"{text}\n{lines}\n")
    with pytest.raises(SpecError, match=r"campaign\.yaml:\d+: stop") as refused:
        load(file, CampaignSpec)
    assert complaint in str(refused.value)


def test_early_stop_rejects_worlds_that_depend_on_each_other(tmp_path):
    text = SMOKE.read_text().replace("../worlds", str(CONFIG.parent / "worlds"))
    text = text.replace("    min_gap_m: 0.3", "    sampling: sobol\n    min_gap_m: 0.3")
    file = tmp_path / "campaign.yaml"
    file.write_text(f"{text}\nstop: {{when: decided}}\n")
    with pytest.raises(SpecError, match=r"'sobol'.*sampling: uniform"):
        load(file, CampaignSpec)


@pytest.mark.slow
def test_damaged_stop_rule_in_the_store_is_rejected_with_the_file_name(endless, tmp_path):
    run(endless(), tmp_path / "out", selection=TrialSelection(worlds=2))
    with sqlite3.connect(tmp_path / "out" / "results.sqlite") as store:
        store.execute("UPDATE stop SET alpha = 0.9")
    store.close()
    with ResultStore.read(CampaignDirectory(tmp_path / "out")) as read, pytest.raises(
        Exception, match=r"results\.sqlite: the file is damaged: stop"
    ):
        read.results()
