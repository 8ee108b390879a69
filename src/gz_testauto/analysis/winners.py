"""Group worlds by the planners that were best in them.

Owns the grouping; a world counts if every planner has a valid trial in it.
"""

from dataclasses import dataclass
from typing import Dict, List, Tuple

from gz_testauto.results.records import CampaignResults


@dataclass(frozen=True)
class WorldGroup:
    """Worlds with the same ``winners``: the planners that succeeded (with repetitions: most often),
    in the campaign's order; empty if none did."""

    winners: Tuple[str, ...]
    worlds: Tuple[str, ...]


def group_worlds(results: CampaignResults) -> Tuple[WorldGroup, ...]:
    """Return all worlds by their winners: first one winner, then several, all, none."""
    ended: Dict[str, Dict[str, List[bool]]] = {}
    for record in results.trials:
        if record.outcome.valid:
            planners = ended.setdefault(record.world, {})
            planners.setdefault(record.planner, []).append(record.completed)
    groups: Dict[Tuple[str, ...], List[str]] = {}
    for world, planners in ended.items():
        if len(planners) < len(results.planners):
            continue
        rates = {planner: sum(runs) / len(runs) for planner, runs in planners.items()}
        best = max(rates.values())
        winners = tuple(
            planner for planner in results.planners if best > 0 and rates[planner] == best
        )
        groups.setdefault(winners, []).append(world)
    order = sorted(groups, key=lambda winners: (not winners, len(winners), winners))
    return tuple(WorldGroup(winners, tuple(groups[winners])) for winners in order)
