"""Differences between a score card and this installation, as lines of text."""

from pathlib import Path
from typing import Any, Dict, List, Mapping, Sequence

from gz_testauto.base.truncation import join_truncated
from gz_testauto.extras.standard_set.card import (
    ClassResult,
    PlannerIdentity,
    ScoreCard,
    class_files,
    planner_identity,
)
from gz_testauto.results.comparability import comparable, list_differences
from gz_testauto.results.manifest import Manifest
from gz_testauto.spec.campaign import BuiltinCampaignSpec, BuiltinPlannerSpec

SHOWN_TRIALS = 10


def differing_class(
    name: str,
    stored: ClassResult,
    file: Path,
    spec: BuiltinCampaignSpec,
    manifest: Manifest,
    hashes: Mapping[str, str],
) -> List[str]:
    """Return the differences between a class in a card (``stored``) and in this installation.

    ``hashes`` are those of the installation's worlds by name.
    """
    current = comparable(stored.files, class_files(file, spec, manifest.inputs))
    file_differences = list_differences(stored.files, current)
    changed = [
        world for world, trial in stored.trials.items() if hashes.get(world) != trial.world_sha256
    ]
    lines = [f"class {name}: {line} in the card" for line in file_differences]
    if changed:
        count = (
            f"{len(changed)} of {len(stored.trials)} worlds" if len(changed) > 1 else "the world"
        )
        lines.append(f"class {name}: {count} changed: {join_truncated(changed)}")
    return lines


def differing_versions(card: ScoreCard, repeated: ScoreCard) -> List[str]:
    current, stored, absent = repeated.versions, card.versions, "not installed"
    return [
        f"version of {name} is {current.get(name, absent)}, was {stored.get(name, absent)} in the "
        "card"
        for name in sorted({*current, *stored})
        if current.get(name) != stored.get(name)
    ]


def differing_planner(
    stored: PlannerIdentity, planner: BuiltinPlannerSpec, inputs: Mapping[str, str]
) -> List[str]:
    expected, current = _flat_items(stored), _flat_items(planner_identity(planner, inputs))
    return [
        f"planner {stored.name}: {line} in the card"
        for line in list_differences(expected, comparable(expected, current))
    ]


def differing_trials(card: ScoreCard, repeated: ScoreCard) -> List[str]:
    """Return a line for each trial with another outcome, other bits or other metrics."""
    lines = []
    for name, result in card.classes.items():
        current = repeated.classes[name].trials
        for world, expected in result.trials.items():
            actual = current.get(world)
            if actual == expected:
                continue
            if actual is None:
                text = "did not run"
            elif actual.outcome is not expected.outcome:
                text = f"{actual.outcome.value}, was {expected.outcome.value} in the card"
            elif actual.bits != expected.bits:
                text = f"{actual.outcome.value} in both, but the trajectory differs"
            else:
                text = f"{actual.outcome.value} in both, but the metrics differ"
            lines.append(f"trial {name} {world}: {text}")
    return lines


def summarized(lines: Sequence[str]) -> List[str]:
    more = len(lines) - SHOWN_TRIALS
    return [*lines[:SHOWN_TRIALS], *([f"and {more} more trials"] if more > 0 else [])]


def _flat_items(identity: PlannerIdentity) -> Dict[str, Any]:
    parameters = {f"parameters.{name}": value for name, value in identity.parameters.items()}
    return {"plugin": identity.plugin, **parameters, **identity.files}
