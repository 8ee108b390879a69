"""What a gate is asked of results directories: which planner, against which, under which rules.

Owns finding the trials that are compared; the questions themselves are
:mod:`gz_testauto.analysis.decisions.gate`'s.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Iterable, List, Optional, Sequence, Tuple

from gz_testauto.analysis.across import bring_together
from gz_testauto.analysis.decisions.gate import Answer, Rules, judge, settled_part
from gz_testauto.errors import ResultsError, SpecError
from gz_testauto.registry import unknown_name
from gz_testauto.results.loaded import LoadedCampaign, load_campaign
from gz_testauto.results.records import CampaignResults

MARGIN = 0.05
"""Of the success rate, where a baseline is given and no margin."""


@dataclass(frozen=True)
class GateRequest:
    """Whether ``planner`` (all, unless given) of the campaign in ``directory`` is good enough:
    against ``baseline_planner`` of the same campaign, or of the one in ``baseline``, where it is
    the planner of the same name unless given. ``anyway`` compares with a baseline that had another
    robot, limits or simulator."""

    directory: Path
    baseline: Optional[Path] = None
    planner: str = ""
    baseline_planner: str = ""
    rules: Rules = field(default_factory=Rules)
    anyway: bool = False


@dataclass(frozen=True)
class Judged:
    """The answers, and the name of the campaign that they are about."""

    campaign: str
    answers: Tuple[Answer, ...]


def judge_request(request: GateRequest) -> Judged:
    """Answer it. Raises ``SpecError`` where nothing is asked or a planner is unknown,
    ``ResultsError`` where a directory has no results, or its trials do not compare."""
    compares = bool(request.baseline or request.baseline_planner)
    rules = request.rules
    if compares and rules.not_worse_than is None:
        rules = replace(rules, not_worse_than=MARGIN)
    if not compares and (rules.not_worse_than is not None or rules.metrics):
        raise SpecError(
            "there is nothing to compare with; give a baseline (a results directory), or "
            "baseline_planner (a planner of the same campaign)"
        )
    if not compares and rules.min_success is None:
        raise SpecError("nothing is asked; give a baseline, baseline_planner or min_success")
    campaign = _settled(load_campaign(request.directory, "new"))
    if request.baseline is None:
        results, pairs = campaign.results, _within(campaign.results, request)
    else:
        results, pairs = _against(campaign, request.baseline, request)
    return Judged(campaign.results.name, judge(results, pairs, rules))


def _settled(campaign: LoadedCampaign) -> LoadedCampaign:
    return replace(campaign, results=settled_part(campaign.results))


def _within(results: CampaignResults, request: GateRequest) -> List[Tuple[str, Optional[str]]]:
    base = request.baseline_planner
    _require_planners(results, request.directory, filter(None, (request.planner, base)))
    asked = [request.planner] if request.planner else [p for p in results.planners if p != base]
    if request.planner and request.planner == base:
        raise SpecError(f"{base} is compared with itself; give another baseline_planner")
    return [(planner, base or None) for planner in asked]


def _against(
    campaign: LoadedCampaign, baseline: Path, request: GateRequest
) -> Tuple[CampaignResults, List[Tuple[str, Optional[str]]]]:
    """Everything as one campaign, in which planners are called as tables call them."""
    other = _settled(load_campaign(baseline, "baseline"))
    pairs = _named_pairs(campaign.results, other.results, baseline, request)
    across = bring_together([campaign, other], request.anyway)
    reasons = across.sides[1].reasons
    if across.sides[1].left_out:
        raise ResultsError(
            f"{baseline}: does not compare with {request.directory}, whatever the planners do "
            f"(there, and in the baseline): {'; '.join(reasons)}"
        )
    return across.results, [
        (across.names["new", mine], across.names["baseline", theirs]) for mine, theirs in pairs
    ]


def _named_pairs(
    mine: CampaignResults, theirs: CampaignResults, baseline: Path, request: GateRequest
) -> List[Tuple[str, str]]:
    if request.planner:
        _require_planners(mine, request.directory, [request.planner])
    if request.baseline_planner:
        _require_planners(theirs, baseline, [request.baseline_planner])
    asked = [request.planner] if request.planner else list(mine.planners)
    if request.baseline_planner:
        return [(planner, request.baseline_planner) for planner in asked]
    same = [(planner, planner) for planner in asked if planner in theirs.planners]
    if same:
        return same
    if len(asked) == len(theirs.planners) == 1:
        return [(asked[0], theirs.planners[0])]
    raise SpecError(
        f"{baseline}: has no planner of the name {' or '.join(asked)}; say which is the baseline: "
        f"baseline_planner, one of {', '.join(theirs.planners)}"
    )


def _require_planners(results: CampaignResults, path: Path, names: Iterable[str]) -> None:
    for name in names:
        if name not in results.planners:
            raise SpecError(f"{path}: {unknown_name('planner', name, results.planners)}")


def read_margins(texts: Sequence[str]) -> Tuple[Tuple[str, float], ...]:
    """``NAME:MARGIN`` each. Raises ``SpecError``."""
    found = []
    for text in texts:
        name, _, margin = text.partition(":")
        try:
            found.append((name, float(margin)))
        except ValueError:
            raise SpecError(f"metric {text!r}: give it as NAME:MARGIN, as in safety:0.1") from None
    return tuple(found)
