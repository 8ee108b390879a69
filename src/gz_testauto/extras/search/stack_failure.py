"""The failure of a trial on a navigation stack, which occurs in a share of the repeats."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Mapping, Optional

from typing_extensions import override

from gz_testauto.analysis.repeats import NO_REPEATS, RepeatCount
from gz_testauto.base.disk import make_directory
from gz_testauto.base.escaping import escape_text
from gz_testauto.campaign.progress import CampaignListener, Progress
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.simulator import chosen_executor
from gz_testauto.campaign.trial_runner import path_of_mission_m
from gz_testauto.extras.search.edited_world import EditedWorld
from gz_testauto.extras.search.journal import Journal
from gz_testauto.extras.search.one_trial import CAMPAIGN, WORLD, write_campaign
from gz_testauto.extras.search.shrink import Candidate, FailedTrial, FailureTest
from gz_testauto.results.directory import CampaignDirectory, reporting_disk, write_atomically
from gz_testauto.results.records import TrialRecord
from gz_testauto.results.store import ResultStore
from gz_testauto.sdf.robot import RobotBody
from gz_testauto.spec.campaign import CampaignSpec, StackCampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.trial.trial import Trial

MOST_TRIALS, ENOUGH = 3, 2  # two of at most three trials with the failure, or without it, decide

RESULTS = "results"


@dataclass(frozen=True, eq=False)
class Repeats:
    """The repeats of a trial; ``example`` is the first with the failure, or else a valid one."""

    count: RepeatCount = NO_REPEATS
    example: Optional[FailedTrial] = None


def run_repeats(
    campaign: Path,
    first: FailedTrial,
    is_decided: Callable[[Repeats], bool] = lambda _: False,
    progress: Callable[[str], None] = lambda line: None,
) -> Repeats:
    """Run the trials of a campaign file until ``is_decided`` returns True, and count the failures.

    Finished trials in the results directory next to the file count too. ``first`` is the failure
    with which the trials are compared.
    """
    spec = load(campaign, CampaignSpec)  # type: ignore[type-abstract]
    out = campaign.with_name(RESULTS)
    follower = _Follower(out, first, progress)
    if CampaignDirectory(out).is_begun:
        follower.read()
    run_campaign(
        spec,
        out,
        chosen_executor(spec, out),
        listener=follower,
        should_stop=lambda: is_decided(follower.repeats),
    )
    return follower.repeats


class _Follower(CampaignListener):
    """A listener that compares finished trials with a failure, and reports each of them."""

    def __init__(self, out: Path, first: FailedTrial, report: Callable[[str], None]) -> None:
        self._out, self._first, self._report = out, first, report
        self.repeats = Repeats()

    @override
    def trial_ended(self, record: TrialRecord, progress: Progress) -> None:
        self.read()
        self._report(f"trial {progress.done} of {progress.total}: {record.outcome.value}")

    @override
    def attempt_failed(self, trial: Trial, attempt: int, cause: str) -> None:
        self._report(f"attempt {attempt} is invalid: {escape_text(cause)}")

    def read(self) -> None:
        with ResultStore.read(CampaignDirectory(self._out)) as store:
            records = [record for record in store.results().trials if record.outcome.valid]
            trials = [FailedTrial(record.outcome, store.trajectory(record)) for record in records]
        same = [trial for trial in trials if self._first.is_same(trial.outcome, trial.recording)]
        count = RepeatCount(len(same), len(trials))
        self.repeats = Repeats(count, next(iter(same or trials), None))


class StackFailureTest(FailureTest):
    """A test of failures on a navigation stack, for which a candidate is simulated several times.

    The trials run in ``folder`` and are removed from it afterwards.
    """

    def __init__(
        self,
        spec: StackCampaignSpec,
        robot: RobotBody,
        failed: Trial,
        folder: Path,
        world: EditedWorld,
        journal: Journal,
        progress: Callable[[str], None],
    ) -> None:
        super().__init__(world, journal, progress)
        self._spec, self._robot, self._failed, self._folder = spec, robot, failed, folder

    @override
    def shortest_path_m(self, candidate: Candidate) -> Optional[float]:
        path = self._folder / WORLD
        _write_file(path, self.content(candidate))
        mission = candidate.trial(self._failed, self._failed.world).mission
        return path_of_mission_m(self._spec, self._robot, path, mission)

    @override
    def simulate(self, candidate: Candidate, first: FailedTrial) -> Mapping[str, Any]:
        folder = self._folder / self.key(candidate)[:12]
        self.write_campaign(candidate, folder, MOST_TRIALS)
        repeats = run_repeats(folder / CAMPAIGN, first, self._is_decided)
        shutil.rmtree(folder)
        outcome = "no valid trial" if repeats.example is None else repeats.example.outcome.value
        return {
            "outcome": outcome,
            "same": repeats.count.same >= ENOUGH,
            "with_failure": repeats.count.same,
            "trials": repeats.count.valid,
        }

    def write_campaign(self, candidate: Candidate, folder: Path, repeats: int) -> None:
        _write_file(folder / WORLD, self.content(candidate))
        write_campaign(self._spec, candidate, self._failed.numbers, folder, repeats)

    @staticmethod
    def _is_decided(repeats: Repeats) -> bool:
        same, valid = repeats.count
        return same >= ENOUGH or valid - same > MOST_TRIALS - ENOUGH


def _write_file(path: Path, content: bytes) -> None:
    with reporting_disk(path):
        make_directory(path.parent)
    write_atomically(path, content)
