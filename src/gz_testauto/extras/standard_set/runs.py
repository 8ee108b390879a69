"""Run planners on classes of the standard set, each as a campaign in ``OUT/PLANNER/CLASS``."""

import argparse
import datetime
import platform
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

from gz_testauto import __version__
from gz_testauto.base.escaping import escape_text
from gz_testauto.campaign.resume import open_or_create_campaign
from gz_testauto.campaign.simulator import simulator_options, with_simulator
from gz_testauto.cli.campaigns import run_trials
from gz_testauto.cli.options import processors
from gz_testauto.extras.standard_set.card import ClassRun, ScoreCard, card_of
from gz_testauto.extras.standard_set.classes import StandardSet
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import LoadedCampaign, load_campaign
from gz_testauto.spec.campaign import BuiltinCampaignSpec, BuiltinPlannerSpec
from gz_testauto.trial.executor import StopRequest
from gz_testauto.trial.plan import TrialSelection

SIMULATOR = "embedded"
CONFIRMED_IN = "gazebo"


@dataclass(frozen=True)
class SetRunner:
    """A runner of the scenario classes of the standard set, with the options of a command line. It
    runs the first ``count`` worlds of each class, by default all."""

    standard: StandardSet
    arguments: argparse.Namespace
    count: Optional[int]
    should_stop: StopRequest

    def campaign(
        self, name: str, planner: BuiltinPlannerSpec, simulator: str = SIMULATOR
    ) -> BuiltinCampaignSpec:
        """Return the campaign of one planner on the class ``name`` in a simulator.

        Raises ``SpecError`` if a file of the class differs from the published one, and the
        errors of :func:`~gz_testauto.campaign.simulator.simulator_options`.
        """
        spec = self.standard.load(name).model_copy(update={"planners": (planner,)})
        spec = with_simulator(spec, simulator)
        simulator_options(spec)
        return spec

    def prepare(self, spec: BuiltinCampaignSpec, directory: Path) -> Dict[str, str]:
        """Create or resume the campaign in ``directory`` with its worlds, and return their hashes
        by name. No trial runs."""
        results_directory = CampaignDirectory(directory)
        results_directory.require_fresh_or_begun()
        with results_directory.locked():
            workers = self.arguments.workers or processors()
            campaign, store = open_or_create_campaign(
                spec, results_directory, workers, world_count=self.count
            )
            store.close()
        return {world.name: world.sha256 for world in campaign.worlds}

    def run(self, name: str, spec: BuiltinCampaignSpec, directory: Path) -> Optional[ClassRun]:
        """Run or continue the campaign of the scenario class ``name`` in ``directory``.

        Returns None if a stop was requested. Raises ``SpecError`` if the worlds differ from those
        of the set.
        """
        self.standard.require_worlds(name, self.prepare(spec, directory), self.count)
        selection = TrialSelection(self.count)
        print(escape_text(f"{directory}:"), file=sys.stderr, flush=True)
        run_trials(spec, directory, self.arguments, selection, self.should_stop)
        if self.should_stop():
            return None
        return ClassRun(self.standard.path(name), spec, load_campaign(directory), directory)

    def card(
        self, planner: BuiltinPlannerSpec, names: Sequence[str], out: Path, confirmed: int = 0
    ) -> Optional[ScoreCard]:
        """Run the classes ``names``, and return the planner's score card, or None after a stop.

        The first ``confirmed`` worlds of each class also run in Gazebo.
        """
        runs: Dict[str, ClassRun] = {}
        started_s = time.monotonic()
        for name in names:
            run = self.run(name, self.campaign(name, planner), out / planner.name / name)
            if run is None:
                return None
            runs[name] = run
        about: Dict[str, Any] = {
            "created_at": datetime.datetime.now(datetime.timezone.utc).isoformat(
                timespec="seconds"
            ),
            "gz_testauto": __version__,
            "platform": platform.platform(),
            "trial_wall_s": _total_wall_s(runs.values(), self.count),
            "command_wall_s": round(time.monotonic() - started_s, 1),
        }
        card = card_of(self.standard, planner, runs, self.count, about)
        if confirmed:
            confirmation = self._confirm(planner, card, out, confirmed)
            if confirmation is None:
                return None
            about["confirmation"] = confirmation
        return card

    def _confirm(
        self, planner: BuiltinPlannerSpec, card: ScoreCard, out: Path, count: int
    ) -> Optional[Dict[str, Any]]:
        """Run the first ``count`` worlds of each class in Gazebo, and return the numbers of equal
        outcomes; None after a stop."""
        classes: Dict[str, List[int]] = {}
        simulator = ""
        runner = SetRunner(self.standard, self.arguments, count, self.should_stop)
        for name in card.classes:
            spec = runner.campaign(name, planner, CONFIRMED_IN)
            run = runner.run(name, spec, out / planner.name / CONFIRMED_IN / name)
            if run is None:
                return None
            simulator = run.loaded.manifest.simulator
            classes[name] = list(_equal_outcomes(card, name, run.loaded, count))
        same, trials = (sum(counts[index] for counts in classes.values()) for index in (0, 1))
        return {
            "simulator": simulator,
            "worlds": count,
            "same": same,
            "trials": trials,
            "classes": classes,
        }


def _equal_outcomes(
    card: ScoreCard, name: str, confirmed: LoadedCampaign, count: int
) -> Tuple[int, int]:
    """Return the numbers of trials of a class with the same outcome in card and campaign, and of
    those that are valid in both."""
    trials = card.classes[name].trials
    pairs = [
        (trials[record.world].outcome, record.outcome)
        for record in confirmed.results.trials
        if record.world_index < count and record.world in trials
    ]
    valid = [(expected, actual) for expected, actual in pairs if expected.valid and actual.valid]
    return sum(expected is actual for expected, actual in valid), len(valid)


def _total_wall_s(runs: Iterable[ClassRun], count: Optional[int]) -> float:
    return round(
        sum(
            record.wall_s
            for run in runs
            for record in run.loaded.results.trials
            if count is None or record.world_index < count
        ),
        1,
    )


def available_classes(standard: StandardSet, names: Sequence[str]) -> Tuple[List[str], List[str]]:
    """Return the names of the available classes, and the reasons why the others are missing."""
    reasons: Mapping[str, str] = {name: standard.missing(name) for name in names}
    return (
        [name for name in names if not reasons[name]],
        [reason for reason in reasons.values() if reason],
    )
