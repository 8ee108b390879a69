"""A boundary is the value from which a planner fails, with an interval that is right."""

import argparse
import collections
import contextlib
import io
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from fractions import Fraction

import numpy as np
import pytest
import yaml
from scipy.special import expit
from scripted import CONFIG, ScriptedExecutor

from gz_testauto.base.errors import SpecError
from gz_testauto.cli import campaigns
from gz_testauto.cli.main import main
from gz_testauto.extras.search import boundary_cli
from gz_testauto.extras.search.boundary import FailureRates, run_adaptively
from gz_testauto.extras.search.boundary_report import BoundaryReport
from gz_testauto.extras.search.varied import VariedCampaign, VariedRange
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.trial.outcome import Outcome

GRID = tuple(np.linspace(2.0, 14.0, 9).tolist())


def capital(outcomes, sides, rate):
    """Return the capital of the hypothesis that the failure rate is above the rate at the values
    whose side is True, and below at the others: a product of likelihood ratios."""
    product = Fraction(1)
    for failed, is_above in zip(outcomes, sides):
        for number, one in enumerate(failed):
            estimate = Fraction(sum(failed[:number]) + 2 * rate, number + 2)
            estimate = min(estimate, rate) if is_above else max(estimate, rate)
            product *= estimate / rate if one else (1 - estimate) / (1 - rate)
    return product


@pytest.mark.parametrize("rate", [Fraction(1, 2), Fraction(1, 5)])
def test_bounds_are_those_of_an_independent_calculation(rate):
    random, decided = np.random.default_rng(4), 0
    for _ in range(60):
        size = random.integers(1, 5)
        truth = np.sort(random.beta(0.3, 0.3, size))[:: random.choice([-1, 1])]
        outcomes = [(random.random(random.integers(0, 40)) < one).tolist() for one in truth]
        rising = [[level >= first for level in range(size)] for first in range(size + 1)]
        sides = rising + [[not one for one in row] for row in rising]
        possible = [one for one in sides if capital(outcomes, one, rate) < 20]
        compared = FailureRates(dict(enumerate(outcomes)), float(rate))
        levels = range(size) if possible else ()
        assert compared.is_monotone == bool(possible)
        assert compared.below == [one for one in levels if not any(row[one] for row in possible)]
        assert compared.above == [one for one in levels if all(row[one] for row in possible)]
        decided += bool(compared.below and compared.above)
    assert decided > 5


def test_bounds_have_the_values_known_on_paper():
    # The estimate after k successes is 1 / (k + 2), so the capital is 2^n / (n + 1).
    def between(number):
        return FailureRates({1.25: [False] * number, 1.5: [True] * number}, 0.5).boundary()

    assert between(7) is None  # 16 < 20: both rates can be above 50 %, or both below
    assert between(8)[:3] == (1.375, 1.25, 1.5)  # 28.4
    assert between(80)[:3] == (1.375, 1.25, 1.5)  # no number of trials shows more
    falling = FailureRates({1: [True] * 9, 2: [True, False], 3: [False] * 9}, 0.5)
    assert falling.increases is False and falling.boundary()[:3] == (2.0, 1.0, 3.0)


def test_true_hypothesis_is_rejected_with_the_probability_known_on_paper():
    rejected = [
        bool(FailureRates({0: failed}, 0.5).below)
        for failed in itertools.product([False, True], repeat=8)
    ]
    assert sum(rejected) == 1  # only without a failure: 28.4, and 3.6 with one failure


def isotonic(outcomes, rate):
    return FailureRates(outcomes, rate).boundary().value


def test_estimate_is_the_crossing_of_the_isotonic_regression():
    outcomes = {0: [False] * 9, 1: [True] * 6 + [False] * 4, 2: [True] * 2 + [False] * 8}
    outcomes[3] = [True] * 10
    # The rates of 1 and 2 are pooled to 0.4; from 0.4 to 1, 0.5 is at 1/6 of the distance.
    assert isotonic(outcomes, 0.5) == pytest.approx(2 + 1 / 6)
    mirrored = {-value: failed for value, failed in reversed(list(outcomes.items()))}
    assert isotonic(mirrored, 0.5) == pytest.approx(-2 - 1 / 6)


def simulated(rate_at, seed):
    """Return a function that runs trials: the first ones at a value are always the same."""
    drawn = np.random.default_rng(seed)
    trials = collections.defaultdict(lambda: drawn.random(100))
    return lambda value, number: (trials[value][:number] < rate_at(value)).tolist()


def middle_of(low, high):
    return (low + high) / 2.0


def run(rate_at, seed=0, budget=200, rates=(0.5,), values=GRID, midpoint=middle_of):
    return run_adaptively(values, budget, 100, rates, simulated(rate_at, seed), midpoint)


def test_exact_threshold_is_within_the_interval_which_narrows():
    for threshold in (7.3, 8.01, 9.45):
        outcomes = run(lambda value: float(value > threshold))  # noqa: B023
        low, high = FailureRates(outcomes, 0.5).boundary()[1:3]
        assert low <= threshold <= high
        assert 0.0 < high - low < 0.01
        assert sum(map(len, outcomes.values())) == 200


def test_neighboring_whole_numbers_are_the_answer_and_end_the_trials():
    def midpoint(low, high):
        return (low + high) // 2 if high - low > 1 else None

    values = tuple(range(2, 15, 3))
    outcomes = run(lambda value: float(value > 7), values=values, midpoint=midpoint)
    assert FailureRates(outcomes, 0.5).boundary()[1:3] == (7, 8)
    assert sum(map(len, outcomes.values())) < 80


def test_trials_are_at_the_values_that_can_be_on_both_sides():
    outcomes = run(lambda value: expit(1.25 * (value - 7.4)))
    trials = {value: len(failed) for value, failed in outcomes.items()}
    assert sum(trials.values()) == 200
    assert trials[2.0] == trials[14.0] == 5
    assert sum(number for value, number in trials.items() if 5.0 <= value <= 9.5) > 150
    assert max(trials.values()) <= 100


def test_second_rate_has_the_trials_that_the_first_does_not_need():
    def rate_at(value):
        return 0.02

    first, both = run(rate_at), run(rate_at, rates=(0.5, 0.1))
    assert sum(map(len, first.values())) < sum(map(len, both.values())) == 200


@pytest.mark.parametrize(("low", "high", "rate"), [(0.05, 0.6, 0.5), (0.0, 0.3, 0.1)])
def test_interval_contains_a_jump_of_the_failure_rate(low, high, rate):
    for seed in range(20):
        outcomes = run(lambda value: high if value > 7.3 else low, seed, rates=(rate,))
        boundary = FailureRates(outcomes, rate).boundary()
        assert boundary is None or boundary.low <= 7.3 <= boundary.high


@pytest.mark.filterwarnings("error")
def test_low_constant_rate_has_no_boundary_and_no_error():
    for seed in range(20):
        outcomes = run(lambda value: 0.03, seed, rates=(0.5, 0.1))
        assert FailureRates(outcomes, 0.5).below == list(outcomes)
        report = BoundaryReport("fgm", "key", outcomes, 0.5)
        assert "the failure rate of fgm is below 50 %" in report.sentences[0]


@pytest.mark.parametrize(
    ("low", "high", "middle", "width"), [(0.05, 0.8, 8, 2), (0, 0.8, 8, 3), (0, 0.9, 11, 1.6)]
)
def test_hump_is_reported_and_has_no_boundary(low, high, middle, width):
    for seed in range(10):
        outcomes = run(
            lambda value: low + high * np.exp(-(((value - middle) / width) ** 2)),
            seed,
            rates=(0.5, 0.1),
        )
        report = BoundaryReport("fgm", "key", outcomes, 0.5)
        for sentence, stored in zip(report.sentences, report.to_json()["boundaries"]):
            assert sentence.startswith("no boundary of ")
            assert "neither increases only nor" in sentence or "contradict the others" in sentence
            assert (stored["interval"], stored["below"], stored["above"]) == ([None, None], [], [])


def sentences(failures, trials, rate=0.5):
    random, outcomes = np.random.default_rng(0), {}
    for value, (failed, number) in enumerate(zip(failures, trials)):
        outcomes[value] = random.permutation([True] * failed + [False] * (number - failed)).tolist()
    return "\n".join(BoundaryReport("fgm", "key", outcomes, rate).sentences)


def test_sentences_state_what_is_known():
    text = sentences((0, 2, 10, 18, 20), (20,) * 5)
    assert (
        "boundary of 50 %: 2 (95 % CI: from 1 to 3); the failure rate of fgm is below 50 % up to 1 "
        "and above 50 % from 3" in text
    )
    assert "is above 50 % up to 1 and below 50 % from 3" in sentences((20, 18, 10, 2, 0), (20,) * 5)
    text = sentences((0, 0, 0, 1, 8), (20,) * 5)
    assert "boundary of 50 %: (95 % CI: from 3 to above 4)" in text
    assert text.splitlines()[0].endswith("fgm is below 50 % up to 3")
    assert "from below 0 to 3)" in sentences((6, 10, 10, 19, 20), (20,) * 5)
    assert "no boundary of 50 %: the failure rate of fgm is below 50 % from 0 to 4" in (
        sentences((1, 0, 1, 0, 1), (20,) * 5)
    )
    assert "the trials do not show where the failure rate of fgm crosses it; increase" in (
        sentences((3, 2, 3), (5,) * 3)
    )
    assert "crosses it; it is below 50 % at 1; increase" in sentences((2, 0, 2), (5, 20, 5))
    text = sentences((0, 4, 0), (20, 5, 20))
    assert "no boundary of 50 %: the trials at 1 contradict the others" in text
    assert "no boundary of 10 %: the trials at 1 contradict the others" in text
    assert "use the rates in the table" in sentences((0, 19, 1, 20, 20), (20,) * 5)


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
    levels = VariedCampaign(spec, VariedRange.parse("robot.max_linear_mps=0.4:2"), 20).levels
    assert [level.value for level in levels] == [0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0]
    assert [level.spec.robot.max_linear_mps for level in levels] == [one.value for one in levels]
    assert levels[1].name == "max_linear_mps_0.6"
    assert len({level.spec.seed for level in levels}) == 9
    assert levels[0].spec.worlds.count == 20
    narrow = VariedCampaign(spec, VariedRange.parse("robot.max_linear_mps=0.4:0.8"), 20)
    assert narrow.levels[4].spec == levels[1].spec  # the same trials belong to a smaller range
    assert narrow.midpoint(0.4, 0.45) == 0.425
    assert narrow.midpoint(0.4, 0.400001) is None  # names have six digits


def test_number_of_obstacles_is_whole_and_can_be_that_of_each_group(spec):
    varied = VariedCampaign(spec, VariedRange.parse("worlds.obstacles.obstacles[*].count=1:6"), 5)
    levels = varied.levels
    assert varied.midpoint(3, 6) == 4 and varied.midpoint(3, 4) is None
    assert [level.value for level in levels] == [1, 2, 3, 4, 5, 6]
    for level in levels:
        groups = level.spec.worlds.obstacles.obstacles
        assert {(one.count.min, one.count.max) for one in groups} == {(level.value,) * 2}
    varied = VariedCampaign(spec, VariedRange.parse("worlds.obstacles.obstacles[0].count=1:6"), 5)
    one = varied.levels[-1]
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
        VariedCampaign(spec, VariedRange.parse(varied), 5)
    assert message in str(raised.value)


def test_worlds_of_a_directory_are_rejected(spec, tmp_path):
    worlds = {"directory": str(tmp_path)}
    data = {**spec.model_dump(mode="json"), "worlds": worlds}
    with pytest.raises(SpecError, match="has no further worlds"):
        VariedCampaign(
            type(spec).model_validate(data), VariedRange.parse("goal.tolerance_m=1:2"), 5
        )


@pytest.mark.parametrize("text", ["a=2:1", "a=1:1", "a", "=1:2", "a=1:2:3", "a=x:2", "a=1:inf"])
def test_range_needs_a_key_and_two_increasing_numbers(text):
    with pytest.raises(argparse.ArgumentTypeError, match="must be KEY=LOW:HIGH with LOW < HIGH"):
        boundary_cli._parse_range(text)


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


@pytest.mark.slow
def test_command_writes_the_boundary_and_repeats_no_trial(executed, tmp_path, capsys):
    campaign, out = campaign_file(tmp_path), tmp_path / "out"
    assert main(command(campaign, out, "--budget", "60")) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "boundary of 50 %: 1." in printed and "fgm is below 50 % up to" in printed
    result = json.loads((out / "boundary.json").read_text())
    assert sum(level["trials"] for level in result["levels"]) == len(executed) == 60
    first, second = result["boundaries"]
    assert (first["rate"], second["rate"]) == (0.5, 0.1)
    assert first["interval"][0] < 1.2 < first["interval"][1]
    assert first["interval"][0] == max(first["below"]) <= first["value"]
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
