"""The result of a tuning: its figures, its table and its files."""

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Dict, List, Mapping, Sequence, Tuple

import numpy as np
import yaml
from rich.console import Group, RenderableType
from rich.text import Text

from gz_testauto import __version__
from gz_testauto.analysis.comparison import compare, valid_trials_by_world
from gz_testauto.analysis.intervals import LEVEL
from gz_testauto.base.json_file import finite_or_none
from gz_testauto.extras.tune.space import Parameter, describe
from gz_testauto.extras.tune.tuning import Tuning
from gz_testauto.report.plain import indented, number_text, plain_table
from gz_testauto.results.directory import write_atomically
from gz_testauto.results.records import CampaignResults
from gz_testauto.spec.campaign import CampaignSpec, PlannerSpec
from gz_testauto.trial.outcome import Outcome

TIME, CLEARANCE = "time_s", "clearance_min_m"

RESULT, PLANNER, CAMPAIGN = "result.json", "planner.yaml", "campaign.yaml"


@dataclass(frozen=True)
class Figures:
    """The figures of a planner in the worlds in which all compared planners have valid trials.

    ``success`` and ``collided`` are shares of its trials. ``time_s`` and ``clearance_m``, the mean
    least clearance, are means over the ``reached_worlds`` worlds in which all compared planners
    reached the goal in each trial, or None.
    """

    name: str
    worlds: int
    success: float
    collided: float
    reached_worlds: int
    time_s: Any
    clearance_m: Any

    def is_better(self, other: "Figures") -> bool:
        """Return whether success, time and clearance are at least as good, and one is better."""
        costs, other_costs = self._costs, other._costs
        return costs != other_costs and all(a <= b for a, b in zip(costs, other_costs))

    @property
    def _costs(self) -> Tuple[float, ...]:
        time_s = math.inf if self.time_s is None else self.time_s
        clearance_m = 0.0 if self.clearance_m is None else self.clearance_m
        return (-self.success, time_s, -clearance_m)


def figures_of(results: CampaignResults, names: Sequence[str]) -> List[Figures]:
    """Return the figures in the worlds in which all planners have valid trials."""
    trials_of = [valid_trials_by_world(results.of(name)) for name in names]
    common = sorted(set.intersection(*(set(by_world) for by_world in trials_of)))
    reached = [w for w in common if all(r.completed for by_world in trials_of for r in by_world[w])]
    figures = []
    for name, by_world in zip(names, trials_of):
        trials = [trial for world in common for trial in by_world[world]]
        in_reached = [trial for world in reached for trial in by_world[world]]
        figures.append(
            Figures(
                name,
                len(common),
                _mean_of_known([trial.completed for trial in trials]) or 0.0,
                _mean_of_known([trial.outcome is Outcome.COLLIDED for trial in trials]) or 0.0,
                len(reached),
                _mean_of_known([trial.metrics[TIME] for trial in in_reached]),
                _mean_of_known([trial.metrics[CLEARANCE] for trial in in_reached]),
            )
        )
    return figures


def _mean_of_known(values: Sequence[float]) -> Any:
    known = [value for value in values if not math.isnan(value)]
    return float(np.mean(known)) if known else None


def pareto_front(figures: Sequence[Figures]) -> List[str]:
    """Return the names of the planners on the Pareto front of success, time and clearance."""
    return [
        candidate.name
        for candidate in figures
        if not any(other.is_better(candidate) for other in figures)
    ]


@dataclass(frozen=True)
class TuningResult:
    """The result of a tuning; ``best`` is the number of the tuned candidate.

    ``finalists`` are the figures of the candidates that ran in all training worlds.
    """

    tuning: Tuning
    parameters: Tuple[Parameter, ...]
    best: int
    finalists: Tuple[Figures, ...]
    training: CampaignResults
    held_out: CampaignResults

    @property
    def tuned(self) -> PlannerSpec:
        return self.tuning.tuned_entry(self.best)

    @property
    def comparison(self) -> Any:
        """The tuned planner and the defaults in the held-out worlds."""
        pair = (self.tuned.name, self.tuning.entry.name)
        return compare(self.held_out, [pair]).pairs[0]

    @property
    def full_grid(self) -> int:
        """The number of trials if each candidate ran in each training world."""
        plan, repetitions = self.tuning.plan, self.tuning.spec.repetitions
        return (plan.candidates[0] + 1) * plan.worlds[-1] * repetitions

    @property
    def verdict(self) -> str:
        """A sentence that states whether the tuned planner succeeds more often."""
        pair = self.comparison
        value, low, high = (100 * part for part in pair.difference[:3])
        text = f"{value:+.0f} points [{low:+.0f}, {high:+.0f}] in {pair.worlds} held-out worlds"
        if not pair.difference.has_interval or math.isnan(low):
            return f"no interval is known ({pair.difference.method}): keep the defaults"
        if low > 0:
            return f"the tuned planner succeeds more often: {text}"
        if high < 0:
            return f"the tuned planner succeeds less often: {text}; keep the defaults"
        return (
            f"no significant difference to the defaults: {text}; keep the defaults, or use more "
            "held-out worlds"
        )

    def to_json(self) -> Dict[str, Any]:
        tuning, pair = self.tuning, self.comparison
        names = [self.tuned.name, tuning.entry.name]
        ran = {
            number: len(self.training.of(tuning.name(number)))
            for number in range(len(tuning.candidates))
        }
        return {
            "planner": tuning.entry.name,
            "parameters": {parameter.name: parameter.text for parameter in self.parameters},
            "best": tuning.candidates[self.best],
            "verdict": self.verdict,
            "cost": {
                "training_trials": len(self.training.trials),
                "full_grid": self.full_grid,
                "held_out_trials": len(self.held_out.trials),
            },
            "held_out": {
                "figures": [asdict(figures) for figures in figures_of(self.held_out, names)],
                "worlds": pair.worlds,
                "difference": finite_or_none(pair.difference.value),
                "interval": [
                    finite_or_none(pair.difference.low),
                    finite_or_none(pair.difference.high),
                ],
                "level": LEVEL,
                "method": pair.difference.method,
                "p_value": finite_or_none(pair.p_value),
                "only_tuned": list(pair.first_won),
                "only_defaults": list(pair.second_won),
                "invalid": len(self.held_out.invalid),
            },
            "training": {
                "finalists": [asdict(figures) for figures in self.finalists],
                "front": pareto_front(self.finalists),
                "invalid": len(self.training.invalid),
                "candidates": [
                    {"name": tuning.name(number), "values": values, "trials": ran[number]}
                    for number, values in enumerate(tuning.candidates)
                ],
            },
        }

    def table(self) -> RenderableType:
        tuning, plan = self.tuning, self.tuning.plan
        front = pareto_front(self.finalists)
        table = plain_table("candidate", "success", "collided", "time s", "clearance m", "front")
        for figures in self.finalists:
            mark = "*" if figures.name in front else ""
            table.add_row(
                figures.name,
                f"{100 * figures.success:.0f} %",
                f"{100 * figures.collided:.0f} %",
                _rounded(figures.time_s, 1),
                _rounded(figures.clearance_m, 2),
                mark,
            )
        reached_worlds = self.finalists[0].reached_worlds
        numbers = {tuning.name(number): number for number in range(len(tuning.candidates))}
        values = [
            indented(f"{figures.name}: {describe(tuning.candidates[numbers[figures.name]])}")
            for figures in self.finalists
            if numbers[figures.name]
        ]
        return Group(
            Text(
                f"Race: {plan.candidates[0]} candidates, {plan.worlds[-1]} training worlds", "bold"
            ),
            indented(
                f"{len(self.training.trials)} of the {self.full_grid} trials of a full grid. These "
                "figures selected the candidates, so they are too good. Time and least clearance: "
                f"means over the {reached_worlds} worlds in which all of these reached the goal. "
                "*: no other row is better in success, time and clearance together."
            ),
            "",
            table,
            *values,
            "",
        )


def _rounded(value: Any, decimals: int) -> str:
    return number_text(math.nan if value is None else value, decimals)


def write_files(result: TuningResult, held_out: CampaignSpec, out: Path) -> None:
    text = json.dumps(result.to_json(), indent=1)
    write_atomically(out / RESULT, (text + "\n").encode("utf-8"))
    entry = _planner_entry(result.tuned)
    comments = provenance(result)
    write_atomically(out / PLANNER, (comments + _yaml_text(entry)).encode("utf-8"))
    campaign = {
        **held_out.model_dump(mode="json", exclude_defaults=True),
        "planners": [entry, _planner_entry(result.tuning.entry)],
    }
    write_atomically(out / CAMPAIGN, (comments + _yaml_text(campaign)).encode("utf-8"))


def held_out_lines(result: TuningResult) -> List[str]:
    names = [result.tuned.name, result.tuning.entry.name]
    return [
        f"{figures.name}: success {100 * figures.success:.0f} %, "
        f"collided {100 * figures.collided:.0f} %, "
        f"time {_rounded(figures.time_s, 1)} s, "
        f"least clearance {_rounded(figures.clearance_m, 2)} m"
        for figures in figures_of(result.held_out, names)
    ]


def provenance(result: TuningResult) -> str:
    tuning, pair = result.tuning, result.comparison
    lines = [
        f"Parameters of {tuning.entry.name}, tuned by gz_testauto tune (version {__version__}).",
        f"campaign {tuning.spec.name}, seed {tuning.spec.seed}: {tuning.plan.candidates[0]} "
        f"candidates, {tuning.plan.worlds[-1]} training worlds, {len(result.training.trials)} "
        "training trials",
        *(f"{parameter.name}: {parameter.text}" for parameter in result.parameters),
        f"Held-out worlds: {result.verdict}.",
        *held_out_lines(result),
        f"Only the tuned planner succeeded in {len(pair.first_won)} worlds, only the defaults in "
        f"{len(pair.second_won)}.",
    ]
    return "".join(f"# {line}\n" for line in lines)


def _planner_entry(entry: PlannerSpec) -> Mapping[str, Any]:
    keys = {"name", "plugin", "parameters", "launch"}
    data = entry.model_dump(mode="json", include=keys, exclude_defaults=True)
    return {key: data[key] for key in ("name", "plugin", "parameters", "launch") if data.get(key)}


def _yaml_text(data: Mapping[str, Any]) -> str:
    text: str = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)
    return text
