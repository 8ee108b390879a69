#!/usr/bin/env python3
"""Measure the overhead of an environment compared with the embedded trials that it runs.

    python3 benchmarks/environments.py [--rounds 5]

Medians of CPU time, measured alternately in one run: the trials of a policy in a campaign, and the
same as episodes; a reset, in units of steps; and two environments in parallel compared with one, as
a vector of environments and in two independent processes. The latter is the largest speed-up that
the machine allows.
"""

import argparse
import multiprocessing
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from gz_testauto.campaign.simulator import start_simulator
from gz_testauto.extras.learning.episode import PreparedEnvironment
from gz_testauto.extras.learning.navigation import NavigationEnv, vector_env
from gz_testauto.extras.learning.policies.files import write_policy
from gz_testauto.extras.learning.policies.policy import LinearPolicy
from gz_testauto.extras.learning.spec import EnvironmentCampaignSpec, EnvironmentSpec
from gz_testauto.spec.loader import load
from gz_testauto.trial.lockstep import LockstepExecutor
from gz_testauto.trial.testbed import bed_of

SHARE = Path(__file__).resolve().parents[1]
WORLDS = 6


def main():
    """Run the rounds, and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), arguments.rounds)


def measure(folder, rounds):
    """Print the ratio of CPU times of episodes and trials, and the other measured ratios."""
    arena = load(SHARE / "config" / "learning" / "arena.yaml", EnvironmentCampaignSpec)
    update = {"simulator": "embedded", "environment": EnvironmentSpec()}
    prepared = PreparedEnvironment(arena.model_copy(update=update), folder / "worlds")
    environment = NavigationEnv(prepared)
    size = prepared.interface().encoder.size
    weights = np.zeros((2, size + 1))
    weights[0, -1] = 1.0  # forwards
    weights[1, -3] = 2.0  # towards the global plan, by the sine of its bearing
    policy = LinearPolicy(weights.ravel(), size)
    file = folder / "policy.npz"
    write_policy(file, policy, prepared.card("linear"))
    spec = prepared.bed.spec
    planner = spec.planners[0].model_copy(
        update={"plugin": "policy", "parameters": {"file": str(file)}}
    )
    bed = bed_of(spec.model_copy(update={"planners": (planner,)}), prepared.bed.robot)
    executor = LockstepExecutor(bed, start_simulator)
    executor.open()
    trials = [replace(prepared.trial(world), planner=planner) for world in range(WORLDS)]
    for trial in trials:
        executor.execute(trial, lambda: False)
    ratios, resets = [], []
    for _ in range(rounds):
        by_campaign = by_environment = stepping = resetting = 0.0
        steps = 0
        for number, trial in enumerate(trials):
            began = time.process_time()
            executor.execute(trial, lambda: False)
            by_campaign += time.process_time() - began
            began = time.process_time()
            shown, _ = environment.reset(options={"world": number, "repetition": 0})
            entered = time.process_time()
            ended = False
            while not ended:
                shown, _, terminated, truncated, _ = environment.step(policy.act(shown))
                steps += 1
                ended = terminated or truncated
            by_environment += time.process_time() - began
            resetting += entered - began
            stepping += time.process_time() - entered
        ratios.append(by_environment / by_campaign)
        resets.append((resetting / len(trials)) / (stepping / steps))
    executor.close()
    environment.close()
    print(
        f"environment over campaign, CPU: {statistics.median(ratios):.3f} "
        f"({min(ratios):.3f} to {max(ratios):.3f})"
    )
    print(
        f"a reset: {statistics.median(resets):.1f} steps ({min(resets):.1f} to {max(resets):.1f})"
    )
    together = [side_by_side(prepared) for _ in range(rounds)]
    bound = [measure_processes(prepared) for _ in range(rounds)]
    for name, found in (("of a vector", together), ("in processes of their own", bound)):
        print(
            f"two environments {name} over one, steps per second: "
            f"{statistics.median(found):.2f} ({min(found):.2f} to {max(found):.2f})"
        )


STEPS = 400
ACTION = (0.2, 0.6)


def side_by_side(prepared):
    """Return the speed-up of two environments in a vector, compared with one."""
    rates = []
    for count in (1, 2):
        several = vector_env(prepared, count)
        several.reset(seed=1)
        actions = np.tile(np.array(ACTION, dtype=np.float32), (count, 1))
        for _ in range(20):
            several.step(actions)
        began = time.perf_counter()
        for _ in range(STEPS):
            several.step(actions)
        rates.append(count * STEPS / (time.perf_counter() - began))
        several.close()
    return rates[1] / rates[0]


def measure_processes(prepared):
    """Return the speed-up of two processes with one environment each."""
    context = multiprocessing.get_context("spawn")
    rates = []
    for count in (1, 2):
        barrier, results = context.Barrier(count), context.Queue()
        processes = [
            context.Process(target=measure_one, args=(prepared, barrier, results))
            for _ in range(count)
        ]
        for process in processes:
            process.start()
        rates.append(sum(results.get(timeout=300) for _ in processes))
        for process in processes:
            process.join()
    return rates[1] / rates[0]


def measure_one(prepared, barrier, results):
    """Report the steps per second of one environment in this process."""
    environment = NavigationEnv(prepared)
    environment.reset(seed=1)
    for _ in range(20):
        stepped(environment)
    barrier.wait(timeout=300)
    began = time.perf_counter()
    for _ in range(STEPS):
        stepped(environment)
    results.put(STEPS / (time.perf_counter() - began))
    barrier.wait(timeout=300)
    environment.close()


def stepped(environment):
    """Execute a step, and reset the environment if the episode ends."""
    _, _, terminated, truncated, _ = environment.step(np.array(ACTION, dtype=np.float32))
    if terminated or truncated:
        environment.reset()


if __name__ == "__main__":
    main()
