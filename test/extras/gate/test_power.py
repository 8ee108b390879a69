import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import binomtest

from gz_testauto.analysis import anytime
from gz_testauto.analysis.bounded_mean import DIFFERENCE, mean_p_value
from gz_testauto.base.errors import SpecError
from gz_testauto.extras.gate.options import GateOptions
from gz_testauto.extras.gate.power import (
    DiscordantRate,
    Pilot,
    fixed_gate_failures,
    fixed_gate_power,
    fixed_gate_worlds,
    gate_failures,
    gate_power,
    gate_worlds,
    share_upper_bound,
    smallest_difference,
    smallest_failed_loss,
    stopping_worlds,
    worlds_for,
)
from gz_testauto.extras.gate.questions import GatePair, Verdict, evaluate


@dataclass(frozen=True)
class Ended:
    """A trial of which only the success matters."""

    completed: bool


@pytest.mark.slow
def test_the_power_is_the_sum_over_all_tables_that_the_test_rejects():
    apart, worlds = DiscordantRate(0.4, 0.3), 25
    total = 0.0
    for first in range(worlds + 1):
        for second in range(worlds - first + 1):
            neither = worlds - first - second
            ways = math.comb(worlds, first) * math.comb(worlds - first, second)
            chance = ways * 0.35**first * 0.05**second * 0.6**neither
            if first + second and binomtest(first, first + second).pvalue <= 0.05:
                total += chance
    assert apart.power(worlds, 0.05) == pytest.approx(total, abs=1e-9)


def test_without_a_difference_the_power_is_at_most_alpha():
    assert 0.0 < DiscordantRate(0.3, 0.0).power(100, 0.05) <= 0.05


def test_the_smallest_difference_is_the_one_with_the_usual_chance():
    found = smallest_difference(200, DiscordantRate(0.2, 0.0), 0.05)
    assert DiscordantRate(0.2, found).power(200, 0.05) == pytest.approx(0.8, abs=1e-3)
    assert smallest_difference(10, DiscordantRate(0.2, 0.0), 0.05) is None


def test_worlds_for_a_difference_are_enough_and_a_tenth_less_are_not():
    needed = worlds_for(DiscordantRate(0.25, 0.15), 0.05)
    assert DiscordantRate(0.25, 0.15).power(needed, 0.05) >= 0.8
    assert DiscordantRate(0.25, 0.15).power(int(0.9 * needed), 0.05) < 0.8
    assert worlds_for(DiscordantRate(0.25, 0.0), 0.05) is None


@pytest.mark.slow
def test_the_gate_passes_more_often_with_more_worlds_and_rarely_a_worse_planner():
    few, many = (gate_power(n, DiscordantRate(0.05, 0.0), 0.1, 0.05) for n in (40, 150))
    assert few < 0.6 < 0.9 < many
    assert gate_power(150, DiscordantRate(0.2, -0.1), 0.1, 0.05) <= 0.05 + 0.02


@pytest.mark.slow
def test_a_large_difference_ends_a_campaign_early():
    mean, decided = stopping_worlds(200, DiscordantRate(0.3, 0.25), 0.05)
    assert mean < 80
    assert decided > 0.99


def test_rates_are_assumed_independent_unless_the_discordant_share_is_stated():
    assert DiscordantRate.from_rates(0.8, 0.7).discordant == pytest.approx(0.8 * 0.3 + 0.2 * 0.7)
    assert DiscordantRate.from_rates(0.75, 0.5, 0.3) == DiscordantRate(0.3, 0.25)
    for rates in ((0.8, 0.7, 0.05), (0.8, 1.2, None), (0.9, 0.9, 0.5)):
        with pytest.raises(SpecError):
            DiscordantRate.from_rates(*rates)


def test_a_pilot_without_discordant_worlds_gives_an_upper_bound():
    # The rule of three, exactly: (1 - p)^n = 0.05.
    assert (1.0 - share_upper_bound(20)) ** 20 == pytest.approx(0.05)
    assert share_upper_bound(1000) == pytest.approx(3.0 / 1000, rel=0.01)


@pytest.mark.slow
def test_the_power_with_repetitions_is_that_of_simulated_campaigns():
    generator = np.random.default_rng(4)

    def campaigns(count, worlds):
        hard = generator.beta(2.0, 1.0, size=(count, worlds))
        first = generator.binomial(5, np.clip(hard + 0.15, 0.0, 1.0)) / 5.0
        return first - generator.binomial(5, hard) / 5.0

    pilot = Pilot(campaigns(1, 2000)[0])
    found = [mean_p_value(one, 0.0, DIFFERENCE) <= 0.05 for one in campaigns(300, 40)]
    assert pilot.power(40, 0.05) == pytest.approx(np.mean(found), abs=0.09)
    needed = worlds_for(pilot, 0.05)
    assert pilot.power(needed, 0.05) == pytest.approx(0.8, abs=0.08)
    smallest = smallest_difference(needed, pilot, 0.05)
    assert smallest == pytest.approx(pilot.difference, abs=0.04)


def test_a_pilot_without_a_difference_needs_an_unlimited_number_of_worlds():
    assert worlds_for(Pilot(np.array([0.2, -0.2, 0.0])), 0.05) is None
    assert Pilot(np.array([0.5, 0.1])).with_difference(0.0).difference == 0.0


@pytest.mark.parametrize(("discordant", "difference"), [(0.0, 0.0), (1.0, 1.0), (1.0, -1.0)])
def test_the_largest_difference_is_in_all_worlds(discordant, difference):
    apart = DiscordantRate(discordant, difference)
    assert apart.first_only == max(difference, 0.0)
    assert (apart.draw(np.random.default_rng(1), (3, 5)) == difference).all()
    assert apart.with_difference(0.0) == DiscordantRate(discordant, 0.0)


@pytest.mark.parametrize(
    ("discordant", "difference"), [(0.2, 0.3), (0.2, -0.3), (1.1, 0.0), (-0.1, 0.0)]
)
def test_a_difference_larger_than_the_discordant_share_is_rejected(discordant, difference):
    with pytest.raises(SpecError):
        DiscordantRate(discordant, difference)


def test_outcome_differences_are_drawn_with_their_probabilities():
    apart = DiscordantRate(0.4, 0.3)
    assert apart.first_only == pytest.approx(0.35)
    drawn = apart.draw(np.random.default_rng(1), (100, 200))
    shares = [(drawn == value).mean() for value in (-1.0, 0.0, 1.0)]
    assert shares == pytest.approx([0.05, 0.6, 0.35], abs=0.01)


@pytest.mark.parametrize(
    "rates", [(0.0, 0.0, 0.0), (1.0, 1.0, 0.0), (0.9, 0.9, 0.2), (0.1, 0.2, 0.3)]
)
def test_rates_allow_a_discordant_share_up_to_all_successes_or_failures(rates):
    assert DiscordantRate.from_rates(*rates).discordant == rates[2]
    with pytest.raises(SpecError):
        DiscordantRate.from_rates(rates[0], rates[1], rates[2] + 0.01)
    for wrong in (-0.1, 1.1):
        with pytest.raises(SpecError):
            DiscordantRate.from_rates(wrong, rates[1])


def test_the_power_of_eight_worlds_is_the_sum_over_all_tables():
    for apart in (DiscordantRate(0.9, 0.5), DiscordantRate(0.9, -0.5), DiscordantRate(1.0, 0.2)):
        second = apart.discordant - apart.first_only
        total = 0.0
        for first in range(9):
            for other in range(9 - first):
                ways = math.comb(8, first) * math.comb(8 - first, other)
                chance = apart.first_only**first * second**other
                chance *= (1.0 - apart.discordant) ** (8 - first - other)
                if first + other and binomtest(first, first + other).pvalue <= 0.05:
                    total += ways * chance
        assert apart.power(8, 0.05) == pytest.approx(total, abs=1e-9)
    assert DiscordantRate(0.0, 0.0).power(8, 0.05) == 0.0


def test_differences_that_are_all_equal_decide_after_a_known_number_of_worlds():
    needed = next(n for n in range(1, 50) if anytime.p_value(np.ones(n), 0.0, DIFFERENCE) <= 0.05)
    assert stopping_worlds(30, DiscordantRate(1.0, 1.0), 0.05) == (needed, 1.0)
    assert stopping_worlds(needed, DiscordantRate(1.0, -1.0), 0.05) == (needed, 1.0)
    assert stopping_worlds(needed - 1, DiscordantRate(1.0, 1.0), 0.05) == (needed - 1, 0.0)


def test_planners_that_never_differ_pass_the_gate_after_enough_worlds_for_the_margin():
    never = DiscordantRate(0.0, 0.0)
    assert [gate_power(n, never, 0.4, 0.05) for n in (3, 25)] == [0.0, 1.0]
    assert gate_power(25, never, 0.05, 0.05) == 0.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("find", "verdict", "fixed"),
    [
        (gate_power, Verdict.PASSED, False),
        (fixed_gate_power, Verdict.PASSED, True),
        (gate_failures, Verdict.FAILED, False),
        (fixed_gate_failures, Verdict.FAILED, True),
    ],
)
def test_the_stated_probability_of_a_verdict_is_that_of_the_gate(find, verdict, fixed):
    """The gate is evaluated with the trials of campaigns that were drawn with another seed."""
    source, worlds = DiscordantRate(0.1, 0.0), 120
    if verdict is Verdict.FAILED:
        source = source.worse_by(0.25)
    stated = find(worlds, source, 0.1, 0.05)
    assert 0.2 < stated < 0.97
    options = GateOptions(not_worse_than=0.1, fixed_worlds=worlds if fixed else None)
    names = [f"w{world}" for world in range(worlds)]
    is_verdict = []
    for differences in source.draw(np.random.default_rng(17), (200, worlds)):
        mine = {name: [Ended(value >= 0.0)] for name, value in zip(names, differences)}
        theirs = {name: [Ended(value <= 0.0)] for name, value in zip(names, differences)}
        (answer,) = evaluate([GatePair("a", mine, "b", theirs)], options)
        is_verdict.append(answer.verdict is verdict)
    error = 3.5 * math.sqrt(stated * (1.0 - stated) * (1 / 200 + 1 / 300))
    assert np.mean(is_verdict) == pytest.approx(stated, abs=error)


@pytest.mark.slow
@pytest.mark.parametrize("find", [gate_failures, fixed_gate_failures])
def test_the_smallest_failed_loss_has_the_usual_power(find):
    source, fifth = DiscordantRate(0.1, 0.0), Pilot(np.array([0.2, -0.2, 0.0, 0.0]))
    for planners in (source, fifth):
        loss = smallest_failed_loss(find, 100, planners, 0.1, 0.05)
        assert find(100, planners.worse_by(loss / 100), 0.1, 0.05) >= 0.8
        assert find(100, planners.worse_by((loss - 1) / 100), 0.1, 0.05) < 0.8
        # A planner that is worse by the margin fails with at most alpha, here with 300 campaigns.
        assert find(100, planners.worse_by(0.1), 0.1, 0.05) <= 0.05 + 0.038
    assert smallest_failed_loss(find, 2, source, 0.1, 0.05) is None


@pytest.mark.slow
def test_the_number_of_worlds_for_a_probability_is_the_smallest():
    source = DiscordantRate(0.02, 0.0)
    anytime_worlds = gate_worlds(0.9, 1000, source, 0.1, 0.05)
    fixed_worlds = fixed_gate_worlds(0.9, 1000, source, 0.1, 0.05)
    assert fixed_worlds < anytime_worlds
    assert gate_power(anytime_worlds, source, 0.1, 0.05) >= 0.9
    assert gate_power(anytime_worlds - 5, source, 0.1, 0.05) < 0.9
    assert fixed_gate_power(fixed_worlds, source, 0.1, 0.05) >= 0.9
    assert gate_worlds(0.9, 20, source, 0.05, 0.05) is None
    assert fixed_gate_worlds(0.9, 20, source, 0.05, 0.05) is None


def test_more_than_a_hundred_thousand_worlds_are_not_planned():
    assert worlds_for(DiscordantRate(1e-3, 1e-5), 0.05) is None
    assert worlds_for(DiscordantRate(1.0, 1.0), 0.05) in range(6, 9)  # 2 / 2^6 is below 0.05


def test_a_share_that_was_zero_in_one_world_is_at_most_95_percent():
    assert share_upper_bound(1) == pytest.approx(0.95)


def test_a_pilot_counts_its_differences_in_favor_of_either_planner():
    pilot = Pilot(np.array([0.5, 0.1]))
    assert pilot.difference == pytest.approx(0.3)
    assert sorted(pilot.with_difference(0.0).differences) == [-0.5, -0.1, 0.1, 0.5]
    drawn = pilot.draw(np.random.default_rng(1), (20, 30))
    assert drawn.shape == (20, 30)
    assert set(drawn.ravel()) == {0.5, 0.1}
