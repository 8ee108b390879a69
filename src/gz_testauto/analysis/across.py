"""Pair the trials of several campaigns, such as those of different days, machines or versions.

Trials of several results directories are paired in worlds whose files have the same hash, with the
same start and goal, under the same conditions (:mod:`gz_testauto.analysis.conditions`).
:mod:`gz_testauto.analysis.comparison` compares them. If one of the campaigns has ``stop``, the
number of worlds depends on their outcomes. The worlds that it evaluated are then compared, in the
order of their evaluation, with tests that are valid at every number of worlds.
"""

import itertools
from collections import Counter
from dataclasses import dataclass, replace
from typing import Dict, Iterator, List, Mapping, Sequence, Set, Tuple

from gz_testauto.analysis.conditions import SAME, conditions
from gz_testauto.base.errors import ResultsError
from gz_testauto.results.records import AttemptRecord, CampaignResults, TrialRecord
from gz_testauto.results.store import LoadedCampaign
from gz_testauto.results.world_identity import missions

Key = Tuple[str, ...]
"""The key that identifies a world independently of its directory."""


@dataclass(frozen=True)
class ComparedCampaign:
    """One of the compared campaigns.

    ``worlds`` is the number of its worlds, and ``common`` the number of worlds that all compared
    campaigns share. ``finished`` of its ``planned`` trials have finished. ``reasons`` state why it
    is not comparable with the first campaign; ``notes`` are other differences.
    """

    label: str
    campaign: str
    simulator: str
    gz_testauto: str
    worlds: int
    common: int
    finished: int
    planned: int
    reasons: Tuple[str, ...] = ()
    notes: Tuple[str, ...] = ()
    left_out: bool = False


@dataclass(frozen=True)
class PairedCampaigns:
    """The results of several campaigns, combined into one.

    ``results`` contains the trials in the common worlds. If several campaigns contain a planner of
    the same name, the label of the campaign is appended, as in ``fgm (monday)``. ``names`` maps
    labels and planners to these names. ``pairs`` are the pairs of planners that no single campaign
    compares. ``only`` are the worlds that are not part of all campaigns, by label. ``worlds`` maps
    each label and world of ``results`` to the world's name in that campaign.
    """

    sides: Tuple[ComparedCampaign, ...]
    results: CampaignResults
    pairs: Tuple[Tuple[str, str], ...]
    names: Mapping[Tuple[str, str], str]
    only: Mapping[str, Tuple[str, ...]]
    worlds: Mapping[Tuple[str, str], str]


def pair_campaigns(
    campaigns: Sequence[LoadedCampaign],
    ignore_differences: bool = False,
    with_trials: bool = False,
) -> PairedCampaigns:
    """Pair the trials of two or more campaigns after comparing their conditions with the first
    one's.

    A campaign with other conditions is excluded unless ``ignore_differences`` is true. If
    ``with_trials`` is true, worlds without a finished trial are ignored, so that all campaigns are
    compared in the same worlds. Raises ``ResultsError`` if two labels are equal, or the remaining
    campaigns share no world.
    """
    _require_labels(campaigns)
    campaigns = [
        replace(campaign, results=campaign.results.without_copies) for campaign in campaigns
    ]
    found = [SAME, *(conditions(campaigns[0], campaign) for campaign in campaigns[1:])]
    kept = [c for c, of in zip(campaigns, found) if ignore_differences or not of.reasons]
    keys = {campaign.label: _keys(campaign, with_trials) for campaign in campaigns}
    here = [set(keys[campaign.label].values()) for campaign in kept]
    common = set.intersection(*here)
    sides = tuple(
        ComparedCampaign(
            campaign.label,
            campaign.results.name,
            campaign.manifest.simulator,
            campaign.manifest.gz_testauto,
            len(campaign.results.worlds),
            len(common & set(keys[campaign.label].values())),
            len(campaign.results.trials),
            campaign.results.planned,
            of.reasons,
            of.notes,
            left_out=campaign not in kept,
        )
        for campaign, of in zip(campaigns, found)
    )
    if len(kept) > 1 and not common:
        raise ResultsError(_nothing_in_common(kept, with_trials))
    without = frozenset().union(*(of.without for c, of in zip(campaigns, found) if c in kept))
    names = _planner_names(kept)
    return PairedCampaigns(
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
        _world_names(kept, keys, common),
    )


def _require_labels(campaigns: Sequence[LoadedCampaign]) -> None:
    twice = [label for label, n in Counter(c.label for c in campaigns).items() if n > 1]
    if twice:
        raise ResultsError(
            f"{twice[0]}: the directory is specified twice; specify different directories"
        )


def _keys(campaign: LoadedCampaign, with_trials: bool) -> Dict[str, Key]:
    """Return the key of each world by its name, or only of each world ``with_trials``.

    A key consists of the hash of the file, its number among worlds with this file and other random
    numbers, and the start, goals and road. For imported trials without world files, the name
    replaces the hash.
    """
    specified = missions(campaign.manifest.inputs)
    numbers: Counter[Key] = Counter()
    keys: Dict[str, Key] = {}
    ran = {record.world for record in campaign.results.trials}
    for world in campaign.results.worlds:
        mission = [text for item in specified.get(world.name, ()) for text in item]
        key = (world.sha256, *mission) if world.sha256 else ("name", world.name, *mission)
        numbers[key] += 1
        if world.name in ran or not with_trials:
            keys[world.name] = (*key, str(numbers[key]))
    return keys


def _nothing_in_common(campaigns: Sequence[LoadedCampaign], with_trials: bool) -> str:
    labels = ", ".join(campaign.label for campaign in campaigns)
    hashes = [{w.sha256 for w in one.results.worlds if w.sha256} for one in campaigns]
    nameless = [one.label for one, known in zip(campaigns, hashes) if not known]
    if len(nameless) == len(campaigns):
        reason = "they were imported without files, and no two worlds have the same name"
    elif nameless:
        reason = (
            f"no two files have the same hash, and the files of {', '.join(nameless)} are unknown: "
            "import those trials again with --world-files"
        )
    elif with_trials and set.intersection(*(set(_keys(one, False).values()) for one in campaigns)):
        reason = "no world has a finished trial in each of them"
    elif set.intersection(*hashes):
        reason = "the files with the same hash have another start or goal"
    else:
        reason = "no two files have the same hash"
        seeds = [one.manifest.inputs.get("seed", "unknown") for one in campaigns]
        if len(set(seeds)) > 1:
            reason += f"; the seeds are {', '.join(seeds)}"
    return f"{labels}: have no world in common: {reason}"


def _planner_names(campaigns: Sequence[LoadedCampaign]) -> Dict[Tuple[str, str], str]:
    """Return the name that tables use for each planner of each campaign."""
    counts = Counter(planner for one in campaigns for planner in one.results.planners)
    return {
        (one.label, planner): planner if counts[planner] == 1 else f"{planner} ({one.label})"
        for one in campaigns
        for planner in one.results.planners
    }


def _pairs(
    campaigns: Sequence[LoadedCampaign], names: Mapping[Tuple[str, str], str]
) -> Tuple[Tuple[str, str], ...]:
    """Return the pairs of planners from different campaigns that neither campaign compares by
    itself.
    """
    pairs = []
    for one, other in itertools.combinations(campaigns, 2):
        for first, second in itertools.product(one.results.planners, other.results.planners):
            alone = any({first, second} <= set(side.results.planners) for side in (one, other))
            if first == second or not alone:
                pairs.append((names[one.label, first], names[other.label, second]))
    return tuple(pairs)


def _world_names(
    campaigns: Sequence[LoadedCampaign], keys: Mapping[str, Mapping[str, Key]], common: Set[Key]
) -> Dict[Tuple[str, str], str]:
    called = {key: world for world, key in keys[campaigns[0].label].items()}
    return {
        (campaign.label, called[key]): world
        for campaign in campaigns
        for world, key in keys[campaign.label].items()
        if key in common
    }


def _merged(
    campaigns: Sequence[LoadedCampaign],
    keys: Mapping[str, Mapping[str, Key]],
    common: Set[Key],
    names: Mapping[Tuple[str, str], str],
    without: frozenset,
) -> CampaignResults:
    first = campaigns[0]
    called = {key: world for world, key in keys[first.label].items()}
    order = {world.name: world.world_index for world in first.results.worlds}
    trials: List[TrialRecord] = []
    attempts: List[AttemptRecord] = []
    deaths: List[AttemptRecord] = []
    for campaign in campaigns:
        numbers: Dict[int, int] = {}
        for record in campaign.results.trials:
            key = keys[campaign.label].get(record.world)
            if key is None or key not in common:
                continue
            world = called[key]
            planner, place = names[campaign.label, record.planner], order[world]
            numbers[record.trial] = len(trials)
            trials.append(
                replace(record, trial=len(trials), world=world, world_index=place, planner=planner)
            )
        attempts += _renumbered(campaign.results.invalid_attempts, numbers)
        deaths += _renumbered(campaign.results.worker_deaths, numbers)
    declared = {m.name: m for one in reversed(campaigns) for m in one.results.metrics}
    shown = [declared[m.name] for m in first.results.metrics]
    shown += [metric for metric in declared.values() if metric not in shown]
    return CampaignResults(
        name=" and ".join(campaign.label for campaign in campaigns),
        planners=tuple(dict.fromkeys(names.values())),
        worlds=tuple(w for w in first.results.worlds if keys[first.label].get(w.name) in common),
        planned=len(trials),
        relevant_success=first.results.relevant_success,
        normal_real_time_factor=min(one.results.normal_real_time_factor for one in campaigns),
        trials=tuple(trials),
        invalid_attempts=tuple(attempts),
        worker_deaths=tuple(deaths),
        selection=" and ".join(
            f"{campaign.label} has only {campaign.results.selection}"
            for campaign in campaigns
            if campaign.results.selection
        ),
        copies={
            copy: original
            for copy, original in first.results.copies.items()
            if keys[first.label].get(original) in common
        },
        judged=tuple(called[key] for key in _evaluated(campaigns, keys, common)),
        stopped=tuple(one.label for one in campaigns if one.results.is_sequential),
        declared=tuple(
            replace(metric, in_comparison=metric.in_comparison and metric.name not in without)
            for metric in shown
        ),
    )


def _evaluated(
    campaigns: Sequence[LoadedCampaign], keys: Mapping[str, Mapping[str, Key]], common: Set[Key]
) -> List[Key]:
    """Return the common worlds that all campaigns with ``stop`` evaluated, in their order.

    Together, the campaigns have evaluated the first worlds of this order at any time, so their
    number is a stopping time. Two cases would break this rule and are excluded: worlds that one of
    several such campaigns evaluated late, because a trial was invalid at first, and all worlds from
    the first one at which two orders differ.
    """
    stopped = [campaign for campaign in campaigns if campaign.results.is_sequential]
    orders = []
    for campaign in stopped:
        results, key_of = campaign.results, keys[campaign.label]
        worlds = results.judged if len(stopped) == 1 else _in_plan_order(results)
        orders.append([key_of[world] for world in worlds if key_of.get(world) in common])
    everywhere = set(orders[0]).intersection(*orders) if orders else set()
    rows = zip(*([key for key in order if key in everywhere] for order in orders))
    return [row[0] for row in itertools.takewhile(lambda row: len(set(row)) == 1, rows)]


def _in_plan_order(results: CampaignResults) -> List[str]:
    """Return the evaluated worlds without those that follow a later world of the plan."""
    index = {world.name: world.world_index for world in results.worlds}
    highest, kept = -1, []
    for world in results.judged:
        if index[world] > highest:
            highest = index[world]
            kept.append(world)
    return kept


def _renumbered(
    attempts: Sequence[AttemptRecord], numbers: Mapping[int, int]
) -> Iterator[AttemptRecord]:
    """Yield the attempts at compared trials, with the numbers of these trials."""
    for attempt in attempts:
        if attempt.trial in numbers:
            yield replace(attempt, trial=numbers[attempt.trial])
