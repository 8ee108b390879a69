"""Shrink a failed trial to the smallest world in which the planner still fails in the same way.

The failure is the same if the outcome is equal and the trial ends at the same place
(:data:`PLACE_M`). The search has these parts:

1. leave out the obstacles that the planner cannot have measured near its path (one simulation);
2. keep only the 1, 2, 3, 4, 6, 8 or 12 obstacles nearest to the place of the failure;
3. leave out single obstacles until none can be left out, so that the result is 1-minimal;
4. leave out actors, further robots, effects, hooks and terms of ``randomize``;
5. move start and goal closer to the place;
6. simplify each obstacle: x and y to 0.1 m with heading 0, or with a heading of a multiple of 15°;
7. repeat part 3, since parts 4 to 6 can have made an obstacle superfluous.
"""

import json
import math
from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np
import shapely

from gz_testauto.base.errors import PlacementError, SceneError, SpecError
from gz_testauto.base.pose import Pose2D
from gz_testauto.campaign.trial_runner import REMOVABLE, MeasuredTrial, TrialRunner, TrialSeed
from gz_testauto.extras.search.journal import Journal
from gz_testauto.metrics.recording import Recording
from gz_testauto.sdf.floor import obstructing_heights
from gz_testauto.trial.clearance import ObstacleField
from gz_testauto.trial.outcome import Outcome
from gz_testauto.worlds.edited import EditedWorld
from gz_testauto.worlds.manifest import sha256_of

PLACE_M = {Outcome.TIMED_OUT: 2.0}
"""Largest distance (m) between the places of equal failures; 0.5 m for all other outcomes."""

TIMED_OUT_S = 30.0
"""The place of a trial that timed out is the median position of this last time (s)."""

HORIZON_M = 4.7
"""Distance (m) from the path beyond which an obstacle rarely changes a trial."""

NEAREST = (1, 2, 3, 4, 6, 8, 12)
CLOSER_M = (3.0, 5.0, 8.0)
"""Distances (m) from the place of the failure to which start and goal are moved."""

GRID_M, TURN_RAD = 0.1, math.pi / 12


@dataclass(frozen=True)
class Candidate:
    """The inputs of a trial that shrinking changes: the obstacles, by name in the order of the
    file, with their new poses, the start and the goals, and the omitted entries of the campaign.
    """

    kept: Tuple[str, ...]
    moved: Tuple[Tuple[str, Pose2D], ...]
    start: Pose2D
    goals: Tuple[Pose2D, ...]
    without: Tuple[str, ...] = ()

    def drop(self, names: Sequence[str]) -> "Candidate":
        """Return the candidate without some obstacles."""
        return replace(
            self,
            kept=tuple(name for name in self.kept if name not in names),
            moved=tuple(entry for entry in self.moved if entry[0] not in names),
        )

    def keep(self, names: Sequence[str]) -> "Candidate":
        """Return the candidate with only these obstacles."""
        return self.drop([name for name in self.kept if name not in names])

    def move(self, name: str, pose: Pose2D) -> "Candidate":
        """Return the candidate with an obstacle at another pose."""
        return replace(self, moved=tuple({**dict(self.moved), name: pose}.items()))


@dataclass(frozen=True)
class ShrunkTrial:
    """The result: the smallest ``candidate``, and the number of simulations until no obstacle could
    be left out (``removal``), and of all parts (``simulations``)."""

    candidate: Candidate
    removal: int
    simulations: int


def place_of(outcome: Outcome, recording: Recording) -> np.ndarray:
    """Return the position (x, y) (m) at which a failed trial ended."""
    xy = recording.pose[:, :2]
    if outcome is not Outcome.TIMED_OUT:
        return np.asarray(xy[-1])
    return np.median(xy[recording.time_s >= recording.time_s[-1] - TIMED_OUT_S], axis=0)


class FailureTest:
    """A function of a candidate: whether the planner fails in it as in the ``first`` trial.

    Answers are stored in the ``journal``. ``simulations`` is the number of different candidates.
    """

    def __init__(
        self,
        runner: TrialRunner,
        world: EditedWorld,
        planner: str,
        seed: TrialSeed,
        journal: Journal,
        progress: Callable[[str], None],
    ) -> None:
        self._runner, self._world = runner, world
        self._planner, self._seed = planner, seed
        self._journal, self._progress = journal, progress
        self._asked: Dict[str, bool] = {}
        self._first: Optional[Tuple[Outcome, np.ndarray]] = None

    @property
    def simulations(self) -> int:
        """Return the number of candidates that were simulated, now or in an earlier call."""
        return len(self._asked)

    def trial(self, candidate: Candidate) -> MeasuredTrial:
        """Return the trial of a candidate. Raises the errors of :meth:`TrialRunner.run`."""
        return self._runner.run(
            self.content(candidate),
            self._planner,
            seed=self._seed,
            start=candidate.start,
            goals=candidate.goals,
            without=candidate.without,
        )

    def content(self, candidate: Candidate) -> bytes:
        """Return the world file of a candidate."""
        return self._world.content(candidate.kept, dict(candidate.moved))

    def compare_with(self, first: MeasuredTrial) -> None:
        """Set the failure with which candidates are compared."""
        self._first = (first.outcome, place_of(first.outcome, first.recording))

    def __call__(self, candidate: Candidate) -> bool:
        """Return whether the failure is the same."""
        key = self._key(candidate)
        answer = self._journal.get(key)
        if answer is None:
            answer = self._answer(candidate)
            self._journal.add(key, answer)
        if key not in self._asked:
            self._asked[key] = bool(answer["same"])
            self._progress(
                f"{len(self._asked):3d}: {len(candidate.kept)} obstacles: {answer['outcome']}"
                + ("" if answer["same"] else ", not the same failure")
            )
        return self._asked[key]

    def _key(self, candidate: Candidate) -> str:
        rest = [candidate.start, candidate.goals, sorted(candidate.without)]
        return sha256_of(self.content(candidate) + json.dumps(rest).encode())

    def _answer(self, candidate: Candidate) -> Mapping[str, Any]:
        assert self._first is not None, "the first trial is known"
        outcome, place = self._first
        try:
            trial = self.trial(candidate)
        except (SceneError, SpecError, PlacementError) as error:
            return {"outcome": "no valid trial", "same": False, "cause": str(error)}
        found = place_of(trial.outcome, trial.recording)
        is_near = float(np.hypot(*(found - place))) <= PLACE_M.get(outcome, 0.5)
        same = trial.outcome is outcome and is_near
        return {"outcome": trial.outcome.value, "same": same, "place_m": found.tolist()}


def shrink(
    fails: FailureTest,
    world: EditedWorld,
    first: MeasuredTrial,
    all_: Candidate,
    runner: TrialRunner,
) -> ShrunkTrial:
    """Return the smallest candidate that still fails like ``first``, the trial of ``all_``."""
    place = place_of(first.outcome, first.recording)
    field = ObstacleField(world.scene, obstructing_heights(runner.robot_height_m))
    outlines = {name: one for name, one in field.outlines().items() if name in world.obstacles}
    path = shapely.LineString(first.recording.pose[:, :2])
    near = {name: float(one.distance(path)) for name, one in outlines.items()}
    to_place = {name: float(one.distance(shapely.Point(place))) for name, one in outlines.items()}
    ordered = sorted(all_.kept, key=lambda name: (to_place.get(name, math.inf), name))

    found = all_
    reduced = all_.keep([name for name in all_.kept if near.get(name, math.inf) <= HORIZON_M])
    if len(reduced.kept) < len(all_.kept) and fails(reduced):
        found = reduced
    left = [name for name in ordered if name in found.kept]
    for count in NEAREST:
        if count < len(left) and fails(found.keep(left[:count])):
            found = found.keep(left[:count])
            break
    found = _minimal(fails, found, ordered)
    removal = fails.simulations
    found = _without_entries(fails, found, runner)
    found = _closer(fails, found, first.recording, place)
    found = _simpler(fails, found, world)
    found = _minimal(fails, found, ordered)
    return ShrunkTrial(found, removal, fails.simulations)


def _minimal(fails: FailureTest, found: Candidate, ordered: Sequence[str]) -> Candidate:
    """Leave out obstacles one after the other, the farthest first, until none can be left out."""
    was_smaller = True
    while was_smaller:
        was_smaller = False
        for name in reversed(ordered):
            if name in found.kept and fails(found.drop([name])):
                found, was_smaller = found.drop([name]), True
    return found


def _without_entries(fails: FailureTest, found: Candidate, runner: TrialRunner) -> Candidate:
    names = [entry.name for key in REMOVABLE for entry in getattr(runner.spec, key)]
    if names and fails(replace(found, without=tuple(names))):
        return replace(found, without=tuple(names))
    for name in names if len(names) > 1 else ():
        if fails(replace(found, without=(*found.without, name))):
            found = replace(found, without=(*found.without, name))
    return found


def _closer(
    fails: FailureTest, found: Candidate, recording: Recording, place: np.ndarray
) -> Candidate:
    """Move the start along the trajectory, and the only goal along the line from the place."""
    away_m = np.hypot(*(recording.pose[:, :2] - place).T)
    for distance_m in CLOSER_M:
        before = np.flatnonzero(away_m >= distance_m)
        if not len(before):
            break
        x, y, yaw = (round(float(value), 1) for value in recording.pose[before[-1]])
        if fails(replace(found, start=Pose2D(x, y, yaw))):
            found = replace(found, start=Pose2D(x, y, yaw))
            break
    if len(found.goals) > 1:
        return found
    goal = found.goals[0]
    offset = np.array([goal.x_m, goal.y_m]) - place
    remaining_m = float(np.hypot(*offset))
    for distance_m in CLOSER_M:
        if distance_m >= remaining_m:
            break
        x, y = (round(float(value), 1) for value in place + offset * distance_m / remaining_m)
        moved = (Pose2D(x, y, goal.yaw_rad),)
        if fails(replace(found, goals=moved)):
            return replace(found, goals=moved)
    return found


def _simpler(fails: FailureTest, found: Candidate, world: EditedWorld) -> Candidate:
    for name in found.kept:
        pose = world.obstacles[name].planar
        x, y = (round(round(value / GRID_M) * GRID_M, 6) for value in (pose.x_m, pose.y_m))
        turned = round(round(pose.yaw_rad / TURN_RAD) * TURN_RAD, 6)
        simpler: List[Pose2D] = [Pose2D(x, y, 0.0)]
        if turned:
            simpler.append(Pose2D(x, y, turned))
        for new in simpler:
            if new != pose and fails(found.move(name, new)):
                found = found.move(name, new)
                break
    return found
