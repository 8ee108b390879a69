"""How many worlds it takes, before they are run.

Owns planning: what difference a number of paired worlds shows with the test of the report, and how
often the gate passes. Both depend on how two planners differ world by world: on the share of worlds
that tell them apart, which a pilot campaign estimates or two rates of success give if they were
independent (:class:`Apart`), or, with repetitions, on the differences of the pilot's worlds
(:class:`Pilot`). The power of McNemar's test is computed exactly, over the number of discordant
worlds and how they fall: S. W. Duffy, Biometrics 40 (1984) 1005–1015. Those of Gaffke's test and of
the gate are simulated, from a fixed seed.
"""

import math
from dataclasses import dataclass
from typing import Callable, Optional, Tuple, Union

import numpy as np

from gz_testauto.analysis import anytime
from gz_testauto.analysis.bounded_mean import DIFFERENCE, HALF, mean_p_value
from gz_testauto.analysis.rounding import mean
from gz_testauto.base.errors import SpecError

CHANCE = 0.8
"""Of showing what is there; the usual one."""

MOST_WORLDS = 100_000
SIMULATED = 1000
SEED = 0
TESTED = 300
"""Simulated for a test that is computed for each."""
_CHUNK = 100
_HALVINGS = 30
_HALVINGS_SIMULATED = 9
_TAIL = 1e-9


@dataclass(frozen=True)
class Apart:
    """How two planners differ: ``discordant`` is the share of worlds in which exactly one of them
    succeeds, ``difference`` the first's rate minus the second's."""

    discordant: float
    difference: float

    def __post_init__(self) -> None:
        if not 0.0 <= self.discordant <= 1.0 or abs(self.difference) > self.discordant:
            raise SpecError(
                f"planners whose rates differ by {self.difference:g} are told apart by at least "
                f"that share of worlds and at most by all, not by {self.discordant:g}"
            )

    @classmethod
    def of_rates(cls, first: float, second: float, discordant: Optional[float] = None) -> "Apart":
        """Of two rates; ``discordant`` as if they were independent unless given, which is mostly
        too much: planners fail in the same worlds."""
        for rate in (first, second):
            if not 0.0 <= rate <= 1.0:
                raise SpecError(f"a rate of success is {rate:g}; it must lie between 0 and 1")
        if discordant is None:
            discordant = first * (1.0 - second) + second * (1.0 - first)
        most = min(first + second, 2.0 - first - second)
        if discordant > most + 1e-12:
            raise SpecError(
                f"with rates of {first:g} and {second:g} at most {most:g} of worlds can tell the "
                f"planners apart, not {discordant:g}"
            )
        return cls(discordant, first - second)

    @property
    def first_only(self) -> float:
        """Share of worlds in which only the first succeeds."""
        return (self.discordant + self.difference) / 2.0

    def as_good(self) -> "Apart":
        """Return the same share of worlds, half of them in favor of either."""
        return Apart(self.discordant, 0.0)

    def draw(self, generator: np.random.Generator, shape: Tuple[int, int]) -> np.ndarray:
        """Draw differences of campaigns (campaigns, worlds)."""
        chances = [self.discordant - self.first_only, 1.0 - self.discordant, self.first_only]
        return generator.choice([-1.0, 0.0, 1.0], p=chances, size=shape)


@dataclass(frozen=True, eq=False)
class Pilot:
    """How two planners differ with repetitions: ``differences`` of the pilot's worlds' rates, shape
    (n,), at least two of which are not equal."""

    differences: np.ndarray

    @property
    def difference(self) -> float:
        """The first's mean rate minus the second's."""
        return mean(self.differences)

    def as_good(self) -> "Pilot":
        """Return the same differences, each in favor of either planner."""
        return Pilot(np.concatenate([self.differences, -self.differences]))

    def draw(self, generator: np.random.Generator, shape: Tuple[int, int]) -> np.ndarray:
        """Draw differences of campaigns (campaigns, worlds) from the pilot's worlds."""
        return generator.choice(self.differences, size=shape)


Source = Union[Apart, Pilot]


def share_at_most(worlds: int) -> float:
    """Return the upper 95 % bound of a share that was 0 in so many worlds."""
    return float(1.0 - 0.05 ** (1.0 / worlds))


def power_of_means(worlds: int, pilot: Pilot, alpha: float) -> float:
    """Return the chance that the test of the report with repetitions finds the pilot's
    difference."""
    values = pilot.draw(np.random.default_rng(SEED), (TESTED, worlds))
    found = [mean_p_value(one, 0.0, DIFFERENCE, HALF) <= alpha for one in values]
    return float(np.mean(found))


def smallest_mean_difference(worlds: int, pilot: Pilot, alpha: float) -> Optional[float]:
    """Return the smallest mean difference that is shown with the usual chance, with repetitions, if
    the pilot's differences are shifted; None where not even the largest one is."""

    def shifted(by: float) -> Pilot:
        return Pilot(np.clip(pilot.as_good().differences + by, *DIFFERENCE))

    low, high = 0.0, DIFFERENCE[1]
    if power_of_means(worlds, shifted(high), alpha) < CHANCE:
        return None
    for _ in range(_HALVINGS_SIMULATED):
        middle = (low + high) / 2.0
        enough = power_of_means(worlds, shifted(middle), alpha) >= CHANCE
        low, high = (low, middle) if enough else (middle, high)
    return shifted(high).difference


def worlds_for_mean(pilot: Pilot, alpha: float) -> Optional[int]:
    """Return from about how many worlds on the pilot's difference is shown with the usual chance;
    None for more than a hundred thousand."""
    if not pilot.difference:
        return None
    return _from_where(lambda worlds: power_of_means(worlds, pilot, alpha) >= CHANCE)


def mcnemar_power(worlds: int, apart: Apart, alpha: float) -> float:
    """The chance that the exact two-sided McNemar test has ``p ≤ alpha``."""
    from scipy.stats import binom

    if not apart.discordant:
        return 0.0
    low, high = binom.ppf([_TAIL, 1.0 - _TAIL], worlds, apart.discordant).astype(int)
    discordant = np.arange(max(low, 0), min(high, worlds) + 1)
    weights = binom.pmf(discordant, worlds, apart.discordant)
    # Largest number of successes k with 2 P(X ≤ k) ≤ alpha under a fair coin; -1 for none.
    critical = binom.ppf(alpha / 2.0, discordant, 0.5)
    critical = np.where(2.0 * binom.cdf(critical, discordant, 0.5) <= alpha, critical, critical - 1)
    share = apart.first_only / apart.discordant
    refused = binom.cdf(critical, discordant, share)
    refused += binom.cdf(critical, discordant, 1.0 - share)
    return float(np.clip(weights @ refused, 0.0, 1.0))


def smallest_difference(worlds: int, discordant: float, alpha: float) -> Optional[float]:
    """The smallest difference of two rates that is shown with the usual chance; None where not even
    the largest one, with all discordant worlds in one planner's favor, is."""
    if mcnemar_power(worlds, Apart(discordant, discordant), alpha) < CHANCE:
        return None
    low, high = 0.0, discordant
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        enough = mcnemar_power(worlds, Apart(discordant, middle), alpha) >= CHANCE
        low, high = (low, middle) if enough else (middle, high)
    return high


def worlds_for(apart: Apart, alpha: float) -> Optional[int]:
    """From how many worlds on the difference is shown with the usual chance, within one in a
    hundred: the exact power goes up in steps. None for more than a hundred thousand."""
    if not apart.difference:
        return None
    return _from_where(lambda worlds: mcnemar_power(worlds, apart, alpha) >= CHANCE)


def gate_power(worlds: int, apart: Source, margin: float, alpha: float) -> float:
    """The chance that the gate passes on the first planner within that many worlds, looked at
    after each."""
    return float(np.mean(_passed_after(worlds, apart, margin, alpha) <= worlds))


def stopping_worlds(worlds: int, apart: Source, alpha: float) -> Tuple[float, float]:
    """After how many worlds on average a campaign of at most that many ends that stops when it is
    decided, and the chance that it is."""
    limit = -math.log(alpha)
    at = _first_over(worlds, apart, lambda v: anytime.two_sided(v, 0.0, DIFFERENCE), limit)
    return float(np.minimum(at, worlds).mean()), float(np.mean(at <= worlds))


def _passed_after(worlds: int, apart: Source, margin: float, alpha: float) -> np.ndarray:
    def capital(values: np.ndarray) -> np.ndarray:
        return anytime.capital_over_time(anytime.above(values, -margin, DIFFERENCE))

    return _first_over(worlds, apart, capital, -math.log(alpha))


def _first_over(
    worlds: int, apart: Source, capital: Callable[[np.ndarray], np.ndarray], limit: float
) -> np.ndarray:
    """After how many worlds the capital of each simulated campaign first reaches its limit, one
    more than ``worlds`` where it does not; shape (SIMULATED,)."""
    generator = np.random.default_rng(SEED)
    first = []
    for _ in range(SIMULATED // _CHUNK):
        over = capital(apart.draw(generator, (_CHUNK, worlds))) >= limit
        first.append(np.where(over.any(axis=1), over.argmax(axis=1) + 1, worlds + 1))
    return np.concatenate(first)


def _from_where(enough: Callable[[int], bool]) -> Optional[int]:
    high = 8
    while not enough(high):
        high *= 2
        if high > MOST_WORLDS:
            return None
    low = high // 2
    while high - low > max(low // 100, 1):
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
