#!/usr/bin/env python3
"""Measure the benefit of the informed branches of ``dki_sst``, and the cost of a search.

Scenario I of Smit et al. 2022: a car on a free road of two lanes that moves along its lane at the
desired speed. The planned trajectories are evaluated. Each root is drawn near the lane's center and
the desired speed. From each, several searches are planned, half a second of driving after each
other. Prints for each variant the means over all, its CPU time per search, and the reduction of
each criterion compared with plain SST, with a 95 % bootstrap interval over the roots.

    python3 benchmarks/sst.py --roots 30 --iterations 3000 10000 [--seed 0]
"""

import argparse
import time

import numpy as np
from scipy.stats import bootstrap

from gz_testauto.extras.roads.sst.model import Objects
from gz_testauto.extras.roads.sst.road import Lane
from gz_testauto.extras.roads.sst.search import Search

LANES = [Lane(np.array([[0.0, y], [200.0, y]]), np.full(2, 3.5)) for y in (-1.75, 1.75)]
PLANS, ROOT_SPACING_M = 4, 2.5
AHEAD_M = 22.0
CURVE = (300, 1000, 3000, 10000, 30000)
VARIANTS = {
    "sst": {"lane_branch": False, "previous_branch": False},
    "lane only": {"previous_branch": False},
    "previous only": {"lane_branch": False},
    "dki_sst": {},
}
CRITERIA = ("|a| m/s²", "|v - 5| m/s", "off lane m")


def criteria(planned):
    """Return the means over a trajectory: acceleration, deviation from the desired speed, and
    distance from the center of the nearest lane."""
    accel = np.repeat(np.abs(planned.controls[:, 0]), planned.steps).mean()
    speed = np.abs(planned.states[:, 3] - 5.0).mean()
    return accel, speed, np.abs(np.abs(planned.states[:, 1]) - 1.75).mean()


def evaluate(search, root_number):
    """Return the criteria of the plans from one root, and the CPU time of each search (s)."""
    random = np.random.default_rng(root_number)
    offsets = np.random.default_rng([root_number, 1]).uniform(-0.1, 0.1, 2)
    root = np.array([20.0, -1.75 + offsets[0], 0.0, 5.0 + offsets[1]])
    found, spent, planned = [], [], None
    for _ in range(PLANS):
        began = time.process_time()
        planned = search.plan(root, LANES, root[0], random, previous=planned)
        spent.append(time.process_time() - began)
        if planned is not None:
            found.append(criteria(planned))
        root = np.array([root[0] + ROOT_SPACING_M, -1.75, 0.0, 5.0])
    return np.mean(found, axis=0), spent


def less(values, base):
    """Return the relative reduction (%) of the mean of ``values`` compared with ``base``, and its
    interval."""
    result = bootstrap(
        (values, base),
        lambda ours, theirs, axis: 100.0 * (1.0 - ours.mean(axis=axis) / theirs.mean(axis=axis)),
        paired=True,
        n_resamples=4000,
        random_state=1,
        method="percentile",
    )
    low, high = result.confidence_interval
    return f"{100.0 * (1.0 - values.mean() / base.mean()):5.1f} [{low:5.1f}, {high:5.1f}]"


def costs(search, blocked, roots):
    """Return the cost of the last plan from each root; it is infinite without a plan."""
    objects = None
    if blocked:
        car = np.array([[[20.0 + AHEAD_M, -2.15, 0.0]]])
        objects = Objects(np.array([[4.5, 1.8]]), car)
    found = []
    for number in roots:
        random, planned = np.random.default_rng(number), None
        root = np.array([20.0, -1.75, 0.0, 5.0])
        for plan in range(PLANS):
            planned = search.plan(root, LANES, root[0], random, objects, planned) or planned
            if planned is not None and plan < PLANS - 1:  # it is driven on without fault
                root = planned.states[min(round(0.5 / planned.step_s), len(planned.states) - 1)]
        found.append(np.inf if planned is None else planned.cost)
    return found


def curve(roots):
    """Print the cost of the plan by number of iterations."""
    for blocked in (False, True):
        print(f"{'parked car' if blocked else 'free'}: median cost of the last of {PLANS} plans")
        for iterations in CURVE:
            row = f"  {iterations:6d}"
            for name, branches in VARIANTS.items():
                found = costs(Search(iterations=iterations, **branches), blocked, roots)
                row += f"  {name} {np.median(found):7.1f}"
            print(row, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--roots", type=int, default=30, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=0, help="number of the first root")
    parser.add_argument("--iterations", type=int, nargs="+", default=[3000])
    parser.add_argument("--curve", action="store_true", help="costs over iterations instead")
    arguments = parser.parse_args()
    evaluate(Search(iterations=10), 0)  # compile
    if arguments.curve:
        curve(range(arguments.seed, arguments.seed + arguments.roots))
        return
    for iterations in arguments.iterations:
        print(f"{iterations} iterations, {arguments.roots} roots of {PLANS} plans")
        base = None
        for name, branches in VARIANTS.items():
            search = Search(iterations=iterations, **branches)
            roots = range(arguments.seed, arguments.seed + arguments.roots)
            results = [evaluate(search, number) for number in roots]
            values = np.array([means for means, _ in results])
            spent_ms = 1e3 * np.median([each for _, spent in results for each in spent])
            means = "  ".join(
                f"{what} {value:.3f}" for what, value in zip(CRITERIA, values.mean(axis=0))
            )
            print(f"  {name:14} {means}  {spent_ms:6.1f} ms of CPU a search")
            if base is None:
                base = values
                continue
            gains = "  ".join(less(values[:, i], base[:, i]) for i in range(len(CRITERIA)))
            print(f"  {'':14} less than sst, %: {gains}")


if __name__ == "__main__":
    main()
