"""Power analysis: the required number of worlds of a campaign.

Without repetitions, power and number of worlds depend on the share of discordant worlds
(:class:`DiscordantRate`), with repetitions on the distribution of the differences in a pilot
campaign (:class:`Pilot`). The power of McNemar's test is computed exactly, over the number of
discordant worlds and their outcomes: S. W. Duffy, Biometrics 40 (1984) 1005–1015. The power of
Gaffke's test and of the gate is simulated, from a fixed seed.
"""

import math
from dataclasses import dataclass
from typing import Callable, ClassVar, Optional, Tuple, Union

import numpy as np

from gz_testauto.analysis import anytime
from gz_testauto.analysis.bounded_mean import DIFFERENCE, mean_p_value, one_sided_p_values
from gz_testauto.analysis.rounding import mean
from gz_testauto.base.errors import SpecError

CHANCE = 0.8  # the usual power: the probability that an existing difference is detected

MOST_WORLDS = 100_000
SIMULATED = 1000
SEED = 0
TESTED = 300  # number of simulated campaigns with a test each
_CHUNK = 100
_TAIL = 1e-9


@dataclass(frozen=True)
class DiscordantRate:
    """The difference of two planners with one trial in each world.

    ``discordant`` is the share of worlds in which only one planner succeeds. ``difference`` is the
    success rate of the first planner minus that of the second.
    """

    discordant: float
    difference: float

    test: ClassVar = "exact McNemar test"
    halvings: ClassVar = 30

    def __post_init__(self) -> None:
        if not 0.0 <= self.discordant <= 1.0 or abs(self.difference) > self.discordant:
            raise SpecError(
                f"'discordant' is {self.discordant:g}; it must be at least the difference of the "
                f"success rates, {abs(self.difference):g}, and at most 1"
            )

    @classmethod
    def from_rates(
        cls, first: float, second: float, discordant: Optional[float] = None
    ) -> "DiscordantRate":
        """Return the difference of planners with these success rates. ``discordant`` is the share
        of worlds in which only one planner succeeds, by default that for independent planners."""
        for rate in (first, second):
            if not 0.0 <= rate <= 1.0:
                raise SpecError(f"a success rate is {rate:g}; it must be between 0 and 1")
        if discordant is None:  # usually too large, since planners tend to fail in the same worlds
            discordant = first * (1.0 - second) + second * (1.0 - first)
        upper_bound = min(first + second, 2.0 - first - second)
        if discordant > upper_bound + 1e-12:
            raise SpecError(
                f"'discordant' is {discordant:g}; with success rates of {first:g} and {second:g} "
                f"it must be at most {upper_bound:g}"
            )
        return cls(discordant, first - second)

    @property
    def largest(self) -> float:
        """The difference if all discordant worlds are in favor of one planner."""
        return self.discordant

    @property
    def first_only(self) -> float:
        return (self.discordant + self.difference) / 2.0

    def with_difference(self, difference: float) -> "DiscordantRate":
        return DiscordantRate(self.discordant, difference)

    def worse_by(self, loss: float) -> "DiscordantRate":
        """Return the rates of two equally good planners if the first then fails in a further share
        ``loss`` of worlds."""
        return DiscordantRate(min(self.discordant + loss, 1.0), -loss)

    def power(self, worlds: int, alpha: float) -> float:
        """Return the probability that the exact two-sided McNemar test has ``p ≤ alpha``."""
        from scipy.stats import binom

        if not self.discordant:
            return 0.0
        low, high = binom.ppf([_TAIL, 1.0 - _TAIL], worlds, self.discordant).astype(int)
        discordant = np.arange(max(low, 0), min(high, worlds) + 1)
        weights = binom.pmf(discordant, worlds, self.discordant)
        # The largest number of successes k with 2 P(X ≤ k) ≤ alpha for a fair coin, or -1.
        critical = binom.ppf(alpha / 2.0, discordant, 0.5)
        critical = np.where(
            2.0 * binom.cdf(critical, discordant, 0.5) <= alpha, critical, critical - 1
        )
        share = self.first_only / self.discordant
        refused = binom.cdf(critical, discordant, share)
        refused += binom.cdf(critical, discordant, 1.0 - share)
        return float(np.clip(weights @ refused, 0.0, 1.0))

    def draw(self, generator: np.random.Generator, shape: Tuple[int, int]) -> np.ndarray:
        """Draw the differences (-1, 0 or 1) in the worlds, shape (campaigns, worlds)."""
        chances = [self.discordant - self.first_only, 1.0 - self.discordant, self.first_only]
        return generator.choice([-1.0, 0.0, 1.0], p=chances, size=shape)


@dataclass(frozen=True, eq=False)
class Pilot:
    """The difference of two planners with repetitions.

    ``differences`` (n,) are those of the success rates in each world of a pilot campaign; at least
    two must differ.
    """

    differences: np.ndarray

    test: ClassVar = "Gaffke's test"
    halvings: ClassVar = 9
    largest: ClassVar = DIFFERENCE[1]

    @property
    def difference(self) -> float:
        """The mean success rate of the first planner minus that of the second."""
        return mean(self.differences)

    def with_difference(self, difference: float) -> "Pilot":
        """Return a pilot whose mean is ``difference``, unless values are clipped.

        It contains each difference of this pilot with both signs, shifted by ``difference``.
        """
        symmetric = np.concatenate([self.differences, -self.differences])
        return Pilot(np.clip(symmetric + difference, *DIFFERENCE) if difference else symmetric)

    def worse_by(self, loss: float) -> "Pilot":
        return self.with_difference(-loss)

    def power(self, worlds: int, alpha: float) -> float:
        """Return the probability that the report's test detects the difference."""
        values = self.draw(np.random.default_rng(SEED), (TESTED, worlds))
        is_detected = [mean_p_value(row, 0.0, DIFFERENCE) <= alpha for row in values]
        return float(np.mean(is_detected))

    def draw(self, generator: np.random.Generator, shape: Tuple[int, int]) -> np.ndarray:
        return generator.choice(self.differences, size=shape)


Source = Union[DiscordantRate, Pilot]


def share_upper_bound(worlds: int) -> float:
    """Return the upper 95 % confidence bound of a share that was 0 in ``worlds`` worlds."""
    return float(1.0 - 0.05 ** (1.0 / worlds))


def smallest_difference(worlds: int, source: Source, alpha: float) -> Optional[float]:
    """Return the smallest difference of two rates with the power :data:`CHANCE`, or None."""
    low, high = 0.0, source.largest
    if source.with_difference(high).power(worlds, alpha) < CHANCE:
        return None
    for _ in range(source.halvings):
        middle = (low + high) / 2.0
        enough = source.with_difference(middle).power(worlds, alpha) >= CHANCE
        low, high = (low, middle) if enough else (middle, high)
    return source.with_difference(high).difference


def worlds_for(source: Source, alpha: float) -> Optional[int]:
    """Return the number of worlds for the power :data:`CHANCE`. It is None above
    :data:`MOST_WORLDS`, or if the planners do not differ."""
    if not source.difference:
        return None
    high = 8
    while source.power(high, alpha) < CHANCE:
        high *= 2
        if high > MOST_WORLDS:
            return None
    low = high // 2
    # 1 % is accurate enough, since the exact power increases in steps.
    while high - low > max(low // 100, 1):
        middle = (low + high) // 2
        low, high = (low, middle) if source.power(middle, alpha) >= CHANCE else (middle, high)
    return high


def gate_power(worlds: int, source: Source, margin: float, alpha: float) -> float:
    """Return the probability that the gate passes if it is evaluated after each world."""
    after = _worlds_to_verdict(anytime.above, worlds, source, margin, alpha)
    return float(np.mean(after <= worlds))


def gate_worlds(
    chance: float, most: int, source: Source, margin: float, alpha: float
) -> Optional[int]:
    """Return the number of worlds within which the gate passes with the probability ``chance``,
    or None above ``most``."""
    after = np.sort(_worlds_to_verdict(anytime.above, most, source, margin, alpha))
    worlds = int(after[math.ceil(chance * len(after)) - 1])
    return worlds if worlds <= most else None


def fixed_gate_power(worlds: int, source: Source, margin: float, alpha: float) -> float:
    """Return the probability that the gate passes if it is evaluated once, after all worlds."""
    return _fixed_gate_verdicts(worlds, source, margin, alpha)[0]


def gate_failures(worlds: int, source: Source, margin: float, alpha: float) -> float:
    """Return the probability that the gate fails if it is evaluated after each world."""
    after = _worlds_to_verdict(anytime.below, worlds, source, margin, alpha)
    return float(np.mean(after <= worlds))


def fixed_gate_failures(worlds: int, source: Source, margin: float, alpha: float) -> float:
    """Return the probability that the gate fails if it is evaluated once, after all worlds."""
    return _fixed_gate_verdicts(worlds, source, margin, alpha)[1]


def smallest_failed_loss(
    find_failures: Callable[[int, Source, float, float], float],
    worlds: int,
    source: Source,
    margin: float,
    alpha: float,
) -> Optional[int]:
    """Return the smallest loss (percentage points) at which the gate fails a planner with the
    probability :data:`CHANCE`, or None if no loss is sufficient. ``find_failures`` is
    :func:`gate_failures` or :func:`fixed_gate_failures`."""
    low, high = 0, 100
    if find_failures(worlds, source.worse_by(1.0), margin, alpha) < CHANCE:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        enough = find_failures(worlds, source.worse_by(middle / 100), margin, alpha) >= CHANCE
        low, high = (low, middle) if enough else (middle, high)
    return high


def _fixed_gate_verdicts(
    worlds: int, source: Source, margin: float, alpha: float
) -> Tuple[float, float]:
    """Return the probabilities that the gate passes and that it fails after all worlds."""
    values = np.sort(source.draw(np.random.default_rng(SEED), (TESTED, worlds)), axis=1)
    # The test depends on the values but not on their order, so it is computed once for equal rows.
    rows, times = np.unique(values, axis=0, return_counts=True)
    p_values = np.array([one_sided_p_values(row, -margin, DIFFERENCE) for row in rows])
    passed, failed = np.average(p_values <= alpha, axis=0, weights=times)
    return float(passed), float(failed)


def fixed_gate_worlds(
    chance: float, most: int, source: Source, margin: float, alpha: float
) -> Optional[int]:
    """Return the fixed number of worlds after which the gate passes with the probability
    ``chance``, or None above ``most``."""
    low, high = 1, most
    if fixed_gate_power(high, source, margin, alpha) < chance:
        return None
    while high - low > max(low // 100, 1):
        middle = (low + high) // 2
        enough = fixed_gate_power(middle, source, margin, alpha) >= chance
        low, high = (low, middle) if enough else (middle, high)
    return high


def stopping_worlds(worlds: int, source: Source, alpha: float) -> Tuple[float, float]:
    """Return the mean number of worlds until the early stop, and the probability of a decision."""

    def capital(values: np.ndarray) -> np.ndarray:
        sides = (anytime.above, anytime.below)
        above, below = (anytime.capital_over_time(side(values, 0.0, DIFFERENCE)) for side in sides)
        return np.maximum(above, below)

    decided_after = _first_over(worlds, source, capital, -math.log(alpha / 2.0))
    return float(np.minimum(decided_after, worlds).mean()), float(np.mean(decided_after <= worlds))


def _worlds_to_verdict(
    side: Callable[[np.ndarray, float, Tuple[float, float]], np.ndarray],
    worlds: int,
    source: Source,
    margin: float,
    alpha: float,
) -> np.ndarray:
    """Return for each simulated campaign the number of worlds after which the gate passes, with
    ``anytime.above`` as ``side``, or fails, with ``anytime.below``."""

    def capital(values: np.ndarray) -> np.ndarray:
        return anytime.capital_over_time(side(values, -margin, DIFFERENCE))

    return _first_over(worlds, source, capital, -math.log(alpha))


def _first_over(
    worlds: int, source: Source, capital: Callable[[np.ndarray], np.ndarray], limit: float
) -> np.ndarray:
    """Return the number of worlds after which the capital of each simulated campaign reaches
    ``limit``, else ``worlds`` + 1, shape (SIMULATED,)."""
    generator = np.random.default_rng(SEED)
    first = []
    for _ in range(SIMULATED // _CHUNK):
        over = capital(source.draw(generator, (_CHUNK, worlds))) >= limit
        first.append(np.where(over.any(axis=1), over.argmax(axis=1) + 1, worlds + 1))
    return np.concatenate(first)
