"""Pair the trials of several campaigns.

Trials are paired in worlds whose files have the same hash, with the same start and goal, under the
same conditions (:mod:`gz_testauto.analysis.conditions`).
"""

import itertools
from collections import Counter
from dataclasses import dataclass, replace
from typing import Dict, Iterator, List, Mapping, Sequence, Set, Tuple

from gz_testauto.analysis.conditions import SAME, compare_conditions
from gz_testauto.base.errors import ResultsError
from gz_testauto.results.records import AttemptRecord, CampaignResults, TrialRecord
from gz_testauto.results.store import LoadedCampaign
from gz_testauto.results.world_identity import missions

Key = Tuple[str, ...]  # a world, independent of its directory


@dataclass(frozen=True)
class ComparedCampaign:
    """One of the compared campaigns.

    It has ``worlds`` worlds, of which all compared campaigns share ``common``, and ``planned``
    trials, of which ``finished`` have finished. ``reasons`` state why it is not comparable with the
    first campaign; ``notes`` are other differences. If ``left_out`` is true, its trials are
    excluded.
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

    ``results`` contains the trials in the common worlds. ``names`` maps labels and planners to
    names in the results, such as ``fgm (monday)`` if several campaigns contain ``fgm``. ``pairs``
    are the pairs of planners that no single campaign compares. ``only`` are the worlds that are not
    common, by label. ``worlds`` maps each label and world of ``results`` to the world's name in
    that campaign.
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
    """Pair the trials of campaigns. Unless ``ignore_differences`` is true, campaigns under other
    conditions than the first campaign are excluded.

    If ``with_trials`` is true, worlds without a finished trial are ignored. Raises ``ResultsError``
    if two labels are equal, or the remaining campaigns share no world.
    """
    _require_different_labels(campaigns)
    campaigns = [
        replace(campaign, results=campaign.results.without_copies) for campaign in campaigns
    ]
    differences = [
        SAME,
        *(compare_conditions(campaigns[0], campaign) for campaign in campaigns[1:]),
    ]
    kept_campaigns = [
        c
        for c, difference in zip(campaigns, differences)
        if ignore_differences or not difference.reasons
    ]
    keys = {campaign.label: _keys(campaign, with_trials) for campaign in campaigns}
    key_sets = [set(keys[campaign.label].values()) for campaign in kept_campaigns]
    common_keys = set.intersection(*key_sets)
    sides = tuple(
        ComparedCampaign(
            campaign.label,
            campaign.results.name,
            campaign.manifest.simulator,
            campaign.manifest.gz_testauto,
            len(campaign.results.worlds),
            len(common_keys & set(keys[campaign.label].values())),
            len(campaign.results.trials),
            campaign.results.planned,
            difference.reasons,
            difference.notes,
            left_out=campaign not in kept_campaigns,
        )
        for campaign, difference in zip(campaigns, differences)
    )
    if len(kept_campaigns) > 1 and not common_keys:
        raise ResultsError(_message_of_no_common_world(kept_campaigns, with_trials))
    excluded_metrics = frozenset().union(
        *(
            difference.without
            for c, difference in zip(campaigns, differences)
            if c in kept_campaigns
        )
    )
    names = _unique_planner_names(kept_campaigns)
    return PairedCampaigns(
        sides,
        _merge_results(kept_campaigns, keys, common_keys, names, excluded_metrics),
        _pairs_across_campaigns(kept_campaigns, names),
        names,
        {
            campaign.label: tuple(
                world for world, key in keys[campaign.label].items() if key not in common_keys
            )
            for campaign in kept_campaigns
        },
        _world_names(kept_campaigns, keys, common_keys),
    )


def _require_different_labels(campaigns: Sequence[LoadedCampaign]) -> None:
    repeated_labels = [label for label, n in Counter(c.label for c in campaigns).items() if n > 1]
    if repeated_labels:
        raise ResultsError(
            f"{repeated_labels[0]}: the directory is specified twice; specify different directories"
        )


def _keys(campaign: LoadedCampaign, with_trials: bool) -> Dict[str, Key]:
    """Return the key of each world by its name. Paired worlds have the same key.

    A key contains the file's hash, the start, goals and road, and a number that counts worlds with
    these values, since their random numbers differ. If ``with_trials`` is true, worlds without a
    finished trial are omitted.
    """
    specified_missions = missions(campaign.manifest.inputs)
    numbers: Counter[Key] = Counter()
    keys: Dict[str, Key] = {}
    finished_worlds = {record.world for record in campaign.results.trials}
    for world in campaign.results.worlds:
        mission = [text for item in specified_missions.get(world.name, ()) for text in item]
        # Imported trials can lack world files.
        key = (world.sha256, *mission) if world.sha256 else ("name", world.name, *mission)
        numbers[key] += 1
        if world.name in finished_worlds or not with_trials:
            keys[world.name] = (*key, str(numbers[key]))
    return keys


def _message_of_no_common_world(campaigns: Sequence[LoadedCampaign], with_trials: bool) -> str:
    labels = ", ".join(campaign.label for campaign in campaigns)
    hashes = [{w.sha256 for w in campaign.results.worlds if w.sha256} for campaign in campaigns]
    unknown_labels = [campaign.label for campaign, sums in zip(campaigns, hashes) if not sums]
    if with_trials and set.intersection(
        *(set(_keys(campaign, False).values()) for campaign in campaigns)
    ):
        reason = "no world has a finished trial in each of them"
    elif len(unknown_labels) == len(campaigns):
        reason = "they were imported without files, and no two worlds have the same name"
    elif unknown_labels:
        reason = (
            f"no two files have the same hash, and the files of {', '.join(unknown_labels)} are "
            "unknown: import those trials again with --world-files"
        )
    elif set.intersection(*hashes):
        reason = "the files with the same hash have another start or goal"
    else:
        reason = "no two files have the same hash"
        seeds = [campaign.manifest.inputs.get("seed", "unknown") for campaign in campaigns]
        if len(set(seeds)) > 1:
            reason += f"; the seeds are {', '.join(seeds)}"
    return f"{labels}: have no world in common: {reason}"


def _unique_planner_names(campaigns: Sequence[LoadedCampaign]) -> Dict[Tuple[str, str], str]:
    counts = Counter(planner for campaign in campaigns for planner in campaign.results.planners)
    return {
        (campaign.label, planner): planner
        if counts[planner] == 1
        else f"{planner} ({campaign.label})"
        for campaign in campaigns
        for planner in campaign.results.planners
    }


def _pairs_across_campaigns(
    campaigns: Sequence[LoadedCampaign], names: Mapping[Tuple[str, str], str]
) -> Tuple[Tuple[str, str], ...]:
    pairs = []
    for left, right in itertools.combinations(campaigns, 2):
        for first, second in itertools.product(left.results.planners, right.results.planners):
            is_compared = any(
                {first, second} <= set(side.results.planners) for side in (left, right)
            )
            # Different planners of one campaign are compared in that campaign.
            if first == second or not is_compared:
                pairs.append((names[left.label, first], names[right.label, second]))
    return tuple(pairs)


def _world_names(
    campaigns: Sequence[LoadedCampaign],
    keys: Mapping[str, Mapping[str, Key]],
    common_keys: Set[Key],
) -> Dict[Tuple[str, str], str]:
    """Return the name of each common world in each campaign, by label and name in the first
    campaign."""
    world_of = {key: world for world, key in keys[campaigns[0].label].items()}
    return {
        (campaign.label, world_of[key]): world
        for campaign in campaigns
        for world, key in keys[campaign.label].items()
        if key in common_keys
    }


def _merge_results(
    campaigns: Sequence[LoadedCampaign],
    keys: Mapping[str, Mapping[str, Key]],
    common_keys: Set[Key],
    names: Mapping[Tuple[str, str], str],
    excluded_metrics: frozenset,
) -> CampaignResults:
    first = campaigns[0]
    world_of = {key: world for world, key in keys[first.label].items()}
    world_indexes = {world.name: world.world_index for world in first.results.worlds}
    trials: List[TrialRecord] = []
    attempts: List[AttemptRecord] = []
    deaths: List[AttemptRecord] = []
    for campaign in campaigns:
        trial_numbers: Dict[int, int] = {}
        for record in campaign.results.trials:
            key = keys[campaign.label].get(record.world)
            if key is None or key not in common_keys:
                continue
            world = world_of[key]
            planner, index = names[campaign.label, record.planner], world_indexes[world]
            trial_numbers[record.trial] = len(trials)
            trials.append(
                replace(record, trial=len(trials), world=world, world_index=index, planner=planner)
            )
        attempts += _renumber_trials(campaign.results.invalid_attempts, trial_numbers)
        deaths += _renumber_trials(campaign.results.worker_deaths, trial_numbers)
    declared_metrics = {
        m.name: m for campaign in reversed(campaigns) for m in campaign.results.metrics
    }
    shown_metrics = [declared_metrics[m.name] for m in first.results.metrics]
    shown_metrics += [metric for metric in declared_metrics.values() if metric not in shown_metrics]
    return CampaignResults(
        name=" and ".join(campaign.label for campaign in campaigns),
        planners=tuple(dict.fromkeys(names.values())),
        worlds=tuple(
            w for w in first.results.worlds if keys[first.label].get(w.name) in common_keys
        ),
        planned=len(trials),
        relevant_success=first.results.relevant_success,
        normal_real_time_factor=min(
            campaign.results.normal_real_time_factor for campaign in campaigns
        ),
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
            if keys[first.label].get(original) in common_keys
        },
        judged=tuple(world_of[key] for key in _evaluated_in_all(campaigns, keys, common_keys)),
        notices=tuple(
            dict.fromkeys(text for campaign in campaigns for text in campaign.results.notices)
        ),
        stopped=tuple(campaign.label for campaign in campaigns if campaign.results.is_sequential),
        declared=tuple(
            replace(
                metric, in_comparison=metric.in_comparison and metric.name not in excluded_metrics
            )
            for metric in shown_metrics
        ),
    )


def _evaluated_in_all(
    campaigns: Sequence[LoadedCampaign],
    keys: Mapping[str, Mapping[str, Key]],
    common_keys: Set[Key],
) -> List[Key]:
    """Return the common worlds that all campaigns with ``stop`` evaluated, up to the first world at
    which their orders of evaluation differ.

    At any time, the campaigns have evaluated the first worlds of this order, so their number is a
    stopping time, as the tests of :mod:`gz_testauto.analysis.anytime` require.
    """
    # Two cases would break this rule: worlds that one of several campaigns evaluated late, since a
    # trial was invalid at first, and worlds from the first one at which two orders differ.
    stopped_campaigns = [campaign for campaign in campaigns if campaign.results.is_sequential]
    orders = []
    for campaign in stopped_campaigns:
        results, key_of = campaign.results, keys[campaign.label]
        worlds = results.judged if len(stopped_campaigns) == 1 else _in_plan_order(results)
        orders.append([key_of[world] for world in worlds if key_of.get(world) in common_keys])
    everywhere = set(orders[0]).intersection(*orders) if orders else set()
    rows = zip(*([key for key in order if key in everywhere] for order in orders))
    return [row[0] for row in itertools.takewhile(lambda row: len(set(row)) == 1, rows)]


def _in_plan_order(results: CampaignResults) -> List[str]:
    """Return the evaluated worlds in the order of evaluation. A world that was evaluated after a
    later world of the plan is omitted."""
    index = {world.name: world.world_index for world in results.worlds}
    highest, kept_worlds = -1, []
    for world in results.judged:
        if index[world] > highest:
            highest = index[world]
            kept_worlds.append(world)
    return kept_worlds


def _renumber_trials(
    attempts: Sequence[AttemptRecord], trial_numbers: Mapping[int, int]
) -> Iterator[AttemptRecord]:
    for attempt in attempts:
        if attempt.trial in trial_numbers:
            yield replace(attempt, trial=trial_numbers[attempt.trial])
