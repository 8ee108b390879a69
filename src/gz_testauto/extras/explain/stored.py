"""The file with an explanation in a results directory, and its section of the report."""

import csv
import dataclasses
import hashlib
import io
import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Optional, Sequence, Tuple

from gz_testauto.base.errors import ResultsError
from gz_testauto.base.json_file import finite_or_none, read_json_object, validate_as
from gz_testauto.extras.explain.model import Explanation
from gz_testauto.report.plain import count_text, joined, number_text, p_text
from gz_testauto.report.sections import Section, SectionTable
from gz_testauto.results.records import CampaignResults

EXPLANATION = "explain.json"


@dataclass(frozen=True)
class EffectRow:
    """The effect of a feature, in ``unit``; a limit that does not exist is None."""

    feature: str
    heading: str
    unit: str
    mean: float
    deviation: float
    odds_ratio: float
    low: float
    high: Optional[float]
    p_holm: float
    failures_with: str


@dataclass(frozen=True)
class LeafRow:
    """A leaf of the tree, with the rate of failures in the second half of the worlds.

    Limits that do not exist, for example for a single world, are None.
    """

    conditions: Tuple[str, ...]
    worlds: int
    trials: int
    failures: int
    rate: Optional[float]
    low: Optional[float]
    high: Optional[float]


@dataclass(frozen=True)
class ExplanationFile:
    """The content of the file; ``of_results`` identifies the explained trials."""

    planners: Tuple[str, ...]
    trials: int
    failures: int
    worlds: int
    worlds_with_failure: int
    effects: Tuple[EffectRow, ...]
    tree: Tuple[LeafRow, ...]
    notes: Tuple[str, ...]
    of_results: str

    @classmethod
    def of(
        cls,
        explanation: Explanation,
        leaves: Sequence[LeafRow],
        notes: Sequence[str],
        results: CampaignResults,
    ) -> "ExplanationFile":
        effects = tuple(
            EffectRow(
                effect.feature.name,
                effect.feature.heading,
                effect.feature.unit,
                effect.mean * effect.feature.factor,
                effect.deviation * effect.feature.factor,
                effect.odds_ratio.value,
                effect.odds_ratio.low,
                finite_or_none(effect.odds_ratio.high),
                effect.p,
                effect.trend,
            )
            for effect in explanation.effects
        )
        return cls(
            explanation.planners,
            explanation.trials,
            explanation.failures,
            explanation.worlds,
            explanation.worlds_with_failure,
            effects,
            tuple(leaves),
            (*explanation.notes, *notes),
            fingerprint(results),
        )

    @property
    def json_text(self) -> str:
        return json.dumps(dataclasses.asdict(self), indent=1, allow_nan=False) + "\n"

    @property
    def csv_text(self) -> str:
        """The effects, with one row per feature."""
        stream = io.StringIO()
        names = [field.name for field in dataclasses.fields(EffectRow)]
        writer = csv.DictWriter(stream, names, lineterminator="\n")
        writer.writeheader()
        for effect in self.effects:
            writer.writerow(dataclasses.asdict(effect))
        return stream.getvalue()


def section(directory: Path, results: CampaignResults) -> Optional[Section]:
    """Return the section of the report, or None if the directory contains no explanation.

    Raises ``ResultsError`` if the file is damaged.
    """
    path = directory / EXPLANATION
    if not os.path.exists(path):
        return None
    stored = validate_as(
        ExplanationFile, read_json_object(path, ResultsError), str(path), ResultsError
    )
    return section_of(stored, fingerprint(results) == stored.of_results)


def section_of(stored: ExplanationFile, is_current: bool = True) -> Section:
    """Return the section of the report. Unless ``is_current``, a note states that the results have
    changed since the explanation.
    """
    effects = tuple(
        (
            effect.heading + (f" ({effect.unit})" if effect.unit else ""),
            _significant(effect.mean),
            _significant(effect.deviation),
            _significant(effect.odds_ratio),
            f"[{_significant(effect.low)}, "
            f"{'∞' if effect.high is None else _significant(effect.high)}]",
            p_text(effect.p_holm, ""),
            effect.failures_with or "-",
        )
        for effect in stored.effects
    )
    leaves = tuple(
        (
            " and ".join(leaf.conditions) or "all trials",
            str(leaf.worlds),
            f"{leaf.failures} of {leaf.trials}",
            "-" if leaf.rate is None else number_text(100 * leaf.rate, 0),
            "-"
            if leaf.low is None or leaf.high is None
            else f"[{number_text(100 * leaf.low, 0)}, {number_text(100 * leaf.high, 0)}]",
        )
        for leaf in stored.tree
    )
    planners = joined(stored.planners)
    notes = [
        f"{stored.failures} of {count_text(stored.trials, 'trial')} of {planners} failed, in "
        f"{stored.worlds_with_failure} of {count_text(stored.worlds, 'world')}. "
        "The odds ratio is the factor of the odds of failure if a feature increases by its "
        "standard deviation (SD) and the other features stay equal. All features are in one "
        "model, with errors clustered by world. Each interval is a 95 % interval; p is adjusted "
        "over all features by Holm's method. An association is no proof of a cause.",
        "The conditions of the tree were selected in one half of the worlds. Its numbers are "
        "those of the other half, so their intervals are valid.",
        *(
            ["For all planners, a feature has the same odds ratio. Name one planner for its own."]
            if len(stored.planners) > 1
            else []
        ),
        *stored.notes,
    ]
    if not is_current:
        notes.insert(
            0,
            "The results have changed since this explanation; run `gz_testauto explain` again.",
        )
    columns = ("feature", "mean", "SD", "odds ratio", "95 % CI", "p", "more with")
    return Section(
        "What makes it fail",
        tuple(notes),
        (
            SectionTable("", columns, effects),
            SectionTable(
                "Decision tree, in the other half of the worlds",
                ("trials with", "worlds", "failed", "%", "95 % CI"),
                leaves,
            ),
        ),
    )


def fingerprint(results: CampaignResults) -> str:
    trials = [(record.trial, record.outcome.value, record.finished_at) for record in results.trials]
    return hashlib.sha256(json.dumps(trials).encode("utf-8")).hexdigest()


def _significant(value: float) -> str:
    """Return a number as text with two or three significant digits."""
    if value == 0.0 or 1e-3 <= abs(value) < 1e5:
        size = math.floor(math.log10(abs(value))) if value else 0
        return f"{value:.{min(max(2 - size, 0), 5)}f}"
    return f"{value:.2g}"
