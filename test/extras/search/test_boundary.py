"""A boundary is the value from which a planner fails, with an interval that is right."""

import argparse
import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import yaml
from scipy.optimize import minimize
from scipy.special import expit, logit
from scipy.stats import chi2
from scripted import CONFIG, ScriptedExecutor

from gz_testauto.base.errors import SpecError
from gz_testauto.cli import campaigns
from gz_testauto.cli.main import main
from gz_testauto.extras.search import boundary_cli
from gz_testauto.extras.search.boundary import FailureCurve, run_adaptively
from gz_testauto.extras.search.boundary_report import BoundaryReport
from gz_testauto.extras.search.varied import VariedRange, levels_of
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.trial.outcome import Outcome

# The beetles of C. I. Bliss, Annals of Applied Biology 22 (1935), as A. J. Dobson lists them.
DOSES = [1.6907, 1.7242, 1.7552, 1.7842, 1.8113, 1.8369, 1.8610, 1.8839]
BEETLES = [59, 60, 62, 56, 63, 59, 62, 60]
KILLED = [6, 13, 18, 28, 52, 53, 61, 60]


def penalized(values, failures, trials):
    """Return the penalized log-likelihood as a function of base and slope."""
    values, failures, trials = (np.asarray(one, dtype=float) for one in (values, failures, trials))

    def value(base, slope):
        rate = np.clip(expit(base + slope * values), 1e-15, 1 - 1e-15)
        weight = trials * rate * (1 - rate)
        determinant = weight.sum() * (weight * values**2).sum() - (weight * values).sum() ** 2
        plain = (failures * np.log(rate) + (trials - failures) * np.log1p(-rate)).sum()
        return plain + 0.5 * np.log(determinant)

    return value


def test_boundary_of_published_data_is_near_the_published_one():
    curve = FailureCurve(DOSES, KILLED, BEETLES)
    # Maximum likelihood without a penalty: 60.717 / 34.270, deviance 11.23 with 6 degrees.
    boundary = curve.boundary(0.5)
    assert boundary.value == pytest.approx(60.717 / 34.270, abs=2e-4)
    fit = curve.lack_of_fit()
    assert (fit.deviance, fit.degrees) == (pytest.approx(11.23, abs=0.05), 6)
    assert fit.p == pytest.approx(chi2.sf(11.23, 6), abs=0.002)
    assert curve.rate(np.array([boundary.value]))[0] == pytest.approx(0.5)
    # The delta method has the standard error 0.0038 here.
    assert boundary.high - boundary.low == pytest.approx(2 * 1.96 * 0.0038, rel=0.03)


@pytest.mark.parametrize("rate", [0.5, 0.1])
@pytest.mark.parametrize(
    ("failures", "trials"),
    [((0, 1, 4, 9, 10), (10, 10, 10, 10, 10)), ((8, 3, 2, 0, 1), (9, 4, 6, 8, 5))],
)
def test_interval_is_the_profile_of_an_independent_likelihood(failures, trials, rate):
    values = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    likelihood = penalized(values, failures, trials)
    best = minimize(lambda one: -likelihood(*one), [0.0, 0.0], method="Nelder-Mead", tol=1e-10)
    curve = FailureCurve(values, failures, trials)
    found = curve.boundary(rate)
    base, slope = best.x
    assert found.value == pytest.approx((logit(rate) - base) / slope, abs=1e-4)
    for end in (found.low, found.high):
        along = minimize(
            lambda one: -likelihood(logit(rate) - one[0] * end, one[0]),  # noqa: B023
            [slope],
            method="Nelder-Mead",
            tol=1e-10,
        )
        assert 2 * (along.fun - best.fun) == pytest.approx(chi2.ppf(0.95, 1), abs=1e-3)
    constant = minimize(
        lambda one: -likelihood(one[0], 0.0), [0.0], method="Nelder-Mead", tol=1e-10
    )
    assert curve.p_slope == pytest.approx(chi2.sf(2 * (constant.fun - best.fun), 1), abs=1e-6)


def test_failures_that_do_not_depend_on_the_value_have_no_boundary():
    assert FailureCurve([0, 1, 2], [3, 2, 3], [10, 10, 10]).boundary(0.5) is None
    assert FailureCurve([0, 1, 2], [0, 0, 0], [10, 10, 10]).boundary(0.5) is None


def simulated(truth, seed):
    fails = np.random.default_rng(seed).random((len(truth), 100)) < np.asarray(truth)[:, None]
    return lambda level, number: (int(fails[level, :number].sum()), number)


def test_trials_are_at_the_values_that_determine_the_boundary():
    values = np.linspace(0.0, 1.0, 9)
    run = simulated(expit(15 * (values - 0.45)), 3)
    _, trials = run_adaptively(values, 200, 100, 0.5, run)
    assert trials.sum() == 200 and trials.min() == 5
    assert trials[3] + trials[4] > 100  # 0.375 and 0.5
    _, low = run_adaptively(values, 200, 100, 0.1, run)
    assert np.average(values, weights=low) < np.average(values, weights=trials) - 0.05
    _, limited = run_adaptively(values, 200, 30, 0.5, run)
    assert limited.max() == 30 and limited.sum() == 200


@pytest.mark.parametrize(
    ("failures", "trials"),
    [((0, 1, 5, 9, 10), (10, 10, 10, 10, 10)), ((1, 0, 3, 4, 7), (8, 6, 10, 4, 7))],
)
def test_a_further_trial_reduces_the_variance_of_the_boundary_most(failures, trials):
    values = np.arange(5.0)
    curve = FailureCurve(values, failures, trials)
    base, slope = logit(curve.rate(np.array([0.0, 1.0]))) @ np.array([[1, -1], [0, 1]])
    middle = (logit(0.3) - base) / slope

    def variance(counts):
        rate = curve.rate(values)
        rows = np.column_stack([np.ones(5), values])
        inverse = np.linalg.inv(rows.T @ ((counts * rate * (1 - rate))[:, None] * rows))
        return np.array([1, middle]) @ inverse @ np.array([1, middle]) / slope**2

    after = [variance(np.array(trials) + np.eye(5)[level]) for level in range(5)]
    added = curve.next_trials(1, 0.3, np.full(5, 100))
    assert added.tolist() == np.eye(5)[np.argmin(after)].tolist()


def test_interval_contains_the_true_boundary_in_most_runs():
    values, covered, runs = np.linspace(0.0, 1.0, 9), 0, 150
    for seed in range(runs):
        run = simulated(expit(15 * (values - 0.45)), seed)
        curve = FailureCurve(values, *run_adaptively(values, 120, 100, 0.5, run))
        covered += curve.deviance(0.45, 0.5) <= chi2.ppf(0.95, 1)
    assert covered >= 0.9 * runs


def sentences(failures, trials, rate=0.5):
    values = tuple(range(len(failures)))
    return "\n".join(BoundaryReport("fgm", "key", values, failures, trials, rate).sentences)


def test_sentences_state_what_is_known():
    text = sentences((0, 2, 10, 18, 20), (20,) * 5)
    assert "fgm increases with key (p < 0.001)" in text
    assert "boundary of 50 %: 2 (95 % CI: from 1." in text
    assert "boundary of 10 %: 1" in text and "no significant deviation" in text
    assert "decreases" in sentences((20, 18, 10, 2, 0), (20,) * 5)
    assert "not within the range, above 4 (95 % CI: from 3." in sentences(
        (0, 0, 0, 1, 8), (20,) * 5
    )
    assert "not within the range, above 4 (95 % CI: above 4)" in sentences(
        (0, 0, 3, 7, 16), (100,) * 5
    )
    assert "(95 % CI: from below 0 to" in sentences((3, 6, 6, 10, 9), (10,) * 5)
    none = sentences((1, 0, 1, 0, 1), (20,) * 5)
    assert "no boundary" in none and "3 of 100 trials failed, 3.0 % [0.6, 8.5]" in none
    assert "deviate from a logistic curve (deviance" in sentences((0, 19, 1, 20, 20), (20,) * 5)


def campaign_file(folder, **changes):
    data = yaml.safe_load((CONFIG / "smoke_campaign.yaml").read_text("utf-8"))
    data["worlds"].update(base=str(CONFIG.parent / "worlds" / "room.world"), count=2)
    data.update(simulator="kinematic", planners=["fgm"], **changes)
    path = folder / "campaign.yaml"
    path.write_text(yaml.safe_dump(data))
    return path


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    return load(campaign_file(tmp_path_factory.mktemp("spec"), seed=5), CampaignSpec)


def test_levels_have_equal_distances_and_independent_worlds(spec):
    levels = levels_of(spec, VariedRange.parse("robot.max_linear_mps=0.4:2"), 20)
    assert [level.value for level in levels] == [0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0]
    assert [level.spec.robot.max_linear_mps for level in levels] == [one.value for one in levels]
    assert levels[1].name == "max_linear_mps_0.6"
    assert len({level.spec.seed for level in levels}) == 9
    assert levels[0].spec.worlds.count == 20
    narrow = levels_of(spec, VariedRange.parse("robot.max_linear_mps=0.4:0.8"), 20)
    assert narrow[4].spec == levels[1].spec  # a smaller range continues with the same trials


def test_number_of_obstacles_is_whole_and_can_be_that_of_each_group(spec):
    levels = levels_of(spec, VariedRange.parse("worlds.obstacles.obstacles[*].count=1:6"), 5)
    assert [level.value for level in levels] == [1, 2, 3, 4, 5, 6]
    for level in levels:
        groups = level.spec.worlds.obstacles.obstacles
        assert {(one.count.min, one.count.max) for one in groups} == {(level.value,) * 2}
    one = levels_of(spec, VariedRange.parse("worlds.obstacles.obstacles[0].count=1:6"), 5)[-1]
    before = spec.worlds.obstacles.obstacles[1:]
    assert one.spec.worlds.obstacles.obstacles[1:] == before


@pytest.mark.parametrize(
    ("varied", "message"),
    [
        ("robot.max_linear=1:2", "did you mean 'robot.max_linear_mps'"),
        ("worlds.obstacles.obstacles[9].count=1:2", "unknown key"),
        ("robot.model=1:2", "must be a key whose value is a number"),
        ("robot.max_linear_mps=-1:2", "robot.max_linear_mps is -1.0; it must be > 0"),
        ("seed=1:2", "seed is set by this command"),
        ("planners[0].parameters.alpha=1:2", "unknown key"),
    ],
)
def test_invalid_key_or_value_is_an_error(spec, varied, message):
    with pytest.raises(SpecError) as raised:
        levels_of(spec, VariedRange.parse(varied), 5)
    assert message in str(raised.value)


def test_worlds_of_a_directory_are_rejected(spec, tmp_path):
    worlds = {"directory": str(tmp_path)}
    data = {**spec.model_dump(mode="json"), "worlds": worlds}
    with pytest.raises(SpecError, match="has no further worlds"):
        levels_of(type(spec).model_validate(data), VariedRange.parse("goal.tolerance_m=1:2"), 5)


@pytest.mark.parametrize("text", ["a=2:1", "a=1:1", "a", "=1:2", "a=1:2:3", "a=x:2", "a=1:inf"])
def test_range_needs_a_key_and_two_increasing_numbers(text):
    with pytest.raises(argparse.ArgumentTypeError, match="must be KEY=LOW:HIGH with LOW < HIGH"):
        boundary_cli._range(text)


def command(campaign, out, *options, vary="robot.max_linear_mps=0.4:2"):
    found = ["boundary", str(campaign), "--vary", vary, "--out", str(out)]
    return [*found, "--workers", "1", "--worlds", "8", *options]


@pytest.fixture
def executed(monkeypatch):
    """The scripted trials that ran: a robot that is faster than its random limit collides."""
    found = []

    def chosen(spec, out):
        def script(trial):
            found.append((out.name, trial.world))
            limit = 0.9 + 0.6 * np.random.default_rng(trial.seed).random()
            too_fast = spec.robot.max_linear_mps > limit
            return Outcome.COLLIDED if too_fast else Outcome.REACHED

        return lambda campaign: ScriptedExecutor(script)

    monkeypatch.setattr(campaigns, "chosen_executor", chosen)
    return found


def test_command_writes_the_boundary_and_repeats_no_trial(executed, tmp_path, capsys):
    campaign, out = campaign_file(tmp_path), tmp_path / "out"
    assert main(command(campaign, out, "--budget", "60")) == 0
    printed = capsys.readouterr().out
    assert "boundary of 50 %: 1." in printed
    result = json.loads((out / "boundary.json").read_text())
    assert sum(level["trials"] for level in result["levels"]) == len(executed) == 60
    (first, second) = result["boundaries"]
    assert (first["rate"], second["rate"]) == (0.5, 0.1)
    assert 0.9 < first["interval"][0] < first["value"] < first["interval"][1] < 1.6
    assert second["value"] < first["value"]
    assert max(level["trials"] for level in result["levels"]) == 8
    stored = (out / "boundary.json").read_bytes()
    with contextlib.redirect_stdout(io.StringIO()) as stream:
        assert main(command(campaign, out, "--budget", "60", "--json")) == 0
    assert stream.getvalue().encode() == stored
    assert len(executed) == 60
    assert main(command(campaign, out, "--budget", "66")) == 0
    assert len(executed) == 66


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--budget", "44"), "must be from 45 to 72"),
        (("--budget", "73"), "must be from 45 to 72"),
        (("--budget", "60", "--planner", "dwa"), "unknown planner 'dwa'"),
    ],
)
def test_invalid_option_is_an_error_before_any_trial(executed, tmp_path, capsys, options, message):
    assert main(command(campaign_file(tmp_path), tmp_path / "out", *options)) == 2
    assert message in capsys.readouterr().err
    assert not executed


@pytest.mark.slow
def test_killed_command_continues_with_the_same_result(tmp_path):
    campaign = campaign_file(tmp_path)
    campaign.write_text(campaign.read_text().replace("kinematic", "embedded"))
    vary = "worlds.obstacles.obstacles[0].count=0:2"

    def arguments_of(out):
        return command(campaign, tmp_path / out, "--budget", "20", vary=vary)

    assert main(arguments_of("whole")) == 0
    killed = 0
    for trials in (3, 12, 17):
        arguments = arguments_of("killed")
        process = subprocess.Popen(
            [sys.executable, "-m", "gz_testauto.cli.main", *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 300
        while process.poll() is None and time.monotonic() < deadline:
            if len(list((tmp_path / "killed").glob("*/trajectories/*.npz"))) >= trials:
                os.kill(process.pid, signal.SIGKILL)
                killed += 1
                break
            time.sleep(0.005)
        process.communicate(timeout=300)
    assert killed == 3
    assert main(arguments_of("killed")) == 0
    whole, again = ((tmp_path / one / "boundary.json").read_bytes() for one in ("whole", "killed"))
    assert again == whole
