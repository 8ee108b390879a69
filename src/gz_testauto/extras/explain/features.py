"""The features of trials by which failures are explained.

A feature is a figure of difficulty of the world, a published number of the world, the number of its
obstacles, or a value that the campaign drew for the trial.
"""

import math
from collections import Counter
from dataclasses import dataclass
from typing import Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.base.errors import GzTestautoError, ResultsError, SpecError
from gz_testauto.base.registry import unknown_name
from gz_testauto.randomization.terms import PREFIX
from gz_testauto.report.names import words_and_unit
from gz_testauto.report.page.difficulty import Figure, figures_of_worlds
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.records import CampaignResults
from gz_testauto.sampling.difficulty import GAP_HORIZON_M
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.worlds.manifest import MANIFEST, read_worlds

DEFAULT = ("shortest_path_m", "density", "mean_clearance_m")
"""Features that are used unless others are named."""

GAP = "narrowest_gap_m"
OBSTACLES = "obstacles"


@dataclass(frozen=True)
class Feature:
    """A feature: its name in commands, its heading and its unit. ``factor`` converts values to the
    unit of reports."""

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
        """Return the trials for which ``chosen``, shape (n,), is true."""
        at = np.flatnonzero(chosen)
        return FeatureTable(
            self.features,
            self.values[at],
            self.failed[at],
            tuple(self.worlds[one] for one in at),
            tuple(self.planners[one] for one in at),
        )

    def columns(self, chosen: Sequence[int]) -> "FeatureTable":
        """Return the table with only the features at the places ``chosen``."""
        features = tuple(self.features[at] for at in chosen)
        values = self.values[:, list(chosen)]
        return FeatureTable(features, values, self.failed, self.worlds, self.planners)


class KnownFeatures:
    """All features that the results of a campaign contain."""

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
        has_path = _has_path(figures, names)
        for figure, values in figures.items():
            feature = Feature(figure.key, figure.heading, figure.unit, figure.factor)
            found = dict(zip(names, map(_number, values)))
            if figure.key == GAP:  # None: all gaps along the path are larger than the horizon
                found = {
                    name: GAP_HORIZON_M if math.isnan(value) and name in has_path else value
                    for name, value in found.items()
                }
            self._of_worlds[feature] = found
        self._of_worlds.update(_obstacle_counts(directory))
        drawn = sorted(
            {key for one in results.trials for key in one.metrics if key.startswith(PREFIX)}
        )
        self._of_trials = [Feature(key, *words_and_unit(key)) for key in drawn]

    def table(self, names: Optional[Sequence[str]], planners: Sequence[str]) -> FeatureTable:
        """Return the valid trials of some planners with the features ``names``, or with those of
        :data:`DEFAULT` that are known.

        Raises ``SpecError`` for an unknown planner or feature, and ``ResultsError`` if there is no
        default feature.
        """
        for planner in planners:
            if planner not in self._results.planners:
                raise SpecError(unknown_name("planner", planner, self._results.planners))
        by_name = {one.name: one for one in (*self._of_worlds, *self._of_trials)}
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
            one for one in self._results.trials if one.outcome.valid and one.planner in chosen
        ]
        values = [
            [
                self._of_worlds[feature].get(one.world, math.nan)
                if feature in self._of_worlds
                else one.metrics.get(feature.name, math.nan)
                for feature in features
            ]
            for one in trials
        ]
        return FeatureTable(
            features,
            np.array(values, dtype=float).reshape(len(trials), len(features)),
            np.array([not one.completed for one in trials], dtype=bool),
            tuple(one.world for one in trials),
            tuple(one.planner for one in trials),
        )


def _number(value: Optional[float]) -> float:
    return math.nan if value is None else float(value)


def _has_path(figures: Mapping[Figure, Sequence[Optional[float]]], names: List[str]) -> set:
    """Return the names of the worlds with a shortest path and its mean clearance."""
    lengths = next((of for one, of in figures.items() if one.key == "mean_clearance_m"), ())
    return {name for name, value in zip(names, lengths) if value is not None}


def _obstacle_counts(
    directory: CampaignDirectory,
) -> Iterable[Tuple[Feature, Dict[str, float]]]:
    """Yield the number of obstacles of each world, and the number of each type, if ``worlds.json``
    contains obstacles."""
    if not (directory.worlds / MANIFEST).is_file():
        return
    try:
        worlds = read_worlds(directory.worlds)
    except GzTestautoError:  # a problem of the figures of difficulty, which states the reason
        return
    counts = {one.name: Counter(obstacle.type for obstacle in one.obstacles) for one in worlds}
    if not any(counts.values()):
        return
    totals = {name: float(sum(of.values())) for name, of in counts.items()}
    yield Feature(OBSTACLES, "obstacles", ""), totals
    types = sorted({kind for of in counts.values() for kind in of})
    for kind in types if len(types) > 1 else ():
        heading = f"obstacles of the type {kind}"
        of_type = {name: float(of[kind]) for name, of in counts.items()}
        yield Feature(f"{OBSTACLES}.{kind}", heading, ""), of_type
