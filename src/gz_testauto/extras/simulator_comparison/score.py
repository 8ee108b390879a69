"""Scores of features and measures from 0 to 1, and their weighted total, by equations (3), (4) and
(8) of Farley et al. 2022 as their Table 11 uses them.

The paper prints (3) inverted; its table does not. Scores of features are those of section 3.2. A
criterion that one entry lacks counts for none of them.
"""

import math
from dataclasses import dataclass
from typing import Callable, Dict, Mapping, Optional, Sequence, Tuple

import numpy as np
from pydantic import BeforeValidator, Field
from typing_extensions import Annotated, Literal

from gz_testauto.spec.model import Spec, as_tuple

PAPER_WEIGHTS: Mapping[str, float] = {
    "free": 4.0,
    "open_source": 2.0,
    "ros": 6.0,
    "languages": 3.0,
    "ui": 6.0,
    "formats": 4.0,
    "engines": 3.0,
    "real_time_factor": 4.0,
    "cpu_average": 2.0,
    "cpu_intense": 2.0,
    "imu_angular_error": 10.0,
    "imu_linear_error": 10.0,
}
"""Weights of Farley et al. 2022, Table 11; their sum is 56."""

Names = Annotated[Tuple[str, ...], BeforeValidator(as_tuple)]
Share = Annotated[float, Field(ge=0, le=1)]


class FeaturesSpec(Spec):
    """Quoted features of a simulator. Features that are not specified have no score. ``additional``
    has the scores of other features by name."""

    free: Optional[bool] = None
    """True if the simulator costs nothing."""
    open_source: Optional[bool] = None
    """True if the source code is published under an open license."""
    ros: Optional[Literal["included", "plugin", "none"]] = None
    """Support of ROS: ``included``, by a ``plugin``, or ``none``."""
    languages: Optional[Names] = None
    """Programming languages with an interface."""
    ui: Optional[Literal["full", "part", "view", "none"]] = None
    """Graphical interface: ``full`` editing, editing in ``part``, ``view`` only, or ``none``."""
    formats: Optional[Names] = None
    """File formats that can be read without plug-ins."""
    formats_by_plugin: Names = ()
    """File formats that need a manual installation of an official plug-in."""
    engines: Optional[Names] = None
    """Physics engines that can be selected."""
    additional: Dict[str, Share] = Field(default_factory=dict)
    """Scores from 0 to 1 of other features by name."""
    source: str = ""
    """Source of the quoted features."""
    date: str = Field("", pattern=r"^(\d{4}-\d{2}-\d{2})?$")
    """Date of the source, such as ``"2026-11-24"``."""


def _language_score(features: FeaturesSpec) -> float:
    supported = {name.lower() for name in features.languages or ()}
    c, python = bool(supported & {"c", "c++"}), "python" in supported
    if c and python and "matlab" in supported and supported - {"c", "c++", "python", "matlab"}:
        return 1.0
    return 0.667 if c and python else 0.333 if c or python else 0.0


def _format_score(features: FeaturesSpec) -> float:
    supported = {name.lower() for name in features.formats or ()}
    required = {"urdf", "sdf"}
    if required < supported:
        return 1.0
    if required & supported:
        return 0.5
    return 0.25 if required & {name.lower() for name in features.formats_by_plugin} else 0.0


ROS = {"included": 1.0, "plugin": 0.8, "none": 0.0}
UI = {"full": 1.0, "part": 0.667, "view": 0.333, "none": 0.0}

RULES: Mapping[str, Callable[[FeaturesSpec], float]] = {
    "free": lambda features: float(features.free is True),
    "open_source": lambda features: float(features.open_source is True),
    "ros": lambda features: ROS[features.ros or "none"],
    "languages": _language_score,
    "ui": lambda features: UI[features.ui or "none"],
    "formats": _format_score,
    "engines": lambda features: float(len(set(features.engines or ())) > 1),
}
"""Rules of features, which return a score from 0 to 1."""


def feature_score(features: FeaturesSpec, name: str) -> Optional[float]:
    if name not in RULES:
        return features.additional.get(name)
    return None if getattr(features, name) is None else RULES[name](features)


def compute_scores(values: np.ndarray, better: str, floor: float = 0.0) -> np.ndarray:
    """Return the scores of ``values`` (..., entries); ``better`` is "lower" or "higher".

    For "lower" the score is the least value divided by the entry's value, for "higher" the entry's
    value divided by the greatest. Values below ``floor`` count as ``floor``. NaN remains NaN.
    """
    # values below the floor cannot be distinguished
    values = np.maximum(np.asarray(values, dtype=float), floor)
    with np.errstate(invalid="ignore", divide="ignore"):
        if better == "higher":
            shares = values / np.fmax.reduce(values, axis=-1, keepdims=True)
        else:
            shares = np.fmin.reduce(values, axis=-1, keepdims=True) / values
    perfect = values == (np.inf if better == "higher" else 0.0)
    return np.where(np.isnan(values), np.nan, np.where(perfect, 1.0, shares))


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """Scores (entries, criteria), NaN if unknown, and weights (criteria,)."""

    entries: Tuple[str, ...]
    criteria: Tuple[str, ...]
    weights: np.ndarray
    scores: np.ndarray

    @classmethod
    def of(
        cls,
        scores: Mapping[str, Mapping[str, Optional[float]]],
        weights: Mapping[str, float],
    ) -> "ScoreTable":
        rows = [[row.get(name) for name in weights] for row in scores.values()]
        shaped = np.array(rows, dtype=float).reshape(len(scores), len(weights))  # None as NaN
        return cls(tuple(scores), tuple(weights), np.array(list(weights.values()), float), shaped)

    def score(self, entry: str, criterion: str) -> float:
        if entry not in self.entries or criterion not in self.criteria:
            return math.nan
        return float(self.scores[self.entries.index(entry), self.criteria.index(criterion)])

    @property
    def counted(self) -> np.ndarray:
        """Mask (criteria,) of the criteria with a score for every entry."""
        return np.asarray(~np.isnan(self.scores).any(axis=0))

    @property
    def left_out(self) -> Dict[str, Tuple[str, ...]]:
        """Criteria that do not count, each with the entries that lack it."""
        return {
            name: tuple(np.array(self.entries)[np.isnan(self.scores[:, column])].tolist())
            for column, name in enumerate(self.criteria)
            if not self.counted[column]
        }

    @property
    def totals(self) -> np.ndarray:
        """Weighted sums (entries,) of the scores that count."""
        counted = self.counted
        return np.asarray(self.scores[:, counted] @ self.weights[counted])

    @property
    def order(self) -> Sequence[int]:
        return [int(number) for number in np.argsort(-self.totals, kind="stable")]

    @property
    def bounds(self) -> np.ndarray:
        """Smallest and greatest total (entries, 2) for any scores in the unknown criteria."""
        is_unknown = np.isnan(self.scores)
        least = np.where(is_unknown, 0.0, self.scores) @ self.weights
        return np.stack([least, least + is_unknown @ self.weights], axis=1)
