"""Monitor whether a running campaign with early stop is decided.

Defines the order in which worlds are judged: the plan's order. A world with unfinished trials
delays those after it; a world with an abandoned trial is skipped. If that trial is repeated and
valid, its world is judged after those that were judged before.
"""

from typing import Dict, List, Set

from gz_testauto.analysis.early_stop import decide, success_rates
from gz_testauto.results.records import TrialRecord
from gz_testauto.results.store import ResultStore
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.trial.plan import Trial


class EarlyStopMonitor:
    """The judged worlds of one campaign, and whether it is decided; never decided without ``stop``.

    ``trials`` are all trials of the plan that can be run, ``pending`` those that this run executes.
    """

    def __init__(
        self,
        spec: CampaignSpec,
        store: ResultStore,
        trials: List[Trial],
        pending: List[Trial],
    ) -> None:
        self.decided = False
        self._rule = spec.stop
        if self._rule is None:
            return
        self._store = store
        self._planners = [planner.name for planner in spec.planners]
        results = store.results()
        left = {trial.index for trial in pending}
        self._records: Dict[int, TrialRecord] = {
            record.trial: record for record in results.trials if record.trial not in left
        }
        self._judged = list(results.judged)
        self._waiting: Dict[str, Set[int]] = {}
        for trial in trials:
            self._waiting.setdefault(trial.world, set()).add(trial.index)
        for world in self._judged:
            self._waiting.pop(world, None)
        self._look()
        self._advance()

    def ended(self, record: TrialRecord) -> None:
        """Add a trial that is in the store."""
        if self._rule is not None:
            self._records[record.trial] = record
            self._advance()

    def _advance(self) -> None:
        """Judge worlds until one is unfinished or the campaign is decided."""
        passed_over = []
        for world, trials in self._waiting.items():
            if self.decided or not trials <= self._records.keys():
                break
            passed_over.append(world)
            if all(self._records[trial].outcome.valid for trial in trials):
                self._store.judge(world)
                self._judged.append(world)
                self._look()
        for world in passed_over:
            del self._waiting[world]

    def _look(self) -> None:
        rule = self._rule
        assert rule is not None
        rates = success_rates(list(self._records.values()))
        pairs = decide(rule, self._planners, self._judged, rates)
        self.decided = bool(pairs) and all(pair.decided for pair in pairs)
