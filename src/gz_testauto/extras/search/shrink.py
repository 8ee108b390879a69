"""Shrink a failed trial to the smallest world in which the planner still fails in the same way.

The failure is the same if the outcome is equal and the trial ends at the same place
(:mod:`gz_testauto.trial.failure_place`). If the robot has a path in the original world, candidates
without a path are not simulated. The search has these parts:

1. keep only the 4, 8 or 12 obstacles nearest to the place of the failure, or else those that the
   planner can have measured near its path;
2. simplify everything together: leave out actors, further robots, effects, hooks and terms of
   ``randomize``, move start and goal closer to the place, and move each obstacle to x and y of
   0.1 m with a heading of a multiple of 15°; part 1 tests each number of obstacles first with and
   then without these simplifications. If none of the former fails, one kind of simplification is
   made alone, if possible;
3. leave out single obstacles until none can be left out, so that the result is 1-minimal.
"""

import abc
import json
import math
from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Sequence, Tuple

import numpy as np
import shapely
from typing_extensions import override

from gz_testauto.base.errors import PlacementError, SceneError, SpecError
from gz_testauto.base.pose import Pose2D
from gz_testauto.campaign.trial_runner import MeasuredTrial, TrialRunner
from gz_testauto.extras.search.edited_world import EditedWorld
from gz_testauto.extras.search.journal import Journal, StoredAnswer
from gz_testauto.metrics.recording import Recording
from gz_testauto.sdf.floor import obstructing_heights
from gz_testauto.trial.clearance import ObstacleField
from gz_testauto.trial.failure_place import is_same_place, place_of
from gz_testauto.trial.outcome import Outcome
from gz_testauto.trial.trial import Trial
from gz_testauto.worlds.manifest import sha256_of
from gz_testauto.worlds.record import WorldRecord

HORIZON_M = 4.7  # distance from the path beyond which an obstacle rarely changes a trial

NEAREST = (4, 8, 12)
CLOSER_M = (3.0, 4.0, 5.0, 6.0, 8.0)  # distances of start and goal from the place of the failure

NO_PATH = "no path for the robot"

GRID_M, TURN_RAD = 0.1, math.pi / 12


@dataclass(frozen=True)
class Candidate:
    """The inputs of a trial that shrinking changes.

    ``kept`` are the names of the remaining obstacles, in the order of the file. ``moved`` are the
    new poses of some of them. ``without`` are the names of omitted actors, hooks and the like.
    """

    kept: Tuple[str, ...]
    moved: Tuple[Tuple[str, Pose2D], ...]
    start: Pose2D
    goals: Tuple[Pose2D, ...]
    without: Tuple[str, ...] = ()

    @classmethod
    def complete(cls, trial: Trial, world: EditedWorld) -> "Candidate":
        return cls(tuple(world.obstacles), (), trial.mission.start, trial.mission.goals)

    def trial(self, failed: Trial, world: WorldRecord) -> Trial:
        mission = replace(failed.mission, start=self.start, goals=self.goals)
        return replace(failed, world=world, mission=mission, omitted=frozenset(self.without))

    def drop(self, names: Sequence[str]) -> "Candidate":
        return replace(
            self,
            kept=tuple(name for name in self.kept if name not in names),
            moved=tuple(entry for entry in self.moved if entry[0] not in names),
        )

    def keep(self, names: Sequence[str]) -> "Candidate":
        return self.drop([name for name in self.kept if name not in names])

    def move(self, name: str, pose: Pose2D) -> "Candidate":
        return replace(self, moved=tuple({**dict(self.moved), name: pose}.items()))


@dataclass(frozen=True, eq=False)
class FailedTrial:
    outcome: Outcome
    recording: Recording

    @property
    def place(self) -> Tuple[float, float]:
        return place_of(self.outcome, self.recording)

    def is_same(self, outcome: Outcome, recording: Recording) -> bool:
        place_m = place_of(outcome, recording)
        return outcome is self.outcome and is_same_place(outcome, place_m, self.place)


@dataclass(frozen=True)
class StoredFailure:
    """The answer of a candidate in the journal; ``same`` is True for the same failure."""

    outcome: str
    same: bool
    trials: int = 1


class FailureTest(abc.ABC):
    """A function that returns whether the planner fails in a candidate as in the first trial."""

    def __init__(
        self, world: EditedWorld, journal: Journal, progress: Callable[[str], None]
    ) -> None:
        self._world, self._journal, self._progress = world, journal, progress
        self._tested: Dict[str, StoredFailure] = {}
        self._first: Optional[FailedTrial] = None
        self._needs_path = False

    @abc.abstractmethod
    def shortest_path_m(self, candidate: Candidate) -> Optional[float]:
        """Return the length (m) of the shortest path to the goals, or None if there is no path."""

    @abc.abstractmethod
    def simulate(self, candidate: Candidate, first: FailedTrial) -> Mapping[str, Any]:
        """Simulate a candidate, compare it with ``first``, and return the fields of
        :class:`StoredFailure`."""

    @property
    def simulations(self) -> int:
        """The number of simulations, including those that an earlier command has stored."""
        return sum(answer.trials for answer in self._tested.values() if answer.outcome != NO_PATH)

    def content(self, candidate: Candidate) -> bytes:
        return self._world.content(candidate.kept, dict(candidate.moved))

    def compare_with(self, first: FailedTrial, complete: Candidate) -> None:
        """Set the failure with which candidates are compared. ``complete`` is the unchanged
        candidate. If it has a path, candidates need a path too."""
        self._first = first
        self._needs_path = self.has_path(complete)

    def has_path(self, candidate: Candidate) -> bool:
        """Return whether the robot has a path; True for all candidates if it had none in the first
        trial."""
        if self._first is not None and not self._needs_path:
            return True
        return self.shortest_path_m(candidate) is not None

    def __call__(self, candidate: Candidate) -> bool:
        key = self.key(candidate)
        answer = self._journal.get(key, StoredFailure)
        if answer is None:
            fields = self._test_candidate(candidate)
            self._journal.add(key, fields)
            answer = StoredAnswer(fields, key).parse(StoredFailure)
        if key not in self._tested:
            self._tested[key] = answer
            self._progress(
                f"{self.simulations:3d}: {len(candidate.kept)} obstacles: {answer.outcome}"
                + ("" if answer.same else ", not the same failure")
            )
        return answer.same

    def key(self, candidate: Candidate) -> str:
        inputs = [candidate.start, candidate.goals, sorted(candidate.without)]
        return sha256_of(self.content(candidate) + json.dumps(inputs).encode())

    def _test_candidate(self, candidate: Candidate) -> Mapping[str, Any]:
        assert self._first is not None, "the first trial is known"
        try:
            if not self.has_path(candidate):
                return {"outcome": NO_PATH, "same": False}
            return self.simulate(candidate, self._first)
        except (SceneError, SpecError, PlacementError) as error:
            return {"outcome": "no valid trial", "same": False, "cause": str(error)}


class RepeatableFailureTest(FailureTest):
    """A test of failures that repeat bit by bit, so that one trial is sufficient."""

    def __init__(
        self,
        runner: TrialRunner,
        world: EditedWorld,
        failed: Trial,
        journal: Journal,
        progress: Callable[[str], None],
    ) -> None:
        super().__init__(world, journal, progress)
        self._runner, self._failed = runner, failed

    def trial(self, candidate: Candidate) -> MeasuredTrial:
        record = self._runner.record(self.content(candidate))
        return self._runner.execute(candidate.trial(self._failed, record))

    @override
    def shortest_path_m(self, candidate: Candidate) -> Optional[float]:
        content = self.content(candidate)
        return self._runner.shortest_path_m(content, candidate.start, candidate.goals)

    @override
    def simulate(self, candidate: Candidate, first: FailedTrial) -> Mapping[str, Any]:
        trial = self.trial(candidate)
        place_m = place_of(trial.outcome, trial.recording)
        same = first.is_same(trial.outcome, trial.recording)
        return {"outcome": trial.outcome.value, "same": same, "place_m": place_m}


def shrink(
    fails: FailureTest,
    world: EditedWorld,
    first: FailedTrial,
    all_: Candidate,
    height_m: Tuple[float, float],
    omissible: Sequence[str],
) -> Candidate:
    """Return the smallest candidate that still fails like ``first``, the trial of ``all_``.

    ``height_m`` are the lowest and the highest point of the robot, and ``omissible`` the possible
    names in :attr:`Candidate.without`.
    """
    place = first.place
    field = ObstacleField(world.scene, obstructing_heights(height_m))
    outlines = {
        name: outline for name, outline in field.outlines().items() if name in world.obstacles
    }
    path = shapely.LineString(first.recording.pose[:, :2])
    to_path_m = {name: float(outline.distance(path)) for name, outline in outlines.items()}
    to_place_m = {
        name: float(outline.distance(shapely.Point(place))) for name, outline in outlines.items()
    }
    ordered = sorted(all_.kept, key=lambda name: (to_place_m.get(name, math.inf), name))

    reduced = all_.keep([name for name in all_.kept if to_path_m.get(name, math.inf) <= HORIZON_M])
    steps = _Steps(world, omissible, first.recording, place, fails.has_path)
    return _minimal(fails, _nearest(fails, all_, reduced, ordered, steps), ordered)


def _nearest(
    fails: FailureTest,
    all_: Candidate,
    reduced: Candidate,
    ordered: Sequence[str],
    steps: "_Steps",
) -> Candidate:
    """Return the smallest candidate that fails: with the nearest few of the obstacles in
    ``reduced``, else with all of these, else ``all_``, which is known to fail.

    ``ordered`` are the names of the obstacles, the nearest to the place of the failure first. If
    the candidate still fails, it is also simplified by all ``steps`` together, or by one of them.
    """
    names = [name for name in ordered if name in reduced.kept]
    counts = [count for count in NEAREST if count < len(names)]
    for candidate in (*(reduced.keep(names[:count]) for count in counts), reduced, all_):
        simple = steps.all_of(candidate)
        if simple != candidate and fails(simple):
            return simple
        if candidate == all_ or fails(candidate):
            break
    simpler = (part for part in steps.parts_of(candidate) if part != candidate and fails(part))
    return next(simpler, candidate)


def _minimal(fails: FailureTest, candidate: Candidate, ordered: Sequence[str]) -> Candidate:
    """Return the candidate with only the obstacles that are needed for its failure.

    Obstacles are left out one by one, the last of ``ordered`` first.
    """
    was_smaller = True
    while was_smaller:
        was_smaller = False
        for name in reversed(ordered):
            if name in candidate.kept and fails(candidate.drop([name])):
                candidate, was_smaller = candidate.drop([name]), True
    return candidate


class _Steps:
    """The simplifications of a candidate; ``place`` is where the recorded trial failed."""

    def __init__(
        self,
        world: EditedWorld,
        omissible: Sequence[str],
        recording: Recording,
        place: Tuple[float, float],
        has_path: Callable[[Candidate], bool],
    ) -> None:
        self._world, self._place, self._recording = world, place, recording
        self._has_path, self._omissible = has_path, omissible

    def all_of(self, candidate: Candidate) -> Candidate:
        return self._closer(self._with_rounded_poses(self._without_omissible(candidate)), 0)

    def parts_of(self, candidate: Candidate) -> Iterator[Candidate]:
        yield self._closer(candidate, -1)
        yield self._with_rounded_poses(candidate)
        yield self._without_omissible(candidate)

    def _closer(self, candidate: Candidate, nearest: int) -> Candidate:
        """Return the candidate with start and goal closer to the failure.

        ``nearest`` is the index in :data:`CLOSER_M` of the first distance to try for the goal. The
        candidate is unchanged if no distance leaves a path.
        """
        moved = self._with_start(candidate, CLOSER_M[nearest])
        closer = (self._with_goal(moved, away_m) for away_m in CLOSER_M[nearest:])
        return next(filter(self._has_path, closer), candidate)

    def _without_omissible(self, candidate: Candidate) -> Candidate:
        return replace(candidate, without=tuple(sorted({*candidate.without, *self._omissible})))

    def _with_start(self, candidate: Candidate, distance_m: float) -> Candidate:
        """Return the candidate that starts at the last recorded pose at least ``distance_m`` from
        the failure, or unchanged without a pose at this distance."""
        away_m = np.hypot(*(self._recording.pose[:, :2] - self._place).T)
        before = np.flatnonzero(away_m >= distance_m)
        if not len(before):
            return candidate
        pose = Pose2D(*(round(float(value), 1) for value in self._recording.pose[before[-1]]))
        return replace(candidate, start=pose)

    def _with_goal(self, candidate: Candidate, distance_m: float) -> Candidate:
        """Return the candidate whose goal is ``distance_m`` from the failure, in the same
        direction. Several goals are not moved."""
        goal = candidate.goals[0]
        offset = np.array([goal.x_m, goal.y_m]) - self._place
        remaining_m = float(np.hypot(*offset))
        if len(candidate.goals) > 1 or distance_m >= remaining_m:
            return candidate
        to = self._place + offset * distance_m / remaining_m
        x, y = (round(float(value), 1) for value in to)
        return replace(candidate, goals=(Pose2D(x, y, goal.yaw_rad),))

    def _with_rounded_poses(self, candidate: Candidate) -> Candidate:
        for name in candidate.kept:
            pose = self._world.obstacles[name].planar
            x, y = (round(round(value / GRID_M) * GRID_M, 6) for value in (pose.x_m, pose.y_m))
            new = Pose2D(x, y, round(round(pose.yaw_rad / TURN_RAD) * TURN_RAD, 6))
            if new != pose:
                candidate = candidate.move(name, new)
        return candidate
