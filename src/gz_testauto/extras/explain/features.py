"""The features of trials: difficulty, published numbers and obstacles of a world, drawn values."""

import math
from collections import Counter
from dataclasses import dataclass
from typing import Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.base.errors import GzTestautoError, ResultsError, SpecError
from gz_testauto.base.registry import unknown_name
from gz_testauto.randomization import PREFIX
from gz_testauto.report.names import words_and_unit
from gz_testauto.report.page.difficulty import Figure, figures_of_worlds
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.records import CampaignResults
from gz_testauto.sampling.difficulty import GAP_HORIZON_M
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.worlds.manifest import MANIFEST, read_worlds

DEFAULT = ("shortest_path_m", "density", "mean_clearance_m")

GAP = "narrowest_gap_m"
OBSTACLES = "obstacles"


@dataclass(frozen=True)
class Feature:
    """A feature of trials; ``factor`` converts values to the unit of reports."""

    name: str
    heading: str
    unit: str
    factor: float = 1.0


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """The features of n trials.

    ``values`` has the shape (n, k) for k features; unknown values are NaN. ``failed`` has the shape
    (n,). ``worlds`` and ``planners`` are the names of each trial.
    """

    features: Tuple[Feature, ...]
    values: np.ndarray
    failed: np.ndarray
    worlds: Tuple[str, ...]
    planners: Tuple[str, ...]

    def rows(self, chosen: np.ndarray) -> "FeatureTable":
        """Return the table of the trials for which ``chosen``, shape (n,), is true."""
        indices = np.flatnonzero(chosen)
        return FeatureTable(
            self.features,
            self.values[indices],
            self.failed[indices],
            tuple(self.worlds[index] for index in indices),
            tuple(self.planners[index] for index in indices),
        )

    def columns(self, chosen: Sequence[int]) -> "FeatureTable":
        """Return the table with only the features at these indices."""
        features = tuple(self.features[index] for index in chosen)
        values = self.values[:, list(chosen)]
        return FeatureTable(features, values, self.failed, self.worlds, self.planners)


class KnownFeatures:
    """All features of the trials of a campaign that are known from its files and results."""

    def __init__(
        self,
        directory: CampaignDirectory,
        spec: Optional[CampaignSpec],
        results: CampaignResults,
        problems: List[str],
    ) -> None:
        self._results = results
        self._of_worlds: Dict[Feature, Dict[str, float]] = {}
        names = [world.name for world in results.worlds]
        figures = figures_of_worlds(directory, spec, results.worlds, problems)
        has_path = _worlds_with_path(figures, names)
        for figure, values in figures.items():
            feature = Feature(figure.key, figure.heading, figure.unit, figure.factor)
            by_world = dict(zip(names, map(_number_or_nan, values)))
            if figure.key == GAP:  # None: all gaps along the path are larger than the horizon
                by_world = {
                    name: GAP_HORIZON_M if math.isnan(value) and name in has_path else value
                    for name, value in by_world.items()
                }
            self._of_worlds[feature] = by_world
        self._of_worlds.update(_obstacle_counts(directory))
        drawn = sorted(
            {key for record in results.trials for key in record.metrics if key.startswith(PREFIX)}
        )
        self._of_trials = [Feature(key, *words_and_unit(key)) for key in drawn]

    def table(self, names: Optional[Sequence[str]], planners: Sequence[str]) -> FeatureTable:
        """Return the valid trials with the features ``names``, by default the known ``DEFAULT``.

        Raises ``SpecError`` for an unknown planner or feature, and ``ResultsError`` if there is no
        default feature.
        """
        for planner in planners:
            if planner not in self._results.planners:
                raise SpecError(unknown_name("planner", planner, self._results.planners))
        by_name = {feature.name: feature for feature in (*self._of_worlds, *self._of_trials)}
        if names is None:
            names = [name for name in DEFAULT if name in by_name]
            if not names:
                known = ", ".join(by_name) or "none"
                raise ResultsError(
                    f"the worlds have no figures of difficulty; use --features. Known: {known}"
                )
        for name in names:
            if name not in by_name:
                raise SpecError(f"--features: {unknown_name('feature', name, list(by_name))}")
        features = tuple(by_name[name] for name in dict.fromkeys(names))
        chosen = planners or self._results.planners
        trials = [
            record
            for record in self._results.trials
            if record.outcome.valid and record.planner in chosen
        ]
        values = [
            [
                self._of_worlds[feature].get(record.world, math.nan)
                if feature in self._of_worlds
                else record.metrics.get(feature.name, math.nan)
                for feature in features
            ]
            for record in trials
        ]
        return FeatureTable(
            features,
            np.array(values, dtype=float).reshape(len(trials), len(features)),
            np.array([not record.completed for record in trials], dtype=bool),
            tuple(record.world for record in trials),
            tuple(record.planner for record in trials),
        )


def _number_or_nan(value: Optional[float]) -> float:
    return math.nan if value is None else float(value)


def _worlds_with_path(figures: Mapping[Figure, Sequence[Optional[float]]], names: List[str]) -> set:
    """Return the names of the worlds whose shortest path has a known mean clearance."""
    clearances = next(
        (values for figure, values in figures.items() if figure.key == "mean_clearance_m"), ()
    )
    return {name for name, value in zip(names, clearances) if value is not None}


def _obstacle_counts(
    directory: CampaignDirectory,
) -> Iterable[Tuple[Feature, Dict[str, float]]]:
    """Yield the numbers of all obstacles and of those of each type, as features with their values
    by world.
    """
    if not (directory.worlds / MANIFEST).is_file():
        return
    try:
        worlds = read_worlds(directory.worlds)
    except GzTestautoError:  # a problem of the figures of difficulty, which states the reason
        return
    counts = {
        world.name: Counter(obstacle.type for obstacle in world.obstacles) for world in worlds
    }
    if not any(counts.values()):
        return
    totals = {name: float(sum(count.values())) for name, count in counts.items()}
    yield Feature(OBSTACLES, "obstacles", ""), totals
    types = sorted({kind for count in counts.values() for kind in count})
    for kind in types if len(types) > 1 else ():
        heading = f"obstacles of the type {kind}"
        of_type = {name: float(count[kind]) for name, count in counts.items()}
        yield Feature(f"{OBSTACLES}.{kind}", heading, ""), of_type
