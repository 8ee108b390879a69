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
"""Largest number of differing trials that are listed."""


def differing_class(
    name: str,
    stored: ClassResult,
    file: Path,
    spec: BuiltinCampaignSpec,
    manifest: Manifest,
    hashes: Mapping[str, str],
) -> List[str]:
    """Return the differences between the files of a class and those of a card. ``hashes`` are those
    of the current worlds by name."""
    current = comparable(stored.files, class_files(file, spec, manifest.inputs))
    files = list_differences(stored.files, current)
    changed = [
        world for world, trial in stored.trials.items() if hashes.get(world) != trial.world_sha256
    ]
    lines = [f"class {name}: {line} in the card" for line in files]
    if changed:
        count = (
            f"{len(changed)} of {len(stored.trials)} worlds" if len(changed) > 1 else "the world"
        )
        lines.append(f"class {name}: {count} changed: {join_truncated(changed)}")
    return lines


def differing_versions(card: ScoreCard, again: ScoreCard) -> List[str]:
    now, stored, absent = again.versions, card.versions, "not installed"
    return [
        f"version of {name} is {now.get(name, absent)}, was {stored.get(name, absent)} in the card"
        for name in sorted({*now, *stored})
        if now.get(name) != stored.get(name)
    ]


def differing_planner(
    stored: PlannerIdentity, planner: BuiltinPlannerSpec, inputs: Mapping[str, str]
) -> List[str]:
    before, now = _flat(stored), _flat(planner_identity(planner, inputs))
    return [
        f"planner {stored.name}: {line} in the card"
        for line in list_differences(before, comparable(before, now))
    ]


def differing_trials(card: ScoreCard, again: ScoreCard) -> List[str]:
    """Return a line for each trial with another outcome, other bits or other metrics."""
    lines = []
    for name, result in card.classes.items():
        current = again.classes[name].trials
        for world, before in result.trials.items():
            now = current.get(world)
            if now == before:
                continue
            if now is None:
                text = "did not run"
            elif now.outcome is not before.outcome:
                text = f"{now.outcome.value}, was {before.outcome.value} in the card"
            elif now.bits != before.bits:
                text = f"{now.outcome.value} in both, but the trajectory differs"
            else:
                text = f"{now.outcome.value} in both, but the metrics differ"
            lines.append(f"trial {name} {world}: {text}")
    return lines


def summarized(lines: Sequence[str]) -> List[str]:
    more = len(lines) - SHOWN_TRIALS
    return [*lines[:SHOWN_TRIALS], *([f"and {more} more trials"] if more > 0 else [])]


def _flat(identity: PlannerIdentity) -> Dict[str, Any]:
    parameters = {f"parameters.{name}": value for name, value in identity.parameters.items()}
    return {"plugin": identity.plugin, **parameters, **identity.files}
