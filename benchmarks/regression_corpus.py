"""Judge a planner with ten seeded defects in a regression corpus, and compute the APFD.

    python3 benchmarks/shrinking.py RESULTS --count 30 --out CORPUS
    python3 benchmarks/regression_corpus.py CORPUS --planner dwa

CORPUS is a directory of outputs of `gz_testauto shrink`. The worlds in which the planner without a
defect fails are left out, since they cannot detect a defect. Compares, for each defect, the
position of the first world in which the planner with the defect fails, in the order of `gate
--corpus` without a history; and how many worlds fail for the planners that made them.

APFD is defined for the faults that the tests detect (Rothermel, Untch, Chu, Harrold, IEEE
Transactions on Software Engineering 27, 2001). A second figure counts each other defect as detected
after the last world. Both are compared with 1,000 random orders, with the order by the number of
obstacles and by the expected time to a failure alone, and with the order of `gate --corpus` with a
history: for each defect, the failures of another defect, never its own. The figure is the mean of
the other defects.

With --until-failure, each defect runs only until its first failure, which suffices for the APFD.

The file --out has one line per trial; the same command continues.
"""

import argparse
import dataclasses
import json
import os
from pathlib import Path

import numpy as np

from gz_testauto.base.observation import Twist2D
from gz_testauto.campaign.trial_runner import TrialRunner
from gz_testauto.extras.gate.corpus import in_order, read_corpus
from gz_testauto.planners import PLANNERS
from gz_testauto.planners.interface import LocalPlanner
from gz_testauto.spec.campaign import BuiltinPlannerSpec

RANDOM_ORDERS = 1000


class Defective(LocalPlanner):
    """A planner in front of which a defect changes the observation, or behind it the command."""

    plugin = ""

    def __init__(self):
        self._planner = PLANNERS.get(self.plugin)()
        self.wants_objects = self._planner.wants_objects

    def begin(self, task):
        self._planner.begin(self.task(task))
        self.past = []

    def plan(self, observation):
        if observation.scan is not None:
            self.past.append(observation.scan)
            ranges = np.array(self.ranges(observation.scan), dtype=float)
            scan = dataclasses.replace(observation.scan, ranges_m=ranges)
            observation = dataclasses.replace(observation, scan=scan)
        return self.command(self._planner.plan(self.observed(observation)))

    def task(self, task):
        return task

    def observed(self, observation):
        return observation

    def ranges(self, scan):
        return scan.ranges_m

    def command(self, twist):
        return twist


class Mirrored(Defective):
    """The scan is read clockwise."""

    def ranges(self, scan):
        return scan.ranges_m[::-1]


class BlindLeft(Defective):
    """The left half of the scan is lost."""

    def ranges(self, scan):
        return np.where(scan.angles_rad > 0.0, np.inf, scan.ranges_m)


class BlindRight(Defective):
    """The right half of the scan is lost."""

    def ranges(self, scan):
        return np.where(scan.angles_rad < 0.0, np.inf, scan.ranges_m)


class BlindAhead(Defective):
    """The middle of the scan is lost, 20 degrees."""

    def ranges(self, scan):
        return np.where(np.abs(scan.angles_rad) < np.radians(10.0), np.inf, scan.ranges_m)


class Stale(Defective):
    """The scan is one second old."""

    def ranges(self, scan):
        return next(one.ranges_m for one in self.past if one.stamp_s >= scan.stamp_s - 1.0)


class TooFar(Defective):
    """Ranges are 50 % too long."""

    def ranges(self, scan):
        return 1.5 * scan.ranges_m


class NoNearReadings(Defective):
    """Readings below 1 m are discarded."""

    def ranges(self, scan):
        return np.where(scan.ranges_m < 1.0, np.inf, scan.ranges_m)


class ShortSighted(Defective):
    """Readings above 1.5 m are discarded."""

    def ranges(self, scan):
        return np.where(scan.ranges_m > 1.5, np.inf, scan.ranges_m)


class NoLeftTurns(Defective):
    """Yaw rates to the left are reduced to 0.1 rad/s."""

    def command(self, twist):
        return Twist2D(twist.linear_mps, min(twist.angular_radps, 0.1))


class Crawls(Defective):
    """The speed is a tenth in turns."""

    def command(self, twist):
        turning = abs(twist.angular_radps) > 0.2
        return Twist2D(twist.linear_mps * (0.1 if turning else 1.0), twist.angular_radps)


DEFECTS = (
    Mirrored,
    BlindLeft,
    BlindRight,
    BlindAhead,
    Stale,
    TooFar,
    NoNearReadings,
    ShortSighted,
    NoLeftTurns,
    Crawls,
)


class Trials:
    """The outcomes of trials in the worlds of a corpus, by world and planner, in a file."""

    def __init__(self, path):
        self._path, self._known = path, {}
        if os.path.exists(path):
            for line in path.read_text().splitlines():
                one = json.loads(line)
                self._known[one["world"], one["planner"]] = one["passed"]

    def passed(self, world, planners):
        """Return for each planner whether it reaches the goal."""
        if any((world.name, one.name) not in self._known for one in planners):
            spec = world.spec.model_copy(update={"planners": tuple(planners)})
            with TrialRunner(spec) as runner:
                for planner in planners:
                    if (world.name, planner.name) not in self._known:
                        passed = not runner.run(world.world, planner.name).failed
                        self._known[world.name, planner.name] = passed
                        line = {"world": world.name, "planner": planner.name, "passed": passed}
                        with open(self._path, "a") as file:
                            file.write(json.dumps(line) + "\n")
        return [self._known[world.name, one.name] for one in planners]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--planner", default="dwa", help="planner without a defect")
    parser.add_argument("--until-failure", action="store_true")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    trials, worlds = Trials(arguments.out), in_order(read_corpus(arguments.corpus), ())
    correct = BuiltinPlannerSpec(name=arguments.planner, plugin=arguments.planner)
    makers, usable = [], []
    for world in worlds:
        own, reached = *trials.passed(world, world.spec.planners), *trials.passed(world, [correct])
        makers.append(not own)
        if reached:
            usable.append(world)
    print(f"{sum(makers)} of {len(worlds)} worlds fail for the planner that made them")
    print(f"{len(usable)} of {len(worlds)} worlds pass for {arguments.planner}", flush=True)
    defective = []
    for defect in DEFECTS:
        name = f"{arguments.planner}_{defect.__name__}"
        PLANNERS.register(name, type(name, (defect,), {"plugin": arguments.planner}))
        defective.append(BuiltinPlannerSpec(name=name, plugin=name))
    failed = np.zeros((len(usable), len(DEFECTS)), dtype=bool)
    for of_world, world in zip(failed, usable):
        detected = failed.any(axis=0) & arguments.until_failure
        left = [planner for planner, known in zip(defective, detected) if not known]
        of_world[~detected] = [not passed for passed in trials.passed(world, left)]
        print(f"{world.name}: {int(of_world.sum())} of {len(DEFECTS)} defects", flush=True)
    if not len(usable):
        return
    for defect, of in zip(DEFECTS, failed.T):
        at = f"first in world {int(np.argmax(of)) + 1}" if of.any() else "not detected"
        print(f"{defect.__name__}: {at} of {len(usable)}, fails in {int(of.sum())}")
    detected = failed[:, failed.any(axis=0)]
    print(f"{detected.shape[1]} of {len(DEFECTS)} defects are detected")
    print(f"APFD {figure(failed):.3f}, of detected defects {figure(detected):.3f}")
    if not arguments.until_failure and detected.size:
        compare_orders(failed, usable, arguments.corpus)


def compare_orders(failed, worlds, corpus):
    """Print the APFD of other orders of the worlds, of all and of detected defects."""
    for title, columns in (
        ("all", np.arange(failed.shape[1])),
        ("detected", np.flatnonzero(failed.any(axis=0))),
    ):
        chosen = failed[:, columns]
        random = np.random.default_rng(1)
        orders = [figure(random.permutation(chosen)) for _ in range(RANDOM_ORDERS)]
        low, high = np.quantile(orders, (0.025, 0.975))
        print(
            f"{title} defects, random orders: mean {np.mean(orders):.3f}, "
            f"95 % of them {low:.3f} to {high:.3f}, best {max(orders):.3f}"
        )
        for name, key in (
            ("most obstacles first", lambda one: -obstacles_in(corpus / one.name)),
            ("by expected time", lambda one: one.expected_s),
        ):
            order = sorted(range(len(worlds)), key=lambda at: key(worlds[at]))
            print(f"{title} defects, {name}: {figure(chosen[order]):.3f}")
        value = np.mean([with_history(worlds, failed, at) for at in columns])
        print(f"{title} defects, history of another defect: {value:.3f}")


def with_history(worlds, failed, at):
    """Return the APFD of defect ``at``, as the mean of the histories of the other defects that the
    worlds detect."""
    names = [one.name for one in worlds]
    orders = []
    for past in np.flatnonzero(failed.any(axis=0)):
        if past != at:
            history = [name for name, bad in zip(names, failed[:, past]) if bad]
            order = [names.index(one.name) for one in in_order(worlds, history)]
            orders.append(figure(failed[order, at : at + 1]))
    return np.mean(orders)


def obstacles_in(folder):
    """Return the number of obstacles in a world of the corpus."""
    return len(json.loads((folder / "shrunk.json").read_text())["obstacles"])


def figure(failed):
    """Return the APFD of rows of worlds and columns of defects."""
    tests = len(failed)
    first = [int(np.argmax(of)) + 1 if of.any() else tests + 1 for of in failed.T]
    return 1.0 - sum(first) / (tests * len(first)) + 1.0 / (2.0 * tests) if first else np.nan


if __name__ == "__main__":
    main()
