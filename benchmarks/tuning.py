"""Statistics of `gz_testauto tune` with simulated outcomes; no simulator runs.

    ./bootstrap exec python3 benchmarks/tuning.py nothing --runs 2000
    ./bootstrap exec python3 benchmarks/tuning.py proposers --runs 150 --budget 300

`nothing`: no parameter has an effect. The share of runs in which the interval of the held-out
difference covers 0, in which the tuned planner is reported as better, and for comparison the mean
difference in the training worlds, which selected the candidate.

`proposers`: the success depends on six parameters. The success rate after tuning, with candidates
that are drawn independently, near the best ones of a first race, and, if the package optuna is
installed, by its TPE sampler.
"""

import argparse

import numpy as np

from gz_testauto.analysis.comparison import PairedCounts, rate_difference
from gz_testauto.extras.tune.race import Loss, largest_plan, mean_losses, plan_race, race

TRAINING, HELD_OUT = 30, 100
PARAMETERS = 6


class Outcomes:
    """Outcomes that repeat: a candidate's chance in a world, and one random number for each."""

    def __init__(self, chance, generator):
        self.chance = chance
        self.numbers = generator.uniform(size=(1000, TRAINING + HELD_OUT))

    def failed(self, number, world):
        return float(self.numbers[number, world] > self.chance(number, world))


def raced(outcomes, numbers, plan):
    """Return the ranked places in ``numbers`` (the first one are the defaults) and all losses."""
    seen = {}

    def run(alive, worlds):
        losses = []
        for place in alive:
            failed = [outcomes.failed(numbers[place], world) for world in range(worlds)]
            losses.append({str(w): Loss(one, 0.0, 0.0) for w, one in enumerate(failed)})
            seen[place] = losses[-1]
        return losses

    return race(plan, run), seen


def held_out_difference(outcomes, best):
    worlds = range(TRAINING, TRAINING + HELD_OUT)
    pairs = [(not outcomes.failed(best, w), not outcomes.failed(0, w)) for w in worlds]
    first = sum(a and not b for a, b in pairs)
    second = sum(b and not a for a, b in pairs)
    both = sum(a and b for a, b in pairs)
    return rate_difference(PairedCounts(both, first, second, HELD_OUT - both - first - second))


def nothing(runs, budget):
    """All candidates have the same chance in a world, and independent luck."""
    plan = largest_plan(budget, TRAINING)
    covered, better, trained = [], [], []
    for seed in range(runs):
        generator = np.random.default_rng([seed, 11])
        difficulty = generator.beta(1.0, 1.0, size=TRAINING + HELD_OUT)
        outcomes = Outcomes(lambda number, world, by=difficulty: by[world], generator)
        ranked, seen = raced(outcomes, range(plan.candidates[0] + 1), plan)
        best = next(number for number in ranked if number)
        tuned, defaults = mean_losses([seen[best], seen[0]])
        found = held_out_difference(outcomes, best)
        covered.append(found.low <= 0.0 <= found.high)
        better.append(found.low > 0.0)
        trained.append(defaults.failed - tuned.failed)
    print(f"{runs} runs, {plan.candidates[0]} candidates, {HELD_OUT} held-out worlds")
    print(f"interval covers 0: {100 * np.mean(covered):.1f} %")
    print(f"reported as better: {100 * np.mean(better):.1f} %")
    print(f"mean difference in training worlds: {100 * np.mean(trained):+.1f} points")


class Landscape:
    """A success rate that falls with the weighted distance from the best parameters."""

    def __init__(self, generator):
        self.best = generator.uniform(size=PARAMETERS)
        weights = generator.exponential(size=PARAMETERS)
        self.weights = weights / weights.sum()
        self.worlds = generator.normal(0.0, 1.5, size=TRAINING + HELD_OUT)
        self.slopes = generator.normal(0.0, 0.8, size=(TRAINING + HELD_OUT, PARAMETERS))
        self.candidates = [generator.uniform(0.2, 0.8, size=PARAMETERS)]

    def chance(self, number, world):
        value = self.candidates[number]
        away = np.sqrt((self.weights * ((value - self.best) / 0.35) ** 2).sum())
        shift = self.slopes[world] @ (value - self.candidates[0])
        return 1.0 / (1.0 + np.exp(-(2.0 - 3.0 * away + self.worlds[world] + shift)))

    def rate(self, number):
        return np.mean([self.chance(number, TRAINING + w) for w in range(HELD_OUT)])


def independent(generator, history, count):
    return [generator.uniform(size=PARAMETERS) for _ in range(count)]


def near_the_best(generator, history, count):
    best = sorted(history, key=lambda one: (-one[2], one[1]))[:4]
    centers = [best[generator.integers(len(best))][0] for _ in range(count)]
    return [np.clip(one + generator.normal(0, 0.25, PARAMETERS), 0, 1) for one in centers]


def tpe(generator, history, count):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    space = {str(i): optuna.distributions.FloatDistribution(0, 1) for i in range(PARAMETERS)}
    seed = int(generator.integers(2**31))
    sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=5)
    study = optuna.create_study(sampler=sampler)
    for value, failed, _ in history:
        parameters = {str(i): float(one) for i, one in enumerate(value)}
        study.add_trial(
            optuna.trial.create_trial(params=parameters, distributions=space, value=failed)
        )
    asked = [study.ask(space).params for _ in range(count)]
    return [np.array([one[str(i)] for i in range(PARAMETERS)]) for one in asked]


def tuned_rate(seed, budget, proposer):
    """Return the success rates of the defaults and of the winner, after one race, or after two
    races of half the budget with ``proposer`` in the second one."""
    land = Landscape(np.random.default_rng([seed, 1]))
    outcomes = Outcomes(land.chance, np.random.default_rng([seed, 2]))
    generator = np.random.default_rng([seed, 3])
    races = 1 if proposer is independent else 2
    history, kept = [], []
    for number in range(races):
        plan = largest_plan((budget + TRAINING * (races - 1)) // races, TRAINING)
        propose = independent if number == 0 else proposer
        drawn = propose(generator, history, plan.candidates[0])
        first = len(land.candidates)
        land.candidates += drawn
        numbers = [0, *kept, *range(first, len(land.candidates))]
        ranked, seen = raced(outcomes, numbers, plan_race(len(numbers) - 1, TRAINING))
        for place, losses in seen.items():
            if numbers[place] >= first:
                (mean,) = mean_losses([losses])
                history.append((land.candidates[numbers[place]], mean.failed, len(losses)))
        kept = [numbers[place] for place in ranked if place][:2]
    return land.rate(0), land.rate(kept[0])


def proposers(runs, budget):
    compared = {"independent": independent, "near the best": near_the_best}
    try:
        import optuna  # noqa: F401

        compared["optuna TPE"] = tpe
    except ImportError:
        print("optuna is not installed; pip install optuna")
    rates = {name: [] for name in compared}
    for seed in range(runs):
        for name, proposer in compared.items():
            rates[name].append(tuned_rate(seed, budget, proposer))
    defaults = np.array([one for one, _ in rates["independent"]])
    base = np.array([one for _, one in rates["independent"]])
    print(f"{runs} landscapes, {budget} training trials; defaults {100 * defaults.mean():.1f} %")
    for name, pairs in rates.items():
        ahead = np.array([one for _, one in pairs]) - base
        half = 1.96 * ahead.std(ddof=1) / np.sqrt(runs)
        print(
            f"{name}: {100 * (base + ahead).mean():.1f} %, minus independent "
            f"{100 * ahead.mean():+.1f} ± {100 * half:.1f} points"
        )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("check", choices=["nothing", "proposers"])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--budget", type=int, default=300)
    arguments = parser.parse_args()
    {"nothing": nothing, "proposers": proposers}[arguments.check](arguments.runs, arguments.budget)


if __name__ == "__main__":
    main()
