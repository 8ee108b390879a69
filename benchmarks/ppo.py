#!/usr/bin/env python3
"""Train policies by PPO of Stable-Baselines3 with several seeds.

    python3 benchmarks/ppo.py --out DIR [--seeds 5]

Each policy learns in config/learning/ppo_arena.yaml, and then in config/learning/ppo_walkers.yaml,
as docs/learning.md describes. Existing policies are not trained again. The outcomes of the training
are in DIR/*.csv. To evaluate DIR/walkers_*.zip in held-out worlds, run a campaign.
"""

import argparse
import csv
import time
from pathlib import Path

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback

from gz_testauto.extras.learning.navigation import NavigationEnv

SHARE = Path(__file__).resolve().parents[1]
STEPS = {"arena": 100_000, "walkers": 40_000}


def main():
    """Train one policy for each seed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    for stage in STEPS:
        file = SHARE / "config" / "learning" / f"ppo_{stage}.yaml"
        environment = NavigationEnv(file, arguments.out / f"{stage}_worlds")
        for seed in range(arguments.seeds):
            policy = arguments.out / f"{stage}_{seed}.zip"
            if not policy.exists():
                train(stage, environment, seed, policy)
        environment.close()


def train(stage, environment, seed, policy):
    """Train one policy in one environment, and write it with its card and its outcomes."""
    begun_s, outcomes = time.process_time(), Outcomes()
    if stage == "arena":
        model = PPO("MlpPolicy", environment, device="cpu", seed=seed)
    else:
        model = PPO.load(policy.with_name(f"arena_{seed}.zip"), environment, device="cpu")
        model.set_random_seed(seed)
        model.policy.log_std.data.fill_(-1.0)
    model.learn(STEPS[stage], callback=outcomes)
    card = environment.prepared.card("PPO", seed=seed, steps=model.num_timesteps)
    policy.with_name(policy.name + ".json").write_text(card.model_dump_json())
    with open(policy.with_suffix(".csv"), "w", newline="") as file:
        csv.writer(file).writerows([("steps", "world", "outcome"), *outcomes.rows])
    model.save(policy)
    print(f"{policy}: {time.process_time() - begun_s:.0f} s of processor time", flush=True)


class Outcomes(BaseCallback):
    """A callback that stores the outcome of each episode of the training."""

    def __init__(self):
        super().__init__()
        self.rows = []

    def _on_step(self):
        for info in self.locals["infos"]:
            if "outcome" in info:
                self.rows.append((self.num_timesteps, info["world"], info["outcome"]))
        return True


if __name__ == "__main__":
    main()
