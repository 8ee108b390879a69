"""A search finds failures in plain and in screened worlds, and continues after it was stopped."""

import json
import math
import shutil
import signal

import numpy as np
import pytest

from gz_testauto.analysis.intervals import success_rate
from gz_testauto.base.errors import SimulatorError, SpecError
from gz_testauto.cli.main import main
from gz_testauto.extras.search.perturbation import Perturbation
from gz_testauto.extras.search.screening import RANDOM, SearchPlan, ratio_of_rates
from gz_testauto.simulators.embedded.simulator import EmbeddedSimulator
from gz_testauto.worlds.record import WorldRecord


def worlds(*lengths_m):
    return [WorldRecord(at, f"w{at}", None, "", one) for at, one in enumerate(lengths_m)]


def test_quarter_of_the_budget_is_for_plain_worlds():
    plan = SearchPlan.of_budget(80, 2, "screened")
    assert (plan.plain, plan.screened, plan.worlds) == (10, 30, 160)
    assert SearchPlan.of_budget(81, 2, RANDOM) == SearchPlan(40, 0)


@pytest.mark.parametrize(("budget", "strategy"), [(3, "screened"), (1, RANDOM), (-5, RANDOM)])
def test_budget_without_a_world_of_each_kind_is_rejected(budget, strategy):
    with pytest.raises(SpecError, match=f"--budget is {budget}.*at least [24] simulations"):
        SearchPlan.of_budget(budget, 2, strategy)


def test_screened_world_has_the_longest_path_of_its_group():
    plan = SearchPlan(1, 3)
    given = worlds(99.0, 3.0, 5.0, None, 5.0, 4.0, *[None] * 5, None, 2.0, 1.0, None, None)
    assert [one.name for one in plan.chosen(given)] == ["w2", "w12"]


def test_ratio_of_equal_rates_has_a_symmetric_interval():
    ratio = ratio_of_rates((6, 50), (12, 100))
    assert ratio.value == pytest.approx(1.0)
    assert 0.0 < ratio.low < 1.0 < ratio.high < math.inf
    assert ratio_of_rates((12, 100), (6, 50)).low == pytest.approx(1.0 / ratio.high)


def test_ratio_is_unknown_without_events_and_unlimited_without_plain_events():
    assert not ratio_of_rates((0, 50), (0, 50)).has_interval
    assert not ratio_of_rates((3, 50), (0, 0)).has_interval
    ratio = ratio_of_rates((5, 50), (0, 50))
    assert (ratio.value, ratio.high) == (math.inf, math.inf)
    # 1 - (1/2) ** 5 of all splits: the lower end of the share is 0.025 ** (1 / 5)
    share = 0.025 ** (1 / 5)
    assert ratio.low == pytest.approx(share / (1 - share))


@pytest.mark.slow
def test_interval_of_the_ratio_covers_the_true_ratio():
    random = np.random.default_rng(5)
    covered = 0
    for _ in range(300):
        ratio = ratio_of_rates((random.binomial(150, 0.2), 150), (random.binomial(50, 0.1), 50))
        covered += ratio.low <= 2.0 <= ratio.high
    assert covered >= 285


@pytest.fixture(scope="module")
def campaign(smoke, tmp_path_factory):
    """A campaign file in which the planner ``straight`` collides with a box, or avoids it."""
    obstacles = {
        "obstacles": [{"type": "box", "count": 1, "size_z_m": 1.2}],
        "region": {"rectangle": {"x_m": [-0.1, 0.1], "y_m": [-2.0, 2.0]}},
    }
    data = smoke.model_dump(mode="json")
    data["worlds"] = {**data["worlds"], "obstacles": obstacles, "count": 1}
    data["simulator"] = "kinematic"
    data["planners"] = ["straight"]
    path = tmp_path_factory.mktemp("search") / "campaign.yaml"
    path.write_text(json.dumps(data))
    return path


def search(campaign, out, *options):
    return main(["search", str(campaign), "--workers", "1", "--out", str(out), *options])


@pytest.fixture(scope="module")
def searched(campaign, tmp_path_factory):
    out = tmp_path_factory.mktemp("searched") / "out"
    assert search(campaign, out, "--budget", "8", "--perturb", "2") == 0
    return out


@pytest.mark.slow
def test_rates_of_plain_and_screened_worlds_are_separate(searched):
    report = json.loads((searched / "search.json").read_text())
    plain, screened = report["rates"]
    assert (plain["worlds"], screened["worlds"]) == ("plain", "screened")
    assert (plain["trials"], screened["trials"]) == (2, 6)
    assert plain["rate"][1:] == list(success_rate(plain["found"], 2)[1:3])
    found = report["found"]
    assert len(found) == plain["found"] + screened["found"] > 0
    assert {one["outcome"] for one in found} == {"collided"}
    # the path around a box is longer, so the box is in the way in each screened world
    assert screened["found"] == 6
    assert all(one["perturbed"] == 2 for one in found)
    assert {one["robustness"] for one in found} == {"undecided"}  # two repeats are too few
    for row in (plain, screened):
        assert (row["robust"], row["undecided"], row["fragile"]) == (0, row["found"], 0)


@pytest.mark.slow
def test_search_continues_with_the_first_missing_answer(searched, campaign, tmp_path, monkeypatch):
    repeated = []
    repeat = Perturbation.run

    def interrupted(*arguments):
        repeated.append(1)
        if len(repeated) == 4:
            raise KeyboardInterrupt
        return repeat(*arguments)

    monkeypatch.setattr(Perturbation, "run", interrupted)
    options = ("--budget", "8", "--perturb", "2")
    assert search(campaign, tmp_path / "out", *options) == 128 + signal.SIGINT
    assert search(campaign, tmp_path / "out", *options) == 0
    complete = (searched / "search.json").read_bytes()
    assert (tmp_path / "out" / "search.json").read_bytes() == complete
    assert len(repeated) == 2 * len(json.loads(complete)["found"]) + 1


def found_in(out):
    return json.loads((out / "search.json").read_text())["found"]


@pytest.mark.slow
def test_trial_that_was_invalid_elsewhere_is_repeated(searched, campaign, tmp_path, monkeypatch):
    out = tmp_path / "out"
    shutil.copytree(searched, out)
    options = ("--budget", "8", "--perturb", "2", "--simulator-confirm", "embedded")

    def crash(*arguments):
        raise SimulatorError("the engine failed")

    with monkeypatch.context() as patch:
        patch.setattr(EmbeddedSimulator, "load", crash)
        assert search(campaign, out, *options) == 1
    assert {one["confirmed"] for one in found_in(out)} == {"invalid"}
    assert search(campaign, out, *options) == 0
    assert {one["confirmed"] for one in found_in(out)} == {"collided"}


@pytest.mark.slow
def test_search_for_a_metric_repeats_answers_without_it(searched, campaign, tmp_path, capsys):
    out = tmp_path / "out"
    shutil.copytree(searched, out)
    options = ("--budget", "8", "--perturb", "2", "--simulator-confirm", "embedded")
    assert search(campaign, out, *options, "--for", "spl < 0.5") == 0
    collided = found_in(searched)
    found = found_in(out)
    assert [one["world"] for one in found] == [one["world"] for one in collided]
    assert [one["same"] for one in found] == [one["same"] for one in collided]
    assert all(one["value"] == 0.0 for one in found)
    assert all(one["confirmed_value"] == 0.0 for one in found if one["same"] == 2)
    assert "spl" in capsys.readouterr().out


def test_unknown_simulator_to_confirm_is_rejected_before_trials(campaign, tmp_path, capsys):
    options = ("--budget", "8", "--simulator-confirm", "gazeebo")
    assert search(campaign, tmp_path / "out", *options) == 2
    assert "'gazeebo'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_search_without_a_failure_says_what_to_change(campaign, tmp_path, capsys):
    options = ("--for", "tipped_over", "--strategy", RANDOM, "--budget", "2")
    assert search(campaign, tmp_path / "out", *options) == 1
    assert "no trial found for tipped_over; raise --budget" in capsys.readouterr().out


def test_search_rejects_an_unknown_outcome(campaign, tmp_path, capsys):
    assert search(campaign, tmp_path / "out", "--for", "crashed", "--budget", "8") == 2
    assert "'crashed'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_search_rejects_a_campaign_without_random_obstacles(campaign, tmp_path, capsys):
    data = json.loads(campaign.read_text())
    data["worlds"] = {"directory": str(tmp_path)}
    path = tmp_path / "campaign.yaml"
    path.write_text(json.dumps(data))
    assert search(path, tmp_path / "out", "--budget", "8") == 2
    assert "worlds has no random obstacles to search" in capsys.readouterr().err
