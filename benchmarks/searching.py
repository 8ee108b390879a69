"""Compare the strategies of `gz_testauto search` by robust failures per 100 simulations.

    python3 benchmarks/searching.py --out DIR                    # 4,600 simulations
    python3 benchmarks/searching.py --out DIR --seeds 4          # a part, which can be continued
    python3 benchmarks/searching.py --check                      # coverage of the interval

Each strategy searches with the same seeds and budget in benchmarks/searching.yaml, which has two
planners. Both strategies of a seed begin with the same plain worlds, so the seeds are pairs. Only
the budget counts as simulations, not the repeats of failures. Compares, for each planner and for
both: failures and robust failures per 100 simulations, the ratio of `screened` to `random`, and the
share of robust failures with the same outcome in the simulator --confirm.

The 95 % interval of the ratio of sums is a t interval over seeds, on the logarithm, with the
linearized variance of a ratio (Cochran, Sampling Techniques, 3rd ed., 1977, section 6.4).

The same command continues after an interruption, also with more seeds.
"""

import argparse
import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
from scipy.stats import t as student

CAMPAIGN = Path(__file__).with_name("searching.yaml")
STRATEGIES = ("random", "screened")
CHECKED = 4000


def ratio_of_sums(first, second):
    """Return the ratio of the sums of two paired samples, and its 95 % interval; NaN without an
    event in one of them, or for fewer than two pairs."""
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    pairs = len(first)
    if pairs < 2 or not first.sum() or not second.sum():
        return math.nan, math.nan, math.nan
    ratio = first.sum() / second.sum()
    residuals = first - ratio * second
    error = math.sqrt(pairs / (pairs - 1) * np.sum(residuals**2)) / first.sum()
    factor = math.exp(student.ppf(0.975, pairs - 1) * error)
    return ratio, ratio / factor, ratio * factor


def check():
    """Print the share of intervals that contain the true ratio, for Poisson counts."""
    random = np.random.default_rng(1)
    for seeds in (4, 10):
        for mean in (3.0, 10.0):
            for ratio in (1.0, 2.0):
                covered = tested = 0
                for _ in range(CHECKED):
                    shared = random.gamma(10.0, 0.1, seeds)  # pairs have similar worlds
                    counts = random.poisson(ratio * mean * shared), random.poisson(mean * shared)
                    _, low, high = ratio_of_sums(*counts)
                    tested += not math.isnan(low)
                    covered += low <= ratio <= high
                share = 100 * covered / tested
                print(f"{seeds} seeds, {mean:g} per seed, ratio {ratio:g}: {share:.1f} % covered")


def search(arguments, seed, strategy):
    """Return the report of one search, which runs or continues if it is not complete."""
    out = arguments.out / f"{strategy}_{seed}"
    report = out / "search.json"
    if not report.exists():
        command = [sys.executable, "-m", "gz_testauto.cli.main", "search", str(CAMPAIGN)]
        command += ["--out", str(out), "--seed", str(seed), "--strategy", strategy]
        command += ["--budget", str(arguments.budget), "--perturb", str(arguments.perturb)]
        command += ["--workers", str(arguments.workers)]
        command += ["--simulator-confirm", arguments.confirm] if arguments.confirm else []
        status = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if status.returncode not in (0, 1):
            raise SystemExit(f"exit status {status.returncode}: {' '.join(command)}")
    return json.loads(report.read_text())


def of_planner(report, planner):
    """Return the numbers of simulations, failures and robust failures of a planner."""
    rates, found = (
        [one for one in report[key] if planner in (one["planner"], "both")]
        for key in ("rates", "found")
    )
    return [sum(one["trials"] for one in rates), len(found), sum(map(is_robust, found))]


def is_robust(failure):
    """Return whether at least 80 % of the repeats have the same outcome."""
    return 0 < 0.8 * failure["perturbed"] <= failure["same"]


def show(reports):
    """Print the figures of all finished pairs of searches."""
    names = list(dict.fromkeys(one["planner"] for one in reports["random"][0]["rates"]))
    print(f"{len(reports['random'])} seeds")
    for planner in [*names, "both"]:
        counts = {
            strategy: np.array([of_planner(one, planner) for one in reports[strategy]])
            for strategy in STRATEGIES
        }
        for strategy, of in counts.items():
            trials, failures, robust = of.sum(axis=0)
            print(
                f"  {planner}, {strategy}: {trials} simulations, {failures} failures, "
                f"{100 * failures / trials:.1f} per 100; {robust} robust, "
                f"{100 * robust / trials:.1f} per 100"
            )
        for key, column in (("failures", 1), ("robust failures", 2)):
            value, low, high = ratio_of_sums(
                counts["screened"][:, column], counts["random"][:, column]
            )
            print(f"    ratio of {key}: {value:.2f} [{low:.2f}, {high:.2f}]")
    for strategy in STRATEGIES:
        tested = [
            one
            for report in reports[strategy]
            for one in report["found"]
            if is_robust(one) and one["confirmed"] not in (None, "invalid")
        ]
        same = sum(one["confirmed"] == one["outcome"] for one in tested)
        print(f"  confirmed, {strategy}: {same} of {len(tested)} robust failures", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--budget", type=int, default=230, help="simulations per search")
    parser.add_argument("--perturb", type=int, default=5, help="repeats of each failure")
    parser.add_argument("--confirm", default="", help="other simulator, such as gazebo")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--check", action="store_true", help="simulate the interval instead")
    arguments = parser.parse_args()
    if arguments.check:
        check()
        return
    if arguments.out is None:
        parser.error("--out is missing")
    reports = {strategy: [] for strategy in STRATEGIES}
    for seed in range(1, arguments.seeds + 1):
        for strategy in STRATEGIES:
            reports[strategy].append(search(arguments, seed, strategy))
        show(reports)


if __name__ == "__main__":
    main()
