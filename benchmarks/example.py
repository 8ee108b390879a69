"""The example campaign, and functions that print results, for the other benchmarks."""

import json
from pathlib import Path

import shapely

from gz_testauto.campaign.simulator import with_simulator
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load

ROOT = Path(__file__).resolve().parents[1]


def example_campaign(simulator, worlds, seed):
    """Return the example campaign for a simulator with ``count`` worlds of another seed."""
    spec = with_simulator(load(ROOT / "config" / "example_campaign.yaml", CampaignSpec), simulator)
    source = spec.worlds.model_copy(update={"count": worlds})
    return spec.model_copy(update={"worlds": source, "seed": seed})


def obstacle_outlines(shapes, robot):
    """Return the outlines of the shapes that obstruct a robot on the ground."""
    low, high = robot.height_m
    return shapely.union_all(
        [shape.footprint(max(low, 0.0) + 0.03, high) for shape in shapes if not shape.is_ground]
    )


def numbers(text):
    """Parse integers that are separated by commas; a type for argparse."""
    return [int(part) for part in text.split(",")]


def print_figures(figures, as_json=False):
    """Print one value per line, or all values as JSON."""
    if as_json:
        print(json.dumps(figures, indent=2))
        return
    for name, value in figures.items():
        print(f"{name:44} {value}")
