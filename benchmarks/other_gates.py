"""Compare verdicts of gates for continuous integration on the same simulated histories.

A history is 400 worlds with the outcomes of a baseline and a candidate. The candidate may be at
most 5 points worse. Each gate judges each history once, after all worlds, and daily, after every
10 worlds from 20 on, with 2.5 % for each wrong verdict where a gate has such a parameter.
physim-gate (paired Newcombe interval), robostats (Tango's interval) and McNemar's exact test are
installed from the package index into a temporary virtual environment, and run as they are. The
verdicts of 300 histories by the complete program physim-gate must be equal, or the exit status is
1. A threshold fails below -5 points, with up to three tries in new worlds in its second row.

    python3 benchmarks/other_gates.py [--histories 1500] [--seed 0]

Prints for each truth and gate the shares of wrong verdicts, and the number of worlds after which
80 % of the histories have the right one. Daily, a history counts as passed or failed if it was at
least once.
"""

import argparse
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import numpy as np

from gz_testauto.analysis import anytime
from gz_testauto.analysis.anytime import DIFFERENCE
from gz_testauto.analysis.bounded_mean import one_sided_p_values

PACKAGES = ("physim-gate==0.4.0", "robostats==0.2.0")
MARGIN, ALPHA = 0.05, 0.025
WORLDS = 400
LOOKS = np.arange(20, WORLDS + 1, 10)
CHECKED = 300
TRUTHS = {
    "no change, 4 % discordant": (0.02, 0.02, 0.90),
    "no change, 10 % discordant": (0.05, 0.05, 0.90),
    "5 points worse, 13 % discordant": (0.09, 0.04, 0.90),
    "5 points worse, 35 % discordant": (0.20, 0.15, 0.60),
    "10 points worse, 14 % discordant": (0.12, 0.02, 0.90),
}
"""The shares of worlds in which only the baseline and only the candidate succeeds, and the rate of
the baseline."""
OTHERS = """
import sys
import numpy as np
from physim_gate.config import GateConfig
from physim_gate.engine import compare_runs
from physim_gate.schema import RunResult
from physim_gate.stats import newcombe_paired_counts
from robostats import PairedResult, mcnemar, paired_difference
file, margin, checked = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
tables = np.load(file)
judged = lambda low, high: int(low > -margin) - int(high < -margin)
def paired(both, base, candidate, neither):
    names = tuple(map(str, range(both + base + candidate + neither)))
    return PairedResult("new", "old", both, candidate, base, neither, names, 0, 0, (), (), None)
def run(name, outcomes):
    trials = [{"trial_id": str(index), "metrics": {"success": float(outcome)}}
        for index, outcome in enumerate(outcomes)]
    return RunResult.model_validate({"run_id": name, "simulator": {"name": "s"}, "trials": trials,
        "scenario": {"id": "w"}, "metrics": {"success": {"direction": "higher_is_better"}}})
config = GateConfig.model_validate({"metrics": {"success": {"max_absolute_degradation": margin}}})
rows = []
for index, table in enumerate(tables.tolist()):
    low, high = newcombe_paired_counts(*table, confidence=0.95)
    verdict = judged(low, high)
    if index < checked:
        outcomes = np.repeat([[1, 1], [1, 0], [0, 1], [0, 0]], table, axis=0).T
        word = compare_runs(run("a", outcomes[0]), run("b", outcomes[1]), config).verdict.name
        assert {"PASS": 1, "FAIL": -1}.get(word, 0) == verdict, (table, word, low, high)
    tango = paired_difference(paired(*table), confidence=0.95)
    worse = table[2] < table[1] and mcnemar(paired(*table)).p_value < 0.05
    rows.append([verdict, judged(tango.lower, tango.upper), -1 if worse else 1])
np.save(file, rows)
"""


def histories_of(truth, histories, rng):
    """Return the number of worlds of each kind (both, only baseline, only candidate, neither) at
    each look, and the differences in each world: (histories, looks, 4), (histories, worlds)."""
    base, candidate, rate = TRUTHS[truth]
    shares = (rate - base, base, candidate, 1.0 - rate - candidate)
    kinds = rng.choice(4, size=(histories, WORLDS), p=shares)
    counts = np.cumsum(kinds[:, :, None] == np.arange(4), axis=1)[:, LOOKS - 1]
    return counts, (kinds == 2) - (kinds == 1).astype(float)


def judge_by_others(python, tables):
    """Return the verdicts of the installed packages, 1 passed, -1 failed, 0 neither."""
    unique, inverse = np.unique(tables.reshape(-1, 4), axis=0, return_inverse=True)
    order = np.random.default_rng(0).permutation(len(unique))  # tables of all kinds are checked
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "tables.npy"
        np.save(file, unique[order])
        subprocess.run([python, "-c", OTHERS, file, str(MARGIN), str(CHECKED)], check=True)
        judged = np.load(file)[np.argsort(order)]
    return np.moveaxis(judged[inverse.ravel()].reshape(*tables.shape[:-1], 3), -1, 0)


def judge_fixed(tables):
    """Return the verdicts of ``gate --fixed-worlds`` for tables with the same number of worlds."""
    unique, inverse = np.unique(tables, axis=0, return_inverse=True)
    verdicts = []
    for both, base, candidate, neither in unique:
        values = np.repeat([-1.0, 1.0, 0.0], [base, candidate, both + neither])
        passed, failed = (p <= ALPHA for p in one_sided_p_values(values, -MARGIN, DIFFERENCE))
        verdicts.append(int(passed) - int(failed))
    return np.array(verdicts)[inverse.ravel()]


def judge_anytime(values):
    """Return the verdicts of ``gate`` at each look, which remain from the first one on."""
    verdicts = np.zeros(len(LOOKS), int)
    for test, verdict in ((anytime.above, 1), (anytime.below, -1)):
        first = anytime.first_rejected(test(values, -MARGIN, DIFFERENCE), ALPHA)
        if first is not None:
            verdicts[first <= LOOKS] = verdict
    return verdicts


def worlds_needed(right):
    shares = right.mean(axis=0)
    enough = np.flatnonzero(shares >= 0.8)
    return str(LOOKS[enough[0]]) if len(enough) else f"> {WORLDS}"


def rows_of(truth, arguments, python, rng):
    tables, values = histories_of(truth, 3 * arguments.histories, rng)
    tries = np.sign(tables[..., 2] - tables[..., 1] + MARGIN * LOOKS + 1e-9).astype(int)
    tables, values = tables[: arguments.histories], values[: arguments.histories]
    physim, robostats, mcnemar = judge_by_others(python, tables)
    fixed = np.stack([judge_fixed(tables[:, look]) for look in range(len(LOOKS))], axis=1)
    gates = {
        "gz_testauto, fixed number of worlds": fixed,
        "gz_testauto, anytime": np.array([judge_anytime(row) for row in values]),
        "physim-gate": physim,
        "robostats, as a gate": robostats,
        "McNemar's exact test": mcnemar,
        "threshold": tries[: arguments.histories],
        "threshold, three tries": np.maximum.reduce(np.split(tries, 3)),
    }
    wrong = -1 if truth.startswith("no change") else 1
    for name, verdicts in gates.items():
        is_wrong, is_right = verdicts == wrong, verdicts == -wrong
        shares = 100 * is_wrong[:, -1].mean(), 100 * is_wrong.any(axis=1).mean()
        daily = np.maximum.accumulate(is_right, axis=1)
        yield name, *shares, worlds_needed(is_right), worlds_needed(daily)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--histories", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        venv.create(directory, with_pip=True)
        python = str(Path(directory) / "bin" / "python3")
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--quiet", *PACKAGES], check=True
        )
        for truth in TRUTHS:
            print(f"\n| {truth} | wrong once, % | wrong daily, % | worlds once | worlds daily |")
            print("|---|---|---|---|---|")
            for row in rows_of(truth, arguments, python, np.random.default_rng(arguments.seed)):
                print("| {} | {:.1f} | {:.1f} | {} | {} |".format(*row), flush=True)


if __name__ == "__main__":
    sys.exit(main())
