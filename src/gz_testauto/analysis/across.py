"""Campaigns of different days, machines or planner versions, world by world.

Owns which trials of two results directories are a pair: those in worlds whose files have the same
hash, with the same start and goal, under the same conditions
(:mod:`gz_testauto.analysis.conditions`). What is compared and how is
:mod:`gz_testauto.analysis.comparison`'s.
"""

import itertools
from collections import Counter
from dataclasses import dataclass, replace
from typing import Dict, List, Mapping, Sequence, Tuple

from gz_testauto.analysis.conditions import SAME, conditions, drives
from gz_testauto.base.errors import ResultsError
from gz_testauto.results.loaded import LoadedCampaign
from gz_testauto.results.records import CampaignResults, TrialRecord

Key = Tuple[str, ...]
"""What is the same for the same world wherever it lies."""


@dataclass(frozen=True)
class Side:
    """One of the campaigns: its ``worlds`` and how many of them are ``common`` to all that are
    compared; the ``reasons`` for which it does not compare with the first one, and ``notes``."""

    label: str
    campaign: str
    simulator: str
    gz_testauto: str
    worlds: int
    common: int
    reasons: Tuple[str, ...] = ()
    notes: Tuple[str, ...] = ()
    left_out: bool = False


@dataclass(frozen=True)
class Across:
    """Several campaigns as one.

    ``results`` has the trials in common worlds, each planner under its name and, where several
    campaigns have one of that name, the campaign's label: ``fgm (monday)``; ``names`` has them by
    label and planner. ``pairs`` are those whom no campaign compares by itself. ``only`` are the
    worlds that some campaign lacks, by the label of one that has them.
    """

    sides: Tuple[Side, ...]
    results: CampaignResults
    pairs: Tuple[Tuple[str, str], ...]
    names: Mapping[Tuple[str, str], str]
    only: Mapping[str, Tuple[str, ...]]


def bring_together(campaigns: Sequence[LoadedCampaign], ignore_differences: bool = False) -> Across:
    """Find the pairs of two or more campaigns, each compared with the first as to conditions.

    One that does not compare is left out unless ``ignore_differences``. Raises ``ResultsError``
    where labels are not different, or no world is common to those that are left.
    """
    _require_labels(campaigns)
    found = [SAME, *(conditions(campaigns[0], campaign) for campaign in campaigns[1:])]
    kept = [c for c, of in zip(campaigns, found) if ignore_differences or not of.reasons]
    keys = {campaign.label: _keys(campaign) for campaign in campaigns}
    here = [set(keys[campaign.label].values()) for campaign in kept]
    common = set.intersection(*here)
    sides = tuple(
        Side(
            campaign.label,
            campaign.results.name,
            campaign.manifest.simulator,
            campaign.manifest.gz_testauto,
            len(campaign.results.worlds),
            len(common & set(keys[campaign.label].values())),
            of.reasons,
            of.notes,
            left_out=campaign not in kept,
        )
        for campaign, of in zip(campaigns, found)
    )
    if len(kept) > 1 and not common:
        raise ResultsError(_nothing_in_common(kept))
    without = frozenset().union(*(of.without for c, of in zip(campaigns, found) if c in kept))
    names = _planner_names(kept)
    return Across(
        sides,
        _merged(kept, keys, common, names, without),
        _pairs(kept, names),
        names,
        {
            campaign.label: tuple(
                world for world, key in keys[campaign.label].items() if key not in common
            )
            for campaign in kept
        },
    )


def _require_labels(campaigns: Sequence[LoadedCampaign]) -> None:
    twice = [label for label, n in Counter(c.label for c in campaigns).items() if n > 1]
    if twice:
        raise ResultsError(f"{twice[0]}: is named twice; give different directories")


def _keys(campaign: LoadedCampaign) -> Dict[str, Key]:
    """What each world is: its hash, which copy of equal files it is, its start and goal. Worlds
    of imported trials whose files nobody has are known by their names."""
    own = drives(campaign.manifest.inputs)
    copies: Counter[str] = Counter()
    keys: Dict[str, Key] = {}
    for world in campaign.results.worlds:
        if world.sha256:
            what = (world.sha256, str(copies[world.sha256]))
            copies[world.sha256] += 1
        else:
            what = ("name", world.name)
        place = [text for item in own.get(world.name, ()) for text in item]
        keys[world.name] = (*what, *place)
    return keys


def _nothing_in_common(campaigns: Sequence[LoadedCampaign]) -> str:
    labels = ", ".join(campaign.label for campaign in campaigns)
    hashes = [{w.sha256 for w in one.results.worlds if w.sha256} for one in campaigns]
    nameless = [one.label for one, known in zip(campaigns, hashes) if not known]
    if len(nameless) == len(campaigns):
        reason = "they were imported without files, and no two worlds have the same name"
    elif nameless:
        reason = (
            f"no two files have the same hash, and the files of {', '.join(nameless)} are not "
            "known: import those trials again with --world-files"
        )
    elif set.intersection(*hashes):
        reason = "the files with the same hash have another start or goal"
    else:
        reason = "no two files have the same hash"
    return f"{labels}: have no world in common: {reason}"


def _planner_names(campaigns: Sequence[LoadedCampaign]) -> Dict[Tuple[str, str], str]:
    """What each planner of each campaign is called in tables."""
    counts = Counter(planner for one in campaigns for planner in one.results.planners)
    return {
        (one.label, planner): planner if counts[planner] == 1 else f"{planner} ({one.label})"
        for one in campaigns
        for planner in one.results.planners
    }


def _pairs(
    campaigns: Sequence[LoadedCampaign], names: Mapping[Tuple[str, str], str]
) -> Tuple[Tuple[str, str], ...]:
    """Planners of two campaigns each, but for those that one of the two compares by itself."""
    pairs = []
    for one, other in itertools.combinations(campaigns, 2):
        for first, second in itertools.product(one.results.planners, other.results.planners):
            alone = any({first, second} <= set(side.results.planners) for side in (one, other))
            if first == second or not alone:
                pairs.append((names[one.label, first], names[other.label, second]))
    return tuple(pairs)


def _merged(
    campaigns: Sequence[LoadedCampaign],
    keys: Mapping[str, Mapping[str, Key]],
    common: set,
    names: Mapping[Tuple[str, str], str],
    without: frozenset,
) -> CampaignResults:
    first = campaigns[0]
    called = {key: world for world, key in keys[first.label].items()}
    order = {world.name: world.world_index for world in first.results.worlds}
    trials: List[TrialRecord] = []
    for campaign in campaigns:
        for record in campaign.results.trials:
            key = keys[campaign.label].get(record.world)
            if key is None or key not in common:
                continue
            world = called[key]
            planner, place = names[campaign.label, record.planner], order[world]
            trials.append(
                replace(record, trial=len(trials), world=world, world_index=place, planner=planner)
            )
    declared = {m.name: m for one in reversed(campaigns) for m in one.results.metrics}
    shown = [declared[m.name] for m in first.results.metrics]
    shown += [metric for metric in declared.values() if metric not in shown]
    return CampaignResults(
        name=" and ".join(campaign.label for campaign in campaigns),
        planners=tuple(dict.fromkeys(names.values())),
        worlds=tuple(w for w in first.results.worlds if keys[first.label][w.name] in common),
        planned=len(trials),
        relevant_success=first.results.relevant_success,
        trials=tuple(trials),
        declared=tuple(
            replace(metric, in_comparison=metric.in_comparison and metric.name not in without)
            for metric in shown
        ),
    )
