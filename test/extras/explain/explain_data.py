"""Tables of random trials, and results directories with them."""

import numpy as np
from scripted import record

from gz_testauto.extras.explain.features import Feature, FeatureTable
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.manifest import Manifest
from gz_testauto.results.store import ResultStore
from gz_testauto.trial.outcome import Outcome
from gz_testauto.worlds.record import WorldRecord


def table(values, failed, worlds=None, planners=None):
    """A table with the features f0, f1, ...; by default one planner and one trial per world."""
    values = np.asarray(values, dtype=float)
    return FeatureTable(
        tuple(Feature(f"f{at}", f"f{at}", "m") for at in range(values.shape[1])),
        values,
        np.asarray(failed, dtype=bool),
        tuple(worlds or [f"w{at}" for at in range(len(values))]),
        tuple(planners or ["fgm"] * len(values)),
    )


def random_table(worlds=120, coefficients=(1.0, 0.0), seed=1):
    """Failures that depend on the features, with the standard deviation 1."""
    random = np.random.default_rng(seed)
    values = random.standard_normal((worlds, len(coefficients)))
    probability = 1.0 / (1.0 + np.exp(-values @ np.array(coefficients)))
    return table(values, random.random(worlds) < probability)


def store(out, paths_m, failed, planners=("fgm",), selection=""):
    """Write a results directory with one trial of each planner in worlds with the given lengths of
    the shortest path, of which those in ``failed`` failed."""
    directory = CampaignDirectory(out)
    out.mkdir()
    source = out / "trials.csv"
    source.write_text("")
    Manifest.imported("paper", source, "simulator 1").write(directory)
    worlds = [
        WorldRecord(at, f"w{at}", out / "no.world", str(at), path_m)
        for at, path_m in enumerate(paths_m)
    ]
    count = len(worlds) * len(planners) + bool(selection)
    with ResultStore.create(directory, "paper", planners, worlds, count, None) as stored:
        stored.finish_all(
            [
                record(
                    at * len(planners) + place,
                    world=world.name,
                    world_index=at,
                    planner=planner,
                    outcome=Outcome.STUCK if failed[at] else Outcome.REACHED,
                    trajectory="",
                )
                for at, world in enumerate(worlds)
                for place, planner in enumerate(planners)
            ]
        )
        if selection:
            stored.select(selection)
    return out
