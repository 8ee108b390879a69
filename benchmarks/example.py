"""The campaigns of the other benchmarks, and functions that print results."""

from pathlib import Path

import yaml

from gz_testauto.campaign.simulator import with_simulator
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load

ROOT = Path(__file__).resolve().parents[1]


def example_campaign(simulator, worlds, seed):
    """Return the example campaign for a simulator with this number of worlds."""
    spec = with_simulator(load(ROOT / "config" / "example_campaign.yaml", CampaignSpec), simulator)
    source = spec.worlds.model_copy(update={"count": worlds})
    return spec.model_copy(update={"worlds": source, "seed": seed})


def write_smoke_campaign(folder, worlds, timeout_s=30.0, max_attempts=3):
    """Write the smoke campaign with this number of worlds and limits, and return its path."""
    data = yaml.safe_load((ROOT / "config" / "smoke_campaign.yaml").read_text())
    data["worlds"].update(base=str(ROOT / "worlds" / "room.world"), count=worlds)
    data["limits"].update(timeout_s=timeout_s, max_attempts=max_attempts)
    path = folder / "campaign.yaml"
    path.write_text(yaml.safe_dump(data))
    return path


def numbers(text):
    """Parse integers that are separated by commas; a type for argparse."""
    return [int(part) for part in text.split(",")]


def print_figures(figures):
    """Print one value per line."""
    for name, value in figures.items():
        print(f"{name:44} {value}")
